//! The integration tests, one binary: each module is about one thing, `support` is what they share.

mod cases;
mod contract;
mod corpora;
mod damaged;
mod documents;
mod golden;
mod hostile;
mod index;
mod ladder;
mod layering;
mod prepare;
mod projections;
mod query;
mod query_cases;
mod read_only;
mod readme;
mod reference;
mod search;
mod sessions;
mod support;
mod uri;
mod usage;
