//! Images: present, pulled, or stood in for.

use std::collections::BTreeSet;
use std::time::Duration;

use bollard::models::ImageInspect;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures::StreamExt as _;
use scenario::evidence::ImageRecord;
use tokio::time::Instant;

use super::DockerBackend;
use super::call::{call_if_there, refused};
use crate::advice::with_advice;
use crate::backend::Image;
use crate::backend::stand_in::suggestion;
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::images::Aliases;
use crate::images::bootstrap::RECIPE_LABEL;

/// After how long a pull that failed is tried again.
const AGAIN: Duration = Duration::from_secs(300);
/// Timeout for a registry to say whether it has an image.
const ANSWER: Duration = Duration::from_secs(10);
/// Timeout for a pull that makes no progress.
const SILENCE: Duration = Duration::from_secs(120);

impl DockerBackend {
    /// An image that is here, or can be had; a stand-in where neither is so.
    pub(super) async fn find_image(&self, reference: &str, events: &Events) -> Result<Image, EngineError> {
        if let Some(image) = self.inspect(reference, reference).await? {
            return Ok(image);
        }
        let reason = match self.pull(reference, events).await {
            Ok(()) => match self.inspect(reference, reference).await? {
                Some(image) => return Ok(image),
                None => "it was pulled, and is not here".to_owned(),
            },
            Err(reason) => reason,
        };
        if let Some(image) = self.stand_in(reference).await? {
            let name = &image.record.name;
            events.tell(Event::Note(format!("`{reference}` is neither here nor can it be pulled: `{name}` stands in")));
            return Ok(image);
        }
        let meant = suggestion(reference).map(|meant| format!("; {meant}")).unwrap_or_default();
        Err(EngineError::NoImage { reference: reference.to_owned(), reason: format!("{reason}{meant}") })
    }

    /// The first of some images that is not here, has no stand-in and is not offered; and what was said about it.
    pub async fn lacks(&self, references: &BTreeSet<String>) -> Result<Option<(String, Offer)>, EngineError> {
        let mut unreachable = None;
        for reference in references {
            if self.inspect(reference, reference).await?.is_some() || self.stand_in(reference).await?.is_some() {
                continue;
            }
            match self.offer(reference).await {
                Offer::Offered => {}
                Offer::Refused => return Ok(Some((reference.clone(), Offer::Refused))),
                Offer::Unreachable => {
                    unreachable = unreachable.or_else(|| Some((reference.clone(), Offer::Unreachable)))
                }
            }
        }
        Ok(unreachable)
    }

    /// Asks a registry whether it offers an image to this machine.
    async fn offer(&self, reference: &str) -> Offer {
        if !self.0.settings.pull {
            return Offer::Unreachable;
        }
        let name = with_tag(reference);
        match tokio::time::timeout(ANSWER, self.0.docker.inspect_registry_image(&name, None)).await {
            Ok(Ok(_)) => Offer::Offered,
            Ok(Err(error)) => Offer::of(&reason(&error)),
            Err(_) => Offer::Unreachable,
        }
    }

    async fn stand_in(&self, reference: &str) -> Result<Option<Image>, EngineError> {
        let aliases = Aliases::read(self.0.owner.data_dir())
            .map_err(|error| EngineError::Unsupported { what: error.to_string() })?;
        match aliases.resolve(reference) {
            Some(name) => self.inspect(reference, name).await,
            None => Ok(None),
        }
    }

    /// Inspects an image, on behalf of the reference that was asked for.
    pub(super) async fn inspect(&self, reference: &str, name: &str) -> Result<Option<Image>, EngineError> {
        let found = call_if_there(&format!("look at the image `{name}`"), self.0.docker.inspect_image(name)).await?;
        Ok(found.map(|found| image(reference, name, found)))
    }

    /// Pulls an image; says why when it cannot.
    async fn pull(&self, reference: &str, events: &Events) -> Result<(), String> {
        if !self.0.settings.pull {
            return Err("pulling is switched off".to_owned());
        }
        let tried = self.0.unpullable.lock().await.get(reference).copied();
        if tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
            return Err("it could not be pulled a moment ago".to_owned());
        }
        let pulled = self.pull_now(reference, events).await;
        if pulled.is_err() {
            self.0.unpullable.lock().await.insert(reference.to_owned(), Instant::now());
        }
        pulled
    }

    async fn pull_now(&self, reference: &str, events: &Events) -> Result<(), String> {
        let options = CreateImageOptionsBuilder::default().from_image(&with_tag(reference)).build();
        let mut steps = self.0.docker.create_image(Some(options), None, None);
        loop {
            match tokio::time::timeout(SILENCE, steps.next()).await {
                Err(_) => return Err(format!("the registry was silent for {}s", SILENCE.as_secs())),
                Ok(None) => return Ok(()),
                Ok(Some(Err(error))) => return Err(reason(&error)),
                Ok(Some(Ok(step))) => {
                    if let Some(problem) = step.error_detail.and_then(|detail| detail.message) {
                        return Err(with_advice(problem));
                    }
                    let status = [step.id, step.status].into_iter().flatten().collect::<Vec<_>>().join(": ");
                    events.tell(Event::Pulling { image: reference.to_owned(), status });
                }
            }
        }
    }
}

/// Availability of an image that is not on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// A registry has it for this machine.
    Offered,
    /// A registry answered, and does not.
    Refused,
    /// No registry can be reached, or none may be asked.
    Unreachable,
}

impl Offer {
    /// Interprets the engine's error message. The engine has one status for everything; errors of the network mean that
    /// no registry was reached, and any other message counts as an answer.
    fn of(said: &str) -> Self {
        const UNREACHED: [&str; 9] = [
            "no such host",
            "server misbehaving",
            "connection refused",
            "connection reset by peer",
            "network is unreachable",
            "no route to host",
            "i/o timeout",
            "tls handshake timeout",
            "client.timeout exceeded",
        ];
        let said = said.to_lowercase();
        if UNREACHED.iter().any(|words| said.contains(words)) { Self::Unreachable } else { Self::Refused }
    }
}

fn reason(error: &bollard::errors::Error) -> String {
    match refused("pull", error) {
        EngineError::Docker { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// A reference without a tag would pull every tag there is.
fn with_tag(reference: &str) -> String {
    let last = reference.rsplit('/').next().unwrap_or(reference);
    if last.contains([':', '@']) { reference.to_owned() } else { format!("{reference}:latest") }
}

fn image(reference: &str, name: &str, found: ImageInspect) -> Image {
    let config = found.config.unwrap_or_default();
    let id = found.id.unwrap_or_else(|| name.to_owned());
    // The digest under which a registry knows it, where there is one; else that of its own configuration.
    let digest = found.repo_digests.and_then(|digests| digests.into_iter().next()).unwrap_or_else(|| id.clone());
    let digest = digest.rsplit('@').next().unwrap_or(&digest).to_owned();
    let split = |variable: &String| variable.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    Image {
        record: ImageRecord { reference: reference.to_owned(), name: name.to_owned(), digest },
        id,
        entrypoint: config.entrypoint.unwrap_or_default(),
        command: config.cmd.unwrap_or_default(),
        environment: config.env.unwrap_or_default().iter().filter_map(split).collect(),
        directory: config.working_dir.filter(|directory| !directory.is_empty()).unwrap_or_else(|| "/".to_owned()),
        user: config.user.unwrap_or_default(),
        volumes: config.volumes.unwrap_or_default(),
        ours: config.labels.is_some_and(|labels| labels.contains_key(RECIPE_LABEL)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Offer, with_tag};

    #[test]
    fn only_words_of_the_network_say_that_no_registry_was_reached() {
        for (said, expected) in [
            (
                "Get \"https://registry.example/v2/\": dial tcp: lookup registry.example on 10.0.0.1:53: no such host",
                Offer::Unreachable,
            ),
            (
                "Get \"http://localhost:5001/v2/\": dial tcp 127.0.0.1:5001: connect: connection refused",
                Offer::Unreachable,
            ),
            ("net/http: TLS handshake timeout", Offer::Unreachable),
            ("manifest unknown: manifest unknown", Offer::Refused),
            ("pull access denied for debain, repository does not exist or may require 'docker login'", Offer::Refused),
            ("unauthorized: authentication required", Offer::Refused),
            ("toomanyrequests: You have reached your pull rate limit", Offer::Refused),
            ("something new", Offer::Refused),
        ] {
            assert_eq!(Offer::of(said), expected, "{said}");
        }
    }

    #[test]
    fn a_reference_without_a_tag_means_the_latest() {
        assert_eq!(with_tag("debian"), "debian:latest");
        assert_eq!(with_tag("host:5000/debian"), "host:5000/debian:latest");
        assert_eq!(with_tag("debian:12"), "debian:12");
        assert_eq!(with_tag("debian@sha256:0"), "debian@sha256:0");
    }
}
