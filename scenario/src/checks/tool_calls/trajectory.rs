//! A reference trajectory: a file beside the spec with the calls that are expected.

use serde::{Serialize, Serializer};

use super::Expected;
use super::matching::Wanted;
use crate::spec::MAX_READ_BYTES;
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::shape::Shape;
use crate::spec::types::{BundlePath, CalledTool, JsonPath, Many, Table};
use crate::spec::validate::Rules;
use crate::spec::yaml::Node;

/// Maximum number of calls of a trajectory.
const MOST_CALLS: usize = 200;

section! {
    /// A call of a reference trajectory.
    pub struct ExpectedCall {
        /// The tool.
        tool: CalledTool,
        /// The arguments that it must have; others are free.
        arguments: Table<JsonPath, Expected> = Table::default(),
    }
}

/// A reference trajectory. Its calls are read together with the spec, so that a verdict needs no file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    file: BundlePath,
    /// The calls; `None` when the file is not there or cannot be read, which validation refuses.
    calls: Option<Many<ExpectedCall, MOST_CALLS>>,
}

impl Trajectory {
    /// The calls that are expected.
    pub(super) fn wanted(&self) -> Vec<Wanted<'_>> {
        let calls = self.calls.iter().flat_map(|calls| calls.iter());
        calls.map(|call| Wanted { tool: &call.tool, arguments: Some(&call.arguments) }).collect()
    }

    /// The tools of the calls, once or several times.
    pub(super) fn tools(&self) -> impl Iterator<Item = &CalledTool> {
        self.calls.iter().flat_map(|calls| calls.iter()).map(|call| &call.tool)
    }

    /// Reports a file that is not there or no text, and arguments that prove nothing; `rules` stand at the key.
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        let Some(calls) = &self.calls else {
            let file = self.file.as_str();
            if rules.bundle_has(file) == Some(true) {
                let message = format!("`{file}` is no trajectory that can be read");
                let kib = MAX_READ_BYTES / 1024;
                let help = format!("write it as `.yaml`, `.yml` or `.json`, in UTF-8 and with at most {kib} KiB");
                rules.report(Code::InvalidValue, message, Some(&help));
            } else {
                rules.missing_file(file);
            }
            return;
        };
        for (index, call) in calls.iter().enumerate() {
            validate_arguments(&call.arguments, &mut rules.index(index));
        }
    }
}

/// Reports comparators of arguments that prove nothing; `rules` stand at the map that has `arguments`.
pub(super) fn validate_arguments(arguments: &Table<JsonPath, Expected>, rules: &mut Rules<'_>) {
    for (place, expected) in arguments.iter() {
        expected.validate(&mut rules.at("arguments").at(place.as_str()), &format!("the argument `{place}`"));
    }
}

impl Readable for Trajectory {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let file = BundlePath::read(node, reader)?;
        let calls = match reader.read_file(file.as_str(), node.span) {
            Some(calls) => Some(calls?),
            None => None,
        };
        Some(Self { file, calls })
    }

    fn shape() -> Shape {
        BundlePath::shape()
    }
}

impl Serialize for Trajectory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.file.serialize(serializer)
    }
}
