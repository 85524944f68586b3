//! Times and sizes as people read them.

use std::time::Duration;

use jiff::{SpanRelativeTo, Timestamp};

/// A time to the second, in UTC: `2026-03-01T12:00:00Z`.
pub(crate) fn second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// Formats the time since a moment: `3 min ago`.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        i64::MIN..5 => "just now".to_owned(),
        5..120 => format!("{seconds} s ago"),
        120..7_200 => format!("{} min ago", seconds / 60),
        7_200..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A text that is no length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no length of time; write it as 30d, 12h or 90m")]
pub(crate) struct LengthError(String);

/// A text that is no number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no size; write it as 500MB, 20GB or 2Gi")]
pub(crate) struct SizeError(String);

/// Reads how long something is: `30d`, `12h`, `1w 2d`.
pub(crate) fn length(text: &str) -> Result<Duration, LengthError> {
    let wrong = || LengthError(text.to_owned());
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(length).map_err(|_| wrong())
}

/// A number of bytes: `812 bytes`, `3.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        1_000_000..1_000_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
    }
}

/// Reads a number of bytes: `500MB`, `20GB`, `2Gi`.
pub(crate) fn bytes_of(text: &str) -> Result<u64, SizeError> {
    let wrong = || SizeError(text.to_owned());
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" | "k" | "K" => 1_000,
        "MB" | "M" => 1_000_000,
        "GB" | "G" => 1_000_000_000,
        "TB" | "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{age, bytes_of, length, second, size};

    #[test]
    fn times_are_told_to_the_second() {
        let time = Timestamp::from_millisecond(1_772_366_400_999).expect("a time");
        assert_eq!(second(time), "2026-03-01T12:00:00Z");
    }

    #[test]
    fn ages_have_one_unit() {
        let now = Timestamp::from_second(1_772_366_400).expect("a time");
        for (seconds, expected) in [
            (-30, "just now"),
            (0, "just now"),
            (59, "59 s ago"),
            (200, "3 min ago"),
            (7_300, "2 h ago"),
            (200_000, "2 days ago"),
        ] {
            let then = Timestamp::from_second(now.as_second() - seconds).expect("a time");
            assert_eq!(age(then, now), expected);
        }
    }

    #[test]
    fn lengths_are_days_hours_or_less() {
        assert_eq!(length("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(length("1w 2h"), Ok(Duration::from_secs(7 * 86_400 + 7_200)));
        assert_eq!(length("0s"), Ok(Duration::ZERO));
        for wrong in ["", "30", "-1d", "1mo", "soon"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(
            [0, 999, 1_234, 5_678_000, 9_999_999_999].map(size),
            ["0 bytes", "999 bytes", "1.2 kB", "5.6 MB", "9.9 GB"]
        );
    }

    #[test]
    fn sizes_have_a_unit_or_are_bytes() {
        for (text, bytes) in [("0", 0), ("12B", 12), ("800kB", 800_000), ("3 MB", 3_000_000), ("20GB", 20_000_000_000)]
        {
            assert_eq!(bytes_of(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MB", "1.5GB", "-1MB", "1XB", "99999999999TB"] {
            assert!(bytes_of(wrong).is_err(), "{wrong}");
        }
    }
}
