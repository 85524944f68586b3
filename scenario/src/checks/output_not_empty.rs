//! `output_not_empty`: did the agent say anything?

use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::section::section;
use crate::spec::validate::Rules;
use crate::untrusted;
use crate::verdict::Verdict;

section! {
    /// Passes when the output has at least one character that a reader can see: spaces, line breaks, control characters and
    /// invisible characters are nothing.
    ///
    /// ```yaml
    /// check: { type: output_not_empty }
    /// ```
    pub struct OutputNotEmpty {
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

impl OutputNotEmpty {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let input = match self.input_from.read_input(case) {
            Ok(input) => input,
            Err(verdict) => return *verdict,
        };
        let is_visible = |character: char| !character.is_whitespace() && !untrusted::is_unsafe(character);
        if input.pieces().any(|piece| piece.contains(is_visible)) {
            return Verdict::passed();
        }
        let found = if input.pieces().all(str::is_empty) { "nothing".to_owned() } else { input.excerpt() };
        input.not_found(format!("expected something in {}, found {found}", input.name()))
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, cut, failed_output, files, judge, output, text_file};

    const SPEC: &str = "{type: output_not_empty}";

    #[test]
    fn only_what_can_be_seen_counts() {
        assert!(output(SPEC, " \n.").is_passed());
        insta::assert_snapshot!(failed_output(SPEC, ""), @"expected something in the agent's output, found nothing");
        insta::assert_snapshot!(failed_output(SPEC, " \n\t\u{a0}\u{200b}\u{0}"), @r#"expected something in the agent's output, found " \n\t\u{a0}\u{200b}\0""#);
        assert!(judge(SPEC, &[], &cut("", "x")).is_passed());
    }

    #[test]
    fn a_workspace_without_files_is_empty() {
        let yaml = "{type: output_not_empty, input_from: workspace}";
        assert!(check(yaml, [files([text_file("a", "")])]).is_passed(), "a name is something");
        assert!(!check(yaml, [files([])]).is_passed());
    }
}
