//! L3: the rules of the session.

pub(crate) mod aggregates;
pub(crate) mod envelopes;
pub(crate) mod label_gates;
pub(crate) mod rules;
