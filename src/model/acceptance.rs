//! Whether a log takes a message from outside now (formats.md §7.5, §11.1; oracle README, "Findings").
//!
//! A message may follow the last turn and nothing else: inside an open turn it could come between a tool
//! call and its result, and before the first step or the system head it would make the log one that a
//! later dsh cannot migrate.

use crate::model::closers::OpenTurn;
use crate::model::event::Event;
use crate::model::surface::{Rules, Surface};
use std::collections::HashSet;

/// Why a log takes no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The last turn has no end.
    OpenTurn,
    /// A compaction has begun since the session was opened last, and has not ended.
    OpenCompaction,
    /// No step has begun yet; the migration to v3 puts the system head there (up to v2).
    NoStep,
    /// The surface does not begin with a system message (from v3).
    NoSystemHead,
}

/// What of a log decides about that. Feed it every stored event in order.
#[derive(Debug)]
pub struct Acceptance {
    rules: Rules,
    has_step: bool,
    is_compacting: bool,
    system_messages: HashSet<u64>,
}

impl Acceptance {
    /// Of a log without events.
    pub fn new(rules: Rules) -> Acceptance {
        Acceptance { rules, has_step: false, is_compacting: false, system_messages: HashSet::new() }
    }

    /// Takes one event in.
    pub fn observe(&mut self, event: &Event<'_>) {
        match event.kind.as_bytes() {
            b"step/start" => self.has_step = true,
            b"compaction/start" => self.is_compacting = true,
            b"compaction/end" | b"session/end-seed" => self.is_compacting = false,
            b"system/message" => {
                self.system_messages.insert(event.seq);
            }
            _ => {}
        }
    }

    /// What stands against a message, given how the log ends.
    pub fn obstacle(&self, open: &OpenTurn, surface: &Surface) -> Option<Obstacle> {
        if open.is_open() {
            return Some(Obstacle::OpenTurn);
        }
        if self.is_compacting {
            return Some(Obstacle::OpenCompaction);
        }
        match self.rules {
            Rules::WithoutHead => (!self.has_step).then_some(Obstacle::NoStep),
            Rules::WithHead => {
                let has_head = surface.nodes.first().is_some_and(|first| self.system_messages.contains(first));
                (!has_head).then_some(Obstacle::NoSystemHead)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::closers::ResultShape;
    use crate::model::event::{Envelope, SurfaceOp};
    use crate::model::js_string::JsStr;

    fn obstacle(rules: Rules, kinds: &[&'static str]) -> Option<Obstacle> {
        let mut acceptance = Acceptance::new(rules);
        let mut open = OpenTurn::new(ResultShape::Wrapped);
        let mut surface = Surface::default();
        for (kind, seq) in kinds.iter().copied().zip(0..) {
            let is_message = kind.ends_with("/message");
            let surface_op = is_message.then_some(SurfaceOp::Append);
            let kind = JsStr::from(kind);
            let envelope = Envelope { seq, time: 0, kind, surface_op, source_event_seqs: None, ignorable: false };
            let event = Event::from_text(envelope, r#"{"data":{"turn":1,"step":1}}"#.to_owned());
            acceptance.observe(&event);
            open.observe(&event);
            surface.nodes.extend(is_message.then_some(seq));
        }
        acceptance.obstacle(&open, &surface)
    }

    #[test]
    fn a_message_may_follow_a_closed_turn() {
        let turn = ["turn/start", "step/start", "user/message", "step/end", "turn/end"];
        assert_eq!(obstacle(Rules::WithoutHead, &turn), None);
        assert_eq!(obstacle(Rules::WithoutHead, &turn[..4]), Some(Obstacle::OpenTurn));
        assert_eq!(obstacle(Rules::WithoutHead, &["session/title"]), Some(Obstacle::NoStep));
        assert_eq!(obstacle(Rules::WithHead, &turn), Some(Obstacle::NoSystemHead));
        let with_head = ["turn/start", "step/start", "system/message", "user/message", "step/end", "turn/end"];
        assert_eq!(obstacle(Rules::WithHead, &with_head), None);
    }

    #[test]
    fn a_compaction_that_its_session_did_not_survive_is_over() {
        let turn = ["turn/start", "step/start", "step/end", "turn/end", "compaction/start"];
        assert_eq!(obstacle(Rules::WithoutHead, &turn), Some(Obstacle::OpenCompaction));
        for end in ["compaction/end", "session/end-seed"] {
            assert_eq!(obstacle(Rules::WithoutHead, &[&turn[..], &[end]].concat()), None);
        }
    }
}
