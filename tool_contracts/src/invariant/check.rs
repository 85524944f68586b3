//! Judges invariants.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Invariant, Operator, TypeName};
use crate::canonical::canonical;
use crate::value::{Num, same};

/// The first operator that does not hold, and what it found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// The operator and its operand.
    pub(crate) checked: (&'static str, Json),
    /// The value that broke it; `None` when there is none.
    pub(crate) found: Option<Json>,
}

/// The result of judging one invariant.
pub(crate) type Checked = Result<(), Box<Failure>>;

impl Invariant {
    /// Judges all operators over the values at the path.
    pub(crate) fn check(&self, root: &Json, env: &BTreeMap<String, String>) -> Checked {
        let nodes = self.path.nodes(root);
        if nodes.is_empty() && self.is_optional {
            return Ok(());
        }
        self.operators.iter().try_for_each(|operator| check_operator(operator, &nodes, env))
    }

    /// True when all operators hold.
    pub(crate) fn holds(&self, root: &Json, env: &BTreeMap<String, String>) -> bool {
        self.check(root, env).is_ok()
    }
}

fn check_operator(operator: &Operator, nodes: &[&Json], env: &BTreeMap<String, String>) -> Checked {
    let failure = |found: Option<&Json>| Err(Box::new(Failure { checked: operator.written(), found: found.cloned() }));
    if let Operator::Exists(wanted) = operator {
        let present = nodes.iter().find(|node| !node.is_null());
        return if present.is_some() == *wanted { Ok(()) } else { failure(present.copied()) };
    }
    if nodes.is_empty() {
        return failure(None);
    }
    match nodes.iter().find(|node| !holds(operator, node, env)) {
        Some(node) => failure(Some(node)),
        None => Ok(()),
    }
}

/// Returns true if an operator holds for one value that exists.
fn holds(operator: &Operator, value: &Json, env: &BTreeMap<String, String>) -> bool {
    let number = Num::of(value);
    match operator {
        Operator::Equals(wanted) | Operator::ExactMatch(wanted) => same(value, wanted),
        Operator::Exists(wanted) => value.is_null() != *wanted,
        Operator::Type(name) => is_type(value, *name),
        Operator::Contains(part) => contains(value, part),
        Operator::OneOf(choices) => choices.iter().any(|choice| same(value, choice)),
        Operator::Regex(regex) => value.as_str().is_some_and(|text| regex.is_match(text)),
        Operator::AtLeast(bound) => number.is_some_and(|number| bound.at_most(number)),
        Operator::AtMost(bound) => number.is_some_and(|number| number.at_most(*bound)),
        Operator::LengthAtLeast(bound) => length(value).is_some_and(|length| length >= *bound),
        Operator::LengthAtMost(bound) => length(value).is_some_and(|length| length <= *bound),
        Operator::EqualsEnvironment(name) => env.get(name).is_some_and(|wanted| match value {
            Json::String(text) => text == wanted,
            other => canonical(other) == *wanted,
        }),
    }
}

fn is_type(value: &Json, name: TypeName) -> bool {
    match name {
        TypeName::String => value.is_string(),
        TypeName::Number => value.is_number(),
        TypeName::Integer => Num::of(value).is_some_and(Num::is_whole),
        TypeName::Boolean => value.is_boolean(),
        TypeName::Object => value.is_object(),
        TypeName::Array => value.is_array(),
    }
}

fn contains(value: &Json, part: &Json) -> bool {
    match (value, part) {
        (Json::String(text), Json::String(part)) => text.contains(part.as_str()),
        (Json::Array(items), _) => items.iter().any(|item| same(item, part)),
        _ => false,
    }
}

fn length(value: &Json) -> Option<u64> {
    let length = match value {
        Json::String(text) => text.chars().count(),
        Json::Array(items) => items.len(),
        Json::Object(map) => map.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use yaml_tree::Limits;

    use super::super::Context;
    use crate::invariant::Invariant;
    use crate::reader::{At, Reader};

    fn holds(invariant: &str, value: &serde_json::Value) -> bool {
        let node = yaml_tree::parse(invariant, "invariant", Limits::default()).0.expect("YAML");
        let mut reader = Reader::default();
        let read = Invariant::read(&At::root(&node, "x.yaml"), &mut reader, Context::Full).expect("an invariant");
        assert!(reader.diagnostics.0.is_empty(), "{:?}", reader.diagnostics);
        read.holds(value, &BTreeMap::from([("REGION".to_owned(), "eu".to_owned())]))
    }

    #[test]
    fn a_missing_path_fails_everything_but_its_absence() {
        for invariant in
            ["equals: 1", "type: string", "contains: a", "one_of: [1]", "gte: 1", "length_lte: 9", "exists: true"]
        {
            assert!(!holds(&format!("{{path: $.a, {invariant}}}"), &json!({})), "{invariant}");
        }
        assert!(holds("{path: $.a, exists: false}", &json!({})));
    }

    #[test]
    fn null_is_present_for_everything_but_existence() {
        assert!(holds("{path: $.a, equals: null}", &json!({"a": null})));
        assert!(holds("{path: $.a, exists: false}", &json!({"a": null})));
        assert!(!holds("{path: $.a, type: string}", &json!({"a": null})));
    }

    #[test]
    fn a_wildcard_holds_for_every_value() {
        let value = json!({"a": [{"n": 1}, {"n": 3}]});
        assert!(holds("{path: '$.a[*].n', gte: 1}", &value));
        assert!(!holds("{path: '$.a[*].n', gte: 2}", &value));
        assert!(!holds("{path: '$.a[*].x', gte: 2}", &value));
        assert!(holds("{path: '$.a[*].n', exists: true}", &json!({"a": [{"n": null}, {"n": 3}]})));
    }

    #[test]
    fn types_and_lengths_are_those_of_json() {
        assert!(holds("{path: $, type: integer}", &json!(2.0)) && !holds("{path: $, type: integer}", &json!(2.5)));
        assert!(!holds("{path: $, type: number}", &json!(true)) && !holds("{path: $, gte: 1}", &json!("2")));
        assert!(holds("{path: $, length_gte: 2, length_lte: 2}", &json!("éé")));
        assert!(holds("{path: $, length_gte: 1}", &json!({"a": 1})) && !holds("{path: $, length_gte: 0}", &json!(1)));
        assert!(holds("{path: $, contains: {a: 1}}", &json!([{"a": 1.0}])));
        assert!(
            holds("{path: $, equals_env: REGION}", &json!("eu")) && !holds("{path: $, equals_env: NONE}", &json!("eu"))
        );
    }
}
