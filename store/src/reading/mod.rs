//! Reads stored rows as domain types: specs, numbers and reports.

mod numbers;
mod printed;
mod report;

pub use numbers::Numbers;
pub use printed::{Printed, with_output};
pub(crate) use report::score_options;
pub use report::{ReportParts, header, report, report_without_output, spec_of};

use scenario::spec::{Spec, load};

use crate::specs::SpecContent;
use crate::unreadable_spec::UnreadableSpec;

/// Reads a spec that is kept.
pub fn read_spec(content: &SpecContent) -> Result<Spec, UnreadableSpec> {
    let bundle = content.bundle()?;
    let loaded = load(&content.text, bundle.as_ref());
    loaded.spec.ok_or_else(|| {
        let first = loaded.diagnostics.first().map_or_else(String::new, |finding| finding.message.clone());
        UnreadableSpec::Invalid(first)
    })
}
