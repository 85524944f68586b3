//! Answers from a recording.

use std::sync::{Mutex, PoisonError};

use http::StatusCode;
use scenario::cassette::{Recorded, asked, difference};
use scenario::evidence::Dialect;
use scenario::spec::sections::Matching;
use scenario::untrusted;
use serde_json::Value as Json;

use super::refusal::Refusal;
use super::request::ModelRequest;
use super::settings::Recording;

/// Among how many recorded requests the nearest is looked for.
const COMPARED: usize = 50;
/// Length limit of a miss's message.
const MESSAGE: usize = 600;

/// The code of a request that a recording has no answer for.
pub(super) const MISS: &str = "replay_miss";

/// A recording while it is replayed.
#[derive(Debug)]
pub(super) struct Replay {
    recording: Recording,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    used: Vec<bool>,
    /// The last request whose answer a fault changed, and which exchange answers it: the same request right after it gets that
    /// one again.
    faulted: Option<(Json, usize)>,
}

/// The recorded answer to a request.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) recorded: &'a Recorded,
    index: usize,
    asked: Json,
}

impl Replay {
    pub(super) fn new(recording: Recording) -> Self {
        let used = vec![false; recording.recorded.as_ref().map_or(0, Vec::len)];
        Self { recording, progress: Mutex::new(Progress { used, faulted: None }) }
    }

    /// The recorded answer to a request. `redacted` is its body without secrets, as recordings have it.
    pub(super) fn find(&self, request: &ModelRequest, redacted: &str) -> Result<Found<'_>, Refusal> {
        let Some(recorded) = &self.recording.recorded else {
            let message =
                format!("the recording has nothing for the scenario `{}`; record it", self.recording.scenario);
            return Err(miss(&message));
        };
        let dialect = request.route.dialect;
        let asked = asked(dialect, &request.model, redacted).unwrap_or(Json::Null);
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let again = progress.faulted.take().filter(|(request, _)| *request == asked).map(|(_, index)| index);
        let used = &mut progress.used;
        let answers = |(index, exchange): &(usize, &Recorded)| {
            let same = self.recording.matching == Matching::Fifo || exchange.request == asked;
            !used[*index] && exchange.dialect == dialect && same
        };
        let next = || recorded.iter().enumerate().find(answers).map(|(index, _)| index);
        match again.filter(|index| recorded[*index].dialect == dialect).or_else(next) {
            Some(index) => {
                used[index] = true;
                Ok(Found { recorded: &recorded[index], index, asked })
            }
            None => Err(nearest(recorded, used, dialect, &asked)),
        }
    }

    /// Offers the same answer again when a request whose answer a fault changed is repeated right away.
    pub(super) fn offer_again(&self, found: Found<'_>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.faulted = Some((found.asked, found.index));
    }
}

/// Makes a miss that shows the nearest recorded request.
fn nearest(recorded: &[Recorded], used: &[bool], dialect: Dialect, asked: &Json) -> Refusal {
    let left = recorded.iter().enumerate().filter(|(index, exchange)| !used[*index] && exchange.dialect == dialect);
    let differences =
        left.take(COMPARED).filter_map(|(index, exchange)| Some((index, difference(&exchange.request, asked)?)));
    match differences.min_by_key(|(_, difference)| difference.count) {
        Some((index, difference)) => miss(&format!(
            "no recorded request is like this one; the nearest, number {index}, differs at {}: recorded {}, asked {}",
            difference.path, difference.expected, difference.found
        )),
        None => miss("every recorded answer of this kind was given already; record again if the agent asks more now"),
    }
}

fn miss(message: &str) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, MISS, untrusted::line(message, MESSAGE))
}
