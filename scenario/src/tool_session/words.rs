//! Lanes in words, which are the same on pages and in the terminal.

use super::call::{Approval, ApprovalDecision, CallDecision, CallOutcome, LaneCall};
use super::finding::{LaneFinding, RuleSource, Violation};
use super::lane::{LaneOrigin, SessionLane};
use crate::evidence::ContractMode;
use crate::untrusted;
use crate::{count_noun, count_noun_as};

/// The length of names and rules in a sentence.
const MOST_NAME: usize = 100;
/// The length of a sentence on one line.
const MOST_SENTENCE: usize = 400;
/// The length of an approver's words in a sentence.
const MOST_NOTE: usize = 200;

impl CallDecision {
    /// The decision in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotDecided => "not decided",
            Self::Allowed => "allowed",
            Self::Blocked => "blocked",
            Self::Held => "held",
            Self::WouldHaveBeenBlocked => "would have been blocked",
            Self::WouldHaveBeenHeld => "would have been held",
        }
    }
}

impl Violation {
    /// The mark in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::First => "first violation",
            Self::PossibleConsequence => "possible consequence",
        }
    }
}

impl CallOutcome {
    const fn words(self) -> &'static str {
        match self {
            Self::Ok => "returned a result",
            Self::OkEmpty => "returned nothing",
            Self::Error => "returned an error",
            Self::Lost => "was lost: nobody knows whether it happened",
        }
    }
}

impl Approval {
    /// The answer in words, such as "approved by ada (it is her order)".
    #[must_use]
    pub fn words(&self) -> String {
        let by = untrusted::line(&self.by, MOST_NAME);
        let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
        let answer = match self.decision {
            ApprovalDecision::Approved => format!("approved{by}"),
            ApprovalDecision::Denied => format!("denied{by}"),
            ApprovalDecision::TimedOut => "nobody answered in time".to_owned(),
        };
        match untrusted::line(&self.note, MOST_NOTE) {
            note if note.is_empty() => answer,
            note => format!("{answer} ({note})"),
        }
    }
}

impl LaneCall {
    /// The reasons of the decision, without the name of the rule at their end.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.rule.as_ref().map_or(&self.sentence, |rule| rule.stripped(&self.sentence))
    }

    /// The events after the decision, in words: the answer of an approver, and the outcome. Empty when there are none.
    #[must_use]
    pub fn afterwards(&self) -> String {
        let hold = self.hold.as_ref().map(|hold| match &hold.approval {
            Some(approval) => approval.words(),
            None => "nobody answered".to_owned(),
        });
        let withheld = self.withheld.then(|| "not passed on, because its batch was refused".to_owned());
        let outcome = self.outcome.map(|outcome| {
            let source = if self.self_reported { ", as the agent told" } else { "" };
            format!("{}{source}", outcome.words())
        });
        hold.into_iter().chain(withheld).chain(outcome).collect::<Vec<_>>().join("; ")
    }
}

impl RuleSource {
    /// A sentence without the name of the rule at its end.
    fn stripped<'s>(&self, sentence: &'s str) -> &'s str {
        sentence.strip_suffix(format!(" [{}]", self.rule).as_str()).unwrap_or(sentence)
    }

    /// The rule and its place on one line: `transitions/valid_in_phases, rules/refund.yaml:4`; empty without a rule.
    #[must_use]
    pub fn words(&self) -> String {
        let rule = untrusted::line(&self.rule, MOST_NAME);
        let place = self.place().map(|place| untrusted::line(&place, MOST_NAME));
        [Some(rule), place].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl LaneFinding {
    /// The sentence, without the name of the rule at its end.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.rule.stripped(&self.message)
    }

    /// The finding on one line, without its weight: mark, code, tool, rule and sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let mark = self.violation.map(|violation| format!(" ({})", violation.words())).unwrap_or_default();
        let tool = untrusted::line(&self.tool, MOST_NAME);
        let about = [tool, self.rule.words()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let about = if about.is_empty() { String::new() } else { format!(" [{}]", about.join(", ")) };
        let sentence = untrusted::line(self.sentence(), MOST_SENTENCE);
        format!("{}{mark}{about}: {sentence}", untrusted::line(&self.code, MOST_NAME))
    }
}

impl SessionLane {
    /// The name of the lane: its role and session, or the invariant that judged it.
    #[must_use]
    pub fn name(&self) -> String {
        let session = untrusted::line(&self.session, MOST_NAME);
        match (&self.origin, &self.role) {
            (LaneOrigin::Judged(invariant), _) => untrusted::line(invariant, MOST_NAME),
            (LaneOrigin::Live(_), Some(role)) => format!("{} ({session})", untrusted::line(role, MOST_NAME)),
            (LaneOrigin::Live(_), None) => session,
        }
    }

    /// The way in which its decisions came about, in words.
    #[must_use]
    pub fn mode_words(&self) -> &'static str {
        match self.origin {
            LaneOrigin::Live(ContractMode::Govern) => "governed: decisions were applied",
            LaneOrigin::Live(ContractMode::Observe) => "observed: decisions were not applied",
            LaneOrigin::Live(ContractMode::Record) => "recorded: nothing was decided",
            LaneOrigin::Judged(_) => "judged afterwards: nothing was blocked",
        }
    }

    /// The session in one sentence: its calls, its violations and its end.
    #[must_use]
    pub fn summary(&self) -> String {
        let left_out = if matches!(self.origin, LaneOrigin::Judged(_)) { self.left_out } else { 0 };
        let calls = count_noun(self.calls().count() as u64 + left_out, "call");
        let mut violations = count_noun(self.violations, "violation");
        if self.attempts > 0 {
            violations = format!("{violations}, {}", count_noun(self.attempts, "refused attempt"));
        }
        let phase =
            self.final_phase.as_ref().map(|phase| format!("; the last phase is {}", untrusted::line(phase, 60)));
        let status = untrusted::line(&self.status, 60);
        let status = if status.is_empty() { status } else { format!("; the session is {status}") };
        format!("{calls}, {violations}{}{status}", phase.unwrap_or_default())
    }

    /// Describes the calls that the lane leaves out.
    #[must_use]
    pub fn left_out_words(&self) -> Option<String> {
        let what = match self.origin {
            LaneOrigin::Judged(_) => count_noun_as(self.left_out, "more call is not shown", "more calls are not shown"),
            LaneOrigin::Live(_) => {
                count_noun_as(self.left_out, "more record was not kept", "more records were not kept")
            }
        };
        (self.left_out > 0).then_some(what)
    }
}
