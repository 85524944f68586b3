//! The fault engine: counts calls, decides which of them are faulted, and keeps the proof.
//!
//! One engine serves all gateways of a scenario. A gateway asks it about every call, carries the decision out, and writes the
//! mark of the fault into its own record; the engine lists all faults in the order in which they were decided. Decisions are
//! [`scenario::chaos`]'s, so that the same seed, rules and calls give the same faults.

mod attack;
mod bucket;
mod control;
mod counts;
mod in_flight;
mod ledger;
mod mode;
mod network;
mod rule;
mod service;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tool;
mod world;
#[cfg(test)]
mod world_tests;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use scenario::evidence::{Evidence, FaultRecord};
use scenario::plan::Seed;
use scenario::spec::sections::chaos::ContextAttack;
use scenario::spec::sections::{Chaos, LlmMode, ServiceMode, ToolMode};
use scenario::spec::{StatementCall, ToolMatcher};
use tokio_util::sync::CancellationToken;

use crate::Gateway;
use crate::clock::Clock;
use control::Controls;
pub use control::{ControlError, LostService, ServiceControl};
pub(crate) use in_flight::InFlight;
use ledger::{Ledger, Phase};
pub use mode::milliseconds;
pub use network::{ConnectionFaults, ServiceLink};
pub(crate) use network::{Hold, Lookup};
use network::{LastAnswers, NetworkRules};
pub use rule::{Decision, Fault, Pauses};
use rule::{Rule, RuleSet};
use service::ServiceRule;
pub use service::{ServiceFaults, hang_time};
pub use tool::ToolFaults;
use tool::ToolRule;
use world::WorldFaults;
pub use world::{ChangeError, WorldChanger, WorldMode};

/// The name of the model among targets.
pub(crate) const MODEL: &str = "model";

/// The faults of one scenario.
#[derive(Debug)]
pub struct FaultEngine {
    clock: Arc<Clock>,
    tools: RuleSet<ToolRule, ToolMode>,
    model: RuleSet<(), LlmMode>,
    attacks: RuleSet<Option<ToolMatcher>, ContextAttack>,
    network: NetworkRules,
    last_answers: Mutex<LastAnswers>,
    /// Bytes of faulted connections that have not arrived.
    in_flight: Arc<AtomicUsize>,
    /// Cancelled when the agent has ended.
    released: CancellationToken,
    services: RuleSet<ServiceRule, ServiceMode>,
    world: WorldFaults,
    controls: Controls,
    ledger: Arc<Mutex<Ledger>>,
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

impl FaultEngine {
    /// The faults of a scenario with this seed.
    #[must_use]
    pub fn new(chaos: &Chaos, seed: Seed, clock: Arc<Clock>) -> Self {
        let mut ledger = Ledger::default();
        let tools = RuleSet::new(tool::rules(&chaos.tool_faults), seed, &mut ledger);
        let model = chaos.llm_faults.iter().enumerate().map(|(index, fault)| Rule {
            id: format!("llm_faults[{index}]"),
            target: MODEL.to_owned(),
            matcher: (),
            trigger: fault.trigger.clone(),
            mode: fault.mode.clone(),
        });
        let model = RuleSet::new(model, seed, &mut ledger);
        let services = RuleSet::new(service::rules(&chaos.service_faults), seed, &mut ledger);
        let attacks = attack::rules(chaos, seed, &mut ledger);
        let network = RuleSet::new(network::rules(chaos), seed, &mut ledger);
        let world = WorldFaults::new(chaos, seed, &mut ledger);
        Self {
            clock,
            tools,
            model,
            services,
            attacks,
            network,
            last_answers: Mutex::default(),
            in_flight: Arc::default(),
            released: CancellationToken::new(),
            world,
            controls: Controls::default(),
            ledger: Arc::new(Mutex::new(ledger)),
        }
    }

    /// Sets the changer that carries out the faults of the sandbox itself; without it there are none.
    #[must_use]
    pub fn changing(mut self, changer: Arc<dyn WorldChanger>) -> Self {
        self.world.carried_out_by(changer);
        self
    }

    /// The agent starts: from now on calls are counted and faulted.
    pub fn start(&self) {
        self.ledger().phase = Phase::During;
    }

    /// The agent has ended: nothing is faulted from now on. Bytes that were delayed or held by a partition with an end arrive
    /// now, because the agent sent them; this waits for them.
    pub async fn release(&self) {
        self.end_world_faults().await;
        self.released.cancel();
        if !self.network.is_empty() {
            in_flight::arrived(&self.in_flight).await;
        }
    }

    /// The agent has ended: nothing is faulted from now on, and the sandbox is as it was before its faults.
    pub async fn end_world_faults(&self) {
        self.ledger().phase = Phase::After;
        self.world.release().await;
        self.controls.release().await;
    }

    /// True when a service may be started again.
    #[must_use]
    pub fn restarts(&self, service: &str) -> bool {
        self.services.any(|rule| rule.restarts(service))
    }

    /// Registers the control that stops and starts a service.
    pub fn control(&self, service: &str, control: Arc<dyn ServiceControl>) {
        self.controls.add(service, control);
    }

    /// A service that could not be brought back after a fault.
    #[must_use]
    pub fn lost_service(&self) -> Option<LostService> {
        self.controls.lost()
    }

    /// Begins the faults that this call of a service triggers; it is answered after that.
    pub async fn before_tool(&self, request: ToolRequest<'_>) {
        self.world.before_tool(&self.ledger, self.clock.elapsed_ms(), request).await;
    }

    /// Begins the faults that this call of the model triggers; it is answered after that.
    pub async fn before_model(&self) {
        self.world.before_model(&self.ledger, self.clock.elapsed_ms()).await;
    }

    /// True when no rule is about calls of services.
    #[must_use]
    pub fn spares_tools(&self) -> bool {
        self.tools.is_empty() && self.attacks.is_empty() && !self.world.counts_tools()
    }

    /// Decides on a call of a service.
    #[must_use]
    pub fn tool(&self, request: ToolRequest<'_>) -> Decision<ToolMode> {
        if self.tools.is_empty() {
            return Decision::none();
        }
        let ToolRequest { service, method, path, url } = request;
        let target = format!("{service}:{method} {path}");
        self.tools.decide(&mut self.ledger(), self.clock.elapsed_ms(), &target, |rule| {
            rule.is_about_request(service, &target, url)
        })
    }

    /// Begins the faults that this call of a tool triggers; it is answered after that.
    pub async fn before_tool_call(&self, tool: &str) {
        let request = ToolRequest { service: tool, method: "CALL", path: "", url: "" };
        self.world.before_tool(&self.ledger, self.clock.elapsed_ms(), request).await;
    }

    /// Decides on the result of a tool: the attack that it carries, if any.
    #[must_use]
    pub fn tool_attack(&self, tool: &str) -> Option<Fault<ContextAttack>> {
        if self.attacks.is_empty() {
            return None;
        }
        let is_about =
            |matcher: &Option<ToolMatcher>| matcher.as_ref().is_some_and(|matcher| matcher.matches(tool, tool, ""));
        self.attacks.decide(&mut self.ledger(), self.clock.elapsed_ms(), tool, is_about).fault
    }

    /// Decides on the answer to a call of a service: the attack that it carries, if any.
    #[must_use]
    pub fn attack(&self, request: ToolRequest<'_>) -> Option<Fault<ContextAttack>> {
        if self.attacks.is_empty() {
            return None;
        }
        let ToolRequest { service, method, path, url } = request;
        let target = format!("{service}:{method} {path}");
        let decision = self.attacks.decide(&mut self.ledger(), self.clock.elapsed_ms(), &target, |matcher| {
            matcher.as_ref().is_some_and(|matcher| matcher.matches(service, &target, url))
        });
        decision.fault
    }

    /// Decides on a call of the model.
    #[must_use]
    pub fn model(&self) -> Decision<LlmMode> {
        if self.model.is_empty() {
            return Decision::none();
        }
        self.model.decide(&mut self.ledger(), self.clock.elapsed_ms(), MODEL, |()| true)
    }

    /// True when some rule can hit a container on the way to it.
    #[must_use]
    pub fn is_about_service(&self, service: &str, is_database: bool) -> bool {
        self.services.any(|rule| rule.can_hit(service, is_database))
    }

    /// Decides on a connection to a container; a Postgres or MySQL is a database.
    #[must_use]
    pub fn connection(&self, service: &str, is_database: bool) -> Decision<ServiceMode> {
        let target = format!("{service}:connect");
        self.services.decide(&mut self.ledger(), self.clock.elapsed_ms(), &target, |rule| {
            rule.is_about_connection(service, is_database)
        })
    }

    /// Decides on a statement that is sent to a Postgres or MySQL.
    #[must_use]
    pub fn statement(&self, service: &str, call: &StatementCall) -> Decision<ServiceMode> {
        let target = format!("{service}:{}", call.words());
        self.services
            .decide(&mut self.ledger(), self.clock.elapsed_ms(), &target, |rule| rule.is_about_statement(service, call))
    }

    /// Waits, but no longer than the agent acts.
    pub async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.released.cancelled() => {}
        }
    }

    /// True when the agent has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ledger().phase == Phase::After
    }

    /// Takes a fault back that turned out to change nothing, because the answer has none of the places that it is about.
    pub fn take_back<Mode>(&self, fault: &Fault<Mode>) {
        self.ledger().take_back(fault.rule, &fault.mark);
    }

    /// The counts and faults so far.
    #[must_use]
    pub fn record(&self) -> FaultRecord {
        let ledger = self.ledger();
        let rules = self.tools.counts(&ledger).chain(self.model.counts(&ledger)).chain(self.attacks.counts(&ledger));
        let rules = rules.chain(self.services.counts(&ledger)).chain(self.network.counts(&ledger));
        let rules = rules.chain(self.world.rules().counts(&ledger));
        FaultRecord {
            rules: rules.collect(),
            firings: ledger.firings.clone(),
            only_counted: ledger.only_counted,
            // The rest is found out when everything that the agent did is known.
            ..FaultRecord::default()
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Gateway for FaultEngine {
    /// Starts faulting. Nothing is faulted before the agent starts: calls of the setup get the usual answers.
    async fn begin(&self) {
        self.start();
        self.world.start(&self.ledger, &self.clock).await;
    }

    /// Stops faulting. Nothing is faulted after the agent's end: calls of checks then get the usual answers.
    async fn seal(&self) {
        self.release().await;
    }

    fn record(&self, evidence: &mut Evidence) {
        let record = Self::record(self);
        evidence.notes.extend(record.summary());
        evidence.notes.extend(self.world.notes());
        evidence.faults = Some(record);
    }
}
