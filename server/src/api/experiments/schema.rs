//! Response bodies of experiments.

use serde::Serialize;
use serde_json::Value;
use store::{Experiment, Run};
use utoipa::ToSchema;

use crate::results::ExperimentStatus;

/// An experiment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExperimentBody {
    /// Its id.
    pub(crate) id: String,
    /// Its name, for people.
    pub(crate) name: String,
    /// The spec that it runs.
    pub(crate) spec_id: String,
    /// Which version of the spec.
    pub(crate) spec_version: u32,
    /// `created`, `running`, `finished` or `cancelled`.
    #[schema(value_type = String, example = "created")]
    pub(crate) status: ExperimentStatus,
    /// When it was submitted.
    #[schema(format = DateTime)]
    pub(crate) created_at: String,
    /// Whose it is.
    pub(crate) owner: String,
    /// True when retention never removes it.
    pub(crate) pinned: bool,
    /// Its newest run; 0 before the first.
    pub(crate) run: u32,
    /// The number of scenarios of that run.
    pub(crate) total_scenarios: u64,
    /// The number of them that have ended.
    pub(crate) ended_scenarios: u64,
    /// Its verdict: `pass`, `fail` or `error`; `pending` before its end.
    pub(crate) verdict: String,
    /// The experiment that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rerun_of: Option<String>,
}

impl ExperimentBody {
    /// An experiment and its newest run.
    pub(crate) fn of(experiment: &Experiment, run: Option<&Run>) -> Self {
        let verdict = run.and_then(|run| run.verdict).and_then(|verdict| serde_json::to_value(verdict).ok());
        Self {
            id: experiment.id.to_string(),
            name: experiment.name.clone(),
            spec_id: experiment.spec.spec_id.clone(),
            spec_version: experiment.spec.version,
            status: ExperimentStatus::of(run),
            created_at: experiment.created_at.to_string(),
            owner: experiment.owner.clone(),
            pinned: experiment.pinned,
            run: run.map_or(0, |run| run.id.number),
            total_scenarios: run.map_or(0, |run| run.total),
            ended_scenarios: run.map_or(0, |run| run.ended),
            verdict: verdict.as_ref().and_then(Value::as_str).unwrap_or("pending").to_owned(),
            rerun_of: experiment.settings.rerun_of.clone(),
        }
    }
}

/// A run that was begun.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunBody {
    /// The experiment's id.
    pub(crate) id: String,
    /// The same.
    pub(crate) experiment_id: String,
    /// Which run of the experiment, from 1.
    pub(crate) run: u32,
    /// `running`.
    #[schema(value_type = String, example = "running")]
    pub(crate) status: ExperimentStatus,
    /// The number of its scenarios.
    pub(crate) total_scenarios: u64,
    /// Where its results are.
    pub(crate) url: String,
}

impl RunBody {
    pub(crate) fn of(run: store::RunId, total_scenarios: u64) -> Self {
        let id = run.experiment.to_string();
        let url = format!("/v1/experiments/{id}");
        Self { experiment_id: id.clone(), id, run: run.number, status: ExperimentStatus::Running, total_scenarios, url }
    }
}

/// The results of a run, or its results so far.
///
/// A run has ended when `passed + failed + flaky + errors` is `total_scenarios`. Scenarios of a cancelled run that were
/// never run count as errors, and in `not_run`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what is made elsewhere")]
pub(crate) struct RunResults {
    /// When the run began.
    #[schema(format = DateTime)]
    ran_at: String,
    /// The spec.
    spec_id: String,
    /// The experiment.
    experiment_id: String,
    /// Its name, for people.
    name: String,
    /// Which run of the experiment; 0 before the first.
    run: u32,
    /// `created`, `running`, `finished` or `cancelled`.
    status: String,
    /// The seed from which every scenario's seed derives.
    seed: u64,
    /// Where the spec came from, once there is a run.
    #[schema(required = false)]
    spec_file: Option<String>,
    /// The caller's options that replace those of the spec, once there is a run.
    #[schema(required = false, value_type = Option<Object>)]
    settings: Option<Value>,
    /// Its verdict: `pass`, `fail`, `error` or `pending`.
    verdict: String,
    /// The number of scenarios of the run; 0 before the first run.
    total_scenarios: u64,
    /// The number that passed.
    passed: u64,
    /// The number that failed.
    failed: u64,
    /// The number that failed while a replica of their cell passed.
    flaky: u64,
    /// The number that could not be judged.
    errors: u64,
    /// The number that was never run because the run was cancelled.
    not_run: u64,
    /// Rates, times and costs.
    #[schema(value_type = Object)]
    metrics: Value,
    /// The cells of the matrix.
    cells: Vec<Value>,
    /// The result of the spec's contract: `resilience_score`, `passed`, `critical_failed`, `cells` and `outcomes`. Absent
    /// without one.
    #[schema(required = false, value_type = Option<Object>)]
    contract: Option<Value>,
    /// The score of the mutations: `robustness`, `verdict`, `kinds`, and those that `failed`. Not there without any.
    #[schema(required = false, value_type = Option<Object>)]
    mutations: Option<Value>,
    /// The score of the replayed sessions: `score` and `sessions`. Not there without any.
    #[schema(required = false, value_type = Option<Object>)]
    replays: Option<Value>,
    /// The overall score: `score`, its `parts` with their weights, the parts that were `not_run`, and the `verdict` about
    /// `min_overall`. Not there for a spec that neither weighs parts nor has mutations or replays.
    #[schema(required = false, value_type = Option<Object>)]
    overall: Option<Value>,
    /// Caveats: `kind`, `message`, and the number of `scenarios` that have it.
    #[schema(required = false)]
    caveats: Vec<Value>,
    /// Every scenario that has ended; not there with `view=summary`.
    #[schema(required = false)]
    scenarios: Vec<ScenarioResultBody>,
    /// When the run ended.
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// Why it was ended early.
    reason: Option<String>,
}

/// The result of one scenario.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what is made elsewhere")]
pub(crate) struct ScenarioResultBody {
    /// Its id.
    scenario_id: String,
    /// The sandbox in which it ran; empty when there was none.
    sandbox_id: String,
    /// `pass`, `fail`, `flaky` or `error`.
    status: String,
    /// True when it failed in a cell that passed, because its bar tolerates failures.
    #[schema(required = false)]
    tolerated: bool,
    /// The cell that it repeats.
    #[schema(required = false)]
    cell_id: String,
    /// The parameters of its cell.
    #[schema(value_type = Object)]
    parameters: Value,
    /// The chaos cell, where there is one.
    #[schema(required = false)]
    chaos: Option<String>,
    /// The rule of the contract that it was run for, as `{"invariant": ID}`, the mutation, as `{"mutation": {"kind": KIND, "index":
    /// NUMBER}}`, or the session, as `{"replay": {"id": ID, …}}`; not there when it was run for all that the spec says.
    #[schema(required = false, value_type = Option<Object>)]
    purpose: Option<Value>,
    /// Which of several prompts the agent got, from 0.
    #[schema(required = false)]
    prompt: Option<u32>,
    /// The variants of a scripted model's turns, where some have several.
    #[schema(required = false)]
    variants: Option<Vec<usize>>,
    /// The number of faults that fired, where there was a rule for any.
    #[schema(required = false)]
    faults_fired: Option<u64>,
    /// Its calls beside those of the session that it replayed: `session`, `is_strict`, `answered`, and the calls that are
    /// `unexpected`, `unconsumed` and `differing`.
    #[schema(required = false, value_type = Option<Object>)]
    replay: Option<Value>,
    /// Which repetition of its cell.
    replica: u32,
    /// The seed of everything that is left to chance.
    seed: u64,
    /// The duration.
    wall_ms: u64,
    /// The agent's exit code; -1 when it never started.
    exit_code: i32,
    /// Calls of tools that the gateways saw.
    tool_calls: u64,
    /// Those of them that were answered with an error.
    tool_errors: u64,
    /// The combined score, from 0 to 1.
    composite_score: f64,
    /// The agent's standard output.
    agent_output: String,
    /// The agent's standard error.
    agent_stderr: String,
    /// Every invariant.
    invariants: Vec<Value>,
    /// Every `forbidden` rule.
    forbidden_checks: Vec<Value>,
    /// Limits that fired.
    limits: Vec<Value>,
    /// Other things that fail the scenario.
    offences: Vec<Value>,
    /// Remarks.
    notes: Vec<Value>,
    /// Caveats: `modified_image`, `stand_in`, `vacuous`, `shared_state` or `lost_evidence`,
    /// each with its `message`.
    #[schema(required = false)]
    caveats: Vec<Value>,
    /// The backend and images of its sandbox.
    #[schema(required = false, value_type = Option<Object>)]
    ran_in: Option<Value>,
    /// Empty: traces are at /v1/traces.
    trace_file: String,
    /// The command that runs it again, unless it passed.
    #[schema(value_type = Option<Object>)]
    reproducer: Option<Value>,
    /// Why it could not be judged.
    error: Option<String>,
    /// Whose fault that is: `infrastructure`, `provider`, `provider_config`, `spec`, `check` or `judge`.
    error_kind: Option<String>,
    /// Tokens and their price, when a model was called.
    #[schema(value_type = Option<Object>)]
    cost: Option<Value>,
}
