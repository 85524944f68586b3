//! The runs that a certificate is made from: those of doing nothing, of the solution, and of each cheat.

use scenario::certificate::cheats::cheats;
use scenario::certificate::{AgentRuns, Certificate, CertificateHeader};
use scenario::plan::{AgentOverride, Plan};
use scenario::spec::Spec;
use store::{RunId, Settings, StoredAgent};

use super::progress::CertifyProgress;
use crate::commands::run::Planned;
use crate::output::{CommandError, Output};
use crate::session::{Finish, Session, Submission, WorkOptions};

/// The runs of one agent for one spec.
#[derive(Debug)]
struct Rehearsal {
    /// The name of the spec's file.
    source: String,
    /// The spec's id.
    spec_id: String,
    /// The agent.
    agent: AgentOverride,
    /// What it runs.
    plan: Plan,
    /// The run.
    run: RunId,
}

/// The runs of all agents for all specs.
#[derive(Debug)]
pub(super) struct Rehearsals(Vec<Rehearsal>);

impl Rehearsals {
    /// Keeps an experiment for each agent of each spec.
    pub(super) async fn submit(
        session: &Session,
        planned: &[Planned],
        work: &WorkOptions,
    ) -> Result<Self, CommandError> {
        let mut rehearsals = Vec::new();
        for one in planned {
            for agent in agents(&one.spec) {
                let plan = plan(&agent, &one.plan);
                let settings = Settings {
                    agent: Some(StoredAgent::from(agent.clone())),
                    backend: work.backend.insisted().map(ToOwned::to_owned),
                    ..Settings::default()
                };
                let submission = Submission {
                    spec: &one.spec,
                    content: &one.content,
                    source: &one.source,
                    seed: plan.seed,
                    scenarios: plan.scenarios.clone(),
                    settings,
                };
                let run = session.submit(submission).await?;
                let (source, spec_id) = (one.source.clone(), one.spec.id.to_string());
                rehearsals.push(Rehearsal { source, spec_id, agent, plan, run });
            }
        }
        Ok(Self(rehearsals))
    }

    /// Works on all of them until they have ended.
    pub(super) async fn work(&self, session: &Session, output: &mut Output) -> Result<Finish, CommandError> {
        let runs: Vec<_> = self.0.iter().map(|rehearsal| rehearsal.run).collect();
        if runs.is_empty() {
            return Ok(Finish::All);
        }
        let total = self.0.iter().map(|rehearsal| rehearsal.plan.scenarios.len() as u64).sum();
        let named = |one: &Rehearsal| (one.run.experiment, (one.spec_id.clone(), Some(one.agent.clone())));
        let mut progress = CertifyProgress::begin(self.0.iter().map(named).collect(), total, output);
        session.work_telling(&runs, &mut progress, output).await
    }

    /// The certificate of a spec.
    pub(super) async fn certificate(
        &self,
        session: &Session,
        planned: &Planned,
        header: CertificateHeader,
    ) -> Result<Certificate, CommandError> {
        let mut runs = Vec::new();
        for rehearsal in self.0.iter().filter(|rehearsal| rehearsal.source == planned.source) {
            let stored = session.store.scenarios(rehearsal.run).await?;
            let results = stored.into_iter().filter_map(|one| one.result).collect();
            runs.push(AgentRuns { agent: rehearsal.agent.clone(), plan: rehearsal.plan.clone(), results });
        }
        Ok(Certificate::of(&planned.spec, header, &cheats(&planned.spec), &runs))
    }
}

/// The agents that a spec is tried with.
fn agents(spec: &Spec) -> impl Iterator<Item = AgentOverride> {
    let applicable = cheats(spec).into_iter().filter(|cheat| cheat.not_applicable.is_none());
    AgentOverride::PLAIN.into_iter().chain(applicable.map(|cheat| AgentOverride::Cheat(cheat.name)))
}

/// What an agent runs: a cheat runs each cell once.
fn plan(agent: &AgentOverride, whole: &Plan) -> Plan {
    let is_once = matches!(agent, AgentOverride::Cheat(_));
    let scenarios = whole.scenarios.iter().filter(|scenario| !is_once || scenario.replica == 0).cloned().collect();
    Plan { scenarios, ..whole.clone() }
}
