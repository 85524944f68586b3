//! Faults of the network: the decision on a connection when it is accepted, and on its bytes while a partition may hold them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scenario::chaos::jitter;
use scenario::evidence::FaultMark;
use scenario::spec::NetworkMatcher;
use scenario::spec::sections::{Chaos, DnsAnswer, NetworkFault, NetworkMode, Trigger};
use tokio::time::Instant;

use super::ledger::{Ledger, Phase};
use super::mode::{FaultMode as _, milliseconds};
use super::rule::{Rule, RuleSet};
use super::{FaultEngine, InFlight};

/// The most names whose last answer is remembered; beyond it all are forgotten.
const MOST_NAMES: usize = 1000;

/// The rules of `network_faults`.
pub(super) type NetworkRules = RuleSet<NetworkMatcher, NetworkMode>;

/// The way from the agent to one service, on which faults may lie.
#[derive(Debug, Clone)]
pub struct ServiceLink {
    engine: Arc<FaultEngine>,
    service: Arc<str>,
    /// True when it leads to a service that `tool_faults` can hit.
    speaks_http: bool,
}

/// The faults of one connection.
#[derive(Debug)]
pub struct ConnectionFaults {
    link: ServiceLink,
    /// The delay of its bytes in each direction.
    pub(crate) delay: Duration,
    /// True when it is reset before anything else.
    pub(crate) is_refused: bool,
    /// The bytes that pass in a second in each direction.
    pub(crate) bytes_per_second: Option<u64>,
    partition: Mutex<Partitions>,
}

/// The partitions that hold a connection, or may do so later.
#[derive(Debug, Default)]
struct Partitions {
    hold: Option<Hold>,
    later: Vec<Later>,
}

/// Length of time for which a partition holds a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It holds until this moment.
    Until(Instant),
    /// It holds as long as the client waits.
    Forever,
}

/// A partition with a window that did not hold a connection when it was accepted.
#[derive(Debug)]
struct Later {
    /// The index of its rule.
    rule: usize,
    /// The number of the connection among those of the rule.
    call: u64,
    is_close: bool,
}

/// The answers to the last question for the address of each name.
#[derive(Debug, Default)]
pub(super) struct LastAnswers(HashMap<String, DnsAnswer>);

/// The rules of a chaos cell.
pub(super) fn rules(chaos: &Chaos) -> impl Iterator<Item = Rule<NetworkMatcher, NetworkMode>> + '_ {
    chaos.network_faults.iter().enumerate().map(|(index, fault)| Rule {
        id: format!("network_faults[{index}]"),
        target: target(fault),
        matcher: NetworkMatcher::new(&fault.mode),
        trigger: fault.trigger.clone(),
        mode: fault.mode.clone(),
    })
}

/// The connections or names that a rule is about, in words.
fn target(fault: &NetworkFault) -> String {
    let joined = |words: Vec<&str>| words.join(", ");
    match (&fault.mode, fault.mode.services()) {
        (NetworkMode::DnsFailure(failure), _) => {
            format!("dns:{}", joined(failure.names.iter().map(|name| name.as_str()).collect()))
        }
        (_, Some(services)) => joined(services.iter().map(|service| service.as_str()).collect()),
        (_, None) => "*".to_owned(),
    }
}

impl NetworkRules {
    /// Decides on a connection that was accepted: each rule that matches counts it; delays add up, the first rate counts, and
    /// after a partition without an end nothing more is decided.
    fn accept(&self, ledger: &mut Ledger, at_ms: u64, link: &ServiceLink) -> Option<ConnectionFaults> {
        let service = &*link.service;
        let mut faults = ConnectionFaults::none(link.clone());
        let mut partitions = Partitions::default();
        for (index, rule) in self.rules.iter().enumerate().filter(|(_, rule)| rule.matcher.is_about_service(service)) {
            let place = self.offset + index;
            let call = ledger.count(place, at_ms, service);
            let is_cut_off = partitions.hold == Some(Hold::Forever);
            let has_rate = matches!(rule.mode, NetworkMode::Bandwidth(_)) && faults.bytes_per_second.is_some();
            if is_cut_off || has_rate {
                continue;
            }
            let is_close = ledger.counts[place].is_close;
            if !self.fires(ledger, index, call, at_ms, service) {
                if may_hold_later(rule, at_ms) {
                    partitions.later.push(Later { rule: index, call, is_close });
                }
                continue;
            }
            match &rule.mode {
                NetworkMode::Partition(_) => partitions.hold(self.end(ledger, index, at_ms)),
                NetworkMode::Latency(latency) => {
                    let most = milliseconds(latency.jitter_ms.get());
                    let delay = milliseconds(latency.delay_ms.get()) + jitter(self.seed, &rule.id, call, most);
                    faults.delay += Duration::from_millis(delay);
                }
                NetworkMode::Bandwidth(bandwidth) => {
                    faults.bytes_per_second = Some(milliseconds(bandwidth.bytes_per_second.get()));
                }
                NetworkMode::DnsFailure(_) => {}
            }
        }
        faults.partition = Mutex::new(partitions);
        faults.is_any().then_some(faults)
    }

    /// Decides if a rule faults a connection now, and writes that down.
    fn fires(&self, ledger: &mut Ledger, index: usize, call: u64, at_ms: u64, service: &str) -> bool {
        let (rule, place) = (&self.rules[index], self.offset + index);
        let fires = ledger.counts[place].fires(&rule.trigger, self.seed, &rule.id, call, at_ms);
        if fires {
            let (mode, reached) = (rule.mode.word().to_owned(), rule.mode.reaches());
            let mark = FaultMark { rule: rule.id.clone(), mode, call, reached };
            ledger.fire(place, &mark, service.to_owned(), at_ms, None);
        }
        fires
    }

    /// The end of a partition that has just fired.
    fn end(&self, ledger: &Ledger, index: usize, at_ms: u64) -> Hold {
        let trigger = &self.rules[index].trigger;
        let first = ledger.counts[self.offset + index].past.first_fired_ms.unwrap_or(at_ms);
        let lasting = trigger.lasting.map(|lasting| first.saturating_add(whole(lasting.get())));
        match [window_end(trigger), lasting].into_iter().flatten().min() {
            Some(end) => Hold::Until(Instant::now() + Duration::from_millis(end.saturating_sub(at_ms))),
            None => Hold::Forever,
        }
    }
}

/// Returns true if a partition may begin while a connection is open.
fn may_hold_later(rule: &Rule<NetworkMatcher, NetworkMode>, at_ms: u64) -> bool {
    matches!(rule.mode, NetworkMode::Partition(_)) && window_end(&rule.trigger).is_some_and(|end| at_ms < end)
}

/// The end of `between`, in milliseconds since the agent started.
fn window_end(trigger: &Trigger) -> Option<u64> {
    trigger.between.as_ref().and_then(|window| window.get(1)).map(|end| whole(end.get()))
}

fn whole(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Partitions {
    /// Adds a hold: the longest one counts.
    fn hold(&mut self, hold: Hold) {
        self.hold = match (self.hold, hold) {
            (Some(Hold::Until(one)), Hold::Until(other)) => Some(Hold::Until(one.max(other))),
            (None, hold) => Some(hold),
            _ => Some(Hold::Forever),
        };
    }
}

impl ServiceLink {
    /// Decides on a connection that was accepted; `None` when nothing happens to it.
    #[must_use]
    pub fn accept(&self) -> Option<ConnectionFaults> {
        let engine = &self.engine;
        let mut ledger = engine.ledger();
        if ledger.phase != Phase::During {
            return None;
        }
        if self.speaks_http && engine.refuses(&mut ledger, &self.service) {
            return Some(ConnectionFaults { is_refused: true, ..ConnectionFaults::none(self.clone()) });
        }
        engine.network.accept(&mut ledger, engine.clock.elapsed_ms(), self)
    }
}

impl ConnectionFaults {
    fn none(link: ServiceLink) -> Self {
        Self { link, delay: Duration::ZERO, is_refused: false, bytes_per_second: None, partition: Mutex::default() }
    }

    fn is_any(&self) -> bool {
        let partitions = self.partitions();
        self.shapes(&partitions) || partitions.hold.is_some()
    }

    fn shapes(&self, partitions: &Partitions) -> bool {
        !self.delay.is_zero() || self.bytes_per_second.is_some() || !partitions.later.is_empty()
    }

    /// True when bytes must be looked at as they pass, once a partition that held the connection from its start is over.
    pub(crate) fn shapes_bytes(&self) -> bool {
        self.shapes(&self.partitions())
    }

    /// The partition that holds the connection from its start.
    pub(crate) fn held(&self) -> Option<Hold> {
        self.partitions().hold
    }

    /// The end of the partition that holds bytes which are to pass now. A partition whose window has begun since the connection
    /// was accepted is decided here, and written down.
    pub(crate) fn holds_bytes(&self) -> Option<Hold> {
        let engine = &self.link.engine;
        let mut partitions = self.partitions();
        if !partitions.later.is_empty() {
            let mut ledger = engine.ledger();
            if ledger.phase == Phase::During {
                engine.begin_partitions(&mut ledger, &mut partitions, &self.link.service);
            }
        }
        partitions.hold.filter(|hold| !matches!(hold, Hold::Until(end) if *end <= Instant::now()))
    }

    /// Returns when the agent has ended, and nothing is faulted any more.
    pub(crate) async fn released(&self) {
        self.link.engine.released.cancelled().await;
    }

    /// True when the agent has ended.
    pub(crate) fn is_released(&self) -> bool {
        self.link.engine.released.is_cancelled()
    }

    /// Notes bytes that have been sent and have not arrived.
    pub(crate) fn in_flight(&self) -> InFlight {
        InFlight::new(&self.link.engine.in_flight)
    }

    fn partitions(&self) -> MutexGuard<'_, Partitions> {
        self.partition.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultEngine {
    /// The way to a service, or to `model`; `None` when no fault of the network lies on it.
    #[must_use]
    pub fn link(self: &Arc<Self>, service: &str) -> Option<ServiceLink> {
        let is_faulted = self.network.rules.iter().any(|rule| rule.matcher.is_about_service(service));
        is_faulted.then(|| ServiceLink { engine: Arc::clone(self), service: service.into(), speaks_http: false })
    }

    /// The way to a service that is called over HTTP, whose connections may be refused too.
    #[must_use]
    pub fn http_link(self: &Arc<Self>, service: &str) -> Option<ServiceLink> {
        let link = || ServiceLink { engine: Arc::clone(self), service: service.into(), speaks_http: true };
        (self.may_refuse(service) || self.link(service).is_some()).then(link)
    }

    /// Decides on the partitions whose window has begun since a connection was accepted.
    fn begin_partitions(&self, ledger: &mut Ledger, partitions: &mut Partitions, service: &str) {
        let at_ms = self.clock.elapsed_ms();
        let later = std::mem::take(&mut partitions.later);
        for later in later {
            ledger.counts[self.network.offset + later.rule].is_close = later.is_close;
            if self.network.fires(ledger, later.rule, later.call, at_ms, service) {
                partitions.hold(self.network.end(ledger, later.rule, at_ms));
            } else if may_hold_later(&self.network.rules[later.rule], at_ms) {
                partitions.later.push(later);
            }
        }
    }

    /// True when every name is looked up as usual.
    pub(crate) fn spares_names(&self) -> bool {
        !self.network.rules.iter().any(|rule| matches!(rule.mode, NetworkMode::DnsFailure(_)))
    }

    /// Decides on a question for a name, which is written down as `shown`. Only questions for an address count as calls; others
    /// get the answer that the last of those got, so that a program which asks for both kinds of address fails as a whole. A
    /// name that does not exist is not made to not exist.
    pub(crate) fn lookup(&self, question: &Lookup<'_>) -> Option<DnsAnswer> {
        let mut ledger = self.ledger();
        if ledger.phase != Phase::During {
            return None;
        }
        let name = question.name.to_ascii_lowercase();
        let mut last = self.last_answers.lock().unwrap_or_else(PoisonError::into_inner);
        if !question.asks_address {
            return last.0.get(&name).copied();
        }
        let target = format!("dns:{}", question.shown);
        let is_about = |matcher: &NetworkMatcher| matcher.is_about_name(&name);
        let decision = self.network.decide(&mut ledger, self.clock.elapsed_ms(), &target, is_about);
        let answer = decision.fault.as_ref().and_then(|fault| match &fault.mode {
            NetworkMode::DnsFailure(failure) => Some(failure.answer),
            _ => None,
        });
        let changes = answer != Some(DnsAnswer::Nxdomain) || question.exists;
        if let Some(fault) = decision.fault.filter(|_| !changes) {
            ledger.take_back(fault.rule, &fault.mark);
        }
        last.remember(name, answer.filter(|_| changes))
    }
}

/// A question for a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<'a> {
    /// The name as it was asked for.
    pub(crate) name: &'a str,
    /// The name without secrets.
    pub(crate) shown: &'a str,
    /// True when the question is for an address.
    pub(crate) asks_address: bool,
    /// True when the name exists.
    pub(crate) exists: bool,
}

impl LastAnswers {
    /// Remembers the answer to the last question for the address of a name, and gives it back.
    fn remember(&mut self, name: String, answer: Option<DnsAnswer>) -> Option<DnsAnswer> {
        match answer {
            None => {
                self.0.remove(&name);
            }
            Some(answer) => {
                if self.0.len() >= MOST_NAMES {
                    self.0.clear();
                }
                self.0.insert(name, answer);
            }
        }
        answer
    }
}
