//! `mutations`: each kind once, something to judge them by, and no name that is also one of theirs.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::path::Path;
use crate::spec::sections::{Chaos, ContractInvariant, MutationKind, Mutations};
use crate::spec::template::{Bindings, Reference, Text};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    if let Some(mutations) = &spec.mutations {
        let mut rules = rules.at("mutations");
        check_types(&mut rules, mutations);
        check_model(&mut rules, mutations);
        check_templates(&mut rules, mutations);
        check_judged(&mut rules);
    }
    for (prefix, section, is_there) in
        [("mutation-", "mutations", spec.mutations.is_some()), ("replay-", "replays", !spec.replays.is_empty())]
    {
        if is_there {
            check_names(rules, prefix, section);
        }
    }
}

/// A kind that stands twice would only take the share of others.
fn check_types(rules: &mut Rules<'_>, mutations: &Mutations) {
    let mut seen = BTreeSet::new();
    for (index, kind) in mutations.types.iter().flat_map(|types| types.iter()).enumerate() {
        if !seen.insert(*kind) {
            let message = format!("`{kind}` stands here twice");
            let help = "raise `count` for more mutations of each kind";
            rules.at("types").index(index).report(Code::DuplicateName, message, Some(help));
        }
    }
}

/// Kinds that a model writes have one, and a model has something to write.
fn check_model(rules: &mut Rules<'_>, mutations: &Mutations) {
    let written = mutations.types.iter().flat_map(|types| types.iter()).find(|kind| kind.needs_model());
    match (written, &mutations.model) {
        (Some(kind), None) => {
            let message = format!("`{kind}` is written by a model, and the key `model` is missing");
            rules.report_key(
                Code::MissingKey,
                message,
                Some("name a model as for `llm_as_judge`, or leave out this type"),
            );
        }
        (None, Some(_)) => {
            let words: Vec<_> = MutationKind::WITH_MODEL.into_iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("a model writes nothing here: {} are not among the types", words.join(", "));
            rules.at("model").report_key(
                Code::NoEffect,
                message,
                Some("add one of them to `types`, or remove `model`"),
            );
        }
        _ => {}
    }
}

/// The type `custom` has templates and they have it, and each has a place for the prompt.
fn check_templates(rules: &mut Rules<'_>, mutations: &Mutations) {
    let is_custom = mutations.types.as_ref().map(|types| types.contains(&MutationKind::Custom));
    let Some(templates) = &mutations.templates else {
        if is_custom == Some(true) {
            let help = "list texts with `{{ task.prompt }}` in them, or leave out this type";
            rules.report_key(Code::MissingKey, "`custom` has no texts: the key `templates` is missing", Some(help));
        }
        return;
    };
    let mut rules = rules.at("templates");
    if is_custom == Some(false) {
        let help = "add it to `types`, or remove `templates`";
        rules.report_key(Code::NoEffect, "the templates are not used: `custom` is not among the types", Some(help));
    }
    let mut seen = BTreeSet::new();
    for (index, template) in templates.iter().enumerate() {
        let mut rules = rules.index(index);
        check_template(&mut rules, template);
        if !seen.insert(template.source()) {
            rules.report(Code::DuplicateName, "this template stands here twice", Some("remove one of them"));
        }
    }
}

/// A template without the prompt would ask the same for every prompt, and one with nothing else would change none.
fn check_template(rules: &mut Rules<'_>, template: &Text) {
    if !template.references().any(|reference| *reference == Reference::TaskPrompt) {
        let near = ["{{ prompt }}", "{{prompt}}", "{prompt}"].into_iter().find(|near| template.source().contains(near));
        let help = near.map_or_else(
            || "write `{{ task.prompt }}` where the prompt belongs".to_owned(),
            |near| format!("write `{{{{ task.prompt }}}}` instead of `{near}`"),
        );
        rules.report(Code::InvalidTemplate, "the template has no place for the prompt", Some(&help));
    } else if template.references().count() == 1 && template.render(&Nothing).trim().is_empty() {
        let help = "write something around `{{ task.prompt }}`";
        rules.report(Code::InvalidTemplate, "the template changes nothing", Some(help));
    }
}

/// Empty values for all references.
struct Nothing;

impl Bindings for Nothing {
    fn value(&self, _: &Reference) -> Option<Json> {
        Some("".into())
    }
}

/// Checks that some judged check is about the agent's output; otherwise every mutation would pass.
fn check_judged(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let own = spec.invariants.values().any(|invariant| invariant.check.is_about_output());
    let judges = |invariant: &ContractInvariant| {
        let rule = &invariant.rule;
        rule.probes.is_none() && rule.when.holds_in(&Chaos::none()) && invariant.check.is_about_output()
    };
    let of_contract = spec.contract.iter().flat_map(|contract| contract.invariants.iter()).any(judges);
    let is_broken = rules.holes.has_broken_invariant() || rules.holes.has_section("contract");
    if !own && !of_contract && !is_broken {
        let message = "nothing that is judged without faults is about the agent's output, so every mutation would pass";
        let help = "add an invariant such as `check: { type: contains, value: … }`";
        rules.report_key(Code::MissingCondition, message, Some(help));
    }
}

/// Ids of scenarios are made from these names.
fn check_names(rules: &mut Rules<'_>, prefix: &str, section: &str) {
    let spec = rules.spec;
    let is_taken = |name: &str| name.starts_with(prefix);
    let list = |name: &str| match spec.contract.as_ref().is_some_and(|contract| contract.chaos_matrix.is_some()) {
        true => Path::from(["contract", name]),
        false => Path::from([name]),
    };
    let message = |name: &str| format!("`{name}` begins like the ids of the scenarios of `{section}`");
    let help = Some("choose another name");
    for (index, cell) in spec.chaos_cells().enumerate().filter(|(_, cell)| is_taken(&cell.own.name)) {
        let mut matrix = rules.moved(list("chaos_matrix"));
        matrix.index(index).at("name").report(Code::InvalidValue, message(&cell.own.name), help);
    }
    let invariants = spec.contract.iter().flat_map(|contract| contract.invariants.iter());
    for (index, invariant) in invariants.enumerate().filter(|(_, invariant)| is_taken(&invariant.rule.id)) {
        let mut invariants = rules.moved(Path::from(["contract", "invariants"]));
        invariants.index(index).at("id").report(Code::InvalidValue, message(&invariant.rule.id), help);
    }
}
