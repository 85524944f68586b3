//! A shift of a clock, forwards or backwards: `1h`, `-5m`.

use std::fmt;

use serde::{Serialize, Serializer};

use super::duration::seconds_of;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// The longest shift: ten years.
const LONGEST_SECONDS: f64 = 10.0 * 366.0 * 24.0 * 3600.0;

/// A shift of a clock in milliseconds: forwards, or backwards when it is negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeShift(i64);

impl TimeShift {
    /// The shift in milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> i64 {
        self.0
    }

    /// Reads `1h30m`, `+1h30m` or `-1h30m`; `None` when it is not of that form, nothing, or longer than ten years.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (is_back, amount) = match text.strip_prefix('-') {
            Some(amount) => (true, amount),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let seconds = seconds_of(amount).filter(|seconds| *seconds <= LONGEST_SECONDS)?;
        #[expect(clippy::cast_possible_truncation, reason = "ten years are far below 2^53 milliseconds")]
        let milliseconds = (seconds * 1000.0).round() as i64;
        (milliseconds != 0).then_some(Self(if is_back { -milliseconds } else { milliseconds }))
    }
}

impl fmt::Display for TimeShift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (seconds, rest) = (self.0.unsigned_abs() / 1000, self.0.unsigned_abs() % 1000);
        match rest {
            0 => write!(formatter, "{sign}{seconds}s"),
            _ if seconds == 0 => write!(formatter, "{sign}{rest}ms"),
            rest => write!(formatter, "{sign}{seconds}s{rest}ms"),
        }
    }
}

impl Serialize for TimeShift {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for TimeShift {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::String(text) => Self::parse(text).or_else(|| {
                let help = "write it like `1h` or `-5m`; ten years at most".to_owned();
                reader.invalid(node, format!("{} is no shift of a clock", node.describe()), Some(help))
            }),
            _ => reader.wrong_type(node, "a shift of a clock like `1h` or `-5m`"),
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "time shift", pattern: r"^[-+]?([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$", example: "-5m" }
    }
}

#[cfg(test)]
mod tests {
    use super::TimeShift;

    #[test]
    fn a_shift_goes_forwards_or_backwards() {
        for (text, milliseconds, shown) in [
            ("1h", 3_600_000, "3600s"),
            ("+1m30s", 90_000, "90s"),
            ("-5m", -300_000, "-300s"),
            ("-1.5s", -1500, "-1s500ms"),
            ("250ms", 250, "250ms"),
        ] {
            let shift = TimeShift::parse(text).expect(text);
            assert_eq!((shift.milliseconds(), shift.to_string().as_str()), (milliseconds, shown));
            assert_eq!(TimeShift::parse(shown), Some(shift), "what is written is read again");
        }
        for text in ["", "-", "0s", "5", "--1h", "1h-", "90000h"] {
            assert_eq!(TimeShift::parse(text), None, "{text}");
        }
    }
}
