//! Changes from one version of a spec to another: in its text, and in the files beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use scenario::untrusted;
use similar::TextDiff;
use store::SpecContent;

use crate::web::diff;
use crate::web::numbers::bytes;
use crate::web::untrusted_html::Marks;

/// The time limit of searching the shortest difference; then a longer one is used.
const PATIENCE: Duration = Duration::from_millis(100);
/// The most changed files that are shown.
const FILES: usize = 20;
/// Larger texts are not compared line by line.
const MOST: usize = 256 * 1024;

/// The files beside a spec, by path, without the spec itself.
type Files<'a> = BTreeMap<&'a str, &'a [u8]>;

/// Renders changes between two versions, each given with its number.
pub(super) fn section((before, earlier): (u32, &SpecContent), (now, later): (u32, &SpecContent)) -> Markup {
    let (old, new) = (beside(earlier), beside(later));
    let paths: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    let changed: Vec<_> = paths.into_iter().filter(|path| old.get(path) != new.get(path)).collect();
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "What changed from v" (before) " to v" (now) }
            @if earlier.text == later.text { p.quiet { "The text is the same." } } @else {
                (difference(earlier.text.as_bytes(), later.text.as_bytes()))
            }
            @if !changed.is_empty() {
                h3 { "Files beside it" }
                ul.files { @for path in changed.iter().take(FILES) { (file(path, old.get(path), new.get(path))) } }
                @if changed.len() > FILES { p.quiet { "and " (changed.len() - FILES) " more" } }
            }
        }
    }
}

/// A folder that was submitted has the spec in it, too; its text is compared by itself.
fn beside(content: &SpecContent) -> Files<'_> {
    let files = content.files.iter().filter(|file| file.content != content.text.as_bytes());
    files.map(|file| (file.path.as_str(), file.content.as_slice())).collect()
}

fn file(path: &str, old: Option<&&[u8]>, new: Option<&&[u8]>) -> Markup {
    let word = match (old, new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "modified",
    };
    html! {
        li {
            span class={ "change " (word) } { (word) } " " code { (untrusted::line(path, 200)) }
            @if let (Some(old), Some(new)) = (old, new) { (difference(old, new)) }
        }
    }
}

/// Two texts, line by line; what is no text, or too large for that, by its size.
fn difference(old: &[u8], new: &[u8]) -> Markup {
    let text =
        |content: &'_ [u8]| std::str::from_utf8(content).ok().filter(|text| text.len() <= MOST).map(str::to_owned);
    let (Some(before), Some(after)) = (text(old), text(new)) else {
        return html! { p.quiet { "from " (bytes(old.len() as u64)) " to " (bytes(new.len() as u64)) } };
    };
    let mut compared = TextDiff::configure();
    let compared = compared.timeout(PATIENCE).diff_lines(&before, &after);
    diff::lines(&compared.unified_diff().context_radius(3).to_string(), Marks::default())
}
