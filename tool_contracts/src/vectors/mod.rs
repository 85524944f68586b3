//! Runs a file of test vectors: contracts, what happens in a session, and what is to come of it.
//!
//! Every tool of a vector is merged over the defaults of the lenient profile, and the session's required fields are
//! implied, so that a vector shows only what it is about.

mod compiling;
mod expectation;
mod operations;
mod sightings;
mod states;
mod workflows;

use serde_json::{Map, Value as Json};
use yaml_tree::{Kind, Limits, Node};

/// The result of one vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorResult {
    /// Its id.
    pub id: String,
    /// The difference: `got …, wanted …`; `None` when it passed.
    pub failure: Option<String>,
}

/// A file that holds no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// It is not YAML that can be read.
    #[error("the vectors cannot be read, line {line}: {message}")]
    Yaml {
        /// The line.
        line: usize,
        /// The problem.
        message: String,
    },
    /// It is not a list.
    #[error("the vectors are not a list of maps with an `id`")]
    NotAList,
}

/// A failed expectation.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// Runs every vector of a file.
///
/// # Errors
/// When the file is not a list of vectors.
pub fn run_vectors(text: &str) -> Result<Vec<VectorResult>, VectorError> {
    let (root, problems) = yaml_tree::parse(text, "file of vectors", Limits::default());
    if let Some(problem) = problems.into_iter().next() {
        return Err(VectorError::Yaml { line: problem.span.line, message: problem.message });
    }
    let Some(Kind::List(vectors)) = root.map(|root| root.kind) else { return Err(VectorError::NotAList) };
    vectors.iter().map(run_vector).collect()
}

fn run_vector(vector: &Node) -> Result<VectorResult, VectorError> {
    let id = vector.get("id").and_then(Node::scalar).ok_or(VectorError::NotAList)?.to_owned();
    let failure = check_vector(vector).err();
    Ok(VectorResult { id, failure })
}

fn check_vector(vector: &Node) -> Checked {
    let json = vector.to_json();
    if vector.get("workflow").is_some() {
        workflows::check(vector, &json)?;
    }
    if let Some(intervals) = json.get("overlaps") {
        workflows::check_overlaps(intervals, &json)?;
    }
    if let Some(sightings) = json.get("correlate") {
        sightings::check(sightings, &json)?;
    }
    if !["compile", "tools", "session", "ops", "golden", "cases"].iter().any(|key| json.get(key).is_some()) {
        return Ok(());
    }
    match json.get("cases").and_then(Json::as_array) {
        Some(cases) => cases.iter().enumerate().try_for_each(|(place, case)| {
            let merged = merge_case(&json, case);
            check_case(vector, &merged).map_err(|failure| format!("case {}: {failure}", place + 1))
        }),
        None => check_case(vector, &json),
    }
}

/// A vector with what one of its cases says instead.
fn merge_case(vector: &Json, case: &Json) -> Json {
    let (Json::Object(vector), Json::Object(case)) = (vector, case) else { return vector.clone() };
    let mut merged: Map<String, Json> = vector.clone();
    let mut options = vector.get("opts").and_then(Json::as_object).cloned().unwrap_or_default();
    for (key, value) in case {
        match (key.as_str(), value) {
            ("opts", Json::Object(more)) => options.extend(more.clone()),
            ("principal" | "gate" | "unmatched" | "env" | "tool_schemas" | "wrapped" | "mode", value) => {
                options.insert(key.clone(), value.clone());
            }
            _ => drop(merged.insert(key.clone(), value.clone())),
        }
    }
    merged.insert("opts".to_owned(), Json::Object(options));
    if !case.contains_key("ops") && is_operation(case) {
        merged.insert("ops".to_owned(), Json::Array(vec![Json::Object(case.clone())]));
    }
    Json::Object(merged)
}

/// True when a case is an operation by itself.
fn is_operation(case: &Map<String, Json>) -> bool {
    ["narrow", "step", "precheck"].iter().any(|key| case.contains_key(*key))
}

fn check_case(vector: &Node, json: &Json) -> Checked {
    let Some(set) = compiling::check(vector, json)? else { return Ok(()) };
    if let Some(golden) = json.get("golden").and_then(Json::as_array) {
        sightings::check_golden(&set, golden)?;
    }
    sightings::check_retries(&set, json)?;
    let ops = json.get("ops").and_then(Json::as_array);
    operations::Session::new(set).run(ops.map_or(&[][..], Vec::as_slice))
}
