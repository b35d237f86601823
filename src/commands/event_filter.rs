//! Flags that say which events.

use crate::model::js_string::JsStr;
use crate::model::surface::Placement;
use crate::query::filter::{EventClause, EventFilter};
use clap::{Args, ValueEnum};

/// Which events.
#[derive(Debug, Args)]
pub(super) struct EventFilterArgs {
    /// Only events of these types
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only events that stand there
    #[arg(long, value_name = "PLACE", value_enum, value_delimiter = ',')]
    surface: Vec<Place>,
}

/// Where an event stands with regard to the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    /// The model sees it
    Current,
    /// Something took its place
    Shadowed,
    /// It was never before the model
    LogOnly,
}

impl Place {
    fn placement(self) -> Placement {
        match self {
            Place::Current => Placement::Current,
            Place::Shadowed => Placement::Shadowed,
            Place::LogOnly => Placement::LogOnly,
        }
    }
}

impl EventFilterArgs {
    /// Adds the clauses of the flags that were given.
    pub(super) fn extend(&self, filter: &mut EventFilter) {
        if !self.types.is_empty() {
            let types = self.types.iter().map(|kind| JsStr::from(&**kind).into_owned());
            filter.0.push(EventClause::Type(types.collect()));
        }
        if !self.surface.is_empty() {
            filter.0.push(EventClause::Surface(self.surface.iter().map(|place| place.placement()).collect()));
        }
    }
}
