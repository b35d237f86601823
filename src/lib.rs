//! dshkit works on the session stores of DeepSeek Harness (`dsh`) from a shell.
//!
//! The library exists for the program, its tests and its fuzz targets; it promises nothing to others.
//! Which module may use which is in ARCHITECTURE.md, and `tests/it/layering.rs` checks it.

pub mod cache;
pub mod cli;
pub mod commands;
pub mod config;
pub mod corpus;
pub mod env;
pub mod error;
pub mod generations;
pub mod generator;
pub mod model;
pub mod output;
pub mod projections;
pub mod query;
pub mod reference;
pub mod sidechat;
pub mod stores;
