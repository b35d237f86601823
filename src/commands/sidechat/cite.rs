//! `sidechat cite`: a reply or a conclusion, quoted in the parent, or where the user wants it.

use super::delivery_args::{DeliveryArgs, delay_of};
use super::place::{OneChat, Place};
use super::revision_argument::revision;
use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::model::js_string::JsStr;
use crate::output::documents::sidechat::cite::CiteDocument;
use crate::sidechat::cite::{Cited, Subject, Wanted, cite, examine};
use crate::sidechat::id::Id;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat cite session-f2 0d4b6c8a-1e2f-4a3b-8c5d-7e9f1a2b3c4d --range 0-120
  dshkit sidechat cite session-f2 --fold 1")]
pub struct CiteArgs {
    #[command(flatten)]
    chat: OneChat,
    /// The reply, by the id of its message
    #[arg(value_name = "MESSAGE_ID", required_unless_present = "fold", conflicts_with = "fold")]
    message: Option<String>,
    /// The committed fold of this revision
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    fold: Option<u64>,
    /// Only a part of the reply, between two UTF-16 offsets
    #[arg(long, value_name = "START-END", conflicts_with = "fold")]
    range: Option<String>,
    /// The cite's id, a UUID; one that was used before gives the same cite again [default: a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// Only if this session is the parent
    #[arg(long, value_name = "SESSION", conflicts_with = "into")]
    parent: Option<String>,
    /// Quote it in this session, which is not the parent; only with --cross-parent
    #[arg(long, value_name = "SESSION")]
    into: Option<String>,
    /// I want it in a session that is not the parent. It must be of the same directory, and the side chat named by
    /// its whole id
    #[arg(long)]
    cross_parent: bool,
    /// Show what would be written, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(super) fn run(args: &CiteArgs, context: &mut Context) -> anyhow::Result<u8> {
    let id = args.id.as_deref().map(Id::parse).transpose()?.unwrap_or_else(Id::random);
    let subject = match (&args.message, args.fold) {
        (Some(message), _) => Subject::Message {
            id: JsStr::from(&**message).into_owned(),
            range: args.range.as_deref().map(range).transpose()?,
        },
        (None, Some(revision)) => Subject::Fold(revision),
        (None, None) => return Err(Failure::new(Code::Usage, "a reply or a fold is to be named").into()),
    };
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    if args.cross_parent && !args.chat.names_explicitly(&child)? {
        let message = "with --cross-parent the side chat is named by its whole id, or by what stands for that";
        return Err(Failure::new(Code::Usage, message).hint(format!("it is {}", child.to_string_lossy())).into());
    }
    let wanted = Wanted {
        child: &child,
        subject: &subject,
        caller: place.session_if(args.parent.as_ref())?,
        into: place.session_if(args.into.as_ref())?,
        is_cross_parent: args.cross_parent,
    };
    if args.dry_run {
        let cited = examine(&ledger, &place.sessions(), &id, &wanted, &args.delivery.terms(context))?;
        context.output.document(&CiteDocument::trial(&cited))?;
        return Ok(0);
    }
    let cited = args.delivery.patiently(
        |cited: &Cited| delay_of(cited.delivered.as_ref()).into_iter().collect(),
        |terms| cite(&place.home, &place.corpus, &id, &wanted, terms, &mut Unwatched),
    );
    let cited = match cited {
        Err(failure) if matches!(failure.code, Code::DatabaseStore | Code::GenerationNotWritten) => {
            // What cannot be written into the session can still be pasted there.
            let quoted = crate::sidechat::cite::quoted(&ledger, &place.sessions(), &id, &wanted, context.env.now)?;
            context.output.document(&CiteDocument::refused(&quoted))?;
            return Err(failure.into());
        }
        result => result?,
    };
    context.output.document(&CiteDocument::of(&cited))?;
    let delays: Vec<_> = delay_of(cited.delivered.as_ref()).into_iter().collect();
    Ok(args.delivery.finish(context, &delays)?)
}

fn range(text: &str) -> Result<(u64, u64), Failure> {
    let offsets = text.split_once('-').and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    offsets.ok_or_else(|| {
        Failure::new(Code::BadRequest, format!("{text:?} is no range")).hint("it has two UTF-16 offsets: 0-120")
    })
}
