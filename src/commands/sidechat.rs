//! `sidechat create | ask | fold | commit | deliver | cite | cites | read | compare | withdraw | list | tree | catalog |
//! show | resume | archive | restore | abandon | hide | unhide | relink | usage | doctor`

mod ask;
mod catalog;
mod cite;
mod cites;
mod commit;
mod compare;
mod create;
mod deliver;
mod delivery_args;
mod doctor;
mod fold;
mod hide;
mod list;
mod model_args;
mod place;
mod read;
mod relink;
mod resume;
mod revision_argument;
mod show;
mod status;
mod text_argument;
mod tree;
mod usage;
mod withdraw;

use super::Context;
use crate::sidechat::lifecycle::Change;
use clap::Subcommand;

/// What to do with side chats.
#[derive(Debug, Subcommand)]
pub enum SidechatCommand {
    /// Start a side chat of a session
    Create(create::CreateArgs),
    /// Ask a side chat something; the model's answer is kept in its log
    Ask(ask::AskArgs),
    /// Prepare a conclusion of a side chat
    Fold(fold::FoldArgs),
    /// Bring a prepared conclusion to the parent
    Commit(commit::CommitArgs),
    /// Finish what is pending, and tidy up after a crash
    Deliver(deliver::DeliverArgs),
    /// Quote a reply, or a committed conclusion, in the parent
    Cite(cite::CiteArgs),
    /// Who quotes a side chat
    Cites(cites::CitesArgs),
    /// Read messages of a side chat, by their ids, for its parent
    Read(read::ReadArgs),
    /// How two conclusions of a side chat differ
    Compare(compare::CompareArgs),
    /// Take a committed conclusion back; what was written stays, and a notice says so
    Withdraw(withdraw::WithdrawArgs),
    /// The side chats of a session
    List(list::ListArgs),
    /// The side chats of a session, theirs, and so on
    Tree(tree::TreeArgs),
    /// The side chats of a directory, or all
    Catalog(catalog::CatalogArgs),
    /// A side chat, what it was given, and what came of it
    Show(show::ShowArgs),
    /// How to open a side chat in dsh
    Resume(resume::ResumeArgs),
    /// Put a side chat away
    #[command(before_long_help = "Examples:
  dshkit sidechat archive session-f2")]
    Archive(status::StatusArgs),
    /// Take an archived side chat out again
    #[command(before_long_help = "Examples:
  dshkit sidechat restore session-f2")]
    Restore(status::StatusArgs),
    /// Give a side chat up for good; its log stays
    #[command(before_long_help = "Examples:
  dshkit sidechat abandon session-f2 --dry-run")]
    Abandon(status::StatusArgs),
    /// Let `sessions list --hide-sidechats` leave a side chat out
    #[command(before_long_help = "Examples:\n  dshkit sidechat hide session-5f")]
    Hide(hide::HideArgs),
    /// Show a hidden side chat there again
    #[command(before_long_help = "Examples:\n  dshkit sidechat unhide session-5f")]
    Unhide(hide::HideArgs),
    /// Give a side chat whose parent is gone a new one
    Relink(relink::RelinkArgs),
    /// What a side chat cost
    Usage(usage::UsageArgs),
    /// Whether ledger, logs and the plugin's file fit together
    Doctor(doctor::DoctorArgs),
}

pub(super) fn run(command: SidechatCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        SidechatCommand::Create(args) => create::run(&args, context),
        SidechatCommand::Ask(args) => ask::run(&args, context),
        SidechatCommand::Fold(args) => fold::run(&args, context),
        SidechatCommand::Commit(args) => commit::run(&args, context),
        SidechatCommand::Deliver(args) => deliver::run(&args, context),
        SidechatCommand::Cite(args) => cite::run(&args, context),
        SidechatCommand::Cites(args) => cites::run(&args, context),
        SidechatCommand::Read(args) => read::run(&args, context),
        SidechatCommand::Compare(args) => compare::run(&args, context),
        SidechatCommand::Withdraw(args) => withdraw::run(&args, context),
        SidechatCommand::List(args) => list::run(&args, context),
        SidechatCommand::Tree(args) => tree::run(&args, context),
        SidechatCommand::Catalog(args) => catalog::run(&args, context),
        SidechatCommand::Show(args) => show::run(&args, context),
        SidechatCommand::Resume(args) => resume::run(&args, context),
        SidechatCommand::Archive(args) => status::run(&args, Change::Archive, context),
        SidechatCommand::Restore(args) => status::run(&args, Change::Restore, context),
        SidechatCommand::Abandon(args) => status::run(&args, Change::Abandon, context),
        SidechatCommand::Hide(args) => hide::run(&args, true, context),
        SidechatCommand::Unhide(args) => hide::run(&args, false, context),
        SidechatCommand::Relink(args) => relink::run(&args, context),
        SidechatCommand::Usage(args) => usage::run(&args, context),
        SidechatCommand::Doctor(args) => doctor::run(&args, context),
    }
}
