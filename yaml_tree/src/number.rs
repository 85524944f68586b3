//! Exact decimal numbers of specs and databases, compared without rounding.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest power of ten, in either direction, that is still read as a number.
const MAX_EXPONENT: u64 = 1_000_000;

/// A decimal number of any length, remembered as it was written and compared by value.
///
/// `1`, `1.0` and `10e-1` are equal; `12345678901234567890.1` keeps every digit. There is no arithmetic here, only
/// comparison, so hostile exponents cost nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Number {
    /// The number as it was written.
    text: String,
    /// True when the value is below zero.
    negative: bool,
    /// The significant digits without leading or trailing zeros; empty for zero.
    digits: String,
    /// The value is `0.digits × 10^exponent`.
    exponent: i64,
}

impl Number {
    /// Reads decimal, `0x` and `0o` notation; `None` when `text` is not a finite number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let radix = [("0x", 16), ("0o", 8)].into_iter().find(|(prefix, _)| unsigned.starts_with(prefix));
        let unsigned = match radix {
            Some((prefix, radix)) => u128::from_str_radix(
                unsigned[prefix.len()..].strip_prefix('+').map_or(&unsigned[prefix.len()..], |_| ""),
                radix,
            )
            .ok()?
            .to_string(),
            None => unsigned.to_owned(),
        };
        let (digits, exponent) = normalise(&unsigned)?;
        let negative = negative && !digits.is_empty();
        Some(Self { text: text.to_owned(), negative, digits, exponent })
    }

    /// The number as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value as a signed integer, when it is one and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        let magnitude = self.magnitude()?;
        if self.negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
    }

    /// The value as an unsigned integer, when it is one and fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if self.negative { None } else { self.magnitude() }
    }

    /// The nearest floating point value; infinite when out of range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}0.{}e{}", if self.digits.is_empty() { "0" } else { &self.digits }, self.exponent)
            .parse()
            .unwrap_or(f64::NAN)
    }

    /// The value as JSON: an integer where it is one and fits, else a float, else its text.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        if let Some(integer) = self.as_i64() {
            return integer.into();
        }
        if let Some(integer) = self.as_u64() {
            return integer.into();
        }
        serde_json::Number::from_f64(self.as_f64()).map_or_else(|| self.text.clone().into(), Into::into)
    }

    fn magnitude(&self) -> Option<u64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let length = usize::try_from(self.exponent).ok()?;
        if length < self.digits.len() || length > 20 {
            return None;
        }
        format!("{:0<length$}", self.digits).parse().ok()
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

/// Splits an unsigned decimal into its significant digits and exponent.
fn normalise(unsigned: &str) -> Option<(String, i64)> {
    let (mantissa, power) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], unsigned[at + 1..].parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) || power.unsigned_abs() > MAX_EXPONENT {
        return None;
    }
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    let exponent = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()? + power;
    Some(if digits.is_empty() { (digits, 0) } else { (digits, exponent) })
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        number.text
    }
}

/// A text that should be a number, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number")]
pub struct NotANumber(pub String);

impl TryFrom<String> for Number {
    type Error = NotANumber;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(NotANumber(text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Number;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|| panic!("`{text}` should be a number"))
    }

    #[test]
    fn the_same_value_written_differently_is_equal() {
        for (left, right) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("0", "-0.000"),
            ("1.50", "1.5"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("1e3", "1000"),
            (".5", "0.5"),
            ("5.", "5"),
        ] {
            assert_eq!(number(left), number(right), "{left} and {right}");
        }
    }

    #[test]
    fn digits_beyond_a_float_still_count() {
        assert!(number("12345678901234567890.1") > number("12345678901234567890"));
        assert_ne!(number("0.1"), number("0.1000000000000000055511151231257827"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1_000",
            "0x",
            "0x+1",
            "0xg",
            "1e99999999999",
            "1e-9223372036854775808",
            "0.001e9223372036854775807",
            "nan",
            ".inf",
            "1.2.3",
            "--1",
            "1 ",
        ] {
            assert!(Number::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn integers_convert_exactly_or_not_at_all() {
        assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(number("18446744073709551616").as_u64(), None);
        assert_eq!(number("1.5").as_i64(), None);
        assert_eq!(number("-1").as_u64(), None);
        assert_eq!(number("1e2").as_i64(), Some(100));
    }

    proptest! {
        #[test]
        fn order_agrees_with_integers(left: i128, right: i128) {
            prop_assert_eq!(number(&left.to_string()).cmp(&number(&right.to_string())), left.cmp(&right));
        }

        #[test]
        fn any_text_is_a_number_or_refused(text in "\\PC{0,20}") {
            if let Some(parsed) = Number::parse(&text) {
                prop_assert_eq!(parsed.text(), text);
                let _ = (parsed.as_i64(), parsed.as_f64(), parsed.to_json());
            }
        }

        #[test]
        fn floats_keep_their_order(left in -1e15f64..1e15, right in -1e15f64..1e15) {
            prop_assert_eq!(Some(number(&left.to_string()).cmp(&number(&right.to_string()))), left.partial_cmp(&right));
        }
    }
}
