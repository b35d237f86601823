//! A fold: a conclusion of a side chat, in one of its revisions.

use super::chat::ModelCall;
use super::estimate;
use super::id::Id;
use super::language::Language;
use super::pointer::Pointer;
use super::structure::{self, StructureProblem};
use crate::model::js_string::JsString;
use std::collections::HashMap;

/// How far what is to be written into the parent has come (sidechat.md §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A model is writing it.
    Generating,
    /// It can be looked at, and nothing was promised.
    Prepared,
    /// It is decided, and not in the parent's log for all that is known.
    Pending,
    /// It stands in the parent's log.
    Committed,
    /// It could not be made, or not be written.
    Failed,
}

impl State {
    /// Every state.
    pub const ALL: [State; 5] = [State::Generating, State::Prepared, State::Pending, State::Committed, State::Failed];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            State::Generating => "generating",
            State::Prepared => "prepared",
            State::Pending => "pending",
            State::Committed => "committed",
            State::Failed => "failed",
        }
    }
}

/// Which of the committed revisions counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The newest.
    Current,
    /// A newer one took its place. It is as it was.
    Superseded,
    /// It was taken back. It still stands in the parent's log, and a notice behind it says so.
    Withdrawn,
}

impl Standing {
    /// Every standing.
    pub const ALL: [Standing; 3] = [Standing::Current, Standing::Superseded, Standing::Withdrawn];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Current => "current",
            Standing::Superseded => "superseded",
            Standing::Withdrawn => "withdrawn",
        }
    }
}

/// What a fold stands for (sidechat.md §2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldMode {
    /// The whole: it can take the place of every earlier one.
    #[default]
    Full,
    /// What is new or has changed since a committed revision.
    Incremental {
        /// That revision.
        base: u64,
    },
}

impl FoldMode {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            FoldMode::Full => "full",
            FoldMode::Incremental { .. } => "incremental",
        }
    }

    /// The revision it builds on.
    pub fn base(self) -> Option<u64> {
        match self {
            FoldMode::Full => None,
            FoldMode::Incremental { base } => Some(base),
        }
    }

    /// The mode with this name and base; `None` if they do not go together.
    pub fn named(name: &str, base: Option<u64>) -> Option<FoldMode> {
        match (name, base) {
            ("full", None) => Some(FoldMode::Full),
            ("incremental", Some(base)) => Some(FoldMode::Incremental { base }),
            _ => None,
        }
    }
}

/// A fold.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Its id, which is that of its message too.
    pub id: Id,
    /// The side chat.
    pub child: JsString,
    /// Its number in the side chat, from 1. Numbers rise; one whose fold failed is not given again.
    pub revision: u64,
    /// How far it has come.
    pub state: State,
    /// What it stands for.
    pub mode: FoldMode,
    /// Which of the committed ones it is.
    pub standing: Option<Standing>,
    /// The text as it was prepared; `None` while or because none was made.
    pub prepared_text: Option<String>,
    /// The text that was decided on, for ever.
    pub committed_text: Option<String>,
    /// The messages of the side chat that its text points to; the last word on them is spoken when it is decided on.
    pub pointers: Vec<Pointer>,
    /// What of the side chat it is made from.
    pub basis: Basis,
    /// The calls of a model it took.
    pub calls: Vec<ModelCall>,
    /// The revision that was current when this one was decided on.
    pub supersedes: Option<u64>,
    /// Where it stands in the parent's log, if that is known.
    pub delivered: Option<Place>,
    /// The session in whose log it stands: the parent of that time.
    pub delivered_to: Option<JsString>,
    /// Why it failed, or has to wait.
    pub reason: Option<String>,
    /// When it was begun, in milliseconds since the epoch.
    pub created_at: i64,
    /// When its state last changed.
    pub updated_at: i64,
    /// When it came to stand in the parent's log.
    pub committed_at: Option<i64>,
}

/// What of a side chat a fold is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The last event that was seen; `None` for an empty log.
    pub through_seq: Option<u64>,
    /// The last message that was seen. It keeps its id when dsh migrates the log and its seqs change.
    pub through_message: Option<JsString>,
    /// The format generation in which the seq counts, if it is known.
    pub format: Option<u64>,
}

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The event.
    pub seq: u64,
    /// The format generation in which the seq counts.
    pub format: u64,
}

/// What can be said of the text of a fold.
#[derive(Clone, Debug)]
pub struct Review {
    /// The estimate the budget counts with.
    pub estimated_tokens: u64,
    /// The other estimate.
    pub script_aware_tokens: u64,
    /// What is wrong with its structure.
    pub problems: Vec<StructureProblem>,
}

impl Review {
    /// Looks at a text.
    pub fn of(text: &str) -> Review {
        Review::in_language(text, Language::default())
    }

    /// Looks at a text whose parts were wanted in a language.
    pub fn in_language(text: &str, wanted: Language) -> Review {
        Review {
            estimated_tokens: estimate::compatible_tokens(text),
            script_aware_tokens: estimate::script_aware_tokens(text),
            problems: structure::problems(text, wanted),
        }
    }

    /// Whether the text is within its budget.
    pub fn fits(&self) -> bool {
        self.estimated_tokens <= estimate::BUDGET
    }

    /// Whether the text may be committed.
    pub fn is_good(&self) -> bool {
        self.fits() && self.problems.is_empty()
    }
}

impl Fold {
    /// The text that counts: the one decided on, else the prepared one.
    pub fn text(&self) -> Option<&str> {
        self.committed_text.as_deref().or(self.prepared_text.as_deref())
    }

    /// Whether it stands in the parent's log or is on its way there, and was not taken back.
    pub fn counts(&self) -> bool {
        matches!(self.state, State::Pending | State::Committed) && self.standing != Some(Standing::Withdrawn)
    }

    /// Whether it stands in the parent's log and was not taken back.
    pub fn is_in_force(&self) -> bool {
        self.state == State::Committed && self.standing != Some(Standing::Withdrawn)
    }
}

/// The revision that is current although it only adds to one that was taken back, or to one that does in its turn.
/// Then the parent is left with a part of a conclusion.
pub fn unfounded(folds: &[Fold]) -> Option<u64> {
    let current = folds.iter().find(|fold| fold.standing == Some(Standing::Current))?;
    let by_revision: HashMap<u64, &Fold> = folds.iter().map(|fold| (fold.revision, fold)).collect();
    let mut at = current;
    // A base is older than what builds on it.
    while let Some(base) = at.mode.base().filter(|base| *base < at.revision) {
        at = by_revision.get(&base)?;
        if at.standing == Some(Standing::Withdrawn) {
            return Some(current.revision);
        }
    }
    None
}
