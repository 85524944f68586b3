//! `context_attacks`: every attack has a text, and a place to stand at.

use super::chaos::check_trigger;
use super::rules::Rules;
use super::tool_targets::check_target;
use crate::spec::code::Code;
use crate::spec::path::Segment;
use crate::spec::sections::chaos::{AttackKind, AttackPlace, ContextAttack, ContextAttacks, OverflowIn, PlantedIn};
use crate::spec::sections::{ToolTarget, Trigger};
use crate::spec::types::{ToolGlob, WorkspacePath};

pub(super) fn check(rules: &mut Rules<'_>, attacks: &ContextAttacks) {
    for (step, attack) in attacks.steps() {
        let mut rules = match step {
            Segment::Key(key) => rules.at(&key),
            Segment::Index(index) => rules.index(index),
        };
        check_texts(&mut rules, attack);
        if attack.common.trigger_probability.is_some()
            && attack.trigger.probability != attack.common.trigger_probability
        {
            rules.one_of(&["probability", "trigger_probability"]);
        }
        match attack.place() {
            AttackPlace::Answer { tool, match_url, .. } => {
                check_answers(&mut rules, tool, match_url.cloned());
                check_trigger(&mut rules, &attack.trigger);
            }
            AttackPlace::Prompt(_) => check_start(&mut rules, attack, None),
            AttackPlace::File(path, _) => check_start(&mut rules, attack, Some(path)),
        }
    }
}

/// Texts have something in them.
fn check_texts(rules: &mut Rules<'_>, attack: &ContextAttack) {
    if attack.common.payload.as_ref().is_some_and(|payload| payload.trim().is_empty()) {
        rules.at("payload").report(Code::InvalidValue, "the text is empty", None);
    }
    for (index, payload) in attack.common.payloads.iter().enumerate() {
        if payload.trim().is_empty() {
            rules.at("payloads").index(index).report(Code::InvalidValue, "the text is empty", None);
        }
    }
}

/// Answers can carry a text when they are those of a mock.
fn check_answers(rules: &mut Rules<'_>, tool: Option<&ToolGlob>, match_url: Option<crate::spec::types::UrlGlob>) {
    if let Some(tool) = tool {
        let target = ToolTarget { tool: tool.clone(), match_url };
        check_target(rules, &target, "`http_mock`", |service| service.mock().is_some());
        return;
    }
    let spec = rules.spec;
    let has_tools = !spec.tools.is_empty() || rules.holes.has_section("tools");
    if !has_tools
        && spec.services.iter().all(|service| service.mock().is_none())
        && !rules.holes.has_section("services")
    {
        let message = "there is no `http_mock` and no tool whose answers could carry this text";
        rules.report(Code::NeverFires, message, Some("add one, or put the text into the prompt or a file"));
    }
}

/// Checks that an attack that exists from the start has a file when it needs one, and no trigger but its probability.
fn check_start(rules: &mut Rules<'_>, attack: &ContextAttack, file: Option<Option<&WorkspacePath>>) {
    match file {
        Some(None) => rules.report(Code::MissingKey, "`target: file` needs `path`", Some("write `path: notes.md`")),
        Some(Some(path)) if path.source().contains(['*', '?', '[', '{']) => {
            let message = "the path of one file is needed: no globs and no templates";
            rules.at("path").report(Code::InvalidPath, message, None);
        }
        None if has_path(&attack.kind) => {
            rules.at("path").report_key(Code::NoEffect, "without `target: file` this does nothing", None);
        }
        Some(Some(_)) | None => {}
    }
    let Trigger { probability, .. } = &attack.trigger;
    if probability.is_some_and(|probability| probability.get() == 0.0) {
        let message = "with a probability of 0 this attack is never there";
        rules.report(Code::NeverFires, message, Some("use `enabled: false`, or give it a chance"));
    }
    for key in ["after_calls", "on_calls", "times", "every", "burst", "for", "between"] {
        if rules.has(key) {
            let message = format!("`{}` is there from the start, so that `{key}` does nothing", attack.kind.word());
            rules.at(key).report_key(Code::NoEffect, message, Some("only `probability` applies"));
        }
    }
}

/// Returns true if an attack names a file that its target makes no use of.
fn has_path(kind: &AttackKind) -> bool {
    match kind {
        AttackKind::MemoryPoisoning(attack) => attack.target == PlantedIn::Prompt && attack.path.is_some(),
        AttackKind::ConflictingContext(attack) => attack.target == PlantedIn::Prompt && attack.path.is_some(),
        AttackKind::InjectionViaContext(attack) => attack.target == PlantedIn::Prompt && attack.path.is_some(),
        AttackKind::Overflow(attack) => attack.target != OverflowIn::File && attack.path.is_some(),
        AttackKind::IndirectInjection(_) | AttackKind::WorkspacePoisoning(_) => false,
    }
}
