//! The window in which an earlier run is looked for.

use std::str::FromStr;
use std::time::Duration;

/// The window in which an earlier run is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The run ended at most this long before the current one.
    Time(Duration),
    /// The run is among this number of runs before the current one.
    Runs(u32),
}

/// The longest time.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The most runs.
const MOST_RUNS: u32 = 1000;
/// The units of time.
const UNITS: [(&str, u64); 11] = [
    ("s", 1),
    ("m", 60),
    ("min", 60),
    ("h", 3600),
    ("hour", 3600),
    ("hours", 3600),
    ("d", 86_400),
    ("day", 86_400),
    ("days", 86_400),
    ("w", 604_800),
    ("weeks", 604_800),
];

/// The text is no window. The message lists the forms that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a time such as `24h` or `7d` (at most a year), or `10 runs` (at most {MOST_RUNS})")]
pub struct InvalidWindow;

impl FromStr for Window {
    type Err = InvalidWindow;

    /// Reads `24h`, `7d`, `10 runs`, `last_24h` or `last_5_runs`.
    fn from_str(text: &str) -> Result<Self, InvalidWindow> {
        let text = text.trim().to_ascii_lowercase();
        let rest = text.strip_prefix("last").unwrap_or(&text).trim_start_matches(['_', ' ']);
        let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let unit = rest[digits..].trim_start_matches(['_', ' ']);
        let amount = rest[..digits].parse::<u64>().ok().filter(|amount| *amount > 0);
        let read = amount.and_then(|amount| match unit {
            "run" | "runs" => u32::try_from(amount).ok().filter(|runs| *runs <= MOST_RUNS).map(Self::Runs),
            unit => {
                let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
                let time = Duration::from_secs(amount.checked_mul(*seconds)?);
                (time <= LONGEST).then_some(Self::Time(time))
            }
        });
        read.ok_or(InvalidWindow)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Window;

    #[test]
    fn windows_are_read_as_people_and_keystone_write_them() {
        let hours = |hours: u64| Some(Window::Time(Duration::from_secs(hours * 3600)));
        for (text, expected) in [
            ("24h", hours(24)),
            ("last_24h", hours(24)),
            (" Last 7 days ", hours(7 * 24)),
            ("90m", Some(Window::Time(Duration::from_secs(5400)))),
            ("10 runs", Some(Window::Runs(10))),
            ("last_5_runs", Some(Window::Runs(5))),
            ("1 run", Some(Window::Runs(1))),
            ("", None),
            ("0h", None),
            ("h", None),
            ("24", None),
            ("24 parsecs", None),
            ("99999 runs", None),
            ("99999999999999999999d", None),
            ("9999w", None),
        ] {
            assert_eq!(text.parse::<Window>().ok(), expected, "{text}");
        }
    }
}
