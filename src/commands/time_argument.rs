//! Points in time as people write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads a point in time: milliseconds since the epoch as the logs have them; a date or a date and time,
/// local unless it says otherwise; or how long ago, as `90m`, `36h`, `2d`.
///
/// # Errors
/// It is none of these.
pub(super) fn parse(text: &str, now: i64) -> Result<i64, String> {
    if let Ok(milliseconds) = text.parse::<i64>() {
        return Ok(milliseconds);
    }
    if let Some(ago) = parse_ago(text) {
        return Ok(now.saturating_sub(ago));
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp.as_millisecond());
    }
    let civil = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
    let zoned = civil.and_then(|civil| civil.to_zoned_datetime(TimeZone::system()));
    zoned.map(|zoned| zoned.timestamp().as_millisecond()).map_err(|_| {
        format!(
            "{text:?} is no point in time; write milliseconds, a date, a date and time, or how long ago: 90m, 36h, 2d"
        )
    })
}

fn parse_ago(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().ok().filter(|count| *count >= 0)?;
    let hours = SignedDuration::from_hours(1);
    let one = match unit {
        's' => SignedDuration::from_secs(1),
        'm' => SignedDuration::from_mins(1),
        'h' => hours,
        'd' => hours * 24,
        'w' => hours * 24 * 7,
        _ => return None,
    };
    i64::try_from(one.as_millis()).ok()?.checked_mul(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        assert_eq!(parse("1790000000000", 0), Ok(1_790_000_000_000));
        assert_eq!(parse("2d", 200_000_000), Ok(200_000_000 - 172_800_000));
        assert_eq!(parse("2026-09-21T13:46:40Z", 0), Ok(1_789_998_400_000));
        assert!(parse("2026-09-21", 0).is_ok());
        assert!(parse("yesterday", 0).is_err());
        assert!(parse("é", 0).is_err());
    }
}
