//! The versions of a spec, and the choice of two of them.

use jiff::Timestamp;
use maud::{Markup, html};
use store::StoredSpecVersion;

use crate::web::error_page::escaped;
use crate::web::numbers::ago;
use crate::web::tables::{Head, table};

/// The columns of versions.
const VERSIONED: [Head<'_>; 4] =
    [Head::Text("Version"), Head::Number("Kept"), Head::Text("Changes"), Head::Text("SHA-256")];

/// The versions, newest first, each with the way to what changed in it.
pub(super) fn section(
    now: Timestamp,
    versions: &[StoredSpecVersion],
    shown: &StoredSpecVersion,
    against: Option<u32>,
) -> Markup {
    let befores = versions.iter().skip(1).map(Some).chain([None]);
    let rows = html! {
        @for (stored, before) in versions.iter().zip(befores) { tr {
            th scope="row" {
                a href=(place(stored)) aria-current=[(stored == shown).then_some("true")] { "v" (stored.version.version) }
            }
            td.number { (ago(stored.created_at, now)) }
            td { @match before {
                Some(before) => a href={ (place(stored)) "&against=" (before.version.version) "#changes" } {
                    "since v" (before.version.version)
                },
                None => "–",
            } }
            td.digest { (stored.version.digest) }
        } }
    };
    html! {
        section aria-labelledby="versions" {
            h2 #versions { "Versions" }
            (table("Versions", "", &VERSIONED, &rows))
            @if versions.len() > 2 { (form(versions, shown, against)) }
        }
    }
}

fn place(stored: &StoredSpecVersion) -> String {
    let StoredSpecVersion { owner, version, .. } = stored;
    format!("/specs/{}?version={}&owner={}", escaped(&version.spec_id), version.version, escaped(owner))
}

/// Any two of them.
fn form(versions: &[StoredSpecVersion], shown: &StoredSpecVersion, against: Option<u32>) -> Markup {
    let against = against.or_else(|| Some(versions.last()?.version.version));
    let choice = |name: &str, words: &str, chosen: Option<u32>| {
        html! {
            div {
                label for=(name) { (words) }
                select id=(name) name=(name) {
                    @for stored in versions {
                        @let number = stored.version.version;
                        option value=(number) selected[Some(number) == chosen] { "v" (number) }
                    }
                }
            }
        }
    };
    html! {
        form.versions method="get" action={ "/specs/" (escaped(&shown.version.spec_id)) "#changes" } {
            input type="hidden" name="owner" value=(shown.owner);
            (choice("against", "What changed from", against))
            (choice("version", "to", Some(shown.version.version)))
            button type="submit" { "Show" }
        }
    }
}
