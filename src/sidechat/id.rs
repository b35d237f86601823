//! The ids of folds and cites, which are also those of the messages they become.

use crate::error::{Code, Failure};
use std::fmt;
use uuid::{Uuid, Variant};

/// A UUID as RFC 9562 knows it, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// A new random one.
    pub fn random() -> Id {
        Id(Uuid::new_v4().to_string())
    }

    /// Reads one that a person gave: the form with four hyphens, of a version from 1 to 8 and the variant
    /// of the RFC.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Id, Failure> {
        const HYPHENATED: usize = 36;
        let uuid = Uuid::try_parse(text).ok().filter(|uuid| {
            text.len() == HYPHENATED
                && uuid.get_variant() == Variant::RFC4122
                && (1..=8).contains(&uuid.get_version_num())
        });
        uuid.map(|uuid| Id(uuid.to_string())).ok_or_else(|| {
            Failure::new(Code::BadRequest, format!("{text:?} is no UUID as RFC 9562 has them"))
                .hint("`dshkit sidechat show SESSION` has the ids of its folds; a new one needs no id")
        })
    }

    /// One that the ledger holds.
    pub(super) fn stored(text: String) -> Id {
        Id(text)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_of_the_rfc_are_ids() {
        assert!(Id::parse("3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d").is_ok());
        assert_eq!(
            Id::parse("3F8B1C1E-4C55-4B0F-9D6A-0E2F5A7B8C9D").unwrap().as_str(),
            "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d"
        );
        for text in [
            "11111111-1111-1111-1111-111111111111",
            "3f8b1c1e4c554b0f9d6a0e2f5a7b8c9d",
            "{3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d}",
            "00000000-0000-0000-0000-000000000000",
            "fold-1",
            "",
        ] {
            assert_eq!(Id::parse(text).unwrap_err().code, Code::BadRequest, "{text}");
        }
        assert_ne!(Id::random(), Id::random());
    }
}
