//! The condition of an alert: it fires when the condition is true of a run.
//!
//! ```text
//! pass_rate < 90%
//! errors > 0 or p95_wall_ms >= 60000
//! drop in pass_rate > 5% and not (total_cost_usd > 1.5)
//! regressed
//! ```
//!
//! A condition compares [`Metric`]s of a run with numbers, or with what they were in an earlier run of the same spec; a
//! [`Window`] says how far back that one may be. What cannot be known (a change when there is no earlier run, the cost of a
//! success when nothing succeeded) is neither true nor false, and fires nothing.

mod evaluate;
mod parse;
#[cfg(test)]
mod tests;
mod token;
mod window;

use std::fmt;

pub use evaluate::Facts;
pub use window::{InvalidWindow, Window};

use crate::metric::Metric;
use token::Operator;

/// The longest condition, in bytes.
pub const MOST_BYTES: usize = 1000;
/// Maximum nesting of parentheses and `not`.
const DEEPEST: usize = 32;

/// The condition of an alert.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Expression);

/// A part of a condition.
#[derive(Debug, Clone, PartialEq)]
enum Expression {
    /// One of them.
    Any(Vec<Expression>),
    /// Each of them.
    All(Vec<Expression>),
    /// Not so.
    Not(Box<Expression>),
    /// A metric of the run, compared with a number.
    Compared(Metric, Operator, Amount),
    /// The decrease or increase of a metric since the earlier run, compared with a number.
    Changed(Direction, Metric, Operator, Amount),
    /// The comparison with the earlier run found a regression.
    Regressed,
}

/// A number, and whether it was written with `%`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amount {
    number: f64,
    is_percent: bool,
}

/// The direction in which a metric changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// It is lower now.
    Drop,
    /// It is higher now.
    Rise,
}

/// The reason why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {position}: {message}")]
pub struct Mistake {
    /// Position of the character in the text, from 1.
    pub position: usize,
    /// The problem there, and the possible alternatives.
    pub message: String,
}

impl Condition {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        parse::parse(text).map(Self)
    }

    /// Returns true if the evaluation needs an earlier run.
    #[must_use]
    pub fn looks_back(&self) -> bool {
        self.0.looks_back()
    }

    /// Returns true if the evaluation needs a comparison with the earlier run, scenario by scenario.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.0.compares()
    }

    /// Returns why it is true of a run, for people; `None` when it is not, or cannot be known.
    #[must_use]
    pub fn reason(&self, facts: &Facts<'_>) -> Option<String> {
        let (holds, why) = self.0.look(facts);
        (holds == Some(true)).then_some(why)
    }
}

impl Expression {
    fn looks_back(&self) -> bool {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().any(Self::looks_back),
            Self::Not(part) => part.looks_back(),
            Self::Compared(..) => false,
            Self::Changed(..) | Self::Regressed => true,
        }
    }

    fn compares(&self) -> bool {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().any(Self::compares),
            Self::Not(part) => part.compares(),
            Self::Compared(..) | Self::Changed(..) => false,
            Self::Regressed => true,
        }
    }
}

impl Direction {
    fn word(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Rise => "rise",
        }
    }
}

impl Amount {
    /// The number as a part of one, when it was written with `%`.
    fn value(self) -> f64 {
        if self.is_percent { self.number / 100.0 } else { self.number }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.number, if self.is_percent { "%" } else { "" })
    }
}
