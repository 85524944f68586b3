//! Every code that compiling can give, with the shortest set that gives it.

use std::collections::BTreeSet;

use tool_contracts::options::Principal;
use tool_contracts::{Class, Code, CompileOptions, RawFile, RawSet, compile, compile_workflow};

/// A set of files: `NAME: TEXT`, separated by a line with `===`.
fn set(files: &str) -> RawSet {
    let file = |part: &str| {
        let (name, text) = part.trim_start().split_once('\n').unwrap_or((part, ""));
        RawFile { name: name.trim().to_owned(), text: text.to_owned() }
    };
    RawSet { files: files.split("===\n").map(file).collect() }
}

fn session(rest: &str) -> String {
    format!("session.yaml\nschema_version: \"1.0\"\nagent: a\n{rest}\n")
}

fn tool(rest: &str) -> String {
    format!("t.yaml\ntool: t\nside_effect: read\n{rest}\n")
}

/// The sets, each with the one code that it gives.
#[expect(clippy::too_many_lines, reason = "a table, with a row for each code")]
fn compile_cases() -> Vec<(Code, String)> {
    let aggregate = |rest: &str| session(&format!("aggregates: [{{{rest}}}]"));
    let envelope =
        |rest: &str| format!("{}===\n{}", session(&format!("envelopes: [{{name: e, reason: r, {rest}}}]")), tool(""));
    let invariant = |rest: &str| tool(&format!("argument_value_invariants: [{{{rest}}}]"));
    let with_tool = |text: String, rest: &str| format!("{text}===\n{}", tool(rest));
    let phases = "phases: [{name: a, initial: true}, {name: z, terminal: true}]\ntransitions: {a: [z]}";
    let stage = |tool: &str, role: &str| format!("{{tool: {tool}, path: $.x, role: {role}}}");
    let two = format!("stages: [{}, {}]", stage("t", "ceiling"), stage("t", "constrained"));
    vec![
        (Code::InvalidYaml, "t.yaml\ntool: [\n".to_owned()),
        (Code::WrongType, tool("binds: 3")),
        (Code::AckOnlyOnHighRisk, "t.yaml\ntool: t\nside_effect: admin\nevidence_class: ack_only\n".to_owned()),
        (Code::MissingField, "t.yaml\ntool: t\n".to_owned()),
        (Code::UnknownField, tool("side_efect: read")),
        (Code::DuplicateKey, tool("gate: allow\ngate: allow")),
        (Code::InvalidEnum, tool("gate: alow")),
        (Code::UnsupportedSchemaVersion, "session.yaml\nschema_version: \"2.0\"\nagent: a\n".to_owned()),
        (Code::ToolNameMismatch, "t.yaml\ntool: u\nside_effect: read\n".to_owned()),
        (Code::InvalidPath, invariant("path: x.y, gte: 1")),
        (Code::InvalidRegex, invariant("path: $.x, regex: \"(?=a)\"")),
        (Code::InvalidTypeName, invariant("path: $.x, type: float")),
        (Code::InvalidOperand, invariant("path: $.x, gte: \"5\"")),
        (Code::EmptyRange, invariant("path: $.x, gte: 5, lte: 1")),
        (Code::UnknownOperator, invariant("path: $.x, contains: a")),
        (Code::InvalidInvariant, invariant("path: $.x")),
        (Code::ToleranceWithoutRef, invariant("path: $.x, gte: 1, tolerance: 0.1")),
        (
            Code::InvalidTolerance,
            format!("{}binds: [{{name: s, path: $.y}}]\n", invariant("path: $.x, ref: s, tolerance: -1")),
        ),
        (Code::DuplicateBinding, tool("binds: [{name: s, path: $.x}, {name: s, path: $.y}]")),
        (Code::UnknownBinding, invariant("path: $.x, ref: nope")),
        (Code::InvalidPrecondition, tool("preconditions: [{}]")),
        (Code::UnknownTool, tool("preconditions: [{requires_prior_tool: ghost}]")),
        (Code::PhasesNotAList, session("phases: {a: {}}")),
        (Code::DuplicatePhase, session("phases: [{name: a, initial: true, terminal: true}, {name: a}]")),
        (Code::InitialPhaseCount, session("phases: [{name: a, terminal: true}]")),
        (Code::NoTerminalPhase, session("phases: [{name: a, initial: true}]")),
        (Code::UndeclaredPhase, with_tool(session(phases), "transitions: {valid_in_phases: [b]}")),
        (Code::UnreachablePhase, session("phases: [{name: a, initial: true, terminal: true}, {name: lost}]")),
        (
            Code::CircularTransitions,
            session("phases: [{name: a, initial: true}, {name: z, terminal: true}]\ntransitions: {z: [a]}"),
        ),
        (Code::UndeclaredTransition, with_tool(session(phases), "transitions: {valid_in_phases: [z], advances_to: a}")),
        (Code::TransitionsWithoutPhases, with_tool(session(""), "transitions: {advances_to: a}")),
        (Code::InvalidLimit, session("session_limits: {max_steps: 0}")),
        (Code::InvalidRetries, tool("retries: {max_attempts: 0, retry_on: []}")),
        (Code::AggregatePathRequired, aggregate("name: n, metric: sum, tool: '*', lte: 1, reason: r")),
        (Code::AggregateBoundRequired, aggregate("name: n, metric: count, tool: '*', reason: r")),
        (
            Code::WhenConditionRequired,
            with_tool(
                aggregate("name: n, metric: count, tool: '*', lte: 1, reason: r, when: [{binding: b, then_lte: 1}]"),
                "binds: [{name: b, path: $.x}]",
            ),
        ),
        (
            Code::WhenOverrideRequired,
            with_tool(
                aggregate("name: n, metric: count, tool: '*', lte: 1, reason: r, when: [{binding: b, gte: 1}]"),
                "binds: [{name: b, path: $.x}]",
            ),
        ),
        (Code::EnvelopeMinStages, envelope("constraint: lte_ceiling, stages: []")),
        (
            Code::EnvelopeMissingRole,
            envelope(&format!("constraint: bounded, stages: [{}, {}]", stage("t", "floor"), stage("t", "constrained"))),
        ),
        (
            Code::EnvelopeRoleMismatch,
            envelope(&format!(
                "constraint: lte_ceiling, stages: [{}, {}, {}]",
                stage("t", "ceiling"),
                stage("t", "anchor"),
                stage("t", "constrained")
            )),
        ),
        (
            Code::EnvelopeOutputConstrained,
            envelope(&format!(
                "constraint: lte_ceiling, stages: [{}, {{tool: t, path: $.x, role: constrained, source: output}}]",
                stage("t", "ceiling")
            )),
        ),
        (
            Code::BandRequired,
            envelope(&format!(
                "constraint: within_band, stages: [{}, {}]",
                stage("t", "anchor"),
                stage("t", "constrained")
            )),
        ),
        (Code::BandNotAllowed, envelope(&format!("constraint: lte_ceiling, band: 0.1, {two}"))),
        (Code::ReasonRequired, aggregate("name: n, metric: count, tool: '*', lte: 1")),
        (Code::SuppressionReasonRequired, session("graph_analysis: {suppress: [{check: dead_tool}]}")),
        (
            Code::DuplicateName,
            session(
                "checkpoints: [{name: c, tool: '*', when: always, timeout_seconds: 30}, {name: c, tool: '*', when: always, timeout_seconds: 30}]",
            ),
        ),
        (Code::CheckpointTimeoutTooShort, tool("checkpoint: {when: always, timeout_seconds: 29}")),
        (Code::InvalidCheckpoint, tool("checkpoint: {when: [], timeout_seconds: 30}")),
        (Code::InvalidRule, with_tool(session("rules: [{id: r, every: t}]"), "")),
        (
            Code::InvalidTemplate,
            with_tool(
                session(
                    "rules: [{id: r, every: t, when_state: {sql: 'select \"{{ arguments.x }}\"', service: db, equals: 1}}]",
                ),
                "",
            ),
        ),
        (Code::InvalidPolicyRule, session("policy: {rules: [{}]}")),
        (Code::PolicyWithoutPrincipal, tool("policy: {deny: [{principal: {path: $.x, equals: 1}}]}")),
        (Code::ExecutionConstraintsUnwrapped, tool("execution_constraints: {arguments: [{path: $.x, gte: 1}]}")),
        (Code::LoopThresholdAboveWindow, session("session_limits: {loop_detection: {window: 2, threshold: 3}}")),
        (Code::UnverifiableAcknowledged, tool("evidence_class: unverifiable")),
        (
            Code::RetryOnSideEffect,
            "t.yaml\ntool: t\nside_effect: write\nretries: {max_attempts: 2, retry_on: [5xx]}\n".to_owned(),
        ),
        (Code::AllowRuleNoEffect, session("policy: {rules: [{allow: {principal: {path: $.x, equals: 1}}}]}")),
        (Code::UnknownToolWarning, tool("forbids_after: [ghost]")),
        (Code::DeadTool, tool("gate: block")),
        (Code::PreconditionCycle, tool("preconditions: [{requires_prior_tool: t}]")),
        (Code::TrapPhase, with_tool(session(phases), "transitions: {valid_in_phases: [a]}")),
        (Code::UnrealizedTransition, session(phases)),
        (
            Code::UnreachableTerminal,
            session("phases: [{name: a, initial: true, terminal: true}, {name: z, terminal: true}]"),
        ),
        (
            Code::RefBeforeBind,
            with_tool(
                format!(
                    "{}===\nb.yaml\ntool: b\nside_effect: read\ntransitions: {{valid_in_phases: [z]}}\nbinds: [{{name: s, path: $.x}}]\n",
                    session(phases)
                ),
                "transitions: {valid_in_phases: [a], advances_to: z}\nargument_value_invariants: [{path: $.x, ref: s}]",
            ),
        ),
        (
            Code::EnvelopeUnreferenced,
            with_tool(
                format!(
                    "{}===\nb.yaml\ntool: b\nside_effect: read\ntransitions: {{valid_in_phases: [z]}}\n",
                    session(&format!(
                        "{phases}\nenvelopes: [{{name: e, reason: r, constraint: lte_ceiling, stages: [{}, {}]}}]",
                        stage("b", "ceiling"),
                        stage("t", "constrained")
                    ))
                ),
                "transitions: {valid_in_phases: [a], advances_to: z}",
            ),
        ),
        (
            Code::GateConflict,
            format!(
                "{}===\nb.yaml\ntool: b\nside_effect: read\ngate: block\n",
                tool("preconditions: [{requires_prior_tool: b}]")
            ),
        ),
        (
            Code::LabelNeverSet,
            with_tool(session("policy: {label_gates: [{when_label: x, deny_tools: [t], reason: r}]}"), ""),
        ),
    ]
}

#[test]
fn every_code_of_a_set_has_a_set_that_gives_it() {
    let mut covered = BTreeSet::new();
    for (code, files) in compile_cases() {
        let mut options = CompileOptions { principal: Principal::Missing, ..CompileOptions::default() };
        options.gateway_tools = (code == Code::ExecutionConstraintsUnwrapped).then(BTreeSet::new);
        if code == Code::AllowRuleNoEffect {
            options.principal = Principal::Given(serde_json::json!({}));
        }
        let found = match compile(&set(&files), &options) {
            Ok((_, warnings)) => warnings,
            Err(error) => error.diagnostics,
        };
        // An envelope without stages lacks its roles too, and a cycle is dead.
        let is_companion = |one: &&Code| **one == Code::EnvelopeMissingRole && code == Code::EnvelopeMinStages;
        let codes: Vec<Code> = found.iter().map(|one| one.code).collect();
        let errors: Vec<_> = codes.iter().filter(|one| one.class() == Class::Error && !is_companion(one)).collect();
        let is_error = code.class() == Class::Error;
        assert_eq!(errors.len(), usize::from(is_error), "{files}\n{found:#?}");
        assert!(codes.contains(&code), "{code} is missing\n{files}\n{found:#?}");
        let place = found.iter().find(|one| one.code == code).expect("the finding").place.clone();
        assert!(place.span.line >= 1 && place.span.column >= 1 && !place.file.is_empty(), "{code}: {place:?}");
        covered.insert(code);
    }
    let of_workflows = [
        Code::DuplicateRole,
        Code::RoleUnknown,
        Code::UnknownResourceAlias,
        Code::UnreachableRole,
        Code::ActiveAboveTotal,
    ];
    covered.extend(of_workflows);
    let is_compile = |code: &&Code| matches!(code.class(), Class::Error | Class::Warning);
    let missing: Vec<_> = Code::ALL.iter().filter(is_compile).filter(|code| !covered.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_workflow_and_its_roles_are_compiled_together() {
    let workflow = "workflow.yaml\nschema_version: \"1.0\"\nworkflow: w\nroles: [{name: a, session_contract: a/session.yaml}, {name: a, session_contract: a/session.yaml}, {name: b, session_contract: b/session.yaml}]\nhandoffs: [{from: a, to: bb}]\nworkflow_limits: {max_sessions: 2, max_active_sessions: 3}\nshared_resources: [{alias: ordr, mode: single_writer}]\n";
    let role =
        |name: &str, rest: &str| format!("===\n{name}/session.yaml\nschema_version: \"1.0\"\nagent: {name}\n{rest}\n");
    let files = format!(
        "{workflow}{}{}",
        role("a", "resources: {order: {type: o, extract_from: {path: $.id}}}"),
        role("b", "session_limits: {max_steps: 0}")
    );
    let error = compile_workflow(&set(&files), &CompileOptions::default()).expect_err("mistakes");
    let codes: BTreeSet<Code> = error.diagnostics.iter().map(|found| found.code).collect();
    let expected = [
        Code::DuplicateRole,
        Code::RoleUnknown,
        Code::UnknownResourceAlias,
        Code::UnreachableRole,
        Code::ActiveAboveTotal,
        Code::InvalidLimit,
    ];
    assert_eq!(codes, BTreeSet::from(expected));
    let alias = error.diagnostics.iter().find(|found| found.code == Code::UnknownResourceAlias).expect("the alias");
    assert_eq!(alias.help.as_deref(), Some("did you mean `order`?"));
    assert!(error.diagnostics.iter().any(|found| found.place.file == "b/session.yaml"));
}

#[test]
fn errors_come_all_at_once_with_places_and_suggestions() {
    let files = "refund.yaml\ntool: refund\nside_efect: read\nside_effect: wirte\nargument_value_invariants:\n  - path: $.amount\n    lte: ten\n";
    let error = compile(&set(files), &CompileOptions::default()).expect_err("mistakes");
    let shown: Vec<_> = error.diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_debug_snapshot!(shown);
}

#[test]
fn a_hash_is_the_same_for_what_means_the_same() {
    let hash = |files: &str| compile(&set(files), &CompileOptions::default()).expect("a set").0.hash;
    let plain = hash("t.yaml\ntool: t\nside_effect: read\n");
    assert_eq!(
        plain,
        hash("t.yaml\n# a note\nx-owner: me\nside_effect: 'read'\ntool: t\nretries: {retry_on: [], max_attempts: 1}\n")
    );
    assert_ne!(plain, hash("t.yaml\ntool: t\nside_effect: write\n"));
}

#[test]
fn a_suppression_with_a_reason_hides_a_warning() {
    let suppress = "graph_analysis: {suppress: [{check: dead_tool, tool: t, reason: a sentinel}]}";
    let files = format!("{}===\n{}", session(suppress), tool("gate: block"));
    let (_, warnings) = compile(&set(&files), &CompileOptions::default()).expect("a set");
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn hostile_texts_give_problems_and_no_panic() {
    for text in [
        "[",
        "a: &a [*a]",
        "tool: {tool: {tool: 1}}",
        "- 1",
        "null",
        "phases: [[[]]]\ntransitions: [1]\npolicy: 3\naggregates: {}\n",
    ] {
        for name in ["t.yaml", "session.yaml"] {
            let files = RawSet { files: vec![RawFile { name: name.to_owned(), text: text.to_owned() }] };
            assert!(compile(&files, &CompileOptions::default()).is_err(), "{name}: {text}");
        }
    }
}
