//! v4, the format of dsh 0.1.7 to 0.2.1 (formats.md §3, §5.3).
//!
//! Tool results are messages of their own role, every message names its producer, and on loading dsh
//! also checks how the events hang together: [`relations`].

mod admission;
mod relations;

use super::envelope::Members;
use super::rows::{Admission, RowLog, check_surface_markers};
use super::{Generation, Mode, Rows};
use crate::model::event::{Event, is_surface_type};
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::Fault;

const KNOWN_TYPES: [&str; 62] = [
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/attempt",
    "assistant/message",
    "command/done",
    "command/run",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "deliverables/presented",
    "developer/message",
    "feedback/message-delete",
    "feedback/message-put",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "image/offload",
    "job/registered",
    "job/settled",
    "llm/retry",
    "llm/retry-started",
    "model/selection",
    "permission/preset",
    "plan/mode",
    "request/context",
    "request/header",
    "sandbox/mode",
    "schedule/change",
    "session-log-deepseek/delivery-accepted",
    "session/end-seed",
    "session/title",
    "session/title-llm-request",
    "step/end",
    "step/start",
    "subagent/catalog",
    "subagent/descriptor",
    "subagent/model-selection-policy",
    "system/message",
    "team/member",
    "team/message/delivered",
    "team/message/queued",
    "team/task",
    "todo/write",
    "tool-workflow/agent-end",
    "tool-workflow/agent-start",
    "tool-workflow/run-end",
    "tool-workflow/run-start",
    "tool/call",
    "tool/ptc-dispatch",
    "tool/ptc-dispatch-start",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
    "web/deepseek-search-llm-request",
    "working-directory/change",
    "workspace/changes",
];

pub(super) fn decoder(header: &Header, mode: Mode) -> Box<dyn Rows> {
    let relations = relations::Relations::new(header);
    Box::new(RowLog::new(V4 { relations }, header, mode))
}

struct V4 {
    relations: relations::Relations,
}

impl Admission for V4 {
    fn generation(&self) -> Generation {
        Generation::V4
    }

    fn knows(&self, kind: &JsStr<'_>) -> bool {
        KNOWN_TYPES.iter().any(|known| *kind == *known)
    }

    fn refuses_log(&self, _row: View<'_>, members: &Members<'_>) -> Result<(), Fault> {
        admission::check(members)
    }

    fn refuses_row(&self, _members: &Members<'_>, _kind: &JsStr<'_>, _seq: u64) -> Result<(), &'static str> {
        Ok(())
    }

    fn refuses_event(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str> {
        if self.knows(kind) {
            check_surface_markers(members, is_surface_type(kind), seq, self.replace_keys())
        } else {
            Ok(())
        }
    }

    fn relate(&mut self, event: &Event<'_>) -> Result<(), String> {
        self.relations.accept(event)
    }

    fn relate_end(&mut self, inherited_events: u64) -> Result<(), String> {
        self.relations.finish(inherited_events)
    }

    fn replace_keys(&self) -> (&'static str, &'static str) {
        ("startSeq", "endSeq")
    }
}
