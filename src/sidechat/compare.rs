//! Comparing two revisions of a side chat (seed §7.2).

use super::chat::Origin;
use super::fold::{Fold, Standing, State};
use super::known::Known;
use super::line_diff::{self, Change};
use super::prepare::without_text;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;

/// Two revisions, and how their texts differ.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Who remembers the side chat.
    pub origin: Origin,
    /// The one that is compared.
    pub from: Fold,
    /// The one it is compared with.
    pub to: Fold,
    /// The lines of both.
    pub lines: Vec<(Change, String)>,
}

/// What has to be said of a revision that does not count in the parent: `withdrawn` or `uncommitted`.
pub fn caveat(fold: &Fold) -> Option<&'static str> {
    match (fold.state, fold.standing) {
        (State::Committed, Some(Standing::Withdrawn)) => Some("withdrawn"),
        (State::Committed, _) => None,
        _ => Some("uncommitted"),
    }
}

/// Compares two revisions.
///
/// # Errors
/// There is no such side chat or revision, or one has no text.
pub fn compare(known: &Known, child: &JsString, from: u64, to: u64) -> Result<Comparison, Failure> {
    let origin = known.required(child)?.origin;
    let folds = known.folds(child)?;
    let find = |revision: u64| {
        folds.iter().find(|fold| fold.revision == revision).cloned().ok_or_else(|| {
            Failure::new(Code::FoldNotFound, format!("the side chat has no revision {revision}"))
                .hint("`dshkit sidechat show SESSION` lists its folds")
        })
    };
    let (from, to) = (find(from)?, find(to)?);
    let texts = from.text().ok_or_else(|| without_text(&from))?.to_owned();
    let other = to.text().ok_or_else(|| without_text(&to))?;
    let lines = line_diff::compare(&texts, other).into_iter().map(|(change, line)| (change, line.to_owned())).collect();
    Ok(Comparison { origin, from, to, lines })
}
