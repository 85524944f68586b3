//! Rules of faults of containers, and the faults of connections to one.

use std::sync::Arc;
use std::time::Duration;

use scenario::spec::sections::chaos::CallUnit;
use scenario::spec::sections::{ServiceFault, ServiceMode};
use scenario::spec::{ServiceMatcher, StatementCall, StatementPart};

use super::mode::milliseconds;
use super::rule::{Decision, Rule};
use super::{Fault, FaultEngine};

/// The calls that a rule of `service_faults` is about.
#[derive(Debug)]
pub(super) struct ServiceRule {
    fault: ServiceFault,
    matcher: Option<ServiceMatcher>,
}

/// The rules of a spec.
pub(super) fn rules(faults: &[ServiceFault]) -> impl Iterator<Item = Rule<ServiceRule, ServiceMode>> {
    faults.iter().enumerate().map(|(index, fault)| Rule {
        id: format!("service_faults[{index}]"),
        target: fault.target.service.to_string(),
        matcher: ServiceRule { fault: fault.clone(), matcher: ServiceMatcher::new(&fault.target) },
        trigger: fault.trigger.clone(),
        mode: fault.mode.clone(),
    })
}

impl ServiceRule {
    fn is_about(&self, service: &str) -> bool {
        self.matcher.as_ref().is_some_and(|matcher| matcher.is_about(service))
    }

    /// Returns true if it starts a service again.
    pub(super) fn restarts(&self, service: &str) -> bool {
        matches!(self.fault.mode, ServiceMode::Restart(_)) && self.is_about(service)
    }

    /// Returns true if something of a service can be hit.
    pub(super) fn can_hit(&self, service: &str, is_database: bool) -> bool {
        self.is_about(service) && self.fault.unit(is_database).is_some()
    }

    /// Returns true if connections to a service are its calls.
    pub(super) fn is_about_connection(&self, service: &str, is_database: bool) -> bool {
        self.fault.unit(is_database) == Some(CallUnit::Connection) && self.is_about(service)
    }

    /// Returns true if this statement is one of its calls.
    pub(super) fn is_about_statement(&self, service: &str, call: &StatementCall) -> bool {
        self.fault.unit(true) == Some(CallUnit::Statement) && self.is_about(service) && self.takes(call)
    }

    fn takes(&self, call: &StatementCall) -> bool {
        let Some(matcher) = &self.matcher else { return false };
        let any =
            |is_hit: &dyn Fn(&StatementPart) -> bool| call.parts.iter().any(|part| is_hit(part) && matcher.takes(part));
        match self.fault.mode {
            ServiceMode::ReadOnly(_) => any(&|part| part.kind.is_write()),
            ServiceMode::CommitUnknown(_) => call.commits && any(&|part| part.kind.is_commit()),
            _ => any(&|_| true),
        }
    }
}

/// The faults of one container.
#[derive(Debug, Clone)]
pub struct ServiceFaults {
    engine: Arc<FaultEngine>,
    service: String,
    is_database: bool,
}

impl ServiceFaults {
    /// The faults of a service; `None` when no rule can hit it.
    #[must_use]
    pub fn of(engine: &Arc<FaultEngine>, service: &str, is_database: bool) -> Option<Self> {
        let faults = Self { engine: Arc::clone(engine), service: service.to_owned(), is_database };
        engine.is_about_service(service, is_database).then_some(faults)
    }

    /// Decides on a connection that was accepted.
    #[must_use]
    pub fn connection(&self) -> Decision<ServiceMode> {
        self.engine.connection(&self.service, self.is_database)
    }

    /// Decides on a statement.
    #[must_use]
    pub fn statement(&self, call: &StatementCall) -> Decision<ServiceMode> {
        self.engine.statement(&self.service, call)
    }

    /// Stops the service, or starts it again, where the fault is that. It holds for the service as a whole, and the call goes on.
    pub async fn carry_out(&self, fault: &Fault<ServiceMode>) {
        let is_done = match &fault.mode {
            ServiceMode::Pause(pause) => {
                let time = Duration::from_millis(milliseconds(pause.delay_ms.get()));
                self.engine.controls.pause(&self.service, time).await
            }
            ServiceMode::Restart(_) => self.engine.controls.restart(&self.service).await,
            _ => true,
        };
        if !is_done {
            self.take_back(fault);
        }
    }

    /// Takes a fault back that had no effect.
    pub fn take_back(&self, fault: &Fault<ServiceMode>) {
        self.engine.take_back(fault);
    }

    /// True when the agent has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.engine.is_over()
    }
}

/// Returns the time for which `hang` answers nothing; `None` for other modes.
#[must_use]
pub fn hang_time(mode: &ServiceMode) -> Option<Duration> {
    match mode {
        ServiceMode::Hang(hang) => Some(Duration::from_millis(milliseconds(hang.delay_ms.get()))),
        _ => None,
    }
}
