//! Certificates: what shows that a spec tells a right answer from none, and from a pretended one.
//!
//! Doing nothing must fail in every cell, the spec's solution must pass in every cell, and no cheat may pass. Runs are made by the
//! same worker as all others; everything here is a function from their results to a certificate.

mod agent_runs;
mod breakage;
#[expect(clippy::module_inception, reason = "the file has the type that the folder is about")]
mod certificate;
pub mod cheats;
mod reason;
mod strength;
#[cfg(test)]
mod tests;

pub use agent_runs::AgentRuns;
pub use breakage::{breakages, chosen};
pub use certificate::{Certificate, CertificateHeader, CertificateVerdict, CheatCount, RunCount};
pub use reason::{Reason, ReasonKind};
pub use strength::{Strength, Tried, UnnoticedChange};

pub use crate::plan::{Breakage, BrokenFile, BrokenRequest, BrokenRow, FileBreakage, RequestBreakage, RowBreakage};
