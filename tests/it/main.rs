//! The integration tests, one binary: each module is about one thing, `support` is what they share.

mod corpora;
mod damaged;
mod golden;
mod index;
mod prepare;
mod readme;
mod support;
