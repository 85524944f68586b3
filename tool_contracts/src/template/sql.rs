//! Values in statements of SQL, for every dialect at once: what dialects read differently is refused.

use serde_json::Value as Json;

use super::{InvalidTemplate, Part, ValuePlace};

/// A quote that the text before a value has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    String,
    /// An identifier, or a string of MySQL: dialects differ.
    Other(char),
}

/// Sets the form in which each value is written in its place.
pub(super) fn place_values(parts: &mut [Part]) -> Result<(), InvalidTemplate> {
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return Ok(());
    }
    let mut open = Open::Nothing;
    for index in 0..parts.len() {
        let (before, rest) = parts.split_at_mut(index);
        let Some((part, after)) = rest.split_first_mut() else { continue };
        match part {
            Part::Text(text) => open = scan(text, open)?,
            Part::Value { place, .. } => *place = place_of(open, before.last(), after.first())?,
        }
    }
    match open {
        Open::Nothing => Ok(()),
        Open::String | Open::Other(_) => Err(InvalidTemplate::Sql("a quote is not closed")),
    }
}

fn place_of(open: Open, before: Option<&Part>, after: Option<&Part>) -> Result<ValuePlace, InvalidTemplate> {
    match open {
        Open::String => Ok(ValuePlace::Plain),
        Open::Other(_) => Err(InvalidTemplate::Sql("a value stands in '…' or outside of quotes, not in other quotes")),
        Open::Nothing if is_free(before, false) && is_free(after, true) => Ok(ValuePlace::Literal),
        Open::Nothing => Err(InvalidTemplate::Sql("a value outside of quotes stands alone, between blanks or signs")),
    }
}

/// True when the neighbour of a value cannot become one word with it.
fn is_free(neighbour: Option<&Part>, is_after: bool) -> bool {
    match neighbour {
        None => true,
        Some(Part::Value { .. }) => false,
        Some(Part::Text(text)) => {
            let sign = if is_after { text.chars().next() } else { text.chars().next_back() };
            sign.map_or(is_after, |sign| !sign.is_alphanumeric() && !matches!(sign, '_' | '\'' | '"' | '`'))
        }
    }
}

/// Finds what is open after a text. Comments, dollar quotes and backslashes are refused: dialects read them differently.
fn scan(text: &str, mut open: Open) -> Result<Open, InvalidTemplate> {
    let mut before = ' ';
    for sign in text.chars() {
        let is_comment = matches!((before, sign), ('-', '-') | ('/', '*') | (_, '#'));
        open = match (open, sign) {
            (_, '\\') => return Err(InvalidTemplate::Sql("a statement with values has no backslash")),
            (Open::Nothing, '$') => {
                return Err(InvalidTemplate::Sql("a statement with values has no `$` outside of quotes"));
            }
            (Open::Nothing, _) if is_comment => {
                return Err(InvalidTemplate::Sql(
                    "a statement with values has no comments and no `#` outside of quotes",
                ));
            }
            (Open::Nothing, '\'') => Open::String,
            (Open::Nothing, '"' | '`') => Open::Other(sign),
            (Open::String, '\'') => Open::Nothing,
            (Open::Other(quote), _) if quote == sign => Open::Nothing,
            (open, _) => open,
        };
        before = sign;
    }
    Ok(open)
}

/// True when a text means itself between single quotes in every dialect, once its quotes are doubled.
pub(super) fn is_safe(text: &str) -> bool {
    !text.chars().any(|sign| sign.is_control() || sign == '\\')
}

/// A value as its place asks.
pub(super) fn write(text: &str, value: &Json, place: ValuePlace) -> String {
    match (place, value) {
        (ValuePlace::Plain, _) => text.replace('\'', "''"),
        (ValuePlace::Literal, Json::String(_)) => format!("'{}'", text.replace('\'', "''")),
        // Two minus signs would begin a comment.
        (ValuePlace::Literal, _) if text.starts_with('-') => format!("({text})"),
        (ValuePlace::Literal, _) => text.to_owned(),
    }
}
