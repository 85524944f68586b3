//! Golden cases: a contract tested against recorded responses, without an agent.

use serde_json::Value as Json;

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::per_tool::response_format::{called, offered};
use crate::read::tool::Tool;

/// The behaviour of a tool that a fixture shows; the codes are tried in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoldenClass {
    /// The tool was called as its contract says.
    Ok,
    /// Another outcome.
    Failed(Code),
    /// The arguments break the tool's schema or an invariant.
    SchemaViolation,
}

/// A golden case of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenCaseRef {
    /// The tool.
    pub tool: String,
    /// The case.
    pub id: String,
    /// The file of its fixture, beside the contract.
    pub input_ref: String,
    /// True when the response is expected to be right.
    pub expect_ok: bool,
    /// The class that is expected of a wrong one.
    pub expected_error: Option<String>,
}

impl GoldenClass {
    /// The word for it; `None` when it is right.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Ok => None,
            Self::Failed(code) => Some(code.name()),
            Self::SchemaViolation => Some("schema_violation"),
        }
    }

    /// True when the case passes.
    #[must_use]
    pub fn passes(self, expect_ok: bool, expected_error: Option<&str>) -> bool {
        let is_ok = self == Self::Ok;
        is_ok == expect_ok && (is_ok || expected_error.is_none_or(|wanted| self.name() == Some(wanted)))
    }
}

/// The cases of a set that need no provider, by tool.
#[must_use]
pub fn golden_cases(set: &Compiled) -> Vec<GoldenCaseRef> {
    let cases = set.tools.values().flat_map(|tool| tool.golden_cases.iter().map(move |case| (tool, case)));
    let recorded = cases.filter(|(_, case)| case.is_recorded);
    recorded
        .map(|(tool, case)| GoldenCaseRef {
            tool: tool.name.clone(),
            id: case.id.name.clone(),
            input_ref: case.input_ref.clone(),
            expect_ok: case.expect_ok,
            expected_error: case.expected_error.clone(),
        })
        .collect()
}

/// Classes a fixture `{request, response | error}` for a tool.
#[must_use]
pub fn classify(set: &Compiled, tool: &str, fixture: &Json) -> GoldenClass {
    if fixture.get("error").is_some_and(|error| !error.is_null()) {
        return GoldenClass::Failed(Code::UnexpectedError);
    }
    let response = fixture.get("response").unwrap_or(&Json::Null);
    let calls = called(response);
    if calls.is_empty() {
        return GoldenClass::Failed(Code::ToolNotInvoked);
    }
    if !calls.iter().any(|name| name == tool) {
        return GoldenClass::Failed(Code::WrongTool);
    }
    let arguments: Vec<_> = calls_of(response, tool).into_iter().map(arguments_of).collect();
    if arguments.iter().any(Option::is_none) {
        return GoldenClass::Failed(Code::MalformedArguments);
    }
    let schema = fixture.get("request").and_then(|request| schema_of(request, tool));
    let contract = set.tools.get(tool);
    let is_right = |arguments: &Json| {
        schema.is_none_or(|schema| jsonschema::is_valid(schema, arguments))
            && contract.is_none_or(|contract| keeps(set, contract, arguments))
    };
    let keeps_output = contract.is_none_or(|contract| {
        contract.output_invariants.iter().all(|invariant| invariant.holds(response, &set.run.env))
    });
    if keeps_output && arguments.iter().flatten().all(is_right) {
        GoldenClass::Ok
    } else {
        GoldenClass::SchemaViolation
    }
}

fn keeps(set: &Compiled, tool: &Tool, arguments: &Json) -> bool {
    let derived = set.derived.get(&tool.name).into_iter().flatten();
    tool.argument_invariants.iter().chain(derived).all(|invariant| invariant.holds(arguments, &set.run.env))
}

fn calls_of<'a>(response: &'a Json, tool: &str) -> Vec<&'a Json> {
    let calls = response.get("tool_calls").and_then(Json::as_array).into_iter().flatten();
    let name = |call: &Json| {
        let name = call.get("name").or_else(|| call.get("function")?.get("name"));
        name.and_then(Json::as_str).map(ToOwned::to_owned)
    };
    calls.filter(|call| name(call).as_deref() == Some(tool)).collect()
}

/// The arguments of a call, as an object or as the text of one.
fn arguments_of(call: &Json) -> Option<Json> {
    let arguments = call.get("arguments").or_else(|| call.get("function")?.get("arguments"))?;
    let parsed = match arguments {
        Json::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    parsed.is_object().then_some(parsed)
}

fn schema_of<'a>(request: &'a Json, tool: &str) -> Option<&'a Json> {
    let place = offered(request).iter().position(|name| name == tool)?;
    let entry = request.get("tools")?.get(place)?;
    let of = |entry: &'a Json| ["parameters", "input_schema", "inputSchema"].iter().find_map(|key| entry.get(*key));
    of(entry).or_else(|| of(entry.get("function")?))
}
