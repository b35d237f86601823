//! A message to a parent, and what became of it.

use super::print_lines;
use crate::output::TextOut;
use crate::sidechat::delivery::Delivered;
use crate::sidechat::marker::Notice;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What became of a message to a parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeliveryDocument {
    /// `delivered`, `pending`, `refused` (the parent's log is not written to), or of a dry run `possible`.
    state: &'static str,
    /// The stable name of why it has to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

impl DeliveryDocument {
    /// Of a delivery, or for `None` of one that would be made.
    pub(super) fn of(delivered: Option<&Delivered>) -> DeliveryDocument {
        match delivered {
            None => DeliveryDocument { state: "possible", reason: None, message: None, advice: None },
            Some(Delivered::At(_)) => {
                DeliveryDocument { state: "delivered", reason: None, message: None, advice: None }
            }
            Some(Delivered::Later(delay)) => DeliveryDocument {
                state: "pending",
                reason: Some(delay.reason),
                message: Some(delay.message.clone()),
                advice: Some(delay.advice),
            },
        }
    }

    /// Of one that cannot be made.
    pub(super) fn refused() -> DeliveryDocument {
        DeliveryDocument { state: "refused", reason: None, message: None, advice: None }
    }

    pub(super) fn is_delivered(&self) -> bool {
        self.state == "delivered"
    }

    /// Prints a message that is not delivered.
    pub(super) fn print_message(&self, message: Option<&NoticeDocument>, text: &mut TextOut<'_>) -> io::Result<()> {
        let Some(message) = message else { return Ok(()) };
        text.line("")?;
        text.line(match self.state {
            "possible" => "The message:",
            _ => "To bring it there yourself, paste this:",
        })?;
        text.line("")?;
        print_lines(text, &message.text)
    }
}

/// A message to a parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NoticeDocument {
    /// Its first line, which says where it comes from.
    marker: String,
    /// What dsh shows of it in a line.
    summary: String,
    /// The whole text.
    text: String,
}

impl From<&Notice> for NoticeDocument {
    fn from(notice: &Notice) -> NoticeDocument {
        NoticeDocument { marker: notice.marker.clone(), summary: notice.summary.clone(), text: notice.text.clone() }
    }
}
