//! R2: the arguments are a JSON object.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::reason::{name, shown};

/// Refuses arguments that are anything but an object.
pub(crate) fn judge(context: &Context<'_>) -> Option<Reason> {
    let arguments = &context.call.arguments;
    if arguments.is_object() {
        return None;
    }
    let sentence = format!("the arguments of {} are not a JSON object: {}", name(&context.call.tool), shown(arguments));
    Some(Reason::new(Code::MalformedArguments, "arguments", sentence))
}
