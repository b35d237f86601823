//! How far something is, for who watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
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

/// Words on standard error that something is waited for, and how long already; they are gone when this is.
pub struct Waiting {
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Waiting {
    /// The words, or none where nobody watches.
    pub(super) fn new(message: &'static str, is_watched: bool) -> Waiting {
        let watch = is_watched.then(|| {
            let (is_wanted, end) = channel();
            (is_wanted, thread::spawn(move || show(message, || end.recv_timeout(PATIENCE))))
        });
        Waiting { watch }
    }
}

/// Shows words as soon as there was a pause, until it ends otherwise than by its time.
fn show(message: &'static str, mut pause: impl FnMut() -> Result<(), RecvTimeoutError>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(message);
    let style = ProgressStyle::with_template("{msg} {elapsed}");
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    while pause() == Err(RecvTimeoutError::Timeout) {
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.tick();
    }
    bar.finish_and_clear();
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((is_wanted, shower)) = self.watch.take() {
            drop(is_wanted);
            // Whatever is written next must not get between the words.
            let _ = shower.join();
        }
    }
}
