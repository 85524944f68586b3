//! Parameters that the caller sets instead of the matrix.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::cell_key::CellKey;
use super::expand::PlanError;
use super::scenario::word;
use crate::number::Number;
use crate::spec::Spec;
use crate::spec::sections::MOST_CELLS;

/// The parameters of one cell.
pub(super) type Cell = IndexMap<String, Json>;

/// Reads `NAME=VALUE` as a parameter of the spec.
///
/// The value has the type that fits: when a value of the matrix is written like it, it is that very value; else a
/// boolean, number, null or quoted string of JSON when it is one; else the text as it stands.
pub fn parameter(spec: &Spec, text: &str) -> Result<(String, Json), PlanError> {
    let (name, written) = text.split_once('=').ok_or_else(|| PlanError::NoParameter(text.to_owned()))?;
    known(spec, name)?;
    let value = in_matrix(spec, name, written).or_else(|| scalar(written)).unwrap_or_else(|| written.into());
    Ok((name.to_owned(), value))
}

/// Formats a value as it is written after `NAME=`, so that [`parameter`] reads the same value.
#[must_use]
pub fn parameter_text(value: &Json) -> String {
    match value {
        // A text that looks like JSON needs quotes to stay a text.
        Json::String(text) if serde_json::from_str::<Json>(text).is_err() => text.clone(),
        other => other.to_string(),
    }
}

/// The cells with the given parameters instead of the matrix's own. Cells that become equal are kept once. A name that
/// is given several times makes cells for each of its values.
pub(super) fn set(spec: &Spec, cells: Vec<Cell>, given: &[(String, Json)]) -> Result<Vec<Cell>, PlanError> {
    let mut values: IndexMap<&str, Vec<&Json>> = IndexMap::new();
    for (name, value) in given {
        known(spec, name)?;
        values.entry(name).or_default().push(value);
    }
    let mut cells = cells;
    for (name, values) in values {
        // First every cell gets the same value, so that the cells that only differed in it are one.
        cells = merged(cells.into_iter().map(|cell| with(cell, name, values[0])));
        let count = cells.len().saturating_mul(values.len());
        if count > MOST_CELLS {
            return Err(PlanError::TooMany(count, count, 1));
        }
        cells = merged(cells.iter().flat_map(|cell| values.iter().map(|value| with(cell.clone(), name, value))));
    }
    Ok(cells)
}

fn with(mut cell: Cell, name: &str, value: &Json) -> Cell {
    cell.insert(name.to_owned(), value.clone());
    cell
}

fn merged(cells: impl Iterator<Item = Cell>) -> Vec<Cell> {
    let mut seen = HashSet::new();
    cells.filter(|cell| seen.insert(CellKey::from(cell.clone()))).collect()
}

fn known(spec: &Spec, name: &str) -> Result<(), PlanError> {
    let names = spec.parallelism.matrix.as_ref().map(|matrix| matrix.names()).unwrap_or_default();
    if names.contains(name) {
        return Ok(());
    }
    Err(PlanError::UnknownParameter {
        name: name.to_owned(),
        known: names.into_iter().map(ToOwned::to_owned).collect(),
    })
}

/// The first value of the matrix that is written like this.
fn in_matrix(spec: &Spec, name: &str, written: &str) -> Option<Json> {
    spec.parallelism.matrix.as_ref()?.values(name).map(|value| value.to_json()).find(|value| word(value) == written)
}

/// A boolean, number, null or quoted string; numbers as a spec would read them.
fn scalar(written: &str) -> Option<Json> {
    match serde_json::from_str(written).ok()? {
        Json::Number(_) => Number::parse(written.trim()).map(|number| number.to_json()),
        Json::Array(_) | Json::Object(_) => None,
        value => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::{parameter, parameter_text};
    use crate::plan::{PlanError, PlanOptions, expand};
    use crate::spec::{Spec, load};

    fn spec(parallelism: &str) -> Spec {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nparallelism: {parallelism}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    fn cells(parallelism: &str, given: &[&str]) -> Result<String, PlanError> {
        let spec = spec(parallelism);
        let parameters = given.iter().map(|text| parameter(&spec, text)).collect::<Result<_, _>>()?;
        let plan = expand(&spec, PlanOptions { parameters, ..PlanOptions::default() })?;
        Ok(plan.scenarios.iter().map(|scenario| json!(scenario.parameters).to_string()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_given_parameter_stands_in_every_cell_and_equal_cells_are_one() {
        let product = "{matrix: {x: [1, 2], y: [a, b]}}";
        assert_eq!(cells(product, &["x=3"]).as_deref(), Ok(r#"{"x":3,"y":"a"} {"x":3,"y":"b"}"#));
        assert_eq!(cells(product, &["x=2", "y=a"]).as_deref(), Ok(r#"{"x":2,"y":"a"}"#));
        let list = "{matrix: [{x: 1, y: a}, {y: b}]}";
        assert_eq!(cells(list, &["x=3"]).as_deref(), Ok(r#"{"x":3,"y":"a"} {"y":"b","x":3}"#));
    }

    #[test]
    fn a_name_that_is_given_twice_makes_cells_for_each_value() {
        let product = "{matrix: {x: [1, 2], y: [a, b]}}";
        assert_eq!(cells(product, &["x=4", "x=3", "x=4", "y=b"]).as_deref(), Ok(r#"{"x":4,"y":"b"} {"x":3,"y":"b"}"#));
        let many: Vec<_> = (0..20_001).map(|value| format!("x={value}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(cells("{matrix: {x: [1]}}", &many), Err(PlanError::TooMany(20_001, 20_001, 1)));
    }

    #[test]
    fn cells_are_excluded_after_parameters_are_set() {
        let product = "{matrix: {x: [1, 2], y: [a, b]}, exclude: [{x: 1, y: a}]}";
        assert_eq!(cells(product, &["x=1"]).as_deref(), Ok(r#"{"x":1,"y":"b"}"#));
        assert_eq!(cells(product, &["x=1", "y=a"]), Err(PlanError::Empty));
    }

    #[test]
    fn ids_and_seeds_are_those_of_the_matrix_where_the_values_are() {
        let spec = spec("{matrix: {x: [1, 2]}, replicas: 2}");
        let whole = expand(&spec, PlanOptions::default()).expect("a plan");
        let parameters = vec![parameter(&spec, "x=2").expect("a parameter")];
        let part = expand(&spec, PlanOptions { parameters, ..PlanOptions::default() }).expect("a plan");
        assert_eq!(part.scenarios, whole.scenarios[2..]);
    }

    #[test]
    fn a_value_has_the_type_that_fits() {
        let spec = spec("{matrix: {x: [1, 'true', 1.50, [1, 2], '']}}");
        let value = |text: &str| parameter(&spec, &format!("x={text}")).expect("a parameter").1;
        for (text, expected) in [
            ("1", json!(1)),
            ("true", json!("true")),
            ("1.5", json!(1.5)),
            ("[1,2]", json!([1, 2])),
            ("", json!("")),
            ("false", json!(false)),
            ("null", Json::Null),
            ("2.0", json!(2)),
            ("\"2\"", json!("2")),
            ("[1]", json!("[1]")),
            ("a=b", json!("a=b")),
            ("007", json!("007")),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_no_cell_has_is_refused() {
        let message =
            |given: &str| cells("{matrix: {language: [a], count: [1]}}", &[given]).expect_err("no plan").to_string();
        insta::assert_snapshot!(message("langage=a"), @"there is no parameter `langage`, only `count`, `language`; did you mean `language`?");
        insta::assert_snapshot!(message("z=a"), @"there is no parameter `z`, only `count`, `language`");
        insta::assert_snapshot!(message("language"), @"`language` is no parameter: write NAME=VALUE");
        insta::assert_snapshot!(cells("{}", &["x=1"]).expect_err("no plan").to_string(), @"there is no parameter `x`: the spec has no `parallelism.matrix`");
    }

    fn value() -> impl Strategy<Value = Json> {
        prop_oneof![
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            (-1000..1000i32, 1..1000i32).prop_map(|(whole, part)| json!(f64::from(whole) + 1.0 / f64::from(part + 1))),
            Just(Json::Null),
            "\\PC{0,12}|true|null|-?[0-9]{1,3}|\"a\"|\\[1\\]".prop_map(Json::from),
        ]
    }

    proptest! {
        #[test]
        fn a_parameter_is_read_as_it_was_written(value in value()) {
            let spec = spec("{matrix: {x: [true, 1, one, [1]]}}");
            let read = parameter(&spec, &format!("x={}", parameter_text(&value))).expect("a parameter");
            prop_assert_eq!(read, ("x".to_owned(), value));
        }
    }
}
