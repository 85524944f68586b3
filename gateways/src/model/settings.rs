//! Settings of a model gateway.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scenario::cassette::{Cassette, Recorded};
use scenario::evidence::TokenCount;
use scenario::plan::{Scenario, Values};
use scenario::spec::sections::{Matching, Model, ModelLimits, ModelMode};

use super::script::Script;
use crate::clock::Clock;
use crate::contract_session::ContractSession;
use crate::faults::FaultEngine;
use crate::providers::Upstream;
use crate::redact::Redactor;

/// Computes the cost of tokens of a model in US dollars; `None` when the model has no price.
pub type Cost = Arc<dyn Fn(&str, &TokenCount) -> Option<f64> + Send + Sync>;

/// Settings of a model gateway.
pub struct ModelSettings {
    /// Source of answers.
    pub source: Source,
    /// Limits of the agent's use of the model.
    pub limits: ModelLimits,
    /// The stand-in for a key that the agent has; it is known to this scenario only.
    pub token: String,
    /// Computes the cost of tokens.
    pub cost: Cost,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// Time limit of the agent, when that is known.
    pub time: Option<Duration>,
    /// Takes the values of secrets out of everything that is kept.
    pub redactor: Redactor,
    /// The faults that hit calls on purpose.
    pub faults: Option<Arc<FaultEngine>>,
    /// The session under tool contracts.
    pub contracts: Option<Arc<ContractSession>>,
}

impl ModelSettings {
    /// A gateway by itself: without limits, prices and secrets.
    #[must_use]
    pub fn new(source: Source, token: &str) -> Self {
        Self {
            source,
            limits: ModelLimits { max_calls: None, max_tokens: None, max_cost_usd: None },
            token: token.to_owned(),
            cost: Arc::new(|_, _| None),
            clock: Arc::default(),
            time: None,
            redactor: Redactor::default(),
            faults: None,
            contracts: None,
        }
    }
}

/// Source of answers.
#[derive(Debug, Clone)]
pub enum Source {
    /// Turns of a spec.
    Script(Script),
    /// A provider.
    Upstream(Upstream),
    /// A recording.
    Recording(Recording),
}

/// The part of a recording that a scenario replays.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The exchanges; `None` when the recording has none for this scenario.
    pub(super) recorded: Option<Vec<Recorded>>,
    pub(super) scenario: String,
    pub(super) matching: Matching,
}

/// Reason why a mode lacks its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingSource {
    /// An upstream.
    #[error("the model's `mode: {0}` forwards to an upstream, and none was found")]
    Upstream(ModelMode),
    /// A recording.
    #[error("the model's `mode: replay` answers from a recording, and none was read")]
    Recording,
}

impl Source {
    /// Finds the source of answers for a spec's model in one scenario. `values` replace templates. `upstream` is for
    /// `proxy` and `record`, `recording` for `replay`.
    ///
    /// # Errors
    ///
    /// The mode needs an upstream or a recording that was not given.
    pub fn new(
        model: &Model,
        scenario: &Scenario,
        values: &Values<'_>,
        upstream: Option<Upstream>,
        recording: Option<&Cassette>,
    ) -> Result<Self, MissingSource> {
        match model.mode {
            ModelMode::Scripted => Ok(Self::Script(Script::new(model, &scenario.variants, values))),
            ModelMode::Proxy | ModelMode::Record => {
                upstream.map(Self::Upstream).ok_or(MissingSource::Upstream(model.mode))
            }
            ModelMode::Replay => {
                let recording = recording.ok_or(MissingSource::Recording)?;
                Ok(Self::Recording(Recording::new(recording, scenario.id.as_str(), model.matching)))
            }
        }
    }
}

impl Recording {
    /// The answers of a recorded session.
    #[must_use]
    pub fn of_session(recorded: Vec<Recorded>, scenario: &str, matching: Matching) -> Self {
        Self { recorded: Some(recorded), scenario: scenario.to_owned(), matching }
    }

    /// Takes the recording of a scenario from a cassette.
    #[must_use]
    pub fn new(cassette: &Cassette, scenario: &str, matching: Matching) -> Self {
        let recorded = cassette.scenario(scenario).map(<[_]>::to_vec);
        Self { recorded, scenario: scenario.to_owned(), matching }
    }
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelSettings").field("source", &self.source).finish_non_exhaustive()
    }
}
