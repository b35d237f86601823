//! What a side chat is given of its parent (seed §6.3).

use super::chat::{Role, SeedMessage, SeedMode};
use super::estimate::{compatible_tokens, utf16_len};
use super::reading::{Reading, Said, Speaker};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::surface::Placement;

/// The most a seed may hold, in UTF-16 units.
pub const MAX_UNITS: u64 = 12_000;

/// The most a seed may hold, in compatible tokens.
pub const MAX_TOKENS: u64 = 3_000;

/// The messages of a seed, oldest first, and how many older ones of the window were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The messages.
    pub messages: Vec<SeedMessage>,
    /// How many candidates are older than the window of a `task`; 0 for every other kind, where nobody
    /// asked for them.
    pub dropped_older: u64,
}

/// Chooses the messages of a seed. None is ever cut.
///
/// # Errors
/// The message that is picked is not there or may not be; what is chosen is too long; there is nothing to
/// make a task of.
pub fn choose(parent: &Reading, mode: &SeedMode) -> Result<Chosen, Failure> {
    let all: Vec<&Said> = parent.candidates().collect();
    let (chosen, dropped_older) = match mode {
        SeedMode::None => (Vec::new(), 0),
        SeedMode::Tail(count) => (all[all.len().saturating_sub(*count)..].to_vec(), 0),
        SeedMode::Pick(id) => (vec![pick(parent, &all, id)?], 0),
        SeedMode::Task => {
            let start = window(&all)?;
            (all[start..].to_vec(), start as u64)
        }
    };
    if !fits(&chosen) {
        return Err(too_long("the seed").hint("choose less: --seed tail:1, pick:ID, or none"));
    }
    Ok(Chosen { messages: chosen.into_iter().map(frozen).collect(), dropped_older })
}

fn pick<'r>(parent: &'r Reading, all: &[&'r Said], id: &JsString) -> Result<&'r Said, Failure> {
    if let Some(said) = all.iter().rev().find(|said| said.message_id == *id) {
        return Ok(said);
    }
    let refused = |why: &str| Failure::new(Code::CreateFailed, format!("the message {id:?} {why}"));
    let hint = "`dshkit sessions events SESSION --surface current --full` has the ids of what can be picked";
    let Some(said) = parent.find(id) else {
        return Err(Failure::new(Code::MessageNotFound, format!("the parent has no message {id:?} with text"))
            .caused_as(Code::CreateFailed, "no side chat was made")
            .hint(hint));
    };
    let why = match (parent.surface.placements().get(&said.seq), said.speaker) {
        (Some(Placement::Current), Speaker::Model { .. }) => "is no final answer: its turn went on, or was broken off",
        (Some(Placement::Current), _) => "was not said by the person or the model",
        _ => "is no longer before the model: something took its place",
    };
    Err(refused(why).hint(hint))
}

/// Where the newest whole messages begin that are together short enough for one call.
fn window(all: &[&Said]) -> Result<usize, Failure> {
    if all.is_empty() {
        let message = "the parent has said nothing yet that a task could be made of";
        return Err(Failure::new(Code::CreateFailed, message).hint("--seed none asks the question alone"));
    }
    let start = (0..all.len()).find(|start| fits(&all[*start..]));
    start.ok_or_else(|| {
        too_long("the newest message").hint("take a part of it: --seed pick:ID of a shorter message, or none")
    })
}

fn fits(chosen: &[&Said]) -> bool {
    let units: u64 = chosen.iter().map(|said| utf16_len(&said.text)).sum();
    let tokens: u64 = chosen.iter().map(|said| compatible_tokens(&said.text)).sum();
    units <= MAX_UNITS && tokens <= MAX_TOKENS
}

fn too_long(what: &str) -> Failure {
    let message = format!("{what} is longer than {MAX_UNITS} characters or {MAX_TOKENS} tokens");
    Failure::new(Code::CreateFailed, message)
}

fn frozen(said: &Said) -> SeedMessage {
    let role = if said.speaker == Speaker::Person { Role::User } else { Role::Assistant };
    SeedMessage { message_id: said.message_id.clone(), role, seq: said.seq, text: said.text.clone() }
}
