//! Strength: right answers are broken in many ways, and what nobody notices is listed.

use std::collections::HashMap;

use scenario::certificate::{Breakage, Strength, Tried, breakages, chosen};
use scenario::evidence::Evidence;
use scenario::plan::{AgentOverride, Purpose, Scenario, ScenarioId};
use scenario::result::ScenarioResult;
use store::{ExperimentId, RunId, Settings, StoredAgent};

use super::progress::CertifyProgress;
use super::require_end;
use crate::commands::run::Planned;
use crate::output::{CommandError, Output};
use crate::session::{Session, Submission, WorkOptions};

/// Breaks right answers.
pub(super) struct Breaking<'a> {
    /// The session that makes the runs.
    pub(super) session: &'a Session,
    /// How it works.
    pub(super) work: &'a WorkOptions,
    /// How many ways are tried for each spec.
    pub(super) at_most: usize,
}

/// A right answer, and the ways in which it is broken.
struct Answer<'a> {
    planned: &'a Planned,
    scenario: Scenario,
    whole: ScenarioResult,
    evidence: Evidence,
    chosen: Vec<Breakage>,
    left_out: usize,
    /// The run of those that have to be carried out in a sandbox.
    run: Option<RunId>,
}

impl Breaking<'_> {
    /// The strength of each spec; `None` when it was interrupted.
    pub(super) async fn strengths(
        &self,
        planned: &[&Planned],
        output: &mut Output,
    ) -> Result<Option<Vec<Strength>>, CommandError> {
        let Some(looked) = self.look(planned, output).await? else { return Ok(None) };
        let mut answers = Vec::new();
        for (one, run) in planned.iter().zip(looked) {
            answers.push(self.answer(one, run).await?);
        }
        let mut runs = Vec::new();
        for answer in answers.iter_mut().filter_map(|answer| answer.as_mut().ok()) {
            if let Some(scenarios) = answer.carried_out() {
                let run = self.submit(answer.planned, scenarios.clone()).await?;
                answer.run = Some(run);
                runs.push((run, answer.planned.spec.id.to_string(), scenarios.len()));
            }
        }
        if !self.work_on(&runs, output).await? {
            return Ok(None);
        }
        let mut strengths = Vec::new();
        for answer in &answers {
            strengths.push(match answer {
                Ok(answer) => self.strength(answer).await?,
                Err(problem) => Strength { unjudged: vec![problem.clone()], ..Strength::default() },
            });
        }
        Ok(Some(strengths))
    }

    /// Runs each solution once, looking at everything.
    async fn look(&self, planned: &[&Planned], output: &mut Output) -> Result<Option<Vec<RunId>>, CommandError> {
        let mut runs = Vec::new();
        for one in planned {
            let breakage = Some(Box::new(Breakage::Look));
            let scenarios: Vec<_> = first(one).map(|scenario| Scenario { breakage, ..scenario }).into_iter().collect();
            runs.push((self.submit(one, scenarios).await?, one.spec.id.to_string(), 1));
        }
        let ids = runs.iter().map(|(run, ..)| *run).collect();
        Ok(self.work_on(&runs, output).await?.then_some(ids))
    }

    async fn submit(&self, planned: &Planned, scenarios: Vec<Scenario>) -> Result<RunId, CommandError> {
        let settings = Settings {
            agent: Some(StoredAgent::from(AgentOverride::Oracle)),
            backend: self.work.backend.insisted().map(ToOwned::to_owned),
            ..Settings::default()
        };
        let Planned { spec, content, source, plan, .. } = planned;
        self.session.submit(Submission { spec, content, source, seed: plan.seed, scenarios, settings }).await
    }

    /// Works on runs until they have ended; false when it was interrupted.
    async fn work_on(&self, runs: &[(RunId, String, usize)], output: &mut Output) -> Result<bool, CommandError> {
        if runs.is_empty() {
            return Ok(true);
        }
        let ids: Vec<_> = runs.iter().map(|(run, ..)| *run).collect();
        let total = runs.iter().map(|(_, _, count)| *count as u64).sum();
        let names: HashMap<ExperimentId, _> =
            runs.iter().map(|(run, spec, _)| (run.experiment, (spec.clone(), None))).collect();
        let mut progress = CertifyProgress::begin(names, total, output);
        let finish = self.session.work_telling(&ids, &mut progress, output).await?;
        require_end(finish)
    }

    /// What came of the run that looked at everything, or why there is none.
    async fn answer<'a>(&self, planned: &'a Planned, run: RunId) -> Result<Result<Answer<'a>, String>, CommandError> {
        let Some(stored) = self.session.store.scenarios(run).await?.into_iter().next() else {
            return Ok(Err("there is nothing to run".to_owned()));
        };
        let evidence = match stored.source {
            Some((job, attempt)) => self.session.store.evidence(job, attempt).await?,
            None => None,
        };
        let (Some(whole), Some(evidence)) = (stored.result, evidence) else {
            return Ok(Err("the run of the solution left no evidence".to_owned()));
        };
        let all = breakages(&planned.spec, &evidence);
        let count = all.len();
        let chosen = chosen(all, self.at_most, planned.plan.seed);
        let (scenario, left_out) = (stored.scenario, count - chosen.len());
        Ok(Ok(Answer { planned, scenario, whole, evidence, chosen, left_out, run: None }))
    }

    async fn strength(&self, answer: &Answer<'_>) -> Result<Strength, CommandError> {
        let mut carried_out = HashMap::new();
        if let Some(run) = answer.run {
            let stored = self.session.store.scenarios(run).await?;
            carried_out = stored.into_iter().map(|one| (one.scenario.replica, one.result)).collect();
        }
        let tried = answer.numbered().map(|(number, breakage)| {
            let result = match breakage.is_judged_purely(&answer.planned.spec) {
                true => Some(answer.judge(breakage)),
                false => carried_out.remove(&number).flatten(),
            };
            Tried { breakage: breakage.clone(), result }
        });
        let tried: Vec<_> = tried.collect();
        Ok(Strength::of(&answer.whole, &answer.evidence, &tried, answer.left_out))
    }
}

impl Answer<'_> {
    fn numbered(&self) -> impl Iterator<Item = (u32, &Breakage)> {
        (0..).zip(&self.chosen)
    }

    /// The scenarios in which the answer is broken in a sandbox; `None` when there is none.
    fn carried_out(&self) -> Option<Vec<Scenario>> {
        let scenario = |(number, breakage): (u32, &Breakage)| Scenario {
            id: ScenarioId::of(&self.scenario.cell, number),
            replica: number,
            breakage: Some(Box::new(breakage.clone())),
            ..self.scenario.clone()
        };
        let impure = self.numbered().filter(|(_, breakage)| !breakage.is_judged_purely(&self.planned.spec));
        let scenarios: Vec<_> = impure.map(scenario).collect();
        (!scenarios.is_empty()).then_some(scenarios)
    }

    /// Judges the evidence as it would be.
    fn judge(&self, breakage: &Breakage) -> ScenarioResult {
        let mut evidence = self.evidence.clone();
        breakage.break_records(&mut evidence);
        ScenarioResult::judge(&self.planned.spec, &self.scenario, &evidence)
    }
}

/// The scenario whose answer is broken: the first that is judged by the spec's own invariants.
fn first(planned: &Planned) -> Option<Scenario> {
    let scenarios = &planned.plan.scenarios;
    let own = scenarios.iter().find(|scenario| scenario.purpose == Purpose::Everything);
    own.or_else(|| scenarios.first()).cloned()
}
