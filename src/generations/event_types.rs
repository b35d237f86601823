//! Which event types each generation's dsh knows (formats.md §3.2). A log that requires another one is
//! unsupported.

use super::Generation;
use super::Generation::{V0, V1, V2, V3, V4};
use crate::model::js_string::JsStr;

/// The types in the order of their bytes, each with the first and the last generation that has it.
///
/// A type that came without a new version number counts from the generation whose logs may hold it:
/// three that 0.1.2 added to v0, two that the later trunk of 0.1 added to v3.
const KNOWN: [(&str, Generation, Generation); 65] = [
    ("agent-preset/selected", V0, V4),
    ("agent/inbox/spliced", V0, V4),
    ("approval/asked", V0, V4),
    ("approval/decided", V0, V4),
    ("approval/policy", V0, V4),
    ("assistant/attempt", V2, V4),
    ("assistant/chunk", V0, V1),
    ("assistant/message", V0, V4),
    ("command/done", V0, V4),
    ("command/run", V0, V4),
    ("compaction/end", V0, V4),
    ("compaction/prune", V0, V4),
    ("compaction/start", V0, V4),
    ("compaction/summary", V0, V4),
    ("deliverables/presented", V3, V4),
    ("developer/message", V4, V4),
    ("feedback/message-delete", V2, V4),
    ("feedback/message-put", V2, V4),
    ("feedback/record", V0, V4),
    ("goal/change", V0, V4),
    ("hook/invoked", V0, V4),
    ("hook/result", V0, V4),
    ("image/offload", V3, V4),
    ("job/registered", V4, V4),
    ("job/settled", V4, V4),
    ("llm/retry", V0, V4),
    ("llm/retry-started", V0, V4),
    ("model/selection", V0, V4),
    ("permission/preset", V0, V4),
    ("plan/mode", V0, V4),
    ("request/context", V0, V4),
    ("request/header", V0, V4),
    ("sandbox/mode", V0, V4),
    ("schedule/change", V0, V4),
    ("session-log-deepseek/delivery-accepted", V0, V4),
    ("session/end-seed", V0, V4),
    ("session/title", V0, V4),
    ("session/title-llm-request", V0, V4),
    ("step/end", V0, V4),
    ("step/start", V0, V4),
    ("subagent/catalog", V3, V4),
    ("subagent/descriptor", V0, V4),
    ("subagent/model-selection-policy", V0, V4),
    ("system/message", V3, V4),
    ("team/member", V0, V4),
    ("team/message/delivered", V0, V4),
    ("team/message/queued", V0, V4),
    ("team/task", V0, V4),
    ("todo/write", V0, V4),
    ("tool-workflow/agent-end", V0, V4),
    ("tool-workflow/agent-start", V0, V4),
    ("tool-workflow/run-end", V0, V4),
    ("tool-workflow/run-start", V0, V4),
    ("tool/call", V0, V4),
    ("tool/code-dispatch", V0, V2),
    ("tool/code-dispatch-start", V0, V2),
    ("tool/ptc-dispatch", V3, V4),
    ("tool/ptc-dispatch-start", V3, V4),
    ("tool/result", V0, V4),
    ("turn/end", V0, V4),
    ("turn/start", V0, V4),
    ("user/message", V0, V4),
    ("web/deepseek-search-llm-request", V0, V4),
    ("working-directory/change", V4, V4),
    ("workspace/changes", V3, V4),
];

/// Whether a generation's dsh knows an event type.
pub(super) fn is_known(generation: Generation, kind: &JsStr<'_>) -> bool {
    let found = KNOWN.binary_search_by(|(name, _, _)| name.as_bytes().cmp(kind.as_bytes()));
    found.is_ok_and(|at| (KNOWN[at].1..=KNOWN[at].2).contains(&generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_stand_in_order() {
        assert!(KNOWN.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_type_is_known_in_its_generations() {
        let known = |kind: &'static str| Generation::ALL.map(|generation| is_known(generation, &JsStr::from(kind)));
        assert_eq!(known("assistant/chunk"), [true, true, false, false, false]);
        assert_eq!(known("assistant/attempt"), [false, false, true, true, true]);
        assert_eq!(known("tool/code-dispatch"), [true, true, true, false, false]);
        assert_eq!(known("system/message"), [false, false, false, true, true]);
        assert_eq!(known("turn/start"), [true; 5]);
        assert_eq!(known("turn/started"), [false; 5]);
    }
}
