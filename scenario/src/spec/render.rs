//! Findings for people, editors and CI.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_json::json;

use super::diagnostic::{Diagnostic, Severity};
use crate::untrusted;

/// The style of findings on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without colours.
    Plain,
    /// With colours.
    Coloured,
}

/// The finding with its place, an excerpt, and what to do about it.
#[must_use]
pub fn text(diagnostic: &Diagnostic, file: &str, source: &str, style: Style) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Advice => Level::INFO,
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let message = untrusted::line(&diagnostic.message, 400);
    let path = diagnostic.path.to_string();
    let place = if path.is_empty() {
        "in the spec as a whole".to_owned()
    } else {
        format!("at `{}`", untrusted::line(&path, 200))
    };
    let snippet = Snippet::source(source)
        .path(untrusted::line(file, 300))
        .annotation(AnnotationKind::Primary.span(bytes(source, diagnostic)));
    let mut group = level
        .primary_title(message.as_str())
        .id(diagnostic.code.name())
        .element(snippet)
        .element(Level::NOTE.message(place));
    let help = diagnostic.help.as_deref().map(|help| untrusted::line(help, 400));
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// The stretch of the finding in bytes, no longer than the line in which it begins.
fn bytes(source: &str, diagnostic: &Diagnostic) -> std::ops::Range<usize> {
    let offset = |index: usize| source.char_indices().nth(index).map_or(source.len(), |(at, _)| at);
    let start = offset(diagnostic.span.start);
    let line_end = source[start..].find('\n').map_or(source.len(), |length| start + length);
    let end = offset(diagnostic.span.end).clamp(start, line_end);
    let end = start + source[start..end].trim_end().len();
    // A place without a length is shown as the sign that stands there; at the beginning of a line it would be taken for the end
    // of the line before.
    let sign = source[start..line_end].chars().next().map_or(0, char::len_utf8);
    start..end.max(start + sign)
}

/// The finding as one JSON object.
#[must_use]
pub fn json(diagnostic: &Diagnostic, file: &str) -> serde_json::Value {
    json!({
        "file": file,
        "line": diagnostic.span.line,
        "column": diagnostic.span.column,
        "severity": diagnostic.severity(),
        "code": diagnostic.code,
        "path": diagnostic.path.to_string(),
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}

/// The finding as an annotation of GitHub Actions.
#[must_use]
pub fn github(diagnostic: &Diagnostic, file: &str) -> String {
    let mut message = format!("{} ({})", untrusted::line(&diagnostic.message, 400), diagnostic.path);
    if let Some(help) = &diagnostic.help {
        let _ = write!(message, ": {}", untrusted::line(help, 400));
    }
    // Only these words are commands there.
    let command = match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "notice",
    };
    format!(
        "::{command} file={},line={},col={},title={}::{}",
        property(&untrusted::line(file, 300)),
        diagnostic.span.line,
        diagnostic.span.column,
        property(diagnostic.code.name()),
        data(&message)
    )
}

/// Escapes the text of an annotation.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of an annotation.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
