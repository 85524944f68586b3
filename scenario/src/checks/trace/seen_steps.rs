//! The steps that a run took, in the order of time.

use std::fmt;

use super::Step;
use crate::evidence::{Dialect, Evidence, Exchange, MergedCall, ModelCall};
use crate::untrusted;

/// Number of characters of a step that a message shows.
const MOST_SHOWN: usize = 200;

/// The steps that a run took.
pub(super) struct SeenSteps<'a> {
    /// The known steps, in their order.
    pub(super) all: Vec<SeenStep<'a>>,
    /// A description of the missing steps; `None` when these are all.
    pub(super) missing: Option<String>,
}

/// A step that a run took.
#[derive(Clone, Copy)]
pub(super) enum SeenStep<'a> {
    /// A call of the model.
    Llm,
    /// A call of this tool.
    Tool(&'a str),
    /// A request to this service.
    Http(&'a str, &'a Exchange),
}

/// A step and its time, in milliseconds since the agent started.
type Timed<'a> = (u64, SeenStep<'a>);

impl<'a> SeenSteps<'a> {
    /// Returns the steps of the evidence.
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let models = evidence.model.as_ref().map_or(&[][..], |model| &model.calls);
        let talk = models_and_tools(models, &evidence.calls());
        let journals = evidence.journals.iter();
        let requests = journals.flat_map(|(service, journal)| {
            journal.reached().map(|exchange| (exchange.at_ms, SeenStep::Http(service, exchange)))
        });
        let mut requests: Vec<_> = requests.collect();
        requests.sort_by_key(|(at_ms, _)| *at_ms);
        Self { all: with_requests(&talk, &requests), missing: missing(evidence) }
    }

    /// The steps in words.
    pub(super) fn shown(&self) -> Vec<String> {
        self.all.iter().map(ToString::to_string).collect()
    }
}

impl SeenStep<'_> {
    /// True when it is the step that is expected.
    pub(super) fn is(&self, expected: &Step) -> bool {
        match (self, expected) {
            (Self::Llm, Step::Llm) => true,
            (Self::Tool(tool), Step::Tool(name)) => *tool == name.as_str(),
            (Self::Http(service, exchange), Step::Http(name, method, path)) => {
                *service == name.as_str()
                    && exchange.method == method.as_str()
                    && path.matches(&exchange.plain_path()).is_some()
            }
            _ => false,
        }
    }
}

impl fmt::Display for SeenStep<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self {
            Self::Llm => "llm".to_owned(),
            Self::Tool(tool) => format!("tool:{tool}"),
            Self::Http(service, exchange) => format!("http:{service} {} {}", exchange.method, exchange.plain_path()),
        };
        formatter.write_str(&untrusted::line(&step, MOST_SHOWN))
    }
}

/// Calls of the model and of tools. Each call of a tool knows the answer that proposed it and the request that reported it, so that
/// their order does not hang on the clock.
fn models_and_tools<'a>(models: &[ModelCall], calls: &[MergedCall<'a>]) -> Vec<Timed<'a>> {
    let mut tools: Vec<_> = calls.iter().map(|call| (answers_before(call, models), call)).collect();
    tools.sort_by_key(|(before, _)| *before);
    let mut tools = tools.into_iter().peekable();
    let mut steps = Vec::new();
    for index in 0..=models.len() {
        while let Some((_, call)) = tools.next_if(|(before, _)| *before <= index || index == models.len()) {
            steps.push((call.seen.at_ms, SeenStep::Tool(&call.seen.tool)));
        }
        steps.extend(models.get(index).filter(|call| is_answered(call)).map(|call| (call.at_ms, SeenStep::Llm)));
    }
    steps
}

/// Counts the calls of the model before a call of a tool.
fn answers_before(call: &MergedCall<'_>, models: &[ModelCall]) -> usize {
    let proposed = call.proposal.and_then(|proposal| proposal.model_call).map_or(0, |index| index + 1);
    let Some(execution) = call.execution else { return proposed };
    let earlier = models.partition_point(|model| model.at_ms < execution.at_ms);
    let reported = call.report.and_then(|report| report.model_call).unwrap_or(usize::MAX);
    earlier.min(reported).max(proposed)
}

/// True when a call of the model is a step: it asked for an answer and got one.
fn is_answered(call: &ModelCall) -> bool {
    let asks = matches!(call.dialect, Dialect::Chat | Dialect::Responses | Dialect::Messages);
    asks && (200..300).contains(&call.status)
}

/// Puts requests between calls of the model and of tools.
fn with_requests<'a>(talk: &[Timed<'a>], requests: &[Timed<'a>]) -> Vec<SeenStep<'a>> {
    let mut steps = Vec::with_capacity(talk.len() + requests.len());
    let mut next = 0;
    for (at_ms, request) in requests {
        while next < talk.len() && !comes_later(talk, next, *at_ms) {
            steps.push(talk[next].1);
            next += 1;
        }
        steps.push(*request);
    }
    steps.extend(talk[next..].iter().map(|(_, step)| *step));
    steps
}

/// True when a step comes after a request of this time. In the same millisecond, a request that follows the call of a tool carries it
/// out, and the model hears of it afterwards.
fn comes_later(talk: &[Timed<'_>], place: usize, at_ms: u64) -> bool {
    let (time, step) = &talk[place];
    let follows_tool = place > 0 && matches!(talk[place - 1].1, SeenStep::Tool(_));
    *time > at_ms || (*time == at_ms && matches!(step, SeenStep::Llm) && follows_tool)
}

/// Describes the steps that the evidence does not hold.
fn missing(evidence: &Evidence) -> Option<String> {
    let models = evidence.model.as_ref().map_or(0, |model| model.only_counted);
    let tools = evidence.uncounted_tool_calls();
    let overflows = evidence.journals.values().filter_map(|journal| journal.overflow.as_ref());
    let requests = overflows.map(|overflow| overflow.total()).fold(0, u64::saturating_add);
    let parts = [(models, "calls of the model"), (tools, "calls of tools"), (requests, "requests")];
    let parts: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| format!("{} were counted and not kept", parts.join(" and ")))
}
