//! Specs on their way to a server: read and checked here, submitted there.

use std::path::PathBuf;

use scenario::plan::expand;
use scenario::spec::Spec;
use store::{Ids as _, SpecContent};
use worker::RandomIds;

use crate::choices::Choices;
use crate::client::{Accepted, RemoteRun, Server, Submission};
use crate::commands::read_specs;
use crate::output::{CommandError, Output};
use crate::secrets::{SecretOptions, resolve_for_server};
use crate::source::sources;

/// A spec that is to be submitted.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Its name in messages.
    pub(crate) source: String,
    spec: Spec,
    content: SpecContent,
    submission: Submission,
}

/// A spec that was submitted.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// The spec's file on this machine, if it came from one.
    pub(crate) source: Option<String>,
    /// The spec's id.
    pub(crate) spec_id: String,
    /// The server's answer.
    pub(crate) accepted: Accepted,
}

impl Sent {
    /// The run that it became.
    pub(crate) fn run(&self) -> RemoteRun {
        RemoteRun { experiment: self.accepted.experiment.clone(), run: Some(self.accepted.run) }
    }
}

/// Reads specs and what is asked of them; `None` when one is not valid, after saying why.
pub(crate) fn outgoing(
    paths: &[PathBuf],
    choices: &Choices,
    secrets: &SecretOptions,
    output: &mut Output,
) -> Result<Option<Vec<Outgoing>>, CommandError> {
    let (sources, readable) = sources(paths);
    readable?;
    let filters = choices.filters()?;
    let forwarded = secrets.read()?;
    let Some(specs) = read_specs(&sources, output)? else { return Ok(None) };
    let mut outgoing = Vec::new();
    for (source, spec) in sources.iter().zip(specs) {
        let wrong = |error: &dyn std::fmt::Display| CommandError::Usage(format!("{}: {error}", source.name));
        let parameters = choices.parameters(&spec).map_err(|error| wrong(&error))?;
        let plan = expand(&spec, choices.plan_options(&parameters)).map_err(|error| wrong(&error))?;
        if plan.narrowed(&filters, &spec).is_none() {
            continue;
        }
        if let Some(name) = given_twice(&parameters) {
            return Err(wrong(&format!("a server takes one value of a parameter, and `{name}` has several")));
        }
        let submission = Submission {
            replicas: choices.replicas,
            seed: choices.seed,
            parameters,
            agent: choices.agent.clone(),
            min_pass_rate: choices.min_pass_rate,
            filter: choices.filter.clone(),
            chaos: choices.chaos_cells(),
            secrets: resolve_for_server(&spec, &forwarded),
            ..Submission::default()
        };
        outgoing.push(Outgoing { source: source.name.clone(), content: choices.content(source)?, spec, submission });
    }
    if outgoing.is_empty() {
        return Err(choices.nothing_matches());
    }
    Ok(Some(outgoing))
}

/// Submits specs. Each has a name of its own, made from `name` or by chance, so that trying again submits nothing twice.
pub(crate) async fn submit(
    server: &Server,
    outgoing: Vec<Outgoing>,
    called: Option<&str>,
    priority: Option<i64>,
    key: Option<&str>,
) -> Result<Vec<Sent>, CommandError> {
    let mut sent = Vec::new();
    for (index, one) in outgoing.into_iter().enumerate() {
        let Outgoing { source, spec, content, submission } = one;
        let submission = Submission { name: called.map(ToOwned::to_owned), priority, ..submission };
        let name = key.map_or_else(|| RandomIds.id().to_string(), |key| format!("{key}-{index}"));
        let accepted = server.submit(&name, &submission.body(&content)?).await?;
        sent.push(Sent { source: Some(source), spec_id: spec.id.to_string(), accepted });
    }
    Ok(sent)
}

fn given_twice(parameters: &[(String, serde_json::Value)]) -> Option<&str> {
    let again = |index: usize, name: &str| parameters[..index].iter().any(|(earlier, _)| earlier == name);
    parameters.iter().enumerate().find(|(index, (name, _))| again(*index, name)).map(|(_, (name, _))| name.as_str())
}
