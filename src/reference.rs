//! References: bounded, read-only, untrusted snapshots of sessions for another conversation.
//!
//! This is what dsh's session-reference service does inside a host, done on a cold store
//! (formats.md §8, seeds 000 to 002).

pub mod budget;
pub mod candidates;
pub mod draft;
pub mod explanation;
pub mod omission;
pub mod prepare;
pub mod projection;
pub mod render;
pub mod retention;
pub mod transcript;
