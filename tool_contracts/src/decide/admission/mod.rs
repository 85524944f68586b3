//! L0, admission: the session, the arguments, and whether the tool may be used at all.

pub(crate) mod arguments;
pub(crate) mod contract;
pub(crate) mod limits;
pub(crate) mod manual_filter;
pub(crate) mod policy;
pub(crate) mod repetition;
pub(crate) mod risk_gate;
pub(crate) mod status;
