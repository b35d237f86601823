//! A row that fits the schema, as what it says of a side chat. What our ledger keeps and the plugin does not, is
//! unknown.

use super::PluginChat;
use crate::model::call_usage::CallUsage;
use crate::model::js_string::JsString;
use crate::model::json::View;
use crate::model::message::Role;
use crate::projections::token_usage::{Route, route_of};
use crate::projections::turn_usage::{ExactTokens, SessionUsage};
use crate::sidechat::chat::{
    Chat, GeneratedContext, Identity, ModelCall, ModelChoice, ModelStrategy, Origin, Permission, PermissionMode, Seed,
    SeedMessage, SessionRef, Status,
};
use crate::sidechat::citation::{Cite, Source};
use crate::sidechat::fold::{Basis, Fold, FoldMode, Standing, State};
use crate::sidechat::id::Id;
use crate::sidechat::pointer::Pointer;
use crate::sidechat::withdrawal::Withdrawal;

/// What a row says.
pub(super) fn chat(row: View<'_>) -> Option<PluginChat> {
    let chat = Chat {
        child: session(row, "childSessionId", "child")?,
        parent: session(row, "parentSessionId", "parent")?,
        question: text(row, "question")?,
        title: text(row, "title")?,
        status: status(row),
        seed: seed(row.get("seed")?)?,
        permission: permission(row.get("permission")),
        model: model_choice(row)?,
        parent_baseline: row.get("parentUsageBaseline").and_then(session_usage),
        created_at: time(row, "createdAt")?,
        updated_at: time(row, "updatedAt")?,
        last_revision: count(row, "revision")?,
        log: None,
        is_hidden: false,
        origin: Origin::Plugin,
    };
    let rows = |key: &str| row.get(key).into_iter().flat_map(View::elements);
    let mut folds: Vec<Fold> = rows("folds").filter_map(|view| fold(view, &chat.child.id)).collect();
    folds.sort_by_key(|fold| fold.revision);
    settle(&mut folds);
    let withdrawals = rows("folds").filter_map(|view| withdrawal(view, &chat.child.id)).collect();
    let cites = rows("cites").filter_map(|view| cite(view, &chat)).collect();
    Some(PluginChat { folds, cites, withdrawals, chat })
}

fn js(view: View<'_>, key: &str) -> Option<JsString> {
    Some(view.get(key)?.string()?.into_owned())
}

fn text(view: View<'_>, key: &str) -> Option<String> {
    Some(view.get(key)?.string()?.to_string_lossy().into_owned())
}

fn count(view: View<'_>, key: &str) -> Option<u64> {
    view.get(key)?.count()
}

fn time(view: View<'_>, key: &str) -> Option<i64> {
    view.get(key)?.safe_integer()
}

fn word<T: Copy>(view: View<'_>, key: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Option<T> {
    let word = view.get(key)?;
    all.iter().copied().find(|known| word.is_string(name(*known)))
}

fn identity(view: View<'_>) -> Option<Identity> {
    Some(Identity { created_at: count(view, "createdAt")?, cwd: js(view, "cwd") })
}

fn session(row: View<'_>, id: &str, lifecycle: &str) -> Option<SessionRef> {
    Some(SessionRef { id: js(row, id)?, identity: identity(row.get(lifecycle)?)? })
}

/// The status. `orphaned` is what the plugin saw once; whether the parent is there we look up.
fn status(row: View<'_>) -> Status {
    let named = |key| word(row, key, &Status::ALL, Status::name);
    named("status").or_else(|| named("statusBeforeOrphan")).unwrap_or(Status::Open)
}

fn seed(view: View<'_>) -> Option<Seed> {
    let message = |view: View<'_>| {
        let is_user = view.get("role")?.is_string("user");
        Some(SeedMessage {
            message_id: js(view, "messageId")?,
            role: if is_user { Role::User } else { Role::Assistant },
            seq: count(view, "seq")?,
            turn: count(view, "turn"),
            selection: view.get("selection").and_then(|part| Some((count(part, "start")?, count(part, "end")?))),
            text: text(view, "text")?,
        })
    };
    let generated = view.get("generatedContext").or_else(|| view.get("summary"));
    Some(Seed {
        mode: text(view, "mode")?,
        captured_through_seq: count(view, "capturedThroughSeq"),
        captured_format: None,
        captured_at: time(view, "capturedAt")?,
        messages: view.get("messages")?.elements().filter_map(message).collect(),
        generated: generated.and_then(|generated| {
            let call = ModelCall {
                route: generated.get("model").and_then(route_of),
                usage: generated.get("usage").and_then(call_usage),
                at: time(generated, "generatedAt")?,
            };
            let dropped_older_messages = count(generated, "droppedOlderMessages").unwrap_or_default();
            Some(GeneratedContext { text: text(generated, "text")?, call, dropped_older_messages })
        }),
    })
}

fn call_usage(view: View<'_>) -> Option<CallUsage> {
    Some(CallUsage {
        input: count(view, "inputTokens")?,
        output: count(view, "outputTokens")?,
        total: count(view, "totalTokens"),
        cache_read: count(view, "cacheReadTokens"),
        reasoning: count(view, "reasoningTokens"),
    })
}

/// The permission. Old rows have none; their side chats were read-only.
fn permission(view: Option<View<'_>>) -> Permission {
    let word = |key: &str| view.and_then(|view| text(view, key));
    let is_inherited = view.and_then(|view| view.get("mode")).is_some_and(|mode| mode.is_string("inherit"));
    Permission {
        mode: if is_inherited { PermissionMode::Inherit } else { PermissionMode::ReadOnly },
        parent_sandbox: word("parentSandboxMode"),
        parent_approval: word("parentApprovalPolicy"),
        child_sandbox: word("childSandboxMode"),
        child_approval: word("childApprovalPolicy"),
    }
}

fn model_choice(row: View<'_>) -> Option<ModelChoice> {
    let strategy = row.get("modelStrategy")?;
    let kinds = [ModelStrategy::Inherit, ModelStrategy::Default, ModelStrategy::Custom];
    let route = row.get("selectedModel").or_else(|| strategy.get("selection"));
    Some(ModelChoice {
        strategy: Some(word(strategy, "kind", &kinds, ModelStrategy::name)?),
        route: route.and_then(route_of),
    })
}

fn session_usage(view: View<'_>) -> Option<SessionUsage> {
    Some(SessionUsage {
        completed_turns: count(view, "completedTurns")?,
        incomplete_turns: count(view, "incompleteTurns")?,
        totals: view.get("totals").filter(|_| view.get("complete").is_some_and(View::is_true)).and_then(exact_tokens),
        latest: view.get("latestTurn").and_then(exact_tokens),
    })
}

fn exact_tokens(view: View<'_>) -> Option<ExactTokens> {
    let routes: Vec<Route> = view.get("routes").into_iter().flat_map(View::elements).filter_map(route_of).collect();
    Some(ExactTokens {
        uncached_input: count(view, "uncachedInputTokens")?,
        output: count(view, "outputTokens")?,
        total: count(view, "totalTokens")?,
        cache_read: count(view, "cacheReadTokens"),
        cache_write: count(view, "cacheWriteTokens"),
        reasoning: count(view, "reasoningTokens"),
        routes,
    })
}

fn fold(view: View<'_>, child: &JsString) -> Option<Fold> {
    let state = word(view, "state", &State::ALL, State::name)?;
    let pointer = |view: View<'_>| {
        let label = view.get("label")?.string()?.trim_js().to_string_lossy().into_owned();
        Some(Pointer { label, uri: text(view, "uri")?, message_id: js(view, "messageId")? })
    };
    let base =
        count(view, "baseRevision").filter(|_| view.get("mode").is_some_and(|mode| mode.is_string("incremental")));
    Some(Fold {
        id: Id::stored(text(view, "foldId")?),
        child: child.clone(),
        revision: count(view, "revision")?,
        state,
        mode: base.map_or(FoldMode::Full, |base| FoldMode::Incremental { base }),
        standing: word(view, "revisionState", &Standing::ALL, Standing::name).filter(|_| state == State::Committed),
        prepared_text: text(view, "generatedContent").filter(|text| !text.is_empty()),
        committed_text: text(view, "committedContent"),
        pointers: view.get("detailPointers").into_iter().flat_map(View::elements).filter_map(pointer).collect(),
        basis: Basis { through_seq: count(view, "previewThroughSeq"), through_message: None, format: None },
        calls: Vec::new(),
        supersedes: count(view, "supersedesRevision"),
        delivered: None,
        delivered_to: None,
        reason: text(view, "failure"),
        created_at: time(view, "createdAt")?,
        updated_at: time(view, "updatedAt")?,
        committed_at: time(view, "committedAt"),
    })
}

/// Gives committed folds of old rows, which do not tell, their standing: the newest is current.
fn settle(folds: &mut [Fold]) {
    let newest = folds.iter().filter(|fold| fold.is_in_force()).map(|fold| fold.revision).max();
    for fold in folds.iter_mut().filter(|fold| fold.state == State::Committed && fold.standing.is_none()) {
        let is_newest = newest == Some(fold.revision);
        fold.standing = Some(if is_newest { Standing::Current } else { Standing::Superseded });
    }
}

fn withdrawal(view: View<'_>, child: &JsString) -> Option<Withdrawal> {
    let state = word(view, "withdrawalState", &State::ALL, State::name)?;
    let at = time(view, "withdrawnAt").or_else(|| time(view, "updatedAt"))?;
    let fold = Id::stored(text(view, "foldId")?);
    Some(Withdrawal {
        id: fold.clone(),
        fold,
        child: child.clone(),
        revision: count(view, "revision")?,
        reason: text(view, "withdrawalReason").unwrap_or_default(),
        state,
        delivered: None,
        obstacle: None,
        created_at: at,
        updated_at: at,
        committed_at: (state == State::Committed).then_some(at),
    })
}

fn cite(view: View<'_>, chat: &Chat) -> Option<Cite> {
    let named = js(view, "targetSessionId").zip(view.get("target").and_then(identity));
    let target = named.map_or_else(|| chat.parent.clone(), |(id, identity)| SessionRef { id, identity });
    Some(Cite {
        id: Id::stored(text(view, "citeId")?),
        child: chat.child.id.clone(),
        is_cross_parent: target.id != chat.parent.id,
        target: Some(target),
        source: Source::Message { message_id: js(view, "messageId")?, place: None, range: None },
        text: text(view, "content")?,
        source_time: None,
        state: word(view, "state", &State::ALL, State::name)?,
        delivered: None,
        reason: text(view, "failure"),
        created_at: time(view, "createdAt")?,
        updated_at: time(view, "updatedAt")?,
        committed_at: time(view, "committedAt"),
    })
}
