//! The fault engine: counts calls, decides which of them are faulted, and keeps the proof.
//!
//! One engine serves all gateways of a scenario. A gateway asks it about every call, carries the decision out, and writes the
//! mark of the fault into its own record; the engine lists all faults in the order in which they were decided. Decisions are
//! [`scenario::chaos`]'s, so that the same seed, rules and calls give the same faults.

mod bucket;
mod counts;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use scenario::chaos::jitter;
use scenario::evidence::{Evidence, FaultMark, FaultRecord, Firing, RuleCount};
use scenario::plan::Seed;
use scenario::spec::ToolMatcher;
use scenario::spec::sections::{Chaos, LlmMode, ToolMode, Trigger};

use crate::Gateway;
use crate::clock::Clock;
use bucket::Bucket;
use counts::Counts;

/// The most faults that are kept; later ones are counted.
const KEPT: usize = 10_000;
/// The name of the model among targets.
const MODEL: &str = "model";

/// The faults of one scenario.
#[derive(Debug)]
pub struct FaultEngine {
    seed: Seed,
    clock: Arc<Clock>,
    tools: Vec<Rule<ToolMode>>,
    model: Vec<Rule<LlmMode>>,
    state: Mutex<State>,
}

/// A rule of the spec.
#[derive(Debug)]
struct Rule<Mode> {
    /// Its place in the spec.
    id: String,
    /// The calls that it is about, in words.
    target: String,
    matcher: Option<ToolMatcher>,
    trigger: Trigger,
    mode: Mode,
}

#[derive(Debug, Default)]
struct State {
    /// The counts of the rules: those of tools, then those of the model.
    counts: Vec<Counts>,
    firings: Vec<Firing>,
    only_counted: u64,
    phase: Phase,
}

/// The time of the agent, outside of which nothing is faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// The world is being built.
    #[default]
    Before,
    /// The agent acts.
    During,
    /// The agent has ended.
    After,
}

/// A call of a service.
#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'a> {
    /// The service.
    pub service: &'a str,
    /// The method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The whole URL.
    pub url: &'a str,
}

/// The decision on one call.
#[derive(Debug, Clone)]
pub struct Decision<Mode> {
    /// The delay of its answer.
    pub delay: Duration,
    /// The fault that decides about its answer.
    pub fault: Option<Fault<Mode>>,
    /// The mark of the last rule that only delayed it.
    pub slowed: Option<FaultMark>,
}

/// A fault that hits a call.
#[derive(Debug, Clone)]
pub struct Fault<Mode> {
    /// The effect.
    pub mode: Mode,
    /// The mark for the record of the call.
    pub mark: FaultMark,
    /// The seed of the scenario, for what is left to chance.
    pub seed: Seed,
    /// The index of its rule in the engine.
    rule: usize,
}

impl<Mode> Decision<Mode> {
    /// Nothing happens.
    #[must_use]
    pub fn none() -> Self {
        Self { delay: Duration::ZERO, fault: None, slowed: None }
    }

    /// The mark for the record of the call.
    #[must_use]
    pub fn mark(&self) -> Option<FaultMark> {
        self.fault.as_ref().map(|fault| fault.mark.clone()).or_else(|| self.slowed.clone())
    }
}

impl FaultEngine {
    /// The faults of a scenario with this seed.
    #[must_use]
    pub fn new(chaos: &Chaos, seed: Seed, clock: Arc<Clock>) -> Self {
        let tools = chaos.tool_faults.iter().enumerate().map(|(index, fault)| Rule {
            id: format!("tool_faults[{index}]"),
            target: fault.target.tool.to_string(),
            matcher: ToolMatcher::new(&fault.target),
            trigger: fault.trigger.clone(),
            mode: fault.mode.clone(),
        });
        let model = chaos.llm_faults.iter().enumerate().map(|(index, fault)| Rule {
            id: format!("llm_faults[{index}]"),
            target: MODEL.to_owned(),
            matcher: None,
            trigger: fault.trigger.clone(),
            mode: fault.mode.clone(),
        });
        let (tools, model): (Vec<_>, Vec<_>) = (tools.collect(), model.collect());
        let counts = tools.iter().map(|rule| Counts::new(bucket_of(&rule.mode)));
        let counts = counts.chain(model.iter().map(|_| Counts::new(None))).collect();
        Self { seed, clock, tools, model, state: Mutex::new(State { counts, ..State::default() }) }
    }

    /// The agent starts: from now on calls are counted and faulted.
    pub fn start(&self) {
        self.state().phase = Phase::During;
    }

    /// True when no rule is about services.
    #[must_use]
    pub fn spares_tools(&self) -> bool {
        self.tools.is_empty()
    }

    /// Decides on a call of a service.
    #[must_use]
    pub fn tool(&self, request: ToolRequest<'_>) -> Decision<ToolMode> {
        if self.tools.is_empty() {
            return Decision::none();
        }
        let ToolRequest { service, method, path, url } = request;
        let target = format!("{service}:{method} {path}");
        let is_about =
            |rule: &Rule<ToolMode>| rule.matcher.as_ref().is_some_and(|one| one.matches(service, &target, url));
        self.decide(&self.tools, 0, is_about, &target, delay_of_tool)
    }

    /// Decides on a call of the model.
    #[must_use]
    pub fn model(&self) -> Decision<LlmMode> {
        if self.model.is_empty() {
            return Decision::none();
        }
        self.decide(&self.model, self.tools.len(), |_| true, MODEL, delay_of_model)
    }

    /// Goes through the rules: each that matches counts the call, delays add up, and the first other one that fires decides.
    fn decide<Mode: Clone + HasMode>(
        &self,
        rules: &[Rule<Mode>],
        offset: usize,
        is_about: impl Fn(&Rule<Mode>) -> bool,
        target: &str,
        delay_of: impl Fn(&Mode) -> Option<(u64, u64)>,
    ) -> Decision<Mode> {
        let at_ms = self.clock.elapsed_ms();
        let mut decision = Decision::none();
        let mut state = self.state();
        if state.phase != Phase::During {
            return decision;
        }
        for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| is_about(rule)) {
            let call = state.count(offset + index, at_ms, target);
            let is_decided = decision.fault.is_some();
            if is_decided || !state.counts[offset + index].fires(&rule.trigger, self.seed, &rule.id, call, at_ms) {
                continue;
            }
            let reached = rule.mode.reaches();
            let mark = FaultMark { rule: rule.id.clone(), mode: rule.mode.word().to_owned(), call, reached };
            state.fire(offset + index, &mark, target.to_owned(), at_ms, rule.mode.retry_after_ms());
            match delay_of(&rule.mode) {
                Some((delay, most)) => {
                    decision.delay += Duration::from_millis(delay + jitter(self.seed, &rule.id, call, most));
                    decision.slowed = Some(mark);
                }
                None => {
                    let fault = Fault { mode: rule.mode.clone(), mark, seed: self.seed, rule: offset + index };
                    decision.fault = Some(fault);
                }
            }
        }
        decision
    }

    /// Takes a fault back that turned out to change nothing, because the answer has none of the places that it is about.
    pub fn take_back<Mode>(&self, fault: &Fault<Mode>) {
        let mut state = self.state();
        state.counts[fault.rule].take_back();
        let is_it = |firing: &Firing| firing.rule == fault.mark.rule && firing.call == fault.mark.call;
        match state.firings.iter().rposition(is_it) {
            Some(index) => state.forget(index),
            None => state.only_counted = state.only_counted.saturating_sub(1),
        }
    }

    /// The counts and faults so far.
    #[must_use]
    pub fn record(&self) -> FaultRecord {
        let state = self.state();
        let named = self.tools.iter().map(|rule| (&rule.id, rule.mode.word(), &rule.target));
        let named = named.chain(self.model.iter().map(|rule| (&rule.id, rule.mode.word(), &rule.target)));
        let rules = named.zip(&state.counts).map(|((id, mode, target), counts)| RuleCount {
            rule: id.clone(),
            mode: mode.to_owned(),
            target: target.clone(),
            matched: counts.matched,
            fired: counts.past.fired,
        });
        FaultRecord { rules: rules.collect(), firings: state.firings.clone(), only_counted: state.only_counted }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call of a rule, and gives its number. When it is the one that was faulted before, the agent tried again.
    fn count(&mut self, rule: usize, at_ms: u64, target: &str) -> u64 {
        let counts = &mut self.counts[rule];
        counts.matched += 1;
        let is_close = counts.last_ms.replace(at_ms) == Some(at_ms) && counts.matched > 1;
        counts.is_close = is_close;
        if let Some(firing) = counts.last_firing.and_then(|index| self.firings.get_mut(index)) {
            if is_close {
                firing.close_to_another |= firing.at_ms == at_ms;
            }
            if firing.target == target && firing.retried_after_ms.is_none() {
                firing.retried_after_ms = Some(at_ms.saturating_sub(firing.at_ms));
            }
        }
        counts.matched
    }

    fn fire(&mut self, rule: usize, mark: &FaultMark, target: String, at_ms: u64, retry_after_ms: Option<u64>) {
        let counts = &mut self.counts[rule];
        counts.past.fired += 1;
        counts.past.first_fired_ms.get_or_insert(at_ms);
        if self.firings.len() == KEPT {
            self.only_counted += 1;
            counts.last_firing = None;
            return;
        }
        counts.last_firing = Some(self.firings.len());
        self.firings.push(Firing {
            rule: mark.rule.clone(),
            mode: mark.mode.clone(),
            target,
            call: mark.call,
            at_ms,
            close_to_another: counts.is_close,
            retry_after_ms,
            retried_after_ms: None,
        });
    }

    /// Takes a fault out of the list. The places of later ones change with it.
    fn forget(&mut self, index: usize) {
        self.firings.remove(index);
        for counts in &mut self.counts {
            counts.last_firing = match counts.last_firing {
                Some(last) if last == index => None,
                Some(last) if last > index => Some(last - 1),
                last => last,
            };
        }
    }
}

#[async_trait]
impl Gateway for FaultEngine {
    /// Nothing is faulted before the agent starts: what the setup calls gets the usual answers.
    async fn begin(&self) {
        self.start();
    }

    /// Nothing is faulted after the agent's end: what checks call then gets the usual answers.
    async fn seal(&self) {
        self.state().phase = Phase::After;
    }

    fn record(&self, evidence: &mut Evidence) {
        let record = Self::record(self);
        evidence.notes.extend(record.summary());
        evidence.faults = Some(record);
    }
}

/// The properties of a mode that the engine needs.
trait HasMode {
    /// Its name in the spec.
    fn word(&self) -> &'static str;
    /// True when the call reaches the service or the model all the same.
    fn reaches(&self) -> bool;
    /// How long the agent is asked to wait.
    fn retry_after_ms(&self) -> Option<u64>;
}

impl HasMode for ToolMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::Error(_)
            | Self::Malformed(_)
            | Self::MaliciousResponse(_)
            | Self::ConnectionReset(_)
            | Self::HtmlErrorPage(_)
            | Self::Unauthorized(_)
            | Self::RateLimit(_) => false,
            Self::Slow(_)
            | Self::Truncated(_)
            | Self::Empty(_)
            | Self::LostResponse(_)
            | Self::WrongData(_)
            | Self::DropFields(_)
            | Self::SchemaViolation(_)
            | Self::LargeResponse(_)
            | Self::Dribble(_) => true,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Error(error) => {
                let given = error.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
                let seconds = given.and_then(|(_, value)| value.trim().parse::<u64>().ok());
                seconds.or((error.error_code.get() == 429).then_some(1)).map(|seconds| seconds.saturating_mul(1000))
            }
            Self::RateLimit(_) => Some(1000),
            _ => None,
        }
    }
}

impl HasMode for LlmMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::RateLimit(_)
            | Self::Error(_)
            | Self::BackendDown(_)
            | Self::ContextLengthExceeded(_) => false,
            Self::TruncatedResponse(_)
            | Self::CutStream(_)
            | Self::HangStream(_)
            | Self::ContentFilter(_)
            | Self::Empty(_)
            | Self::Garbage(_)
            | Self::ResponseDrift(_)
            | Self::ToolArguments(_)
            | Self::Delay(_) => true,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimit(limit) => u64::try_from(limit.retry_after.get()).ok().map(|seconds| seconds * 1000),
            _ => None,
        }
    }
}

/// The delay of a mode that delays and leaves the rest to later rules, and how much longer it may be.
fn delay_of_tool(mode: &ToolMode) -> Option<(u64, u64)> {
    match mode {
        ToolMode::Slow(slow) => Some((milliseconds(slow.delay_ms.get()), milliseconds(slow.jitter_ms.get()))),
        _ => None,
    }
}

fn delay_of_model(mode: &LlmMode) -> Option<(u64, u64)> {
    match mode {
        LlmMode::Delay(delay) => Some((milliseconds(delay.delay_ms.get()), 0)),
        _ => None,
    }
}

fn bucket_of(mode: &ToolMode) -> Option<Bucket> {
    match mode {
        ToolMode::RateLimit(limit) => Some(Bucket::new(limit.rps.get(), limit.at_once.get())),
        _ => None,
    }
}

pub(crate) fn milliseconds(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
