//! Filters of the requests that count.

use serde_json::Value as Json;

use super::{Undecided, body};
use crate::checks::compare::equal;
use crate::evidence::{Datum, Exchange, Overflow};
use crate::spec::template::Bindings;
use crate::spec::types::{Glob, GlobError, HeaderName, Table, Value};

/// The conditions under which a request counts.
#[derive(Debug, Default)]
pub(super) struct Filters {
    method: Option<Value>,
    path: Option<Glob>,
    query: Vec<(String, Value)>,
    headers: Vec<(String, Value)>,
    /// Names that are a header or a top-level field of the body.
    others: Vec<(String, Value)>,
}

/// A filter that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct FilterError {
    /// The name of the filter.
    pub(super) key: String,
    /// The problem with its value.
    #[source]
    reason: InvalidFilter,
}

/// The reason why a filter cannot be used.
#[derive(Debug, thiserror::Error)]
enum InvalidFilter {
    #[error("expected a text")]
    NoText,
    #[error("expected a map of names to values")]
    NoMap,
    #[error(transparent)]
    Path(#[from] GlobError),
}

impl Filters {
    /// Reads the filters of an assertion.
    pub(super) fn new(table: &Table<HeaderName, Value>, bindings: Option<&dyn Bindings>) -> Result<Self, FilterError> {
        let mut filters = Self::default();
        for (key, value) in table.iter() {
            let value = bindings.map_or_else(|| value.clone(), |bindings| value.render(bindings));
            let wrong = |reason| FilterError { key: key.to_string(), reason };
            match key.as_str() {
                "method" => {
                    filters.method = Some(Value::from_json(scalar(&value).map_err(wrong)?.to_uppercase().into()))
                }
                "path" => filters.path = Some(path(&value).map_err(wrong)?),
                "query" => filters.query = pairs(&value).map_err(wrong)?,
                "headers" => filters.headers = pairs(&value).map_err(wrong)?,
                _ => filters.others.push((key.to_string(), value)),
            }
        }
        Ok(filters)
    }

    /// Returns true if the request counts; `Err` when that depends on a body that cannot be read.
    pub(super) fn admit(&self, exchange: &Exchange) -> Result<bool, Undecided> {
        let text = |text: &str| Datum::Text(text.to_owned());
        let method = self.method.as_ref().is_none_or(|method| equal(method, &text(&exchange.method.to_uppercase())));
        let path = self.path.as_ref().is_none_or(|path| path.matches(&exchange.plain_path()));
        let query = self
            .query
            .iter()
            .all(|(name, value)| exchange.query.iter().any(|(key, given)| key == name && equal(value, &text(given))));
        let headers = self.headers.iter().all(|(name, value)| has_header(exchange, name, value));
        if !(method && path && query && headers) {
            return Ok(false);
        }
        let in_header = |(name, value): &&(String, Value)| has_header(exchange, name, value);
        let in_body: Vec<_> = self.others.iter().filter(|other| !in_header(other)).collect();
        if in_body.is_empty() {
            return Ok(true);
        }
        let fields = body::fields(exchange)?;
        Ok(in_body.iter().all(|(name, value)| fields.iter().any(|(key, field)| key == name && is_or_has(field, value))))
    }

    /// Counts the matches among the requests that were counted but not kept; `Err` when that is unknown.
    pub(super) fn count(&self, overflow: &Overflow) -> Result<u64, Undecided> {
        let by_method =
            |method: &str| self.method.as_ref().is_none_or(|wanted| equal(wanted, &Datum::Text(method.to_uppercase())));
        let unknown = || {
            Undecided::Dropped(format!(
                "{} requests were counted but not kept, so the filters cannot be applied to them",
                overflow.total()
            ))
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

fn scalar(value: &Value) -> Result<String, InvalidFilter> {
    match value {
        Value::Text(text) => Ok(text.as_literal().unwrap_or(text.source()).to_owned()),
        _ => Err(InvalidFilter::NoText),
    }
}

fn path(value: &Value) -> Result<Glob, InvalidFilter> {
    Ok(Glob::new(&as_glob(&scalar(value)?))?)
}

/// A path as a glob: literal unless it has a `*`, because `?`, `[` and `{` may stand in real paths.
fn as_glob(path: &str) -> String {
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

fn pairs(value: &Value) -> Result<Vec<(String, Value)>, InvalidFilter> {
    match value {
        Value::Map(entries) => Ok(entries.clone()),
        _ => Err(InvalidFilter::NoMap),
    }
}

fn has_header(exchange: &Exchange, name: &str, value: &Value) -> bool {
    exchange
        .headers
        .iter()
        .any(|(header, given)| header.eq_ignore_ascii_case(name) && equal(value, &Datum::Text(given.clone())))
}

fn is_or_has(field: &Json, value: &Value) -> bool {
    let one = |json: &Json| equal(value, &Datum::from_json(json));
    one(field) || field.as_array().is_some_and(|items| items.iter().any(one))
}
