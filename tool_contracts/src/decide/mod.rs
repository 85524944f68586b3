//! Decides on one call: layer by layer, and within a layer every rule, so that all reasons are known at once.
//!
//! To add a rule: a file in the folder of its layer with a function from [`Context`] to reasons, a line in the layer's
//! list below, and a code. A rule that does not need the arguments also belongs into `narrow`.

pub(crate) mod admission;
pub(crate) mod cross_tool;
pub(crate) mod human;
pub(crate) mod per_tool;
pub(crate) mod session;

use crate::call::{Batch, Call};
use crate::code::Code;
use crate::compile::Compiled;
use crate::options::Fallback;
use crate::read::tool::Tool;
pub use crate::reason::Reason;
use crate::state::SessionState;
pub use human::checkpoint::HoldSpec;
use serde::Serialize;

/// The result of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The call may be released.
    Allow,
    /// The call is refused.
    Block,
    /// The call waits for an approval.
    Hold,
}

/// The layers, in their order. A failure in one ends the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Layer {
    /// Admission: status, arguments, contract, risk, policy, limits, loops.
    L0,
    /// Rules of the tool.
    L1,
    /// Values bound by other tools.
    L2,
    /// Rules of the session: labels, aggregates, envelopes, rules over the whole session, resources.
    L3,
    /// A person.
    L4,
}

/// A decision, with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The result.
    pub verdict: Verdict,
    /// The layer that refused or held the call.
    pub layer: Option<Layer>,
    /// Every reason of that layer, in the order of its rules.
    pub reasons: Vec<Reason>,
    /// The question to an approver, for a call that is held.
    pub hold: Option<HoldSpec>,
    /// Remarks that change nothing.
    pub notes: Vec<Code>,
}

/// The data that a rule may read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) set: &'a Compiled,
    pub(crate) state: &'a SessionState,
    pub(crate) batch: &'a Batch,
    pub(crate) call: &'a Call,
    /// The call's contract; `None` when it has none.
    pub(crate) tool: Option<&'a Tool>,
}

/// A rule: adds its reasons when the call breaks it.
type Rule = fn(&Context<'_>, &mut Vec<Reason>);

const ADMISSION: [Rule; 6] = [
    admission::contract::judge,
    admission::risk_gate::judge,
    admission::policy::judge,
    admission::manual_filter::judge,
    admission::limits::judge,
    admission::repetition::judge,
];
const PER_TOOL: [Rule; 6] = [
    per_tool::phase::judge,
    per_tool::forbids::judge,
    per_tool::preconditions::judge,
    per_tool::argument_invariants::judge,
    per_tool::execution_constraints::judge,
    per_tool::exchange::judge,
];
const CROSS_TOOL: [Rule; 1] = [cross_tool::reference::judge];
const SESSION: [Rule; 4] =
    [session::label_gates::judge, session::aggregates::judge, session::envelopes::judge, session::rules::judge];

/// Decides on a call, given the calls of its batch that were accepted before it.
#[must_use]
pub fn decide(set: &Compiled, state: &SessionState, batch: &Batch, call: &Call) -> Decision {
    let decision = decide_without_approval(set, state, batch, call);
    if decision.verdict != Verdict::Allow {
        return decision;
    }
    let context = Context { set, state, batch, call, tool: set.tools.get(&call.tool) };
    match human::checkpoint::triggered(&context) {
        Some((hold, reasons)) => {
            Decision { verdict: Verdict::Hold, layer: Some(Layer::L4), reasons, hold: Some(hold), ..decision }
        }
        None => decision,
    }
}

/// Decides on a call that needs no approval, or has one.
#[must_use]
pub fn decide_without_approval(set: &Compiled, state: &SessionState, batch: &Batch, call: &Call) -> Decision {
    let context = Context { set, state, batch, call, tool: set.tools.get(&call.tool) };
    let admitted = admission::status::judge(&context).or_else(|| admission::arguments::judge(&context));
    if let Some(reason) = admitted {
        return Decision::blocked(Layer::L0, vec![reason]);
    }
    let layers: [(Layer, &[Rule]); 4] =
        [(Layer::L0, &ADMISSION), (Layer::L1, &PER_TOOL), (Layer::L2, &CROSS_TOOL), (Layer::L3, &SESSION)];
    for (layer, rules) in layers {
        let mut reasons = Vec::new();
        rules.iter().for_each(|rule| rule(&context, &mut reasons));
        if !reasons.is_empty() {
            return Decision::blocked(layer, reasons);
        }
    }
    Decision { notes: notes(&context), ..Decision::allowed() }
}

/// The remarks about rules that could not be looked at, each once.
fn notes(context: &Context<'_>) -> Vec<Code> {
    let mut notes = per_tool::exchange::notes(context);
    notes.extend(session::rules::notes(context));
    notes.dedup();
    notes
}

impl Decision {
    /// A decision that lets the call pass.
    #[must_use]
    pub fn allowed() -> Self {
        Self { verdict: Verdict::Allow, layer: None, reasons: Vec::new(), hold: None, notes: Vec::new() }
    }

    /// A decision that refuses the call.
    #[must_use]
    pub fn blocked(layer: Layer, reasons: Vec<Reason>) -> Self {
        Self { verdict: Verdict::Block, layer: Some(layer), reasons, hold: None, notes: Vec::new() }
    }

    /// The decision when our own evaluation failed.
    #[must_use]
    pub fn failed(set: &Compiled, call: &Call) -> Self {
        if set.run.on_error == Fallback::Allow {
            return Self { notes: vec![Code::EngineError], ..Self::allowed() };
        }
        let sentence = format!("`{}` is blocked because its rules could not be evaluated", call.tool);
        Self::blocked(Layer::L0, vec![Reason::new(Code::EngineError, "engine", sentence)])
    }

    /// The codes of its reasons, in the order of the rules.
    #[must_use]
    pub fn codes(&self) -> Vec<Code> {
        self.reasons.iter().map(|reason| reason.code).collect()
    }

    /// The decision in one sentence: the rule, what was checked and what was found.
    #[must_use]
    pub fn explain(&self) -> String {
        let reasons: Vec<_> = self.reasons.iter().map(Reason::explain).collect();
        match self.verdict {
            Verdict::Allow => "allowed: every rule holds".to_owned(),
            Verdict::Block => format!("blocked: {}", reasons.join("; ")),
            Verdict::Hold => format!("held: {}", reasons.join("; ")),
        }
    }
}
