//! `index status | build | clear`

use super::Context;
use crate::corpus::{Catalog, Corpus};
use crate::error::{Code, Failure};
use crate::output::documents::index::{IndexBuildDocument, IndexClearDocument, IndexStatusDocument};
use crate::query::index::{Built, Index, place, up_to_date};
use clap::Subcommand;
use std::path::PathBuf;

/// What to do with the search index of a store.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Whether there is an index, and how much of the store it covers
    #[command(before_long_help = "Examples:
  dshkit index status")]
    Status,
    /// Make the index, or bring it up to date
    #[command(before_long_help = "Examples:
  dshkit index build")]
    Build,
    /// Delete the index
    #[command(before_long_help = "Examples:
  dshkit index clear")]
    Clear,
}

pub(super) fn run(command: IndexCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        IndexCommand::Status => status(context),
        IndexCommand::Build => build(context),
        IndexCommand::Clear => clear(context),
    }
}

fn status(context: &mut Context) -> anyhow::Result<u8> {
    let corpus = context.corpus()?;
    let path = context.index_place(&corpus)?;
    let catalog = corpus.catalog()?;
    let index = Index::open_existing(&path, corpus.path())?;
    let holdings = index.as_ref().map(Index::holdings).transpose()?;
    let stale = index.as_ref().map(|index| index.stale(&corpus, &catalog.records)).transpose()?;
    let document = IndexStatusDocument::of(&path, catalog.records.len() as u64, holdings, stale);
    context.output.document(&document)?;
    Ok(0)
}

fn build(context: &mut Context) -> anyhow::Result<u8> {
    let (corpus, catalog) = context.catalog()?;
    let path = context.index_place(&corpus)?;
    let (index, built) = context.refreshed_index(&corpus, &catalog)?;
    let document = IndexBuildDocument::of(&path, built, index.holdings()?);
    context.output.document(&document)?;
    Ok(0)
}

fn clear(context: &mut Context) -> anyhow::Result<u8> {
    let corpus = context.corpus()?;
    let path = context.index_place(&corpus)?;
    let cleared = Index::clear(&path)?;
    context.output.document(&IndexClearDocument::of(&path, cleared))?;
    Ok(0)
}

impl Context {
    /// Where the index of a store lies.
    fn index_place(&self, corpus: &Corpus) -> Result<PathBuf, Failure> {
        let no_cache = || {
            let message = "there is no telling where the index is: neither XDG_CACHE_HOME nor HOME is set";
            Failure::new(Code::IndexFailed, message)
        };
        Ok(place(self.env.cache.as_ref().ok_or_else(no_cache)?, corpus.path()))
    }

    /// The index of a store, made or brought up to date.
    pub(super) fn refreshed_index(&mut self, corpus: &Corpus, catalog: &Catalog) -> Result<(Index, Built), Failure> {
        let path = self.index_place(corpus)?;
        let bar = self.output.progress("indexing sessions");
        up_to_date(&path, corpus, &catalog.records, &mut |done, all| bar.advance(done, all))
    }
}
