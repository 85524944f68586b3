//! Results of runs, as clients read them.
//!
//! Results are asked for again and again while a run goes on. So a body, and the numbers of a page, are made once for
//! each scenario that ends, and shared by all who ask; what agents printed is read once. How much is remembered is
//! bounded.

mod etag;
mod memo;
mod outputs;
mod report;
mod result_bodies;
mod result_format;
mod run_summaries;
mod status;

pub(crate) use etag::Tag;
pub(crate) use memo::{Made, oldest};
pub(crate) use outputs::{Outputs, why_lost};
pub(crate) use report::{is_tolerated, report_of, unrun};
pub(crate) use result_bodies::{Shows, never_run};
pub(crate) use result_format::{Form, ResultFormat};
pub(crate) use run_summaries::{Standing, Standings};
pub(crate) use status::{ExperimentStatus, ScenarioStatus};
