//! Reads reports that were written as JSON: files of earlier runs, and answers of a server.
//!
//! It is the inverse of [`super::json()`], so that every other rendering can be made from what was read. A file or a server
//! can say anything: names that could not be names of ours are refused, because renderings show them as they are.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{Header, Provenance, Report, Reports, Row, Skipped, SuiteOutcome, is_tolerated, passed_cells};
use crate::evidence::{Fired, Played, Usage};
use crate::forbidden::ForbiddenResult;
use crate::forecast::TokenSource;
use crate::plan::{CellId, CellKey, Purpose, Scenario, ScenarioId, Seed};
use crate::result::{Caveat, InvariantResult, RanIn, RowStatus, ScenarioError, ScenarioResult};
use crate::score::{
    Cell, ContractScore, ExperimentScore, ExperimentVerdict, JudgeScore, Metrics, MutationScore, OverallScore,
    ReplayScore, Status,
};
use crate::verdict::{ErrorKind, Outcome, Verdict};

/// A report as it is written.
#[derive(Debug, Deserialize)]
struct Written {
    ran_at: Timestamp,
    spec_id: String,
    experiment_id: String,
    run: u32,
    seed: Seed,
    #[serde(default)]
    spec_file: String,
    #[serde(default)]
    settings: WrittenSettings,
    #[serde(default)]
    provenance: Provenance,
    verdict: ExperimentVerdict,
    total_scenarios: usize,
    passed: usize,
    failed: usize,
    flaky: usize,
    errors: usize,
    /// Servers count scenarios that were never run as errors, and say how many.
    #[serde(default)]
    not_run: usize,
    #[serde(default)]
    not_needed: usize,
    metrics: Metrics,
    cells: Vec<Cell>,
    #[serde(default)]
    contract: Option<ContractScore>,
    #[serde(default)]
    mutations: Option<MutationScore>,
    #[serde(default)]
    replays: Option<ReplayScore>,
    #[serde(default)]
    overall: Option<OverallScore>,
    #[serde(default)]
    judges: Vec<JudgeScore>,
    #[serde(default)]
    scenarios: Vec<WrittenScenario>,
    #[serde(default)]
    capabilities: Vec<String>,
    #[serde(default)]
    tokens_from: Option<TokenSource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenSettings {
    parameters: Vec<(String, Json)>,
    replicas: Option<usize>,
    agent: Option<String>,
    agent_files: Option<String>,
    backend: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WrittenScenario {
    scenario_id: ScenarioId,
    sandbox_id: String,
    status: Status,
    #[serde(default)]
    quarantined: bool,
    /// Earlier versions did not write it.
    cell_id: Option<CellId>,
    parameters: IndexMap<String, Json>,
    #[serde(default)]
    chaos: String,
    #[serde(default)]
    purpose: Purpose,
    #[serde(default)]
    prompt: Option<u32>,
    #[serde(default)]
    variants: Vec<usize>,
    #[serde(default)]
    faults_fired: Option<u64>,
    #[serde(default)]
    replay: Option<Played>,
    replica: u32,
    seed: Seed,
    wall_ms: u64,
    exit_code: i32,
    tool_calls: u64,
    #[serde(default)]
    tool_errors: u64,
    composite_score: f64,
    agent_output: String,
    agent_stderr: String,
    invariants: Vec<WrittenInvariant>,
    forbidden_checks: Vec<ForbiddenResult>,
    limits: Vec<Fired>,
    offences: Vec<String>,
    notes: Vec<String>,
    #[serde(default)]
    caveats: Vec<Caveat>,
    #[serde(default)]
    ran_in: Option<RanIn>,
    error: Option<String>,
    error_kind: Option<ErrorKind>,
    cost: Option<WrittenCost>,
}

#[derive(Debug, Deserialize)]
struct WrittenInvariant {
    name: String,
    description: String,
    passed: bool,
    #[serde(default)]
    gate: bool,
    weight: f64,
    score: f64,
    message: String,
    reason: String,
    error_kind: Option<ErrorKind>,
    #[serde(default)]
    details: Json,
}

#[derive(Debug, Deserialize)]
struct WrittenCost {
    #[serde(default = "one")]
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    model: String,
    estimated_usd: f64,
    #[serde(default = "yes")]
    priced: bool,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// A text or value that is not a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadReportError {
    /// The text is not JSON.
    #[error("this is no JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The value is not an object.
    #[error("this is no report; `-o FILE.json` writes one")]
    NotAnObject,
    /// A field is missing, or has another type.
    #[error("this is no report that this version can read ({0}); `-o FILE.json` writes one")]
    Fields(#[source] serde_json::Error),
    /// The list of experiments is not a list.
    #[error("`experiments` is no list")]
    NotAList,
    /// An id has characters that ids never have.
    #[error("this is no report: `{}` is no id", crate::untrusted::line(.0, 100))]
    InvalidId(String),
}

/// Reads one report.
pub fn read(value: Json) -> Result<Report, ReadReportError> {
    if !value.is_object() {
        return Err(ReadReportError::NotAnObject);
    }
    let written: Written = serde_json::from_value(value).map_err(ReadReportError::Fields)?;
    written.check()?;
    Ok(written.into())
}

/// Reads one report or several, as [`super::json()`] and [`super::json_all()`] write them.
pub fn read_all(text: &str) -> Result<Reports, ReadReportError> {
    let mut value: Json = serde_json::from_str(text).map_err(ReadReportError::NotJson)?;
    let Some(experiments) = value.get_mut("experiments").map(Json::take) else {
        return Ok(Reports { reports: vec![read(value)?], ..Reports::default() });
    };
    let Json::Array(experiments) = experiments else { return Err(ReadReportError::NotAList) };
    let reports = experiments.into_iter().map(read).collect::<Result<_, _>>()?;
    let skipped = value["skipped"].as_array().into_iter().flatten().map(|one| Skipped {
        spec: one["spec"].as_str().unwrap_or_default().to_owned(),
        reason: one["reason"].as_str().unwrap_or_default().to_owned(),
    });
    let note = value["note"].as_str().map(ToOwned::to_owned);
    let outcome = SuiteOutcome::read(&value);
    Ok(Reports { reports, skipped: skipped.collect(), note, outcome, ..Reports::default() })
}

impl Written {
    /// Refuses names that are none of ours.
    fn check(&self) -> Result<(), ReadReportError> {
        let scenarios = self.scenarios.iter().map(|scenario| scenario.scenario_id.as_str());
        let of_scenarios = self.scenarios.iter().filter_map(|scenario| scenario.cell_id.as_ref()).map(CellId::as_str);
        let cells = self.cells.iter().map(|cell| cell.id.as_str()).chain(of_scenarios);
        let names = [self.spec_id.as_str(), self.experiment_id.as_str()].into_iter().chain(scenarios).chain(cells);
        for name in names {
            let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(ReadReportError::InvalidId(name.to_owned()));
            }
        }
        Ok(())
    }
}

impl From<Written> for Report {
    fn from(written: Written) -> Self {
        let statuses =
            written.scenarios.iter().map(|scenario| (scenario.scenario_id.clone(), scenario.status)).collect();
        let score = ExperimentScore {
            verdict: written.verdict,
            total: written.total_scenarios,
            passed: written.passed,
            failed: written.failed,
            flaky: written.flaky,
            errors: written.errors.saturating_sub(written.not_run),
            not_needed: written.not_needed,
            statuses,
            cells: written.cells,
            contract: written.contract,
            mutations: written.mutations,
            replays: written.replays,
            overall: written.overall,
            judges: written.judges,
            metrics: written.metrics,
        };
        let header = Header {
            experiment_id: written.experiment_id,
            run: written.run,
            spec_file: written.spec_file,
            ran_at: written.ran_at,
            parameters: written.settings.parameters,
            replicas: written.settings.replicas,
            agent: written.settings.agent,
            agent_files: written.settings.agent_files,
            backend: written.settings.backend,
            server: None,
        };
        let passed = passed_cells(&score);
        let tolerated =
            |row: Row| Row { tolerated: is_tolerated(row.status, &row.result.scenario.cell, &passed), ..row };
        let rows = written.scenarios.into_iter().map(Row::from).map(tolerated).collect();
        let Written { spec_id, seed, provenance, capabilities, tokens_from, .. } = written;
        Self { header, spec_id, seed, provenance, capabilities, tokens_from, score, rows }
    }
}

impl From<WrittenScenario> for Row {
    fn from(written: WrittenScenario) -> Self {
        let error = written.error.map(|text| {
            let kind = written.error_kind.unwrap_or(ErrorKind::Infrastructure);
            let message = text.strip_prefix(&format!("{kind}: ")).unwrap_or(&text).to_owned();
            ScenarioError { kind, message }
        });
        let WrittenScenario { parameters, chaos, purpose, prompt, .. } = written;
        let key = CellKey { parameters, chaos, purpose, prompt };
        let scenario = Scenario {
            id: written.scenario_id,
            cell: written.cell_id.unwrap_or_else(|| CellId::of(&key)),
            replica: written.replica,
            seed: written.seed,
            parameters: key.parameters,
            chaos: key.chaos,
            purpose: key.purpose,
            prompt: key.prompt,
            variants: written.variants,
            snapshot: None,
            breakage: None,
        };
        let result = ScenarioResult {
            scenario,
            sandbox_id: written.sandbox_id,
            status: match written.status {
                Status::Pass => RowStatus::Pass,
                Status::Fail | Status::Flaky => RowStatus::Fail,
                Status::Error => RowStatus::Error,
            },
            composite: written.composite_score,
            invariants: written.invariants.into_iter().map(InvariantResult::from).collect(),
            forbidden: written.forbidden_checks,
            limits: written.limits,
            offences: written.offences,
            error,
            wall_ms: written.wall_ms,
            exit_code: (written.exit_code >= 0).then_some(written.exit_code),
            agent_output: written.agent_output,
            agent_stderr: written.agent_stderr,
            tool_calls: written.tool_calls,
            tool_errors: written.tool_errors,
            faults_fired: written.faults_fired,
            replay: written.replay,
            usage: written.cost.map(Usage::from).unwrap_or_default(),
            notes: written.notes,
            caveats: written.caveats,
            ran_in: written.ran_in,
        };
        Self { status: written.status, tolerated: false, quarantined: written.quarantined, result }
    }
}

impl From<WrittenInvariant> for InvariantResult {
    fn from(written: WrittenInvariant) -> Self {
        let outcome = match (written.error_kind, written.passed) {
            (Some(kind), _) => Outcome::Errored(kind),
            (None, true) => Outcome::Passed,
            (None, false) => Outcome::Failed,
        };
        let WrittenInvariant { name, description, gate, weight, score, message, reason, details, .. } = written;
        Self {
            name,
            description,
            weight,
            gate,
            verdict: Verdict { outcome, score, message, reason, details, is_unproven: false },
        }
    }
}

impl From<WrittenCost> for Usage {
    fn from(written: WrittenCost) -> Self {
        Self {
            calls: written.calls,
            input_tokens: written.input_tokens,
            output_tokens: written.output_tokens,
            cache_read_tokens: written.cache_read_tokens,
            model: written.model,
            cost_usd: written.priced.then_some(written.estimated_usd),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{read, read_all};
    use crate::report::tests::{evidence, report, report_of};
    use crate::report::{Reports, json, json_all, json_value};

    #[test]
    fn what_was_written_is_read_as_it_was() {
        for report in [report(), report_of(&vec![evidence(0, "refunded", ""); 4])] {
            let read = read(json_value(&report)).expect("a report");
            assert_eq!(json(&read), json(&report));
            for (read, written) in read.rows.iter().zip(&report.rows) {
                assert_eq!(read.reasons(), written.reasons());
            }
        }
    }

    #[test]
    fn one_report_and_several_are_both_read() {
        assert_eq!(read_all(&json(&report())).expect("one").reports.len(), 1);
        let several = Reports { reports: vec![report(), report()], ..Reports::default() };
        assert_eq!(json_all(&read_all(&json_all(&several)).expect("several")), json_all(&several));
    }

    #[test]
    fn a_server_counts_what_was_never_run_as_errors() {
        let mut value = json_value(&report_of(&[evidence(0, "refunded", "")]));
        (value["errors"], value["not_run"]) = (json!(3), json!(3));
        let read = read(value).expect("a report");
        assert_eq!((read.score.errors, read.not_run()), (0, 3));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for wrong in ["", "[]", "{}", "{\"experiments\": 1}", "{\"experiments\": [{}]}"] {
            assert!(read_all(wrong).is_err(), "{wrong}");
        }
        let mut value = json_value(&report());
        value["scenarios"][0]["scenario_id"] = "\u{1b}[2Jx".into();
        let problem = read(value).expect_err("refused").to_string();
        assert!(problem.contains("is no id") && !problem.contains('\u{1b}'), "{problem}");
    }
}
