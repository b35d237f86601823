//! `sidechat doctor`: whether ledger, logs and the plugin's file fit together.

use super::place::Place;
use crate::commands::Context;
use crate::error::Code;
use crate::output::documents::sidechat::doctor::DoctorDocument;
use crate::sidechat::doctor::{Gravity, examine, rebuild};
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat doctor
  dshkit sidechat doctor --rebuild")]
pub struct DoctorArgs {
    /// Put into the ledger what the logs tell and it does not know
    #[arg(long)]
    rebuild: bool,
}

pub(super) fn run(args: &DoctorArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let restored = if args.rebuild { Some(rebuild(&place.home, &place.corpus, &mut Unwatched)?) } else { None };
    let diagnosis = examine(&place.home, &place.sessions())?;
    context.output.document(&DoctorDocument::new(&diagnosis, restored))?;
    let has = |gravity| diagnosis.findings.iter().any(|finding| finding.gravity == gravity);
    Ok(match (has(Gravity::Damage), has(Gravity::Unsupported)) {
        (true, _) => Code::InvalidRecord.status(),
        (false, true) => Code::VersionMismatch.status(),
        (false, false) => 0,
    })
}
