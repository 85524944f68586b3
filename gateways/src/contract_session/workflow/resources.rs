//! Shared resources: calls that wait in their order, and calls in flight.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tool_contracts::{Code, WorkflowCall, WorkflowDecision, WorkflowEvent, wf_apply, wf_decide};

use super::ContractWorkflow;

/// Calls that wait for resources, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    next: u64,
    waiting: Vec<Arrival>,
}

/// A call that waits.
#[derive(Debug)]
struct Arrival {
    number: u64,
    session: String,
    instances: Vec<String>,
}

/// A place among those that wait. Dropping it gives it up.
struct Place {
    workflow: Arc<ContractWorkflow>,
    number: u64,
    instances: Vec<String>,
}

/// A call that the workflow let in. Dropping it gives its resources free, unless the session owns them.
pub(in crate::contract_session) struct Entered {
    /// Sessions keep this, and the workflow keeps them.
    workflow: Weak<ContractWorkflow>,
    call: WorkflowCall,
}

impl Arrivals {
    /// The number of calls that wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when another session came earlier for one of the instances.
    fn is_behind(&self, place: &Place, session: &str) -> bool {
        let earlier = self.waiting.iter().filter(|one| one.number < place.number && one.session != session);
        earlier.flat_map(|one| &one.instances).any(|instance| place.instances.contains(instance))
    }
}

impl ContractWorkflow {
    /// Admits a call, which then counts as in flight. Waits in the order of arrival where resources are serial.
    pub(super) async fn enter(self: &Arc<Self>, call: WorkflowCall, wait: Duration) -> Result<Entered, Code> {
        let place = self.arrive(&call);
        let held = WorkflowEvent::CallHeld(call.clone());
        self.admitted(&call, wait, Some(&place), std::slice::from_ref(&held)).await?;
        Ok(Entered { workflow: Arc::downgrade(self), call })
    }

    /// Admits a call although the decision on it has no effect; returns the code of the refusal that it would have got.
    pub(super) fn enter_observed(self: &Arc<Self>, call: WorkflowCall) -> (Entered, Option<Code>) {
        let decision = wf_decide(&self.workflow, &self.shared().state, &call);
        self.apply(&WorkflowEvent::CallHeld(call.clone()));
        let code = match decision {
            WorkflowDecision::Allow => None,
            WorkflowDecision::Block(code) => Some(code),
            WorkflowDecision::Wait => Some(Code::ResourceOverlap),
        };
        (Entered { workflow: Arc::downgrade(self), call }, code)
    }

    fn arrive(self: &Arc<Self>, call: &WorkflowCall) -> Place {
        let instances = self.workflow.serial_instances(&call.arguments);
        let mut shared = self.shared();
        let arrivals = &mut shared.arrivals;
        arrivals.next += 1;
        let number = arrivals.next;
        if !instances.is_empty() {
            let (session, instances) = (call.session.clone(), instances.clone());
            arrivals.waiting.push(Arrival { number, session, instances });
        }
        drop(shared);
        Place { workflow: Arc::clone(self), number, instances }
    }

    /// Waits until the workflow allows a call, and applies the events of it in the same moment.
    async fn admitted(
        &self,
        call: &WorkflowCall,
        wait: Duration,
        place: Option<&Place>,
        events: &[WorkflowEvent],
    ) -> Result<(), Code> {
        let deadline = Instant::now() + wait;
        let mut changed = self.changed.subscribe();
        loop {
            if self.decided(call, place, events)? {
                return Ok(());
            }
            tokio::select! {
                () = self.ended.cancelled() => return Err(Code::SessionNotActive),
                change = timeout_at(deadline, changed.changed()) => {
                    change.ok().and_then(Result::ok).ok_or(Code::ResourceWaitTimeout)?;
                }
            }
        }
    }

    /// True when a call may go on now, and its events were applied.
    fn decided(&self, call: &WorkflowCall, place: Option<&Place>, events: &[WorkflowEvent]) -> Result<bool, Code> {
        let mut shared = self.shared();
        let is_free = match wf_decide(&self.workflow, &shared.state, call) {
            WorkflowDecision::Block(code) => return Err(code),
            WorkflowDecision::Wait => false,
            WorkflowDecision::Allow => place.is_none_or(|place| !shared.arrivals.is_behind(place, &call.session)),
        };
        if is_free {
            for event in events {
                wf_apply(&self.workflow, &mut shared.state, event);
            }
        }
        Ok(is_free)
    }

    fn notify(&self) {
        self.changed.send_modify(|version| *version += 1);
    }
}

impl Entered {
    /// Dispatches the call, when nothing else has taken its resources while the session decided.
    pub(super) async fn dispatch(&self, wait: Duration) -> Result<(), Code> {
        let Some(workflow) = self.workflow.upgrade() else { return Ok(()) };
        let out = self.going_out();
        workflow.admitted(&self.call, wait, None, &out).await?;
        workflow.notify();
        Ok(())
    }

    /// Dispatches the call whatever others do.
    pub(super) fn dispatch_observed(&self) {
        let Some(workflow) = self.workflow.upgrade() else { return };
        for event in self.going_out() {
            workflow.apply(&event);
        }
    }

    /// Returns the events of dispatching it: it was in flight without owning anything, and now may own.
    fn going_out(&self) -> [WorkflowEvent; 2] {
        [WorkflowEvent::CallCompleted(self.call.clone()), WorkflowEvent::CallDispatched(self.call.clone())]
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(workflow) = self.workflow.upgrade() {
            workflow.apply(&WorkflowEvent::CallCompleted(self.call.clone()));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.instances.is_empty() {
            self.workflow.shared().arrivals.waiting.retain(|one| one.number != self.number);
            self.workflow.notify();
        }
    }
}
