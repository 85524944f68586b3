//! Changes by the agent: files with their differences, tables of databases, and the image.

use std::collections::HashMap;

use maud::{Markup, html};
use scenario::evidence::{DatabaseChanges, Evidence, FileDiff, TableChange};
use scenario::untrusted;

use super::Shown;
use crate::web::diff;
use crate::web::numbers::{count, count_noun};
use crate::web::untrusted_html::Marks;

/// The most files of a kind that are listed.
const FILES: usize = 200;
/// The number of added files that are shown without a toggle.
const FEW: usize = 20;
/// The most differences that are shown.
const DIFFS: usize = 50;
/// The most rows of a table that are shown.
const ROWS: usize = 50;

/// Renders the changes by the agent.
pub(super) fn section(shown: &Shown, evidence: &Evidence) -> Markup {
    let marks = shown.marks();
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "What it changed" }
            (files(shown, evidence))
            @for (service, changes) in &evidence.databases { (database(service, changes, marks)) }
            @if !evidence.image_changes.is_empty() {
                h3 { "Image, outside the workspace" }
                ul.plain { @for path in evidence.image_changes.iter().take(FILES) {
                    li { code { (marks.text(&untrusted::line(path, 300))) } }
                } }
                @if evidence.image_changes.len() > FILES { p.quiet { "There are more; " (all_of_it(shown)) "." } }
                @if evidence.more_image_changes > 0 {
                    p.quiet { (count_noun(evidence.more_image_changes, "more path")) " changed than are kept." }
                }
            }
            @if let Some(reason) = &evidence.image_unseen {
                p.bad { "Not all changes of the image are known: " (untrusted::line(reason, 400)) "." }
            }
        }
    }
}

/// The files that changed: what an agent removed or modified says more than what it added, and is mostly less.
fn files(shown: &Shown, evidence: &Evidence) -> Markup {
    let changes = &evidence.workspace;
    let kinds = [("removed", &changes.removed), ("modified", &changes.modified), ("added", &changes.added)];
    let counts = kinds.iter().filter(|(_, paths)| !paths.is_empty());
    let counts: Vec<_> = counts.map(|(what, paths)| format!("{} {what}", count(paths.len() as u64))).collect();
    let mut diffs = Diffs::of(evidence);
    html! {
        h3 { "Files" @if !counts.is_empty() { ": " (counts.join(", ")) @if changes.incomplete { ", and more" } } }
        @if counts.is_empty() { p.quiet { "No file of the workspace changed." } }
        @for (what, paths) in kinds {
            @let listed = html! { ul.files { @for path in paths.iter().take(FILES) { (file(shown, &mut diffs, what, path)) } } };
            @if what == "added" && paths.len() > FEW {
                details { summary { (count_noun(paths.len() as u64, "file")) " added" } (listed) }
            } @else { (listed) }
        }
        @if changes.incomplete || kinds.iter().any(|(_, paths)| paths.len() > FILES) {
            p.quiet { "There are more; " (all_of_it(shown)) "." }
        }
    }
}

fn file(shown: &Shown, diffs: &mut Diffs<'_>, what: &str, path: &str) -> Markup {
    let marks = shown.marks();
    html! {
        li { @match diffs.take(path) {
            Some(diff) => details {
                summary { (name(what, path, marks)) }
                (diff::lines(&diff.diff, marks))
                @if diff.incomplete { p.quiet { "More changed than was kept." } }
            },
            None => (name(what, path, marks)),
        } }
    }
}

/// Differences by their files, of which some are shown.
struct Diffs<'a> {
    by_path: HashMap<&'a str, &'a FileDiff>,
    /// The number of differences that can still be shown.
    left: usize,
}

impl<'a> Diffs<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let by_path = evidence.file_diffs.iter().map(|diff| (diff.path.as_str(), diff)).collect();
        Self { by_path, left: DIFFS }
    }

    fn take(&mut self, path: &str) -> Option<&'a FileDiff> {
        let found = if self.left > 0 { self.by_path.get(path).copied() } else { None };
        self.left -= usize::from(found.is_some());
        found
    }
}

/// Where everything is that was kept.
fn all_of_it(shown: &Shown) -> Markup {
    html! { "all that was kept is in " a download="evidence.json" href=(shown.evidence_link()) { "the evidence" } }
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
