//! `dshkit/sidechat.tree/1`

use super::chat::ListedDocument;
use super::domain_problem::DomainProblemDocument;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, TextOut};
use crate::sidechat::plugin_domain::PluginDomain;
use crate::sidechat::tree::Node;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Side chats, each before its own.
#[derive(JsonSchema, Serialize)]
pub struct TreeDocument {
    /// The side chats.
    nodes: Vec<NodeDocument>,
    /// What is wrong with the file of dsh's plugin.
    problems: Vec<DomainProblemDocument>,
}

/// A side chat in a tree.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDocument {
    /// The session the tree grows from.
    root_session_id: Js,
    /// How far below the root it is; 0 for a side chat of the root.
    depth: usize,
    #[serde(flatten)]
    listed: ListedDocument,
}

impl TreeDocument {
    /// The document of trees.
    pub fn new(nodes: &[Node], plugin: &PluginDomain) -> TreeDocument {
        let node = |node: &Node| NodeDocument {
            root_session_id: Js::from(&node.root),
            depth: node.depth,
            listed: ListedDocument::from(&node.listed),
        };
        TreeDocument { nodes: nodes.iter().map(node).collect(), problems: DomainProblemDocument::all(plugin) }
    }
}

impl Document for TreeDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.tree/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if self.nodes.is_empty() {
            return text.line("there are no side chats");
        }
        let mut root = None;
        for node in &self.nodes {
            if root != Some(&node.root_session_id) {
                root = Some(&node.root_session_id);
                text.line(&visible_js(&node.root_session_id.0))?;
            }
            let (chat, listed) = (&node.listed.chat, &node.listed);
            let indent = "  ".repeat(node.depth.min(MOST_INDENT) + 1);
            let id = visible_js(&chat.child_session_id.0);
            let fold = listed.latest_fold_revision.map(|revision| format!(" rev-{revision}")).unwrap_or_default();
            text.line(&format!("{indent}{id}  {}{fold}  {}", listed.status_words(), visible_js(&chat.title.0)))?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.nodes.iter().try_for_each(|node| records.write(node))
    }
}

/// How deep the indentation goes; below that the order alone tells.
const MOST_INDENT: usize = 40;
