//! One observed value: a database's answer, or a field of a request.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::number::Number;

/// One observed value, with as much of its type as matters for comparing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type", content = "value")]
pub enum Datum {
    /// SQL's NULL, or JSON's.
    Null,
    /// A boolean, where the source has that type.
    Bool(bool),
    /// A number with every digit that the source gave.
    Number(Number),
    /// Anything else, as the source writes it: texts, timestamps, intervals, uuids.
    Text(String),
    /// A JSON list or object.
    Json(Json),
}

impl Datum {
    /// A JSON value as a datum.
    #[must_use]
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => {
                Number::parse(&number.to_string()).map_or_else(|| Self::Text(number.to_string()), Self::Number)
            }
            Json::String(text) => Self::Text(text.clone()),
            Json::Array(_) | Json::Object(_) => Self::Json(json.clone()),
        }
    }

    /// The value as text; empty for null.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => number.text().to_owned(),
            Self::Text(text) => text.clone(),
            Self::Json(json) => json.to_string(),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 200;
        let shown: String = match self {
            Self::Null => return formatter.write_str("NULL"),
            Self::Text(text) => format!("{:?}", text.chars().take(MOST).collect::<String>()),
            other => other.text().chars().take(MOST).collect(),
        };
        let cut = if self.text().chars().count() > MOST { "…" } else { "" };
        write!(formatter, "{shown}{cut}")
    }
}
