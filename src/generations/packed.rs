//! Packed rows: a run of streamed pieces in one line (formats.md §4; v0 and v1 only).

use super::envelope::Members;
use crate::model::event::{Delta, DeltaKind, Event};
use crate::model::json::{Kind, View};

/// A packed row that has been checked.
pub(super) struct PackedRow<'a> {
    pub(super) first_seq: u64,
    /// How many events it holds.
    pub(super) count: u64,
    first_time: i64,
    turn: View<'a>,
    step: View<'a>,
    index: View<'a>,
    kind: DeltaKind<'a>,
    gaps: View<'a>,
    texts: View<'a>,
}

/// Whether a row's type says that it is packed.
pub(super) fn is_packed_tag(kind: &str) -> bool {
    matches!(kind, "text-chunks" | "reasoning-chunks" | "tool-call-chunks")
}

impl<'a> PackedRow<'a> {
    /// Checks a row with a packed tag. All of it must be right; one wrong member spoils the row.
    pub(super) fn decode(row: &Members<'a>, tag: &str) -> Result<PackedRow<'a>, &'static str> {
        let [first_seq, first_time, data] =
            row.of_packed_row().ok_or("a packed row has other members than type, seq0, time0, data")?;
        let first_seq =
            first_seq.safe_integer().and_then(|seq| u64::try_from(seq).ok()).ok_or("seq0 is not a count")?;
        let first_time = first_time.safe_integer().ok_or("time0 is not a whole number")?;
        let is_call = tag == "tool-call-chunks";
        let texts_key = if is_call { "args" } else { "texts" };
        let optional: &[&str] = if is_call { &["id", "name"] } else { &[] };
        let [turn, step, index, gaps, texts] = exactly(data, ["turn", "step", "index", "dt", texts_key], optional)
            .ok_or("a packed row's data has other members than it should")?;
        if [turn, step, index].iter().any(|value| value.number().is_none()) {
            return Err("turn, step or index is not a number");
        }
        let kind = match tag {
            "text-chunks" => DeltaKind::Text,
            "reasoning-chunks" => DeltaKind::Reasoning,
            _ => {
                let id = data.get("id").filter(|id| id.string().is_some()).ok_or("the call's id is not a string")?;
                let name = data.get("name");
                if name.is_some_and(|name| name.string().is_none()) {
                    return Err("the tool's name is not a string");
                }
                DeltaKind::ToolCall { id, name }
            }
        };
        let mut packed = PackedRow { first_seq, count: 0, first_time, turn, step, index, kind, gaps, texts };
        packed.count = packed.check_members()?;
        Ok(packed)
    }

    /// Checks what the row holds, and counts it.
    fn check_members(&self) -> Result<u64, &'static str> {
        let mut count: u64 = 0;
        for text in self.texts.array().ok_or("the texts are not a list")? {
            if text.kind() != Kind::String {
                return Err("a text is not a string");
            }
            count += 1;
        }
        let mut time = self.first_time;
        let mut gaps: u64 = 0;
        for gap in self.gaps.array().ok_or("dt is not a list")? {
            time += gap.safe_integer().ok_or("a gap is not a whole number")?;
            if time.abs() > MAX_SAFE_INTEGER {
                return Err("a member's time is out of range");
            }
            gaps += 1;
        }
        if count == 0 {
            return Err("a packed row holds no text");
        }
        if gaps + 1 != count {
            return Err("a packed row has not one gap less than texts");
        }
        if self.first_seq + count - 1 > MAX_SAFE_INTEGER as u64 {
            return Err("a member's seq is out of range");
        }
        Ok(count)
    }

    /// The row's events, in order.
    pub(super) fn events(&self) -> impl Iterator<Item = Event<'a>> + '_ {
        let gaps = std::iter::once(0).chain(self.gaps.elements().filter_map(View::safe_integer));
        let times = gaps.scan(self.first_time, |time, gap| {
            *time += gap;
            Some(*time)
        });
        self.texts.elements().zip(times).zip(self.first_seq..).map(|((text, time), seq)| {
            let delta = Delta { turn: self.turn, step: self.step, index: self.index, kind: self.kind, text };
            Event::from_delta(seq, time, delta)
        })
    }
}

const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// The values of the required keys, if the object has them, may have the optional ones, and has no others.
fn exactly<'a, const N: usize>(object: View<'a>, required: [&str; N], optional: &[&str]) -> Option<[View<'a>; N]> {
    let mut found: [Option<View<'a>>; N] = [None; N];
    for (key, value) in object.members() {
        match required.iter().position(|required| key == *required) {
            Some(at) => found[at] = Some(value),
            None if optional.iter().any(|optional| key == *optional) => {}
            None => return None,
        }
    }
    if found.iter().any(Option::is_none) { None } else { Some(found.map(|value| value.unwrap_or(object))) }
}
