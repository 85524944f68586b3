//! The scenarios that an entry is about: `refund`, `refund/large-*`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::types::Glob;
use crate::spec::yaml::Node;

/// A spec, or cells of it. `*` stands for any letters.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioPattern {
    spec: Glob,
    cell: Option<Glob>,
    source: String,
}

impl ScenarioPattern {
    /// True when it is about this spec.
    #[must_use]
    pub fn is_about(&self, spec_id: &str) -> bool {
        self.spec.matches(spec_id)
    }

    /// True when it is about this cell.
    #[must_use]
    pub fn matches(&self, spec_id: &str, cell: &str) -> bool {
        self.is_about(spec_id) && self.cell.as_ref().is_none_or(|glob| glob.matches(cell))
    }
}

impl fmt::Display for ScenarioPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl Serialize for ScenarioPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for ScenarioPattern {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(text) = node.scalar() else { return reader.wrong_type(node, "a spec such as `refund`") };
        let (spec, cell) = match text.split_once('/') {
            Some((spec, cell)) => (spec, Some(cell)),
            None => (text, None),
        };
        let is_word = |word: &str| !word.is_empty() && !word.contains(['/', ' ', ':']);
        if !is_word(spec) || !cell.is_none_or(is_word) {
            let help = "write SPEC or SPEC/CELL, as a report has them; `*` stands for any letters";
            return reader.invalid(node, format!("{} names no scenario", node.describe()), Some(help.to_owned()));
        }
        match (Glob::new(spec), cell.map(Glob::new).transpose()) {
            (Ok(spec), Ok(cell)) => Some(Self { spec, cell, source: text.to_owned() }),
            (Err(problem), _) | (_, Err(problem)) => {
                reader.invalid(node, format!("{} is no pattern: {problem}", node.describe()), None)
            }
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "scenario pattern", pattern: "^[^/ :]+(/[^/ :]+)?$", example: "refund/large-*" }
    }
}
