//! One of two experiments: which one is meant, and what came of it.

use maud::{Markup, html};
use scenario::report::Report;
use scenario::score::ExperimentScore;
use store::{Experiment, ExperimentId, HistoryFilter, Page, Past, Run};

use crate::api::experiments::{find, find_run};
use crate::app::App;
use crate::error::ApiError;
use crate::results::report_of;
use crate::web::badges::{Mark, run_badge};
use crate::web::session::Visitor;
use crate::web::untrusted_html;

/// The most experiments that are read to find one by the beginning of its id.
const LOOKED_AT: u64 = 50;

/// One of two experiments, which has ended.
pub(super) struct Side {
    /// The experiment.
    pub(super) experiment: Experiment,
    /// Its newest run.
    pub(super) run: Run,
    /// The numbers of that.
    pub(super) score: ExperimentScore,
}

impl Side {
    /// The one that a word means, if it has ended.
    pub(super) async fn find(app: &App, visitor: &Visitor, name: &str) -> Result<Self, ApiError> {
        let experiment = meant(app, visitor, name).await?;
        let run = find_run(app, &experiment, None).await?;
        let unended = || ApiError::conflict(format!("the experiment `{}` has not ended", experiment.id));
        let run = run.ok_or_else(unended)?;
        let score = run.score.clone().ok_or_else(unended)?;
        Ok(Self { experiment, run, score })
    }

    /// Reads its report, without the output of agents.
    pub(super) async fn report(&self, app: &App) -> Result<Report, ApiError> {
        let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
        report_of(app, &self.experiment, &self.run, None).await
    }

    /// Where its page is.
    pub(super) fn place(&self) -> String {
        format!("/experiments/{}?run={}", self.experiment.id, self.run.id.number)
    }

    /// Where the page of one of its scenarios is.
    pub(super) fn scenario(&self, id: &str) -> String {
        format!("/experiments/{}/scenarios/{id}?run={}", self.experiment.id, self.run.id.number)
    }

    /// Returns the mark of one of its scenarios; `None` for other scenarios.
    pub(super) fn stands(&self, id: &scenario::plan::ScenarioId) -> Option<Mark> {
        self.score.statuses.get(id).map(|status| Mark::of_status(*status))
    }

    /// Which one it is, as the head of a column.
    pub(super) fn named(&self) -> Markup {
        let when = self.experiment.created_at.to_string();
        html! {
            a href=(self.place()) { (untrusted_html::line(self.experiment.title(), 40)) } br;
            span.quiet { (when.get(..16).unwrap_or(&when).replace('T', " ")) } br;
            (run_badge(self.run.state, self.run.verdict))
        }
    }
}

/// The experiment that is meant, of those that the visitor sees: by its id, by the beginning of its id, or by `latest`.
async fn meant(app: &App, visitor: &Visitor, name: &str) -> Result<Experiment, ApiError> {
    if name.parse::<ExperimentId>().is_ok() {
        return find(app, &visitor.caller, name).await;
    }
    let text = Some(name).filter(|name| *name != "latest");
    let filter = HistoryFilter { owner: visitor.caller.sees(), text, ..HistoryFilter::default() };
    let listed = app.store.history(filter, Page { after: None, most: LOOKED_AT }).await?;
    let begins = |past: &Past| text.is_none_or(|text| past.experiment.id.to_string().starts_with(&text.to_lowercase()));
    let mut found = listed.items.into_iter().filter(begins).map(|past| past.experiment);
    let shown = scenario::untrusted::line(name, 100);
    let missing = || ApiError::not_found(format!("there is no experiment whose id begins with `{shown}`"));
    let first = found.next().ok_or_else(missing)?;
    if text.is_some() && found.next().is_some() {
        return Err(ApiError::conflict(format!(
            "several experiments have an id that begins with `{shown}`; give more of it"
        )));
    }
    Ok(first)
}
