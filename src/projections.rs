//! Derived state: values folded from a log.

pub mod overview;
pub mod token_usage;
