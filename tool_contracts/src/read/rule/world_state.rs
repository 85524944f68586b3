//! `when_state`: a question to a database, the files or a mock, and the answer that is expected.

use serde_json::Value as Json;
use yaml_tree::Kind as NodeKind;

use crate::code::Code;
use crate::read::aggregate::Bounds;
use crate::reader::{At, Named, Reader};
use crate::template::{Kind, Template};
use crate::value::Num;

/// `every` and `when_state`.
#[derive(Debug, Clone)]
pub(crate) struct WorldState {
    pub(crate) tool: Named,
    pub(crate) question: QuestionTemplate,
    pub(crate) expected: Expected,
}

/// A question in which values of the call are not filled in yet.
#[derive(Debug, Clone)]
pub(crate) enum QuestionTemplate {
    Sql { service: String, statement: Template },
    File { path: Template },
    Mock { service: String, path: Option<Template> },
}

/// The answer that the rule asks for.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    /// The first column of every row, of which there is at least one.
    Rows(Json),
    File(FileCondition),
    /// The number of requests that a mock got.
    Count(Bounds),
}

/// Conditions on a file; all that are stated hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileCondition {
    pub(crate) equals: Option<String>,
    pub(crate) contains: Option<String>,
    pub(crate) exists: Option<bool>,
}

impl WorldState {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        let tool = reader.required_name(at, "every");
        let state = reader.required(at, "when_state")?;
        if !reader.is_map(&state, &["sql", "service", "equals", "file", "mock"]) {
            return None;
        }
        let found: Vec<_> = ["sql", "file", "mock"].into_iter().filter(|key| state.get(key).is_some()).collect();
        let [kind] = found.as_slice() else {
            reader.report(Code::InvalidRule, &state, "`when_state` is exactly one of `sql`, `file` and `mock`");
            return None;
        };
        refuse_foreign(&state, kind, reader);
        let (question, expected) = match *kind {
            "sql" => read_sql(&state, reader),
            "file" => read_file(&state, reader),
            _ => read_mock(&state, reader),
        }?;
        Some(Self { tool: tool?, question, expected })
    }
}

/// `service` and `equals` stand beside `sql` only; files and mocks have their own.
fn refuse_foreign(at: &At<'_>, kind: &str, reader: &mut Reader) {
    for key in ["service", "equals"].into_iter().filter(|_| kind != "sql") {
        if let Some(value) = at.get(key) {
            let message = format!("`{key}` does not belong beside `{kind}`; write it inside");
            reader.report(Code::InvalidRule, &value, message);
        }
    }
}

fn read_sql(at: &At<'_>, reader: &mut Reader) -> Option<(QuestionTemplate, Expected)> {
    let statement = reader.required(at, "sql").and_then(|value| template(&value, Kind::Sql, reader));
    let service = reader.required_name(at, "service");
    let equals = reader.required(at, "equals").and_then(|value| scalar(&value, reader));
    let question = QuestionTemplate::Sql { service: service?.name, statement: statement? };
    Some((question, Expected::Rows(equals?)))
}

fn read_file(at: &At<'_>, reader: &mut Reader) -> Option<(QuestionTemplate, Expected)> {
    let at = reader.required(at, "file")?;
    if !reader.is_map(&at, &["path", "equals", "contains", "exists"]) {
        return None;
    }
    let path = reader.required(&at, "path").and_then(|value| template(&value, Kind::FilePath, reader));
    let mut text = |key: &str| at.present(key).and_then(|value| reader.text(&value));
    let (equals, contains) = (text("equals"), text("contains"));
    let exists = at.present("exists").and_then(|value| reader.boolean(&value));
    if ["equals", "contains", "exists"].iter().all(|key| at.present(key).is_none()) {
        reader.report(Code::InvalidRule, &at, "`file` states `equals`, `contains` or `exists`");
        return None;
    }
    Some((QuestionTemplate::File { path: path? }, Expected::File(FileCondition { equals, contains, exists })))
}

fn read_mock(at: &At<'_>, reader: &mut Reader) -> Option<(QuestionTemplate, Expected)> {
    let at = reader.required(at, "mock")?;
    if !reader.is_map(&at, &["service", "path", "count"]) {
        return None;
    }
    let service = reader.required_name(&at, "service");
    let path = match at.present("path") {
        Some(value) => Some(template(&value, Kind::RequestPath, reader)?),
        None => None,
    };
    let bounds = reader.required(&at, "count").and_then(|value| read_count(&value, reader));
    Some((QuestionTemplate::Mock { service: service?.name, path }, Expected::Count(bounds?)))
}

fn read_count(at: &At<'_>, reader: &mut Reader) -> Option<Bounds> {
    if !reader.is_map(at, &["gte", "lte"]) {
        return None;
    }
    let mut bound = |key: &str| reader.whole(at, key, Code::InvalidLimit, 0).map(|count| Num::Int(count.into()));
    let bounds = Bounds { gte: bound("gte"), lte: bound("lte") };
    if at.present("gte").is_none() && at.present("lte").is_none() {
        reader.report(Code::InvalidRule, at, "`count` states `gte`, `lte` or both");
    }
    if let (Some(gte), Some(lte)) = (bounds.gte, bounds.lte)
        && !gte.at_most(lte)
    {
        reader.report(Code::EmptyRange, at, "`gte` is above `lte`, so no count can pass");
    }
    Some(bounds)
}

fn template(at: &At<'_>, kind: Kind, reader: &mut Reader) -> Option<Template> {
    let text = reader.text(at)?;
    match Template::parse(&text, kind) {
        Ok(template) => Some(template),
        Err(problem) => {
            reader.report(Code::InvalidTemplate, at, problem.to_string());
            None
        }
    }
}

fn scalar(at: &At<'_>, reader: &mut Reader) -> Option<Json> {
    let is_scalar = !matches!(at.node.kind, NodeKind::Map(_) | NodeKind::List(_));
    if !is_scalar {
        reader.report(Code::InvalidOperand, at, format!("`equals` takes one value, found {}", at.node.describe()));
    }
    is_scalar.then(|| at.node.to_json())
}
