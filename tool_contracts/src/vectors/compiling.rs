//! The contracts of a vector, and what compiling them is to give.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use yaml_tree::{Entry, Kind, Node, Span};

use super::Checked;
use super::expectation::{codes, same_codes};
use crate::code::Code;
use crate::compile::{CompileError, Compiled, Source, compile_sources};
use crate::diagnostic::Diagnostic;
use crate::options::{CompileOptions, Fallback, Mode, Principal, Profile, ResponseGate, RunOptions};
use crate::reader::Reader;

/// Checks about which vectors say nothing unless they name them.
const OPTIONAL: [Code; 6] = [
    Code::UnrealizedTransition,
    Code::RefBeforeBind,
    Code::EnvelopeUnreferenced,
    Code::GateConflict,
    Code::LabelNeverSet,
    Code::ActiveAboveTotal,
];

/// Compiles a vector's contracts; `None` when they do not compile, as it says.
pub(super) fn check(vector: &Node, json: &Json) -> Checked<Option<Compiled>> {
    let options = options(json);
    let is_strict = options.profile == Profile::Strict;
    let result = compile_sources(&sources(vector, is_strict), &options, Reader::default());
    let expected = json.get("compile");
    check_diagnostics(&result, expected.unwrap_or(&Json::Null))?;
    let is_expected = expected.and_then(|expected| expected.get("errors")).is_some_and(|errors| *errors != json!([]));
    match result {
        Ok((set, _)) => Ok(Some(set)),
        Err(_) if is_expected => Ok(None),
        Err(error) => Err(format!("got errors {:?}, wanted none", names(&error.diagnostics, true))),
    }
}

/// Compares what compiling gave with what is wanted.
pub(super) fn check_diagnostics<T>(result: &Result<(T, Vec<Diagnostic>), CompileError>, expected: &Json) -> Checked {
    let found = match result {
        Ok((_, warnings)) => warnings,
        Err(error) => &error.diagnostics,
    };
    for (key, is_error) in [("errors", true), ("warnings", false)] {
        let Some(wanted) = expected.get(key) else { continue };
        let wanted = codes(wanted);
        let is_wanted =
            |found: &&Diagnostic| wanted.iter().any(|name| name.split(':').next() == Some(found.code.name()));
        let counted = found.iter().filter(|found| is_wanted(found) || !OPTIONAL.contains(&found.code));
        let has_subjects = wanted.iter().any(|name| name.contains(':'));
        let got: Vec<_> = counted
            .filter(|found| found.is_error() == is_error)
            .map(|found| match has_subjects {
                true => format!("{}:{}", found.code, found.subject),
                false => found.code.to_string(),
            })
            .collect();
        same_codes(key, &got, &wanted)?;
    }
    Ok(())
}

fn names(found: &[Diagnostic], is_error: bool) -> Vec<String> {
    found.iter().filter(|found| found.is_error() == is_error).map(ToString::to_string).collect()
}

/// The files of a vector: each tool over the defaults, and the session with its required fields.
pub(super) fn sources(vector: &Node, is_strict: bool) -> Vec<Source> {
    let mut sources = Vec::new();
    for entry in vector.get("tools").and_then(Node::entries).unwrap_or_default() {
        let mut root = map_of(&entry.value);
        if !is_strict {
            let base = json!({"tool": entry.key, "side_effect": "read"});
            add_missing(&mut root, &base);
        }
        sources.push(Source { stem: entry.key.clone(), file: format!("{}.yaml", entry.key), root });
    }
    if let Some(session) = vector.get("session") {
        sources.push(session_source(session));
    }
    sources
}

fn session_source(session: &Node) -> Source {
    let mut root = map_of(session);
    add_missing(&mut root, &json!({"schema_version": "1.0", "agent": "vector"}));
    Source { stem: "session".to_owned(), file: "session.yaml".to_owned(), root }
}

/// An empty map where nothing is written.
fn map_of(node: &Node) -> Node {
    match node.kind {
        Kind::Null => Node { kind: Kind::Map(Vec::new()), span: node.span },
        _ => node.clone(),
    }
}

fn add_missing(node: &mut Node, base: &Json) {
    let Kind::Map(entries) = &mut node.kind else { return };
    for (key, value) in base.as_object().into_iter().flatten() {
        if !entries.iter().any(|entry| entry.key == *key) {
            let text = value.as_str().unwrap_or_default().to_owned();
            let value = Node { span: node.span, kind: Kind::String(text) };
            entries.push(Entry { key: key.clone(), key_span: Span::default(), value });
        }
    }
}

/// The options of a vector.
pub(super) fn options(json: &Json) -> CompileOptions {
    let opts = json.get("opts").cloned().unwrap_or_default();
    let word =
        |key: &str| opts.get(key).or_else(|| json.get(key)).and_then(Json::as_str).unwrap_or_default().to_owned();
    let flag = |key: &str| opts.get(key).and_then(Json::as_bool).unwrap_or(false);
    let texts = |value: &Json| -> BTreeMap<String, String> {
        let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
    };
    let default = RunOptions::default();
    let run = RunOptions {
        mode: if word("mode") == "observe" { Mode::Observe } else { Mode::Govern },
        gate: match word("gate").as_str() {
            "strip_partial" => ResponseGate::StripPartial,
            "strip_blocked" => ResponseGate::StripBlocked,
            _ => ResponseGate::RejectAll,
        },
        unmatched: if word("unmatched") == "allow" { Fallback::Allow } else { Fallback::Block },
        on_error: if word("on_error") == "allow" { Fallback::Allow } else { Fallback::Block },
        env: opts.get("env").map(texts).unwrap_or_default(),
        trust_self_reported: flag("trust_self_reported"),
        max_unguarded_calls: opts
            .get("max_unguarded_calls")
            .and_then(Json::as_u64)
            .unwrap_or(default.max_unguarded_calls),
    };
    let principal = opts.get("principal").or_else(|| json.get("principal")).filter(|principal| !principal.is_null());
    let is_strict = flag("strict_fields") || word("profile") == "strict";
    let schemas = opts.get("tool_schemas").and_then(Json::as_object).into_iter().flatten();
    CompileOptions {
        profile: if is_strict { Profile::Strict } else { Profile::Lenient },
        principal: principal.map_or(Principal::Missing, |principal| Principal::Given(principal.clone())),
        gateway_tools: opts.get("wrapped").map(|tools| codes(tools).into_iter().collect()),
        tool_schemas: schemas.map(|(tool, schema)| (tool.clone(), schema.clone())).collect(),
        rules: opts.get("rules").and_then(Json::as_array).cloned().unwrap_or_default(),
        run,
    }
}
