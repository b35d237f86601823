//! `sidechat doctor`: whether ledger, logs and the plugin's file fit together.

use super::place::Place;
use crate::commands::Context;
use crate::error::Code;
use crate::output::documents::sidechat::doctor::DoctorDocument;
use crate::sidechat::doctor::{Gravity, examine, examine_rebuild, rebuild};
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
    /// With --rebuild: say how much that would be, and change nothing
    #[arg(long, requires = "rebuild")]
    dry_run: bool,
}

pub(super) fn run(args: &DoctorArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let restored = match (args.rebuild, args.dry_run) {
        (false, _) => None,
        (true, false) => Some(rebuild(&place.home, &place.corpus, &mut Unwatched)?),
        (true, true) => Some(examine_rebuild(&place.home, &place.corpus)?),
    };
    let diagnosis = examine(&place.home, &place.sessions())?;
    context.output.document(&DoctorDocument::new(&diagnosis, restored, args.dry_run))?;
    let has = |gravity| diagnosis.findings.iter().any(|finding| finding.gravity == gravity);
    Ok(match (has(Gravity::Damage), has(Gravity::Unsupported)) {
        (true, _) => Code::InvalidRecord.status(),
        (false, true) => Code::VersionMismatch.status(),
        (false, false) => 0,
    })
}
