//! Per-tool files.

use serde_json::Value as Json;

use super::checkpoint::Checkpoint;
use super::outcome::{AllowedError, Retries};
use super::policy::{PrincipalRule, ToolPolicy};
use super::precondition::Precondition;
use super::response_format::ResponseFormat;
use crate::code::Code;
use crate::diagnostic::Place;
use crate::invariant::{Context, Invariant};
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};

/// The fields of a tool file.
const FIELDS: [&str; 23] = [
    "tool",
    "side_effect",
    "evidence_class",
    "commit_requirement",
    "timeouts",
    "retries",
    "rate_limits",
    "assertions",
    "golden_cases",
    "allowed_errors",
    "gate",
    "transitions",
    "preconditions",
    "forbids_after",
    "argument_value_invariants",
    "response_format_invariants",
    "execution_constraints",
    "policy",
    "binds",
    "schema_derived",
    "schema_derived_exclude",
    "checkpoint",
    "labels_on_success",
];

/// Number of the fields, from the first, that the strict profile requires.
const REQUIRED: usize = 10;

/// The class of a tool's effect on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SideEffect {
    Read,
    Write,
    Destructive,
    Admin,
    Financial,
}

/// The proof of an execution that can exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvidenceClass {
    LocalTransaction,
    AckOnly,
    Unverifiable,
}

/// The moment at which the state of the session may advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitRequirement {
    Acknowledged,
    None,
}

/// The gate of a class of risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RiskGate {
    Allow,
    Block,
}

/// The source of a value: the call's arguments, or its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Arguments,
    Output,
}

impl SideEffect {
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("destructive", Self::Destructive),
        ("admin", Self::Admin),
        ("financial", Self::Financial),
    ];

    pub(crate) fn is_high_risk(self) -> bool {
        matches!(self, Self::Destructive | Self::Admin | Self::Financial)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl RiskGate {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("allow", Self::Allow), ("block", Self::Block)];
}

impl Source {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("arguments", Self::Arguments), ("output", Self::Output)];

    /// The value at a path of this source.
    pub(crate) fn value<'a>(self, path: &JsonPath, arguments: &'a Json, output: &'a Json) -> Option<&'a Json> {
        path.first(match self {
            Self::Arguments => arguments,
            Self::Output => output,
        })
    }
}

/// The phases in which a tool may be used, and those that it leads to.
#[derive(Debug, Clone)]
pub(crate) struct ToolTransitions {
    pub(crate) valid_in_phases: Option<Vec<Named>>,
    pub(crate) advances_to: Option<Named>,
    pub(crate) place: Place,
}

/// A value that a call puts into a slot.
#[derive(Debug, Clone)]
pub(crate) struct Bind {
    pub(crate) slot: Named,
    pub(crate) source: Source,
    pub(crate) path: JsonPath,
}

/// A self-test of the contract.
#[derive(Debug, Clone)]
pub(crate) struct GoldenCase {
    pub(crate) id: Named,
    pub(crate) input_ref: String,
    pub(crate) expect_ok: bool,
    pub(crate) expected_error: Option<String>,
    pub(crate) is_recorded: bool,
}

/// One tool's contract.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) side_effect: SideEffect,
    pub(crate) evidence_class: EvidenceClass,
    pub(crate) commit_requirement: CommitRequirement,
    pub(crate) retries: Retries,
    pub(crate) input_invariants: Vec<Invariant>,
    pub(crate) output_invariants: Vec<Invariant>,
    pub(crate) golden_cases: Vec<GoldenCase>,
    pub(crate) allowed_errors: Vec<AllowedError>,
    pub(crate) gate: Option<RiskGate>,
    pub(crate) transitions: Option<ToolTransitions>,
    pub(crate) preconditions: Vec<Precondition>,
    pub(crate) forbids_after: Vec<Named>,
    pub(crate) argument_invariants: Vec<Invariant>,
    pub(crate) response_format: Option<ResponseFormat>,
    pub(crate) execution_constraints: Option<(Vec<Invariant>, Place)>,
    pub(crate) policy: ToolPolicy,
    pub(crate) binds: Vec<Bind>,
    pub(crate) schema_derived: bool,
    pub(crate) schema_derived_exclude: Vec<JsonPath>,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) labels_on_success: Vec<String>,
}

impl Tool {
    /// Reads a tool file; its name is `stem` whatever it says.
    pub(crate) fn read(at: &At<'_>, stem: &str, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &FIELDS) {
            return None;
        }
        let required = if reader.strict { REQUIRED } else { 2 };
        for field in FIELDS.iter().take(required).filter(|field| at.present(field).is_none()) {
            reader.missing(at, field);
        }
        check_name(at, stem, reader);
        let tool = Self {
            name: stem.to_owned(),
            place: at.place.clone(),
            side_effect: reader.word_of(at, "side_effect", &SideEffect::WORDS).unwrap_or(SideEffect::Read),
            evidence_class: read_evidence_class(at, reader),
            commit_requirement: read_commit_requirement(at, reader),
            retries: Retries::read(at, reader),
            input_invariants: read_assertions(at, "input_invariants", reader),
            output_invariants: read_assertions(at, "output_invariants", reader),
            golden_cases: reader.items(at, "golden_cases", read_golden_case),
            allowed_errors: reader.items(at, "allowed_errors", AllowedError::read),
            gate: reader.word_of(at, "gate", &RiskGate::WORDS),
            transitions: at.present("transitions").and_then(|value| read_transitions(&value, reader)),
            preconditions: reader.items(at, "preconditions", Precondition::read),
            forbids_after: reader.names(at, "forbids_after"),
            argument_invariants: Invariant::read_list(at, "argument_value_invariants", reader, Context::Argument),
            response_format: at
                .present("response_format_invariants")
                .and_then(|value| ResponseFormat::read(&value, reader)),
            execution_constraints: at.present("execution_constraints").map(|value| read_constraints(&value, reader)),
            policy: at.present("policy").map(|value| PrincipalRule::read_policy(&value, reader)).unwrap_or_default(),
            binds: reader.items(at, "binds", read_bind),
            schema_derived: reader.flag(at, "schema_derived", true),
            schema_derived_exclude: reader.items(at, "schema_derived_exclude", |item, reader| reader.path(item)),
            checkpoint: at.present("checkpoint").and_then(|value| Checkpoint::read_of_tool(&value, stem, reader)),
            labels_on_success: reader.names(at, "labels_on_success").into_iter().map(|label| label.name).collect(),
        };
        check_lints(&tool, at, reader);
        Some(tool)
    }
}

fn check_name(at: &At<'_>, stem: &str, reader: &mut Reader) {
    if let Some(name) = at.present("tool").and_then(|value| reader.named(&value))
        && name.name != stem
    {
        let message = format!("the file is `{stem}.yaml`, and the tool is called `{}`", name.name);
        let help = Some(format!("call the file `{}.yaml`", name.name));
        reader.diagnostics.report(Code::ToolNameMismatch, &name.place, message).help(help);
    }
}

fn read_evidence_class(at: &At<'_>, reader: &mut Reader) -> EvidenceClass {
    let words = [
        ("local_transaction", EvidenceClass::LocalTransaction),
        ("ack_only", EvidenceClass::AckOnly),
        ("unverifiable", EvidenceClass::Unverifiable),
    ];
    reader.word_of(at, "evidence_class", &words).unwrap_or(EvidenceClass::LocalTransaction)
}

fn read_commit_requirement(at: &At<'_>, reader: &mut Reader) -> CommitRequirement {
    let words = [("acknowledged", CommitRequirement::Acknowledged), ("none", CommitRequirement::None)];
    reader.word_of(at, "commit_requirement", &words).unwrap_or(CommitRequirement::Acknowledged)
}

fn read_assertions(at: &At<'_>, key: &str, reader: &mut Reader) -> Vec<Invariant> {
    let Some(assertions) = at.present("assertions") else { return Vec::new() };
    // Unknown fields are reported once, with the first of the two.
    if key == "input_invariants" {
        reader.is_map(&assertions, &["input_invariants", "output_invariants"]);
    }
    Invariant::read_list(&assertions, key, reader, Context::Full)
}

fn read_golden_case(at: &At<'_>, reader: &mut Reader) -> Option<GoldenCase> {
    if !reader.is_map(at, &["id", "input_ref", "expect_ok", "expected_error", "provider_modes"]) {
        return None;
    }
    let id = reader.required_name(at, "id");
    let input_ref = reader.required_name(at, "input_ref");
    let expect_ok = reader.required(at, "expect_ok").and_then(|value| reader.boolean(&value));
    let words = [("recorded", true), ("live", false)];
    let modes = reader.items(at, "provider_modes", |item, reader| reader.word(item, &words));
    Some(GoldenCase {
        id: id?,
        input_ref: input_ref?.name,
        expect_ok: expect_ok?,
        expected_error: at.present("expected_error").and_then(|value| reader.text(&value)),
        is_recorded: modes.is_empty() || modes.contains(&true),
    })
}

fn read_transitions(at: &At<'_>, reader: &mut Reader) -> Option<ToolTransitions> {
    if !reader.is_map(at, &["valid_in_phases", "advances_to"]) {
        return None;
    }
    let valid_in_phases = at.present("valid_in_phases").is_some().then(|| reader.names(at, "valid_in_phases"));
    let advances_to = at.present("advances_to").and_then(|value| reader.named(&value));
    Some(ToolTransitions { valid_in_phases, advances_to, place: at.place.clone() })
}

fn read_constraints(at: &At<'_>, reader: &mut Reader) -> (Vec<Invariant>, Place) {
    reader.is_map(at, &["arguments"]);
    (Invariant::read_list(at, "arguments", reader, Context::Full), at.place.clone())
}

fn read_bind(at: &At<'_>, reader: &mut Reader) -> Option<Bind> {
    if !reader.is_map(at, &["name", "source", "path"]) {
        return None;
    }
    let slot = reader.required_name(at, "name");
    let source = reader.word_of(at, "source", &Source::WORDS).unwrap_or(Source::Arguments);
    let path = reader.required_path(at, "path");
    Some(Bind { slot: slot?, source, path: path? })
}

/// Rules about two fields of one tool.
fn check_lints(tool: &Tool, at: &At<'_>, reader: &mut Reader) {
    let class_at = at.present("evidence_class").unwrap_or_else(|| at.clone());
    if tool.evidence_class == EvidenceClass::AckOnly && tool.side_effect.is_high_risk() {
        let message = format!("a {} tool cannot be `ack_only`", tool.side_effect.name());
        let help = "use `local_transaction` (its result can be seen) or `unverifiable`".to_owned();
        reader.report(Code::AckOnlyOnHighRisk, &class_at, message).help(Some(help)).about(&tool.name);
    }
    if tool.evidence_class == EvidenceClass::Unverifiable && tool.commit_requirement == CommitRequirement::Acknowledged
    {
        let message = "an unverifiable tool cannot acknowledge; its calls commit at dispatch";
        reader.report(Code::UnverifiableAcknowledged, &class_at, message).about(&tool.name);
    }
    if tool.side_effect != SideEffect::Read && tool.retries.max_attempts > 1 && !tool.retries.retry_on.is_empty() {
        let retries_at = at.present("retries").unwrap_or_else(|| at.clone());
        let message = format!("a retried {} call can happen twice", tool.side_effect.name());
        reader.report(Code::RetryOnSideEffect, &retries_at, message).about(&tool.name);
    }
}
