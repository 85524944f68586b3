//! `touchstone doctor`: whether this machine can do what it is to do, and what to do where it cannot.

mod finding;
mod keeping;
mod kernel;
mod models;
mod sandboxes;
mod server;
mod services;

use clap::{Args, ValueEnum};
use scenario::count_noun;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::backend::BackendOptions;
use crate::client::ServerOptions;
use crate::data_dir::{ANOTHER_DATA_DIR, StoreOption};
use crate::exit_code::Exit;
use crate::machine::ModelOptions;
use crate::output::{CommandError, Output};
use finding::{Finding, State};

/// Look whether this machine can run scenarios: engine, images, services, disk, kernel, database, models, keys
/// and clock.
///
/// Each is `ok`, `note` (something is not there that only some specs need), `warn` (something will not work, or work less well)
/// or `fail` (nothing will), with what to do about it. With a URL, the server is asked too: whether it answers, takes the key,
/// has workers, and has the same time. The exit code is 4 when anything fails.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// How to show it.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    format: DoctorFormat,
    #[command(flatten)]
    backend: BackendOptions,
    #[command(flatten)]
    models: ModelOptions,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

impl Doctor {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let findings = Runtime::new()?.block_on(self.findings());
        match self.format {
            DoctorFormat::Text => text(&findings, output)?,
            DoctorFormat::Json => output.json(&json!({
                "ok": worst(&findings) != State::Fail,
                "findings": findings.iter().map(Finding::object).collect::<Vec<_>>(),
            }))?,
        }
        Ok(if worst(&findings) == State::Fail { Exit::Infrastructure } else { Exit::Passed })
    }

    async fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        match self.store.find_data_dir() {
            Ok(data_dir) => {
                findings.extend(keeping::disk(&data_dir));
                findings.push(keeping::database(&self.store).await);
                findings.extend(sandboxes::look(&self.backend, &data_dir).await);
                findings.extend(models::look(&self.models, &data_dir));
            }
            Err(error) => {
                findings.push(Finding::fail("data directory", error.to_string(), ANOTHER_DATA_DIR));
            }
        }
        findings.extend(services::look());
        findings.extend(kernel::look());
        findings.extend(server::look(&self.server).await);
        findings
    }
}

fn worst(findings: &[Finding]) -> State {
    findings.iter().map(|finding| finding.state).max().unwrap_or(State::Ok)
}

fn text(findings: &[Finding], output: &mut Output) -> Result<(), CommandError> {
    for finding in findings {
        output.line(finding.line())?;
        if let Some(fix) = &finding.fix {
            output.line(format!("                         {fix}"))?;
        }
    }
    let of = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    let notes = count_noun(of(State::Note), "note");
    let (warnings, failures) = (count_noun(of(State::Warn), "warning"), count_noun(of(State::Fail), "failure"));
    output.line(format!("{} ok, {notes}, {warnings}, {failures}", of(State::Ok)))
}
