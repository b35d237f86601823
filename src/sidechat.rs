//! Side chats: small side conversations of a session, whose conclusions are folded back into it
//! (seed 004, sidechat.md, DESIGN §5).
//!
//! A side chat is an ordinary session, and what comes back to its parent is an ordinary message of a plugin,
//! so that dsh shows and continues both without knowing of any of this. Which session belongs to which,
//! and how far each delivery has come, the [`ledger`] remembers.

pub mod ask;
pub mod chat;
pub mod citation;
pub mod cite;
pub mod commit;
pub mod compare;
pub mod create;
pub mod deliver;
pub mod delivery;
pub mod doctor;
pub mod estimate;
mod first_message;
pub mod fold;
pub mod id;
pub mod known;
pub mod language;
pub mod ledger;
pub mod lifecycle;
pub mod line_diff;
pub mod listing;
pub mod marker;
mod own_log;
pub mod plugin_domain;
pub mod pointer;
pub mod prepare;
pub mod reading;
pub mod recall;
pub mod relation;
pub mod relink;
pub mod request;
pub mod seed;
pub mod structure;
pub mod title;
pub mod traces;
pub mod tree;
pub mod usage;
pub mod withdraw;
pub mod withdrawal;
