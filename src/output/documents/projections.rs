//! `dshkit/sessions.projections/1`

use super::session::SessionDocument;
use crate::corpus::Record;
use crate::model::json::write_value;
use crate::output::json::RawJson;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, TextOut};
use crate::projections::checkpoint::Checkpoint;
use crate::projections::fold::Snapshot;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io;

/// What is derived from a log.
pub enum Projected {
    /// From the log as it is, perhaps with the states.
    Read(Snapshot, Option<Checkpoint>),
    /// From the cache, if it knows anything.
    Cached(Option<Snapshot>),
}

/// What is derived from a log. Of a cache that knows nothing `asOfSeq` and `values` are null.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionsDocument {
    /// The session.
    session: SessionDocument,
    /// The seq of the last event that all values reflect; −1 for a log without events.
    as_of_seq: Option<i64>,
    /// Each key with its value as dsh's clients see it.
    values: Option<InOrder<RawJson>>,
    /// Each key with the state its value is made of, with `--state`.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<InOrder<UnitDocument>>,
    #[serde(skip)]
    heading: String,
}

/// A unit's state and what it is shown as.
#[derive(JsonSchema, Serialize)]
struct UnitDocument {
    /// The version of the unit.
    ver: u32,
    /// The last event the state reflects; −1 for none.
    seq: i64,
    /// The state.
    state: RawJson,
    /// What it is shown as.
    view: RawJson,
}

/// An object with its members in this order.
struct InOrder<T>(Vec<(&'static str, T)>);

impl<T: JsonSchema> JsonSchema for InOrder<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("InOrder_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": value })
    }
}

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl ProjectionsDocument {
    /// The document of what is derived from a session's log.
    pub fn of(record: &Record, projected: Projected) -> ProjectionsDocument {
        let (snapshot, states) = match projected {
            Projected::Read(snapshot, states) => (Some(snapshot), states),
            Projected::Cached(snapshot) => (snapshot, None),
        };
        let values: Option<Vec<(&'static str, RawJson)>> = snapshot.as_ref().map(|snapshot| {
            let value = |(key, view): &(&'static str, _)| {
                let mut text = String::new();
                write_value(view, &mut text);
                (*key, RawJson(text))
            };
            snapshot.views.iter().map(value).collect()
        });
        let units = states.map(|states| {
            let view =
                |key: &str| values.iter().flatten().find(|(known, _)| *known == key).map(|(key, view)| (*key, view));
            let unit = |(key, row): (&str, &crate::projections::checkpoint::Row)| {
                let (key, view) = view(key)?;
                let state = RawJson(row.state.clone());
                Some((key, UnitDocument { ver: row.version, seq: number(row.seq), state, view: view.clone() }))
            };
            InOrder(states.rows().filter_map(unit).collect())
        });
        ProjectionsDocument {
            session: SessionDocument::of(record),
            as_of_seq: snapshot.map(|snapshot| number(snapshot.as_of_seq)),
            values: values.map(InOrder),
            units,
            heading: visible_js(record.id()),
        }
    }
}

/// A seq, or −1 for none, as dsh writes it.
fn number(seq: Option<u64>) -> i64 {
    seq.map_or(-1, |seq| seq as i64)
}

impl Document for ProjectionsDocument {
    const SCHEMA: &'static str = "dshkit/sessions.projections/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let as_of = match self.as_of_seq {
            None => "nothing is known".to_owned(),
            Some(seq) => format!("as of seq {seq}"),
        };
        text.line(&format!("{}, {as_of}", self.heading))?;
        let rows: Vec<Vec<String>> = self
            .values
            .iter()
            .flat_map(|values| &values.0)
            .map(|(key, view)| vec![(*key).to_owned(), visible(&view.0).into_owned()])
            .collect();
        table::print(text, &[("KEY", Shrink::No), ("VALUE", Shrink::Yes)], &rows)?;
        for (key, unit) in self.units.iter().flat_map(|units| &units.0) {
            text.line(&format!("{key} version {}: {}", unit.ver, visible(&unit.state.0)))?;
        }
        Ok(())
    }
}
