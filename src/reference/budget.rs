//! How many bytes a source may take (formats.md §8.2, seed 001).

use crate::error::{Code, Failure};
use crate::model::json::Value;
use crate::projections::ladder::Derived;
use crate::projections::registry::Registry;
use crate::projections::units;

/// The smallest automatic budget, in bytes, and the one where no context window is known.
pub const SMALLEST: u64 = 65_536;

/// The part of the context window a source may take, where nothing else is said.
pub const DEFAULT_FRACTION: f64 = 0.2;

/// How many bytes of a source are held to be one token of a window.
const BYTES_PER_TOKEN: f64 = 4.0;

/// The greatest integer dsh takes for a limit.
const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// Where a budget comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller set it.
    Fixed,
    /// A context window the caller named.
    NamedWindow,
    /// The context window in the target's newest `request/context`.
    TargetWindow,
    /// No window is known.
    Unknown,
}

impl Origin {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Fixed => "max-bytes",
            Origin::NamedWindow => "context-window",
            Origin::TargetWindow => "target",
            Origin::Unknown => "default",
        }
    }
}

/// The budget of every source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// In bytes of serialised JSON.
    pub max_bytes: u64,
    /// Where it comes from.
    pub origin: Origin,
    /// The context window it was computed from, in tokens.
    pub context_window: Option<u64>,
    /// The part of the window a source may take; `None` where no window counts.
    pub fraction: Option<f64>,
}

impl Budget {
    /// A budget that was set.
    pub fn fixed(max_bytes: u64) -> Budget {
        Budget { max_bytes, origin: Origin::Fixed, context_window: None, fraction: None }
    }

    /// The budget where no window is known.
    pub fn unknown() -> Budget {
        Budget { max_bytes: SMALLEST, origin: Origin::Unknown, context_window: None, fraction: None }
    }

    /// The budget that follows from a context window in tokens: a part of it, at least [`SMALLEST`].
    pub fn of_window(context_window: u64, fraction: f64, origin: Origin) -> Budget {
        // In dsh's order, because each step rounds.
        let part = (context_window as f64 * BYTES_PER_TOKEN * fraction).floor();
        let max_bytes = (part as u64).max(SMALLEST);
        Budget { max_bytes, origin, context_window: Some(context_window), fraction: Some(fraction) }
    }
}

/// Checks a number of bytes or tokens.
///
/// # Errors
/// It is no positive number, or greater than JavaScript counts.
pub fn check_count(what: &str, count: i64) -> Result<u64, Failure> {
    if (1..=MAX_SAFE_INTEGER).contains(&count) {
        return Ok(count.unsigned_abs());
    }
    let message = format!("{what} must be a whole number from 1 to {MAX_SAFE_INTEGER}, got {count}");
    Err(Failure::new(Code::InvalidReferenceConfig, message))
}

/// Checks a part of a context window.
///
/// # Errors
/// It is not from 0 to 1.
pub fn check_fraction(fraction: f64) -> Result<f64, Failure> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    let message = format!("the fraction of the context window must be from 0 to 1, got {fraction}");
    Err(Failure::new(Code::InvalidReferenceConfig, message))
}

/// The units that tell a session's context window.
pub fn registry() -> Registry {
    units::all().only(&["contextPressure"]).expect("the unit is there")
}

/// The context window of a session's newest `request/context`, in tokens, from the states of those units.
pub fn context_window(derived: &Derived<'_>) -> Option<u64> {
    let snapshot = derived.folded.snapshot();
    let (_, pressure) = snapshot.views.iter().find(|(key, _)| *key == "contextPressure")?;
    let Value::Object(pressure) = pressure else { return None };
    match pressure.get("contextWindow") {
        Some(Value::Number(window)) => Some(*window as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_follows_its_window() {
        let bytes = |window, fraction| Budget::of_window(window, fraction, Origin::NamedWindow).max_bytes;
        // observed.md: 800000 for a window of a million tokens.
        assert_eq!(bytes(1_000_000, DEFAULT_FRACTION), 800_000);
        assert_eq!((bytes(128_000, 0.2), bytes(81_920, 0.2), bytes(81_925, 0.2)), (102_400, SMALLEST, 65_540));
        assert_eq!((bytes(1, 1.0), bytes(1_000_000, 0.0)), (SMALLEST, SMALLEST));
        // Math.floor(123457 * 4 * 0.3)
        assert_eq!(bytes(123_457, 0.3), 148_148);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for fraction in [-0.1, 1.000_000_1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(check_fraction(fraction).unwrap_err().code, Code::InvalidReferenceConfig);
        }
        assert!([0.0, -0.0, 0.5, 1.0].into_iter().all(|fraction| check_fraction(fraction).is_ok()));
        for count in [0, -1, i64::MIN, MAX_SAFE_INTEGER + 1] {
            assert_eq!(check_count("it", count).unwrap_err().code, Code::InvalidReferenceConfig);
        }
        assert_eq!(check_count("it", MAX_SAFE_INTEGER).unwrap(), 9_007_199_254_740_991);
    }
}
