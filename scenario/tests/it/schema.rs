//! The schema for editors and the loader agree.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use scenario::spec::code::Code;
use scenario::spec::diagnostic::Severity;
use scenario::spec::load;
use scenario::spec::schema::schema;
use scenario::suite::reference::{capabilities_schema, suite_schema};

use crate::corpus::examples;

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft202012::new(&schema()).expect("a schema"));

/// The examples as JSON. Files beside them are not there, so only the form of values is compared.
static EXAMPLES: LazyLock<Vec<(String, Json)>> = LazyLock::new(|| {
    examples().into_iter().map(|case| (case.name, serde_yaml::from_str(&case.text).expect("YAML"))).collect()
});

fn complaints(spec: &Json) -> Vec<String> {
    VALIDATOR.iter_errors(spec).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The errors of the loader, and whether one of them is about the form that a schema can know.
fn errors(spec: &Json) -> (Vec<Code>, bool) {
    let codes: Vec<_> = load(&spec.to_string(), None)
        .diagnostics
        .into_iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .map(|finding| finding.code)
        .collect();
    let structural = codes
        .iter()
        .any(|code| matches!(code, Code::UnknownKey | Code::WrongType | Code::UnknownChoice | Code::NotSupportedYet));
    (codes, structural)
}

#[test]
fn the_schema_accepts_every_example() {
    for (name, spec) in EXAMPLES.iter() {
        assert_eq!(complaints(spec), Vec::<String>::new(), "{name}");
    }
}

const REFERENCE: &str = include_str!("../../../docs/spec-reference.md");

/// The heading of the part about other files than specs.
const SUITES: &str = "\n# Suite files";

/// The examples of a part of the reference, as text and as JSON.
fn blocks(part: &str) -> Vec<(&str, Json)> {
    let texts = part.split("```yaml\n").skip(1).map(|block| block.split("```").next().expect("a block"));
    let read = |text| serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    texts.map(|text| (text, read(text))).collect()
}

/// The examples of the reference, each of which is a part of a spec, or a check.
#[test]
fn the_schema_accepts_the_examples_of_the_reference() {
    let (specs, _) = REFERENCE.split_once(SUITES).expect("two parts");
    let mut seen = 0;
    for (text, part) in blocks(specs) {
        let mut spec = json!({
            "version": 1, "id": "x", "base": "debian", "task": {"prompt": "x"},
            "invariants": {"x": {"description": "x", "check": {"type": "file_exists", "path": "x"}}},
        });
        for (key, value) in part.as_object().expect("keys") {
            match key.as_str() {
                "check" => spec["invariants"]["x"]["check"] = value.clone(),
                key => spec[key] = value.clone(),
            }
        }
        assert_eq!(complaints(&spec), Vec::<String>::new(), "{text}");
        assert!(!errors(&spec).1, "{text}");
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn the_schemas_of_suites_accept_their_examples() {
    let (_, suites) = REFERENCE.split_once(SUITES).expect("two parts");
    let blocks = blocks(suites);
    assert!(blocks.len() >= 2, "{}", blocks.len());
    for (text, part) in blocks {
        let schema = if part["suite"].is_string() { suite_schema() } else { capabilities_schema() };
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let complaints: Vec<_> = validator.iter_errors(&part).map(|error| error.to_string()).collect();
        assert_eq!(complaints, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_schema_describes_every_key() {
    fn walk(schema: &Json, at: &str) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, property) in properties.iter().filter(|(key, _)| !["type", "mode"].contains(&key.as_str())) {
                assert!(
                    property["description"].as_str().is_some_and(|text| text.len() > 5),
                    "{at}.{key} has no description"
                );
            }
        }
        for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
            walk(part, name);
        }
        for rule in schema["allOf"].as_array().into_iter().flatten() {
            walk(&rule["then"], at);
        }
    }
    walk(&schema(), "spec");
}

/// Every place in a JSON value, as pointers.
fn places(json: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match json {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found))
        }
        Json::Object(fields) => {
            fields.iter().for_each(|(key, value)| places(value, &format!("{at}/{}", escape(key)), found))
        }
        _ => {}
    }
}

#[derive(Debug, Clone)]
enum Change {
    Replace(Json),
    Remove,
    AddKey(String),
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!(99999)),
        Just(json!("")),
        Just(json!("word")),
        Just(json!("5m")),
        Just(json!([])),
        Just(json!(["word"])),
        Just(json!([{}])),
        Just(json!({})),
        Just(json!({"type": "noop"})),
        Just(json!({"name": "x", "type": "http_mock"})),
    ];
    prop_oneof![
        4 => value.prop_map(Change::Replace),
        2 => Just(Change::Remove),
        2 => "(type|path|x-y|wieght|command|name|record|gate|equals|solution)".prop_map(Change::AddKey),
    ]
}

fn apply(spec: &mut Json, place: &str, change: Change) {
    match change {
        Change::Replace(value) => *spec.pointer_mut(place).expect("a place") = value,
        Change::AddKey(key) => {
            if let Some(Json::Object(fields)) = spec.pointer_mut(place) {
                fields.insert(key, json!("word"));
            }
        }
        Change::Remove => {
            let Some((parent, key)) = place.rsplit_once('/') else { return };
            match spec.pointer_mut(parent) {
                Some(Json::Object(fields)) => drop(fields.shift_remove(&key.replace("~1", "/").replace("~0", "~"))),
                Some(Json::Array(items)) => drop(items.remove(key.parse().expect("an index"))),
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn schema_and_loader_agree_on_changed_examples(which: prop::sample::Index, place: prop::sample::Index, change in change()) {
        let (name, original) = which.get(&EXAMPLES);
        let mut spec = original.clone();
        let mut found = Vec::new();
        places(&spec, "", &mut found);
        let place = place.get(&found).clone();
        apply(&mut spec, &place, change.clone());
        let complaints = complaints(&spec);
        let (codes, structural) = errors(&spec);
        prop_assert!(complaints.is_empty() || !codes.is_empty(), "{name}{place} {change:?}: only the schema complains: {complaints:?}");
        prop_assert!(!complaints.is_empty() || !structural, "{name}{place} {change:?}: only the loader complains: {codes:?}");
    }
}
