//! Several invocations of the agent in one sandbox, one after the other.

use std::mem;

use doorkeeper::protocol::{EntryKind, WriteFile};
use scenario::evidence::{AgentRecord, Fired, Limit};
use scenario::plan::Scenario;
use scenario::spec::sections::AgentKind;
use tokio::time::Instant;

use super::process::Watch;
use super::{Acted, Deadline, http, reset};
use crate::attempt::Attempt;
use crate::backend::{Image, WORKSPACE};
use crate::capture::AGENT_BYTES;
use crate::environment::{self, TASK_FILE};
use crate::error::EngineError;
use crate::world::World;

/// The copy of the task in the workspace.
pub(crate) const TASK_COPY: &str = ".keystone/task.json";

/// A sandbox in which the agent is invoked again and again.
pub(super) struct Invoking<'a> {
    pub(super) world: &'a World,
    pub(super) attempt: &'a Attempt<'a>,
    pub(super) agent: &'a AgentKind,
    pub(super) image: &'a Image,
    /// The end of `resources.timeout`.
    pub(super) overall: Instant,
}

impl Invoking<'_> {
    /// Invokes the agent for each of these, with a reset in between. Of an agent with an image of its own that is asked over HTTP, the
    /// server runs all the time.
    pub(super) async fn act(&self, planned: &[Scenario]) -> Result<Acted, EngineError> {
        let AgentKind::Http(asked) = self.agent else { return self.in_turn(planned).await };
        let deadline = Deadline::overall(self.attempt, self.overall);
        let environment = environment::of_agent(self.attempt, &self.world.environment);
        let conversation = Box::pin(self.in_turn(planned));
        http::with_server(&self.watch(&deadline), self.attempt, asked, (self.image, &environment), conversation).await
    }

    async fn in_turn(&self, planned: &[Scenario]) -> Result<Acted, EngineError> {
        let mut all = Acted::default();
        let mut task = environment::task_file(&self.attempt.agents_values(), self.attempt);
        for (index, scenario) in planned.iter().enumerate() {
            let attempt = self.of_invocation(scenario);
            if index > 0
                && let Err(problem) = reset::run(self.world, &attempt).await
            {
                all.notes.push(format!("the reset before invocation {} of the agent failed: {problem}", index + 1));
            }
            self.place_task(&attempt, &mut task, &mut all).await;
            let acted = self.invoke(&attempt).await?;
            let printed = acted.record.stdout.text();
            add(&mut all, acted);
            if index == 0 && self.goes_on(&all).await && self.attempt.scenario.tries_state(self.attempt.spec) {
                let again = self.invoke(&attempt).await?;
                all.keeps_state = again.record.stdout.text().trim() != printed.trim();
                add_trial(&mut all, again);
            }
            if !self.goes_on(&all).await {
                break;
            }
        }
        all.record = AgentRecord::together(&all.invocations, 2 * AGENT_BYTES);
        Ok(all)
    }

    /// Runs the agent once.
    async fn invoke(&self, attempt: &Attempt<'_>) -> Result<Acted, EngineError> {
        let deadline = Deadline::of(attempt, self.overall);
        let watch = self.watch(&deadline);
        match self.agent {
            AgentKind::Http(asked) => http::ask_running(&watch, attempt, asked).await,
            agent => Box::pin(super::act_as(&watch, attempt, agent, self.image)).await,
        }
    }

    /// Returns true if the agent can be invoked again. Leftover processes of an invocation that took too long or
    /// printed too much are ended first.
    async fn goes_on(&self, all: &Acted) -> bool {
        let is_of_one = |fired: &Fired| is_of_one_invocation(fired.limit);
        if all.lost || !all.limits.iter().all(is_of_one) || Instant::now() >= self.overall {
            return false;
        }
        // The server of an agent that is asked over HTTP goes on too.
        let is_server = matches!(self.agent, AgentKind::Http(_));
        all.limits.is_empty() || is_server || self.world.sandbox.door().kill_all().await.is_ok()
    }

    /// Writes the task of an invocation down where the last one is. An agent that is in the way is told of it in a note.
    async fn place_task(&self, attempt: &Attempt<'_>, last: &mut String, all: &mut Acted) {
        let task = environment::task_file(&attempt.agents_values(), attempt);
        if task == mem::replace(last, task.clone()) {
            return;
        }
        let (uid, gid) = (self.world.user.uid, self.world.user.gid);
        let folder = TASK_FILE.rsplit_once('/').unwrap_or_default();
        for (root, path) in [folder, (WORKSPACE, TASK_COPY)] {
            let (kind, content) = (EntryKind::File, task.clone().into_bytes());
            let file = WriteFile { path: path.into(), kind, uid, gid, mode: 0o644, content, append: false };
            if let Err(error) = self.world.sandbox.door().put(root, file).await {
                all.notes.push(format!("the task could not be written to `{root}/{path}` again: {error}"));
            }
        }
    }

    fn of_invocation<'b>(&'b self, scenario: &'b Scenario) -> Attempt<'b> {
        let (identity, permissions) = (self.attempt.identity.clone(), self.attempt.permissions.clone());
        Attempt { scenario, identity, permissions, ..*self.attempt }
    }

    fn watch<'b>(&'b self, deadline: &'b Deadline) -> Watch<'b> {
        Watch { world: self.world, deadline, output: self.attempt.spec.resources.output.get() }
    }
}

/// Returns true if a limit ends one invocation, and not those after it.
fn is_of_one_invocation(limit: Limit) -> bool {
    matches!(limit, Limit::AgentTimeout | Limit::Output)
}

/// Adds an invocation.
fn add(all: &mut Acted, one: Acted) {
    let Acted { record, leaks, limits, offences, lost, .. } = one;
    all.invocations.push(record);
    all.leaks.extend(leaks);
    for fired in limits {
        if all.limits.iter().all(|known| known.limit != fired.limit) {
            all.limits.push(fired);
        }
    }
    all.offences.extend(offences);
    all.lost |= lost;
}

/// Adds an invocation that was made to see if the agent keeps state, of which no rule is judged: that it took too long fails nothing.
fn add_trial(all: &mut Acted, mut trial: Acted) {
    trial.limits.retain(|fired| !is_of_one_invocation(fired.limit));
    add(all, trial);
    all.invocations.pop();
}
