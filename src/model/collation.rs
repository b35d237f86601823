//! The order in which dsh sorts session ids that nothing else tells apart.
//!
//! dsh sorts them with `localeCompare`, which in Node is ICU's collation under en-US, the same as the
//! root collation. We ask ICU4X, the Unicode Consortium's own collator in Rust.

use crate::model::js_string::JsStr;
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use std::cmp::Ordering;

/// Compares strings as `a.localeCompare(b)` does in Node under en-US.
pub struct LocaleOrder {
    collator: CollatorBorrowed<'static>,
}

impl LocaleOrder {
    /// Makes the comparison. The collation's data is part of the program.
    pub fn new() -> LocaleOrder {
        let collator = Collator::try_new(CollatorPreferences::default(), CollatorOptions::default())
            .expect("the root collation is compiled in");
        LocaleOrder { collator }
    }

    /// Compares two strings. Strings the collation holds equal are equal, as in JavaScript.
    pub fn compare(&self, a: &JsStr<'_>, b: &JsStr<'_>) -> Ordering {
        match (a.to_str(), b.to_str()) {
            (Some(a), Some(b)) => self.collator.compare(a, b),
            _ => {
                let (a, b): (Vec<u16>, Vec<u16>) = (a.units().collect(), b.units().collect());
                self.collator.compare_utf16(&a, &b)
            }
        }
    }
}

impl Default for LocaleOrder {
    fn default() -> Self {
        LocaleOrder::new()
    }
}
