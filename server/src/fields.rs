//! Small values that requests bring, and what they may be.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use scenario::spec::types::Timespan;
use scenario::untrusted;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;

/// The length limit of a name for people in characters.
const NAME: usize = 200;
/// The length limit of a word in URLs in characters.
const WORD: usize = 64;

/// A length of time: `"10m"`, or a number of seconds.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Length {
    /// Seconds.
    Seconds(f64),
    /// As Go writes it.
    #[schema(example = "10m")]
    Text(String),
}

impl Length {
    /// The time; `what` is the field.
    pub(crate) fn read(&self, what: &str) -> Result<Duration, ApiError> {
        let read = match self {
            Self::Seconds(seconds) => Duration::try_from_secs_f64(*seconds).ok(),
            Self::Text(text) => Timespan::parse(text.trim()).map(Timespan::get),
        };
        read.ok_or_else(|| {
            ApiError::invalid(format!("`{what}` is no duration: write `\"30s\"`, `\"10m\"`, or a number of seconds"))
        })
    }
}

/// A name for people, without what cannot be seen around it.
pub(crate) fn name(text: &str, what: &str) -> Result<String, ApiError> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err(ApiError::invalid(format!("`{what}` is empty"))),
        1..=NAME if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        1..=NAME => Err(ApiError::invalid(format!("`{what}` has control characters"))),
        _ => Err(ApiError::invalid(format!("`{what}` has more than {NAME} characters"))),
    }
}

/// A text of at most so many characters.
pub(crate) fn text(text: String, what: &str, most: usize) -> Result<String, ApiError> {
    match text.chars().nth(most) {
        None => Ok(text),
        Some(_) => Err(ApiError::invalid(format!("`{what}` has more than {most} characters"))),
    }
}

/// A word that clients put into URLs as it is.
pub(crate) fn word(text: &str, what: &str) -> Result<(), ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_word = (1..=WORD).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with('.');
    if is_word {
        return Ok(());
    }
    let shown = untrusted::line(text, 100);
    Err(ApiError::invalid(format!(
        "`{what}` is `{shown}`: it must have 1 to {WORD} letters, digits, `.`, `_` and `-`, and no `.` at its beginning"
    )))
}

/// Since when: a time of RFC 3339, a date, or how long ago (`24h`, `7d`). Clients send `+` as it is, which then is a
/// space.
pub(crate) fn since(text: &str, now: Timestamp) -> Result<Timestamp, ApiError> {
    let text = text.trim();
    let ago = || {
        let seconds = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];
        let long = seconds.into_iter().find_map(|(unit, seconds)| {
            Some(Duration::from_secs(text.strip_suffix(unit)?.parse::<u32>().map(u64::from).ok()? * seconds))
        });
        let ago = long.or_else(|| Timespan::parse(text).map(Timespan::get))?;
        now.checked_sub(SignedDuration::try_from(ago).ok()?).ok()
    };
    let moment = || {
        let with_plus = match text.rfind(' ') {
            Some(space) if text.contains(['T', 't']) => format!("{}+{}", &text[..space], &text[space + 1..]),
            _ => text.to_owned(),
        };
        with_plus.parse::<Timestamp>().ok().or_else(|| format!("{with_plus}Z").parse().ok())
    };
    let date = || format!("{text}T00:00:00Z").parse::<Timestamp>().ok();
    moment().or_else(date).or_else(ago).ok_or_else(|| {
        let shown = untrusted::line(text, 100);
        ApiError::invalid(format!(
            "`since` is `{shown}`: write a time such as `2026-01-31T12:00:00Z`, or how long ago, such as `24h` or `7d`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Length, name, since, word};

    #[test]
    fn a_length_is_a_text_or_seconds() {
        for (json, expected) in [
            ("\"10m\"", Some(600_000)),
            ("\" 1.5s \"", Some(1500)),
            ("30", Some(30_000)),
            ("0.25", Some(250)),
            ("-1", None),
            ("\"soon\"", None),
            ("1e300", None),
        ] {
            let length: Length = serde_json::from_str(json).unwrap();
            assert_eq!(length.read("timeout").ok(), expected.map(Duration::from_millis), "{json}");
        }
        assert!(serde_json::from_str::<Length>("true").is_err());
    }

    #[test]
    fn since_is_read_as_clients_send_it() {
        let now = "2026-03-02T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("24h", Some("2026-03-01T12:00:00Z")),
            ("720h", Some("2026-01-31T12:00:00Z")),
            ("1h30m", Some("2026-03-02T10:30:00Z")),
            ("7d", Some("2026-02-23T12:00:00Z")),
            ("2026-03-01T00:00:00Z", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T02:00:00+02:00", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T02:00:00 02:00", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T02:00:00.5", Some("2026-03-01T02:00:00.5Z")),
            ("2026-03-01 02:00:00Z", Some("2026-03-01T02:00:00Z")),
            ("2026-03-01", Some("2026-03-01T00:00:00Z")),
            ("yesterday", None),
            ("", None),
            ("99999999999d", None),
        ] {
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(since(text, now).ok(), expected, "{text}");
        }
    }

    #[test]
    fn names_and_words_are_bounded() {
        assert_eq!(name(" a b ", "name").ok().as_deref(), Some("a b"));
        for wrong in ["", "  ", "a\nb", &"x".repeat(201)] {
            assert!(name(wrong, "name").is_err(), "{wrong:?}");
        }
        assert!(word("codex-2.1_x", "name").is_ok());
        for wrong in ["", ".hidden", "..", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert!(word(wrong, "name").is_err(), "{wrong:?}");
        }
    }
}
