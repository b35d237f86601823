//! Doing something with many sessions at once.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does something with each of many things, on as many threads as there are processors, and gives the
/// results in the order of the things.
pub fn in_order<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(things.len());
    if workers < 2 {
        return things.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(things.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(place) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < things.len()) {
                    let result = work(&things[place]);
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[place] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.into_iter().map(|result| result.expect("every thing has had its turn")).collect()
}
