//! `touchstone approvals kill`: ends a session under tool contracts while its scenario is run.

use std::env;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scenario::intervention::{Intervention, KillReach, SessionChange};
use serde_json::json;
use store::{Clock as _, RunState};
use tokio::runtime::Runtime;

use super::place::{Place, PlaceOptions};
use crate::client::segment;
use crate::clock::SystemClock;
use crate::data_dir::Home;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// Kill a session under tool contracts while its scenario is run
///
/// Every later tool call of it is refused, and a held one is denied. The agent itself goes on until it ends.
#[derive(Debug, Args)]
pub(super) struct Kill {
    /// EXPERIMENT/SCENARIO.
    #[arg(value_name = "SCENARIO")]
    reference: Reference,
    /// The session, as its records call it; the one that the agent began with, without it.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The sessions of a workflow that are killed.
    #[arg(long, value_parser = reach(), default_value = KillReach::Session.word())]
    scope: KillReach,
    /// The reason, for the records.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    place: PlaceOptions,
}

/// Reads a scope, and lists the words that are possible.
fn reach() -> impl TypedValueParser<Value = KillReach> {
    let find = |word: String| KillReach::ALL.into_iter().find(|reach| reach.word() == word).unwrap_or_default();
    PossibleValuesParser::new(KillReach::ALL.map(KillReach::word)).map(find)
}

impl Kill {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(async {
            match self.place.open().await? {
                Place::Server(server) => {
                    let run = server.find(&self.reference).await?;
                    let scenario = self.reference.scenario.as_deref().ok_or_else(no_scenario)?;
                    let body = json!({"session": self.session, "scope": self.scope, "reason": self.reason});
                    let path = run.path(&format!("/scenarios/{}/kill", segment(scenario)), &[]);
                    server.post_for_status(&path, &body).await
                }
                Place::Here(home) => self.here(&home).await,
            }
        })?;
        output.line("the worker that runs it kills the session within a few seconds")?;
        Ok(Exit::Passed)
    }

    async fn here(&self, home: &Home) -> Result<(), CommandError> {
        let (_, run) = self.reference.find(&home.store).await?;
        let scenarios = home.store.scenarios(run.id).await?;
        let stored = self.reference.scenario(&scenarios)?;
        if stored.result.is_some() || run.state != RunState::Open {
            return Err(CommandError::Usage("the scenario has ended, and so have its sessions".to_owned()));
        }
        let by = env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
        let change = SessionChange::Kill { scope: self.scope, reason: self.reason.clone() };
        let intervention = Intervention { session: self.session.clone(), change, by };
        Ok(home.store.intervene(run.id, stored.scenario.id.as_str(), &intervention, SystemClock.now()).await?)
    }
}

fn no_scenario() -> CommandError {
    CommandError::Usage("say which scenario: EXPERIMENT/SCENARIO".to_owned())
}
