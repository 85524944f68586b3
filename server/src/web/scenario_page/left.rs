//! What the agent changed: files with their differences, tables of databases, and the image.

use maud::{Markup, html};
use scenario::evidence::{DatabaseChanges, Evidence, TableChange};
use scenario::untrusted;

use crate::web::diff;
use crate::web::foreign::Marks;
use crate::web::numbers::{count, counted};

/// How many files are listed.
const FILES: usize = 200;
/// How many differences are shown.
const DIFFS: usize = 50;
/// How many rows of a table are shown.
const ROWS: usize = 50;

/// What the agent changed.
pub(super) fn section(evidence: &Evidence, marks: Marks<'_>) -> Markup {
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "What it changed" }
            (files(evidence, marks))
            @for (service, changes) in &evidence.databases { (database(service, changes, marks)) }
            @if !evidence.image_changes.is_empty() {
                h3 { "Image, outside the workspace" }
                ul.plain { @for path in evidence.image_changes.iter().take(FILES) {
                    li { code { (marks.text(&untrusted::line(path, 300))) } }
                } }
            }
        }
    }
}

fn files(evidence: &Evidence, marks: Marks<'_>) -> Markup {
    let changes = &evidence.workspace;
    let all = changes.added.iter().map(|path| ("added", path));
    let all = all.chain(changes.modified.iter().map(|path| ("modified", path)));
    let all: Vec<_> = all.chain(changes.removed.iter().map(|path| ("removed", path))).collect();
    html! {
        h3 { "Files" }
        @if all.is_empty() { p.quiet { "No file of the workspace changed." } }
        ul.files {
            @for (what, path) in all.iter().take(FILES) {
                @let diff = evidence.file_diffs.iter().take(DIFFS).find(|diff| diff.path == **path);
                li { @match diff {
                    Some(diff) => details {
                        summary { (name(what, path, marks)) }
                        (diff::lines(&diff.diff, marks))
                        @if diff.incomplete { p.quiet { "More changed than was kept." } }
                    },
                    None => (name(what, path, marks)),
                } }
            }
        }
        @if all.len() > FILES || changes.incomplete {
            p.quiet {
                (counted(all.len() as u64, "file")) @if changes.incomplete { " and more" }
                "; all that was kept is in the evidence."
            }
        }
    }
}

fn name(what: &str, path: &str, marks: Marks<'_>) -> Markup {
    html! { span class={ "change " (what) } { (what) } " " code { (marks.text(&untrusted::line(path, 300))) } }
}

fn database(service: &str, changes: &DatabaseChanges, marks: Marks<'_>) -> Markup {
    html! {
        h3 { "Database " code { (untrusted::line(service, 60)) } }
        @if let Some(problem) = &changes.problem { p.bad { (marks.prose(problem)) } }
        @if changes.tables.is_empty() { p.quiet { "No table changed." } }
        @for (name, table) in &changes.tables { (self::table(name, table, marks)) }
    }
}

fn table(name: &str, table: &TableChange, marks: Marks<'_>) -> Markup {
    let rows = |rows: Option<u64>| rows.map_or_else(|| "–".to_owned(), count);
    let lines = table.removed.iter().take(ROWS).map(|row| ("removed", "-", row));
    let lines = lines.chain(table.added.iter().take(ROWS).map(|row| ("added", "+", row)));
    html! {
        details {
            summary {
                code { (untrusted::line(name, 100)) } " "
                span.quiet { "rows " (rows(table.rows_before)) " → " (rows(table.rows_after)) }
            }
            pre.diff tabindex="0" { @for (class, sign, row) in lines {
                span class=(class) { (sign) " " (marks.text(&untrusted::line(row, 1000))) "\n" }
            } }
            @if table.incomplete { p.quiet { "More changed than was kept." } }
        }
    }
}
