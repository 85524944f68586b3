//! The recorded session that a scenario replays.

use gateways::http_mock::MockReplay;
use gateways::model::Recording;
use scenario::plan::{Replay, Scenario, Seed};
use scenario::replay::Session;
use scenario::spec::sections::{Matching, Model, ModelMode, ReplayMatching, ReplayModel};
use std::sync::Arc;

use crate::attempt::Attempt;
use crate::error::EngineError;

/// Reads the session of a scenario; `None` for one that replays nothing.
pub(super) fn session(attempt: &Attempt<'_>) -> Result<Option<Arc<Session>>, EngineError> {
    let Some(Replay { session, .. }) = attempt.scenario.purpose.replay() else { return Ok(None) };
    let refused = |reason: String| EngineError::Unsupported { what: format!("the session `{session}`: {reason}") };
    let bytes = attempt.bundle.read(session).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    Session::parse(&text).map(|session| Some(Arc::new(session))).map_err(|error| refused(error.to_string()))
}

/// A scenario with what was left to chance when its session was recorded.
pub(super) fn as_recorded(scenario: &Scenario, session: &Session) -> Scenario {
    let seed = session.seed.map_or(scenario.seed, Seed::new);
    let variants = if session.variants.is_empty() { scenario.variants.clone() } else { session.variants.clone() };
    Scenario { seed, variants, ..scenario.clone() }
}

/// The answers that mocks give in place of their own.
pub(super) fn of_mocks(attempt: &Attempt<'_>) -> Option<MockReplay> {
    let matching = attempt.scenario.purpose.replay()?.matching;
    attempt.session.map(|session| MockReplay { session: Arc::clone(session), matching })
}

/// The answers that the model gives in place of its own. A script needs no recording.
pub(super) fn recorded_model(attempt: &Attempt<'_>, model: &Model) -> Option<Recording> {
    let replay = attempt.scenario.purpose.replay()?;
    if replay.model != ReplayModel::Recorded || model.mode == ModelMode::Scripted {
        return None;
    }
    let matching = match replay.matching {
        ReplayMatching::Fifo => Matching::Fifo,
        ReplayMatching::Strict => Matching::Strict,
    };
    let recorded = attempt.session?.model_responses.clone();
    Some(Recording::of_session(recorded, attempt.scenario.id.as_str(), matching))
}
