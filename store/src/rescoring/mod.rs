//! Judging the evidence of a run again, by its own spec or by a changed one.

mod answers;

use scenario::report::Report;
use scenario::result::ScenarioResult;
use scenario::spec::Spec;

use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::ids::RunId;
use crate::reading::{ReportParts, read_spec, with_output};
use crate::rescored::Rescored;
use crate::results::StoredScenario;
use crate::runs::{Run, RunKind, RunState};
use crate::specs::SpecContent;
use answers::{answering, check_parameters, check_records};

/// A spec with the files beside it.
#[derive(Debug)]
pub struct Version {
    /// The spec.
    pub spec: Spec,
    /// Its stored content.
    pub content: SpecContent,
}

/// Scenarios of a run, as they were judged and as they are judged now.
#[derive(Debug)]
pub struct Judged {
    /// As they were judged, in the order of the plan.
    pub before: Vec<Option<ScenarioResult>>,
    /// As they are judged now, in the same order.
    pub now: Vec<Rescored>,
    /// The report of what they are now.
    pub report: Report,
}

impl Store {
    /// Judges a run that has ended again, by the spec that is given, or else by its own. Nothing is kept: see
    /// [`Store::keep_rescored`].
    pub async fn rescore(&self, run: &Run, given: Option<&Version>) -> Result<Judged, StoreError> {
        if run.state == RunState::Open {
            return Err(StoreError::Conflict(format!("the run `{}` has not ended", run.id)));
        }
        let experiment = self.experiment(run.id.experiment).await?;
        let own;
        let version = match given {
            Some(given) => {
                require_same_id(&given.spec, &experiment)?;
                given
            }
            None => {
                own = self.version(&run.digest).await?;
                &own
            }
        };
        let (before, now) = self.judge(version, run).await?;
        let report = report(&experiment, run, &version.spec, &now);
        Ok(Judged { before, now, report })
    }

    /// A version of a spec that is kept.
    async fn version(&self, digest: &str) -> Result<Version, StoreError> {
        let content = self.spec(digest).await?;
        let spec = read_spec(&content)?;
        Ok(Version { spec, content })
    }

    /// The version of the spec by which the evidence of a run was collected.
    async fn asked(&self, run: &Run) -> Result<Version, StoreError> {
        let mut acted = run.clone();
        while let RunKind::Rescored { of } = acted.kind {
            acted = self.run(RunId { number: of, ..acted.id }).await?;
        }
        self.version(&acted.digest).await
    }

    async fn judge(
        &self,
        version: &Version,
        run: &Run,
    ) -> Result<(Vec<Option<ScenarioResult>>, Vec<Rescored>), StoreError> {
        let (mut befores, mut nows) = (Vec::new(), Vec::new());
        let asked = self.asked(run).await?;
        check_records(&version.spec, &asked.spec)?;
        let scenarios = self.scenarios(run.id).await?;
        check_parameters(&version.spec, &scenarios.iter().map(|stored| &stored.scenario).collect::<Vec<_>>())?;
        for stored in scenarios {
            let StoredScenario { scenario, source, .. } = stored.clone();
            let before = with_output(self, stored).await?;
            let evidence = match source {
                Some((job, attempt)) => self.evidence(job, attempt).await?,
                None => None,
            };
            let result = match (&before, evidence) {
                (Some(before), Some(evidence)) => {
                    let evidence = answering(version, &asked, &scenario, evidence);
                    let result = ScenarioResult::judge(&version.spec, &scenario, &evidence);
                    Some(ScenarioResult { wall_ms: before.wall_ms, ..result })
                }
                // Without evidence there is nothing to judge.
                (before, _) => before.clone(),
            };
            befores.push(before);
            nows.push(Rescored { scenario, result, source });
        }
        Ok((befores, nows))
    }
}

fn require_same_id(spec: &Spec, experiment: &Experiment) -> Result<(), StoreError> {
    let (given, wanted) = (spec.id.to_string(), &experiment.spec.spec_id);
    if given == *wanted {
        return Ok(());
    }
    Err(StoreError::Conflict(format!("the experiment is of the spec `{wanted}`, and the given one is `{given}`")))
}

fn report(experiment: &Experiment, run: &Run, spec: &Spec, now: &[Rescored]) -> Report {
    let stored =
        now.iter().cloned().map(|Rescored { scenario, result, source }| StoredScenario { scenario, result, source });
    ReportParts::of(experiment, run, spec.clone(), stored.collect()).report()
}
