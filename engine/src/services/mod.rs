//! Services of a sandbox: their addresses, their start, when they are ready, and what is left in them.

mod addresses;
mod control;
mod forward;
mod leftover_processes;
mod readiness;
mod start;

pub(crate) use addresses::Addresses;
pub(crate) use forward::Forwards;
pub(crate) use leftover_processes::{Baseline, offences};
pub(crate) use start::{HTTP, HTTPS, LiveService, LiveServices, StartAll, images, start_all};
