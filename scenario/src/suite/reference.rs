//! Suites and lists of capabilities in words and as JSON Schema, made from the descriptions of their types.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::file::Suite;
use crate::coverage::CapabilityMatrix;
use crate::spec::diagnostic::closest;
use crate::spec::reader::Readable as _;
use crate::spec::reference::{Topic, topics_of};
use crate::spec::schema::schema_of;

/// How the part of the reference page begins.
const PREFACE: &str = "
# Suite files

`suite.yaml` and `capabilities.yaml`; [suites.md](suites.md) says how they are used.
";

/// Everything that can be explained about suites.
#[must_use]
pub fn topics() -> Vec<Topic> {
    let mut topics = topics_of("suite-file", &Suite::shape());
    topics.extend(topics_of("capabilities-file", &CapabilityMatrix::shape()));
    topics
}

/// The topic with this name; otherwise the closest name.
pub fn explain(name: &str) -> Result<Topic, Option<String>> {
    let topics = topics();
    match topics.iter().find(|topic| topic.name == name) {
        Some(topic) => Ok(topic.clone()),
        None => Err(closest(name, topics.iter().map(|topic| topic.name.as_str())).map(ToOwned::to_owned)),
    }
}

/// The part of the reference page about suites.
#[must_use]
pub fn markdown() -> String {
    let mut page = PREFACE.to_owned();
    for topic in topics().iter().filter(|topic| topic.text.starts_with("## ") && topic.same_as.is_none()) {
        let _ = write!(page, "\n{}\n", topic.text.trim_end());
    }
    page
}

/// The JSON Schema of suites.
#[must_use]
pub fn suite_schema() -> Json {
    schema_of("Touchstone suite", &Suite::shape())
}

/// The JSON Schema of lists of capabilities.
#[must_use]
pub fn capabilities_schema() -> Json {
    schema_of("Touchstone list of capabilities", &CapabilityMatrix::shape())
}

#[cfg(test)]
mod tests {
    use super::{capabilities_schema, explain, markdown, suite_schema};

    #[test]
    fn every_key_of_a_suite_is_in_the_reference_and_in_the_schema() {
        let (page, schema) = (markdown(), suite_schema());
        for key in
            ["suite", "specs", "weights", "floors", "capabilities", "strict_tags", "agent", "baseline", "forecast"]
        {
            assert!(page.contains(&format!("| `{key}` |")), "{key}: {page}");
            assert!(!schema["properties"][key].is_null(), "{key}");
        }
        assert!(
            page.contains("## `suite-file.floors`") && page.contains("## `capabilities-file.capabilities`"),
            "{page}"
        );
        assert_eq!(schema["required"], serde_json::json!(["suite", "specs"]));
        assert_eq!(capabilities_schema()["properties"]["capabilities"]["type"], "array");
        assert!(explain("suite-file.floors").is_ok());
        assert_eq!(explain("suite-fiel"), Err(Some("suite-file".to_owned())));
    }
}
