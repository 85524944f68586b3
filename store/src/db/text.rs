//! Texts in Postgres, which has no place for U+0000. Agents write it, so it is escaped on the way in and comes back.

use sqlx::{Decode, Postgres, Type};

/// The beginning of an escape: no character, but reserved for uses like this one.
const ESCAPE: char = '\u{fdd0}';
/// Follows the escape in place of U+0000.
const NUL: char = '0';
/// Follows the escape in place of the escape itself.
const SELF: char = 'e';

/// Makes a text such that Postgres keeps it.
pub(super) fn escape(text: &mut String) {
    if !text.contains(['\0', ESCAPE]) {
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\0' => escaped.extend([ESCAPE, NUL]),
            ESCAPE => escaped.extend([ESCAPE, SELF]),
            other => escaped.push(other),
        }
    }
    *text = escaped;
}

/// A text as it was before.
fn unescape(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        unescaped.push(match character {
            ESCAPE if characters.next() == Some(NUL) => '\0',
            other => other,
        });
    }
    unescaped
}

/// The value of a column.
pub(crate) trait Column: for<'r> Decode<'r, Postgres> + Type<Postgres> {
    /// The value as it was written.
    fn unescaped(self) -> Self;
}

impl Column for String {
    fn unescaped(self) -> Self {
        unescape(self)
    }
}

impl Column for Option<String> {
    fn unescaped(self) -> Self {
        self.map(unescape)
    }
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(
            impl Column for $type {
                fn unescaped(self) -> Self {
                    self
                }
            }

            impl Column for Option<$type> {
                fn unescaped(self) -> Self {
                    self
                }
            }
        )+
    };
}

plain!(bool, i64, f64, Vec<u8>);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escape, unescape};

    fn check(text: &str) {
        let mut escaped = text.to_owned();
        escape(&mut escaped);
        assert!(!escaped.contains('\0'), "{text:?} became {escaped:?}");
        assert_eq!(unescape(escaped), text);
    }

    #[test]
    fn texts_come_back() {
        for text in ["", "plain", "\0", "a\0b\0", "\u{fdd0}", "\u{fdd0}0\0e", "\u{fdd0}\u{fdd0}\0"] {
            check(text);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[a0e\u{0}\u{fdd0}é😀]{0,20}") {
            check(&text);
        }
    }
}
