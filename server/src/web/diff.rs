//! Lines that changed, in the form of `diff -u`.

use maud::{Markup, html};

use super::numbers::bytes;
use super::untrusted_html::{Marks, beginning};

/// The size limit of one difference on a page in bytes.
const MOST: usize = 64 * 1024;

/// A difference, each line by what happened to it.
pub(super) fn lines(diff: &str, marks: Marks<'_>) -> Markup {
    let (shown, left_out) = beginning(diff, MOST);
    html! {
        pre.diff tabindex="0" {
            @for line in shown.lines() { span class=(class(line)) { (marks.text(line)) "\n" } }
        }
        @if left_out > 0 { p.quiet { (bytes(left_out as u64)) " more; all of it is in the evidence." } }
    }
}

fn class(line: &str) -> &'static str {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        [b'@', b'@', ..] => "place",
        _ => "same",
    }
}
