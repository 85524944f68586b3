//! Bytes that are text most of the time.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes; as JSON they are a string, or `{"base64": "…"}` when they are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

impl Blob {
    /// The bytes as text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&str> for Blob {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    base64: String,
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Encoded { base64: BASE64_STANDARD.encode(&self.0) }.serialize(serializer),
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

    use super::Blob;

    proptest! {
        #[test]
        fn any_bytes_survive_json(bytes: Vec<u8>) {
            let json = serde_json::to_string(&Blob(bytes.clone())).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Blob>(&json).expect("bytes"), Blob(bytes));
        }
    }
}
