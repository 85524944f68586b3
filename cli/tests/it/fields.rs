//! Every field of the language has an example that notices when it is ignored: `scripts/fields.yaml` says which. That they do
//! notice is what `scripts/fields` tries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use scenario::spec::reference::topics;
use scenario::spec::yaml::{Limits, parse};
use serde_json::Value as Json;

use crate::root;

/// A YAML file as JSON.
fn read(path: &str) -> Json {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (node, diagnostics) = parse(&text, Limits::default());
    node.unwrap_or_else(|| panic!("{path}: {diagnostics:?}")).to_json()
}

/// The fields of the language, as the reference names them. A section that stands in several places counts once.
fn fields() -> BTreeSet<String> {
    let topics = topics();
    let end = topics.iter().position(|topic| topic.name == "comparison").expect("comparisons come after all sections");
    let repeated: Vec<_> = topics.iter().filter(|topic| topic.same_as.is_some()).map(|topic| &topic.name).collect();
    let is_repeated = |name: &str| repeated.iter().any(|section| name.starts_with(&format!("{section}.")));
    let names = topics[..end].iter().filter(|topic| topic.text.starts_with("# ")).map(|topic| topic.name.clone());
    names.filter(|name| !is_repeated(name)).collect()
}

/// Returns true if a spec has a field.
fn uses(node: &Json, steps: &[&str]) -> bool {
    let Some((first, rest)) = steps.split_first() else { return true };
    match node {
        Json::Array(list) => list.iter().any(|one| uses(one, steps)),
        Json::Object(map) => {
            let inside = |value: &Json| match (value, *first) {
                (Json::Object(named), "invariants") => named.values().any(|one| uses(one, rest)),
                _ => uses(value, rest),
            };
            let kind = map.get("type").or_else(|| map.get("mode")).and_then(Json::as_str).unwrap_or("image");
            map.get(*first).is_some_and(inside) || (!rest.is_empty() && kind == *first && uses(node, rest))
        }
        _ => false,
    }
}

/// A part of the table.
fn part(name: &str) -> BTreeMap<String, Json> {
    let table = read("scripts/fields.yaml");
    let part = table[name].as_object().unwrap_or_else(|| panic!("`{name}` is a map"));
    part.iter().map(|(field, entry)| (field.clone(), entry.clone())).collect()
}

#[test]
fn every_field_has_an_example_or_a_reason() {
    let (covered, unseen) = (part("covered"), part("unseen"));
    let both: Vec<_> = covered.keys().filter(|field| unseen.contains_key(*field)).collect();
    assert_eq!(both, Vec::<&String>::new(), "a field is covered or unseen");
    let listed: BTreeSet<String> = covered.into_keys().chain(unseen.into_keys()).collect();
    let fields = fields();
    let missing: Vec<_> = fields.difference(&listed).collect();
    assert_eq!(missing, Vec::<&String>::new(), "scripts/fields.yaml does not have them");
    let unknown: Vec<_> = listed.difference(&fields).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "the language does not have them");
}

#[test]
fn examples_use_the_fields_that_they_are_named_for() {
    for (field, entry) in part("covered") {
        let example =
            entry.as_str().or_else(|| entry["example"].as_str()).unwrap_or_else(|| panic!("{field}: {entry}"));
        let spec = read(&format!("specs/{example}/spec.yaml"));
        assert!(uses(&spec, &field.split('.').collect::<Vec<_>>()), "{example} does not use {field}");
    }
}

#[test]
fn what_is_unseen_has_a_reason_and_the_tests_that_it_names_exist() {
    for (field, reason) in part("unseen") {
        let reason = reason.as_str().unwrap_or_else(|| panic!("{field} needs a reason"));
        assert!(!reason.is_empty(), "{field} needs a reason");
        if let Some((_, test)) = reason.split_once("; ") {
            assert!(root().join(test).is_file(), "{field}: there is no {test}");
        }
    }
}
