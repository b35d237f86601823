//! The integration tests, one binary: each module is about one thing, `support` is what they share.

mod corpora;
mod damaged;
mod golden;
mod prepare;
mod query;
mod query_cases;
mod readme;
mod search;
mod support;
