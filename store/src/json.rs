//! Documents as they are kept: JSON as text.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// A document as it is kept.
pub(crate) fn text(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::damaged)
}

/// A document that was kept.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // What was written holds documents of others, which were read within the usual depth and stand some levels deeper here.
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(StoreError::damaged)?;
    reader.end().map_err(StoreError::damaged)?;
    Ok(value)
}
