//! `dshkit/sidechat.cite/1`

use super::cite_facts::CiteFacts;
use super::delivery::{DeliveryDocument, NoticeDocument};
use crate::output::{Document, TextOut};
use crate::sidechat::cite::Cited;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A quotation in the parent, and what became of it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CiteDocument {
    /// The cite.
    cite: CiteFacts,
    /// What became of its message.
    delivery: DeliveryDocument,
    /// The message as it stands in the parent or is to; `null` once it is delivered.
    message: Option<NoticeDocument>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl CiteDocument {
    /// The document of a cite.
    pub fn of(cited: &Cited) -> CiteDocument {
        let delivery = DeliveryDocument::of(cited.delivered.as_ref());
        CiteDocument {
            cite: CiteFacts::of(&cited.cite, &cited.chat),
            message: (!delivery.is_delivered()).then(|| NoticeDocument::from(&cited.notice)),
            delivery,
            dry_run: None,
        }
    }

    /// The document of one that would be made.
    pub fn trial(cited: &Cited) -> CiteDocument {
        CiteDocument { dry_run: Some(true), ..CiteDocument::of(cited) }
    }

    /// The document of one whose parent is not written to.
    pub fn refused(cited: &Cited) -> CiteDocument {
        CiteDocument { delivery: DeliveryDocument::refused(), ..CiteDocument::of(cited) }
    }
}

impl Document for CiteDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.cite/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&self.cite.line())?;
        self.delivery.print_message(self.message.as_ref(), text)
    }
}
