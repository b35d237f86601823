//! Asking a corpus: filters, literal search, traces, how a session ended.
//!
//! A query is data and never syntax: what a person types is looked for as it stands, whatever it looks
//! like. Answers do not depend on any index (formats.md §9, seed 003).

pub mod cursor;
pub mod filter;
mod grams;
pub mod index;
pub mod lineage;
pub mod page;
pub mod pattern;
pub mod prefilter;
pub mod rates;
pub mod search;
pub mod snippet;
pub mod status;
pub mod trace;
pub mod usage;
pub mod working_directory;
