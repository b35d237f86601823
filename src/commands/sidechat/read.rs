//! `sidechat read`: messages of a side chat, by their ids, for its parent.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::uri;
use crate::output::documents::sidechat::read::{ReadDocument, ToolDocument};
use crate::sidechat::pointer::{self, Target};
use crate::sidechat::recall::recall;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat read session-5f r1 r2 --as latest
  dshkit sidechat read sidechat://session-5f/message/r1 --as latest
  dshkit sidechat read --tool-schema")]
pub struct ReadArgs {
    /// The side chat, or a pointer to the first message
    #[arg(value_name = "SIDECHAT", required_unless_present = "tool_schema")]
    chat: Option<String>,
    /// The messages, by their ids or pointers to them; 5 at most, 20,000 characters together
    #[arg(value_name = "MESSAGE_ID")]
    messages: Vec<String>,
    /// Who reads; only the direct parent may
    #[arg(long = "as", value_name = "PARENT", required_unless_present = "tool_schema")]
    caller: Option<String>,
    /// Print the definition of a tool that does this, for an agent
    #[arg(long, conflicts_with_all = ["chat", "messages", "caller"])]
    tool_schema: bool,
}

pub(super) fn run(args: &ReadArgs, context: &mut Context) -> anyhow::Result<u8> {
    if args.tool_schema {
        let format = context.output.filter_format();
        context.output.document_as(format, &ToolDocument::new())?;
        return Ok(0);
    }
    let (Some(named), Some(caller)) = (&args.chat, &args.caller) else {
        return Err(Failure::new(Code::Usage, "a side chat and who reads it are to be named").into());
    };
    let first = pointer::is_meant(named).then(|| pointer::parse(named)).transpose()?;
    let chat = match &first {
        Some(target) => OneChat::named(&uri::encode(&target.child)),
        None => OneChat::named(named),
    };
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&chat, context)?;
    let mut ids: Vec<JsString> = first.into_iter().map(|target| target.message_id).collect();
    for text in &args.messages {
        ids.push(message_of(text, &child)?);
    }
    if ids.is_empty() {
        return Err(Failure::new(Code::Usage, "no message is named")
            .hint("say the ids, or take a pointer of a fold")
            .into());
    }
    let recall = recall(&known, &place.sessions(), &child, &ids, place.session(caller)?)?;
    context.output.document(&ReadDocument::of(&recall))?;
    Ok(0)
}

/// The message of an id, or of a pointer into this side chat.
fn message_of(text: &str, child: &JsString) -> Result<JsString, Failure> {
    if !pointer::is_meant(text) {
        return Ok(JsStr::from(text).into_owned());
    }
    let Target { child: other, message_id } = pointer::parse(text)?;
    if other == *child {
        return Ok(message_id);
    }
    let message = format!("the pointer to {message_id:?} leads to another side chat, {other:?}");
    Err(Failure::new(Code::PointerInvalid, message).hint("one side chat is read at a time"))
}
