//! Filters of the history.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;
use store::{HistoryFilter, PastStatus};

use super::escaped;
use super::known::Known;
use crate::error::ApiError;

/// The words for where experiments stand.
const STATUSES: [(&str, &str, PastStatus); 6] = [
    ("running", "running", PastStatus::Running),
    ("passed", "passed", PastStatus::Passed),
    ("failed", "failed", PastStatus::Failed),
    ("error", "error", PastStatus::Errored),
    ("cancelled", "cancelled", PastStatus::Cancelled),
    ("created", "not run yet", PastStatus::Created),
];

/// The fields of the form. What is empty is not asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct HistoryQuery {
    text: String,
    spec: String,
    tag: String,
    status: String,
    since: String,
    until: String,
    after: String,
}

/// The same, read.
#[derive(Debug)]
pub(super) struct ReadQuery<'a> {
    query: &'a HistoryQuery,
    status: Option<PastStatus>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl HistoryQuery {
    /// Reads it, or says what is wrong.
    pub(super) fn read(&self) -> Result<ReadQuery<'_>, ApiError> {
        let status = match self.status.as_str() {
            "" => None,
            word => Some(
                STATUSES
                    .iter()
                    .find_map(|(known, _, status)| (*known == word).then_some(*status))
                    .ok_or_else(|| ApiError::invalid("`status` is none of those in the form"))?,
            ),
        };
        // A day is wanted as a whole.
        let until = day(&self.until)?.and_then(|day| day.checked_add(SignedDuration::from_hours(24)).ok());
        Ok(ReadQuery { query: self, status, since: day(&self.since)?, until })
    }

    /// True when a filter is set.
    pub(super) fn is_filtered(&self) -> bool {
        self.fields().iter().any(|(_, value)| !value.is_empty())
    }

    fn fields(&self) -> [(&'static str, &str); 6] {
        [
            ("text", &self.text),
            ("spec", &self.spec),
            ("tag", &self.tag),
            ("status", &self.status),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    /// Where another part of the same list is.
    pub(super) fn link(&self, after: Option<&str>) -> String {
        let fields = self.fields();
        let wanted = fields.iter().copied().chain(after.map(|after| ("after", after)));
        let pairs: Vec<_> = wanted
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        format!("/experiments?{}", pairs.join("&"))
    }

    /// The form, as it was filled in.
    pub(super) fn form(&self, known: &Known) -> Markup {
        html! {
            form.filters method="get" action="/experiments" role="search" aria-label="Experiments" {
                div {
                    label for="text" { "Text" }
                    input #text type="search" name="text" value=(self.text) placeholder="name, spec or id";
                }
                div { label for="spec" { "Spec" } input #spec type="text" name="spec" value=(self.spec) list="known-specs" autocomplete="off" spellcheck="false"; }
                div { label for="tag" { "Tag" } input #tag type="text" name="tag" value=(self.tag) list="known-tags" autocomplete="off" spellcheck="false"; }
                div {
                    label for="status" { "Status" }
                    select #status name="status" {
                        option value="" { "any" }
                        @for (word, shown, _) in STATUSES {
                            option value=(word) selected[self.status == word] { (shown) }
                        }
                    }
                }
                div { label for="since" { "From" } input #since type="date" name="since" value=(self.since); }
                div { label for="until" { "To" } input #until type="date" name="until" value=(self.until); }
                div.actions {
                    button.primary type="submit" { "Filter" }
                    @if self.is_filtered() { a.button href="/experiments" { "Clear" } }
                }
                (known.lists())
            }
        }
    }
}

impl ReadQuery<'_> {
    /// Converts it to a filter of the store, for all owners.
    pub(super) fn filter(&self) -> HistoryFilter<'_> {
        let HistoryQuery { text, spec, tag, .. } = self.query;
        HistoryFilter {
            owner: None,
            spec_id: said(spec),
            tag: said(tag),
            status: self.status,
            text: said(text),
            since: self.since,
            until: self.until,
        }
    }

    /// After which experiment the part begins.
    pub(super) fn after(&self) -> Option<&str> {
        Some(self.query.after.as_str()).filter(|after| !after.is_empty())
    }
}

/// Returns a field's text, unless it is empty.
fn said(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// The beginning of a day.
fn day(text: &str) -> Result<Option<Timestamp>, ApiError> {
    match text.trim() {
        "" => Ok(None),
        day => format!("{day}T00:00:00Z")
            .parse()
            .map(Some)
            .map_err(|_| ApiError::invalid("a date is written as `2026-01-31`; the days are those of UTC")),
    }
}
