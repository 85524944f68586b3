//! The fields of a request's body, read as widely as servers do: a body that cannot be read must not prove that a field
//! is absent.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use super::Undecided;
use crate::evidence::{Exchange, SecretForm, decoded, decoded_json};

/// The top-level fields of a form, a JSON object, or the JSON objects of a list. A name may stand several times.
///
/// A body that says or looks like JSON and cannot be read is undecided, and so is a multipart body; a text that is not
/// JSON has no fields.
pub(super) fn fields(exchange: &Exchange) -> Result<Vec<(String, Json)>, Undecided> {
    let Some(body) = exchange.whole_body() else {
        return Err(Undecided::Dropped(
            "the body of a request was not kept whole, so the filters cannot be applied to it".to_owned(),
        ));
    };
    let types = media_types(exchange);
    let is = |word: &str| types.iter().any(|media_type| media_type.contains(word));
    let unreadable = |what: &str| {
        Undecided::Unreadable(format!("the body of a request {what}, so the filters cannot be applied to it"))
    };
    if is("multipart/") {
        return Err(unreadable("has several parts"));
    }
    let mut found = Vec::new();
    if is("x-www-form-urlencoded") {
        let plain = |text: &str| decoded(text, &[SecretForm::Url, SecretForm::Form]).into_owned();
        let pairs = form_urlencoded::parse(&body.0).map(|(key, value)| (key.into_owned(), Json::String(plain(&value))));
        found.extend(pairs);
    }
    let content = trimmed(&body.0);
    match objects(content) {
        Ok(mut pairs) => {
            pairs.iter_mut().for_each(|(_, value)| decoded_json(value));
            found.extend(pairs);
        }
        Err(()) if is("json") && !content.is_empty() => {
            return Err(unreadable("says that it is JSON and cannot be read"));
        }
        Err(())
            if types.is_empty() && (content.starts_with(b"{") || content.starts_with(b"[") || !is_text(content)) =>
        {
            return Err(unreadable("does not say what it is and cannot be read"));
        }
        Err(()) => {}
    }
    Ok(found)
}

/// Every media type that the request states, in lower case and without parameters.
fn media_types(exchange: &Exchange) -> Vec<String> {
    let headers = exchange.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let types = headers
        .flat_map(|(_, value)| value.split(','))
        .map(|value| value.split(';').next().unwrap_or_default().trim().to_lowercase());
    types.filter(|media_type| !media_type.is_empty()).collect()
}

/// A body without the byte order marks and blanks in front of it, which lenient readers pass over.
pub(super) fn trimmed(body: &[u8]) -> &[u8] {
    let mut rest = body.trim_ascii();
    while let Some(more) = rest.strip_prefix("\u{feff}".as_bytes()) {
        rest = more.trim_ascii();
    }
    rest
}

fn is_text(content: &[u8]) -> bool {
    std::str::from_utf8(content)
        .is_ok_and(|text| !text.contains(|character: char| character.is_control() && !character.is_whitespace()))
}

/// The fields of a JSON object, or of the objects in a JSON list.
fn objects(content: &[u8]) -> Result<Vec<(String, Json)>, ()> {
    if content.starts_with(b"[") {
        let items: Vec<Json> = serde_json::from_slice(content).map_err(drop)?;
        let fields =
            items.into_iter().filter_map(|item| if let Json::Object(fields) = item { Some(fields) } else { None });
        return Ok(fields.flatten().collect());
    }
    serde_json::from_slice(content).map(|Fields(fields)| fields).map_err(drop)
}

/// Counts the occurrences of a name at the top level of a JSON object.
pub(super) fn occurrences(content: &[u8], name: &str) -> usize {
    serde_json::from_slice(content).map_or(0, |Fields(fields)| fields.iter().filter(|(key, _)| key == name).count())
}

/// The fields of a JSON object, with every value of a name that stands twice: different servers read different ones.
struct Fields(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
