//! What every generation keeps while it decodes: the surface, the open turn, the counts.

use crate::model::closers::OpenTurn;
use crate::model::event::{Event, SurfaceOp};
use crate::model::json::View;
use crate::model::problem::Fault;
use crate::model::surface::{Replacement, Surface, SurfaceError, SurfaceFold};

use super::Generation;

/// Something a decoder hands on.
pub enum Item<'i, 'e> {
    /// An event of the log, and what it replaced on the surface.
    Event(&'i Event<'e>, Option<&'i Replacement>),
    /// Salvage only: what is wrong at this place.
    Trouble(&'i Fault),
}

/// Where items go. A decoder may hand on events of a log that later turns out to be refused.
pub type Sink<'s> = dyn FnMut(Item<'_, '_>) + 's;

/// A log that was decoded to its end.
#[derive(Debug)]
pub struct Finished {
    /// How many events the log holds.
    pub stored_events: u64,
    /// How many it has with the closers of an interrupted turn.
    pub logical_events: u64,
    /// How many leading events were copied from another session.
    pub inherited_events: u64,
    /// The folded surface, closers included.
    pub surface: Result<Surface, SurfaceError>,
    /// What is open at the end of the stored events.
    pub open: OpenTurn,
    /// The first row of a dropped tail: what is wrong with it.
    pub dropped: Option<Fault>,
}

/// What is known of the events before a tail.
#[derive(Clone, Debug)]
pub struct Before {
    /// How many there are.
    pub events: u64,
    /// What is open after them.
    pub open: OpenTurn,
}

/// The part of a decoder that is the same for all.
pub(super) struct Fold {
    /// `None` in a tail: what was on the surface before is not known.
    surface: Option<SurfaceFold>,
    surface_error: Option<SurfaceError>,
    open: OpenTurn,
    pub(super) stored: u64,
}

impl Fold {
    pub(super) fn new(generation: Generation, before: Option<Before>) -> Fold {
        match before {
            None => Fold {
                surface: Some(SurfaceFold::new(generation.surface_rules())),
                surface_error: None,
                open: OpenTurn::new(generation.result_shape()),
                stored: 0,
            },
            Some(before) => Fold { surface: None, surface_error: None, open: before.open, stored: before.events },
        }
    }

    /// Whether it is of a tail only.
    pub(super) fn is_tail(&self) -> bool {
        self.surface.is_none()
    }

    /// Takes in an event of the log and hands it on.
    pub(super) fn accept(&mut self, event: &Event<'_>, sink: &mut Sink<'_>) {
        self.stored += 1;
        self.open.observe(event);
        self.hand_on(event, sink);
    }

    fn hand_on(&mut self, event: &Event<'_>, sink: &mut Sink<'_>) {
        let replaced = match &mut self.surface {
            Some(surface) => surface.apply(event),
            None => needs_whole_log(event).map_or(Ok(None), Err),
        };
        let replaced = match replaced {
            Ok(replaced) => replaced,
            Err(error) => {
                self.surface_error.get_or_insert(error);
                None
            }
        };
        sink(Item::Event(event, replaced));
    }

    /// What is wrong with the surface, as a fault of the whole log.
    pub(super) fn surface_fault(&self) -> Option<Fault> {
        self.surface_error.clone().map(Fault::from)
    }

    /// Hands on the closers and gives the result.
    pub(super) fn finish(&mut self, inherited_events: u64, dropped: Option<Fault>, sink: &mut Sink<'_>) -> Finished {
        let closers = self.open.closers();
        for closer in &closers {
            self.hand_on(closer, sink);
        }
        let surface = match self.surface_error.take() {
            Some(error) => Err(error),
            None => Ok(self.surface.as_ref().map(|fold| fold.surface().clone()).unwrap_or_default()),
        };
        let placeholder = OpenTurn::new(crate::model::closers::ResultShape::Wrapped);
        Finished {
            stored_events: self.stored,
            logical_events: self.stored + closers.len() as u64,
            inherited_events,
            surface,
            open: std::mem::replace(&mut self.open, placeholder),
            dropped,
        }
    }
}

/// Why an event cannot be judged without the events before it, if it cannot.
fn needs_whole_log(event: &Event<'_>) -> Option<SurfaceError> {
    let is_marker = event.is("session/end-seed") && event.data().get("inherited").is_some_and(View::is_true);
    let is_bound =
        matches!(event.surface_op, Some(SurfaceOp::Replace { .. })) || event.is("system/message") || is_marker;
    is_bound.then(|| SurfaceError { seq: event.seq, message: "only the whole log tells whether it fits".to_owned() })
}

/// The faults of a log as a whole, which dsh looks for in passes: what an earlier pass finds is what it
/// reports, wherever in the log a later one would have found something.
#[derive(Default)]
pub(super) struct Faults {
    first: Option<Fault>,
    unknown: Option<Fault>,
    last: Option<Fault>,
}

impl Faults {
    /// A fault of the passes before unknown event types are looked for.
    pub(super) fn early(&mut self, fault: Fault) {
        self.first.get_or_insert(fault);
    }

    /// An event that makes the log unsupported.
    pub(super) fn unsupported(&mut self, fault: Fault) {
        self.unknown.get_or_insert(fault);
    }

    /// A fault of the passes after.
    pub(super) fn late(&mut self, fault: Fault) {
        self.last.get_or_insert(fault);
    }

    pub(super) fn into_result(self) -> Result<(), Fault> {
        match self.first.or(self.unknown).or(self.last) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}
