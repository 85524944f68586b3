//! Durations as Go writes them: `300ms`, `5m`, `1h30m`.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// The longest duration that a spec may state.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The units, longest name first where one begins like another, with their length in nanoseconds.
const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timespan(Duration);

impl Timespan {
    /// Creates a duration of this number of seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The duration.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Reads `1h30m`; `None` when it is not of that form or longer than a week.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let duration = Duration::try_from_secs_f64(seconds_of(text)?).ok()?;
        (duration <= LONGEST).then_some(Self(duration))
    }
}

/// The seconds in `1h30m`; `None` when it is not of that form.
pub(super) fn seconds_of(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let unit = &rest[digits..];
        let end = unit.find(|character: char| character.is_ascii_digit() || character == '.').unwrap_or(unit.len());
        let (_, length) = UNITS.iter().find(|(name, _)| *name == &unit[..end])?;
        nanoseconds += amount * length;
        rest = &unit[end..];
    }
    (!text.is_empty()).then_some(nanoseconds / 1e9)
}

/// Returns true if every number has a unit, so that only the length can be wrong.
fn is_of_the_form(text: &str) -> bool {
    let is_amount = |character: char| character.is_ascii_digit() || character == '.';
    let units: Vec<_> = text.split(is_amount).filter(|word| !word.is_empty()).collect();
    let known = |unit: &&str| UNITS.iter().any(|(name, _)| name == unit);
    text.starts_with(is_amount) && !units.is_empty() && units.iter().all(known)
}

impl fmt::Display for Timespan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = (self.0.as_secs(), self.0.subsec_nanos());
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        for (amount, unit) in [(hours, "h"), (minutes, "m"), (seconds, "s")] {
            if amount > 0 {
                write!(formatter, "{amount}{unit}")?;
            }
        }
        match nanoseconds {
            0 if self.0.is_zero() => formatter.write_str("0s"),
            0 => Ok(()),
            nanoseconds if nanoseconds % 1_000_000 == 0 => write!(formatter, "{}ms", nanoseconds / 1_000_000),
            nanoseconds => write!(formatter, "{nanoseconds}ns"),
        }
    }
}

impl Serialize for Timespan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for Timespan {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::String(text) => Self::parse(text).or_else(|| {
                let problem = if is_of_the_form(text) { "is longer than a week" } else { "is not a duration" };
                let help = "write it like `300ms`, `30s`, `5m` or `1h30m`".to_owned();
                reader.invalid(node, format!("{} {problem}", node.describe()), Some(help))
            }),
            Kind::Number(number) => {
                let help = Some(format!("write `{number}s` for seconds"));
                reader.invalid(node, format!("the duration {number} has no unit"), help)
            }
            _ => reader.wrong_type(node, "a duration like `30s`"),
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "duration", pattern: r"^([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$", example: "5m" }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timespan;

    #[test]
    fn durations_read_as_go_writes_them() {
        for (text, milliseconds) in
            [("5m", 300_000), ("1h30m", 5_400_000), ("1.5s", 1500), ("300ms", 300), ("0s", 0), (".5s", 500)]
        {
            assert_eq!(Timespan::parse(text).map(Timespan::get), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "5", "m", "5 m", "5min", "-5m", "1h-3m", "5mm", "1..5s", "9999h", "1e3s"] {
            assert_eq!(Timespan::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_shown_duration_reads_back() {
        for text in ["5m", "1h30m", "1s500ms", "0s", "250ms", "1ns"] {
            let span = Timespan::parse(text).expect("a duration");
            assert_eq!(span.to_string(), text);
            assert_eq!(Timespan::parse(&span.to_string()), Some(span));
        }
    }
}
