//! Labels as programs see them.

use serde::Serialize;
use store::{StoredLabel, experiment_name};
use utoipa::ToSchema;

/// A person's label for an output.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct LabelBody {
    /// The id.
    #[schema(example = "lb_0f3b2c")]
    id: String,
    /// The experiment as label files name it: its id, with `#RUN` for a later run.
    experiment: String,
    /// The experiment.
    experiment_id: String,
    /// The number of the run that acted.
    run: u32,
    /// The scenario.
    scenario: String,
    /// The invariant.
    invariant: String,
    /// `pass`, `fail`, or a score from 0 to 1.
    label: String,
    /// The name of the person.
    by: String,
    /// The reason.
    note: String,
    /// The time when the person said so.
    #[schema(format = DateTime)]
    created_at: String,
}

impl From<StoredLabel> for LabelBody {
    fn from(label: StoredLabel) -> Self {
        let StoredLabel { new, created_at, .. } = label;
        Self {
            id: new.id,
            experiment: experiment_name(new.run),
            experiment_id: new.run.experiment.to_string(),
            run: new.run.number,
            scenario: new.scenario,
            invariant: new.invariant,
            label: new.label,
            by: new.person,
            note: new.note,
            created_at: created_at.to_string(),
        }
    }
}
