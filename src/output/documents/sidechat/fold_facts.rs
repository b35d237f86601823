//! What is told of a fold.

use super::calls::CallDocument;
use super::print_lines;
use crate::output::TextOut;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_js};
use crate::sidechat::chat::Chat;
use crate::sidechat::estimate;
use crate::sidechat::fold::{Fold, FoldMode, Review};
use crate::sidechat::pointer::Pointer;
use crate::sidechat::structure::StructureProblem;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A fold: a conclusion of a side chat, in one of its revisions.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoldFacts {
    /// Its id, a UUID; `null` of a dry run.
    fold_id: Option<String>,
    /// The side chat.
    child_session_id: Js,
    /// The session it is a conclusion for; of a committed one the session that was the parent then.
    parent_session_id: Js,
    /// Whether that is the parent no more.
    #[serde(skip)]
    is_of_former_parent: bool,
    /// Its number in the side chat, from 1.
    pub(super) revision: Option<u64>,
    /// `generating`, `prepared`, `pending`, `committed`, or `failed`.
    pub(super) state: &'static str,
    /// What it stands for: `full`, or `incremental` for what is new since another.
    mode: &'static str,
    /// Of an incremental one: the revision it builds on.
    base_revision: Option<u64>,
    /// Of a committed one: `current`, `superseded` by a newer one, or `withdrawn`.
    standing: Option<&'static str>,
    /// The text that was decided on, else the prepared one.
    text: Option<String>,
    /// The estimate that its budget counts with.
    estimated_tokens: Option<u64>,
    /// An estimate that looks at the script of the text.
    script_aware_tokens: Option<u64>,
    /// The budget, in tokens.
    max_tokens: u64,
    /// Whether the text has the parts it must have.
    structure: Option<StructureDocument>,
    /// The messages that its text points to.
    pointers: Vec<PointerDocument>,
    /// The last event of the side chat that it was made from.
    through_seq: Option<u64>,
    /// The revision that was current when this one was decided on.
    supersedes_revision: Option<u64>,
    /// Where it stands in the parent's log.
    parent_event_seq: Option<u64>,
    /// The format generation in which that seq counts.
    parent_format: Option<u64>,
    /// Why it failed, or has to wait.
    reason: Option<String>,
    /// The calls of a model that it took.
    calls: Vec<CallDocument>,
    /// When it was begun.
    created_at: Option<i64>,
    /// When its state last changed.
    updated_at: Option<i64>,
    /// When it came to stand in the parent's log.
    committed_at: Option<i64>,
}

/// Whether a fold has the parts it must have.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct StructureDocument {
    /// Whether it has.
    valid: bool,
    /// What is wrong.
    problems: Vec<StructureProblemDocument>,
}

/// Something wrong with the parts of a fold.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct StructureProblemDocument {
    /// `missing`, `repeated`, `out-of-order`, or `wrong-colon`.
    kind: &'static str,
    /// The part.
    label: &'static str,
    /// The line, from 1.
    line: Option<usize>,
    /// The same for people.
    message: String,
}

/// A message that a fold points to.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct PointerDocument {
    /// What the text calls it.
    label: String,
    /// The pointer.
    uri: String,
    /// The id of the message.
    message_id: Js,
}

impl From<&Pointer> for PointerDocument {
    fn from(pointer: &Pointer) -> PointerDocument {
        PointerDocument {
            label: pointer.label.clone(),
            uri: pointer.uri.clone(),
            message_id: Js::from(&pointer.message_id),
        }
    }
}

impl StructureDocument {
    fn of(problems: &[StructureProblem]) -> StructureDocument {
        let problem = |problem: &StructureProblem| StructureProblemDocument {
            kind: problem.kind.name(),
            label: problem.label,
            line: problem.line,
            message: problem.to_string(),
        };
        StructureDocument { valid: problems.is_empty(), problems: problems.iter().map(problem).collect() }
    }
}

impl FoldFacts {
    /// The facts of a fold.
    pub(super) fn of(fold: &Fold, chat: &Chat) -> FoldFacts {
        FoldFacts {
            fold_id: Some(fold.id.to_string()),
            revision: Some(fold.revision),
            state: fold.state.name(),
            mode: fold.mode.name(),
            base_revision: fold.mode.base(),
            standing: fold.standing.map(|standing| standing.name()),
            parent_session_id: Js::from(fold.delivered_to.as_ref().unwrap_or(&chat.parent.id)),
            is_of_former_parent: fold.delivered_to.as_ref().is_some_and(|parent| *parent != chat.parent.id),
            pointers: fold.pointers.iter().map(PointerDocument::from).collect(),
            through_seq: fold.basis.through_seq,
            supersedes_revision: fold.supersedes,
            parent_event_seq: fold.delivered.map(|place| place.seq),
            parent_format: fold.delivered.map(|place| place.format),
            reason: fold.reason.clone(),
            calls: fold.calls.iter().map(CallDocument::from).collect(),
            created_at: Some(fold.created_at),
            updated_at: Some(fold.updated_at),
            committed_at: fold.committed_at,
            ..FoldFacts::of_text(fold.text(), chat)
        }
    }

    /// What can be said of a text that is no fold yet.
    fn of_text(text: Option<&str>, chat: &Chat) -> FoldFacts {
        let review = text.map(Review::of);
        FoldFacts {
            fold_id: None,
            child_session_id: Js::from(&chat.child.id),
            parent_session_id: Js::from(&chat.parent.id),
            is_of_former_parent: false,
            revision: None,
            state: "prepared",
            mode: FoldMode::Full.name(),
            base_revision: None,
            standing: None,
            text: text.map(str::to_owned),
            estimated_tokens: review.as_ref().map(|review| review.estimated_tokens),
            script_aware_tokens: review.as_ref().map(|review| review.script_aware_tokens),
            max_tokens: estimate::BUDGET,
            structure: review.as_ref().map(|review| StructureDocument::of(&review.problems)),
            pointers: Vec::new(),
            through_seq: None,
            supersedes_revision: None,
            parent_event_seq: None,
            parent_format: None,
            reason: None,
            calls: Vec::new(),
            created_at: None,
            updated_at: None,
            committed_at: None,
        }
    }

    /// The same for a text that would become a fold of this mode with these pointers.
    pub(super) fn of_trial(text: &str, chat: &Chat, mode: FoldMode, pointers: &[Pointer]) -> FoldFacts {
        FoldFacts {
            mode: mode.name(),
            base_revision: mode.base(),
            pointers: pointers.iter().map(PointerDocument::from).collect(),
            ..FoldFacts::of_text(Some(text), chat)
        }
    }

    /// One line about the fold.
    pub(super) fn line(&self) -> String {
        let revision = self.revision.map_or_else(|| "new revision".to_owned(), |revision| format!("rev-{revision}"));
        let id = self.fold_id.as_deref().unwrap_or("-");
        let mut line = format!("{revision}  {}", self.state);
        if let Some(base) = self.base_revision {
            line.push_str(&format!(", since rev-{base}"));
        }
        if let Some(standing) = self.standing {
            line.push_str(&format!(" ({standing})"));
        }
        if let Some(seq) = self.parent_event_seq {
            let parent = match self.is_of_former_parent {
                true => &visible_js(&self.parent_session_id.0),
                false => "the parent",
            };
            line.push_str(&format!(", seq {seq} of {parent}"));
        }
        if let (Some(tokens), Some(aware)) = (self.estimated_tokens, self.script_aware_tokens) {
            line.push_str(&format!(", about {tokens} of {} tokens (by script: {aware})", self.max_tokens));
        }
        format!("{line}  {id}")
    }

    /// The fold for people: a line, what is wrong, the text.
    pub(super) fn print(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&self.line())?;
        if let Some(reason) = &self.reason {
            text.line(&format!("reason: {}", visible(reason)))?;
        }
        for problem in self.structure.iter().flat_map(|structure| &structure.problems) {
            text.line(&format!("structure: {}", problem.message))?;
        }
        for pointer in &self.pointers {
            text.line(&format!("points to {}  {}", visible(&pointer.label), visible(&pointer.uri)))?;
        }
        if let Some(body) = &self.text {
            text.line("")?;
            print_lines(text, body)?;
        }
        Ok(())
    }
}
