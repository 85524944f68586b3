//! Canonical JSON (RFC 8785) and the hashes made of it.
//!
//! One deviation: integers beyond 2^53 keep all their digits, because two different calls must never share a hash.

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use yaml_tree::hex::hex;

use crate::value::Num;

/// The canonical text of a value: sorted keys, no blanks, one form for each number.
#[must_use]
pub fn canonical(value: &Json) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

/// `sha256:` and the SHA-256 of the canonical text.
#[must_use]
pub fn hash(value: &Json) -> String {
    hash_text(&canonical(value))
}

/// `sha256:` and the SHA-256 of a text.
#[must_use]
pub fn hash_text(text: &str) -> String {
    format!("sha256:{}", hex(Sha256::digest(text)))
}

/// The first 8 hex digits of the SHA-256 of the canonical text: the fingerprint of a finding.
#[must_use]
pub fn short_hash(value: &Json) -> String {
    hex(Sha256::digest(canonical(value)))[..8].to_owned()
}

fn write_value(value: &Json, text: &mut String) {
    match value {
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
            text.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                separate(place, text);
                write_string(key, text);
                text.push(':');
                write_value(value, text);
            }
            text.push('}');
        }
        Json::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(place, text);
                write_value(item, text);
            }
            text.push(']');
        }
        Json::String(string) => write_string(string, text),
        Json::Number(_) => match Num::of(value) {
            Some(Num::Int(int)) if value.is_i64() || value.is_u64() => text.push_str(&int.to_string()),
            number => text.push_str(&shortest(number.map_or(0.0, Num::as_f64))),
        },
        Json::Bool(_) | Json::Null => text.push_str(&value.to_string()),
    }
}

fn separate(place: usize, text: &mut String) {
    if place > 0 {
        text.push(',');
    }
}

fn write_string(string: &str, text: &mut String) {
    text.push_str(&Json::from(string).to_string());
}

/// A float as ECMAScript writes it: the shortest digits, without an exponent between 1e-7 and 1e21.
fn shortest(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let written = format!("{:e}", float.abs());
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let digits: String = mantissa.chars().filter(|sign| *sign != '.').collect();
    let point: i32 = exponent.parse::<i32>().unwrap_or(0) + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let at = |place: i32| usize::try_from(place).unwrap_or(0);
    let body = match point {
        _ if !(-5..=21).contains(&point) => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{}{}", if point > 0 { "+" } else { "-" }, (point - 1).abs())
        }
        _ if point >= count => format!("{digits}{}", "0".repeat(at(point - count))),
        _ if point > 0 => format!("{}.{}", &digits[..at(point)], &digits[at(point)..]),
        _ => format!("0.{}{digits}", "0".repeat(at(-point))),
    };
    if float < 0.0 { format!("-{body}") } else { body }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{canonical, hash, short_hash, shortest};

    #[test]
    fn keys_are_sorted_by_utf16_and_strings_escaped_the_one_way() {
        let value = json!({"b": [1.0, true, null], "a\u{1f}": "é\"\n", "\u{e000}": 1, "\u{1f600}": 2});
        assert_eq!(canonical(&value), "{\"a\\u001f\":\"é\\\"\\n\",\"b\":[1,true,null],\"\u{1f600}\":2,\"\u{e000}\":1}");
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (123.456, "123.456"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (4.5, "4.5"),
            (2e-3, "0.002"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(shortest(number), text);
        }
    }

    #[test]
    fn what_means_the_same_has_the_same_hash() {
        assert_eq!(hash(&json!({"a": 1, "b": 2.0})), hash(&json!({"b": 2, "a": 1.0})));
        assert_ne!(hash(&json!(9_007_199_254_740_993_i64)), hash(&json!(9_007_199_254_740_992_i64)));
        assert_eq!(hash(&json!({})), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(short_hash(&json!({})), "44136fa3");
    }
}
