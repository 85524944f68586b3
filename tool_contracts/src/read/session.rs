//! `session.yaml`.

use std::collections::BTreeMap;

use super::aggregate::Aggregate;
use super::checkpoint::Checkpoint;
use super::envelope::Envelope;
use super::limits::Limits;
use super::phases::Phases;
use super::policy::SessionPolicy;
use super::provider::ProviderConstraints;
use super::rule::{SessionRule, read_rules};
use super::tool::{RiskGate, SideEffect};
use crate::code::{Class, Code};
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};

/// The version of the language that is read.
const SCHEMA_VERSION: &str = "1.0";

/// The fields of a session file.
const FIELDS: [&str; 15] = [
    "schema_version",
    "agent",
    "phases",
    "transitions",
    "session_limits",
    "risk_defaults",
    "policy",
    "provider_constraints",
    "resources",
    "aggregates",
    "envelopes",
    "checkpoints",
    "rules",
    "schema_derived",
    "graph_analysis",
];

/// A warning that is known and wanted.
#[derive(Debug, Clone)]
pub(crate) struct Suppression {
    pub(crate) check: Code,
    pub(crate) tool: Option<Named>,
}

/// Rules of a whole session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    pub(crate) agent: String,
    pub(crate) phases: Phases,
    pub(crate) limits: Limits,
    pub(crate) risk_defaults: BTreeMap<SideEffect, RiskGate>,
    pub(crate) policy: SessionPolicy,
    pub(crate) providers: BTreeMap<String, ProviderConstraints>,
    /// The path of a resource's instance in arguments, by alias.
    pub(crate) resources: BTreeMap<String, JsonPath>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) envelopes: Vec<Envelope>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The rules over the whole session, those of the run's own behind those of the file.
    pub(crate) rules: Vec<SessionRule>,
    pub(crate) schema_derived: bool,
    pub(crate) suppressions: Vec<Suppression>,
}

impl Session {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Self {
        if !reader.is_map(at, &FIELDS) {
            return Self { schema_derived: true, ..Self::default() };
        }
        check_version(at, reader);
        let agent = reader.required_name(at, "agent").map(|agent| agent.name).unwrap_or_default();
        let phases = Phases::read(at, reader);
        let aggregates = reader.items(at, "aggregates", Aggregate::read);
        check_unique("aggregate", aggregates.iter().map(|aggregate| &aggregate.name), reader);
        let envelopes = reader.items(at, "envelopes", Envelope::read);
        check_unique("envelope", envelopes.iter().map(|envelope| &envelope.name), reader);
        let checkpoints = reader.items(at, "checkpoints", Checkpoint::read_of_session);
        check_unique("checkpoint", checkpoints.iter().map(|(name, _)| name), reader);
        Self {
            agent,
            phases,
            limits: at.present("session_limits").map(|value| Limits::read(&value, reader)).unwrap_or_default(),
            risk_defaults: at.present("risk_defaults").map(|value| read_risks(&value, reader)).unwrap_or_default(),
            policy: at.present("policy").map(|value| SessionPolicy::read(&value, reader)).unwrap_or_default(),
            providers: read_providers(at, reader),
            resources: read_resources(at, reader),
            aggregates,
            envelopes,
            checkpoints: checkpoints.into_iter().map(|(_, checkpoint)| checkpoint).collect(),
            rules: read_rules(at, reader),
            schema_derived: reader.flag(at, "schema_derived", true),
            suppressions: read_suppressions(at, reader),
        }
    }
}

/// Reports a version that is not read.
pub(crate) fn check_version(at: &At<'_>, reader: &mut Reader) {
    if let Some(version) = reader.required(at, "schema_version")
        && version.node.scalar() != Some(SCHEMA_VERSION)
    {
        let message = format!("this version reads `{SCHEMA_VERSION}`, found {}", version.node.describe());
        reader.report(Code::UnsupportedSchemaVersion, &version, message);
    }
}

/// Reports names that stand twice.
pub(crate) fn check_unique<'a>(kind: &str, names: impl Iterator<Item = &'a Named>, reader: &mut Reader) {
    let mut seen = BTreeMap::new();
    for name in names {
        if let Some(line) = seen.insert(name.name.clone(), name.place.span.line) {
            let message = format!("there is already {} {kind} `{}`, on line {line}", article(kind), name.name);
            reader.diagnostics.report(Code::DuplicateName, &name.place, message);
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e']) { "an" } else { "a" }
}

fn read_risks(at: &At<'_>, reader: &mut Reader) -> BTreeMap<SideEffect, RiskGate> {
    if at.node.entries().is_none() {
        reader.wrong_type(at, "a map from side effects to `allow` or `block`");
    }
    let known: Vec<_> = SideEffect::WORDS.iter().map(|(word, _)| *word).collect();
    reader.is_map(at, &known);
    let read = |(word, effect): &(&str, SideEffect)| Some((*effect, reader.word_of(at, word, &RiskGate::WORDS)?));
    SideEffect::WORDS.iter().filter_map(read).collect()
}

fn read_providers(at: &At<'_>, reader: &mut Reader) -> BTreeMap<String, ProviderConstraints> {
    let Some(providers) = at.present("provider_constraints") else { return BTreeMap::new() };
    if providers.node.entries().is_none() {
        reader.wrong_type(&providers, "a map of providers");
    }
    let read = |(name, value): (Named, At<'_>)| (name.name, ProviderConstraints::read(&value, reader));
    providers.entries().into_iter().map(read).collect()
}

fn read_resources(at: &At<'_>, reader: &mut Reader) -> BTreeMap<String, JsonPath> {
    let Some(resources) = at.present("resources") else { return BTreeMap::new() };
    if resources.node.entries().is_none() {
        reader.wrong_type(&resources, "a map of resources");
    }
    let mut read = |(alias, value): (Named, At<'_>)| {
        // Where its instance stands may be left out when only workflows name the resource.
        reader.is_map(&value, &["type", "extract_from"]);
        let path = value.present("extract_from").and_then(|from| {
            reader.is_map(&from, &["path"]);
            reader.required_path(&from, "path")
        });
        (alias.name, path)
    };
    let read: Vec<_> = resources.entries().into_iter().map(&mut read).collect();
    let absent = || JsonPath::parse("$['']").ok();
    read.into_iter().filter_map(|(alias, path)| Some((alias, path.or_else(absent)?))).collect()
}

fn read_suppressions(at: &At<'_>, reader: &mut Reader) -> Vec<Suppression> {
    let Some(analysis) = at.present("graph_analysis") else { return Vec::new() };
    reader.is_map(&analysis, &["suppress"]);
    reader.items(&analysis, "suppress", read_suppression)
}

fn read_suppression(at: &At<'_>, reader: &mut Reader) -> Option<Suppression> {
    if !reader.is_map(at, &["check", "tool", "reason"]) {
        return None;
    }
    let warnings = Code::ALL.iter().filter(|code| code.class() == Class::Warning);
    let words: Vec<_> = warnings.map(|code| (code.name(), *code)).collect();
    let check = reader.required(at, "check").and_then(|value| reader.word(&value, &words));
    let tool = at.present("tool").and_then(|value| reader.named(&value));
    reader.reason(at, Code::SuppressionReasonRequired, "a suppression");
    Some(Suppression { check: check?, tool })
}
