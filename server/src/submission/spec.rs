//! Reading a spec that somebody submits, or saying everything that is wrong with it.

use scenario::spec::code::Code;
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::render::{self, Style};
use scenario::spec::{Bundle, Loaded, Spec, load};
use scenario::untrusted;

use crate::error::{ApiError, Finding};

/// The most findings that are shown with an excerpt.
const SHOWN: usize = 10;
/// The length limit of the text about all findings in characters.
const MOST_TEXT: usize = 16_000;
/// The size limit of a spec's text in bytes; the reader has the same limit.
const MOST_BYTES: usize = 1 << 20;

/// A spec that was read and found right.
#[derive(Debug)]
pub(crate) struct ReadSpec {
    /// The spec.
    pub(crate) spec: Spec,
    /// Warnings about it.
    pub(crate) warnings: Vec<String>,
}

/// Reads a spec; `bundle` are the files beside it.
pub(crate) fn read_spec(text: &str, bundle: Option<&Bundle>) -> Result<ReadSpec, ApiError> {
    if text.len() > MOST_BYTES {
        return Err(ApiError::too_large(format!("the text of the spec has more than {MOST_BYTES} bytes")));
    }
    let Loaded { spec, mut diagnostics, left_out, .. } = load(text, bundle);
    if bundle.is_none() {
        reword(&mut diagnostics);
    }
    let Some(spec) = spec else { return Err(refused(text, &diagnostics, left_out)) };
    Ok(ReadSpec { spec, warnings: diagnostics.iter().map(line).collect() })
}

/// Says what to do about missing files to who sent a spec alone. There is no folder here that could be named.
fn reword(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.code == Code::MissingFile) {
        diagnostic.help = Some("upload a tar archive with the spec as `spec.yaml` and its files beside it".to_owned());
    }
}

fn refused(text: &str, diagnostics: &[Diagnostic], left_out: usize) -> ApiError {
    let errors: Vec<_> = diagnostics.iter().filter(|finding| finding.severity() == Severity::Error).collect();
    let mut shown: Vec<String> = vec!["the spec is not valid:".to_owned()];
    shown.extend(errors.iter().take(SHOWN).map(|finding| render::text(finding, "spec.yaml", text, Style::Plain)));
    match errors.len().saturating_sub(SHOWN) + left_out {
        0 => {}
        more => shown.push(format!("and {more} more")),
    }
    let message = untrusted::cut(&shown.join("\n\n"), MOST_TEXT);
    ApiError::invalid_spec(message, diagnostics.iter().map(finding).collect())
}

/// A finding in one line.
fn line(finding: &Diagnostic) -> String {
    let Diagnostic { message, help, path, span, .. } = finding;
    let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("line {}, `{path}`: {message}{help}", span.line)
}

/// A finding as clients see it.
pub(crate) fn finding(diagnostic: &Diagnostic) -> Finding {
    Finding {
        code: diagnostic.code.name().to_owned(),
        severity: diagnostic.severity().to_string(),
        message: diagnostic.message.clone(),
        path: diagnostic.path.to_string(),
        line: diagnostic.span.line,
        column: diagnostic.span.column,
        help: diagnostic.help.clone(),
    }
}
