//! The family of a session: where it was forked from or started by, and what came of it (formats.md §9.2).

use crate::corpus::{Catalog, Record};
use crate::error::{Code, Failure};
use crate::model::collation::LocaleOrder;
use crate::model::js_string::JsString;
use std::collections::{HashMap, HashSet};

/// How deep descendants are followed. No chain of forks comes near; one made to break readers does.
const MAX_DEPTH: usize = 1000;

/// A session's family.
pub struct Lineage<'c> {
    /// The session.
    pub target: &'c Record,
    /// Its ancestors that are there, nearest first.
    pub ancestors: Vec<&'c Record>,
    /// Its descendants.
    pub descendants: Vec<Descendant<'c>>,
    /// The first parent that is not there, if the line of ancestors breaks off.
    pub unresolved_parent: Option<JsString>,
}

/// A child and what came of it.
pub struct Descendant<'c> {
    /// The child.
    pub session: &'c Record,
    /// Its children.
    pub descendants: Vec<Descendant<'c>>,
}

impl<'c> Lineage<'c> {
    /// The oldest ancestor, if the line of them is whole; the session itself if it has none.
    pub fn root(&self) -> Option<&'c Record> {
        let oldest = self.ancestors.last().copied().unwrap_or(self.target);
        self.unresolved_parent.is_none().then_some(oldest)
    }
}

/// Traces a session's family. Children stand by creation, ties as dsh orders ids.
///
/// # Errors
/// The line of ancestors comes back to itself.
pub fn lineage<'c>(catalog: &'c Catalog, target: &'c Record) -> Result<Lineage<'c>, Failure> {
    let by_id: HashMap<&JsString, &Record> = catalog.records.iter().map(|record| (record.id(), record)).collect();
    let mut seen: HashSet<&JsString> = HashSet::from([target.id()]);
    let mut ancestors = Vec::new();
    let mut unresolved_parent = None;
    let mut parent = target.stored.header.parent_session.as_ref();
    while let Some(id) = parent {
        if !seen.insert(id) {
            return Err(Failure::new(
                Code::InvalidLineage,
                format!("the ancestors of {:?} come back to {id:?}", target.id()),
            ));
        }
        let Some(record) = by_id.get(id) else {
            unresolved_parent = Some(id.clone());
            break;
        };
        ancestors.push(*record);
        parent = record.stored.header.parent_session.as_ref();
    }
    let mut children: HashMap<&JsString, Vec<&Record>> = HashMap::new();
    for record in &catalog.records {
        if let Some(parent) = &record.stored.header.parent_session {
            children.entry(parent).or_default().push(record);
        }
    }
    let order = LocaleOrder::new();
    for siblings in children.values_mut() {
        let created = |record: &Record| record.stored.header.created_at;
        siblings.sort_by(|a, b| created(a).cmp(&created(b)).then_with(|| order.compare(a.id(), b.id())));
    }
    Ok(Lineage {
        target,
        ancestors,
        descendants: descendants(&children, target.id(), &mut HashSet::new())?,
        unresolved_parent,
    })
}

/// An id that lies in two places can be its own descendant; on the way down each is named once.
fn descendants<'c>(
    children: &HashMap<&JsString, Vec<&'c Record>>,
    id: &'c JsString,
    above: &mut HashSet<&'c JsString>,
) -> Result<Vec<Descendant<'c>>, Failure> {
    let Some(siblings) = children.get(id).filter(|_| above.insert(id)) else { return Ok(Vec::new()) };
    if above.len() > MAX_DEPTH {
        return Err(Failure::new(
            Code::InvalidLineage,
            format!("the descendants go deeper than {MAX_DEPTH} generations"),
        ));
    }
    let descend =
        |session: &&'c Record| Ok(Descendant { session, descendants: descendants(children, session.id(), above)? });
    let found = siblings.iter().map(descend).collect::<Result<_, Failure>>();
    above.remove(id);
    found
}
