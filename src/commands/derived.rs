//! Reading what logs derive to, through the cache.

use super::Context;
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::projections::cache::{Cache, place};
use crate::projections::ladder::{self, Derived};
use crate::projections::registry::Registry;
use std::sync::atomic::{AtomicUsize, Ordering};

impl Context {
    /// The states of these units over these sessions' logs. What is wrong with the cache is a warning: it
    /// only makes things slower.
    pub(super) fn derive<'r>(
        &mut self,
        corpus: &Corpus,
        records: &[&Record],
        registry: &'r Registry,
    ) -> Vec<Result<Derived<'r>, Failure>> {
        let mut cache = self.projections_cache(corpus);
        let bar = self.output.progress("reading sessions");
        let done = AtomicUsize::new(0);
        let one_done = || bar.advance(done.fetch_add(1, Ordering::Relaxed) + 1, records.len());
        let read = ladder::read_all(corpus, records, registry, self.mode(), cache.as_mut(), &one_done);
        drop(bar);
        if let Some(warning) = read.warning {
            self.output.warn(&format!("the cache of derived values: {warning}"));
        }
        read.sessions
    }

    /// The cache of a store's derived values, if one may be used and can be had.
    pub(super) fn projections_cache(&mut self, corpus: &Corpus) -> Option<Cache> {
        if self.global.no_cache {
            return None;
        }
        let path = place(self.env.cache.as_ref()?, corpus.path());
        match Cache::open(&path, corpus.path()) {
            Ok(cache) => Some(cache),
            Err(error) => {
                self.output.warn(&format!("the cache of derived values: {error}"));
                None
            }
        }
    }
}
