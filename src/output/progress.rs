//! How far something is, for who watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How long something may take before it is worth telling.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar on standard error; it is gone when the work is done.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar, or none where nobody watches.
    pub(super) fn new(message: &'static str, is_watched: bool) -> Progress {
        let bar = is_watched.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(message);
            let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { bar }
    }

    /// So many are done, of so many.
    pub fn advance(&self, done: usize, all: usize) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() && bar.elapsed() > PATIENCE {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
