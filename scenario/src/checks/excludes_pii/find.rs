//! Personal data by its form.

use core::net::Ipv4Addr;
use std::sync::LazyLock;

use ::regex::Regex;

use super::PiiKind;

/// Personal data in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found<'a> {
    /// The kind of data.
    pub(super) kind: PiiKind,
    /// The value itself.
    pub(super) text: &'a str,
    /// Its start, in bytes.
    pub(super) start: usize,
}

/// Finds all values of one kind, in their order.
pub(super) fn find(kind: PiiKind, text: &str) -> impl Iterator<Item = Found<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let candidate = candidate_of(kind).find_at(text, from)?;
            let (start, next) = (candidate.start(), after_first(text, candidate.start()));
            match value_of(kind, text, candidate.range()) {
                Some(end) => {
                    from = end;
                    return Some(Found { kind, text: &text[start..end], start });
                }
                // What is no value may still overlap with one.
                None => from = next,
            }
        }
    })
}

fn after_first(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// The form that a value of this kind has.
fn candidate_of(kind: PiiKind) -> &'static Regex {
    static EMAIL: LazyLock<Regex> = LazyLock::new(|| form(r"[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}"));
    static PHONE: LazyLock<Regex> = LazyLock::new(|| {
        form(
            r"(?x) \+ \d (?: [\ .()/-]{0,2} \d ){7,14}
            | (?: \+? 1 [\ .-]? )? (?: \( [2-9]\d{2} \) \ ? | [2-9]\d{2} [\ .-]? ) [2-9]\d{2} [\ .-]? \d{4}",
        )
    });
    static SSN: LazyLock<Regex> = LazyLock::new(|| form(r"\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4}|\d{9}"));
    static CARD: LazyLock<Regex> = LazyLock::new(|| form(r"[2-6](?:[ -]?\d){12,18}"));
    static IPV4: LazyLock<Regex> = LazyLock::new(|| form(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"));
    match kind {
        PiiKind::Email => &EMAIL,
        PiiKind::Phone => &PHONE,
        PiiKind::Ssn => &SSN,
        PiiKind::Card => &CARD,
        PiiKind::Ipv4 => &IPV4,
    }
}

fn form(expression: &str) -> Regex {
    // `\d` is a digit of ASCII: others are in no such number.
    let expression = expression.replace(r"\d", "[0-9]");
    Regex::new(&expression).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Returns the end of the value that begins with this candidate; `None` when it is no value.
fn value_of(kind: PiiKind, text: &str, candidate: std::ops::Range<usize>) -> Option<usize> {
    let value = &text[candidate.clone()];
    let is_value = match kind {
        PiiKind::Email => return Some(candidate.end),
        PiiKind::Card => return card_end(text, candidate),
        PiiKind::Phone => true,
        PiiKind::Ssn => is_given_out(value),
        PiiKind::Ipv4 => value.parse::<Ipv4Addr>().is_ok(),
    };
    (is_value && begins_alone(text, candidate.start) && ends_alone(text, candidate.end)).then_some(candidate.end)
}

/// Returns true if no longer number or word ends where a value begins.
fn begins_alone(text: &str, start: usize) -> bool {
    let mut before = text[..start].chars().rev();
    match before.next() {
        Some('.' | '-' | '+') => !before.next().is_some_and(|character| character.is_ascii_digit()),
        Some(character) => !is_of_word(character),
        None => true,
    }
}

/// Returns true if no longer number or word goes on where a value ends.
fn ends_alone(text: &str, end: usize) -> bool {
    let mut after = text[end..].chars();
    match after.next() {
        Some('.' | '-') => !after.next().is_some_and(|character| character.is_ascii_digit()),
        Some(character) => !is_of_word(character),
        None => true,
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns true if a social security number is in an assigned range.
fn is_given_out(value: &str) -> bool {
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let (Some(area), Some(group), Some(serial)) = (digits.get(..3), digits.get(3..5), digits.get(5..)) else {
        return false;
    };
    !matches!(area, "000" | "666") && !area.starts_with('9') && group != "00" && serial != "0000"
}

/// Returns the end of a card number: after the longest run of digits whose check digit is right and after which no
/// digit follows.
fn card_end(text: &str, candidate: std::ops::Range<usize>) -> Option<usize> {
    if !begins_alone(text, candidate.start) {
        return None;
    }
    let value = text[candidate.clone()].as_bytes();
    let digit_at = |(at, byte): (usize, &u8)| byte.is_ascii_digit().then(|| (at, byte - b'0'));
    let digits: Vec<_> = value.iter().enumerate().filter_map(digit_at).collect();
    (13..=digits.len()).rev().find_map(|length| {
        let end = candidate.start + digits[length - 1].0 + 1;
        let goes_on = text[end..].chars().next().is_some_and(is_of_word);
        (!goes_on && has_check_digit(&digits[..length])).then_some(end)
    })
}

/// Returns true if the last digit is the check digit of the others (Luhn).
fn has_check_digit(digits: &[(usize, u8)]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, (_, digit))| match (index % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PiiKind;
    use super::find;

    fn check(kind: PiiKind, text: &str, expected: &[&str]) {
        let found: Vec<_> = find(kind, text).map(|found| found.text).collect();
        assert_eq!(found, expected, "{kind} in {text:?}");
    }

    #[test]
    fn addresses_of_mail() {
        check(PiiKind::Email, "a@b.example, <Ada.L+x@mail.co.uk>.", &["a@b.example", "Ada.L+x@mail.co.uk"]);
        check(PiiKind::Email, "jürgen@münchen.example", &["jürgen@münchen.example"]);
        check(PiiKind::Email, "a@b, @home, a @ b.example, user@localhost", &[]);
    }

    #[test]
    fn phone_numbers() {
        for number in
            ["(212) 555-0100", "212-555-0100", "212.555.0100", "2125550100", "+1 212 555 0100", "1-212-555-0100"]
        {
            check(PiiKind::Phone, &format!("call {number}, please"), &[number]);
        }
        for number in ["+49 30 901820", "+44 (20) 7946 0958", "+4930901820"] {
            check(PiiKind::Phone, number, &[number]);
        }
        check(
            PiiKind::Phone,
            "1731900000 112-555-0100 212-155-0100 x2125550100 21255501001 +49 30 2024-11-18",
            &["+49 30 2024-11-18"],
        );
    }

    #[test]
    fn social_security_numbers() {
        for number in ["123-45-6789", "123 45 6789", "123456789"] {
            check(PiiKind::Ssn, &format!("({number})"), &[number]);
        }
        for number in [
            "000-45-6789",
            "666-45-6789",
            "900-45-6789",
            "123-00-6789",
            "123-45-0000",
            "123-456789",
            "1234567890",
            "1-123-45-6789",
        ] {
            check(PiiKind::Ssn, number, &[]);
        }
    }

    #[test]
    fn cards_have_a_check_digit() {
        for number in
            ["4111111111111111", "4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "2223003122003222"]
        {
            check(PiiKind::Card, &format!("card {number}."), &[number]);
        }
        check(
            PiiKind::Card,
            "4111 1111 1111 1111 12/27 and 4111 1111 1111 1111 2027",
            &["4111 1111 1111 1111", "4111 1111 1111 1111"],
        );
        for number in
            ["4111111111111112", "1731900000000000", "411111111111", "44111111111111111111111111", "a4111111111111111"]
        {
            check(PiiKind::Card, number, &[]);
        }
    }

    #[test]
    fn addresses_of_machines() {
        check(
            PiiKind::Ipv4,
            "203.0.113.7, 10.0.0.1:80 and http://127.0.0.1/.",
            &["203.0.113.7", "10.0.0.1", "127.0.0.1"],
        );
        check(PiiKind::Ipv4, "256.1.1.1 1.2.3 1.2.3.4.5 01.2.3.4 v1.2.3.4", &[]);
        check(PiiKind::Ipv4, "It is 8.8.8.8.", &["8.8.8.8"]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(text in "([0-9 .@+-]|\\PC){0,80}") {
            for kind in PiiKind::ALL {
                for found in find(kind, &text) {
                    prop_assert_eq!(&text[found.start..found.start + found.text.len()], found.text);
                }
            }
        }

        #[test]
        fn one_wrong_digit_is_noticed(number in "[2-6][0-9]{14}", position in 1_usize..15, change in 1_u32..10) {
            let valid = (0..10).map(|digit| format!("{number}{digit}")).find(|card| find(PiiKind::Card, card).any(|found| found.text.len() == 16));
            let valid = valid.expect("one of ten digits is right");
            let mut wrong: Vec<char> = valid.chars().collect();
            let digit = wrong[position].to_digit(10).expect("a digit");
            wrong[position] = char::from_digit((digit + change) % 10, 10).expect("a digit");
            let wrong: String = wrong.into_iter().collect();
            prop_assert!(!find(PiiKind::Card, &wrong).any(|found| found.text == wrong));
        }
    }
}
