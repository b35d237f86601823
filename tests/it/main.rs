//! The integration tests, one binary: each module is about one thing, `support` is what they share.

mod append;
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
mod logs;
mod prepare;
mod projections;
mod publish;
mod query;
mod query_cases;
mod read_only;
mod readme;
mod reference;
mod resume;
mod search;
mod sessions;
mod support;
mod uri;
mod usage;
