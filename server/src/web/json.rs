//! Bodies as people read them: JSON with its structure, anything else as it is, and not more of it than can be read.

use maud::{Markup, html};
use scenario::evidence::{Blob, Body};
use serde_json::Value;

use super::numbers::bytes;
use super::untrusted_html::{Marks, beginning};

/// The size limit of one body on a page in bytes.
const MOST: usize = 16 * 1024;
/// Larger bodies are not taken apart to be written with their structure.
const MOST_READ: usize = 256 * 1024;

/// The body of a request or an answer.
pub(super) fn body(body: &Body, marks: Marks<'_>) -> Markup {
    match body {
        Body::Kept(blob) => self::blob(blob, marks),
        Body::Cut { kept, size, .. } => html! {
            (blob(kept, marks))
            p.quiet { "Of " (bytes(*size)) ", only the beginning was kept." }
        },
        Body::Dropped { size } => html! { p.quiet { (bytes(*size)) ", not kept: there were too many." } },
    }
}

fn blob(blob: &Blob, marks: Marks<'_>) -> Markup {
    if blob.0.is_empty() {
        return html! { p.quiet { "Empty." } };
    }
    document(&String::from_utf8_lossy(&blob.0), marks)
}

/// A text that may be JSON.
pub(super) fn document(text: &str, marks: Marks<'_>) -> Markup {
    let read: Option<Value> = if text.len() <= MOST_READ { serde_json::from_str(text).ok() } else { None };
    let written = read.filter(|value| value.is_object() || value.is_array());
    let written = written.and_then(|value| serde_json::to_string_pretty(&value).ok());
    block(written.as_deref().unwrap_or(text), marks)
}

/// A value.
pub(super) fn value(value: &Value, marks: Marks<'_>) -> Markup {
    block(&serde_json::to_string_pretty(value).unwrap_or_default(), marks)
}

/// A text of several lines.
pub(super) fn block(text: &str, marks: Marks<'_>) -> Markup {
    let (shown, left_out) = beginning(text, MOST);
    html! {
        pre tabindex="0" { code { (marks.text(shown)) } }
        @if left_out > 0 {
            p.quiet { (bytes(left_out as u64)) " more; all of it is in the evidence." }
        }
    }
}
