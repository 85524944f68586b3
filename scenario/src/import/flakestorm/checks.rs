//! Invariants and the contract.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::fields::Fields;
use super::placeholders::{literal, name};

/// Types of invariants, each with its own keys.
const TYPES: [(&str, &[&str]); 12] = [
    ("contains", &["value"]),
    ("contains_any", &["values"]),
    ("regex", &["pattern"]),
    ("excludes_pattern", &["patterns"]),
    ("latency", &["max_ms"]),
    ("valid_json", &[]),
    ("similarity", &["expected", "threshold"]),
    ("excludes_pii", &[]),
    ("refusal_check", &[]),
    ("completes", &[]),
    ("output_not_empty", &[]),
    ("behavior_unchanged", &["baseline", "similarity_threshold"]),
];
/// Keys that all invariants have.
const COMMON: [&str; 4] = ["type", "description", "negate", "dangerous_prompts"];
/// Keys that those of a contract have besides.
const OF_CONTRACT: [&str; 4] = ["id", "severity", "when", "probes"];
/// Keys whose texts templates of ours would be read in.
const TEXTS: [&str; 4] = ["value", "values", "expected", "baseline"];

/// The invariants of the file, each with a name that is made from its type.
pub(super) fn invariants(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let mut invariants = Map::new();
    for item in file.list("invariants", import) {
        let Some(check) = check(&item, &[], import) else { continue };
        let kind = check["type"].as_str().unwrap_or_default().to_owned();
        if kind == "behavior_unchanged" && item.text("baseline").is_none_or(|baseline| baseline == "auto") {
            import.note(
                &item.place("baseline"),
                "left out: only rules of a contract are compared with a run without faults",
            );
            continue;
        }
        let count = invariants.keys().filter(|name: &&String| name.starts_with(&kind)).count();
        let called = if count == 0 { kind.clone() } else { format!("{kind}_{}", count + 1) };
        let description =
            item.text("description").map_or_else(|| format!("The invariant `{kind}` holds"), ToOwned::to_owned);
        let mut invariant = json!({ "description": description });
        if item.get("negate") == Some(&json!(true)) {
            invariant["negate"] = json!(true);
        }
        invariant["check"] = Json::Object(check);
        invariants.insert(called, invariant);
    }
    (!invariants.is_empty()).then_some(Json::Object(invariants))
}

/// The contract, without its chaos cells.
pub(super) fn contract(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let contract = file.section("contract")?;
    contract.note_unknown(&["name", "description", "invariants", "chaos_matrix"], import);
    let mut rules: Vec<Json> = Vec::new();
    for item in contract.list("invariants", import) {
        let Some(check) = check(&item, &OF_CONTRACT, import) else { continue };
        let mut rule = Map::new();
        let id = name(item.text("id").unwrap_or("rule"), 90).replace("--", "-");
        if item.text("id") != Some(id.as_str()) {
            import.note(&item.place("id"), format!("is `{id}` here, as ids of scenarios are made with it"));
        }
        rule.insert("id".to_owned(), json!(id));
        rule.extend(item.only(&["description", "severity", "when", "negate"]));
        if let Some(probes) = item.get("probes").and_then(Json::as_array) {
            let probes = probes.iter().filter_map(Json::as_str).map(|probe| json!(literal(probe)));
            rule.insert("probes".to_owned(), probes.collect());
        }
        rule.extend(check);
        rules.push(Json::Object(rule));
    }
    if rules.is_empty() {
        import.note("contract", "left out: it has no invariant that can be converted");
        return None;
    }
    let mut written = Map::new();
    written.insert("name".to_owned(), json!(literal(contract.text("name").unwrap_or("Contract"))));
    written.extend(contract.only(&["description"]));
    written.insert("invariants".to_owned(), Json::Array(rules));
    Some(Json::Object(written))
}

/// The check of an invariant; `None` when there is none like it.
fn check(item: &Fields<'_>, more: &[&str], import: &mut Import) -> Option<Map<String, Json>> {
    let kind = item.text("type").unwrap_or_default();
    let Some((_, keys)) = TYPES.iter().find(|(known, _)| *known == kind) else {
        import.note(&item.place("type"), format!("left out: there is no invariant of the type `{kind}`"));
        return None;
    };
    item.note_unknown(&[&COMMON[..], more, keys].concat(), import);
    let mut check = item.only(&["type"]);
    check.extend(item.only(keys));
    for (key, value) in &mut check {
        if TEXTS.contains(&key.as_str()) {
            escape(value);
        }
    }
    if kind == "excludes_pattern" && has_no_patterns(&check) {
        check.insert("literal".to_owned(), json!(true));
        import.note(&item.place("patterns"), "compared as texts, since they are no regular expressions");
    }
    Some(check)
}

fn escape(value: &mut Json) {
    match value {
        Json::String(text) => *text = literal(text),
        Json::Array(items) => items.iter_mut().for_each(escape),
        _ => {}
    }
}

/// Returns true if one of the patterns is no regular expression.
fn has_no_patterns(check: &Map<String, Json>) -> bool {
    let patterns = check.get("patterns").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    patterns.iter().filter_map(Json::as_str).any(|pattern| regex::Regex::new(pattern).is_err())
}
