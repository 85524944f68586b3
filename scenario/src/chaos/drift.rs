//! Answers of models that another version would have given.

use serde_json::{Map, Value as Json, json};

use crate::spec::sections::{ArgumentDamage, Direction, DriftType};

/// Keys of JSON answers that other versions of models name differently.
const RENAMED: [(&str, &str); 5] = [
    ("action", "tool_name"),
    ("tool_name", "action"),
    ("name", "name_v2"),
    ("type", "type_v2"),
    ("output", "output_v2"),
];

/// A text as another version of the model would write it.
#[must_use]
pub fn drifted(text: &str, drift: DriftType, direction: Direction) -> String {
    match drift {
        DriftType::JsonFieldRename => {
            object(text).map_or_else(|| text.to_owned(), |object| renamed(object).to_string())
        }
        DriftType::FormatChange => object(text).map_or_else(|| text.to_owned(), |object| prose(&object)),
        DriftType::VerbosityShift => resized(text, direction),
        DriftType::RefusalRephrase => format!("I'm not able to help with every part of that. {text}"),
        DriftType::ToneShift => format!("Sure thing! {} Hope that helps!", text.trim_end_matches('.')),
    }
}

fn object(text: &str) -> Option<Map<String, Json>> {
    match serde_json::from_str(text) {
        Ok(Json::Object(object)) => Some(object),
        _ => None,
    }
}

/// The object with its first known key renamed, or its first key when it has none of them.
fn renamed(object: Map<String, Json>) -> Json {
    let known = |key: &str| RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| (*new).to_owned());
    let chosen = object.keys().take(5).find(|key| known(key).is_some()).or_else(|| object.keys().next()).cloned();
    let rename = |key: String| match &chosen {
        Some(old) if *old == key => known(old).unwrap_or_else(|| format!("{old}_v2")),
        _ => key,
    };
    object.into_iter().map(|(key, value)| (rename(key), value)).collect()
}

fn prose(object: &Map<String, Json>) -> String {
    let word = |value: &Json| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let lines: Vec<_> = object.iter().take(10).map(|(key, value)| format!("{key}: {}", word(value))).collect();
    lines.join("\n")
}

fn resized(text: &str, direction: Direction) -> String {
    match direction {
        Direction::Expand => format!("{text} {text}"),
        Direction::Compress => {
            let words: Vec<_> = text.split_whitespace().collect();
            words[..words.len().div_ceil(2)].join(" ")
        }
    }
}

/// Arguments of a tool that are broken, as the text that stands in the answer.
#[must_use]
pub fn broken_arguments(arguments: &Json, damage: ArgumentDamage) -> String {
    match damage {
        ArgumentDamage::Truncate => {
            let text = arguments.to_string();
            let half = text.len() / 2;
            let end = (0..=half).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text[..end].to_owned()
        }
        ArgumentDamage::Garble => garbled(arguments).to_string(),
        ArgumentDamage::RenameKeys => match arguments {
            Json::Object(object) => {
                let renamed: Map<_, _> =
                    object.iter().map(|(key, value)| (format!("{key}_v2"), value.clone())).collect();
                Json::Object(renamed).to_string()
            }
            other => other.to_string(),
        },
        ArgumentDamage::Strip => json!({}).to_string(),
    }
}

/// The same document with every text backwards.
fn garbled(value: &Json) -> Json {
    match value {
        Json::String(text) => text.chars().rev().collect::<String>().into(),
        Json::Array(list) => list.iter().map(garbled).collect(),
        Json::Object(object) => object.iter().map(|(key, value)| (key.clone(), garbled(value))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{broken_arguments, drifted};
    use crate::spec::sections::{ArgumentDamage, Direction, DriftType};

    fn drift(text: &str, kind: DriftType) -> String {
        drifted(text, kind, Direction::Expand)
    }

    #[test]
    fn every_drift_changes_what_it_is_about() {
        assert_eq!(drift(r#"{"x": 1, "action": "buy"}"#, DriftType::JsonFieldRename), r#"{"x":1,"tool_name":"buy"}"#);
        assert_eq!(drift(r#"{"total": 1}"#, DriftType::JsonFieldRename), r#"{"total_v2":1}"#);
        assert_eq!(drift(r#"{"a": 1, "b": "x"}"#, DriftType::FormatChange), "a: 1\nb: x");
        assert_eq!(drift("no JSON", DriftType::FormatChange), "no JSON");
        assert_eq!(drift("one two", DriftType::VerbosityShift), "one two one two");
        assert_eq!(drifted("one two three", DriftType::VerbosityShift, Direction::Compress), "one two");
        assert!(drift("Done.", DriftType::RefusalRephrase).ends_with("Done."));
        assert_eq!(drift("Done.", DriftType::ToneShift), "Sure thing! Done Hope that helps!");
    }

    #[test]
    fn arguments_are_broken_in_four_ways() {
        let arguments = json!({"id": "12", "list": ["ab"]});
        let broken = |damage| broken_arguments(&arguments, damage);
        assert_eq!(broken(ArgumentDamage::Truncate), r#"{"id":"12",""#);
        assert_eq!(broken(ArgumentDamage::Garble), r#"{"id":"21","list":["ba"]}"#);
        assert_eq!(broken(ArgumentDamage::RenameKeys), r#"{"id_v2":"12","list_v2":["ab"]}"#);
        assert_eq!(broken(ArgumentDamage::Strip), "{}");
    }
}
