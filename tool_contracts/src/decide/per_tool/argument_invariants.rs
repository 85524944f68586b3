//! R11: the arguments keep the tool's invariants, written by hand or derived from its schema.

use super::failures;
use crate::code::Code;
use crate::decide::{Context, Reason};

/// Refuses arguments that break an invariant; each entry gives a reason.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let Some(tool) = context.tool else { return };
    let given = context.set.derived.get(&tool.name);
    let pinned = || context.state.schemas.get(&tool.name).map(|pinned| &pinned.derived);
    let derived = given.or_else(pinned).into_iter().flatten();
    let invariants = tool.argument_invariants.iter().chain(derived);
    let (root, env) = (&context.call.arguments, &context.set.run.env);
    failures(Code::ArgumentInvariantFailed, "the argument", invariants, root, env, reasons);
}
