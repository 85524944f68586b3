//! The result of judging and scoring one scenario.

mod caveat;
mod inconclusive;
mod invocations;
mod model;
mod provider;
mod reasons;
mod shortfall;
mod tools;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::checks::Case;
use crate::evidence::{Evidence, FaultRecord, Fired, ImageRecord, Played, Usage};
use crate::forbidden::{self, ForbiddenResult};
use crate::plan::{Judged, Scenario, Values};
use crate::score;
use crate::spec::Spec;
use crate::verdict::{ErrorCause, ErrorKind, Outcome, Verdict};

pub use caveat::Caveat;

/// The result of judging and scoring one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioResult {
    /// The scenario.
    pub scenario: Scenario,
    /// The sandbox in which it ran; empty when there was none.
    pub sandbox_id: String,
    /// The status of its own run.
    pub status: RowStatus,
    /// The combined score, from 0 to 1.
    pub composite: f64,
    /// Every invariant that was judged here, in the order of the spec.
    pub invariants: Vec<InvariantResult>,
    /// Every `forbidden` rule that the spec states.
    pub forbidden: Vec<ForbiddenResult>,
    /// Limits that fired, each of which fails the scenario.
    pub limits: Vec<Fired>,
    /// Other things that fail the scenario, such as a process left in a service.
    pub offences: Vec<String>,
    /// The reason why it could not be judged.
    pub error: Option<ScenarioError>,
    /// Duration of the scenario, from preparing to destroying, in milliseconds.
    pub wall_ms: u64,
    /// The agent's exit code; `None` when it never started.
    pub exit_code: Option<i32>,
    /// The standard output of the agent.
    pub agent_output: String,
    /// The standard error output of the agent.
    pub agent_stderr: String,
    /// Calls of tools that the gateways saw.
    pub tool_calls: u64,
    /// Calls of tools that were answered with an error.
    pub tool_errors: u64,
    /// Number of faults that fired; `None` when there was no rule for any, and where it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults_fired: Option<u64>,
    /// Its calls beside those of the session that it replayed; `None` where none was, and where that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Played>,
    /// Calls, tokens and cost.
    pub usage: Usage,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// Facts that the reader must know to judge the result.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
    /// The backend and the images of its sandbox; `None` when they were not recorded.
    #[serde(default)]
    pub ran_in: Option<RanIn>,
}

/// The backend and the images of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanIn {
    /// The backend: `docker` or `local`.
    pub backend: String,
    /// The images, with the sandbox's own first.
    pub images: Vec<ImageRecord>,
    /// The version of the rules by which it was judged and scored; `None` where that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring_version: Option<u32>,
}

/// The status of a scenario by its own run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowStatus {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It could not be judged.
    Error,
}

impl RowStatus {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }

    /// Returns the word for people, which distinguishes `inconclusive` from other errors.
    #[must_use]
    pub const fn word_for_people(self, error: Option<ErrorKind>) -> &'static str {
        match (self, error) {
            (Self::Error, Some(ErrorKind::Inconclusive)) => "inconclusive",
            _ => self.word(),
        }
    }
}

/// One invariant and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvariantResult {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its weight.
    pub weight: f64,
    /// True if it must be met.
    pub gate: bool,
    /// The judgement.
    pub verdict: Verdict,
}

/// The reason why a scenario could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioError {
    /// The party at fault.
    pub kind: ErrorKind,
    /// A description of the error.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.message)
    }
}

impl ScenarioResult {
    /// Judges a scenario by its evidence, and by nothing else.
    ///
    /// A `forbidden` violation, a fired limit or another offence fails the scenario even when a check could not be
    /// judged, because no verdict could change that. Otherwise a check that could not be judged makes it an error, and so does
    /// a model's provider that failed an agent which did not pass, and a pass without the faults that were required.
    #[must_use]
    pub fn judge(spec: &Spec, scenario: &Scenario, evidence: &Evidence) -> Self {
        // Rules of a contract beside the spec's own invariants decide about the contract and not about the scenario.
        let (beside, own): (Vec<_>, Vec<_>) = scenario.judged(spec).into_iter().partition(|judged| judged.is_beside);
        let mut invariants = judge_invariants(&own, spec, scenario, evidence);
        let forbidden = forbidden::judge(spec, evidence);
        let violated = forbidden.iter().any(|rule| rule.violated);
        let composite = score::composite(&invariants, spec.scoring.gate, violated);
        let error = first_error(&invariants).or_else(|| missing_record(spec, evidence));
        let scripted = model::judge(spec, evidence);
        let replayed = tools::judge(evidence);
        let limited = evidence.limits.iter().any(|fired| !provider::excuses(evidence, fired.limit));
        let offended = violated || limited || !evidence.offences.is_empty() || !scripted.offences.is_empty();
        let offended = offended || !replayed.offences.is_empty();
        // An unmet gate fails outright, also where the threshold is 0.
        let reached = !score::misses_gate(&invariants, spec.scoring.gate)
            && score::reaches(composite, spec.scoring.pass_threshold.get());
        let passed = reached && error.is_none() && evidence.limits.is_empty();
        // Without its model, an agent cannot do what a check looks for, so that this goes before a check's own error.
        let error = provider::error(evidence).or(error);
        let status = match (&error, offended) {
            (_, true) => RowStatus::Fail,
            (_, false) if passed => RowStatus::Pass,
            (Some(_), false) => RowStatus::Error,
            (None, false) => RowStatus::Fail,
        };
        // Only a pass becomes inconclusive: a failure says something about the agent, with or without faults.
        let inconclusive = inconclusive::error(spec, scenario, evidence).filter(|_| status == RowStatus::Pass);
        let (status, error) = match inconclusive {
            Some(inconclusive) => (RowStatus::Error, Some(inconclusive)),
            None => (status, error),
        };
        let mut result = Self::unjudged(scenario, None);
        result.observe(evidence);
        result.offences.extend(scripted.offences.into_iter().chain(replayed.offences));
        result.notes.extend(scripted.notes.into_iter().chain(replayed.notes));
        invariants.extend(judge_invariants(&beside, spec, scenario, evidence));
        let caveats = Caveat::of(&invariants, evidence);
        let error = error.filter(|_| status == RowStatus::Error);
        Self { status, composite, invariants, forbidden, error, caveats, ..result }
    }

    /// A scenario that could not be judged at all.
    #[must_use]
    pub fn failed_to_run(scenario: &Scenario, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::unjudged(scenario, Some(ScenarioError { kind, message: message.into() }))
    }

    /// Returns true if the scenario counts in pass rates and costs.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.status != RowStatus::Error
    }

    /// Returns true if it passed without a fault where faults were required.
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Inconclusive)
    }

    /// The word of its own status, for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.status.word_for_people(self.error.as_ref().map(|error| error.kind))
    }

    fn unjudged(scenario: &Scenario, error: Option<ScenarioError>) -> Self {
        Self {
            scenario: scenario.clone(),
            sandbox_id: String::new(),
            status: RowStatus::Error,
            composite: 0.0,
            invariants: Vec::new(),
            forbidden: Vec::new(),
            limits: Vec::new(),
            offences: Vec::new(),
            error,
            wall_ms: 0,
            exit_code: None,
            agent_output: String::new(),
            agent_stderr: String::new(),
            tool_calls: 0,
            tool_errors: 0,
            faults_fired: None,
            replay: None,
            usage: Usage::default(),
            notes: Vec::new(),
            caveats: Vec::new(),
            ran_in: None,
        }
    }

    fn observe(&mut self, evidence: &Evidence) {
        self.sandbox_id.clone_from(&evidence.world.sandbox);
        self.limits.clone_from(&evidence.limits);
        self.offences.clone_from(&evidence.offences);
        self.notes.clone_from(&evidence.notes);
        let world = &evidence.world;
        let ran_in = || RanIn {
            backend: world.backend.clone(),
            images: world.images.clone(),
            scoring_version: Some(score::SCORING_VERSION),
        };
        self.ran_in = (!world.backend.is_empty()).then(ran_in);
        self.wall_ms = evidence.agent.wall_ms;
        self.exit_code = evidence.agent.exit.map(crate::evidence::Exit::shell_code);
        self.agent_output = evidence.agent.stdout.text();
        self.agent_stderr = evidence.agent.stderr.text();
        (self.tool_calls, self.tool_errors) = evidence.tool_counts();
        self.faults_fired = evidence.faults.as_ref().map(FaultRecord::total);
        self.replay.clone_from(&evidence.replay);
        self.usage = evidence.usage.clone();
        // Whoever made that run pays for it too.
        let of_invocations = evidence.invocations.iter().filter_map(|invocation| invocation.baseline.as_ref());
        evidence.baseline.iter().chain(of_invocations).for_each(|run| self.usage.add(&run.usage));
    }
}

fn judge_invariants(
    judged: &[Judged<'_>],
    spec: &Spec,
    scenario: &Scenario,
    evidence: &Evidence,
) -> Vec<InvariantResult> {
    let values = Values::for_judging(spec, scenario, evidence);
    let reuses_sandbox = scenario.reuses_sandbox(spec);
    let judge = |judged: &Judged<'_>| {
        let verdict = if reuses_sandbox && judged.check.is_about_invocation() {
            invocations::judge(judged, spec, scenario, evidence)
        } else {
            let answers = evidence.answers.get(judged.name).map_or(&[][..], Vec::as_slice);
            judged.verdict(&Case::new(answers, evidence, &values))
        };
        InvariantResult {
            name: judged.name.to_owned(),
            description: judged.description.to_owned(),
            weight: judged.weight,
            gate: judged.gate,
            verdict,
        }
    };
    judged.iter().map(judge).collect()
}

/// Returns an error if a record that this spec requires is missing.
fn missing_record(spec: &Spec, evidence: &Evidence) -> Option<ScenarioError> {
    let rules = &spec.forbidden;
    let audited =
        rules.db_writes_outside.is_some() || rules.http_except.is_some() || rules.file_writes_outside.is_some();
    let missing = if audited && evidence.audit.is_none() {
        "audit record for the `forbidden` rules"
    } else if !spec.secrets.is_empty() && evidence.marker_key.as_deref().is_none_or(str::is_empty) {
        "key of the redaction markers"
    } else {
        return None;
    };
    let message = format!("the evidence holds no {missing}");
    Some(ScenarioError { kind: ErrorCause::MissingRecord.kind(), message })
}

fn first_error(invariants: &[InvariantResult]) -> Option<ScenarioError> {
    invariants.iter().find_map(|invariant| match invariant.verdict.outcome {
        Outcome::Errored(kind) => {
            Some(ScenarioError { kind, message: format!("{}: {}", invariant.name, invariant.verdict.message) })
        }
        Outcome::Passed | Outcome::Failed => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{RowStatus, ScenarioResult};
    use crate::checks::testing::{command, files, text_file};
    use crate::evidence::{AgentRecord, Answer, Captured, Evidence, Exit, Fired, Leak, Limit};
    use crate::plan::{PlanOptions, expand};
    use crate::spec::load;
    use crate::verdict::ErrorKind;

    const SPEC: &str = "
version: 1
id: test
base: debian
task: {prompt: x}
agent: {type: noop}
secrets: [KEY]
forbidden: {secrets_in_logs: deny}
invariants:
  script: {description: x, check: {type: custom, script: x.py, runs_in: sandbox}}
  note: {description: x, weight: 3, check: {type: file_content, path: n, contains: 'Bearer {{ secrets.KEY }}'}}
scoring: {pass_threshold: 0.75}
";

    fn judge(script: Answer, note: &str, more: Evidence) -> ScenarioResult {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let answers = BTreeMap::from([
            ("script".to_owned(), vec![script]),
            ("note".to_owned(), vec![files([text_file("n", note)])]),
        ]);
        ScenarioResult::judge(
            &spec,
            &plan.scenarios[0],
            &Evidence { answers, marker_key: Some("k1".to_owned()), ..more },
        )
    }

    fn result(passed: bool) -> Answer {
        command(Exit::Code(0), &format!("{{\"passed\": {passed}}}"), "")
    }

    fn broken() -> Answer {
        command(Exit::Code(1), "", "no module")
    }

    fn limited() -> Evidence {
        Evidence { limits: vec![Fired { limit: Limit::Memory, detail: "2Gi".to_owned() }], ..Evidence::default() }
    }

    const USED: &str = "Authorization: Bearer [redacted:KEY:k1]";

    #[test]
    fn the_composite_decides() {
        let passed = judge(result(false), USED, Evidence::default());
        assert_eq!((passed.status, passed.composite), (RowStatus::Pass, 0.75));
        let failed = judge(result(true), "Bearer else", Evidence::default());
        assert_eq!((failed.status, failed.composite), (RowStatus::Fail, 0.25));
    }

    #[test]
    fn a_check_that_could_not_be_judged_is_an_error() {
        let errored = judge(broken(), USED, Evidence::default());
        assert_eq!(errored.status, RowStatus::Error);
        let error = errored.error.expect("an error");
        assert_eq!(error.kind, ErrorKind::Check);
        assert!(error.message.starts_with("script: "), "{error}");
        assert_eq!(errored.invariants.len(), 2, "the others are judged and shown");
    }

    #[test]
    fn a_sure_failure_goes_before_an_error() {
        let leak = Leak { secret: "KEY".to_owned(), place: "stdout".to_owned(), count: 1 };
        for more in [
            limited(),
            Evidence { leaks: vec![leak], ..Evidence::default() },
            Evidence { offences: vec!["a process".to_owned()], ..Evidence::default() },
        ] {
            let failed = judge(broken(), USED, more);
            assert_eq!((failed.status, failed.error), (RowStatus::Fail, None));
        }
    }

    #[test]
    fn a_limit_fails_a_scenario_whose_invariants_all_hold() {
        let failed = judge(result(true), USED, limited());
        assert_eq!((failed.status, failed.composite), (RowStatus::Fail, 1.0), "and the composite is what they give");
    }

    #[test]
    fn the_agent_cannot_write_the_marker_of_a_secret() {
        assert_eq!(
            judge(result(true), "Authorization: Bearer [redacted:KEY]", Evidence::default()).status,
            RowStatus::Fail
        );
    }

    #[test]
    fn a_secret_in_a_pattern_stands_for_itself() {
        let text = SPEC.replace("contains: 'Bearer {{ secrets.KEY }}'", "pattern: '^Bearer {{ secrets.KEY }}$'");
        let spec = load(&text, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let status = |note: &str, marker_key: Option<&str>| {
            let answers = BTreeMap::from([
                ("script".to_owned(), vec![result(true)]),
                ("note".to_owned(), vec![files([text_file("n", note)])]),
            ]);
            let evidence = Evidence { answers, marker_key: marker_key.map(ToOwned::to_owned), ..Evidence::default() };
            ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence).status
        };
        assert_eq!(status("Bearer [redacted:KEY:k1]", Some("k1")), RowStatus::Pass);
        assert_eq!(status("Bearer d", Some("k1")), RowStatus::Fail);
        assert_eq!(status("Bearer [redacted:KEY]", None), RowStatus::Error, "a lost key proves nothing");
    }

    #[test]
    fn rules_without_their_record_cannot_be_judged() {
        let text = SPEC
            .replace("{secrets_in_logs: deny}", "{http_except: []}")
            .replace("agent:", "audit: {http_calls: true}\nagent:");
        let spec = load(&text, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let answers = || {
            BTreeMap::from([
                ("script".to_owned(), vec![result(true)]),
                ("note".to_owned(), vec![files([text_file("n", "Bearer [redacted:KEY:k1]")])]),
            ])
        };
        let status = |audit| {
            ScenarioResult::judge(
                &spec,
                &plan.scenarios[0],
                &Evidence { answers: answers(), audit, marker_key: Some("k1".to_owned()), ..Evidence::default() },
            )
            .status
        };
        assert_eq!((status(None), status(Some(Vec::new()))), (RowStatus::Error, RowStatus::Pass));
    }

    #[test]
    fn an_unmet_gate_fails_whatever_the_threshold_is() {
        let text = SPEC.replace("pass_threshold: 0.75", "pass_threshold: 0").replace("weight: 3,", "gate: true,");
        let spec = load(&text, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let answers = BTreeMap::from([
            ("script".to_owned(), vec![result(true)]),
            ("note".to_owned(), vec![files([text_file("n", "no")])]),
        ]);
        let judged = ScenarioResult::judge(
            &spec,
            &plan.scenarios[0],
            &Evidence { answers, marker_key: Some("k1".to_owned()), ..Evidence::default() },
        );
        assert_eq!((judged.status, judged.composite), (RowStatus::Fail, 0.0));
    }

    #[test]
    fn evidence_without_an_answer_is_our_fault() {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let nothing = ScenarioResult::judge(&spec, &plan.scenarios[0], &Evidence::default());
        assert_eq!(
            (nothing.status, nothing.error.map(|error| error.kind)),
            (RowStatus::Error, Some(ErrorKind::Infrastructure))
        );
    }

    #[test]
    fn a_negated_check_fails_where_a_part_of_the_output_proves_nothing() {
        let text = SPEC.replace("secrets: [KEY]\nforbidden: {secrets_in_logs: deny}\n", "");
        let script = "  script: {description: x, check: {type: custom, script: x.py, runs_in: sandbox}}\n";
        let note = text[text.find("  note:").expect("the note")..].split('\n').next().expect("a line");
        let text =
            text.replace(script, "  quiet: {description: x, negate: true, check: {type: contains, value: secret}}\n");
        let spec = load(&text.replace(&format!("{note}\n"), ""), None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let status = |stdout: Captured| {
            let agent = AgentRecord { stdout, ..AgentRecord::default() };
            ScenarioResult::judge(&spec, &plan.scenarios[0], &Evidence { agent, ..Evidence::default() }).status
        };
        assert_eq!(status(Captured::from("all is well")), RowStatus::Pass);
        assert_eq!(status(Captured::from("the Secret is 7")), RowStatus::Fail);
        let cut = Captured { head: "all".to_owned(), tail: Some("well".to_owned()), dropped_bytes: 9 };
        assert_eq!(status(cut), RowStatus::Fail);
    }
}
