//! `dshkit/sidechat.list/1` and `dshkit/sidechat.catalog/1`

use super::calls::RouteDocument;
use super::chat::ListedDocument;
use super::domain_problem::DomainProblemDocument;
use crate::output::documents::list::time;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, RecordOut, TextOut};
use crate::sidechat::listing::Listed;
use crate::sidechat::plugin_domain::PluginDomain;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// The side chats of a session, the one in which something happened last first.
#[derive(JsonSchema, Serialize)]
pub struct ListDocument {
    /// The side chats.
    chats: Vec<ListedDocument>,
    /// What is wrong with the file of dsh's plugin.
    problems: Vec<DomainProblemDocument>,
}

/// The side chats of a directory, or all.
#[derive(JsonSchema, Serialize)]
pub struct CatalogDocument {
    /// The side chats.
    chats: Vec<ListedDocument>,
    /// What is wrong with the file of dsh's plugin.
    problems: Vec<DomainProblemDocument>,
}

impl ListDocument {
    /// The document of a listing.
    pub fn new(listed: &[Listed], plugin: &PluginDomain) -> ListDocument {
        ListDocument {
            chats: listed.iter().map(ListedDocument::from).collect(),
            problems: DomainProblemDocument::all(plugin),
        }
    }
}

impl CatalogDocument {
    /// The document of a listing.
    pub fn new(listed: &[Listed], plugin: &PluginDomain) -> CatalogDocument {
        CatalogDocument {
            chats: listed.iter().map(ListedDocument::from).collect(),
            problems: DomainProblemDocument::all(plugin),
        }
    }
}

impl Document for ListDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.list/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        print(text, &self.chats, false)
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.chats.iter().try_for_each(|chat| records.write(chat))
    }
}

impl Document for CatalogDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.catalog/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        print(text, &self.chats, true)
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.chats.iter().try_for_each(|chat| records.write(chat))
    }
}

fn print(text: &mut TextOut<'_>, chats: &[ListedDocument], with_parent: bool) -> io::Result<()> {
    if chats.is_empty() {
        return text.line("there are no side chats");
    }
    let mut columns = vec![("SIDECHAT", Shrink::No)];
    columns.extend(with_parent.then_some(("PARENT", Shrink::No)));
    let names = ["STATUS", "RUNS", "SEED", "FOLDS", "PENDING", "MODEL", "LAST ACTIVITY"];
    columns.extend(names.into_iter().map(|name| (name, Shrink::No)));
    columns.push(("TITLE", Shrink::Yes));
    let rows: Vec<Vec<String>> = chats.iter().map(|chat| row(chat, with_parent)).collect();
    table::print(text, &columns, &rows)
}

fn row(listed: &ListedDocument, with_parent: bool) -> Vec<String> {
    let chat = &listed.chat;
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let runs = listed.running.map(|running| if running { "yes" } else { "no" }.to_owned());
    let folds = match (listed.latest_fold_revision, listed.committed_folds) {
        (Some(revision), count) => format!("{count} (rev-{revision})"),
        (None, 0) => "0".to_owned(),
        (None, count) => format!("{count} (withdrawn)"),
    };
    let mut cells = vec![visible_js(&chat.child_session_id.0)];
    cells.extend(with_parent.then(|| visible_js(&chat.parent_session_id.0)));
    cells.extend([
        listed.status_words(),
        or_dash(runs),
        visible(&chat.seed.mode).into_owned(),
        folds,
        listed.pending.to_string(),
        or_dash(listed.current_model.as_ref().map(RouteDocument::words)),
        time(chat.last_activity_at),
        visible_js(&chat.title.0),
    ]);
    cells
}
