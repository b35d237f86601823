//! Derived state: values folded from a log.
//!
//! A [`mod@unit`] folds one value; the [`registry`] holds the units; a [`fold`] drives all of them over the
//! events of a log at once, so that every view is of the same event. A [`checkpoint`] keeps their states.

pub mod cache;
pub mod checkpoint;
pub mod fold;
pub mod heading;
mod inheritance;
pub mod ladder;
pub mod listing;
pub mod overview;
pub mod registry;
mod shadow_price;
pub mod state_text;
pub mod token_usage;
pub mod turn_usage;
pub mod unit;
pub mod units;
mod usage_report;
