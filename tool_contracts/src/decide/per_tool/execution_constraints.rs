//! R12: the arguments keep the constraints on executions.

use super::failures;
use crate::code::Code;
use crate::decide::{Context, Reason};

/// Refuses arguments that break a constraint: of an execution, and of a proposal in advance.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let constraints = context.tool.and_then(|tool| tool.execution_constraints.as_ref());
    let Some((constraints, _)) = constraints else { return };
    let (root, env) = (&context.call.arguments, &context.set.run.env);
    failures(Code::ExecutionConstraintFailed, "the executed argument", constraints, root, env, reasons);
}
