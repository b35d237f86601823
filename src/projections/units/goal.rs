//! `goal`: the goal the session works towards (formats.md §7.3), or `null`.
//!
//! From v2 on every change must follow from the one before, and each message that is a round of the goal
//! counts one; the first event that does not follow ends the fold, and the view stays as it was. In v0 any
//! change of the right shape counts as it stands, for so its dsh had it.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::{Object, Value, View, string_literal};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Goal {
    /// Whether changes must follow from each other.
    is_strict: bool,
    current: Option<Snapshot>,
    /// The ids of all goals so far, as JSON strings. None comes twice.
    seen: BTreeSet<String>,
    /// Whether an event came that does not follow.
    has_failed: bool,
}

/// A goal and how far it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    id: Text,
    revision: u64,
    objective: Text,
    phase: Phase,
    /// Of a blocked goal, and of no other.
    blocked_reason: Option<BlockedReason>,
    max_rounds: u64,
    rounds_started: u64,
    /// In milliseconds since the epoch.
    created_at: u64,
    /// In milliseconds since the epoch.
    updated_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    Active,
    Paused,
    Blocked,
    Complete,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockedReason {
    code: Text,
    message: Text,
}

/// What a `goal/change` does.
enum GoalChange {
    /// It puts a goal, or a later state of one, in the place of what was.
    Set(Operation, Snapshot),
    /// It takes the goal away.
    Clear { id: Text, revision: u64, cleared_at: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Create,
    Edit,
    Pause,
    Resume,
    Complete,
    Block,
}

impl Unit for Goal {
    const KEY: &'static str = "goal";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["goal/change", "user/message"];

    fn init(header: &Header) -> Goal {
        Goal { is_strict: header.version > 0, current: None, seen: BTreeSet::new(), has_failed: false }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if self.has_failed {
            return Change::None;
        }
        let changed = if event.is("goal/change") {
            GoalChange::of(event.data()).and_then(|change| self.change(change))
        } else {
            let source = if self.is_strict { event.data().get("source") } else { None };
            let is_goal = |source: &View<'_>| source.get("kind").is_some_and(|kind| kind.is_string("goal"));
            let Some(source) = source.filter(is_goal) else { return Change::None };
            self.start_round(source)
        };
        self.has_failed = self.is_strict && changed.is_none();
        if changed.is_some() || self.has_failed { Change::Some } else { Change::None }
    }

    fn view(&self) -> Value {
        self.current.as_ref().map_or(Value::Null, |snapshot| Value::from(snapshot.view()))
    }
}

impl Goal {
    /// Carries a change out. `None`, and nothing changed, if it does not follow.
    fn change(&mut self, change: GoalChange) -> Option<()> {
        if self.is_strict && !self.is_next(&change) {
            return None;
        }
        self.current = match change {
            GoalChange::Clear { .. } => None,
            GoalChange::Set(operation, snapshot) => {
                if self.is_strict && operation == Operation::Create {
                    self.seen.insert(string_literal(&snapshot.id.0));
                }
                Some(snapshot)
            }
        };
        Some(())
    }

    fn is_next(&self, change: &GoalChange) -> bool {
        match (change, &self.current) {
            (GoalChange::Set(Operation::Create, next), current) => {
                current.as_ref().is_none_or(|current| current.phase == Phase::Complete)
                    && (next.revision, next.phase, next.rounds_started) == (1, Phase::Active, 0)
                    && !self.seen.contains(&string_literal(&next.id.0))
            }
            (GoalChange::Set(operation, next), Some(current)) => current.becomes(*operation, next),
            (GoalChange::Clear { id, revision, cleared_at }, Some(current)) => {
                current.id == *id && current.revision + 1 == *revision && current.updated_at <= *cleared_at
            }
            (_, None) => false,
        }
    }

    /// Counts a round that a message starts. `None`, and nothing changed, if it is not the next one of the
    /// goal.
    fn start_round(&mut self, source: View<'_>) -> Option<()> {
        let [id, revision, round] = source.pick(["goalId", "revision", "round"]);
        let (id, revision, round) = (Text::of(id?)?, positive(revision)?, positive(round)?);
        let current = self.current.as_mut().filter(|current| {
            current.phase == Phase::Active
                && current.id == id
                && current.revision == revision
                && current.rounds_started + 1 == round
                && round <= current.max_rounds
        })?;
        current.rounds_started = round;
        Some(())
    }
}

impl Snapshot {
    /// The goal of a change: its `goal`, and what the change says beside it. `None` if a member is missing,
    /// too many or odd.
    fn of(goal: View<'_>, change: View<'_>) -> Option<Snapshot> {
        let [id, revision, objective, phase, reason, max_rounds] =
            goal.pick(["id", "revision", "objective", "phase", "blockedReason", "maxGoalRounds"]);
        let phase = Phase::of(phase?)?;
        let known: &[&str] = match phase {
            Phase::Blocked => &["id", "revision", "objective", "phase", "blockedReason", "maxGoalRounds"],
            _ => &["id", "revision", "objective", "phase", "maxGoalRounds"],
        };
        if !has_exactly(goal, known) {
            return None;
        }
        let blocked_reason = match reason {
            Some(reason) => Some(BlockedReason::of(reason)?),
            None => None,
        };
        let [rounds_started, created_at, updated_at] = change.pick(["roundsStarted", "createdAt", "updatedAt"]);
        Some(Snapshot {
            id: Text::of(id?).filter(|id| !id.0.is_empty())?,
            revision: positive(revision)?,
            objective: trimmed(objective?)?,
            phase,
            blocked_reason,
            max_rounds: positive(max_rounds)?,
            rounds_started: not_negative(rounds_started)?,
            created_at: not_negative(created_at)?,
            updated_at: not_negative(updated_at)?,
        })
    }

    /// Whether an operation other than `create` makes the next state out of this one.
    fn becomes(&self, operation: Operation, next: &Snapshot) -> bool {
        let is_same = self.objective == next.objective && self.max_rounds == next.max_rounds;
        let is_allowed = match operation {
            Operation::Create => false,
            Operation::Edit => self.phase == next.phase && self.blocked_reason == next.blocked_reason,
            Operation::Pause => is_same && (self.phase, next.phase) == (Phase::Active, Phase::Paused),
            Operation::Block => is_same && (self.phase, next.phase) == (Phase::Active, Phase::Blocked),
            Operation::Complete => is_same && self.phase != Phase::Complete && next.phase == Phase::Complete,
            Operation::Resume => {
                let has_rounds = self.rounds_started < next.max_rounds;
                is_same && self.phase != Phase::Complete && next.phase == Phase::Active && has_rounds
            }
        };
        is_allowed
            && self.id == next.id
            && self.revision + 1 == next.revision
            && self.rounds_started == next.rounds_started
            && self.created_at == next.created_at
            && self.updated_at <= next.updated_at
    }

    fn view(&self) -> Object {
        let mut goal = Object::of([
            ("id", self.id.to_value()),
            ("revision", Value::from(self.revision)),
            ("objective", self.objective.to_value()),
            ("phase", Value::from(self.phase.name())),
        ]);
        if let Some(BlockedReason { code, message }) = &self.blocked_reason {
            let reason = Object::of([("code", code.to_value()), ("message", message.to_value())]);
            goal.set("blockedReason", Value::from(reason));
        }
        goal.set("maxGoalRounds", Value::from(self.max_rounds));
        Object::of([
            ("goal", Value::from(goal)),
            ("roundsStarted", Value::from(self.rounds_started)),
            ("createdAt", Value::from(self.created_at)),
            ("updatedAt", Value::from(self.updated_at)),
        ])
    }
}

impl Phase {
    fn of(name: View<'_>) -> Option<Phase> {
        let all = [Phase::Active, Phase::Paused, Phase::Blocked, Phase::Complete];
        all.into_iter().find(|phase| name.is_string(phase.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Phase::Active => "active",
            Phase::Paused => "paused",
            Phase::Blocked => "blocked",
            Phase::Complete => "complete",
        }
    }
}

impl BlockedReason {
    fn of(reason: View<'_>) -> Option<BlockedReason> {
        let [code, message] = reason.pick(["code", "message"]);
        let code = Text::of(code?).filter(|code| is_lower_kebab(&code.0))?;
        let message = trimmed(message?)?;
        has_exactly(reason, &["code", "message"]).then_some(BlockedReason { code, message })
    }
}

impl GoalChange {
    /// The change that an event's data describe. `None` if a member is missing, too many or odd.
    fn of(data: View<'_>) -> Option<GoalChange> {
        let [kind, version, operation] = data.pick(["kind", "version", "operation"]);
        if !kind?.is_string("goal/change") || version?.safe_integer() != Some(1) {
            return None;
        }
        let operation = match operation?.string()?.to_str()? {
            "clear" => return GoalChange::clear(data),
            "create" => Operation::Create,
            "edit" => Operation::Edit,
            "pause" => Operation::Pause,
            "resume" => Operation::Resume,
            "complete" => Operation::Complete,
            "block" => Operation::Block,
            _ => return None,
        };
        let known = ["kind", "version", "operation", "goal", "roundsStarted", "createdAt", "updatedAt"];
        let snapshot = Snapshot::of(data.get("goal")?, data)?;
        let is_change = has_exactly(data, &known) && snapshot.created_at <= snapshot.updated_at;
        is_change.then_some(GoalChange::Set(operation, snapshot))
    }

    fn clear(data: View<'_>) -> Option<GoalChange> {
        let [cleared, cleared_at] = data.pick(["cleared", "clearedAt"]);
        let [id, revision] = cleared?.pick(["id", "revision"]);
        let id = Text::of(id?).filter(|id| !id.0.is_empty())?;
        let (revision, cleared_at) = (positive(revision)?, not_negative(cleared_at)?);
        let is_clear = has_exactly(data, &["kind", "version", "operation", "cleared", "clearedAt"])
            && has_exactly(cleared?, &["id", "revision"]);
        is_clear.then_some(GoalChange::Clear { id, revision, cleared_at })
    }
}

/// Whether a value is an object with these members and no others.
fn has_exactly(value: View<'_>, names: &[&str]) -> bool {
    value.is_object()
        && names.iter().all(|name| value.has(name))
        && value.members().all(|(name, _)| names.iter().any(|known| name == *known))
}

fn positive(value: Option<View<'_>>) -> Option<u64> {
    not_negative(value).filter(|number| *number > 0)
}

/// A whole number from 0 on; `-0` is 0.
fn not_negative(value: Option<View<'_>>) -> Option<u64> {
    u64::try_from(value?.safe_integer()?).ok()
}

/// A string that has more than white space, and none at its ends.
fn trimmed(value: View<'_>) -> Option<Text> {
    Text::of(value).filter(|text| !text.0.is_empty() && text.0.trim_js() == text.0)
}

/// Whether a text is words of small letters and digits with hyphens between, and begins with a letter.
fn is_lower_kebab(text: &JsStr<'_>) -> bool {
    let is_word =
        |word: &[u8]| !word.is_empty() && word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_lowercase) && bytes.split(|byte| *byte == b'-').all(is_word)
}
