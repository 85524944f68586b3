//! What is kept, read as the domain knows it: specs, numbers and reports.

mod numbers;
mod printed;
mod report;

pub use numbers::Numbers;
pub use printed::{Printed, with_output};
pub use report::{ReportParts, header, report, report_without_output, spec_of};

use scenario::spec::{Spec, load};

use crate::specs::SpecContent;

/// Reads a spec that was kept; otherwise why this version cannot.
pub fn read_spec(content: &SpecContent) -> Result<Spec, String> {
    let bundle = content.bundle()?;
    let loaded = load(&content.text, bundle.as_ref());
    loaded.spec.ok_or_else(|| {
        let first = loaded.diagnostics.first().map_or_else(String::new, |finding| finding.message.clone());
        format!("the stored spec is not valid for this version: {first}")
    })
}
