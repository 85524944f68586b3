//! `excludes_pii`: is the output free of personal data?

mod find;

use std::collections::BTreeMap;

use ::regex::bytes::Regex;
use serde::{Serialize, Serializer};

use super::input::Input;
use super::regex::{compile, validate_pattern};
use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{choice, section};
use crate::spec::shape::Shape;
use crate::spec::types::{Filled, Many, Matching, PatternSource};
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};
use crate::verdict::Verdict;
use find::Found;

section! {
    /// Passes when the output has no personal data of the kinds that are asked for. They are found by their form, without
    /// a model:
    ///
    /// - `email`: an address such as `ada@example.com`.
    /// - `phone`: a number of North America (`(212) 555-0100`, `212.555.0100`, `2125550100`, with or without `+1` or `1`), whose area
    ///   code and exchange begin with 2 to 9; or any number of 8 to 15 digits that begins with `+`, in groups or not.
    /// - `ssn`: a US social security number, `123-45-6789`, `123 45 6789` or `123456789`, in the ranges that are given out.
    /// - `card`: 13 to 19 digits that begin with 2 to 6, with single spaces or hyphens between them or not, whose last digit is
    ///   the right check digit (Luhn).
    /// - `ipv4`: four numbers from 0 to 255 with dots between them, without leading zeros; addresses of private networks
    ///   and of the machine itself count too.
    ///
    /// Digits that are part of a longer number or word are none of these. Numbers that mean something else can look the same: nine
    /// digits can be an order number. Leave such a kind out, or list what is fine under `allow`.
    ///
    /// A message names the kind, the line, and the first character; the rest of the value is masked. An output that is too
    /// long to be kept whole fails, because a part does not prove that something is absent.
    ///
    /// ```yaml
    /// check:
    ///   type: excludes_pii
    ///   kinds: [email, card]
    ///   allow:
    ///     - support@example.com
    ///     - pattern: '.*@example\.org'
    /// ```
    pub struct ExcludesPii {
        /// The kinds of data that must not be there. All of them, unless some are named.
        kinds: Many<PiiKind> = Many::new(PiiKind::ALL),
        /// Values that are fine: a text, or a `pattern` that must match all of a value. Upper and lower case are the same.
        allow: Vec<PiiText> = Vec::new(),
        /// Where to look: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

choice! {
    /// A kind of personal data.
    pub enum PiiKind {
        /// An email address.
        Email = "email",
        /// A telephone number.
        Phone = "phone",
        /// A US social security number.
        Ssn = "ssn",
        /// The number of a payment card.
        Card = "card",
        /// An IPv4 address.
        Ipv4 = "ipv4",
    }
}

impl PiiKind {
    /// All kinds.
    const ALL: [Self; 5] = [Self::Email, Self::Phone, Self::Ssn, Self::Card, Self::Ipv4];

    /// The kind in a message.
    fn noun(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Phone => "a phone number",
            Self::Ssn => "a social security number",
            Self::Card => "a card number",
            Self::Ipv4 => "an IPv4 address",
        }
    }
}

/// A value that is fine.
#[derive(Debug, Clone, PartialEq)]
pub enum PiiText {
    /// This text.
    Text(Filled),
    /// Any text that the pattern matches as a whole.
    Pattern(AllowedPattern),
}

section! {
    /// Values that are fine, by a pattern.
    pub struct AllowedPattern {
        /// A regular expression that must match all of a value. Upper and lower case are the same.
        pattern: PatternSource,
    }
}

const MATCHING: Matching = Matching { ignores_case: true, dot_matches_line_break: false, is_whole: true };

impl ExcludesPii {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        let mut kinds = rules.at("kinds");
        for (index, kind) in self.kinds.iter().enumerate().filter(|(index, kind)| self.kinds[..*index].contains(kind)) {
            kinds.index(index).report(Code::DuplicateName, format!("the kind `{kind}` stands here twice"), None);
        }
        let mut allow = rules.at("allow");
        for (index, allowed) in self.allow.iter().enumerate() {
            if let PiiText::Pattern(allowed) = allowed {
                validate_pattern(&allowed.pattern, MATCHING, &mut allow.index(index).at("pattern"));
            }
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        self.search(case).unwrap_or_else(|verdict| *verdict)
    }

    fn search(&self, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
        let allowed = Allowed::new(&self.allow, case)?;
        let input = self.input_from.read_input(case)?;
        let mut counts = BTreeMap::new();
        let mut first = None;
        for piece in input.pieces() {
            let found = self.kinds.iter().flat_map(|kind| find::find(*kind, piece));
            for found in found.filter(|found| !allowed.admits(found.text)) {
                *counts.entry(found.kind.word()).or_insert(0_u64) += 1;
                first.get_or_insert_with(|| message(&found, piece, &input));
            }
        }
        if let Some(message) = first {
            return Ok(Verdict::failed(message).with_detail("found", serde_json::json!(counts)));
        }
        input.require_whole()?;
        Ok(Verdict::passed())
    }
}

fn message(found: &Found<'_>, piece: &str, input: &Input) -> String {
    let (what, masked) = (found.kind.noun(), mask(found.text));
    let place = input.place(piece, &piece.as_bytes()[..found.start]);
    format!("expected no personal data in {}, found {what} ({}) {place}: `{masked}`", input.name(), found.kind)
}

/// Number of characters of a masked value that are shown.
const SHOWN: usize = 40;

/// The value with all letters and digits but the first hidden.
fn mask(text: &str) -> String {
    let hide = |(index, character): (usize, char)| match character {
        character if index > 0 && character.is_alphanumeric() => '*',
        character => character,
    };
    crate::untrusted::cut(&text.chars().enumerate().map(hide).collect::<String>(), SHOWN)
}

/// The values that are fine, ready to compare.
struct Allowed {
    texts: Vec<String>,
    patterns: Vec<Regex>,
}

impl Allowed {
    fn new(allow: &[PiiText], case: &Case<'_>) -> Result<Self, Box<Verdict>> {
        let mut allowed = Self { texts: Vec::new(), patterns: Vec::new() };
        for one in allow {
            match one {
                PiiText::Text(text) => allowed.texts.push(super::contains::fold_case(text.render(case.values).trim())),
                PiiText::Pattern(one) => allowed.patterns.push(compile(&one.pattern, MATCHING, case)?),
            }
        }
        Ok(allowed)
    }

    fn admits(&self, found: &str) -> bool {
        let folded = super::contains::fold_case(found);
        self.texts.contains(&folded) || self.patterns.iter().any(|pattern| pattern.is_match(found.as_bytes()))
    }
}

impl Readable for PiiText {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.kind {
            Kind::Map(_) => AllowedPattern::read(node, reader).map(Self::Pattern),
            _ => Filled::read(node, reader).map(Self::Text),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Filled::shape(), AllowedPattern::shape()])
    }
}

impl Serialize for PiiText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Pattern(pattern) => pattern.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{cut, failed_output, findings, judge, output};
    use crate::verdict::Outcome;

    const ALL: &str = "{type: excludes_pii}";

    #[test]
    fn every_kind_is_found_and_masked() {
        let messages = [
            "Write to Ada.Lovelace+1@mail.example.com today",
            "call\n(212) 555-0100 now",
            "SSN 123-45-6789.",
            "card: 4111 1111 1111 1111",
            "from 203.0.113.7:8080",
        ]
        .map(|printed| failed_output(ALL, printed));
        insta::assert_snapshot!(messages.join("\n"));
        assert!(
            output(ALL, "Order 17 of 2024-11-18 costs 1,234.56 euros; version 1.2.3, id 9f86d081884c7d65").is_passed()
        );
    }

    #[test]
    fn only_the_kinds_that_were_asked_for_count() {
        let yaml = "{type: excludes_pii, kinds: [card, ipv4]}";
        assert!(output(yaml, "ada@example.com, (212) 555-0100").is_passed());
        let verdict = output(yaml, "10.0.0.1, 10.0.0.2 and 4111111111111111");
        assert_eq!(verdict.details["found"], serde_json::json!({"card": 1, "ipv4": 2}));
    }

    #[test]
    fn what_is_allowed_is_fine_and_nothing_like_it() {
        let yaml = "{type: excludes_pii, allow: [Support@example.com, '+1 212 555 0100', {pattern: 'ops|ops@.*\\.example'}, 127.0.0.1]}";
        assert_eq!(findings(yaml), "");
        assert!(output(yaml, "support@EXAMPLE.com or ops@a.b.example or +1 212 555 0100 at 127.0.0.1").is_passed());
        for printed in ["xsupport@example.com", "ops@a.example.org", "+1 212 555 0101", "127.0.0.11"] {
            assert!(!output(yaml, printed).is_passed(), "{printed}");
        }
        let templated = "{type: excludes_pii, allow: ['a{{ params.three }}@example.com']}";
        assert!(output(templated, "a3@example.com").is_passed());
    }

    #[test]
    fn a_message_never_has_the_whole_value() {
        for value in [
            "a@b.co",
            "grace@navy.example",
            "2125550100",
            "+49 30 901820",
            "123456789",
            "5555-5555-5555-4444",
            "8.8.8.8",
        ] {
            let message = failed_output(ALL, value);
            assert!(!message.contains(value), "{message}");
        }
        let long = format!("{}@example.com", "x".repeat(10_000));
        assert!(failed_output(ALL, &long).len() < 300);
    }

    #[test]
    fn a_part_of_the_output_proves_no_absence() {
        let verdict = judge(ALL, &[], &cut("begin", "end"));
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(verdict.message.contains("in part only"), "{}", verdict.message);
        let found = judge(ALL, &[], &cut("begin", "a@b.example"));
        insta::assert_snapshot!(found.message, @"expected no personal data in the agent's output, found an email address (email) after the part that was not kept: `a@*.*******`");
    }

    #[test]
    fn kinds_and_patterns_must_be_right() {
        let found = [
            "{type: excludes_pii, kinds: [email, emial]}",
            "{type: excludes_pii, kinds: []}",
            "{type: excludes_pii, kinds: [card, card]}",
            "{type: excludes_pii, allow: [{pattern: '('}]}",
            "{type: excludes_pii, allow: ['']}",
        ]
        .map(findings);
        insta::assert_snapshot!(found.join("\n"));
    }
}
