//! The steps of a write, for tests that stop a writer between them.
//!
//! Whatever changes a file goes through [`take`], which tells an observer before and after. The program
//! passes [`Unwatched`], which does nothing. A test passes its own: one that ends the process at the n-th
//! moment shows what a crash there leaves, one that returns an error shows what a failure does. There is
//! no switch and no global state, so nothing in the environment can reach a shipped program this way.
//! Other writers than the stores, a database for example, can tell of their steps in the same way.

use std::io;

/// When an observer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The step has not been taken. An error now is a failure of the step that changed nothing.
    Before,
    /// The step has been taken. An error now is a failure of the step although it had its effect.
    After,
}

/// Somebody who is told of each step.
pub trait Steps {
    /// A step with this name is about to be taken, or has been.
    ///
    /// # Errors
    /// The step shall fail.
    fn reach(&mut self, moment: Moment, step: &'static str) -> io::Result<()>;
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Steps for Unwatched {
    fn reach(&mut self, _moment: Moment, _step: &'static str) -> io::Result<()> {
        Ok(())
    }
}

/// Takes a step and tells of it.
///
/// # Errors
/// The step failed, or the observer wants it to.
pub fn take<T>(steps: &mut dyn Steps, step: &'static str, action: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    steps.reach(Moment::Before, step)?;
    let result = action()?;
    steps.reach(Moment::After, step)?;
    Ok(result)
}
