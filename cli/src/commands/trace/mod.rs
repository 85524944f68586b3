//! `touchstone trace`: what happened in a scenario, in the order of time.

mod draw;
mod happened;

use clap::{Args, ValueEnum};
use scenario::evidence::Evidence;
use scenario::tool_session::{ToolSessions, contract_logs};
use scenario::trace::timeline_lines;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::ci_commands::Form;
use crate::client::{MaybeServer, Server, Stream};
use crate::data_dir::StoreOption;
use crate::evidence_of::{EvidenceHere, EvidenceThere};
use crate::exit_code::Exit;
use crate::lane_lines;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::whole_number::whole_number;
use happened::AttemptEvents;

/// Show what happened in a scenario as a timeline: phases, model calls, tools, requests, lookups
/// of names and probes.
///
/// Times of the agent's doings are counted from its start, which is drawn where it was. Sessions under tool contracts stand
/// below the timeline.
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
    /// The records of its sessions under tool contracts, one JSON object a line.
    Contract,
}

/// The records of all sessions, those of each in their order.
fn records(evidence: &Evidence) -> String {
    contract_logs(evidence).into_iter().map(|log| log.lines).collect()
}

/// The data of a timeline.
struct Traced {
    name: String,
    evidence: Evidence,
    events: AttemptEvents,
    sessions: ToolSessions,
}

impl Trace {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let Traced { name, evidence, events, sessions } = Runtime::new()?.block_on(async {
            match self.server.named()? {
                Some(server) => self.traced_at(&server).await,
                None => self.traced_here().await,
            }
        })?;
        let timeline = timeline_lines(Some(&evidence), &events.timed());
        match self.format {
            TraceFormat::Json => {
                output.json(&json!({ "scenario": name, "timeline": timeline, "tool_sessions": sessions }))?;
            }
            TraceFormat::Contract => output.exactly(&records(&evidence), Form::Json)?,
            TraceFormat::Text => {
                let lines = draw::lines(&name, &timeline, self.limit, output.width());
                for line in lines.into_iter().chain(lane_lines::lines(&sessions)) {
                    output.line(line)?;
                }
            }
        }
        Ok(Exit::Passed)
    }

    async fn traced_here(&self) -> Result<Traced, CommandError> {
        let found = EvidenceHere::find(&self.store, &self.reference).await?;
        let acted = super::show::acted(&found.home.store, &found.run).await?;
        let id = found.stored.scenario.id.as_str();
        let events = happened::stored(&found.home.store, acted.id, id, found.attempt).await?;
        let sessions = ToolSessions::of(Some(&found.evidence), found.stored.result.as_ref());
        Ok(Traced { name: found.name(), evidence: found.evidence, events, sessions })
    }

    async fn traced_at(&self, server: &Server) -> Result<Traced, CommandError> {
        let found = EvidenceThere::find(server, &self.reference).await?;
        let name = found.name();
        let attempt = found.said["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(1);
        let events = happened::streamed(&mut Stream::of(server, found.run), &found.id, attempt).await?;
        let invariants = found.said["result"]["invariants"].as_array().into_iter().flatten();
        let details = invariants.map(|one| (one["name"].as_str().unwrap_or_default(), &one["details"]));
        let sessions = ToolSessions::of_details(Some(&found.evidence), details);
        Ok(Traced { name, evidence: found.evidence, events, sessions })
    }
}
