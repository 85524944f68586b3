//! Reads rules: which kind one is, and the keys that belong to it.

use super::{DataFlow, Flow, Obligation, Precedence, Quota, RuleKind, SessionRule, Window, WorldState};
use crate::code::Code;
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};

/// The keys that say which kind a rule is, each with all keys of that kind.
const KINDS: [(&str, &[&str]); 5] = [
    ("after", &["every", "after", "same"]),
    ("at_most", &["at_most", "of", "per"]),
    ("then", &["every", "then", "within", "same"]),
    ("never", &["never", "with"]),
    ("when_state", &["every", "when_state"]),
];

/// The keys of all rules.
const KEYS: [&str; 13] =
    ["id", "reason", "every", "after", "same", "at_most", "of", "per", "then", "within", "never", "with", "when_state"];

/// The forms of a rule, for messages.
const FORMS: &str = "a rule is `every` with `after`, `at_most` with `of`, `every` with `then`, `never` with `with`, or \
    `every` with `when_state`";

/// The rules in the list `rules`.
pub(crate) fn read_rules(at: &At<'_>, reader: &mut Reader) -> Vec<SessionRule> {
    reader.items(at, "rules", SessionRule::read)
}

impl SessionRule {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &KEYS) {
            return None;
        }
        let id = reader.required_name(at, "id");
        let reason = at.present("reason").and_then(|value| reader.text(&value)).unwrap_or_default();
        let kind = read_kind(at, reader);
        let id = id?;
        let rule = format!("rules/{}", id.name);
        Some(Self { id, kind: kind?, reason, rule })
    }
}

fn read_kind(at: &At<'_>, reader: &mut Reader) -> Option<RuleKind> {
    let found: Vec<_> = KINDS.iter().filter(|(key, _)| at.get(key).is_some()).collect();
    let [(kind, keys)] = found.as_slice() else {
        let found: Vec<_> = found.iter().map(|(key, _)| format!("`{key}`")).collect();
        let message = match found.len() {
            0 => "the rule says none of `after`, `at_most`, `then`, `never` and `when_state`".to_owned(),
            _ => format!("{} are in one rule", found.join(" and ")),
        };
        reader.report(Code::InvalidRule, at, message).help(Some(FORMS.to_owned()));
        return None;
    };
    let is_foreign = |key: &str| KEYS.contains(&key) && !["id", "reason"].contains(&key) && !keys.contains(&key);
    for (key, _) in at.entries().iter().filter(|(key, _)| is_foreign(&key.name)) {
        let message = format!("`{}` does not belong to a rule with `{kind}`", key.name);
        reader.diagnostics.report(Code::InvalidRule, &key.place, message).help(Some(FORMS.to_owned()));
    }
    match *kind {
        "after" => read_precedence(at, reader).map(RuleKind::Precedence),
        "at_most" => read_quota(at, reader).map(RuleKind::Quota),
        "then" => read_obligation(at, reader).map(RuleKind::Obligation),
        "never" => read_data_flow(at, reader).map(RuleKind::DataFlow),
        _ => WorldState::read(at, reader).map(RuleKind::WorldState),
    }
}

fn read_precedence(at: &At<'_>, reader: &mut Reader) -> Option<Precedence> {
    let (tool, prior) = (reader.required_name(at, "every"), reader.required_name(at, "after"));
    let same = optional_path(at, "same", reader)?;
    Some(Precedence { tool: tool?, prior: prior?, same })
}

fn read_quota(at: &At<'_>, reader: &mut Reader) -> Option<Quota> {
    let tool = reader.required_name(at, "of");
    let most = reader.required(at, "at_most").and_then(|_| reader.whole(at, "at_most", Code::InvalidLimit, 0));
    let per = optional_path(at, "per", reader)?;
    Some(Quota { tool: tool?, most: most?, per })
}

fn read_obligation(at: &At<'_>, reader: &mut Reader) -> Option<Obligation> {
    let (tool, then) = (reader.required_name(at, "every"), reader.required_name(at, "then"));
    let within = match at.present("within") {
        Some(window) => Some(read_window(&window, reader)?),
        None => None,
    };
    let same = optional_path(at, "same", reader)?;
    Some(Obligation { tool: tool?, then: then?, within, same })
}

fn read_window(at: &At<'_>, reader: &mut Reader) -> Option<Window> {
    if !reader.is_map(at, &["calls", "steps"]) {
        return None;
    }
    let calls = reader.whole(at, "calls", Code::InvalidLimit, 1);
    let steps = reader.whole(at, "steps", Code::InvalidLimit, 1);
    match (at.present("calls").is_some(), at.present("steps").is_some()) {
        (true, false) => calls.map(Window::Calls),
        (false, true) => steps.map(Window::Steps),
        _ => {
            reader.report(Code::InvalidRule, at, "`within` is either `{ calls: … }` or `{ steps: … }`");
            None
        }
    }
}

fn read_data_flow(at: &At<'_>, reader: &mut Reader) -> Option<DataFlow> {
    let tool = reader.required_name(at, "never");
    let with = reader.required(at, "with")?;
    if with.node.entries().is_none() {
        reader.wrong_type(&with, "a map from arguments to `{ from: … }`");
        return None;
    }
    let flows: Vec<_> =
        with.entries().iter().filter_map(|(argument, from)| read_flow(argument, from, reader)).collect();
    if with.entries().is_empty() {
        reader.report(Code::InvalidRule, &with, "`with` names no argument, so the rule would never apply");
    }
    Some(DataFlow { tool: tool?, flows }).filter(|rule| !rule.flows.is_empty())
}

/// An argument by its name or path, and the tool that its value may not come from.
fn read_flow(argument: &Named, at: &At<'_>, reader: &mut Reader) -> Option<Flow> {
    if !reader.is_map(at, &["from"]) {
        return None;
    }
    let from = reader.required_name(at, "from");
    let written = match argument.name.starts_with('$') {
        true => JsonPath::parse(&argument.name),
        false => Ok(JsonPath::of_name(&argument.name)),
    };
    match written {
        Ok(path) => Some(Flow { argument: path, from: from? }),
        Err(problem) => {
            reader.diagnostics.report(Code::InvalidPath, &argument.place, problem.to_string());
            None
        }
    }
}

/// Reads the path under an optional key; `None` when the value is no path.
#[expect(clippy::option_option, reason = "an absent path and an invalid one differ")]
fn optional_path(at: &At<'_>, key: &str, reader: &mut Reader) -> Option<Option<JsonPath>> {
    match at.present(key) {
        Some(value) => reader.path(&value).map(Some),
        None => Some(None),
    }
}
