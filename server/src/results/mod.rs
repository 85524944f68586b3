//! What came of runs, as clients read it.
//!
//! Results are asked for again and again while a run goes on. So a body, and the numbers of a page, are made once for each
//! scenario that ends, and shared by all who ask; what agents printed is read once. How much is remembered is bounded.

mod form;
mod outputs;
mod remembered;
mod report;
mod shown;
mod standings;
mod tag;

pub(crate) use form::{Form, Format};
pub(crate) use outputs::Outputs;
pub(crate) use remembered::{Made, oldest};
pub(crate) use report::{report_of, status, status_of, unrun};
pub(crate) use shown::{Shows, never_run};
pub(crate) use standings::{Standing, Standings};
pub(crate) use tag::Tag;
