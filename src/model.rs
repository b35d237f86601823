//! The domain: what a session, an event and a reference are, in dsh's own terms.
//!
//! Everything here is pure. No file is opened, no clock is read, and no type derives `Serialize`:
//! what scripts parse is written down in [`crate::output`], so a change here can never change it.

pub mod acceptance;
pub mod call_usage;
pub mod closers;
pub mod collation;
pub mod event;
pub mod header;
pub mod js_string;
pub mod json;
pub mod mention;
pub mod message;
pub mod problem;
pub mod semantic_text;
pub mod surface;
pub mod token_estimate;
pub mod uri;
