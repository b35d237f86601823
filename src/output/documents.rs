//! The documents programs read: one file a document, Serialize-only, made from domain values.
//!
//! Absent header facts are `null`; other absent members are left out. A member may be added to a
//! document; taking one away or changing one makes a new version of its name.

pub mod candidates;
pub mod check;
pub mod config;
pub mod error;
pub mod event;
pub mod events;
pub mod expand;
pub mod explain;
pub mod index;
pub mod latest;
pub mod list;
pub mod path;
pub mod prepare;
pub mod problem;
pub mod projections;
pub mod schema;
pub mod search;
pub mod session;
pub mod show;
pub mod sidechat;
pub mod status;
pub mod trace;
pub mod uri;
pub mod usage;
