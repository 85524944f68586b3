//! Reports about an experiment for people and machines: one [`Report`], many renderings.
//!
//! Whatever an agent, a model or a script wrote is untrusted in every rendering: it cannot move a cursor, close a tag or
//! ping a person. To add a rendering: write `report/<name>.rs` with `render(&Report)` and `render_all(&Reports)`, and take
//! every foreign text through [`crate::untrusted`].

mod caveats;
mod contract_cases;
#[cfg(test)]
mod contract_tests;
mod github;
mod json;
mod junit;
mod markdown;
mod mutation_cases;
#[cfg(test)]
mod mutation_tests;
mod ndjson;
mod outcome;
mod overall_words;
mod provenance;
mod quarantine_words;
mod quarantined;
mod read;
mod reports;
mod suite_words;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod tool_findings;
#[cfg(test)]
mod tool_findings_tests;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::Timestamp;

pub use caveats::ReportCaveat;
pub use github::{render as github, render_all as github_all};
pub use json::{
    render as json, render_all as json_all, scenario as scenario_value, summary as summary_value, value as json_value,
};
pub use junit::{render as junit, render_all as junit_all};
pub use markdown::{comment, comparison as markdown_comparison, render as markdown, render_all as markdown_all};
pub use ndjson::{happened as ndjson_happened, render as ndjson, render_all as ndjson_all};
pub use outcome::{ForecastOutcome, SuiteOutcome};
pub use overall_words::{overall_explained, overall_number};
pub use provenance::{AgentIdentity, Provenance};
pub use quarantined::exit_code as gate_exit_code;
pub use read::{ReadReportError, read, read_all};
pub use reports::{Reports, Skipped};
use serde_json::Value as Json;
pub use terminal::{comparison as terminal_comparison, render as terminal, render_all as terminal_all};

use crate::forecast::TokenSource;
use crate::plan::{CellId, Plan, Seed, parameter_text};
use crate::result::ScenarioResult;
use crate::score::{Cell, CellVerdict, ContractVerdict, ExperimentScore, ScoreOptions, Status, score};
use crate::spec::Spec;
use crate::spec::sections::chaos::{NO_CHAOS, Profile};

/// All data about an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The experiment of the report.
    pub header: Header,
    /// The spec's id.
    pub spec_id: String,
    /// The seed from which every scenario's seed derives.
    pub seed: Seed,
    /// The versions of the spec, the agent, the models and the scoring.
    pub provenance: Provenance,
    /// The capabilities that the spec names.
    pub capabilities: Vec<String>,
    /// Where its numbers of tokens come from; `None` without a model.
    pub tokens_from: Option<TokenSource>,
    /// The numbers.
    pub score: ExperimentScore,
    /// Every scenario that has ended, in the order of the plan.
    pub rows: Vec<Row>,
}

/// The experiment of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its id.
    pub experiment_id: String,
    /// Number of the run of the experiment, counted from 1.
    pub run: u32,
    /// The source of its spec, for the command that repeats a scenario.
    pub spec_file: String,
    /// Time at which it was started.
    pub ran_at: Timestamp,
    /// The parameters that were given instead of the matrix's own.
    pub parameters: Vec<(String, Json)>,
    /// Number of replicas per cell, when the caller gave it.
    pub replicas: Option<usize>,
    /// The agent that replaced the spec's own.
    pub agent: Option<String>,
    /// The folder with the files of who acted, on the machine of the caller.
    pub agent_files: Option<String>,
    /// The backend that the caller required, if any.
    pub backend: Option<String>,
    /// The server that runs it again, when its spec is no file that the reader has.
    pub server: Option<String>,
}

/// One scenario of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its status beside the other replicas of its cell.
    pub status: Status,
    /// True if it failed in a cell that passed all the same, because its bar allows for that.
    pub tolerated: bool,
    /// True when a quarantine excuses it, so that it keeps nothing from passing.
    pub quarantined: bool,
    /// All about it.
    pub result: ScenarioResult,
}

impl Report {
    /// Puts together what is known.
    #[must_use]
    pub fn new(header: Header, spec: &Spec, plan: &Plan, results: Vec<ScenarioResult>, options: ScoreOptions) -> Self {
        let score = score(plan, spec, &results, options);
        let provenance = Provenance::of(&header, spec, &results);
        let mut last: HashMap<_, _> = results.into_iter().map(|result| (result.scenario.id.clone(), result)).collect();
        let passed = passed_cells(&score);
        let row = |status: &Status, result: ScenarioResult| Row {
            status: *status,
            tolerated: is_tolerated(*status, &result.scenario.cell, &passed),
            quarantined: false,
            result,
        };
        let rows = score
            .statuses
            .iter()
            .filter_map(|(id, status)| last.remove(id).map(|result| row(status, result)))
            .collect();
        let capabilities = spec.capabilities.iter().map(ToString::to_string).collect();
        let (spec_id, tokens_from) = (plan.spec_id.clone(), TokenSource::of(spec));
        Self { header, spec_id, seed: plan.seed, provenance, capabilities, tokens_from, score, rows }
    }

    /// The command that runs one scenario again, with the same spec, seed, parameters and agent, where it was run.
    #[must_use]
    pub fn reproducer(&self, row: &Row) -> String {
        if let Some(server) = &self.header.server {
            let what = format!("{}#{}/{}", self.header.experiment_id, self.header.run, row.result.scenario.id);
            return format!("touchstone rerun {} --url {}", quote(&what), quote(server));
        }
        // A session that was run by itself is not in the spec.
        if row.result.scenario.purpose.replay().is_some() {
            let what = format!("{}/{}", self.header.experiment_id, row.result.scenario.id);
            return format!("touchstone rerun {}", quote(&what));
        }
        let mut command = format!("touchstone run {} --seed {}", quote(&self.header.spec_file), self.seed);
        for (name, value) in &self.header.parameters {
            let _ = write!(command, " --param {}", quote(&format!("{name}={}", parameter_text(value))));
        }
        if let Some(replicas) = self.header.replicas {
            let _ = write!(command, " --replicas {replicas}");
        }
        let Header { agent, agent_files, backend, .. } = &self.header;
        for (option, value) in [("agent", agent), ("agent-files", agent_files), ("backend", backend)] {
            let _ = value.iter().try_for_each(|value| write!(command, " --{option} {}", quote(value)));
        }
        // A spec may not have the cell: profiles can be chosen in its place.
        let chaos = &row.result.scenario.chaos;
        if chaos == NO_CHAOS || Profile::named(chaos).is_some() {
            let _ = write!(command, " --chaos {chaos}");
        }
        let _ = write!(command, " --filter {}", row.result.scenario.id);
        command
    }

    /// Whether it shows what its spec names under `capabilities`: a cell passed that decides by itself, or the contract was kept.
    #[must_use]
    pub fn shows_capabilities(&self) -> bool {
        let kept = self.score.contract.as_ref().is_some_and(|contract| contract.verdict == ContractVerdict::Pass);
        kept || self.score.cells.iter().any(|cell| cell.decides() && cell.verdict == CellVerdict::Pass)
    }

    /// Returns the number of tool calls in all scenarios together.
    #[must_use]
    pub fn tool_calls(&self) -> u64 {
        self.rows.iter().fold(0, |total: u64, row| total.saturating_add(row.result.tool_calls))
    }

    /// Returns the number of errors that are scenarios which passed without a fault where faults were required.
    #[must_use]
    pub fn inconclusive(&self) -> usize {
        self.rows.iter().filter(|row| row.result.is_inconclusive()).count()
    }

    /// How many scenarios are planned and have not ended, without those that are not needed.
    #[must_use]
    pub fn not_run(&self) -> usize {
        self.score.total.saturating_sub(self.rows.len())
    }
}

/// The cells that passed, those of a contract that did, and mutations that are robust enough together.
fn passed_cells(score: &ExperimentScore) -> HashSet<CellId> {
    let kept = score.contract.as_ref().is_some_and(|contract| contract.passed);
    let robust = score.mutations.as_ref().is_some_and(|mutations| mutations.verdict == CellVerdict::Pass);
    let is_mutation = |cell: &Cell| cell.key.purpose.mutation().is_some();
    let passed = score.cells.iter().filter(|cell| {
        cell.verdict == CellVerdict::Pass || (cell.of_contract && kept) || (is_mutation(cell) && robust)
    });
    passed.map(|cell| cell.id.clone()).collect()
}

/// Returns true if a scenario failed in a cell that passed all the same.
fn is_tolerated(status: Status, cell: &CellId, passed: &HashSet<CellId>) -> bool {
    matches!(status, Status::Fail | Status::Flaky) && passed.contains(cell)
}

impl Row {
    /// Returns true if it keeps its experiment from passing: it could not be judged, or it failed in a cell that did
    /// not pass, and no quarantine excuses it.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.status != Status::Pass && !self.tolerated && !self.quarantined
    }

    /// The word of its status, for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.result.is_inconclusive() { self.result.word() } else { self.status.word() }
    }

    /// Its status in a few words.
    #[must_use]
    pub fn standing(&self) -> String {
        let allowed = match self.status {
            Status::Pass => "",
            _ if self.quarantined => " (quarantined)",
            _ if self.tolerated => " (within its cell's bar)",
            _ => "",
        };
        format!("{}{allowed}", self.word())
    }

    /// Lists all reasons why the scenario did not pass, worst first: a title of one line, and the observation.
    #[must_use]
    pub fn reasons(&self) -> Vec<(String, String)> {
        self.result.reasons()
    }
}

/// A word for a shell.
fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word.chars().all(|character| character.is_ascii_alphanumeric() || "-_./=:@%+,".contains(character));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
