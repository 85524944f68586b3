//! Bytes that are text most of the time.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes; as JSON they are a string, or `{"base64": "…"}` when they are not UTF-8 or mostly control characters, of which a
/// string would take six bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

impl Blob {
    /// The bytes as text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Returns its size as JSON in bytes. Storage is limited by this, not by the original size.
    #[must_use]
    pub fn stored_len(&self) -> usize {
        match self.as_string() {
            Some(text) => stored_len(text),
            None => base64::encoded_len(self.0.len(), true).unwrap_or(usize::MAX),
        }
    }

    /// The text, when it is stored as one.
    fn as_string(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.0).ok()?;
        (stored_len(text) <= text.len().saturating_mul(2)).then_some(text)
    }
}

impl From<&str> for Blob {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Returns the size of a text inside a JSON string, in bytes.
#[must_use]
pub fn stored_len(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    base64: String,
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_string() {
            Some(text) => serializer.serialize_str(text),
            None => Encoded { base64: BASE64_STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text.into_bytes())),
            other => {
                let encoded: Encoded = serde_json::from_value(other).map_err(D::Error::custom)?;
                BASE64_STANDARD.decode(encoded.base64).map(Self).map_err(D::Error::custom)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Blob, stored_len};

    #[test]
    fn nothing_takes_more_than_twice_its_size() {
        let check = |bytes: &[u8], begins: &str| {
            let blob = Blob(bytes.repeat(1000));
            let json = serde_json::to_string(&blob).expect("JSON");
            assert!(json.starts_with(begins) && json.len() <= 2 * blob.0.len() + 20, "{} {json:.40}", json.len());
            assert!(json.len().abs_diff(blob.stored_len()) <= 20, "{} {}", json.len(), blob.stored_len());
        };
        check(b"\x01", "{\"base64\"");
        check(b"\x00\x1f", "{\"base64\"");
        check(b"\xff", "{\"base64\"");
        check(b"\"\\\n", "\"");
        check(b"\x1b[31mred\x1b[0m", "\"");
        check("é".as_bytes(), "\"");
    }

    proptest! {
        #[test]
        fn what_a_text_takes_is_known(text in "\\PC*|[\u{0}-\u{7f}]*") {
            prop_assert_eq!(stored_len(&text) + 2, serde_json::to_string(&text).expect("JSON").len());
        }

        #[test]
        fn any_bytes_survive_json(bytes: Vec<u8>) {
            let json = serde_json::to_string(&Blob(bytes.clone())).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Blob>(&json).expect("bytes"), Blob(bytes));
        }
    }
}
