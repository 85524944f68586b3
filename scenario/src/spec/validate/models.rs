//! `model`: each mode has what it needs.

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{Model, ModelMode, Turn};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let Some(model) = &spec.model else { return };
    let mut rules = rules.at("model");
    check_mode(&mut rules, model);
    for (index, turn) in model.turns.iter().enumerate() {
        check_turn(&mut rules.at("turns").index(index), turn);
    }
    for (index, rule) in model.rules.iter().enumerate() {
        check_turn(&mut rules.at("match").index(index).at("turn"), &rule.turn);
    }
    let key = model.upstream.as_ref().and_then(|upstream| upstream.api_key.as_ref());
    if let Some(key) = key
        && !rules.holes.has_section("secrets")
        && !spec.secrets.iter().any(|secret| secret.name() == key)
    {
        let help = "declare it under `secrets`";
        rules.at("upstream").at("api_key").report(
            Code::InvalidTemplate,
            format!("there is no secret `{key}`"),
            Some(help),
        );
    }
}

fn check_mode(rules: &mut Rules<'_>, model: &Model) {
    let scripted = model.mode == ModelMode::Scripted;
    let forwards = matches!(model.mode, ModelMode::Proxy | ModelMode::Record);
    let empty = model.turns.is_empty() && model.rules.is_empty();
    if scripted && empty {
        rules.report(Code::MissingKey, "a scripted model needs `turns` or `match`", None);
    }
    if forwards && model.upstream.is_none() {
        rules.report(
            Code::MissingKey,
            format!("the key `upstream` is missing: where does `{}` forward to?", model.mode),
            None,
        );
    }
    if let Some(upstream) = &model.upstream {
        match (&upstream.alias, &upstream.base_url) {
            (None, None) => {
                rules.at("upstream").report(Code::MissingKey, "an upstream needs `alias` or `base_url`", None)
            }
            (Some(_), Some(_)) => rules.at("upstream").one_of(&["alias", "base_url"]),
            _ => {}
        }
    }
    match (&model.recording, model.mode) {
        (None, ModelMode::Replay) => {
            rules.report(Code::MissingKey, "the key `recording` is missing: what is replayed?", None)
        }
        (None, ModelMode::Record) => {
            rules.report(Code::MissingKey, "the key `recording` is missing: where is it kept?", None)
        }
        (Some(path), ModelMode::Replay) => rules.at("recording").needs_file(path.as_str()),
        _ => {}
    }
    let unused = [
        ("turns", !scripted && !model.turns.is_empty()),
        ("match", !scripted && !model.rules.is_empty()),
        ("upstream", !forwards && model.upstream.is_some()),
        ("recording", model.recording.is_some() && !matches!(model.mode, ModelMode::Record | ModelMode::Replay)),
    ];
    for (key, unused) in unused {
        if unused {
            rules.at(key).report_key(
                Code::NoEffect,
                format!("`{key}` changes nothing with `mode: {}`", model.mode),
                None,
            );
        }
    }
}

fn check_turn(rules: &mut Rules<'_>, turn: &Turn) {
    let own = turn.content.is_some() || !turn.tool_calls.is_empty();
    match (own, turn.variants.is_empty()) {
        (false, true) => rules.report(Code::MissingKey, "a turn needs `content`, `tool_calls` or `variants`", None),
        (true, false) => rules.at("variants").report_key(
            Code::ConflictingKeys,
            "`variants` replaces `content` and `tool_calls`",
            Some("keep one of them"),
        ),
        _ => {}
    }
    for (index, variant) in turn.variants.iter().enumerate() {
        if variant.content.is_none() && variant.tool_calls.is_empty() {
            rules.at("variants").index(index).report(
                Code::MissingKey,
                "a variant needs `content` or `tool_calls`",
                None,
            );
        }
    }
}
