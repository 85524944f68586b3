//! The numbers of a run that have a name: one registry for the API, alerts, comparisons and pages.
//!
//! To add a metric: add a line to `registry.rs`. Alerts know it by its name, the API returns it, and [`Metric::compared`] puts it
//! into comparisons.

mod registry;

use serde::{Serialize, Serializer};

pub use registry::{MEAN_COMPOSITE, MEAN_WALL_MS, PASS_RATE, RESILIENCE_SCORE, TOTAL_COST_USD};

use crate::report::Report;
use crate::score::ExperimentScore;

/// A number of a run.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name in the API, in reports and in the conditions of alerts.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// The unit, which determines how the metric is shown.
    pub unit: Unit,
    /// The direction in which it gets better; `None` when neither is.
    pub better: Option<Better>,
    /// The share of a baseline by which it may change without having gone anywhere; `None` when it is not compared.
    noise: Option<f64>,
    source: Source,
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of something, from 0 to 1, shown in percent.
    Share,
    /// A score from 0 to 1.
    Score,
    /// A mean of counts, which has a fraction.
    Mean,
    /// Whole things.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// US dollars.
    Dollars,
}

/// The direction in which a metric gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// The source of a metric.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The numbers of a run, which are kept with it; `None` when they do not tell.
    Score(fn(&ExperimentScore) -> Option<f64>),
    /// A whole report.
    Report(fn(&Report) -> f64),
}

impl Metric {
    /// Every metric, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Self> {
        registry::ALL.into_iter()
    }

    /// The metrics that the numbers of a run tell without its scenarios.
    pub fn of_scores() -> impl Iterator<Item = Self> {
        Self::all().filter(|metric| matches!(metric.source, Source::Score(_)))
    }

    /// The metrics that are laid side by side when two runs are compared.
    pub fn compared() -> impl Iterator<Item = Self> {
        Self::of_scores().filter(|metric| metric.noise.is_some())
    }

    /// The value in a run of which only the numbers are at hand; `None` when they do not tell.
    #[must_use]
    pub fn in_score(&self, score: &ExperimentScore) -> Option<f64> {
        match self.source {
            Source::Score(read) => read(score),
            Source::Report(_) => None,
        }
    }

    /// The value in a run; `None` when there is none.
    #[must_use]
    pub fn in_report(&self, report: &Report) -> Option<f64> {
        match self.source {
            Source::Score(read) => read(&report.score),
            Source::Report(read) => Some(read(report)),
        }
    }

    /// Returns true if the metric is a part of one, so that a difference of `5%` means five points and not 5% of its
    /// value.
    #[must_use]
    pub fn is_part_of_one(&self) -> bool {
        matches!(self.unit, Unit::Share | Unit::Score)
    }

    /// The share of a baseline by which it may change without having gone anywhere.
    pub(crate) fn noise(&self) -> f64 {
        self.noise.unwrap_or_default()
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Serialize for Metric {
    /// A metric is written as its name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Metric, Unit};
    use crate::report::tests::report;

    #[test]
    fn names_and_labels_are_unique() {
        let count = Metric::all().count();
        assert_eq!(Metric::all().map(|metric| metric.name).collect::<HashSet<_>>().len(), count);
        assert_eq!(Metric::all().map(|metric| metric.label).collect::<HashSet<_>>().len(), count);
    }

    #[test]
    fn every_metric_has_its_value_in_a_report() {
        let report = report();
        let lines: Vec<_> = Metric::all()
            .map(|metric| (metric.name, metric.in_report(&report), metric.in_score(&report.score)))
            .map(|(name, of_report, of_score)| match of_report == of_score {
                true => format!("{name} {of_report:?}"),
                false => format!("{name} {of_report:?} with its scenarios"),
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn what_is_compared_has_a_better_direction_and_shares_are_from_0_to_1() {
        assert!(Metric::compared().all(|metric| metric.better.is_some()));
        let report = report();
        for metric in Metric::all().filter(|metric| matches!(metric.unit, Unit::Share | Unit::Score)) {
            // A run without mutations has no robustness.
            assert!(metric.in_report(&report).is_none_or(|value| (0.0..=1.0).contains(&value)), "{}", metric.name);
        }
    }
}
