//! `touchstone trace`: what happened in a scenario, in the order of time.

mod draw;
mod happened;

use clap::{Args, ValueEnum};
use scenario::evidence::Evidence;
use scenario::trace::timeline_lines;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::client::{MaybeServer, Server, Stream};
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::whole_number::whole_number;
use happened::AttemptEvents;

/// Show what happened in a scenario as a timeline: phases, model calls, tools, requests, lookups
/// of names and probes.
///
/// Times of the agent's doings are counted from its start, which is drawn where it was.
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// EXPERIMENT/SCENARIO or EXPERIMENT#RUN/SCENARIO; the scenario can be left away when there is only one.
    #[arg(value_name = "SCENARIO")]
    reference: Reference,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    format: TraceFormat,
    /// How many lines to show at most.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = whole_number::<usize>)]
    limit: usize,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TraceFormat {
    /// For people: with bars.
    Text,
    /// One JSON object.
    Json,
}

/// What a timeline is made of.
struct Traced {
    name: String,
    evidence: Evidence,
    events: AttemptEvents,
}

impl Trace {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let Traced { name, evidence, events } = Runtime::new()?.block_on(async {
            match self.server.named()? {
                Some(server) => self.traced_at(&server).await,
                None => self.traced_here().await,
            }
        })?;
        let timeline = timeline_lines(Some(&evidence), &events.timed());
        match self.format {
            TraceFormat::Json => output.json(&json!({ "scenario": name, "timeline": timeline }))?,
            TraceFormat::Text => {
                for line in draw::lines(&name, &timeline, self.limit, output.width()) {
                    output.line(line)?;
                }
            }
        }
        Ok(Exit::Passed)
    }

    async fn traced_here(&self) -> Result<Traced, CommandError> {
        let home = self.store.open().await?;
        let (_, run) = self.reference.find(&home.store).await?;
        let scenarios = home.store.scenarios(run.id).await?;
        let stored = self.reference.scenario(&scenarios)?;
        let id = stored.scenario.id.as_str();
        let name = format!("{}/{id}", run.id);
        let Some((job, attempt)) = stored.source else { return Err(no_evidence(&name)) };
        let evidence = home.store.evidence(job, attempt).await?.ok_or_else(|| no_evidence(&name))?;
        let acted = super::show::acted(&home.store, &run).await?;
        let events = happened::stored(&home.store, acted.id, id, attempt).await?;
        Ok(Traced { name, evidence, events })
    }

    async fn traced_at(&self, server: &Server) -> Result<Traced, CommandError> {
        let run = server.find(&self.reference).await?;
        let id = match &self.reference.scenario {
            Some(scenario) => scenario.clone(),
            None => match server.report(&run).await?.0.rows.as_slice() {
                [only] => only.result.scenario.id.to_string(),
                _ => return Err(CommandError::Usage(format!("say which scenario: {}/SCENARIO", run.name()))),
            },
        };
        let name = format!("{}/{id}", run.name());
        let said = server.scenario(&run, &id).await?;
        if said["result"].is_null() {
            return Err(no_evidence(&name));
        }
        let evidence = serde_json::from_str(&server.evidence(&run, &id).await?).map_err(|error| {
            CommandError::Infrastructure(format!("the evidence of `{name}` cannot be read: {error}"))
        })?;
        let attempt = said["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(1);
        let events = happened::streamed(&mut Stream::of(server, run), &id, attempt).await?;
        Ok(Traced { name, evidence, events })
    }
}

fn no_evidence(name: &str) -> CommandError {
    CommandError::Usage(format!("`{name}` left no evidence: it has not ended, or could not be run"))
}
