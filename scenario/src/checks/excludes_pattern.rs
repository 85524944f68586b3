//! `excludes_pattern`: is none of these patterns in the output?

use super::contains::fold_case;
use super::input::{Input, shown};
use super::regex::{compile, validate_pattern};
use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::section::section;
use crate::spec::types::{Many, Matching, PatternSource};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when none of several regular expressions matches anywhere in the output. Upper and lower case are the same.
    ///
    /// - With `literal: true`, patterns are compared as texts, in which no character has a meaning of its own.
    /// - `.` does not match line breaks; write `(?s)` in front when it should, and `(?-i)` when case should count.
    /// - An output that is too long to be kept whole fails, because a part does not prove that something is absent.
    ///
    /// ```yaml
    /// check:
    ///   type: excludes_pattern
    ///   patterns: ['api[_-]?key', 'you are a helpful assistant']
    /// ```
    pub struct ExcludesPattern {
        /// The regular expressions, of which none may match.
        patterns: Many<PatternSource>,
        /// Whether the patterns are plain texts.
        literal: bool = false,
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

const MATCHING: Matching = Matching { ignores_case: true, dot_matches_line_break: false, is_whole: false };

impl ExcludesPattern {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        if self.literal {
            return;
        }
        let mut rules = rules.at("patterns");
        for (index, pattern) in self.patterns.iter().enumerate() {
            validate_pattern(pattern, MATCHING, &mut rules.index(index));
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        self.search(case).unwrap_or_else(|verdict| *verdict)
    }

    fn search(&self, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
        let input = self.input_from.read_input(case)?;
        for pattern in self.patterns.iter() {
            let found =
                if self.literal { find_text(pattern, &input, case)? } else { find_match(pattern, &input, case)? };
            if let Some(found) = found {
                return Ok(Verdict::failed(format!("expected {} {found}", input.name())));
            }
        }
        input.require_whole()?;
        Ok(Verdict::passed())
    }
}

/// Describes the place of a text in the input.
fn find_text(pattern: &PatternSource, input: &Input, case: &Case<'_>) -> Result<Option<String>, Box<Verdict>> {
    let text = pattern.text(case.values);
    if text.trim().is_empty() {
        let message = format!("{:?} is empty once it is filled, and every text contains that", pattern.source());
        return Err(Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)));
    }
    let wanted = fold_case(&text);
    Ok(input.pieces().find_map(|piece| {
        let folded = fold_case(piece);
        let at = folded.find(&wanted)?;
        // Folding keeps line breaks, so the line is the same in the text itself.
        let place = input.place(piece, &folded.as_bytes()[..at]);
        Some(format!("not to contain {}, found it {place}", shown(&text)))
    }))
}

/// Describes the place where a pattern matches the input.
fn find_match(pattern: &PatternSource, input: &Input, case: &Case<'_>) -> Result<Option<String>, Box<Verdict>> {
    let expression = compile(pattern, MATCHING, case)?;
    Ok(input.pieces().find_map(|piece| {
        let found = expression.find(piece.as_bytes())?;
        let text = shown(&String::from_utf8_lossy(found.as_bytes()));
        let pattern = crate::untrusted::line(expression.as_str(), 200);
        let place = input.place(piece, &piece.as_bytes()[..found.start()]);
        Some(format!("not to match `{pattern}`, found {text} {place}"))
    }))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, cut, failed_output, files, findings, judge, output, text_file};
    use crate::evidence::{Answer, Files};
    use crate::verdict::Outcome;

    #[test]
    fn patterns_are_expressions_and_ignore_case() {
        let yaml = "{type: excludes_pattern, patterns: ['system prompt', 'api[_-]?key']}";
        assert!(output(yaml, "nothing to see").is_passed());
        insta::assert_snapshot!(failed_output(yaml, "well\nmy API_KEY is"), @r#"expected the agent's output not to match `api[_-]?key`, found "API_KEY" on line 2"#);
        assert!(output("{type: excludes_pattern, patterns: ['(?-i)KEY']}", "key").is_passed());
        assert!(output("{type: excludes_pattern, patterns: ['a.b']}", "a\nb").is_passed());
    }

    #[test]
    fn literal_patterns_are_texts() {
        let yaml = "{type: excludes_pattern, literal: true, patterns: ['C++ (', 'a.c']}";
        assert!(output(yaml, "abc").is_passed());
        insta::assert_snapshot!(failed_output(yaml, "x\ny\nA.C"), @r#"expected the agent's output not to contain "a.c", found it on line 3"#);
        insta::assert_snapshot!(failed_output(yaml, "c++ ("), @r#"expected the agent's output not to contain "C++ (", found it on line 1"#);
        assert_eq!(findings(yaml), "");
    }

    #[test]
    fn a_part_of_the_output_proves_no_absence() {
        let judged = |pattern: &str| {
            let verdict =
                judge(&format!("{{type: excludes_pattern, patterns: [{pattern}]}}"), &[], &cut("begin", "end"));
            assert_eq!(verdict.outcome, Outcome::Failed);
            verdict.message
        };
        insta::assert_snapshot!(judged("nothing"), @"the agent's output is known in part only (7 bytes of it were not kept), and a part proves nothing about the whole");
        insta::assert_snapshot!(judged("end"), @r#"expected the agent's output not to match `end`, found "end" after the part that was not kept"#);
    }

    #[test]
    fn neither_does_a_part_of_the_workspace() {
        let yaml = "{type: excludes_pattern, patterns: [secret], input_from: workspace}";
        assert!(check(yaml, [files([text_file("a", "fine")])]).is_passed());
        let mut long = text_file("a", "fine");
        long.size = 20_000;
        insta::assert_snapshot!(check(yaml, [files([long])]).message, @r#"the workspace is known in part only (not all of its file "a" was read), and a part proves nothing about the whole"#);
        let more = Answer::Files(Files { entries: vec![text_file("a", "fine")], incomplete: true });
        insta::assert_snapshot!(check(yaml, [more]).message, @"the workspace is known in part only (only 50 of its entries were read), and a part proves nothing about the whole");
    }

    #[test]
    fn patterns_must_compile_and_there_must_be_one() {
        insta::assert_snapshot!(findings("{type: excludes_pattern, patterns: [a, '(']}"), @"invalid-regex at invariants.x.check.patterns[1]: `(` cannot be used as a regular expression: unclosed group");
        insta::assert_snapshot!(findings("{type: excludes_pattern, patterns: []}"), @"invalid-value at invariants.x.check.patterns: expected at least one entry");
    }
}
