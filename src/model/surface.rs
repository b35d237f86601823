//! The surface: which events the model sees now (formats.md §6.1).
//!
//! The log keeps everything that happened. What is before the model is a list of nodes, each the seq of
//! an event, made by folding the log: most events of a surface type join the list, and some take the
//! place of a run of nodes. dsh refuses a log whose replacements do not fit; so does this fold.

use crate::model::event::{Event, SurfaceOp, is_surface_type};
use crate::model::json::{Value, View};
use crate::model::problem::{Fault, ProblemKind};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where an event stands with regard to the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The model sees it.
    Current,
    /// The model saw it until something took its place.
    Shadowed,
    /// It was never on the surface.
    LogOnly,
}

impl Placement {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Current => "current",
            Placement::Shadowed => "shadowed",
            Placement::LogOnly => "log-only",
        }
    }
}

/// What the rules of the surface were before and after v3 (formats.md §6.1, last bullet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// v0, v1, v2: no system head.
    WithoutHead,
    /// v3 and later: a system message that is the first node may only be replaced by another one.
    WithHead,
}

/// A replacement that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The event that took the place.
    pub seq: u64,
    /// The first and last seq it named.
    pub range: (u64, u64),
    /// The nodes it removed, in surface order.
    pub removed: Vec<u64>,
}

/// Why an event does not fit the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceError {
    /// The event.
    pub seq: u64,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for SurfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid surface at seq {}: {}", self.seq, self.message)
    }
}

/// The fault of a log whose surface does not fold.
impl From<SurfaceError> for Fault {
    fn from(error: SurfaceError) -> Fault {
        Fault::new(ProblemKind::InvalidSurface, error.message).at_seq(error.seq)
    }
}

/// A folded surface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    /// The current nodes in model order; not ascending after a compaction that kept a tail.
    pub nodes: Vec<u64>,
    /// Every replacement, in log order.
    pub replacements: Vec<Replacement>,
}

impl Surface {
    /// For each seq that was ever on the surface, where it stands. Seqs not in the map are log-only.
    pub fn placements(&self) -> HashMap<u64, Placement> {
        let mut placements: HashMap<u64, Placement> = self.nodes.iter().map(|seq| (*seq, Placement::Current)).collect();
        for seq in self.replacements.iter().flat_map(|replacement| &replacement.removed) {
            placements.insert(*seq, Placement::Shadowed);
        }
        placements
    }

    /// The event that took the place of each removed one.
    pub fn replaced_by(&self) -> HashMap<u64, u64> {
        self.replacements.iter().flat_map(|r| r.removed.iter().map(|removed| (*removed, r.seq))).collect()
    }
}

/// The fold. Feed it every event of a log in order.
#[derive(Debug)]
pub struct SurfaceFold {
    rules: Rules,
    surface: Surface,
    /// What each current tool result says apart from its content, which is all a replacement may change.
    tool_results: HashMap<u64, u64>,
    /// The system head, once there is one: the current first node, if a system message.
    head: Option<u64>,
}

impl SurfaceFold {
    /// An empty surface.
    pub fn new(rules: Rules) -> SurfaceFold {
        SurfaceFold { rules, surface: Surface::default(), tool_results: HashMap::new(), head: None }
    }

    /// Takes one event in. The nodes it removed, if any, are the last replacement's.
    ///
    /// # Errors
    /// The event breaks a rule; the surface is as it was.
    pub fn apply(&mut self, event: &Event<'_>) -> Result<Option<&Replacement>, SurfaceError> {
        let Some(op) = event.surface_op.filter(|_| is_surface_type(&event.kind)) else { return Ok(None) };
        match op {
            SurfaceOp::Append => {
                if self.surface.nodes.is_empty() && event.is("system/message") {
                    self.head = Some(event.seq);
                }
                self.surface.nodes.push(event.seq);
                self.remember_tool_result(event);
                Ok(None)
            }
            SurfaceOp::Replace { start, end } => {
                let (first, last) = self.range(event, start, end)?;
                let removed = self.surface.nodes[first..=last].to_vec();
                self.check(event, first, &removed)?;
                if first == 0 {
                    self.head = event.is("system/message").then_some(event.seq);
                }
                self.surface.nodes.splice(first..=last, [event.seq]);
                for seq in &removed {
                    self.tool_results.remove(seq);
                }
                self.remember_tool_result(event);
                self.surface.replacements.push(Replacement { seq: event.seq, range: (start, end), removed });
                Ok(self.surface.replacements.last())
            }
        }
    }

    /// The surface so far.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The finished surface.
    pub fn into_surface(self) -> Surface {
        self.surface
    }

    fn range(&self, event: &Event<'_>, start: u64, end: u64) -> Result<(usize, usize), SurfaceError> {
        // The nodes replaced are mostly near the end, so look from there.
        let position = |seq: u64| {
            self.surface.nodes.iter().rposition(|node| *node == seq).ok_or_else(|| SurfaceError {
                seq: event.seq,
                message: format!("it replaces seq {seq}, which is not on the surface"),
            })
        };
        let (first, last) = (position(start)?, position(end)?);
        if first > last {
            return Err(SurfaceError {
                seq: event.seq,
                message: format!("it replaces from seq {start} to seq {end}, which stands before it"),
            });
        }
        Ok((first, last))
    }

    fn check(&self, event: &Event<'_>, first: usize, removed: &[u64]) -> Result<(), SurfaceError> {
        let refuse = |message: String| Err(SurfaceError { seq: event.seq, message });
        let sources: HashSet<u64> = event.source_event_seqs.iter().flatten().copied().collect();
        if let Some(missing) = removed.iter().find(|seq| !sources.contains(seq)) {
            return refuse(format!("its sourceEventSeqs leave out seq {missing}, which it replaces"));
        }
        if event.is("tool/result") {
            let [target] = removed else {
                return refuse("a tool result may replace one tool result only".to_owned());
            };
            match self.tool_results.get(target) {
                None => return refuse(format!("seq {target}, which it replaces, is no tool result")),
                Some(rest) if *rest != digest_without_content(event) => {
                    return refuse(format!("it changes more than the content of the tool result at seq {target}"));
                }
                Some(_) => {}
            }
        }
        let touches_head = self.rules == Rules::WithHead && first == 0 && self.head.is_some();
        if touches_head && !(event.is("system/message") && removed.len() == 1) {
            return refuse("it replaces the system head, which only a system message may".to_owned());
        }
        Ok(())
    }

    fn remember_tool_result(&mut self, event: &Event<'_>) {
        if event.is("tool/result") {
            self.tool_results.insert(event.seq, digest_without_content(event));
        }
    }
}

/// A digest of a tool result's data apart from the content of the result, the same for any order of keys.
fn digest_without_content(event: &Event<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    digest_object(event.data(), &mut hasher, &mut |key, value, hasher| {
        if key != "message" {
            return digest(value, hasher);
        }
        digest_object(value, hasher, &mut |key, value, hasher| {
            let wrapper = value.elements().next().filter(|block| block.is_object());
            match wrapper {
                // Up to v3 the content is inside the one wrapper block; from v4 it is this list itself.
                Some(wrapper) if key == "content" && is_wrapper(wrapper) => {
                    digest_object(wrapper, hasher, &mut |key, value, hasher| {
                        if key != "content" {
                            digest(value, hasher);
                        }
                    });
                }
                _ if key == "content" => {}
                _ => digest(value, hasher),
            }
        });
    });
    hasher.finish()
}

fn is_wrapper(block: View<'_>) -> bool {
    block.get("type").is_some_and(|kind| kind.is_string("tool-result"))
}

fn digest_object(
    view: View<'_>,
    hasher: &mut DefaultHasher,
    member: &mut dyn FnMut(&str, View<'_>, &mut DefaultHasher),
) {
    // Members in any order, and the last of a repeated key, must give the same digest.
    let mut members: Vec<_> = view.members().enumerate().map(|(at, (key, value))| (key, at, value)).collect();
    members.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    for (index, (key, _, value)) in members.iter().enumerate() {
        if members.get(index + 1).is_some_and(|next| next.0 == *key) {
            continue;
        }
        key.hash(hasher);
        member(&key.to_string_lossy(), *value, hasher);
    }
}

fn digest(view: View<'_>, hasher: &mut DefaultHasher) {
    digest_value(&view.to_value(), hasher);
}

fn digest_value(value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(hasher),
        Value::Number(number) => (number + 0.0).to_bits().hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| digest_value(item, hasher));
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            members.len().hash(hasher);
            for (key, value) in members {
                key.hash(hasher);
                digest_value(value, hasher);
            }
        }
    }
}
