//! Baselines: a report in a file, or one that is kept by name, by a server or on this machine.

mod choice;
mod flaky;
mod options;

use std::fs;
use std::path::Path;

use scenario::baseline::BaselineName;
use scenario::report::{Report, json_value, read_all};
use serde_json::{Value as Json, json};
use server::BaselineBody;
use store::{Clock as _, ExperimentId, NewBaseline, RunId, SaveTerms, Saved, Store, StoreError, baseline_candidate};

pub(crate) use choice::BaselineChoice;
pub(crate) use options::{BaselineOptions, PlaceOf};

use crate::client::{MaybeServer, Server};
use crate::clock::SystemClock;
use crate::data_dir::{Home, StoreOption};
use crate::output::CommandError;

/// The place of named baselines.
#[derive(Debug)]
pub(crate) enum BaselinePlace {
    /// A server has them.
    Server(Server),
    /// They are kept on this machine.
    Here(Home),
}

/// The result of keeping runs.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The lines that were kept, as JSON.
    Lines(Vec<Json>),
    /// The reasons why none was.
    Refused(String),
}

impl BaselinePlace {
    /// The server that is named, or this machine.
    pub(crate) async fn open(server: &MaybeServer, store: &StoreOption) -> Result<Self, CommandError> {
        Self::of(server.named()?, store).await
    }

    /// The same, of a server that was looked for before.
    pub(crate) async fn of(server: Option<Server>, store: &StoreOption) -> Result<Self, CommandError> {
        match server {
            Some(server) => Ok(Self::Server(server)),
            None => Ok(Self::Here(store.open().await?)),
        }
    }

    /// The lines of all baselines, or of one with its branches.
    pub(crate) async fn list(&self, name: Option<&str>) -> Result<Vec<Json>, CommandError> {
        match self {
            Self::Server(server) => server.baselines(name).await,
            Self::Here(home) => home.store.baselines(Some(""), name).await?.into_iter().map(body).collect(),
        }
    }

    /// The reports of a baseline; `None` when there is no such baseline.
    pub(crate) async fn reports(&self, name: &BaselineName) -> Result<Option<Vec<Report>>, CommandError> {
        match self {
            Self::Server(server) => server.baseline(name).await,
            Self::Here(home) => {
                let mut reports = Vec::new();
                for line in home.store.baseline("", name).await? {
                    reports.push(home.store.baseline_report(&line).await?);
                }
                Ok(Some(reports).filter(|reports| !reports.is_empty()))
            }
        }
    }

    /// Stores reports as a baseline: runs that are known there with all other data about them.
    pub(crate) async fn save(
        &self,
        name: &BaselineName,
        reports: Vec<Report>,
        terms: &SaveTerms,
    ) -> Result<Kept, CommandError> {
        match self {
            Self::Server(server) => save_there(server, name, &reports, terms).await,
            Self::Here(home) => {
                let mut new = Vec::new();
                for report in reports {
                    new.push(candidate(&home.store, report).await?);
                }
                let saved = home.store.save_baseline("", name, &new, terms, SystemClock.now()).await?;
                Ok(match saved {
                    Saved::Kept(lines) => Kept::Lines(lines.into_iter().map(body).collect::<Result<_, _>>()?),
                    Saved::Refused(refusals) => {
                        Kept::Refused(refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
                    }
                })
            }
        }
    }

    /// Removes a baseline, or its line of one spec.
    pub(crate) async fn remove(&self, name: &BaselineName, spec: Option<&str>) -> Result<(), CommandError> {
        match self {
            Self::Server(server) => server.remove_baseline(name, spec).await,
            Self::Here(home) => match home.store.remove_baseline("", name, spec).await? {
                0 => Err(missing(name)),
                _ => Ok(()),
            },
        }
    }
}

/// A report as it is kept here. Of a run that is known, it is also known by which spec it was judged and whether it was whole.
async fn candidate(store: &Store, report: Report) -> Result<NewBaseline, CommandError> {
    let unknown = |report| NewBaseline { report, digest: None, is_whole: true };
    let Ok(experiment) = report.header.experiment_id.parse::<ExperimentId>() else { return Ok(unknown(report)) };
    let run = RunId { experiment, number: report.header.run };
    let known = match (store.experiment(experiment).await, store.run(run).await) {
        (Ok(experiment), Ok(run)) => baseline_candidate(store, &experiment, &run).await?,
        (Err(StoreError::NotFound(_)), _) | (_, Err(StoreError::NotFound(_))) => return Ok(unknown(report)),
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    };
    Ok(NewBaseline { report, ..known })
}

async fn save_there(
    server: &Server,
    name: &BaselineName,
    reports: &[Report],
    terms: &SaveTerms,
) -> Result<Kept, CommandError> {
    // A report that the server made names one of its runs, which it reads itself.
    let (known, foreign): (Vec<_>, Vec<_>) =
        reports.iter().partition(|report| report.header.server.as_deref() == Some(server.place()));
    let run = |report: &&Report| format!("{}#{}", report.header.experiment_id, report.header.run);
    let order = json!({
        "experiments": known.iter().map(run).collect::<Vec<_>>(),
        "reports": foreign.iter().map(|report| json_value(report)).collect::<Vec<_>>(),
        "force": terms.force,
        "passed_gate": terms.passed_gate,
        "reason": terms.reason,
    });
    let kept = server.save_baseline(name, &order).await?;
    Ok(kept.map_or_else(Kept::Refused, Kept::Lines))
}

fn body(line: store::BaselineLine) -> Result<Json, CommandError> {
    serde_json::to_value(BaselineBody::from(line)).map_err(|error| CommandError::Infrastructure(error.to_string()))
}

/// Returns the error for a baseline that does not exist.
pub(crate) fn missing(name: &BaselineName) -> CommandError {
    CommandError::Usage(format!(
        "there is no baseline `{name}`, neither a file nor one that is kept: `touchstone baseline list` shows those that are, `touchstone baseline save {name}` makes one, `-o FILE.json` writes a file, and `touchstone ci --allow-missing-baseline` goes on without one"
    ))
}

/// The reports of a file that was written earlier.
pub(crate) fn from_file(path: &Path) -> Result<Vec<Report>, CommandError> {
    let named = |problem: String| CommandError::Usage(format!("`{}` is no baseline: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
    Ok(read_all(&text).map_err(|error| named(error.to_string()))?.reports)
}
