//! v2, the format of the 0.1.3 pre-releases (formats.md §3).
//!
//! No dsh that reads it as its own could be run; the rules are those of the released v2 codec, whose
//! checks on loading are the ones that also hold for v3, with the older names of a replacement's ends.

use super::envelope::Members;
use super::rows::{Admission, RowLog, check_surface_markers};
use super::{Generation, Mode, Rows};
use crate::model::event::is_surface_type;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::Fault;

const KNOWN_TYPES: [&str; 53] = [
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
    "feedback/message-delete",
    "feedback/message-put",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
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
    "subagent/descriptor",
    "subagent/model-selection-policy",
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
    "tool/code-dispatch",
    "tool/code-dispatch-start",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
    "web/deepseek-search-llm-request",
];

pub(super) fn decoder(header: &Header, mode: Mode) -> Box<dyn Rows> {
    Box::new(RowLog::new(V2, header, mode))
}

struct V2;

impl Admission for V2 {
    fn generation(&self) -> Generation {
        Generation::V2
    }

    fn knows(&self, kind: &JsStr<'_>) -> bool {
        KNOWN_TYPES.iter().any(|known| *kind == *known)
    }

    fn refuses_log(&self, _row: View<'_>, _members: &Members<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn refuses_row(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str> {
        if self.knows(kind) {
            check_surface_markers(members, is_surface_type(kind), seq, self.replace_keys())
        } else {
            Ok(())
        }
    }

    fn replace_keys(&self) -> (&'static str, &'static str) {
        ("start", "end")
    }
}
