//! What a side chat is given of its parent (seed §6.3).

use super::chat::{SeedMessage, SeedMode};
use super::cite::part;
use super::estimate::{compatible_tokens, utf16_len};
use super::reading::{Reading, Said, Speaker};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::message::Role;
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

/// The most messages that may be picked.
const MAX_PICKED: usize = 8;

/// The most that a model is given to sum up, in UTF-16 units.
const MAX_SUMMARY_UNITS: u64 = 200_000;

/// Reads how a seed is to be chosen: `none`, `tail:1`, `tail:2`, `tail:4`, `pick:ID,ID…`, `turn:N`,
/// `selection:ID:START-END`, `summary:ID,ID…`, `task`.
///
/// # Errors
/// It is none of these, or more messages are named than may be picked.
pub fn parse(text: &str) -> Result<SeedMode, Failure> {
    let wrong = || {
        Failure::new(Code::BadRequest, format!("{text:?} is no seed")).hint(
            "there are none, tail:1, tail:2, tail:4, pick:ID,ID…, turn:N, selection:ID:START-END, summary:ID,ID…, and \
             task",
        )
    };
    match text {
        "none" => return Ok(SeedMode::None),
        "task" => return Ok(SeedMode::Task),
        "tail:1" => return Ok(SeedMode::Tail(1)),
        "tail:2" => return Ok(SeedMode::Tail(2)),
        "tail:4" => return Ok(SeedMode::Tail(4)),
        _ => {}
    }
    let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
    match kind {
        "pick" => {
            let mut ids = parse_ids(rest).ok_or_else(wrong)??;
            Ok(if ids.len() == 1 { SeedMode::Pick(ids.remove(0)) } else { SeedMode::PickMany(ids) })
        }
        "summary" => Ok(SeedMode::Summary(parse_ids(rest).ok_or_else(wrong)??)),
        "turn" => rest.parse().ok().filter(|turn| *turn > 0).map(SeedMode::Turn).ok_or_else(wrong),
        "selection" => {
            let parts = rest.rsplit_once(':').and_then(|(id, range)| Some((id, range.split_once('-')?)));
            let Some((id, (start, end))) = parts.filter(|(id, _)| !id.is_empty()) else { return Err(wrong()) };
            match (start.parse(), end.parse()) {
                (Ok(start), Ok(end)) => Ok(SeedMode::Selection { id: JsString::from(id.to_owned()), start, end }),
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

/// The ids between commas, each once. `None`: one is empty.
fn parse_ids(text: &str) -> Option<Result<Vec<JsString>, Failure>> {
    let mut ids: Vec<JsString> = Vec::new();
    for id in text.split(',') {
        let id = JsString::from(id.to_owned());
        if id.is_empty() {
            return None;
        }
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > MAX_PICKED {
        let message = format!("{} messages are picked, at most {MAX_PICKED} may be", ids.len());
        return Some(Err(Failure::new(Code::BadRequest, message)));
    }
    Some(Ok(ids))
}

/// Chooses the messages of a seed. None is ever cut.
///
/// # Errors
/// A message that is picked is not there or may not be; what is chosen is too long; there is nothing to make
/// a task of.
pub fn choose(parent: &Reading, mode: &SeedMode) -> Result<Chosen, Failure> {
    let all: Vec<&Said> = parent.candidates().collect();
    let whole = |said: Vec<&Said>| said.into_iter().map(frozen).collect();
    let (messages, dropped_older): (Vec<SeedMessage>, u64) = match mode {
        SeedMode::None => (Vec::new(), 0),
        SeedMode::Tail(count) => (whole(all[all.len().saturating_sub(*count)..].to_vec()), 0),
        SeedMode::Pick(id) => (vec![frozen(pick(parent, &all, id)?)], 0),
        SeedMode::PickMany(ids) | SeedMode::Summary(ids) => {
            let picked: Result<Vec<&Said>, Failure> = ids.iter().map(|id| pick(parent, &all, id)).collect();
            let mut picked = picked?;
            picked.sort_by_key(|said| said.seq);
            (whole(picked), 0)
        }
        SeedMode::Turn(turn) => (whole(turn_of(&all, *turn)?), 0),
        SeedMode::Selection { id, start, end } => {
            let said = pick(parent, &all, id)?;
            let text = part(said, *start, *end)?;
            (vec![SeedMessage { text, selection: Some((*start, *end)), ..frozen(said) }], 0)
        }
        SeedMode::Task => {
            let start = window(&all)?;
            (whole(all[start..].to_vec()), start as u64)
        }
    };
    let texts = || messages.iter().map(|message| message.text.as_str());
    if matches!(mode, SeedMode::Summary(_)) {
        let units: u64 = texts().map(utf16_len).sum();
        if units > MAX_SUMMARY_UNITS {
            let message = format!("what is to be summed up has {units} characters, at most {MAX_SUMMARY_UNITS} may be");
            return Err(Failure::new(Code::CreateFailed, message).hint("pick fewer messages"));
        }
    } else if !fits(texts()) {
        let hint = "choose less: --seed tail:1, selection:ID:START-END, summary:ID, or none";
        return Err(too_long("the seed").hint(hint));
    }
    Ok(Chosen { messages, dropped_older })
}

/// What was said in a turn and is still before the model.
fn turn_of<'r>(all: &[&'r Said], turn: u64) -> Result<Vec<&'r Said>, Failure> {
    let said: Vec<&Said> = all.iter().copied().filter(|said| said.turn == Some(turn)).collect();
    if said.is_empty() {
        return Err(Failure::new(
            Code::CreateFailed,
            format!("nothing that may be taken was said in turn {turn}, or the model no longer sees it"),
        )
        .hint("`dshkit sessions events SESSION --surface current` shows the turns"));
    }
    Ok(said)
}

fn pick<'r>(parent: &'r Reading, all: &[&'r Said], id: &JsString) -> Result<&'r Said, Failure> {
    if let Some(said) = all.iter().rev().find(|said| said.message_id == *id) {
        return Ok(said);
    }
    let refused = |why: &str| Failure::new(Code::CreateFailed, format!("the message {id:?} {why}"));
    let hint = "`dshkit sessions show SESSION --json` has the ids of what can be picked";
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
    let start = (0..all.len()).find(|start| fits(all[*start..].iter().map(|said| said.text.as_str())));
    start.ok_or_else(|| {
        let hint = "take less: --seed selection:ID:START-END, pick:ID of a shorter message, or summary:ID";
        too_long("the newest message").hint(hint)
    })
}

fn fits<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> bool {
    let units: u64 = texts.clone().map(utf16_len).sum();
    let tokens: u64 = texts.map(compatible_tokens).sum();
    units <= MAX_UNITS && tokens <= MAX_TOKENS
}

fn too_long(what: &str) -> Failure {
    let message = format!("{what} is longer than {MAX_UNITS} characters or {MAX_TOKENS} tokens");
    Failure::new(Code::CreateFailed, message)
}

fn frozen(said: &Said) -> SeedMessage {
    let role = if said.speaker == Speaker::Person { Role::User } else { Role::Assistant };
    SeedMessage {
        message_id: said.message_id.clone(),
        role,
        seq: said.seq,
        turn: said.turn,
        selection: None,
        text: said.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_said_in_a_few_words() {
        let id = |text: &str| JsString::from(text.to_owned());
        let good = [
            ("pick:m/1", SeedMode::Pick(id("m/1"))),
            ("pick:u1,u1", SeedMode::Pick(id("u1"))),
            ("pick:u2,a1,u2", SeedMode::PickMany(vec![id("u2"), id("a1")])),
            ("turn:2", SeedMode::Turn(2)),
            ("selection:a:b:1-4", SeedMode::Selection { id: id("a:b"), start: 1, end: 4 }),
            ("summary:u1", SeedMode::Summary(vec![id("u1")])),
        ];
        for (text, mode) in good {
            assert_eq!(parse(text).unwrap(), mode);
        }
        let many: Vec<String> = (0..9).map(|n| format!("m{n}")).collect();
        let too_many = format!("pick:{}", many.join(","));
        let bad = [
            "tail:3",
            "pick:",
            "pick:a,,b",
            "turn:0",
            "turn:x",
            "selection:a",
            "selection::1-2",
            "selection:a:1",
            "summary:",
            &too_many,
        ];
        for text in bad {
            assert_eq!(parse(text).unwrap_err().code, Code::BadRequest, "{text}");
        }
    }
}
