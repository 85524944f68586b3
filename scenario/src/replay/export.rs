//! Evidence to a session.

use std::collections::BTreeSet;

use super::answer::ToolResponse;
use super::session::{Session, SessionSource, VERSION};
use crate::cassette::{Cassette, CassetteError, Recording as _, without_keys};
use crate::evidence::Evidence;
use crate::plan::Scenario;
use crate::spec::Spec;
use crate::spec::sections::session_name;

/// The reason why a scenario cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The evidence was written before prompts and answers were kept.
    #[error(
        "the evidence of this scenario is from an earlier version, which did not keep {0}: run it again, and export that"
    )]
    Earlier(&'static str),
    /// A call that was not kept whole.
    #[error(
        "the {part} of call {index} of the service `{service}` is too large to be kept: a session would be incomplete"
    )]
    NotWhole {
        /// The service.
        service: String,
        /// The number of the call, from 0.
        index: usize,
        /// `request` or `answer`.
        part: &'static str,
    },
    /// More calls than are kept.
    #[error("the service `{service}` got {count} more calls than are kept: a session would be incomplete")]
    TooManyCalls {
        /// The service.
        service: String,
        /// The number of calls that were only counted.
        count: u64,
    },
    /// Calls of the model that were not kept whole.
    #[error(transparent)]
    Model(#[from] CassetteError),
}

/// The session of a scenario, by its evidence.
///
/// # Errors
///
/// The evidence does not have all of it.
pub fn export(spec_id: &str, scenario: &Scenario, evidence: &Evidence) -> Result<Session, ExportError> {
    let input = evidence.prompt.as_deref().ok_or(ExportError::Earlier("the prompt"))?;
    let model = Cassette::from_evidence(scenario.id.as_str(), evidence)?;
    Ok(Session {
        version: VERSION,
        id: session_name(scenario.id.as_str()),
        name: String::new(),
        source: Some(SessionSource {
            spec_id: spec_id.to_owned(),
            experiment: None,
            scenario: scenario.id.to_string(),
            status: None,
        }),
        captured_at: evidence.agent.started_at,
        spec: None,
        input: without_keys(input),
        parameters: scenario.parameters.clone(),
        chaos: scenario.chaos.clone(),
        seed: Some(scenario.seed.get()),
        variants: scenario.variants.clone(),
        faults: evidence.faults.as_ref().map(|faults| faults.firings.clone()).unwrap_or_default(),
        tool_responses: tool_responses(evidence)?,
        model_responses: model.scenario(scenario.id.as_str()).map(<[_]>::to_vec).unwrap_or_default(),
        expected_failure: None,
    })
}

/// The answers of all mocks, in the order of time.
fn tool_responses(evidence: &Evidence) -> Result<Vec<ToolResponse>, ExportError> {
    let mut answers = Vec::new();
    for (service, journal) in &evidence.journals {
        if let Some(overflow) = &journal.overflow {
            return Err(ExportError::TooManyCalls { service: service.clone(), count: overflow.total() });
        }
        for (index, exchange) in journal.exchanges.iter().enumerate() {
            let answered = exchange.answer.as_ref().ok_or(ExportError::Earlier("the answers of mocks"))?;
            let answer = ToolResponse::recorded(service, exchange, answered);
            let incomplete = |part| ExportError::NotWhole { service: service.clone(), index, part };
            answers.push((exchange.at_ms, answer.map_err(incomplete)?));
        }
    }
    answers.sort_by_key(|(at_ms, _)| *at_ms);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

impl Session {
    /// The services of a spec that answer for themselves while the session is replayed, because it has no answers of theirs.
    #[must_use]
    pub fn live_services(spec: &Spec) -> BTreeSet<&str> {
        let is_recorded = |service: &crate::spec::sections::Service| service.mock().is_some_and(|mock| mock.record);
        spec.services.iter().filter(|service| !is_recorded(service)).map(|service| service.name().as_str()).collect()
    }
}
