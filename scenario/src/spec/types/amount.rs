//! Numbers with bounds.

use serde::Serialize;

use crate::number::Number;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// A whole number between `MIN` and `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Whole<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Whole<MIN, MAX> {
    /// `value`, forced into the bounds.
    #[must_use]
    pub const fn new(value: i64) -> Self {
        Self(if value < MIN {
            MIN
        } else if value > MAX {
            MAX
        } else {
            value
        })
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number as a count; negative ones are zero.
    #[must_use]
    pub fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }
}

impl<const MIN: i64, const MAX: i64> Readable for Whole<MIN, MAX> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::Number(number) = &node.kind else {
            return reader.wrong_type(node, "a whole number");
        };
        match number.as_i64() {
            Some(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            _ => reader.invalid(
                node,
                format!("expected a whole number{}, found {}", range(MIN, MAX), shown(number)),
                None,
            ),
        }
    }

    fn shape() -> Shape {
        Shape::Integer { min: MIN, max: MAX }
    }
}

fn range(min: i64, max: i64) -> String {
    match (min, max) {
        (i64::MIN, i64::MAX) => String::new(),
        (min, max) if min == max => format!(", and only {min}"),
        (min, i64::MAX) => format!(" of at least {min}"),
        (min, max) => format!(" from {min} to {max}"),
    }
}

macro_rules! amount {
    ($(#[doc = $doc:literal])+ $name:ident, $min:expr, $max:expr, $expected:literal) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(f64);

        impl $name {
            /// `value`, when it is within the bounds.
            #[must_use]
            pub fn new(value: f64) -> Option<Self> {
                ($min..=$max).contains(&value).then_some(Self(value))
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl Readable for $name {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                let Kind::Number(number) = &node.kind else {
                    return reader.wrong_type(node, $expected);
                };
                within(number, $min, $max).map(Self).or_else(|| reader.invalid(node, format!("expected {}, found {}", $expected, shown(number)), None))
            }

            fn shape() -> Shape {
                Shape::Number { min: $min, max: $max }
            }
        }
    };
}

/// A number that fits in a message.
fn shown(number: &Number) -> String {
    crate::untrusted::cut(number.text(), 40)
}

fn within(number: &Number, min: f64, max: f64) -> Option<f64> {
    Some(number.as_f64()).filter(|value| value.is_finite() && (min..=max).contains(value))
}

amount! {
    /// A share of one.
    Fraction, 0.0, 1.0, "a number from 0 to 1"
}

amount! {
    /// A share of a hundred.
    Percent, 0.0, 100.0, "a number from 0 to 100"
}

amount! {
    /// How much an invariant counts beside the others.
    Weight, 0.0, 1_000_000.0, "a number from 0 to 1000000"
}

amount! {
    /// How many processor cores.
    Cpu, 0.01, 8.0, "a number of cores from 0.01 to 8"
}

amount! {
    /// A pass rate that can be shown by few replicas: neither none nor all of it.
    PassRate, 0.001, 0.999, "a pass rate from 0.001 to 0.999"
}

amount! {
    /// The chance of a wrong statement.
    ErrorRate, 0.0001, 0.4, "a chance from 0.0001 to 0.4"
}

amount! {
    /// The confidence in a statement.
    Confidence, 0.5, 0.9999, "a confidence from 0.5 to 0.9999"
}

amount! {
    /// How freely a model answers.
    Temperature, 0.0, 2.0, "a number from 0 to 2"
}

amount! {
    /// An amount of US dollars.
    Dollars, 0.0, 1_000_000.0, "a number of dollars from 0 to 1000000"
}

impl Fraction {
    /// All of it.
    pub const ONE: Self = Self(1.0);
    /// Half of it.
    pub const HALF: Self = Self(0.5);
    /// Three quarters of it.
    pub const THREE_QUARTERS: Self = Self(0.75);
    /// Four fifths of it.
    pub const FOUR_FIFTHS: Self = Self(0.8);
}

impl ErrorRate {
    /// One of twenty.
    pub const USUAL: Self = Self(0.05);
}

impl Confidence {
    /// Nineteen of twenty.
    pub const USUAL: Self = Self(0.95);
}

impl Weight {
    /// The weight of an invariant that states none.
    pub const ONE: Self = Self(1.0);
}

impl Cpu {
    /// The limit of a sandbox unless the spec sets another.
    pub const DEFAULT: Self = Self(2.0);
}

impl Temperature {
    /// Always the likeliest answer.
    pub const ZERO: Self = Self(0.0);
}
