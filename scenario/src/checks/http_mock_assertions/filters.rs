//! Which requests count.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::checks::compare::equal;
use crate::evidence::{Datum, Exchange, Overflow};
use crate::spec::template::Bindings;
use crate::spec::types::{Glob, HeaderName, Table, Value};

/// What a request must be to count.
#[derive(Debug, Default)]
pub(super) struct Filters {
    method: Option<Value>,
    path: Option<Glob>,
    query: Vec<(String, Value)>,
    headers: Vec<(String, Value)>,
    /// Names that are a header or a top-level field of the body.
    others: Vec<(String, Value)>,
}

impl Filters {
    /// Reads the filters of an assertion; the key and what is wrong with it.
    pub(super) fn new(
        table: &Table<HeaderName, Value>,
        bindings: Option<&dyn Bindings>,
    ) -> Result<Self, (String, String)> {
        let mut filters = Self::default();
        for (key, value) in table.iter() {
            let value = bindings.map_or_else(|| value.clone(), |bindings| value.render(bindings));
            let wrong = |problem: String| (key.to_string(), problem);
            match key.as_str() {
                "method" => {
                    filters.method = Some(Value::from_json(scalar(&value).map_err(wrong)?.to_uppercase().into()))
                }
                "path" => filters.path = Some(Glob::new(&path(&scalar(&value).map_err(wrong)?)).map_err(wrong)?),
                "query" => filters.query = pairs(&value).map_err(wrong)?,
                "headers" => filters.headers = pairs(&value).map_err(wrong)?,
                _ => filters.others.push((key.to_string(), value)),
            }
        }
        Ok(filters)
    }

    /// Whether the request counts; `Err` when that hangs on a body that was not kept.
    pub(super) fn admit(&self, exchange: &Exchange) -> Result<bool, String> {
        let text = |text: &str| Datum::Text(text.to_owned());
        let method = self.method.as_ref().is_none_or(|method| equal(method, &text(&exchange.method.to_uppercase())));
        let path = self.path.as_ref().is_none_or(|path| path.matches(&exchange.path));
        let query = self
            .query
            .iter()
            .all(|(name, value)| exchange.query.iter().any(|(key, given)| key == name && equal(value, &text(given))));
        let headers = self.headers.iter().all(|(name, value)| has_header(exchange, name, value));
        if !(method && path && query && headers) {
            return Ok(false);
        }
        for (name, value) in &self.others {
            if !has_header(exchange, name, value) && !has_field(exchange, name, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many of the requests that were only counted would count; `Err` when that cannot be known.
    pub(super) fn count(&self, overflow: &Overflow) -> Result<u64, String> {
        let by_method =
            |method: &str| self.method.as_ref().is_none_or(|wanted| equal(wanted, &Datum::Text(method.to_uppercase())));
        let unknown = || {
            format!("{} requests were counted but not kept, so the filters cannot be applied to them", overflow.total())
        };
        if !self.query.is_empty() || !self.headers.is_empty() || !self.others.is_empty() {
            return Err(unknown());
        }
        let mut total: u64 = 0;
        for counted in overflow.counts.iter().filter(|counted| by_method(&counted.method)) {
            let admitted = match (&self.path, &counted.path) {
                (None, _) => true,
                (Some(wanted), Some(path)) => wanted.matches(path),
                (Some(_), None) => return Err(unknown()),
            };
            total = total.saturating_add(if admitted { counted.count } else { 0 });
        }
        Ok(total)
    }
}

fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text.as_literal().unwrap_or(text.source()).to_owned()),
        _ => Err("expected a text".to_owned()),
    }
}

/// A path as a glob: literal unless it has a `*`, because `?`, `[` and `{` may stand in real paths.
fn path(path: &str) -> String {
    if path.contains('*') {
        return path.to_owned();
    }
    path.chars()
        .flat_map(|character| {
            if matches!(character, '?' | '[' | ']' | '{' | '}' | '\\') {
                vec!['\\', character]
            } else {
                vec![character]
            }
        })
        .collect()
}

fn pairs(value: &Value) -> Result<Vec<(String, Value)>, String> {
    match value {
        Value::Map(entries) => Ok(entries.clone()),
        _ => Err("expected a map of names to values".to_owned()),
    }
}

fn has_header(exchange: &Exchange, name: &str, value: &Value) -> bool {
    exchange
        .headers
        .iter()
        .any(|(header, given)| header.eq_ignore_ascii_case(name) && equal(value, &Datum::Text(given.clone())))
}

/// Whether a top-level field of a JSON or form body has the value.
fn has_field(exchange: &Exchange, name: &str, value: &Value) -> Result<bool, String> {
    let Some(body) = exchange.whole_body() else {
        return Err("the body of a request was not kept whole, so the filters cannot be applied to it".to_owned());
    };
    let body = body.0.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body.0).trim_ascii();
    let media_type = exchange
        .header("content-type")
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    if body.starts_with(b"{") {
        let fields: Fields = serde_json::from_slice(body).map_err(|_| {
            "the body of a request begins like JSON and cannot be read, so the filters cannot be applied to it"
                .to_owned()
        })?;
        return Ok(fields.0.iter().any(|(key, field)| key == name && is_or_has(field, value)));
    }
    let form = media_type == "application/x-www-form-urlencoded";
    Ok(form
        && form_urlencoded::parse(body)
            .any(|(key, given)| key == name && equal(value, &Datum::Text(given.into_owned()))))
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

fn is_or_has(field: &Json, value: &Value) -> bool {
    let one = |json: &Json| equal(value, &Datum::from_json(json));
    one(field) || field.as_array().is_some_and(|items| items.iter().any(one))
}
