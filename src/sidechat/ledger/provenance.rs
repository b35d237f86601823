//! The parts of a record that are read and written as a whole: JSON text in one column.

use crate::model::call_usage::CallUsage;
use crate::model::js_string::JsString;
use crate::model::json::{Object, Value, View, parse, write_value};
use crate::model::message::Role;
use crate::projections::token_usage::{Route, route_of};
use crate::projections::turn_usage::{ExactTokens, SessionUsage};
use crate::sidechat::chat::{
    GeneratedContext, ModelCall, ModelChoice, ModelStrategy, Permission, PermissionMode, Seed, SeedMessage,
};
use crate::sidechat::fold::Basis;
use crate::sidechat::pointer::Pointer;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// A value as a column of JSON text.
pub(super) struct Json<T>(pub(super) T);

/// A value that has a form in JSON.
pub(super) trait Stored: Sized {
    /// The form.
    fn write(&self) -> Value;
    /// Reads it; `None` if it is not that form.
    fn read(view: View<'_>) -> Option<Self>;
}

impl<T: Stored> ToSql for Json<&T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let mut text = String::new();
        write_value(&self.0.write(), &mut text);
        Ok(text.into())
    }
}

impl<T: Stored> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let view = parse(value.as_str()?).map_err(|error| FromSqlError::Other(error.to_string().into()))?;
        T::read(view).map(Json).ok_or_else(|| FromSqlError::Other("the JSON text is of another form".into()))
    }
}

/// Makes an object, leaving out what is not there.
fn object<const N: usize>(members: [(&'static str, Option<Value>); N]) -> Value {
    let mut object = Object::default();
    for (key, value) in members {
        if let Some(value) = value {
            object.set(key, value);
        }
    }
    object.into()
}

fn list<T: Stored>(items: &[T]) -> Value {
    Value::Array(items.iter().map(Stored::write).collect())
}

fn read_list<T: Stored>(view: View<'_>) -> Option<Vec<T>> {
    view.array()?.map(T::read).collect()
}

fn text(view: View<'_>, key: &str) -> Option<String> {
    Some(js(view, key)?.to_str()?.to_owned())
}

fn js(view: View<'_>, key: &str) -> Option<JsString> {
    Some(view.get(key)?.string()?.into_owned())
}

fn count(view: View<'_>, key: &str) -> Option<u64> {
    view.get(key)?.count()
}

/// A member that may be missing; `None` if it is there and not readable.
fn optional<'v, T>(view: View<'v>, key: &str, read: impl FnOnce(View<'v>) -> Option<T>) -> Option<Option<T>> {
    match view.get(key) {
        None => Some(None),
        Some(member) => read(member).map(Some),
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self) -> Value {
        list(self)
    }

    fn read(view: View<'_>) -> Option<Self> {
        read_list(view)
    }
}

impl Stored for Route {
    fn write(&self) -> Value {
        object([("provider", Some(self.provider.clone().into())), ("model", Some(self.model.clone().into()))])
    }

    fn read(view: View<'_>) -> Option<Self> {
        route_of(view)
    }
}

impl Stored for Seed {
    fn write(&self) -> Value {
        object([
            ("mode", Some(self.mode.as_str().into())),
            ("capturedThroughSeq", self.captured_through_seq.map(Value::from)),
            ("capturedFormat", self.captured_format.map(Value::from)),
            ("capturedAt", Some(self.captured_at.into())),
            ("messages", Some(list(&self.messages))),
            ("generated", self.generated.as_ref().map(Stored::write)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(Seed {
            mode: text(view, "mode")?,
            captured_through_seq: optional(view, "capturedThroughSeq", View::count)?,
            captured_format: optional(view, "capturedFormat", View::count)?,
            captured_at: view.get("capturedAt")?.safe_integer()?,
            messages: read_list(view.get("messages")?)?,
            generated: optional(view, "generated", GeneratedContext::read)?,
        })
    }
}

impl Stored for SeedMessage {
    fn write(&self) -> Value {
        object([
            ("messageId", Some(self.message_id.clone().into())),
            ("role", Some(self.role.name().into())),
            ("seq", Some(self.seq.into())),
            ("turn", self.turn.map(Value::from)),
            ("selection", self.selection.map(|(start, end)| Value::Array(vec![start.into(), end.into()]))),
            ("text", Some(self.text.as_str().into())),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        let role = view.get("role")?;
        let selection = |view: View<'_>| {
            let mut bounds = view.array()?.map(View::count);
            Some((bounds.next()??, bounds.next()??))
        };
        Some(SeedMessage {
            message_id: js(view, "messageId")?,
            role: [Role::User, Role::Assistant].into_iter().find(|known| role.is_string(known.name()))?,
            seq: count(view, "seq")?,
            turn: optional(view, "turn", View::count)?,
            selection: optional(view, "selection", selection)?,
            text: text(view, "text")?,
        })
    }
}

impl Stored for GeneratedContext {
    fn write(&self) -> Value {
        object([
            ("text", Some(self.text.as_str().into())),
            ("call", Some(self.call.write())),
            ("droppedOlderMessages", Some(self.dropped_older_messages.into())),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(GeneratedContext {
            text: text(view, "text")?,
            call: ModelCall::read(view.get("call")?)?,
            dropped_older_messages: count(view, "droppedOlderMessages")?,
        })
    }
}

impl Stored for ModelCall {
    fn write(&self) -> Value {
        object([
            ("route", self.route.as_ref().map(Stored::write)),
            ("usage", self.usage.as_ref().map(Stored::write)),
            ("at", Some(self.at.into())),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(ModelCall {
            route: optional(view, "route", Route::read)?,
            usage: optional(view, "usage", CallUsage::read)?,
            at: view.get("at")?.safe_integer()?,
        })
    }
}

impl Stored for CallUsage {
    fn write(&self) -> Value {
        object([
            ("inputTokens", Some(self.input.into())),
            ("outputTokens", Some(self.output.into())),
            ("totalTokens", self.total.map(Value::from)),
            ("cacheReadTokens", self.cache_read.map(Value::from)),
            ("reasoningTokens", self.reasoning.map(Value::from)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(CallUsage {
            input: count(view, "inputTokens")?,
            output: count(view, "outputTokens")?,
            total: optional(view, "totalTokens", View::count)?,
            cache_read: optional(view, "cacheReadTokens", View::count)?,
            reasoning: optional(view, "reasoningTokens", View::count)?,
        })
    }
}

impl Stored for Permission {
    fn write(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        object([
            ("mode", Some(self.mode.name().into())),
            ("parentSandboxMode", text(&self.parent_sandbox)),
            ("parentApprovalPolicy", text(&self.parent_approval)),
            ("childSandboxMode", text(&self.child_sandbox)),
            ("childApprovalPolicy", text(&self.child_approval)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        let mode = view.get("mode")?;
        Some(Permission {
            mode: [PermissionMode::ReadOnly, PermissionMode::Inherit]
                .into_iter()
                .find(|known| mode.is_string(known.name()))?,
            parent_sandbox: text(view, "parentSandboxMode"),
            parent_approval: text(view, "parentApprovalPolicy"),
            child_sandbox: text(view, "childSandboxMode"),
            child_approval: text(view, "childApprovalPolicy"),
        })
    }
}

impl Stored for ModelChoice {
    fn write(&self) -> Value {
        object([
            ("strategy", self.strategy.map(|strategy| strategy.name().into())),
            ("route", self.route.as_ref().map(Stored::write)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        let strategies = [ModelStrategy::Inherit, ModelStrategy::Default, ModelStrategy::Custom];
        let strategy = |said: View<'_>| strategies.into_iter().find(|known| said.is_string(known.name()));
        Some(ModelChoice {
            strategy: optional(view, "strategy", strategy)?,
            route: optional(view, "route", Route::read)?,
        })
    }
}

impl Stored for SessionUsage {
    fn write(&self) -> Value {
        object([
            ("completedTurns", Some(self.completed_turns.into())),
            ("incompleteTurns", Some(self.incomplete_turns.into())),
            ("totals", self.totals.as_ref().map(Stored::write)),
            ("latestTurn", self.latest.as_ref().map(Stored::write)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(SessionUsage {
            completed_turns: count(view, "completedTurns")?,
            incomplete_turns: count(view, "incompleteTurns")?,
            totals: optional(view, "totals", ExactTokens::read)?,
            latest: optional(view, "latestTurn", ExactTokens::read)?,
        })
    }
}

impl Stored for ExactTokens {
    fn write(&self) -> Value {
        object([
            ("uncachedInputTokens", Some(self.uncached_input.into())),
            ("outputTokens", Some(self.output.into())),
            ("totalTokens", Some(self.total.into())),
            ("cacheReadTokens", self.cache_read.map(Value::from)),
            ("cacheWriteTokens", self.cache_write.map(Value::from)),
            ("reasoningTokens", self.reasoning.map(Value::from)),
            ("routes", Some(list(&self.routes))),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(ExactTokens {
            uncached_input: count(view, "uncachedInputTokens")?,
            output: count(view, "outputTokens")?,
            total: count(view, "totalTokens")?,
            cache_read: optional(view, "cacheReadTokens", View::count)?,
            cache_write: optional(view, "cacheWriteTokens", View::count)?,
            reasoning: optional(view, "reasoningTokens", View::count)?,
            routes: read_list(view.get("routes")?)?,
        })
    }
}

impl Stored for Pointer {
    fn write(&self) -> Value {
        object([
            ("label", Some(self.label.as_str().into())),
            ("uri", Some(self.uri.as_str().into())),
            ("messageId", Some(self.message_id.clone().into())),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(Pointer { label: text(view, "label")?, uri: text(view, "uri")?, message_id: js(view, "messageId")? })
    }
}

impl Stored for Basis {
    fn write(&self) -> Value {
        object([
            ("throughSeq", self.through_seq.map(Value::from)),
            ("throughMessageId", self.through_message.clone().map(Value::String)),
            ("format", self.format.map(Value::from)),
        ])
    }

    fn read(view: View<'_>) -> Option<Self> {
        Some(Basis {
            through_seq: optional(view, "throughSeq", View::count)?,
            through_message: js(view, "throughMessageId"),
            format: optional(view, "format", View::count)?,
        })
    }
}
