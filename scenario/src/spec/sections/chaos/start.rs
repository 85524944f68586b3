//! The beginning of a fault that is about no call: with the agent, at a time, or at a call of something else.

use crate::spec::section::section;
use crate::spec::types::{Timespan, ToolGlob};

section! {
    /// The beginning of a fault of the sandbox itself. Without any of this it begins with the agent. It ends with the agent, or
    /// before that where `for` or `between` says so.
    pub struct FaultStart {
        /// The calls that the trigger counts: those of `model`, of a service, of a route of one (`shop:POST /refunds`), or of what a
        /// glob matches. The fault begins before the call is answered.
        calls_of: Option<ToolGlob>,
        /// The time since the agent started at which the fault begins.
        at: Option<Timespan>,
    }
}
