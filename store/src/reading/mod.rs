//! What is kept, read as the domain knows it: specs, numbers and reports.

mod numbers;
mod printed;
mod report;

pub use numbers::Numbers;
pub use printed::{Printed, with_output};
pub use report::{ReportParts, header, report, report_without_output, spec_of};

use scenario::spec::{Bundle, BundleError, Spec, load};

use crate::specs::{SpecContent, SpecFile};

/// The names of the files of a spec, and the texts that are read with it.
pub fn bundle_of(files: &[SpecFile]) -> Result<Bundle, BundleError> {
    let size = |file: &SpecFile| file.content.len() as u64;
    let may_be_read = |file: &&SpecFile| Bundle::may_be_read(&file.path, size(file));
    let text = |file: &SpecFile| Some((file.path.clone(), String::from_utf8(file.content.clone()).ok()?));
    let bundle = Bundle::new(files.iter().map(|file| (file.path.clone(), size(file))))?;
    Ok(bundle.with_texts(files.iter().filter(may_be_read).filter_map(text)))
}

/// Reads a spec that was kept; otherwise why this version cannot.
pub fn read_spec(content: &SpecContent) -> Result<Spec, String> {
    let bundle = if content.files.is_empty() { None } else { Some(bundle_of(&content.files)?) };
    let loaded = load(&content.text, bundle.as_ref());
    loaded.spec.ok_or_else(|| {
        let first = loaded.diagnostics.first().map_or_else(String::new, |finding| finding.message.clone());
        format!("the stored spec is not valid for this version: {first}")
    })
}
