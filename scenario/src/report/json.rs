//! The report as JSON, in the shape that Keystone's SDKs read.
//!
//! Counters, times and tokens are integers and never null. Texts are exactly what was written, for clients that compare
//! them; characters that a terminal would act upon stand as `\u` escapes, so the file is safe to look at.

use std::io;

use serde::Serialize as _;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Map, Value as Json, json};

use super::{Report, ReportCaveat, Reports, Row, Skipped};
use crate::regression::RunComparison;
use crate::result::{Caveat, InvariantResult, ScenarioResult};
use crate::score::Status;
use crate::verdict::Outcome;

/// The exit code of an agent that never started: readers want an integer.
const NO_EXIT_CODE: i32 = -1;

/// The report as JSON.
#[must_use]
pub fn render(report: &Report) -> String {
    written(&value(report))
}

/// Several reports as one JSON object.
#[must_use]
pub fn render_all(reports: &Reports) -> String {
    let mut all = json!({
        "verdict": reports.verdict(),
        "exit_code": reports.exit_code(),
        "experiments": reports.reports.iter().map(value).collect::<Vec<_>>(),
        "skipped": reports.skipped.iter().map(skipped).collect::<Vec<_>>(),
    });
    if let Some(note) = &reports.note {
        all["note"] = note.as_str().into();
    }
    if let Some(comparison) = &reports.comparison {
        all["drift"] = self::comparison(comparison);
        all["drift"]["details"] = json!(comparison);
    }
    if let Some(quarantine) = &reports.quarantine {
        all["quarantine"] = json!(quarantine);
    }
    reports.outcome.write(&mut all);
    written(&all)
}

/// Returns the outcome of a comparison, without its findings.
pub(super) fn comparison(comparison: &RunComparison) -> Json {
    json!({
        "regressed": comparison.regressed(),
        "summary": comparison.summary(),
        "removed": comparison.removed,
        "removed_fails": comparison.fails_by_removal(),
        "different_world": comparison.worlds,
        "suite": comparison.suite,
        "measures": comparison.measures,
    })
}

fn written(value: &Json) -> String {
    with(value, Safe(PrettyFormatter::new())) + "\n"
}

/// A JSON value on one line, safe to look at.
pub(super) fn on_one_line(value: &Json) -> String {
    with(value, Safe(CompactFormatter))
}

fn with<F: Formatter>(value: &Json, formatter: Safe<F>) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    let written = value.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "a JSON value can be written to memory");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn skipped(skipped: &Skipped) -> Json {
    json!({"spec": skipped.spec, "reason": skipped.reason})
}

/// The report as a JSON value.
#[must_use]
pub fn value(report: &Report) -> Json {
    let mut value = summary(report);
    value["scenarios"] = report.rows.iter().map(|row| scenario(report, row)).collect();
    value
}

/// The report as a JSON value, without its scenarios.
#[must_use]
pub fn summary(report: &Report) -> Json {
    let score = &report.score;
    let mut value = json!({
        "ran_at": report.header.ran_at.to_string(),
        "spec_id": report.spec_id,
        "experiment_id": report.header.experiment_id,
        "run": report.header.run,
        "seed": report.seed,
        "spec_file": report.header.spec_file,
        "settings": {
            "parameters": report.header.parameters,
            "replicas": report.header.replicas,
            "agent": report.header.agent,
            "agent_files": report.header.agent_files,
            "backend": report.header.backend,
        },
        "provenance": report.provenance,
        "capabilities": report.capabilities,
        "verdict": score.verdict,
        "total_scenarios": score.total,
        "passed": score.passed,
        "failed": score.failed,
        "flaky": score.flaky,
        "errors": score.errors,
        "metrics": score.metrics,
        "cells": score.cells,
        "caveats": report.caveats().iter().map(report_caveat).collect::<Vec<_>>(),
    });
    if score.not_needed > 0 {
        value["not_needed"] = score.not_needed.into();
    }
    if let Some(source) = report.tokens_from {
        value["tokens_from"] = json!(source);
    }
    if let Some(contract) = &score.contract {
        value["contract"] = json!(contract);
        value["contract"]["outcome_counts"] = json!(contract.outcome_counts());
    }
    if let Some(mutations) = &score.mutations {
        value["mutations"] = json!(mutations);
    }
    if let Some(replays) = &score.replays {
        value["replays"] = json!(replays);
    }
    if let Some(overall) = &score.overall {
        value["overall"] = json!(overall);
    }
    if !score.judges.is_empty() {
        value["judges"] = json!(score.judges);
    }
    value
}

/// A caveat with its words.
fn caveat(caveat: &Caveat) -> Json {
    let mut value = json!(caveat);
    value["message"] = caveat.message().into();
    value
}

fn report_caveat(told: &ReportCaveat<'_>) -> Json {
    json!({ "kind": told.caveat.kind(), "message": told.message(), "scenarios": told.scenarios })
}

/// One scenario of a report as a JSON value.
#[must_use]
pub fn scenario(report: &Report, row: &Row) -> Json {
    let result = &row.result;
    let mut scenario = json!({
        "scenario_id": result.scenario.id,
        "sandbox_id": result.sandbox_id,
        "status": row.status.word(),
        "tolerated": row.tolerated,
        "cell_id": result.scenario.cell,
        "parameters": result.scenario.parameters,
        "replica": result.scenario.replica,
        "seed": result.scenario.seed,
        "wall_ms": result.wall_ms,
        "exit_code": result.exit_code.unwrap_or(NO_EXIT_CODE),
        "tool_calls": result.tool_calls,
        "tool_errors": result.tool_errors,
        "composite_score": result.composite,
        "agent_output": result.agent_output,
        "agent_stderr": result.agent_stderr,
        "invariants": result.invariants.iter().map(invariant).collect::<Vec<_>>(),
        "forbidden_checks": result.forbidden,
        "limits": result.limits,
        "offences": result.offences,
        "notes": result.notes,
        "caveats": result.caveats.iter().map(caveat).collect::<Vec<_>>(),
        "ran_in": result.ran_in,
        "trace_file": "",
    });
    if row.quarantined {
        scenario["quarantined"] = true.into();
    }
    add_world(&mut scenario, result);
    if row.status != Status::Pass {
        scenario["reproducer"] = json!({
            "spec_file": report.header.spec_file,
            "seed": report.seed,
            "scenario_id": result.scenario.id,
            "parameters": result.scenario.parameters,
            "command": report.reproducer(row),
        });
    }
    if let Some(error) = &result.error {
        scenario["error"] = error.to_string().into();
        scenario["error_kind"] = json!(error.kind);
    }
    if result.usage.calls > 0 {
        scenario["cost"] = json!({
            "calls": result.usage.calls,
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens,
            "cache_read_tokens": result.usage.cache_read_tokens,
            "model": result.usage.model,
            "estimated_usd": result.usage.cost().unwrap_or(0.0),
            "priced": result.usage.cost().is_some(),
        });
    }
    scenario
}

/// Adds the fields that a scenario without chaos and contract does not have.
fn add_world(scenario: &mut Json, result: &ScenarioResult) {
    if !result.scenario.chaos.is_empty() {
        scenario["chaos"] = result.scenario.chaos.as_str().into();
    }
    if !result.scenario.purpose.is_everything() {
        scenario["purpose"] = json!(result.scenario.purpose);
    }
    if let Some(prompt) = result.scenario.prompt {
        scenario["prompt"] = prompt.into();
    }
    if !result.scenario.variants.is_empty() {
        scenario["variants"] = json!(result.scenario.variants);
    }
    if let Some(fired) = result.faults_fired {
        scenario["faults_fired"] = fired.into();
    }
    if let Some(replay) = &result.replay {
        scenario["replay"] = json!(replay);
    }
}

fn invariant(invariant: &InvariantResult) -> Json {
    let verdict = &invariant.verdict;
    let mut fields = Map::new();
    fields.insert("name".to_owned(), invariant.name.clone().into());
    fields.insert("description".to_owned(), invariant.description.clone().into());
    fields.insert("passed".to_owned(), verdict.is_passed().into());
    if invariant.gate {
        fields.insert("gate".to_owned(), true.into());
    }
    fields.insert("weight".to_owned(), invariant.weight.into());
    fields.insert("score".to_owned(), verdict.score.into());
    fields.insert("message".to_owned(), verdict.message.clone().into());
    fields.insert("reason".to_owned(), verdict.reason.clone().into());
    if let Outcome::Errored(kind) = verdict.outcome {
        fields.insert("error_kind".to_owned(), json!(kind));
    }
    if !verdict.details.is_null() {
        fields.insert("details".to_owned(), verdict.details.clone());
    }
    Json::Object(fields)
}

/// JSON in which unsafe characters stand as escapes.
struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(crate::untrusted::is_unsafe) {
            let character = rest[at..].chars().next().unwrap_or_default();
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + character.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
