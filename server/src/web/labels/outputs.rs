//! The outputs of a run: labelled ones, and the next one to label.

use std::collections::HashSet;

use maud::{Markup, html};
use scenario::judge_calibration::{Calibration, HumanLabel, JudgedOutput, Label, calibrate};
use store::{Experiment, JudgedOutputs, LabelFilter, Page, Run, StoredLabel, StoredScenario, experiment_name};

use super::{item, table};
use crate::app::App;
use crate::error::ApiError;
use crate::web::numbers::count_noun;
use crate::web::session::Visitor;

/// The most labels of a run that are compared with its judges.
const MOST_LABELS: u64 = 2000;

/// The content of the page.
pub(super) struct Shown {
    /// The number of the run.
    run: u32,
    /// The name of who labels.
    by: String,
    /// The number of outputs that judges rate, as far as they can be counted without reading them.
    outputs: usize,
    /// The number of those that this person labelled.
    labelled: usize,
    /// The output to label next.
    next: Option<JudgedOutput>,
    /// The output that was labelled last, with this person's label.
    last: Option<(JudgedOutput, Label)>,
    /// Judges beside all labels, of outputs that this person labelled.
    calibration: Calibration,
}

/// An output by its names.
type Place = (String, String);

impl Shown {
    pub(super) async fn read(app: &App, run: &Run, by: String, last: Place) -> Result<Self, ApiError> {
        let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
        let reading = app.store.judged_outputs(run).await?;
        let scenarios = app.store.scenarios(run.id).await?;
        let labels = labels(app, &reading).await?;
        let own: HashSet<Place> = labels
            .iter()
            .filter(|label| label.by == by)
            .map(|label| (label.scenario.clone(), label.invariant.clone()))
            .collect();
        let (mut next, mut seen, mut outputs) = (None, Vec::new(), 0);
        for stored in &scenarios {
            let judges = reading.judges_of(stored);
            outputs += judges.len();
            let place = |invariant: &String| (stored.scenario.id.to_string(), invariant.clone());
            let is_seen = judges.iter().any(|invariant| own.contains(&place(invariant)));
            let is_wanted = next.is_none() && judges.iter().any(|invariant| !own.contains(&place(invariant)));
            if is_seen || is_wanted {
                for output in of_scenario(app, &reading, stored).await? {
                    if own.contains(&(output.scenario.clone(), output.invariant.clone())) {
                        seen.push(output);
                    } else if next.is_none() {
                        next = Some(output);
                    }
                }
            }
        }
        // What others say about outputs that this person has not seen would not be blind.
        let calibration = calibrate(&seen, &labels);
        let is_last = |output: &&JudgedOutput| (&output.scenario, &output.invariant) == (&last.0, &last.1);
        let last = seen.iter().find(is_last).and_then(|output| {
            let is_own = |label: &&Label| {
                label.by == by && label.scenario == output.scenario && label.invariant == output.invariant
            };
            Some((output.clone(), labels.iter().find(is_own)?.clone()))
        });
        Ok(Self { run: run.id.number, by, outputs, labelled: own.len(), next, last, calibration })
    }

    pub(super) fn content(&self, visitor: &Visitor, experiment: &Experiment) -> Markup {
        let place = format!("/experiments/{}", experiment.id);
        html! {
            (self.progress())
            @if let Some((output, label)) = &self.last { (item::revealed(output, label)) }
            @match &self.next {
                Some(output) => (item::to_label(visitor, output, &place, self.run, &self.by)),
                None if self.outputs == 0 => div.empty { p { "No judge rates an output of this run." } },
                None => div.empty { p { "Nothing is left to label for " strong { (crate::web::untrusted_html::line(&self.by, 60)) } "." } },
            }
            (table::agreement(&self.calibration, &place, self.run))
        }
    }

    fn progress(&self) -> Markup {
        let share = self.labelled as f64 / self.outputs.max(1) as f64;
        html! {
            p.progress role="status" {
                progress max="1" value=(format!("{share:.3}")) aria-label="Labelled outputs" {}
                span {
                    (self.labelled) " of " (count_noun(self.outputs as u64, "output")) " labelled by "
                    (crate::web::untrusted_html::line(&self.by, 60))
                }
            }
        }
    }
}

/// The outputs of a scenario. Evidence that cannot be read leaves none.
async fn of_scenario(
    app: &App,
    reading: &JudgedOutputs,
    stored: &StoredScenario,
) -> Result<Vec<JudgedOutput>, ApiError> {
    match reading.of(&app.store, stored).await {
        Err(error) if error.is_about_evidence() => Ok(Vec::new()),
        read => Ok(read?),
    }
}

/// The newest labels of a run.
async fn labels(app: &App, reading: &JudgedOutputs) -> Result<Vec<Label>, ApiError> {
    let acted = reading.acted;
    let filter = LabelFilter { owner: None, experiment: Some(acted.experiment), run: Some(acted.number) };
    let listed = app.store.labels(filter, Page { after: None, most: MOST_LABELS }).await?;
    Ok(listed.items.into_iter().filter_map(read).collect())
}

fn read(stored: StoredLabel) -> Option<Label> {
    let label = HumanLabel::read(&stored.new.label)?;
    let StoredLabel { new, .. } = stored;
    Some(Label {
        experiment: Some(experiment_name(new.run)),
        scenario: new.scenario,
        invariant: new.invariant,
        label,
        by: new.person,
        note: new.note,
    })
}
