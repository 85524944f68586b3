//! `valid_json`: is the output JSON, and of the right form?

use serde_json::Value as Json;

use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::code::Code;
use crate::spec::section::section;
use crate::spec::types::JsonSchema;
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when the whole output is one JSON value, with nothing but space before and after it, and meets `schema` when
    /// there is one. Prose around the value, or a Markdown fence, fails.
    ///
    /// - `schema` is a JSON Schema, of draft 2020-12 unless `$schema` names another. `format` is asserted, and an unknown format
    ///   is an error when the spec is read. `pattern` has the syntax of Rust's `regex`. `$ref` leads only to another
    ///   place of the schema (`#/$defs/name`), and not back to itself.
    /// - Texts of the schema stay as they are: `{{ … }}` is not replaced in them.
    /// - Values are nested at most 128 deep, and numbers fit in 64 bits.
    /// - An output that is too long to be kept whole fails.
    ///
    /// ```yaml
    /// check:
    ///   type: valid_json
    ///   schema:
    ///     type: object
    ///     required: [status, amount]
    ///     properties:
    ///       status: { enum: [approved, refused] }
    ///       amount: { type: number, minimum: 0 }
    /// ```
    pub struct ValidJson {
        /// A JSON Schema that the value must meet.
        schema: Option<JsonSchema>,
        /// What to read: `agent_output` (or `stdout`, the same), or a field of a recording mock, such as
        /// `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

impl ValidJson {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        if self.input_from == InputFrom::Workspace {
            let help = "let the agent print it, or look into one file with a `custom` check";
            rules.at("input_from").report(
                Code::UnknownInput,
                "the workspace is many files, and `valid_json` reads one text",
                Some(help),
            );
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        self.look_into(case).unwrap_or_else(|verdict| *verdict)
    }

    fn look_into(&self, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
        let validator = self.schema.as_ref().map(JsonSchema::validator).transpose().map_err(|problem| {
            let message = format!("the schema cannot be used: {problem}");
            Box::new(Verdict::errored(ErrorCause::UnusableCheck, message))
        })?;
        let input = self.input_from.read_input(case)?;
        let value: Json = serde_json::from_str(input.whole()?).map_err(|problem| {
            let (name, found) = (input.name(), input.excerpt());
            Box::new(Verdict::failed(format!("expected {name} to be JSON, found {found}: {problem}")))
        })?;
        match validator.and_then(|validator| validator.problem_of(&value)) {
            Some(problem) => {
                Ok(Verdict::failed(format!("expected {} to meet the schema, found {problem}", input.name())))
            }
            None => Ok(Verdict::passed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{cut, failed_output, findings, judge, output};
    use crate::verdict::Outcome;

    const SCHEMA: &str = "{type: valid_json, schema: {type: object, required: [status], properties: {\
        status: {enum: [approved, refused]}, mail: {type: string, format: email}, id: {type: string, pattern: '^[A-Z]{2}$'}, \
        lines: {type: array, items: {type: integer}}}}}";

    #[test]
    fn the_whole_output_is_one_value() {
        for printed in ["{}", " [1, 2]\n", "null", "\"x\"", "1e3"] {
            assert!(output("{type: valid_json}", printed).is_passed(), "{printed}");
        }
        for printed in ["", "{} {}", "Sure: {}", "```json\n{}\n```", "{'a': 1}", "NaN", "[1,]"] {
            assert!(!output("{type: valid_json}", printed).is_passed(), "{printed}");
        }
        insta::assert_snapshot!(failed_output("{type: valid_json}", "Sure: {}"), @r#"expected the agent's output to be JSON, found "Sure: {}": expected value at line 1 column 1"#);
    }

    #[test]
    fn a_schema_says_where_and_what() {
        assert!(
            output(SCHEMA, r#"{"status": "refused", "mail": "a@b.example", "id": "AB", "lines": [1]}"#).is_passed()
        );
        insta::assert_snapshot!(failed_output(SCHEMA, "[]"), @r#"expected the agent's output to meet the schema, found at the top: [] is not of type "object""#);
        insta::assert_snapshot!(failed_output(SCHEMA, r#"{"status": "maybe"}"#));
        insta::assert_snapshot!(failed_output(SCHEMA, r#"{"status": "refused", "lines": [1, "2"]}"#));
        insta::assert_snapshot!(failed_output(SCHEMA, r#"{"status": "refused", "mail": "nobody"}"#));
        insta::assert_snapshot!(failed_output(SCHEMA, r#"{"status": "refused", "id": "ABC"}"#));
    }

    #[test]
    fn messages_are_bounded_and_safe_to_show() {
        let long = format!("{{\"status\": \"{}\\u001b[2J\"}}", "x".repeat(100_000));
        let message = failed_output(SCHEMA, &long);
        assert!(message.len() < 1000, "{}", message.len());
        let deep = "[".repeat(100_000);
        assert!(failed_output("{type: valid_json}", &deep).len() < 1000);
        let escape = failed_output(SCHEMA, "{\"status\": \"\\u001b[2J\"}");
        assert!(!escape.contains('\u{1b}'), "{escape:?}");
    }

    #[test]
    fn a_part_of_the_output_is_not_the_whole_value() {
        let verdict = judge("{type: valid_json}", &[], &cut("{}", ""));
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(verdict.message.contains("in part only"), "{}", verdict.message);
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_refused() {
        let found = |schema: &str| findings(&format!("{{type: valid_json, schema: {schema}}}"));
        insta::assert_snapshot!(found("{type: objekt}"));
        insta::assert_snapshot!(found("{properties: {x: {pattern: '('}}}"));
        insta::assert_snapshot!(found("{$ref: 'https://example.com/schema.json'}"));
        insta::assert_snapshot!(found("{$ref: '#/$defs/missing'}"));
        insta::assert_snapshot!(found("{properties: {mail: {format: e-mail}}}"));
        insta::assert_snapshot!(found("text"));
        let patterns: Vec<_> = (0..201).map(|number| format!("p{number}: {{pattern: x}}")).collect();
        insta::assert_snapshot!(found(&format!("{{properties: {{{}}}}}", patterns.join(", "))), @"invalid-regex at invariants.x.check.schema: there are more regular expressions than one spec may have");
        insta::assert_snapshot!(findings("{type: valid_json, input_from: workspace}"), @"unknown-input at invariants.x.check.input_from: the workspace is many files, and `valid_json` reads one text");
    }
}
