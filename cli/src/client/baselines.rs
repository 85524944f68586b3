//! Requests to a server about baselines.

use reqwest::{Method, StatusCode};
use scenario::baseline::BaselineName;
use scenario::report::{Report, read_all};
use scenario::untrusted;
use serde_json::Value as Json;

use super::refusal::unreachable;
use super::{ANSWER, SUBMISSION, Server, segment};
use crate::output::CommandError;

/// The longest refusal of a server that is shown.
const MOST_SAID: usize = 2000;

impl Server {
    /// The lines of all baselines that the key sees, or of one.
    pub(crate) async fn baselines(&self, name: Option<&str>) -> Result<Vec<Json>, CommandError> {
        let query = name.map(|name| format!("?name={}", segment(name))).unwrap_or_default();
        let listed = self.get(&format!("/v1/baselines{query}")).await?;
        Ok(listed.as_array().cloned().unwrap_or_default())
    }

    /// The reports of a baseline; `None` when there is no such baseline.
    pub(crate) async fn baseline(&self, name: &BaselineName) -> Result<Option<Vec<Report>>, CommandError> {
        let wanted = |line: &Json| line["branch"].is_null() || line["branch"].as_str() == name.branch();
        if !self.baselines(Some(name.name())).await?.iter().any(wanted) {
            return Ok(None);
        }
        let value = self.get(&path(name, &[("reports", "true")])).await?;
        let read = read_all(&value.to_string()).map_err(|problem| {
            CommandError::Infrastructure(format!("what {} answers cannot be read: {problem}", self.place()))
        })?;
        Ok(Some(read.reports))
    }

    /// Stores runs as a baseline: returns their lines, or the reason why the server refuses.
    pub(crate) async fn save_baseline(
        &self,
        name: &BaselineName,
        order: &Json,
    ) -> Result<Result<Vec<Json>, String>, CommandError> {
        let request = self.request(Method::POST, &path(name, &[])).timeout(SUBMISSION).json(order);
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        if answer.status() != StatusCode::CONFLICT {
            let kept = self.json(self.accepted(answer).await?).await?;
            return Ok(Ok(kept.as_array().cloned().unwrap_or_default()));
        }
        let said = self.json(answer).await?;
        Ok(Err(untrusted::line(said["message"].as_str().unwrap_or_default(), MOST_SAID)))
    }

    /// Removes a baseline, or its line of one spec.
    pub(crate) async fn remove_baseline(&self, name: &BaselineName, spec: Option<&str>) -> Result<(), CommandError> {
        let query: Vec<_> = spec.map(|spec| ("spec_id", spec)).into_iter().collect();
        let path = path(name, &query);
        self.call(|| self.request(Method::DELETE, &path).timeout(ANSWER)).await.map(drop)
    }
}

/// The path of a baseline on a server, with a query.
fn path(name: &BaselineName, query: &[(&str, &str)]) -> String {
    let branch = name.branch().map(|branch| ("branch", branch));
    let pairs: Vec<_> = branch.iter().chain(query).map(|(key, value)| (*key, (*value).to_owned())).collect();
    let path = format!("/v1/baselines/{}", segment(name.name()));
    if pairs.is_empty() { path } else { format!("{path}?{}", super::experiments::encoded(&pairs)) }
}
