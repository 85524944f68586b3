//! `contains` and `contains_any`: is a text in the output?

use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::section::section;
use crate::spec::types::{Filled, Many};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when the output contains a text. Upper and lower case are the same, in every script; everything else counts,
    /// line breaks and spaces too.
    ///
    /// Of an output that is too long to be kept whole, the beginning and the end are searched.
    ///
    /// ```yaml
    /// check: { type: contains, value: refund is on its way }
    /// ```
    pub struct Contains {
        /// The text that must be there.
        value: Filled,
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

section! {
    /// Passes when the output contains at least one of several texts, each looked for as `contains` does.
    ///
    /// ```yaml
    /// check: { type: contains_any, values: [try again later, temporarily unavailable] }
    /// ```
    pub struct ContainsAny {
        /// The texts, of which one must be there.
        values: Many<Filled>,
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

impl Contains {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        contains_one_of(&[&self.value], &self.input_from, case).unwrap_or_else(|verdict| *verdict)
    }
}

impl ContainsAny {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let values: Vec<_> = self.values.iter().collect();
        contains_one_of(&values, &self.input_from, case).unwrap_or_else(|verdict| *verdict)
    }
}

/// Maximum number of expected texts that a message names.
const MOST_NAMED: usize = 5;

fn contains_one_of(values: &[&Filled], input_from: &InputFrom, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
    let values = values.iter().map(|value| rendered(value, case)).collect::<Result<Vec<_>, _>>()?;
    let input = input_from.read_input(case)?;
    let pieces: Vec<_> = input.pieces().map(fold_case).collect();
    let is_there = |value: &String| pieces.iter().any(|piece| piece.contains(&fold_case(value)));
    if values.iter().any(is_there) {
        return Ok(Verdict::passed());
    }
    let named: Vec<_> = values.iter().take(MOST_NAMED).map(|value| super::input::shown(value)).collect();
    let more =
        if values.len() > MOST_NAMED { format!(" or {} others", values.len() - MOST_NAMED) } else { String::new() };
    let expected = format!("{}{more}", named.join(" or "));
    Ok(input.not_found(format!("expected {} to contain {expected}, found {}", input.name(), input.excerpt())))
}

/// The text with templates filled, which must leave something to look for.
fn rendered(value: &Filled, case: &Case<'_>) -> Result<String, Box<Verdict>> {
    let text = value.render(case.values);
    if text.trim().is_empty() {
        let message = format!("{:?} is empty once it is filled, and every text contains that", value.source());
        return Err(Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)));
    }
    Ok(text)
}

/// A text in which upper and lower case are the same. It has the same line breaks.
pub(super) fn fold_case(text: &str) -> String {
    // A sigma at the end of a word is another character, which is no other letter.
    let fold = |character: char| if character == 'ς' { 'σ' } else { character };
    text.chars().flat_map(char::to_lowercase).map(fold).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::checks::testing::{check, cut, failed_output, files, judge, output, text_file};
    use crate::evidence::{Evidence, Journal};
    use crate::verdict::{ErrorKind, Outcome};

    fn contains(value: &str, printed: &str) -> bool {
        output(&format!("{{type: contains, value: {value:?}}}"), printed).is_passed()
    }

    #[test]
    fn case_is_ignored_in_every_script() {
        for (value, printed) in [
            ("Refund", "your REFUND is sent"),
            ("ÄRGER", "kein ärger"),
            ("ΟΔΟΣ", "η οδός ή οδος"),
            ("ПРИВЕТ", "привет!"),
        ] {
            assert!(contains(value, printed), "{value} in {printed}");
        }
        assert!(!contains("refund", "re fund"));
        assert!(!contains("a.c", "abc"), "a text is no pattern");
    }

    #[test]
    fn one_of_several_is_enough() {
        let yaml = "{type: contains_any, values: [later, unavailable]}";
        assert!(output(yaml, "Unavailable.").is_passed());
        insta::assert_snapshot!(failed_output(yaml, "done\u{1b}[2J"), @r#"expected the agent's output to contain "later" or "unavailable", found "done\u{1b}[2J""#);
        let many = "{type: contains_any, values: [a1, a2, a3, a4, a5, a6, a7]}";
        insta::assert_snapshot!(failed_output(many, ""), @r#"expected the agent's output to contain "a1" or "a2" or "a3" or "a4" or "a5" or 2 others, found """#);
    }

    #[test]
    fn both_ends_of_a_long_output_are_searched_and_our_own_words_are_not() {
        let found = |value: &str| judge(&format!("{{type: contains, value: {value}}}"), &[], &cut("begin", "end"));
        assert!(found("begin").is_passed() && found("end").is_passed());
        assert_eq!(found("dropped").outcome, Outcome::Failed);
        insta::assert_snapshot!(found("dropped").message, @r#"expected the agent's output to contain "dropped", found "begin"…"#);
    }

    #[test]
    fn templates_are_filled_and_nothing_is_no_text() {
        assert!(contains("order {{ params.three }}", "Order 3 is late"));
        let empty = output("{type: contains, value: '{{ params.empty }}'}", "x");
        assert_eq!(empty.outcome, Outcome::Errored(ErrorKind::Check), "{empty:?}");
    }

    #[test]
    fn files_and_requests_can_be_searched() {
        let yaml = "{type: contains, value: hello, input_from: workspace}";
        assert!(check(yaml, [files([text_file("a.txt", "Hello")])]).is_passed());
        assert!(!check(yaml, [files([text_file("a.txt", "bye")])]).is_passed());
        assert_eq!(check(yaml, []).outcome, Outcome::Errored(ErrorKind::Infrastructure));
        let silent =
            Evidence { journals: BTreeMap::from([("mail".to_owned(), Journal::default())]), ..Evidence::default() };
        let verdict = judge("{type: contains, value: x, input_from: mail.last_request.body}", &[], &silent);
        insta::assert_snapshot!(verdict.message, @"nothing to judge at `mail.last_request.body`: expected a request, found none");
    }

    #[test]
    fn messages_are_bounded() {
        let yaml = format!("{{type: contains, value: {}}}", "y".repeat(5000));
        let message = failed_output(&yaml, &"x".repeat(100_000));
        assert!(message.len() < 600, "{}", message.len());
    }
}
