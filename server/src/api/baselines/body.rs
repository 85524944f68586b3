//! A line of a baseline, as JSON.

use serde::Serialize;
use serde_json::Value;
use store::BaselineLine;
use utoipa::ToSchema;

/// A run that is kept as a baseline of its spec.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BaselineBody {
    /// The baseline.
    #[schema(example = "main")]
    name: String,
    /// The branch whose line it is; `null` for the baseline itself.
    branch: Option<String>,
    /// Its owner.
    user_id: String,
    /// The spec.
    spec_id: String,
    /// The digest of the spec by which the run was judged, where that is known.
    digest: Option<String>,
    /// The experiment that the run was of. It may have been removed since.
    experiment_id: String,
    /// The number of the run.
    run: u32,
    /// The number of cells of the run.
    cells: usize,
    /// The number of its replicas, over all cells.
    replicas: usize,
    /// The number of those that passed.
    passed: usize,
    /// Its verdict.
    #[schema(example = "pass")]
    verdict: &'static str,
    /// The time at which it was kept.
    #[schema(format = DateTime)]
    saved_at: String,
    /// The key with which it was kept.
    saved_by: String,
    /// A remark about why.
    reason: String,
    /// The reasons against it, when it was kept by force.
    overridden: Vec<String>,
}

/// A baseline: its lines, and its reports when they are wanted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BaselineReports {
    /// The baseline.
    pub(super) name: String,
    /// The branch that was asked for.
    pub(super) branch: Option<String>,
    /// A line for each spec. Those that the branch does not have are the baseline's own.
    pub(super) lines: Vec<BaselineBody>,
    /// The reports, in the order of the lines, when they are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub(super) experiments: Option<Vec<Value>>,
}

impl From<BaselineLine> for BaselineBody {
    fn from(line: BaselineLine) -> Self {
        let BaselineLine { owner, name, spec_id, digest, experiment, run, size, passed, verdict, .. } = line;
        Self {
            name: name.name().to_owned(),
            branch: name.branch().map(ToOwned::to_owned),
            user_id: owner,
            spec_id,
            digest,
            experiment_id: experiment,
            run,
            cells: size.cells,
            replicas: size.replicas,
            passed,
            verdict: verdict.word(),
            saved_at: line.saved_at.to_string(),
            saved_by: line.saved_by,
            reason: line.reason,
            overridden: line.overridden,
        }
    }
}
