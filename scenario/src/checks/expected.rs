//! A value that is expected: the value itself, or comparators.

use serde::Serialize;

use super::compare::{Comparison, Mismatch};
use crate::evidence::Datum;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::Bindings;
use crate::spec::types::Value;
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};

/// A value that is expected: a map has the comparators of [`Comparison`], and everything else must be equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Expected(Comparison);

impl Expected {
    /// Reports comparators that prove nothing; `rules` stand at the value.
    pub(super) fn validate(&self, rules: &mut Rules<'_>, what: &str) {
        self.0.validate(rules, what);
    }

    /// Checks all conditions on `found`; the error is the first that does not hold.
    pub(super) fn holds(&self, found: &Datum, bindings: &dyn Bindings) -> Result<(), Mismatch> {
        self.0.holds(found, bindings)
    }

    /// The comparators; equality for a value.
    pub(super) fn comparison(&self) -> &Comparison {
        &self.0
    }
}

impl Readable for Expected {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Map(_) => Comparison::read(node, reader).map(Self),
            Kind::Null => {
                let help = "for a null write `{ equals: null }`".to_owned();
                reader.invalid(node, "expected a value or comparators, found nothing", Some(help))
            }
            _ => Value::read(node, reader).map(|value| Self(Comparison::equal_to(value))),
        }
    }

    fn shape() -> Shape {
        let list = Shape::List { item: Box::new(Shape::Any), least: 0, most: crate::spec::shape::MOST_ENTRIES };
        Shape::Either(vec![Shape::Text, list, Comparison::shape()])
    }
}

#[cfg(test)]
mod tests {
    use super::Expected;
    use crate::checks::testing::{Fixed, read};
    use crate::evidence::Datum;

    fn holds(yaml: &str, found: serde_json::Value) -> bool {
        read::<Expected>(yaml).holds(&Datum::from_json(&found), &Fixed).is_ok()
    }

    #[test]
    fn a_map_compares_and_everything_else_must_be_equal() {
        assert!(holds("7", 7.into()) && holds("7", "7".into()) && !holds("7", 8.into()));
        assert!(holds("[1, 2]", serde_json::json!([1, 2])) && holds("true", true.into()));
        assert!(holds("{gt: 6, lt: 8}", 7.into()) && !holds("{gt: 7}", 7.into()));
        assert!(holds("{equals: {a: 1}}", serde_json::json!({"a": 1})));
        assert!(holds("'{{ params.three }}'", 3.into()));
    }
}
