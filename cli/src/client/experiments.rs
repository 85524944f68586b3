//! Requests about experiments to a server.

use reqwest::Url;
use scenario::report::{Report, read};
use scenario::untrusted;
use serde_json::{Value as Json, json};
use store::newer_than;

use super::{RemoteStatus, Server};
use crate::output::CommandError;
use crate::reference::Reference;

/// Number of the newest experiments that are searched for the beginning or end of an id.
const LOOKED_THROUGH: u32 = 1000;

/// A run that was accepted.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    /// The experiment's id.
    pub(crate) experiment: String,
    /// Number of its run.
    pub(crate) run: u32,
    /// Number of its scenarios.
    pub(crate) total: u64,
}

/// A run of a server's experiment that the user named.
#[derive(Debug, Clone)]
pub(crate) struct RemoteRun {
    /// The experiment's id.
    pub(crate) experiment: String,
    /// Number of the run; the newest one without it.
    pub(crate) run: Option<u32>,
}

/// A line of a server's list.
#[derive(Debug, Clone)]
pub(crate) struct Listed(pub(crate) Json);

impl Listed {
    /// A text of it, safe to show.
    pub(crate) fn text(&self, name: &str) -> String {
        match &self.0[name] {
            Json::String(text) => untrusted::line(text, 200),
            Json::Null => String::new(),
            other => untrusted::line(&other.to_string(), 200),
        }
    }
}

impl RemoteRun {
    /// Returns its path on the server, with a query.
    pub(crate) fn path(&self, below: &str, query: &[(&str, String)]) -> String {
        let run = self.run.map(|run| ("run", run.to_string()));
        let pairs: Vec<_> = run.into_iter().chain(query.iter().map(|(name, value)| (*name, value.clone()))).collect();
        let path = format!("/v1/experiments/{}{below}", segment(&self.experiment));
        if pairs.is_empty() { path } else { format!("{path}?{}", encoded(&pairs)) }
    }

    /// Returns the path of the events after one.
    pub(super) fn events(&self, after: u64) -> String {
        self.path("/events", &[("after", after.to_string())])
    }

    /// Its name, for people.
    pub(crate) fn name(&self) -> String {
        match self.run {
            Some(run) if run > 1 => format!("{}#{run}", self.experiment),
            _ => self.experiment.clone(),
        }
    }
}

impl Server {
    /// The newest experiments.
    pub(crate) async fn experiments(&self, limit: u32, spec: Option<&str>) -> Result<Vec<Listed>, CommandError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(spec.map(|spec| ("spec_id", spec.to_owned())));
        let listed = self.get(&format!("/v1/experiments?{}", encoded(&query))).await?;
        let Json::Array(items) = listed else { return Err(strange("a list of experiments")) };
        Ok(items.into_iter().map(Listed).collect())
    }

    /// The run that is meant: `latest`, `latest~1`, an id, or its beginning or end.
    pub(crate) async fn find(&self, reference: &Reference) -> Result<RemoteRun, CommandError> {
        let wanted = reference.experiment();
        let run = reference.run();
        let found = |experiment: &str| Ok(RemoteRun { experiment: experiment.to_owned(), run });
        if wanted.len() >= 32 {
            return found(wanted);
        }
        let newest = newer_than(wanted);
        let limit = newest.map_or(LOOKED_THROUGH, |newer| newer.saturating_add(1));
        let ids: Vec<_> = self.experiments(limit, None).await?.iter().map(|one| one.text("id")).collect();
        let meant: Vec<_> = match newest {
            Some(newer) => ids.iter().skip(usize::try_from(newer).unwrap_or(usize::MAX)).take(1).collect(),
            None => ids.iter().filter(|id| id.starts_with(wanted) || id.ends_with(wanted)).collect(),
        };
        let place = self.place();
        match meant.as_slice() {
            [only] => found(only),
            [] => Err(CommandError::Usage(format!(
                "there is no experiment `{wanted}` at {place}; `touchstone list --url {place}` shows all"
            ))),
            _ => Err(CommandError::Usage(format!(
                "several experiments at {place} are called `{wanted}`; write more of it"
            ))),
        }
    }

    /// The report of a run, as far as it has come, and where the run stands.
    pub(crate) async fn report(&self, run: &RemoteRun) -> Result<(Report, RemoteStatus), CommandError> {
        let value = self.get(&run.path("", &[])).await?;
        let status = RemoteStatus::of(value["status"].as_str().unwrap_or_default());
        let mut report = read(value).map_err(|problem| {
            CommandError::Infrastructure(format!("what {} answers cannot be read: {problem}", self.place()))
        })?;
        // It is run again where it was run, unless its spec turns out to be a file of this machine.
        report.header.server = Some(self.place().to_owned());
        Ok((report, status))
    }

    /// All about one scenario of a run.
    pub(crate) async fn scenario(&self, run: &RemoteRun, scenario: &str) -> Result<Json, CommandError> {
        self.get(&run.path(&format!("/scenarios/{}", segment(scenario)), &[])).await
    }

    /// The evidence of a scenario, as it was stored.
    pub(crate) async fn evidence(&self, run: &RemoteRun, scenario: &str) -> Result<String, CommandError> {
        let answer = self.ask(&run.path(&format!("/scenarios/{}/evidence", segment(scenario)), &[])).await?;
        answer.text().await.map_err(|error| super::unreachable(self, &error))
    }

    /// Lists the files that a scenario left: names, sizes, and addresses.
    pub(crate) async fn artifacts(&self, run: &RemoteRun, scenario: &str) -> Result<Vec<Listed>, CommandError> {
        let listed = self.get(&run.path(&format!("/scenarios/{}/artifacts", segment(scenario)), &[])).await?;
        let Json::Array(items) = listed else { return Err(strange("a list of artifacts")) };
        Ok(items.into_iter().map(Listed).collect())
    }

    /// Ends a run early.
    pub(crate) async fn cancel(&self, run: &RemoteRun, reason: &str) -> Result<Listed, CommandError> {
        let path = format!("/v1/experiments/{}/cancel", segment(&run.experiment));
        Ok(Listed(self.post(&path, &json!({ "reason": reason })).await?))
    }

    /// Runs an experiment once more, what did not pass of it, or one of its scenarios.
    pub(crate) async fn rerun(
        &self,
        run: &RemoteRun,
        failed_only: bool,
        scenario: Option<&str>,
    ) -> Result<Accepted, CommandError> {
        let path = format!("/v1/experiments/{}/rerun", segment(&run.experiment));
        let body = json!({ "failed_only": failed_only, "scenario_id": scenario, "run": run.run });
        accepted(&self.post(&path, &body).await?)
    }

    /// Submits a spec under a name that makes it the same one when it arrives twice.
    pub(crate) async fn submit(&self, name: &str, submission: &Json) -> Result<Accepted, CommandError> {
        accepted(&self.post_once("/v1/runs", name, submission).await?)
    }
}

fn accepted(said: &Json) -> Result<Accepted, CommandError> {
    let experiment = said["experiment_id"].as_str().map(|id| untrusted::line(id, 100));
    let run = said["run"].as_u64().and_then(|run| u32::try_from(run).ok());
    let (Some(experiment), Some(run)) = (experiment, run) else { return Err(strange("the id of an experiment")) };
    Ok(Accepted { experiment, run, total: said["total_scenarios"].as_u64().unwrap_or(0) })
}

fn strange(wanted: &str) -> CommandError {
    CommandError::Infrastructure(format!("the server did not answer with {wanted}: is it a Touchstone server?"))
}

/// A word as one part of a path.
pub(crate) fn segment(word: &str) -> String {
    let Ok(mut url) = Url::parse("http://x") else { return String::new() };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.push(word);
    }
    url.path().trim_start_matches('/').to_owned()
}

pub(super) fn encoded(pairs: &[(&str, String)]) -> String {
    let Ok(mut url) = Url::parse("http://x") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{RemoteRun, segment};

    #[test]
    fn whatever_is_named_stays_one_part_of_a_path() {
        assert_eq!(segment("../x y/?z"), "..%2Fx%20y%2F%3Fz");
        let run = RemoteRun { experiment: "a/b".to_owned(), run: Some(2) };
        assert_eq!(run.events(7), "/v1/experiments/a%2Fb/events?run=2&after=7");
        assert_eq!((run.name().as_str(), run.path("", &[]).as_str()), ("a/b#2", "/v1/experiments/a%2Fb?run=2"));
    }
}
