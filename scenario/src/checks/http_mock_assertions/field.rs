//! `last_request.json.items[0].id`: which part of which request.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::body::{occurrences, trimmed};
use crate::evidence::{Datum, Exchange, Limit, decoded_json};
use crate::number::Number;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// The part of a request that an assertion examines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    source: String,
    target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Count,
    /// A request by its index, negative from the end, and a part of it.
    Request(i64, Part),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Whole,
    Method,
    Path,
    Body,
    Headers,
    Header(String),
    Query,
    QueryParam(String),
    Json(Vec<Step>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(i64),
}

/// A text that names no field of a mock's requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a field of a mock's requests")]
pub struct UnknownField(pub String);

/// The reason why a field has no value.
#[derive(Debug, thiserror::Error)]
pub(in crate::checks) enum Missing {
    /// It is not there.
    #[error("{0}")]
    Absent(String),
    /// It was there and was not kept.
    #[error("{0} (limit `{limit}`)", limit = Limit::Requests)]
    Dropped(String),
}

impl Field {
    /// Reads a field's name.
    pub fn parse(source: &str) -> Result<Self, UnknownField> {
        let target = match source {
            "request_count" => Target::Count,
            _ => request(source).ok_or_else(|| UnknownField(source.to_owned()))?,
        };
        Ok(Self { source: source.to_owned(), target })
    }

    /// The value among `matching` requests, of which `uncounted` more came later and were not kept.
    pub(super) fn select(&self, matching: &[&Exchange], uncounted: u64) -> Result<Datum, Missing> {
        let (index, part) = match &self.target {
            Target::Count => {
                let count = (matching.len() as u64).saturating_add(uncounted);
                return Ok(Number::parse(&count.to_string()).map_or(Datum::Null, Datum::Number));
            }
            Target::Request(index, part) => (*index, part),
        };
        if uncounted > 0 && (index < 0 || index.unsigned_abs() >= matching.len() as u64) {
            return Err(Missing::Dropped(format!("{uncounted} later requests were counted but not kept")));
        }
        let found = resolve(index, matching.len()).and_then(|index| matching.get(index));
        let exchange =
            found.ok_or_else(|| Missing::Absent(format!("expected a request, found {}", count(matching.len()))))?;
        part.select(exchange)
    }
}

impl Part {
    fn select(&self, exchange: &Exchange) -> Result<Datum, Missing> {
        let absent = |what: String| Missing::Absent(what);
        Ok(match self {
            Self::Whole => Datum::Json(whole(exchange)?),
            Self::Method => Datum::Text(exchange.method.clone()),
            Self::Path => Datum::Text(exchange.plain_path().into_owned()),
            Self::Body => Datum::Text(body(exchange)?),
            Self::Headers => Datum::Json(map(&exchange.headers)),
            Self::Header(name) => Datum::Text(
                exchange
                    .header(name)
                    .ok_or_else(|| absent(format!("expected a header `{name}`, found none")))?
                    .to_owned(),
            ),
            Self::Query => Datum::Json(map(&exchange.query)),
            Self::QueryParam(name) => {
                let value = exchange.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
                Datum::Text(value.ok_or_else(|| absent(format!("expected a query parameter `{name}`, found none")))?)
            }
            Self::Json(steps) => json(exchange, steps)?,
        })
    }
}

fn json(exchange: &Exchange, steps: &[Step]) -> Result<Datum, Missing> {
    let text = body(exchange)?;
    let content = trimmed(text.as_bytes());
    let mut json: Json = serde_json::from_slice(content)
        .map_err(|_| Missing::Absent(format!("expected a JSON body, found {}", Datum::Text(text.clone()))))?;
    decoded_json(&mut json);
    if let Some(Step::Key(key)) = steps.first()
        && occurrences(content, key) > 1
    {
        return Err(Missing::Absent(format!(
            "expected one field `{key}`, found several, which servers read differently"
        )));
    }
    let found = walk(&json, steps);
    let missing =
        || Missing::Absent(format!("expected a field `{}`, found none in {}", show(steps), Datum::from_json(&json)));
    found.map(Datum::from_json).ok_or_else(missing)
}

fn body(exchange: &Exchange) -> Result<String, Missing> {
    exchange
        .whole_body()
        .map(crate::evidence::Blob::text)
        .ok_or_else(|| Missing::Dropped("the body of the request was not kept whole".to_owned()))
}

fn whole(exchange: &Exchange) -> Result<Json, Missing> {
    Ok(json!({
        "method": exchange.method,
        "path": exchange.plain_path(),
        "query": map(&exchange.query),
        "headers": map(&exchange.headers),
        "body": body(exchange)?,
    }))
}

/// Names and values as a map; the first value counts when a name stands twice.
fn map(pairs: &[(String, String)]) -> Json {
    let mut map = serde_json::Map::new();
    for (name, value) in pairs {
        map.entry(name.clone()).or_insert_with(|| value.clone().into());
    }
    Json::Object(map)
}

fn walk<'a>(json: &'a Json, steps: &[Step]) -> Option<&'a Json> {
    steps.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get(key),
        Step::Index(index) => json.as_array().and_then(|items| items.get(resolve(*index, items.len())?)),
    })
}

fn resolve(index: i64, length: usize) -> Option<usize> {
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}

fn count(number: usize) -> String {
    match number {
        0 => "none".to_owned(),
        1 => "only 1".to_owned(),
        number => format!("only {number}"),
    }
}

fn request(source: &str) -> Option<Target> {
    let (index, rest) = match source.strip_prefix("last_request") {
        Some(rest) => (-1, rest),
        None => indexed(source.strip_prefix("requests")?)?,
    };
    Some(Target::Request(index, part(rest)?))
}

fn part(rest: &str) -> Option<Part> {
    if rest.is_empty() {
        return Some(Part::Whole);
    }
    let rest = rest.strip_prefix('.')?;
    let word = rest.split(['.', '[']).next()?;
    let more = &rest[word.len()..];
    match (word, more.strip_prefix('.').filter(|name| !name.is_empty())) {
        ("method", _) if more.is_empty() => Some(Part::Method),
        ("path", _) if more.is_empty() => Some(Part::Path),
        ("body", _) if more.is_empty() => Some(Part::Body),
        ("headers", _) if more.is_empty() => Some(Part::Headers),
        ("headers", Some(name)) => Some(Part::Header(name.to_owned())),
        ("query", _) if more.is_empty() => Some(Part::Query),
        ("query", Some(name)) => Some(Part::QueryParam(name.to_owned())),
        ("json", _) => steps(more).map(Part::Json),
        _ => None,
    }
}

fn steps(mut rest: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if rest.starts_with('[') {
            let (index, more) = indexed(rest)?;
            steps.push(Step::Index(index));
            rest = more;
        } else {
            let key = rest.strip_prefix('.')?;
            let end = key.find(['.', '[']).unwrap_or(key.len());
            if end == 0 {
                return None;
            }
            steps.push(Step::Key(key[..end].to_owned()));
            rest = &key[end..];
        }
    }
    Some(steps)
}

/// `[-1].rest` as the index and what follows.
fn indexed(text: &str) -> Option<(i64, &str)> {
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    index.parse().ok().map(|index| (index, rest))
}

fn show(steps: &[Step]) -> String {
    let mut shown = "json".to_owned();
    for step in steps {
        shown.push_str(&match step {
            Step::Key(key) => format!(".{key}"),
            Step::Index(index) => format!("[{index}]"),
        });
    }
    shown
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Readable for Field {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(source) = &node.kind else {
            return reader.wrong_type(node, "a string: a field of a mock's requests");
        };
        match Self::parse(source) {
            Ok(field) => Some(field),
            Err(problem) => {
                let help = crate::spec::diagnostic::did_you_mean(
                    source,
                    [
                        "request_count",
                        "last_request.body",
                        "last_request.headers",
                        "last_request.json",
                        "last_request.path",
                        "last_request.method",
                        "last_request.query",
                        "requests[0]",
                    ],
                )
                .unwrap_or_else(|| "write `request_count`, `last_request.body` or `requests[0].json.to`".to_owned());
                reader.invalid(node, problem.to_string(), Some(help))
            }
        }
    }

    fn shape() -> Shape {
        Shape::Word {
            name: "request field",
            pattern: r"^(request_count|(last_request|requests\[-?[0-9]+\])(\.(method|path|body|headers|query|json).*)?)$",
            example: "last_request.body",
        }
    }
}
