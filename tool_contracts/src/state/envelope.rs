//! The state of an envelope: its references, and the last value of its chain.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::read::envelope::{Constraint, Envelope, Role};
use crate::value::{Num, slack};

/// The state of one envelope.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnvelopeState {
    /// The captured references, by stage.
    pub(crate) captured: BTreeMap<usize, Num>,
    /// The last constrained value that committed.
    pub(crate) last: Option<Num>,
}

impl EnvelopeState {
    /// True when every reference was captured.
    pub(crate) fn is_referenced(&self, envelope: &Envelope) -> bool {
        envelope.references().all(|(stage, _)| self.captured.contains_key(&stage))
    }

    /// Captures the references that a committed call sets.
    pub(crate) fn capture(&mut self, envelope: &Envelope, tool: &str, arguments: &Json, output: &Json) {
        for (place, stage) in envelope.references().filter(|(_, stage)| stage.tool.name == tool) {
            let value = stage.source.value(&stage.path, arguments, output).and_then(Num::of);
            let is_kept = stage.role == Role::Initial && self.captured.contains_key(&place);
            if let Some(value) = value.filter(|_| !is_kept) {
                self.captured.insert(place, value);
            }
        }
    }

    /// Moves the chain on.
    pub(crate) fn advance(&mut self, envelope: &Envelope, tool: &str, arguments: &Json) {
        self.last = last_value(envelope, tool, arguments).or(self.last);
    }

    /// True when a value keeps the constraint, and the reference that it is compared with. `last` is the end of the chain.
    pub(crate) fn judge(&self, envelope: &Envelope, value: Num, last: Option<Num>) -> (bool, Option<Num>) {
        let of_role = |role: Role| {
            let stages = envelope.references().filter(move |(_, stage)| stage.role == role);
            stages.filter_map(|(place, _)| self.captured.get(&place).copied())
        };
        let ceiling = of_role(Role::Ceiling).reduce(|left, right| if left.at_most(right) { left } else { right });
        let floor = of_role(Role::Floor).reduce(|left, right| if right.at_most(left) { left } else { right });
        let below = ceiling.is_none_or(|ceiling| value.at_most(ceiling));
        let above = floor.is_none_or(|floor| floor.at_most(value));
        let chain = last.or_else(|| of_role(Role::Initial).next());
        match envelope.constraint {
            Constraint::LteCeiling => (below, ceiling),
            Constraint::GteFloor => (above, floor),
            Constraint::Bounded => (below && above, if below { floor } else { ceiling }),
            Constraint::WithinBand => {
                let anchor = of_role(Role::Anchor).next();
                (anchor.is_none_or(|anchor| is_near(value, anchor, envelope.band)), anchor)
            }
            Constraint::MonotonicDecrease => (chain.is_none_or(|chain| value.at_most(chain)), chain),
            Constraint::MonotonicIncrease => (chain.is_none_or(|chain| chain.at_most(value)), chain),
        }
    }
}

/// The last constrained number among a call's arguments.
pub(crate) fn last_value(envelope: &Envelope, tool: &str, arguments: &Json) -> Option<Num> {
    let stages = envelope.constrained(tool);
    stages.flat_map(|stage| stage.path.nodes(arguments)).filter_map(Num::of).last()
}

/// True when a value is within a fraction of another.
pub(crate) fn is_near(value: Num, anchor: Num, fraction: f64) -> bool {
    let (value, anchor) = (value.as_f64(), anchor.as_f64());
    let bound = fraction * anchor.abs();
    (value - anchor).abs() <= bound + slack(bound)
}
