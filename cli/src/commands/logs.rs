//! `touchstone logs`: the output of agents in a server's experiment, and the events around it.

use clap::Args;
use scenario::untrusted;
use tokio::runtime::Runtime;

use crate::ci_commands::Form;
use crate::client::{Happened, RemoteRun, Server, ServerOptions, Stream, Streamed};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::signals::Signals;
use crate::verdict_lines::MOST_LINE;

/// Print what an agent printed on a server, or what happened while an experiment was run.
///
/// Of a scenario (EXPERIMENT/SCENARIO): what its agent printed, first its output, then its errors. Of an experiment, or with
/// --events: a line for each event; while it runs, new ones are printed as they happen until it has ended.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// EXPERIMENT, EXPERIMENT#RUN or EXPERIMENT/SCENARIO.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    /// The events of a scenario, instead of what its agent printed.
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    server: ServerOptions,
}

impl Logs {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let instead = "; `touchstone show EXPERIMENT/SCENARIO --output` prints what was run on this machine";
        let server = self.server.required(instead)?;
        Runtime::new()?.block_on(async {
            let run = server.find(&self.reference).await?;
            match &self.reference.scenario {
                Some(scenario) if !self.events => printed(&server, &run, scenario, output).await,
                scenario => events(&server, run, scenario.as_deref(), output).await,
            }
        })
    }
}

async fn printed(server: &Server, run: &RemoteRun, scenario: &str, output: &mut Output) -> Result<Exit, CommandError> {
    let said = server.scenario(run, scenario).await?;
    if said["result"].is_null() {
        return Err(CommandError::Usage(format!(
            "`{scenario}` has not ended; `touchstone logs {}/{scenario} --events` follows it",
            run.name()
        )));
    }
    let printed = ["agent_output", "agent_stderr"].map(|stream| said["result"][stream].as_str().unwrap_or_default());
    output.exactly(&untrusted::visible(&printed.concat()), Form::Text)?;
    Ok(Exit::Passed)
}

async fn events(
    server: &Server,
    run: RemoteRun,
    scenario: Option<&str>,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    if let Some(scenario) = scenario {
        // A name that is wrong would be waited for until the end.
        server.scenario(&run, scenario).await?;
    }
    let mut signals = Signals::listen()?;
    let mut stream = Stream::of(server, run);
    loop {
        let happened = tokio::select! {
            _ = signals.next() => return Ok(Exit::Interrupted),
            happened = stream.next() => happened?,
        };
        let Streamed::Happened(happened) = happened else { return Ok(Exit::Passed) };
        if scenario.is_none_or(|wanted| wanted == happened.scenario()) {
            output.line(line(&happened))?;
        }
    }
}

fn line(happened: &Happened) -> String {
    let body = &happened.data["body"];
    let body = if body.as_object().is_none_or(serde_json::Map::is_empty) { String::new() } else { format!(" {body}") };
    let (at, scenario, kind) = (happened.word("at"), happened.scenario(), happened.event.kind());
    untrusted::line(&format!("{at}  {scenario}  attempt {}  {kind}{body}", happened.data["attempt"]), MOST_LINE)
}
