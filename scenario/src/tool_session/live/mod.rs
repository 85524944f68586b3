//! Builds a lane from the records of a live session, one after the other. Records of unknown kinds change nothing.

mod calls;
mod notes;
mod violations;

use std::collections::BTreeMap;

use super::lane::{LaneOrigin, SessionLane};
use super::record::Record;
use crate::evidence::{ContractMode, ContractSession};
use violations::Found;

struct Fold {
    lane: SessionLane,
    phase: Option<String>,
    /// The row of each call, by its id.
    places: BTreeMap<String, usize>,
    /// The tools that the last note says were hidden.
    hidden: Vec<String>,
    /// Findings and reasons of refusals, in their order.
    found: Found,
}

impl SessionLane {
    /// The lane of a live session.
    #[must_use]
    pub fn of_record(mode: ContractMode, session: &ContractSession) -> Self {
        let lane = Self {
            origin: LaneOrigin::Live(mode),
            session: session.session.clone(),
            role: session.role.clone(),
            parent: session.parent.clone(),
            status: session.status.clone(),
            final_phase: session.phase.clone(),
            rows: Vec::new(),
            findings: Vec::new(),
            violations: 0,
            attempts: 0,
            left_out: session.only_counted,
        };
        let (places, hidden, found) = (BTreeMap::new(), Vec::new(), Found::default());
        let mut fold = Fold { lane, phase: None, places, hidden, found };
        session.records.iter().for_each(|record| fold.take(Record(record)));
        fold.finish()
    }
}

impl Fold {
    fn take(&mut self, record: Record<'_>) {
        match record.kind() {
            "session_opened" => self.follow_phase(record),
            "narrowed" => self.narrowed(record, "hidden from the model"),
            "would_have_narrowed" => self.narrowed(record, "would have been hidden from the model"),
            "precheck" => self.prechecked(record),
            // Refusals of the workflow above the session look like its own.
            "decision" | "workflow_decision" => self.decided(record),
            "hold" => self.held(record),
            "approval" => self.approved(record),
            "dispatched" => self.dispatched(record),
            "completed" => self.completed(record),
            "finding" => self.found.add(record),
            "session_closed" => self.closed(record),
            kind => self.told(kind, record),
        }
    }

    /// Takes over the phase of a record that names one.
    fn follow_phase(&mut self, record: Record<'_>) {
        if let Some(phase) = record.text("phase") {
            self.phase = Some(phase.to_owned());
        }
    }

    fn closed(&mut self, record: Record<'_>) {
        self.follow_phase(record);
        self.lane.final_phase.clone_from(&self.phase);
        if let Some(status) = record.text("status") {
            status.clone_into(&mut self.lane.status);
        }
    }

    fn finish(self) -> SessionLane {
        let mut lane = self.lane;
        lane.final_phase = lane.final_phase.or(self.phase);
        lane.begin_with_first_phase();
        self.found.put_into(&mut lane);
        lane
    }
}
