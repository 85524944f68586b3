//! `touchstone cancel`: ends a run early.

use clap::Args;
use engine::owner::{Life, life_of};
use scenario::result::ScenarioResult;
use scenario::{count_noun, count_noun_as};
use store::{Clock as _, Held, Kept, Numbers, Run, RunState};
use tokio::runtime::Runtime;

use crate::client::{MaybeServer, Server};
use crate::clock::SystemClock;
use crate::data_dir::{Home, StoreOption};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::run_status::Standing;

/// End a run before all of its scenarios have been run.
///
/// Scenarios that wait are not run any more, and those that are being run are stopped. What has ended already stays. With a
/// URL, a run of that server is meant.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// EXPERIMENT or EXPERIMENT#RUN; without a run, the newest one is meant.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    /// Why, for whoever looks at it later.
    #[arg(long, value_name = "TEXT", default_value = "cancelled by hand")]
    reason: String,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

/// The result of a cancellation.
struct Cancelled {
    ended: bool,
    /// Scenarios that their workers stop.
    stopping: usize,
    /// Scenarios that were being run by processes that are gone.
    given_up: usize,
}

impl Cancel {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        if self.reference.scenario.is_some() {
            return Err(CommandError::Usage("a run is cancelled as a whole; leave `/SCENARIO` away".to_owned()));
        }
        match self.server.named()? {
            Some(server) => Runtime::new()?.block_on(self.cancel_at(&server, output)),
            None => Runtime::new()?.block_on(self.cancel(output)),
        }
    }

    async fn cancel_at(&self, server: &Server, output: &mut Output) -> Result<Exit, CommandError> {
        let run = server.find(&self.reference).await?;
        if run.run.is_some() {
            return Err(CommandError::Usage("a server cancels the newest run; leave `#RUN` away".to_owned()));
        }
        let said = server.cancel(&run, &self.reason).await?;
        let word = if said.text("status") == "cancelled" { "cancelled" } else { "is being cancelled" };
        // A server counts what will not be run any more as ended.
        let ended = server.report(&run).await?.0.rows.len();
        let total = count_noun(said.0["total_scenarios"].as_u64().unwrap_or(0), "scenario");
        output.line(format!("{} {word}: {ended} of {total} had ended", run.name()))?;
        Ok(Exit::Passed)
    }

    async fn cancel(&self, output: &mut Output) -> Result<Exit, CommandError> {
        let home = self.store.open().await?;
        let (_, run) = self.reference.find(&home.store).await?;
        let cancelled = end(&home, &run, &self.reason).await?;
        let after = home.store.run(run.id).await?;
        let id = run.id;
        if cancelled.given_up > 0 {
            output.line(format!(
                "{} is gone; `touchstone sweep` removes what it left",
                count_noun_as(
                    cancelled.given_up,
                    "scenario was given up: the process that ran it",
                    "scenarios were given up: the process that ran them"
                )
            ))?;
        }
        if cancelled.stopping > 0 {
            output.line(format!(
                "{} being run: stopped at the next heartbeat of its worker",
                count_noun_as(cancelled.stopping, "scenario is", "scenarios are")
            ))?;
        }
        let scenarios = home.store.scenarios(id).await?;
        let judged = scenarios.iter().filter(|stored| stored.result.is_some()).count();
        let word = if cancelled.ended { "cancelled" } else { "is being cancelled" };
        output.line(format!("{id} {word}: {judged} of {} had ended", count_noun(after.total, "scenario")))?;
        Ok(Exit::Passed)
    }
}

async fn end(home: &Home, run: &Run, reason: &str) -> Result<Cancelled, CommandError> {
    let ended_already = || {
        let id = run.id;
        CommandError::Usage(format!("the run `{id}` has ended already; `touchstone show {id}` shows it"))
    };
    if run.state != RunState::Open {
        return Err(ended_already());
    }
    let numbers = Numbers::of(&home.store, run.id).await?;
    let score = |results: &[ScenarioResult]| numbers.score(results);
    let orphaned = Standing::of(run, &home.data_dir) == Standing::Interrupted;
    let kept = home.store.cancel(run.id, reason, SystemClock.now(), &score).await?;
    let mut cancelled = Cancelled { ended: kept == Kept::RunEnded, stopping: 0, given_up: 0 };
    if kept == Kept::Stale {
        return Err(ended_already());
    }
    for held in home.store.held().await?.iter().filter(|held| held.run == run.id) {
        if !orphaned && !is_gone(home, held) {
            cancelled.stopping += 1;
            continue;
        }
        match home.store.give_up(&held.lease, run.id, reason, SystemClock.now(), &score).await? {
            Kept::Stale => {}
            kept => {
                cancelled.given_up += 1;
                cancelled.ended |= kept == Kept::RunEnded;
            }
        }
    }
    Ok(cancelled)
}

/// Returns true if a job's worker worked in this data directory, and is gone.
fn is_gone(home: &Home, held: &Held) -> bool {
    held.worker.data_dir == home.data_dir.id()
        && life_of(&home.data_dir, held.worker.owner).is_ok_and(|life| life == Life::Gone)
}
