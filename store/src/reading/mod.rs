//! Reads stored rows as domain types: specs, numbers and reports.

mod numbers;
mod past_runs;
mod printed;
mod report;

pub use numbers::Numbers;
pub use past_runs::past_runs;
pub use printed::{Printed, with_output};
pub use report::{ReportParts, header, report, report_without_output, spec_of};

use scenario::spec::{BundleError, Spec, load};

use crate::specs::SpecContent;

/// A spec that is kept and that this version cannot read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSpec {
    /// The files beside it cannot be used.
    #[error(transparent)]
    Files(#[from] BundleError),
    /// It is not valid any more.
    #[error("the stored spec is not valid for this version: {0}")]
    Invalid(String),
}

/// Reads a spec that is kept.
pub fn read_spec(content: &SpecContent) -> Result<Spec, UnreadableSpec> {
    let bundle = content.bundle()?;
    let loaded = load(&content.text, bundle.as_ref());
    loaded.spec.ok_or_else(|| {
        let first = loaded.diagnostics.first().map_or_else(String::new, |finding| finding.message.clone());
        UnreadableSpec::Invalid(first)
    })
}
