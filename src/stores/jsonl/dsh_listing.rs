//! Whether dsh itself could list a store (observed.md §5).
//!
//! dsh's listing is all or nothing in many cases: one file in the wrong place, and no session of the
//! store can be listed, opened or referred to. Which cases these are differs a little from version to
//! version. The dsh that counts is that of the newest generation in the store.

use super::layout::LogName;
use crate::generations::Generation;
use crate::model::header::Header;
use crate::model::js_string::JsString;
use crate::model::problem::{Fault, ProblemKind};
use crate::stores::{Encoding, Identity};
use std::collections::HashSet;

/// What dsh's listing would look at in one session directory.
#[derive(Debug)]
pub(super) struct DirectoryFacts {
    logs: Vec<LogName>,
    is_readable: bool,
    header_version: Option<u64>,
    id: Option<JsString>,
    fault: Option<(ProblemKind, bool)>,
    is_retired: bool,
    identity: Identity,
}

impl DirectoryFacts {
    /// A directory with these logs, rising.
    pub(super) fn of(logs: &[LogName]) -> DirectoryFacts {
        DirectoryFacts {
            logs: logs.to_vec(),
            is_readable: true,
            header_version: None,
            id: None,
            fault: None,
            is_retired: false,
            identity: Identity::Fits,
        }
    }

    /// A directory that cannot be read.
    pub(super) fn unreadable() -> DirectoryFacts {
        DirectoryFacts { is_readable: false, ..DirectoryFacts::of(&[]) }
    }

    pub(super) fn set_unreadable(&mut self) {
        self.is_readable = false;
    }

    pub(super) fn set_header(&mut self, header: Option<&Header>, fault: Option<&Fault>) {
        self.header_version = header.map(|header| header.version);
        self.id = header.map(|header| header.id.clone());
        self.is_retired = fault.is_some_and(|fault| fault.message.contains("sandboxMode"));
        self.fault = fault.map(|fault| (fault.kind, fault.unsupported));
    }

    pub(super) fn set_identity(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Whether dsh of this generation gets over this directory; `listed` collects the ids it lists.
    fn passes(&self, generation: Generation, encoding: Encoding, listed: &mut HashSet<JsString>) -> bool {
        if !self.is_readable {
            return false;
        }
        let seen = |name: &&LogName| generation != Generation::V0 || name.version == 0;
        if self.logs.iter().filter(seen).any(|name| name.encoding != encoding) {
            return false;
        }
        let Some(newest) = self.logs.iter().rfind(seen) else { return true };
        // 0.1.0 looks at its own file only; whatever was read of a newer one beside it says nothing here.
        if generation == Generation::V0 && self.logs.last() != Some(newest) {
            return true;
        }
        let is_listed = match self.fault {
            None => true,
            Some((ProblemKind::IdentityMismatch | ProblemKind::UnsupportedVersion, true)) => {
                if generation == Generation::V0 {
                    true
                } else if self.header_version.is_some_and(|version| version != newest.version) {
                    return false;
                } else {
                    false
                }
            }
            Some((
                ProblemKind::BadMagic
                | ProblemKind::Checksum
                | ProblemKind::CorruptFrame
                | ProblemKind::HeaderFrameNotAlone,
                _,
            )) => {
                if generation == Generation::V4 {
                    false
                } else {
                    return false;
                }
            }
            Some(_) if self.is_retired => return false,
            Some(_) => false,
        };
        if !is_listed {
            return true;
        }
        if self.identity == Identity::Elsewhere {
            return false;
        }
        self.id.clone().is_none_or(|id| listed.insert(id))
    }
}

/// Whether dsh could list a store that holds these directories.
pub(super) fn dsh_lists(directories: &[DirectoryFacts]) -> bool {
    let logs = || directories.iter().flat_map(|directory| &directory.logs);
    let by_name = logs().filter_map(|name| Generation::of_version(name.version)).max();
    let by_header =
        || directories.iter().filter_map(|directory| Generation::of_version(directory.header_version?)).max();
    let generation = match by_name.or_else(by_header).unwrap_or(Generation::V4) {
        Generation::V0 | Generation::V1 => Generation::V0,
        Generation::V2 | Generation::V3 => Generation::V3,
        Generation::V4 => Generation::V4,
    };
    let has_zstd = logs().any(|name| name.encoding == Encoding::Zstd);
    let encoding = if has_zstd { Encoding::Zstd } else { Encoding::Plain };
    let mut listed = HashSet::new();
    directories.iter().all(|directory| directory.passes(generation, encoding, &mut listed))
}
