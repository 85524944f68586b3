//! The form that says which two experiments are compared. What was entered stays, also when there is no such
//! experiment.

use maud::{Markup, html};
use store::{BaselineLine, ExperimentId, HistoryFilter, Page, Past, StoreError};

use super::CompareQuery;
use crate::app::App;
use crate::error::ApiError;
use crate::web::badges::Mark;
use crate::web::error_page::escaped;
use crate::web::session::Visitor;
use crate::web::untrusted_html;

/// The most experiments that are offered.
const OFFERED: u64 = 30;
/// The number of lines of baselines that are offered.
const BASELINES: usize = 30;

/// The form, as it was filled in.
pub(super) struct Form {
    /// The form's content.
    pub(super) query: CompareQuery,
    /// The problem of the first field.
    pub(super) before: Option<Problem>,
    /// The problem of the second field.
    pub(super) now: Option<Problem>,
    newest: Vec<Past>,
    /// Baselines whose experiments are still there.
    baselines: Vec<BaselineLine>,
}

/// The problem of a field.
pub(super) struct Problem(String);

impl Problem {
    /// Converts an error to a problem of a field. Errors that the visitor did not cause are passed on.
    pub(super) fn of(error: ApiError) -> Result<Self, ApiError> {
        if error.status().is_client_error() { Ok(Self(error.message().to_owned())) } else { Err(error) }
    }
}

impl Form {
    /// The form, with the newest experiments that the visitor sees to choose from.
    pub(super) async fn new(app: &App, visitor: &Visitor, query: CompareQuery) -> Result<Self, ApiError> {
        let filter = HistoryFilter { owner: visitor.caller.sees(), ..HistoryFilter::default() };
        let newest = app.store.history(filter, Page { after: None, most: OFFERED }).await?.items;
        let baselines = baselines(app, visitor).await?;
        Ok(Self { query, before: None, now: None, newest, baselines })
    }

    /// The form.
    pub(super) fn show(&self) -> Markup {
        let CompareQuery { a, b } = &self.query;
        html! {
            form.filters.two method="get" action="/compare" {
                (field("a", "Before", a, self.before.as_ref()))
                (field("b", "Now", b, self.now.as_ref()))
                div.actions {
                    button.primary type="submit" { "Compare" }
                    a.button href={ "/compare?a=" (escaped(b)) "&b=" (escaped(a)) } { "Swap" }
                }
            }
            datalist #newest {
                @for line in &self.baselines {
                    option value=(line.experiment) { "baseline " (line.name) ", " (scenario::untrusted::line(&line.spec_id, 40)) }
                }
                @for past in self.newest.iter().filter(|past| past.run.is_some()) {
                    option value=(past.experiment.id) { (words(past)) }
                }
            }
        }
    }
}

/// The baselines that the visitor sees and whose experiments are still there: others outlived them.
async fn baselines(app: &App, visitor: &Visitor) -> Result<Vec<BaselineLine>, ApiError> {
    let mut there = Vec::new();
    for line in app.store.baselines(visitor.caller.sees(), None).await?.into_iter().take(BASELINES) {
        let Ok(id) = line.experiment.parse::<ExperimentId>() else { continue };
        match app.store.experiment(id).await {
            Ok(_) => there.push(line),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(there)
}

fn field(name: &str, words: &str, value: &str, problem: Option<&Problem>) -> Markup {
    let described = problem.map(|_| format!("{name}-problem"));
    html! {
        div {
            label for=(name) { (words) }
            input id=(name) type="text" name=(name) value=(scenario::untrusted::line(value, 100)) required spellcheck="false" autocomplete="off"
                list="newest" placeholder="id, its beginning, or latest"
                aria-invalid=[problem.map(|_| "true")] aria-describedby=[described.as_deref()];
            @if let Some(Problem(message)) = problem {
                p.problem id=[described.as_deref()] role="alert" { (untrusted_html::short_prose(message, 300)) }
            }
        }
    }
}

/// The words of an experiment in the list: its time, its name and its status.
fn words(past: &Past) -> String {
    let stands = past.run.as_ref().map_or("not run", |run| Mark::of_run(run.state, run.verdict).word());
    let when = past.experiment.created_at.to_string();
    let when = when.get(..16).unwrap_or(&when).replace('T', " ");
    format!("{when}, {}, {stands}", scenario::untrusted::line(past.experiment.title(), 40))
}
