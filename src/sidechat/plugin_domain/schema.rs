//! The schema of a row, as the plugin checks it (sidechat.md §1.2). Members it does not know are allowed; one
//! that may be missing may not be `null`.

use crate::model::json::View;
use crate::sidechat::id::Id;

/// Something that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Where in the row: `folds[2].state`.
    pub(super) field: String,
    /// What should be there.
    pub(super) message: String,
}

/// Everything in a row that does not fit.
pub(super) fn faults(row: View<'_>) -> Vec<Fault> {
    let mut report = Report::default();
    chat(row, &mut report);
    report.faults
}

#[derive(Default)]
struct Report {
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl Report {
    fn expected(&mut self, what: &str) {
        let mut field = String::new();
        for part in &self.path {
            if !field.is_empty() && !part.starts_with('[') {
                field.push('.');
            }
            field.push_str(part);
        }
        let field = if field.is_empty() { "(the row)".to_owned() } else { field };
        self.faults.push(Fault { field, message: format!("it should be {what}") });
    }

    fn inside(&mut self, part: String, check: impl FnOnce(&mut Report)) {
        self.path.push(part);
        check(self);
        self.path.pop();
    }

    /// A member that must be there.
    fn required(&mut self, object: View<'_>, key: &str, check: impl FnOnce(View<'_>, &mut Report)) {
        self.inside(key.to_owned(), |report| match object.get(key) {
            Some(member) => check(member, report),
            None => report.expected("there"),
        });
    }

    /// A member that may be missing.
    fn optional(&mut self, object: View<'_>, key: &str, check: impl FnOnce(View<'_>, &mut Report)) {
        if let Some(member) = object.get(key) {
            self.inside(key.to_owned(), |report| check(member, report));
        }
    }
}

fn object(view: View<'_>, report: &mut Report) -> bool {
    if !view.is_object() {
        report.expected("an object");
    }
    view.is_object()
}

fn list(least: usize, most: usize, check: impl Fn(View<'_>, &mut Report)) -> impl FnOnce(View<'_>, &mut Report) {
    move |view, report| {
        let Some(elements) = view.array() else { return report.expected("a list") };
        let count = elements.clone().count();
        if count < least || count > most {
            report.expected(&match most {
                usize::MAX => format!("a list of at least {least}"),
                most => format!("a list of {least} to {most}"),
            });
        }
        for (index, element) in elements.enumerate() {
            report.inside(format!("[{index}]"), |report| check(element, report));
        }
    }
}

fn any_list(check: impl Fn(View<'_>, &mut Report)) -> impl FnOnce(View<'_>, &mut Report) {
    list(0, usize::MAX, check)
}

/// A whole number from 0 to 2^53 - 1.
fn count(view: View<'_>, report: &mut Report) {
    if view.count().is_none() {
        report.expected("a whole number from 0");
    }
}

/// A whole number from 1.
fn positive(view: View<'_>, report: &mut Report) {
    if view.count().is_none_or(|number| number == 0) {
        report.expected("a whole number from 1");
    }
}

fn boolean(view: View<'_>, report: &mut Report) {
    if view.bool().is_none() {
        report.expected("true or false");
    }
}

fn string(view: View<'_>, report: &mut Report) {
    if view.string().is_none() {
        report.expected("a text");
    }
}

fn some_string(view: View<'_>, report: &mut Report) {
    if view.string().is_none_or(|text| text.is_empty()) {
        report.expected("a text that is not empty");
    }
}

fn short_string(most: usize) -> impl Fn(View<'_>, &mut Report) {
    move |view, report| {
        if view.string().is_none_or(|text| text.len_utf16() > most) {
            report.expected(&format!("a text of at most {most} characters"));
        }
    }
}

/// The label of a pointer; white space around it does not count.
fn label(view: View<'_>, report: &mut Report) {
    if !view.string().is_some_and(|text| (1..=160).contains(&text.trim_js().len_utf16())) {
        report.expected("a text of 1 to 160 characters");
    }
}

fn uuid(view: View<'_>, report: &mut Report) {
    let is_one = |text: &str| Id::parse(text).is_ok() || EXTREMES.contains(&text.to_ascii_lowercase().as_str());
    if !view.string().is_some_and(|text| text.to_str().is_some_and(is_one)) {
        report.expected("a UUID of RFC 9562");
    }
}

/// Two UUIDs without version that count as well.
const EXTREMES: [&str; 2] = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

fn one_of(words: &'static [&'static str]) -> impl Fn(View<'_>, &mut Report) {
    move |view, report| {
        if !words.iter().any(|word| view.is_string(word)) {
            report.expected(&format!("one of {}", words.join(", ")));
        }
    }
}

const STATES: &[&str] = &["generating", "prepared", "pending", "committed", "failed"];
const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access"];
const POLICIES: &[&str] = &["ask", "never"];
const STATUSES: &[&str] = &["open", "archived", "abandoned"];
const SEED_MODES: &[&str] = &[
    "tail:1",
    "task",
    "none",
    "tail:2",
    "tail:4",
    "pick:1",
    "pick:many",
    "turn",
    "selection",
    "summary",
    "trajectory",
];
const TRAJECTORY_KINDS: &[&str] =
    &["user", "turn", "request", "assistant", "tool-call", "tool-result", "subagent", "error", "fold-note"];

fn chat(row: View<'_>, report: &mut Report) {
    if !object(row, report) {
        return;
    }
    report.required(row, "schema", |schema, report| {
        if schema.count() != Some(1) {
            report.expected("1");
        }
    });
    for key in ["childSessionId", "parentSessionId", "question", "title"] {
        report.required(row, key, some_string);
    }
    report.required(row, "parent", identity);
    report.required(row, "child", identity);
    report.required(row, "status", one_of(&["open", "archived", "abandoned", "orphaned"]));
    report.optional(row, "statusBeforeOrphan", one_of(STATUSES));
    report.required(row, "seed", seed);
    report.optional(row, "permission", permission);
    report.required(row, "modelStrategy", |strategy, report| {
        if object(strategy, report) {
            report.required(strategy, "kind", one_of(&["default", "inherit", "custom"]));
            if strategy.get("kind").is_some_and(|kind| kind.is_string("custom")) {
                report.required(strategy, "selection", model);
            }
        }
    });
    report.optional(row, "selectedModel", model);
    report.optional(row, "parentUsageBaseline", session_usage);
    for key in ["createdAt", "updatedAt", "revision"] {
        report.required(row, key, count);
    }
    report.required(row, "folds", any_list(fold));
    report.required(row, "cites", any_list(cite));
}

fn identity(view: View<'_>, report: &mut Report) {
    if object(view, report) {
        report.required(view, "createdAt", count);
        report.optional(view, "cwd", string);
    }
}

fn model(view: View<'_>, report: &mut Report) {
    if object(view, report) {
        report.required(view, "provider", some_string);
        report.required(view, "model", some_string);
        report.optional(view, "reasoningEffort", some_string);
    }
}

fn sample(view: View<'_>, report: &mut Report) {
    if object(view, report) {
        report.required(view, "inputTokens", count);
        report.required(view, "outputTokens", count);
        for key in ["totalTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] {
            report.optional(view, key, count);
        }
    }
}

fn seed(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "mode", one_of(SEED_MODES));
    report.required(view, "parentSessionId", some_string);
    report.required(view, "capturedThroughSeq", count);
    report.required(view, "capturedAt", count);
    report.required(view, "messages", any_list(seed_message));
    report.optional(view, "summary", |summary, report| {
        if object(summary, report) {
            report.required(summary, "text", some_string);
            report.required(summary, "sourceMessageIds", list(1, usize::MAX, some_string));
            report.required(summary, "estimatedTokens", count);
            report.required(summary, "generatedAt", count);
            report.optional(summary, "model", model);
            report.optional(summary, "usage", sample);
        }
    });
    report.optional(view, "generatedContext", |context, report| {
        if object(context, report) {
            report.required(context, "kind", one_of(&["task"]));
            report.required(context, "text", some_string);
            report.required(context, "sourceMessageIds", any_list(some_string));
            report.required(context, "model", model);
            report.optional(context, "usage", sample);
            report.required(context, "generatedAt", count);
            report.required(context, "droppedOlderMessages", count);
        }
    });
    report.optional(view, "trajectory", trajectory);
}

fn seed_message(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "messageId", some_string);
    report.required(view, "role", one_of(&["user", "assistant"]));
    report.required(view, "text", some_string);
    report.required(view, "seq", count);
    report.optional(view, "turn", positive);
    report.optional(view, "selection", |selection, report| {
        if object(selection, report) {
            report.required(selection, "start", count);
            report.required(selection, "end", positive);
        }
    });
}

fn trajectory(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "kind", one_of(&["trajectory"]));
    report.required(view, "sourceSessionId", some_string);
    report.required(view, "sourceIdentity", identity);
    report.required(view, "projectionVersion", some_string);
    for key in ["capturedThroughSeq", "capturedAt", "chars", "estimatedTokens"] {
        report.required(view, key, count);
    }
    report.required(view, "redacted", boolean);
    report.required(
        view,
        "snapshots",
        list(1, 64, |snapshot, report| {
            if object(snapshot, report) {
                report.required(snapshot, "seq", count);
                report.required(snapshot, "eventId", some_string);
                report.optional(snapshot, "turn", positive);
                report.optional(snapshot, "step", positive);
                report.required(snapshot, "kind", one_of(TRAJECTORY_KINDS));
                report.required(snapshot, "redacted", boolean);
                report.required(snapshot, "digest", string);
                report.required(snapshot, "text", string);
            }
        }),
    );
}

fn permission(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "mode", one_of(&["inherit", "readonly"]));
    report.optional(view, "parentAgentPreset", some_string);
    report.optional(view, "childAgentPreset", some_string);
    report.required(view, "parentSandboxMode", one_of(SANDBOXES));
    report.required(view, "childSandboxMode", one_of(SANDBOXES));
    report.required(view, "parentApprovalPolicy", one_of(POLICIES));
    report.required(view, "childApprovalPolicy", one_of(POLICIES));
    report.required(view, "parentTools", any_list(some_string));
    report.required(view, "allowedTools", any_list(some_string));
    report.required(view, "capturedAt", count);
}

fn session_usage(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "complete", boolean);
    report.required(view, "completedTurns", count);
    report.required(view, "incompleteTurns", count);
    report.optional(view, "totals", exact_tokens);
    report.optional(view, "latestTurn", exact_tokens);
}

fn exact_tokens(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    for key in ["uncachedInputTokens", "outputTokens", "totalTokens"] {
        report.required(view, key, count);
    }
    for key in ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] {
        report.optional(view, key, count);
    }
    let route = |route: View<'_>, report: &mut Report| {
        if object(route, report) {
            report.required(route, "provider", string);
            report.required(route, "model", string);
        }
    };
    report.optional(view, "routes", any_list(route));
}

fn fold(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "foldId", uuid);
    report.required(view, "revision", positive);
    report.required(view, "state", one_of(STATES));
    report.required(view, "generatedContent", string);
    report.optional(view, "committedContent", string);
    for key in ["baselineSeq", "previewThroughSeq", "estimatedTokens", "createdAt", "updatedAt"] {
        report.required(view, key, count);
    }
    report.required(view, "structureValid", boolean);
    report.optional(view, "committedAt", count);
    report.optional(view, "failure", string);
    report.optional(view, "mode", one_of(&["full", "incremental"]));
    report.optional(view, "baseRevision", positive);
    report.optional(view, "supersedesRevision", positive);
    report.optional(view, "revisionState", one_of(&["current", "superseded", "withdrawn"]));
    report.optional(
        view,
        "detailPointers",
        list(0, 5, |pointer, report| {
            if object(pointer, report) {
                report.required(pointer, "label", label);
                report.required(pointer, "uri", some_string);
                report.required(pointer, "messageId", some_string);
            }
        }),
    );
    report.optional(view, "withdrawalState", one_of(STATES));
    report.optional(view, "withdrawalReason", short_string(2_000));
    report.optional(view, "withdrawnAt", count);
}

fn cite(view: View<'_>, report: &mut Report) {
    if !object(view, report) {
        return;
    }
    report.required(view, "citeId", uuid);
    report.required(view, "messageId", some_string);
    report.required(view, "state", one_of(STATES));
    report.required(view, "content", string);
    for key in ["estimatedTokens", "createdAt", "updatedAt"] {
        report.required(view, key, count);
    }
    report.optional(view, "committedAt", count);
    report.optional(view, "failure", string);
    report.optional(view, "targetSessionId", some_string);
    report.optional(view, "target", identity);
    report.optional(view, "crossParent", boolean);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json::parse;

    const SMALLEST: &str = r#"{"schema":1,"childSessionId":"B","parentSessionId":"A","parent":{"createdAt":1,"cwd":"/w"},
        "child":{"createdAt":2,"cwd":"/w"},"question":"q","title":"t","status":"open","seed":{"mode":"none",
        "parentSessionId":"A","capturedThroughSeq":0,"capturedAt":2,"messages":[]},"modelStrategy":{"kind":"inherit"},
        "createdAt":2,"updatedAt":2,"revision":0,"folds":[],"cites":[]}"#;

    fn fields(row: &str) -> Vec<String> {
        faults(parse(row).unwrap()).into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn the_smallest_row_fits_and_so_does_one_with_more() {
        assert_eq!(fields(SMALLEST), [] as [&str; 0]);
        assert_eq!(fields(&SMALLEST.replacen('{', r#"{"x":[1],"#, 1)), [] as [&str; 0]);
        assert_eq!(fields("[]"), ["(the row)"]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let wrong = |from: &str, to: &str| fields(&SMALLEST.replacen(from, to, 1));
        assert_eq!(wrong(r#""status":"open""#, r#""status":"paused""#), ["status"]);
        assert_eq!(wrong(r#""schema":1"#, r#""schema":2"#), ["schema"]);
        assert_eq!(wrong(r#""parent":{"createdAt":1,"#, r#""parent":{"createdAt":-1,"#), ["parent.createdAt"]);
        assert_eq!(wrong(r#""cwd":"/w""#, r#""cwd":null"#), ["parent.cwd"]);
        assert_eq!(wrong(r#""mode":"none""#, r#""mode":"tail:3""#), ["seed.mode"]);
        assert_eq!(wrong(r#""kind":"inherit""#, r#""kind":"custom""#), ["modelStrategy.selection"]);
        assert_eq!(wrong(r#""question":"q","#, ""), ["question"]);
        assert_eq!(wrong(r#""revision":0"#, r#""revision":0.5"#), ["revision"]);
        let fold = r#"{"foldId":"11111111-1111-1111-1111-111111111111","revision":1,"state":"done",
            "generatedContent":"","baselineSeq":0,"previewThroughSeq":0,"estimatedTokens":0,"structureValid":true,
            "createdAt":1,"updatedAt":1}"#;
        assert_eq!(wrong(r#""folds":[]"#, &format!(r#""folds":[{fold}]"#)), ["folds[0].foldId", "folds[0].state"]);
    }
}
