//! JSON values compared by what they mean: numbers by value, objects without the order of their keys.

use std::cmp::Ordering;

use serde_json::Value as Json;

/// A number, exact as long as it is whole.
#[derive(Debug, Clone, Copy)]
pub enum Num {
    /// A whole number, however it was written: `2` and `2.0` are the same.
    Int(i128),
    /// Any other finite number.
    Float(f64),
}

impl Num {
    /// The number that a JSON value is; `None` for everything else, numeric strings included.
    #[must_use]
    pub fn of(value: &Json) -> Option<Self> {
        let Json::Number(number) = value else { return None };
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        whole.map(Self::Int).or_else(|| number.as_f64().map(Self::from_float))
    }

    /// The number that a float is.
    #[must_use]
    pub fn from_float(float: f64) -> Self {
        /// Above this, a float is not compared as an integer.
        const WHOLE: f64 = 1e30;
        #[expect(clippy::cast_possible_truncation, reason = "a whole float below the limit fits")]
        if float.fract() == 0.0 && float.abs() < WHOLE { Self::Int(float as i128) } else { Self::Float(float) }
    }

    /// The nearest float.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the nearest float is wanted")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// True when it is kept as a whole number.
    fn is_int(self) -> bool {
        matches!(self, Self::Int(_))
    }

    /// True when the number has no fraction.
    #[must_use]
    pub fn is_whole(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(float) => float.fract() == 0.0,
        }
    }

    /// The number as JSON.
    #[must_use]
    pub fn to_json(self) -> Json {
        match self {
            Self::Int(int) => i64::try_from(int).map_or_else(|_| self.as_f64().into(), Into::into),
            Self::Float(float) => float.into(),
        }
    }

    /// Compares exactly, without rounding an integer to a float.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(&right),
            (Self::Int(left), Self::Float(right)) => int_with_float(left, right),
            (Self::Float(left), Self::Int(right)) => int_with_float(right, left).reverse(),
        }
    }

    /// True when this is at most `other`.
    #[must_use]
    pub fn at_most(self, other: Self) -> bool {
        self.compare(other) != Ordering::Greater
    }

    /// True when this is at most `other`, or above it by no more than rounding explains.
    #[must_use]
    pub fn at_most_nearly(self, other: Self) -> bool {
        self.at_most(other)
            || !(self.is_int() && other.is_int()) && self.as_f64() <= other.as_f64() + slack(other.as_f64())
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Int(int) => Self::Int(int.saturating_neg()),
            Self::Float(float) => Self::Float(-float),
        }
    }

    /// The sum of two numbers; exact when both are whole.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Self::Int(left.saturating_add(right)),
            _ => Self::from_float(self.as_f64() + other.as_f64()),
        }
    }
}

/// Returns the tolerance for rounding where floats were added or multiplied.
#[must_use]
pub fn slack(bound: f64) -> f64 {
    1e-9 * bound.abs().max(1.0)
}

fn int_with_float(int: i128, float: f64) -> Ordering {
    const LIMIT: f64 = 1.7e38;
    if float >= LIMIT {
        return Ordering::Less;
    }
    if float <= -LIMIT {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is within the limits of an i128")]
    let floor = float.floor() as i128;
    match int.cmp(&floor) {
        Ordering::Equal if float.fract() != 0.0 => Ordering::Less,
        order => order,
    }
}

/// True when two values mean the same.
#[must_use]
pub fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(_), Json::Number(_)) => {
            matches!((Num::of(left), Num::of(right)), (Some(left), Some(right)) if left.compare(right) == Ordering::Equal)
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::json;

    use super::{Num, same};

    fn compare(left: serde_json::Value, right: serde_json::Value) -> Ordering {
        Num::of(&left).expect("a number").compare(Num::of(&right).expect("a number"))
    }

    #[test]
    fn numbers_are_compared_by_value_and_exactly() {
        assert!(same(&json!(2), &json!(2.0)) && same(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1})));
        assert!(!same(&json!("2"), &json!(2)) && !same(&json!(true), &json!(1)) && !same(&json!({}), &json!({"a": 1})));
        assert_eq!(compare(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)), Ordering::Greater);
        assert_eq!(compare(json!(1), json!(1.5)), Ordering::Less);
        assert_eq!(compare(json!(-1), json!(-1.5)), Ordering::Greater);
        assert_eq!(compare(json!(u64::MAX), json!(1e300)), Ordering::Less);
    }

    #[test]
    fn rounding_is_forgiven_for_floats_and_never_for_integers() {
        let at_most =
            |left, right| Num::of(&left).expect("a number").at_most_nearly(Num::of(&right).expect("a number"));
        assert!(at_most(json!(0.1 + 0.2), json!(0.3)));
        assert!(!at_most(json!(3_000_000_001_i64), json!(3_000_000_000_i64)));
        assert!(!at_most(json!(0.301), json!(0.3)));
    }
}
