//! The JSON Schema of every document, made from the same types that print it.

use super::Document;
use super::documents::candidates::CandidatesDocument;
use super::documents::check::CheckDocument;
use super::documents::config::{ConfigPathDocument, ConfigShowDocument};
use super::documents::error::ErrorDocument;
use super::documents::event::EventDocument;
use super::documents::events::{self, EventsShape};
use super::documents::expand::ExpandDocument;
use super::documents::explain::ExplainDocument;
use super::documents::index::{IndexBuildDocument, IndexClearDocument, IndexStatusDocument};
use super::documents::latest::LatestDocument;
use super::documents::list::ListDocument;
use super::documents::path::PathDocument;
use super::documents::prepare::PrepareDocument;
use super::documents::projections::ProjectionsDocument;
use super::documents::schema::SchemaListDocument;
use super::documents::search::{SearchDocument, SearchShape};
use super::documents::show::ShowDocument;
use super::documents::sidechat;
use super::documents::status::StatusDocument;
use super::documents::trace::{TraceDocument, TraceEventDocument};
use super::documents::uri::{DecodeDocument, EncodeDocument, MentionDocument, ParseDocument};
use super::documents::usage::UsageDocument;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// A document that has a schema.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name as it stands in the document, such as `dshkit/sessions.list/1`; of errors, which name none, `error`.
    pub schema: &'static str,
    make: fn() -> Schema,
}

/// Every document, by family.
pub const ALL: [Entry; 51] = [
    of::<EncodeDocument>(),
    of::<DecodeDocument>(),
    of::<MentionDocument>(),
    of::<ParseDocument>(),
    of::<ListDocument<'static>>(),
    of::<LatestDocument<'static>>(),
    of::<StatusDocument>(),
    of::<ShowDocument>(),
    Entry { schema: events::SCHEMA, make: make::<EventsShape> },
    of::<EventDocument>(),
    Entry { schema: SearchDocument::SCHEMA, make: make::<SearchShape> },
    of::<TraceDocument<'static>>(),
    of::<TraceEventDocument>(),
    of::<ProjectionsDocument>(),
    of::<UsageDocument>(),
    of::<CheckDocument>(),
    of::<PathDocument>(),
    of::<PrepareDocument<'static>>(),
    of::<ExplainDocument>(),
    of::<CandidatesDocument>(),
    of::<ExpandDocument>(),
    of::<sidechat::create::CreateDocument>(),
    of::<sidechat::preview::PreviewDocument>(),
    of::<sidechat::ask::AskDocument>(),
    of::<sidechat::list::ListDocument>(),
    of::<sidechat::list::CatalogDocument>(),
    of::<sidechat::show::ShowDocument>(),
    of::<sidechat::resume::ResumeDocument>(),
    of::<sidechat::fold::FoldDocument>(),
    of::<sidechat::prompt::PromptDocument>(),
    of::<sidechat::commit::CommitDocument>(),
    of::<sidechat::deliver::DeliverDocument>(),
    of::<sidechat::cite::CiteDocument>(),
    of::<sidechat::cites::CitesDocument>(),
    of::<sidechat::read::ReadDocument>(),
    of::<sidechat::read::ToolDocument>(),
    of::<sidechat::compare::CompareDocument>(),
    of::<sidechat::withdraw::WithdrawDocument>(),
    of::<sidechat::tree::TreeDocument>(),
    of::<sidechat::hide::HideDocument>(),
    of::<sidechat::relink::RelinkDocument>(),
    of::<sidechat::doctor::DoctorDocument>(),
    of::<sidechat::status::StatusDocument>(),
    of::<sidechat::usage::UsageDocument>(),
    of::<IndexStatusDocument>(),
    of::<IndexBuildDocument>(),
    of::<IndexClearDocument>(),
    of::<ConfigPathDocument>(),
    of::<ConfigShowDocument>(),
    of::<SchemaListDocument>(),
    Entry { schema: "error", make: make::<ErrorDocument> },
];

const fn of<D: Document>() -> Entry {
    Entry { schema: D::SCHEMA, make: make::<D> }
}

fn make<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

impl Entry {
    /// The name without what all have in common: `sessions.list`.
    pub fn name(&self) -> &'static str {
        let name = self.schema.strip_prefix("dshkit/").unwrap_or(self.schema);
        name.split('/').next().unwrap_or(name)
    }

    /// The document of this name.
    pub fn named(name: &str) -> Option<Entry> {
        ALL.into_iter().find(|entry| entry.name() == name)
    }

    /// The schema. A document may have members that it does not know: members may be added.
    pub fn json(&self) -> Value {
        let mut schema = (self.make)();
        let root = schema.ensure_object();
        root.insert("title".to_owned(), json!(self.schema));
        if self.schema.contains('/') {
            let properties = root.entry("properties").or_insert_with(|| json!({}));
            properties["schema"] = json!({ "const": self.schema, "description": "The name of this document." });
            let required = root.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(required) = required {
                required.insert(0, json!("schema"));
            }
        }
        schema.to_value()
    }

    /// What the document is, in a line.
    pub fn description(&self) -> String {
        let schema = (self.make)();
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        text.lines().collect::<Vec<_>>().join(" ")
    }
}
