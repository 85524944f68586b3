//! Outputs of a scenario with the scores of its judges, read from evidence. No model is asked.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;

use crate::checks::{Case, Check, LlmAsJudge, SampleRequest};
use crate::evidence::{Answer, Evidence};
use crate::plan::{self, Scenario, Values};
use crate::spec::Spec;
use crate::verdict::Outcome;

/// An output that a judge rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedOutput {
    /// The experiment; empty until whoever read the evidence says it.
    pub experiment: String,
    /// The scenario.
    pub scenario: String,
    /// The invariant.
    pub invariant: String,
    /// Its meaning, for people.
    pub description: String,
    /// The criteria; empty where the spec has its own prompt.
    pub criteria: String,
    /// The agent's task.
    pub task: String,
    /// The judged text. It is untrusted.
    pub text: String,
    /// The score that is enough.
    pub threshold: f64,
    /// The judge's score; otherwise the reason for having none.
    pub judged: Result<Judged, String>,
}

/// A judge's score for an output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The score.
    pub score: f64,
    /// The reason.
    pub reason: String,
    /// The means of the families of models, where several were asked.
    pub families: Vec<FamilyScore>,
}

/// The mean score of a family of models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyScore {
    /// The family.
    pub family: String,
    /// The mean score.
    pub mean: f64,
}

/// The outputs of a scenario that judges rate, in the order of the spec.
///
/// An output is missing where there is nothing to judge, such as a request that the agent did not send. Invocations in a reused
/// sandbox are judged one by one and are not listed.
#[must_use]
pub fn judged_outputs(spec: &Spec, scenario: &Scenario, evidence: &Evidence) -> Vec<JudgedOutput> {
    let values = Values::for_judging(spec, scenario, evidence);
    let output = |one: &Judge<'_>| {
        let case = Case::new(one.answers(evidence), evidence, &values);
        let material = one.judge.material(&case).ok()?;
        Some(JudgedOutput {
            experiment: String::new(),
            scenario: scenario.id.to_string(),
            invariant: one.judged.name.to_owned(),
            description: one.judged.description.to_owned(),
            criteria: material.criteria,
            task: values.prompt(),
            text: material.text,
            threshold: one.judge.pass_threshold.get(),
            judged: said(one.judge, one.judged.check, &case),
        })
    };
    judges(spec, scenario).iter().filter_map(output).collect()
}

/// A question about an output for which no score is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Unasked {
    /// The invariant.
    pub invariant: String,
    /// The questions.
    pub requests: Vec<SampleRequest>,
    /// The time limit of one answer.
    pub timeout: Duration,
}

/// The questions whose answers are missing in the evidence of a scenario.
#[must_use]
pub fn unasked(spec: &Spec, scenario: &Scenario, evidence: &Evidence) -> Vec<Unasked> {
    let values = Values::for_judging(spec, scenario, evidence);
    let missing = |one: &Judge<'_>| {
        let case = Case::new(one.answers(evidence), evidence, &values);
        let is_kept = said(one.judge, one.judged.check, &case).is_ok();
        let requests = one.judge.requests(&case).ok().filter(|_| !is_kept)?;
        Some(Unasked { invariant: one.judged.name.to_owned(), requests, timeout: one.judge.timeout.get() })
    };
    judges(spec, scenario).iter().filter_map(missing).collect()
}

/// A judge of a scenario.
struct Judge<'a> {
    judged: plan::Judged<'a>,
    judge: &'a LlmAsJudge,
}

impl Judge<'_> {
    fn answers<'e>(&self, evidence: &'e Evidence) -> &'e [Answer] {
        evidence.answers.get(self.judged.name).map_or(&[][..], Vec::as_slice)
    }
}

fn judges<'a>(spec: &'a Spec, scenario: &Scenario) -> Vec<Judge<'a>> {
    let reuses_sandbox = scenario.reuses_sandbox(spec);
    let judge = |judged: plan::Judged<'a>| match judged.check {
        Check::LlmAsJudge(judge) if !(reuses_sandbox && judged.check.is_about_invocation()) => {
            Some(Judge { judged, judge })
        }
        _ => None,
    };
    scenario.judged(spec).into_iter().filter_map(judge).collect()
}

/// The judge's score, before `negate` is applied.
fn said(judge: &LlmAsJudge, check: &Check, case: &Case<'_>) -> Result<Judged, String> {
    let verdict = check.judge(case);
    // A reply without a score fails the invariant, and says nothing to compare with.
    let is_scored = match verdict.outcome {
        Outcome::Passed => true,
        Outcome::Failed => judge.is_scored(case),
        Outcome::Errored(_) => false,
    };
    if !is_scored {
        return Err(verdict.message);
    }
    let family = |family: &Json| {
        Some(FamilyScore { family: family["family"].as_str()?.to_owned(), mean: family["mean"].as_f64()? })
    };
    let families = verdict.details["families"].as_array().map(|all| all.iter().filter_map(family).collect());
    Ok(Judged { score: verdict.score, reason: verdict.reason, families: families.unwrap_or_default() })
}
