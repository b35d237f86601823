//! How a delivery is to be made, and waiting for it.

use crate::commands::Context;
use crate::env;
use crate::error::{Code, Failure};
use crate::sidechat::delivery::{Delay, Delivered, Terms};
use crate::stores::jsonl::STILL_FOR;
use clap::Args;
use std::thread;
use std::time::Duration;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// How a delivery is to be made.
#[derive(Debug, Args)]
pub(super) struct DeliveryArgs {
    /// Wait so many seconds for the parent to be free
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u32,
    /// Exit with 7 if it could not be delivered yet
    #[arg(long)]
    require_delivered: bool,
    /// I know that no dsh has the parent open. Needed for logs of format v0, whose dsh takes no lock
    #[arg(long)]
    pub(super) offline: bool,
}

impl DeliveryArgs {
    /// The terms of the first try.
    pub(super) fn terms(&self, context: &Context) -> Terms {
        Terms { offline: self.offline, now: context.env.now }
    }

    /// Tries, and tries again as long as deliveries have to wait and the user wants to. A v0 log that was
    /// written a moment ago, maybe by us, is always given the moment that proves it stands still.
    pub(super) fn patiently<T>(
        &self,
        delays: impl Fn(&T) -> Vec<&Delay>,
        mut attempt: impl FnMut(&Terms) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let wanted = Duration::from_secs(self.wait.into());
        let moment = Duration::from_millis(STILL_FOR as u64) + PAUSE;
        let mut waited = Duration::ZERO;
        let mut since_progress = Duration::ZERO;
        let mut left = usize::MAX;
        loop {
            let result = attempt(&Terms { offline: self.offline, now: env::now() })?;
            let found = delays(&result);
            if found.len() < left {
                left = found.len();
                since_progress = Duration::ZERO;
            }
            let is_moving = self.offline && found.iter().any(|delay| delay.reason == "log-moving");
            if left == 0 || waited >= wanted && !(is_moving && since_progress < moment) {
                return Ok(result);
            }
            thread::sleep(PAUSE);
            waited += PAUSE;
            since_progress += PAUSE;
        }
    }

    /// The exit status, and a word to the user, when a delivery has to wait.
    pub(super) fn finish(&self, context: &mut Context, delays: &[&Delay]) -> Result<u8, Failure> {
        let Some(first) = delays.first() else { return Ok(0) };
        if self.require_delivered {
            let message = format!("it is pending: {}", first.message);
            return Err(Failure::new(Code::DeliveryPending, message).hint(first.advice));
        }
        for delay in delays {
            context.output.warn(&format!("pending: {}; {}", delay.message, delay.advice));
        }
        Ok(0)
    }
}

/// Why a delivery has to wait, if it has to.
pub(super) fn delay_of(delivered: Option<&Delivered>) -> Option<&Delay> {
    match delivered {
        Some(Delivered::Later(delay)) => Some(delay),
        Some(Delivered::At(_)) | None => None,
    }
}
