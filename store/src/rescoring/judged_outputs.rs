//! The outputs of a run that judges rate, from its evidence.

use scenario::evidence::Evidence;
use scenario::judge_calibration::{JudgedOutput, Unasked, judged_outputs, unasked};

use super::Version;
use super::answers::answering;
use crate::Store;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::results::StoredScenario;
use crate::runs::{Run, RunKind};

/// A reader of a run's judged outputs.
#[derive(Debug)]
pub struct JudgedOutputs {
    /// The run that acted, which labels name.
    pub acted: RunId,
    /// The spec that judges.
    version: Version,
    /// The spec by which the evidence was collected.
    asked: Version,
}

impl Store {
    /// A reader of a run's judged outputs: by the run's own spec, from the evidence of the run that acted.
    pub async fn judged_outputs(&self, run: &Run) -> Result<JudgedOutputs, StoreError> {
        let version = self.version(&run.digest).await?;
        let asked = self.asked(run).await?;
        Ok(JudgedOutputs { acted: self.acted(run).await?.id, version, asked })
    }

    /// The run that acted, whose evidence a run judges.
    pub async fn acted(&self, run: &Run) -> Result<Run, StoreError> {
        let mut acted = run.clone();
        while let RunKind::Rescored { of } = acted.kind {
            acted = self.run(RunId { number: of, ..acted.id }).await?;
        }
        Ok(acted)
    }
}

impl JudgedOutputs {
    /// The experiment's name in labels and outputs.
    #[must_use]
    pub fn experiment(&self) -> String {
        experiment_name(self.acted)
    }

    /// The invariants that judges rate in a scenario. No evidence is read.
    #[must_use]
    pub fn judges_of(&self, stored: &StoredScenario) -> Vec<String> {
        let judged = stored.scenario.judged(&self.version.spec);
        let judges = judged.iter().filter(|one| matches!(one.check, scenario::checks::Check::LlmAsJudge(_)));
        judges.map(|one| one.name.to_owned()).collect()
    }

    /// The outputs of a scenario; none without evidence.
    pub async fn of(&self, store: &Store, stored: &StoredScenario) -> Result<Vec<JudgedOutput>, StoreError> {
        if self.judges_of(stored).is_empty() {
            return Ok(Vec::new());
        }
        let evidence = self.evidence(store, stored).await?;
        Ok(evidence.map(|evidence| self.within(stored, &evidence)).unwrap_or_default())
    }

    /// The outputs in the evidence of a scenario.
    #[must_use]
    pub fn within(&self, stored: &StoredScenario, evidence: &Evidence) -> Vec<JudgedOutput> {
        let outputs = judged_outputs(&self.version.spec, &stored.scenario, evidence);
        let experiment = self.experiment();
        outputs.into_iter().map(|output| JudgedOutput { experiment: experiment.clone(), ..output }).collect()
    }

    /// The questions whose answers are missing for a scenario.
    #[must_use]
    pub fn unasked(&self, stored: &StoredScenario, evidence: &Evidence) -> Vec<Unasked> {
        unasked(&self.version.spec, &stored.scenario, evidence)
    }

    /// The evidence of a scenario, with answers to what the spec asks and no others.
    pub async fn evidence(&self, store: &Store, stored: &StoredScenario) -> Result<Option<Evidence>, StoreError> {
        let Some((job, attempt)) = stored.source else { return Ok(None) };
        let evidence = store.evidence(job, attempt).await?;
        Ok(evidence.map(|evidence| answering(&self.version, &self.asked, &stored.scenario, evidence)))
    }
}

/// The name of an experiment in labels: `ID`, or `ID#RUN` for a later run that acted.
#[must_use]
pub fn experiment_name(acted: RunId) -> String {
    match acted.number {
        1 => acted.experiment.to_string(),
        number => format!("{}#{number}", acted.experiment),
    }
}
