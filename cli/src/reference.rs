//! References to experiments and scenarios: `EXPERIMENT`, `EXPERIMENT#RUN`, `EXPERIMENT/SCENARIO`.

use std::str::FromStr;

use store::{Experiment, Run, Store, StoreError, StoredScenario};

use crate::output::CommandError;

/// Maximum number of scenarios of a run that a message lists.
const MOST_LISTED: usize = 20;

/// A user's reference to an experiment, one of its runs, or a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    experiment: String,
    run: Option<u32>,
    /// The scenario's id.
    pub(crate) scenario: Option<String>,
}

/// The reason why a text names no experiment or scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReferenceError {
    /// The text after `#` is no number of a run.
    #[error("`{0}` is no number of a run: they count from 1")]
    Run(String),
    /// A name is empty.
    #[error("write EXPERIMENT, EXPERIMENT#RUN or EXPERIMENT/SCENARIO")]
    Empty,
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let (experiment, scenario) = match text.split_once('/') {
            Some((experiment, scenario)) => (experiment, Some(scenario.to_owned())),
            None => (text, None),
        };
        let (experiment, run) = match experiment.split_once('#') {
            Some((experiment, run)) => {
                let number = run.parse().ok().filter(|number| *number > 0);
                (experiment, Some(number.ok_or_else(|| ReferenceError::Run(run.to_owned()))?))
            }
            None => (experiment, None),
        };
        if experiment.is_empty() || scenario.as_deref() == Some("") {
            return Err(ReferenceError::Empty);
        }
        Ok(Self { experiment: experiment.to_owned(), run, scenario })
    }
}

impl Reference {
    /// The experiment's name: an id, a part of one, `latest`, or `latest~1` for the one before it.
    pub(crate) fn experiment(&self) -> &str {
        &self.experiment
    }

    /// Returns the number of the run, if one is named.
    pub(crate) fn run(&self) -> Option<u32> {
        self.run
    }

    /// The experiment, and the run that is meant: the newest one unless another is named.
    pub(crate) async fn find(&self, store: &Store) -> Result<(Experiment, Run), CommandError> {
        let experiment = match store.find_experiment(&self.experiment).await {
            Err(StoreError::NotFound(problem)) => return Err(self.missing(store, problem).await?),
            found => found?,
        };
        let mut runs = store.runs(experiment.id).await?.into_iter();
        let run = match self.run {
            Some(number) => runs.find(|run| run.id.number == number),
            None => runs.next(),
        };
        let id = experiment.id;
        let run = run.ok_or_else(|| CommandError::Usage(format!("the experiment `{id}` has no such run")))?;
        Ok((experiment, run))
    }

    /// Returns the error for an experiment that does not exist; the user may have named a spec.
    async fn missing(&self, store: &Store, problem: String) -> Result<CommandError, CommandError> {
        let name = &self.experiment;
        let Some(newest) = store.experiments(1, Some(name)).await?.pop() else {
            return Ok(CommandError::Usage(problem));
        };
        Ok(CommandError::Usage(format!(
            "`{name}` is a spec, and no experiment; `touchstone list --spec {name}` shows its experiments, of which {} is the newest",
            newest.id
        )))
    }

    /// The scenario that is named, among those of a run; the only one of a run need not be. The middle of an id may be left
    /// out where the rest says which: `large-r1` is `large-b28c63274a85-r1`.
    pub(crate) fn scenario<'a>(&self, scenarios: &'a [StoredScenario]) -> Result<&'a StoredScenario, CommandError> {
        let Some(wanted) = self.scenario.as_deref() else {
            return match scenarios {
                [only] => Ok(only),
                _ => Err(CommandError::Usage(format!("say which scenario, after a `/`: {}", listed(scenarios)))),
            };
        };
        if let Some(exact) = scenarios.iter().find(|stored| stored.scenario.id.as_str() == wanted) {
            return Ok(exact);
        }
        let mut meant = scenarios.iter().filter(|stored| means(wanted, stored.scenario.id.as_str()));
        match (meant.next(), meant.next()) {
            (Some(only), None) => Ok(only),
            _ => {
                let problem = format!("the run has no scenario `{wanted}`; it has {}", listed(scenarios));
                Err(CommandError::Usage(problem))
            }
        }
    }
}

/// Returns true if a word is the id with its middle left out.
fn means(word: &str, id: &str) -> bool {
    let split = |text: &str| text.rsplit_once("-r").map(|(cell, replica)| (cell.to_owned(), replica.to_owned()));
    match (split(word), split(id)) {
        (Some((cell, replica)), Some((full, number))) => replica == number && full.starts_with(&format!("{cell}-")),
        _ => false,
    }
}

fn listed(scenarios: &[StoredScenario]) -> String {
    let ids: Vec<_> = scenarios.iter().take(MOST_LISTED).map(|stored| stored.scenario.id.as_str()).collect();
    let more = if scenarios.len() > ids.len() { ", …" } else { "" };
    format!("{}{more}", ids.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{Reference, means};

    #[test]
    fn the_middle_of_an_id_may_be_left_out() {
        assert!(means("large-r1", "large-b28c63274a85-r1"));
        assert!(!means("large-r1", "large-b28c63274a85-r11") && !means("lar-r1", "large-b28c63274a85-r1"));
        assert!(!means("large", "large-b28c63274a85-r1"));
    }

    fn parsed(text: &str) -> Option<(String, Option<u32>, Option<String>)> {
        let reference: Reference = text.parse().ok()?;
        Some((reference.experiment, reference.run, reference.scenario))
    }

    #[test]
    fn experiments_runs_and_scenarios_can_be_named() {
        let is = |experiment: &str, run, scenario: Option<&str>| {
            Some((experiment.to_owned(), run, scenario.map(ToOwned::to_owned)))
        };
        assert_eq!(parsed("latest"), is("latest", None, None));
        assert_eq!(parsed("latest~2#1/x"), is("latest~2", Some(1), Some("x")));
        assert_eq!(parsed("abcd#2"), is("abcd", Some(2), None));
        assert_eq!(parsed("abcd/default-r0"), is("abcd", None, Some("default-r0")));
        assert_eq!(parsed("abcd#3/python-r1"), is("abcd", Some(3), Some("python-r1")));
        for wrong in ["", "/x", "abcd/", "abcd#0", "abcd#x", "#1"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
