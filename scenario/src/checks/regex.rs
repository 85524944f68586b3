//! `regex`: does a pattern match the output?

use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::code::Code;
use crate::spec::section::section;
use crate::spec::types::{Matching, PatternSource};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when a regular expression matches somewhere in the output.
    ///
    /// - `.` matches line breaks too; write `(?-s)` in front when it should not.
    /// - Upper and lower case differ; write `(?i)` in front to ignore case.
    /// - `^` and `$` mean the beginning and the end of the output; write `(?m)` in front for those of a line.
    /// - An output that is too long to be kept whole fails, because a pattern may be about all of it.
    ///
    /// ```yaml
    /// check: { type: regex, pattern: 'confirmation number: [A-Z]{2}\d{6}' }
    /// ```
    pub struct RegexMatch {
        /// The regular expression.
        pattern: PatternSource,
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

const MATCHING: Matching = Matching { ignores_case: false, dot_matches_line_break: true, is_whole: false };

impl RegexMatch {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        validate_pattern(&self.pattern, MATCHING, &mut rules.at("pattern"));
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        self.search(case).unwrap_or_else(|verdict| *verdict)
    }

    fn search(&self, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
        let expression = compile(&self.pattern, MATCHING, case)?;
        let input = self.input_from.read_input(case)?;
        if expression.is_match(input.whole()?.as_bytes()) {
            return Ok(Verdict::passed());
        }
        let pattern = crate::untrusted::line(expression.as_str(), 200);
        Ok(Verdict::failed(format!("expected {} to match `{pattern}`, found {}", input.name(), input.excerpt())))
    }
}

/// Reports an expression that does not compile; `rules` stand at it.
pub(super) fn validate_pattern(pattern: &PatternSource, matching: Matching, rules: &mut Rules<'_>) {
    if let Some(problem) = pattern.problem(matching) {
        let source = crate::untrusted::line(pattern.source(), 100);
        rules.report(Code::InvalidRegex, format!("`{source}` cannot be used as a regular expression: {problem}"), None);
    }
}

/// The expression with templates filled; otherwise the verdict that the check cannot be used.
pub(super) fn compile(
    pattern: &PatternSource,
    matching: Matching,
    case: &Case<'_>,
) -> Result<regex::bytes::Regex, Box<Verdict>> {
    let unusable = |problem: String| Box::new(Verdict::errored(ErrorCause::UnusableCheck, problem));
    let source = crate::untrusted::line(pattern.source(), 200);
    let expression = pattern
        .compile(case.values, matching)
        .map_err(|problem| unusable(format!("`{source}` is not a regular expression: {problem}")))?;
    if expression.as_str().is_empty() {
        return Err(unusable(format!("`{source}` is empty once it is filled, and matches every text")));
    }
    Ok(expression)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{cut, failed_output, findings, judge, output};
    use crate::verdict::{ErrorKind, Outcome};

    fn matches(pattern: &str, printed: &str) -> bool {
        output(&format!("{{type: regex, pattern: '{pattern}'}}"), printed).is_passed()
    }

    #[test]
    fn it_searches_anywhere_and_the_dot_crosses_lines() {
        assert!(matches("b.d", "ab\ndx"));
        assert!(!matches("(?-s)b.d", "ab\ndx"));
        assert!(!matches("B", "abc"));
        assert!(matches("(?i)B", "abc"));
        assert!(!matches("^b", "a\nb"));
        assert!(matches("(?m)^b", "a\nb"));
        assert!(matches("(?x) a # a comment", "a"));
    }

    #[test]
    fn messages_say_what_was_expected_and_found() {
        insta::assert_snapshot!(failed_output("{type: regex, pattern: 'a{{ params.three }}'}", "b\u{7}"), @r#"expected the agent's output to match `a3`, found "b\u{7}""#);
    }

    #[test]
    fn a_part_of_the_output_is_not_matched() {
        let verdict = judge("{type: regex, pattern: begin}", &[], &cut("begin", "end"));
        assert_eq!(verdict.outcome, Outcome::Failed);
        insta::assert_snapshot!(verdict.message, @"the agent's output is known in part only (7 bytes of it were not kept), and a part proves nothing about the whole");
    }

    #[test]
    fn an_expression_must_compile() {
        insta::assert_snapshot!(findings("{type: regex, pattern: '('}"), @"invalid-regex at invariants.x.check.pattern: `(` cannot be used as a regular expression: unclosed group");
        insta::assert_snapshot!(findings("{type: regex, pattern: ''}"), @"invalid-value at invariants.x.check.pattern: the text is empty");
        let filled = output("{type: regex, pattern: '{{ params.open }}'}", "x");
        assert_eq!(filled.outcome, Outcome::Errored(ErrorKind::Check));
        let empty = output("{type: regex, pattern: '{{ params.empty }}'}", "x");
        assert_eq!(empty.outcome, Outcome::Errored(ErrorKind::Check));
    }
}
