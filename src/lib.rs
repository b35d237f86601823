//! dshkit works on the session stores of DeepSeek Harness (`dsh`) from a shell.
//!
//! The library exists for the program, its tests and its fuzz targets; it promises nothing to others.
//! Modules stand here from the inside out: each may use those above it, none those below
//! (ARCHITECTURE.md has the map, `tests/it/layering.rs` the check).

pub mod cli;
pub mod commands;
pub mod corpus;
pub mod env;
pub mod error;
pub mod generations;
pub mod model;
pub mod output;
pub mod projections;
pub mod query;
pub mod reference;
pub mod stores;
