//! Templates of questions: a text with `{{ arguments.x }}`, filled so that no value can change the question itself.
//!
//! Values of calls are untrusted. One that cannot be written safely is refused, and then the question is not asked.

mod sql;

use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::json_path::JsonPath;

/// The longest value, in characters.
const MOST_CHARACTERS: usize = 1000;

/// A text with places for values of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
    kind: Kind,
}

/// The kind of text, which says which values are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A statement of SQL.
    Sql,
    /// The path of a file.
    FilePath,
    /// The path of a request.
    RequestPath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value { path: JsonPath, place: ValuePlace },
}

/// The place of a value, which says how it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    /// Unchanged: in a path, and between single quotes of SQL with its own quotes doubled.
    Plain,
    /// In SQL outside of quotes: as a literal.
    Literal,
}

/// A text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidTemplate {
    #[error("`{{{{` is not closed by `}}}}`")]
    NotClosed,
    #[error("`{{{{ {0} }}}}` does not name a value of the call; write `{{{{ arguments.order_id }}}}`")]
    NotAnArgument(String),
    #[error("{0}")]
    Sql(&'static str),
}

/// A value that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfillable {
    #[error("the argument `{0}` is missing")]
    Missing(String),
    #[error("the argument `{0}` is no string, number or boolean")]
    NotAScalar(String),
    #[error("the argument `{0}` has characters that could change the question")]
    Unsafe(String),
}

impl Template {
    /// Reads a template.
    pub(crate) fn parse(text: &str, kind: Kind) -> Result<Self, InvalidTemplate> {
        let mut parts = split(text)?;
        if kind == Kind::Sql {
            sql::place_values(&mut parts)?;
        }
        Ok(Self { parts, kind })
    }

    /// The text with the values of a call.
    pub(crate) fn fill(&self, arguments: &Json) -> Result<String, Unfillable> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Value { path, place } => filled.push_str(&self.written(path, *place, arguments)?),
            }
        }
        let climbs = filled.split('/').any(|segment| matches!(segment, "." | ".."));
        match self.first_path() {
            Some(path) if self.kind != Kind::Sql && climbs => Err(Unfillable::Unsafe(path)),
            _ => Ok(filled),
        }
    }

    fn written(&self, path: &JsonPath, place: ValuePlace, arguments: &Json) -> Result<String, Unfillable> {
        let name = || path.text().to_owned();
        let value = path.first(arguments).ok_or_else(|| Unfillable::Missing(name()))?;
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Number(_) | Json::Bool(_) => canonical(value),
            Json::Null | Json::Array(_) | Json::Object(_) => return Err(Unfillable::NotAScalar(name())),
        };
        let is_safe = match self.kind {
            Kind::Sql => sql::is_safe(&text),
            Kind::FilePath => is_file_name(&text),
            Kind::RequestPath => is_unreserved(&text),
        };
        if !is_safe || text.chars().count() > MOST_CHARACTERS {
            return Err(Unfillable::Unsafe(name()));
        }
        Ok(match self.kind {
            Kind::Sql => sql::write(&text, value, place),
            Kind::FilePath | Kind::RequestPath => text,
        })
    }

    fn first_path(&self) -> Option<String> {
        self.parts.iter().find_map(|part| match part {
            Part::Value { path, .. } => Some(path.text().to_owned()),
            Part::Text(_) => None,
        })
    }
}

/// One name in a folder.
fn is_file_name(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|sign| sign.is_control() || matches!(sign, '/' | '\\'))
}

/// Characters that mean themselves in a URL.
fn is_unreserved(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.' | '_' | '~'))
}

fn split(text: &str) -> Result<Vec<Part>, InvalidTemplate> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inner, after) = after.split_once("}}").ok_or(InvalidTemplate::NotClosed)?;
        parts.push(Part::Text(before.to_owned()));
        parts.push(Part::Value { path: argument_path(inner.trim())?, place: ValuePlace::Plain });
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

/// `arguments.x` as the path `$.x`.
fn argument_path(text: &str) -> Result<JsonPath, InvalidTemplate> {
    let path = text.strip_prefix("arguments").filter(|rest| !rest.is_empty());
    let path = path.and_then(|rest| JsonPath::parse(&format!("${rest}")).ok());
    path.filter(JsonPath::is_single).ok_or_else(|| InvalidTemplate::NotAnArgument(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{Kind, Template, Unfillable};

    #[track_caller]
    fn check(kind: Kind, template: &str, arguments: &Json, expected: &str) {
        let filled = Template::parse(template, kind).expect("a template").fill(arguments);
        assert_eq!(filled.as_deref(), Ok(expected), "{template}");
    }

    #[track_caller]
    fn refuses(kind: Kind, template: &str, value: &Json) {
        let filled = Template::parse(template, kind).expect("a template").fill(&json!({ "x": value }));
        assert!(filled.is_err(), "{template} with {value}: {filled:?}");
    }

    #[test]
    fn values_are_quoted_as_their_place_in_the_statement_asks() {
        let sql = |template: &str, value: Json, expected: &str| {
            check(Kind::Sql, template, &json!({ "x": value }), expected);
        };
        sql("select a where id = '{{ arguments.x }}'", json!("o-1"), "select a where id = 'o-1'");
        sql("select a where id = '{{ arguments.x }}'", json!("x' or '1'='1"), "select a where id = 'x'' or ''1''=''1'");
        sql("select a where id = {{ arguments.x }}", json!("it's"), "select a where id = 'it''s'");
        sql("select a where id = {{arguments.x}} and b", json!(12), "select a where id = 12 and b");
        sql("select 5-{{ arguments.x }}", json!(-1), "select 5-(-1)");
        sql("select {{ arguments.x }}", json!(true), "select true");
        sql("select 'a''b {{ arguments.x }}', \"c\"", json!(2.0), "select 'a''b 2', \"c\"");
        check(Kind::Sql, "select '{{ arguments.a['b c'][1] }}'", &json!({"a": {"b c": [0, "y"]}}), "select 'y'");
        check(Kind::Sql, "select 1 -- no values", &json!({}), "select 1 -- no values");
    }

    #[test]
    fn values_that_cannot_be_quoted_safely_are_refused() {
        for value in
            [json!("a\\"), json!("a\0"), json!("a\nb"), json!(null), json!([1]), json!({}), json!("x".repeat(1001))]
        {
            refuses(Kind::Sql, "select '{{ arguments.x }}'", &value);
            refuses(Kind::Sql, "select {{ arguments.x }}", &value);
        }
        let missing = Template::parse("select {{ arguments.x }}", Kind::Sql).expect("a template").fill(&json!({}));
        assert_eq!(missing, Err(Unfillable::Missing("$.x".to_owned())));
    }

    #[test]
    fn paths_stay_where_they_are() {
        check(Kind::FilePath, "/data/{{ arguments.x }}.json", &json!({"x": "order 1"}), "/data/order 1.json");
        check(Kind::RequestPath, "/refunds/{{ arguments.x }}", &json!({"x": 7}), "/refunds/7");
        for value in [json!("../etc"), json!(".."), json!(""), json!("a/b"), json!("a\\b")] {
            refuses(Kind::FilePath, "/data/{{ arguments.x }}", &value);
            refuses(Kind::RequestPath, "/data/{{ arguments.x }}", &value);
        }
        refuses(Kind::FilePath, "/data/{{ arguments.x }}{{ arguments.x }}", &json!("."));
        refuses(Kind::RequestPath, "/data/{{ arguments.x }}", &json!("a?b=c"));
    }

    #[test]
    fn templates_in_which_a_value_has_no_safe_place_are_refused() {
        for text in [
            "select '{{ arguments.x }",
            "select {{ output.x }}",
            "select {{ arguments }}",
            "select {{ arguments.x[*] }}",
            "select \"{{ arguments.x }}\"",
            "select `{{ arguments.x }}`",
            "select 1 -- {{ arguments.x }}",
            "select 1 /* {{ arguments.x }} */",
            "select 1 # {{ arguments.x }}",
            "select $$ {{ arguments.x }} $$",
            "select 'a\\' {{ arguments.x }}'",
            "select x{{ arguments.x }}",
            "select {{ arguments.x }}{{ arguments.x }}",
            "select 'a'{{ arguments.x }}",
            "select {{ arguments.x }}'a'",
            "select 'a {{ arguments.x }}",
        ] {
            assert!(Template::parse(text, Kind::Sql).is_err(), "{text}");
        }
    }
}
