//! Services of a sandbox: their addresses, their start, when they are ready, and what is left in them.

pub(crate) mod addresses;
mod forward;
mod readiness;
mod start;
mod survivors;

pub(crate) use addresses::Addresses;
pub(crate) use forward::Forwards;
pub(crate) use start::{HTTP, HTTPS, LiveService, LiveServices, StartAll, images, start_all};
pub(crate) use survivors::{Baseline, offences};
