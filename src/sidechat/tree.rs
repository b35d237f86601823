//! Side chats of side chats (seed §7.4). What stands in a tree is seen; rights stay one edge.

use super::chat::Chat;
use super::known::Known;
use super::listing::{Listed, look};
use super::relation::Sessions;
use crate::error::Failure;
use crate::model::js_string::JsString;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A side chat in a tree.
#[derive(Debug)]
pub struct Node {
    /// The session the tree grows from.
    pub root: JsString,
    /// How far below a side chat of the root it is.
    pub depth: usize,
    /// The side chat.
    pub listed: Listed,
}

/// The side chats below a session, or all: each before its own, those of one parent by their last activity. What
/// would close a circle is left out, and every other side chat is there once.
///
/// # Errors
/// The ledger cannot be read.
pub fn tree(known: &Known, sessions: &Sessions<'_>, root: Option<&JsString>) -> Result<Vec<Node>, Failure> {
    let chats = known.chats()?;
    let children: HashSet<JsString> = chats.iter().map(|chat| chat.child.id.clone()).collect();
    let mut roots: Vec<JsString> = Vec::new();
    let mut growth = Growth { known, sessions, below: HashMap::new(), seen: HashSet::new(), nodes: Vec::new() };
    for chat in chats {
        let is_root = !children.contains(&chat.parent.id);
        if is_root && !growth.below.contains_key(&chat.parent.id) {
            roots.push(chat.parent.id.clone());
        }
        growth.below.entry(chat.parent.id.clone()).or_default().push(chat);
    }
    if let Some(root) = root {
        growth.grow(root)?;
        return Ok(growth.nodes);
    }
    let mut trees: Vec<Vec<Node>> = Vec::new();
    for root in &roots {
        growth.grow(root)?;
        trees.push(std::mem::take(&mut growth.nodes));
    }
    // What is left hangs in circles; each is entered where it is found first.
    let mut left: Vec<JsString> = growth.below.keys().cloned().collect();
    left.sort();
    for root in left {
        if !growth.seen.contains(&root) {
            growth.grow(&root)?;
            trees.push(std::mem::take(&mut growth.nodes));
        }
    }
    trees.sort_by_key(|tree| Reverse(tree.iter().map(|node| node.listed.last_activity_at()).max()));
    Ok(trees.into_iter().flatten().collect())
}

struct Growth<'g> {
    known: &'g Known,
    sessions: &'g Sessions<'g>,
    /// The side chats of each session.
    below: HashMap<JsString, Vec<Chat>>,
    seen: HashSet<JsString>,
    nodes: Vec<Node>,
}

impl Growth<'_> {
    fn grow(&mut self, root: &JsString) -> Result<(), Failure> {
        self.seen.insert(root.clone());
        let mut due: Vec<Node> = Vec::new();
        self.branch(root, root, 0, &mut due)?;
        while let Some(node) = due.pop() {
            let id = node.listed.chat.child.id.clone();
            if self.seen.insert(id.clone()) {
                let depth = node.depth + 1;
                self.nodes.push(node);
                self.branch(root, &id, depth, &mut due)?;
            }
        }
        Ok(())
    }

    /// Puts the side chats of a session on the stack, the one to be taken first last.
    fn branch(&mut self, root: &JsString, parent: &JsString, depth: usize, due: &mut Vec<Node>) -> Result<(), Failure> {
        let mut siblings = Vec::new();
        for chat in self.below.remove(parent).unwrap_or_default() {
            siblings.push(look(self.known, self.sessions, chat)?);
        }
        siblings.sort_by_key(Listed::last_activity_at);
        due.extend(siblings.into_iter().map(|listed| Node { root: root.clone(), depth, listed }));
        Ok(())
    }
}
