//! Labels of people beside the scores of judges.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use super::best_threshold::{BestThreshold, best};
use super::labels::{HumanLabel, Label};
use super::outputs::{Judged, JudgedOutput};
use crate::statistics::{Agreement, Confusion, count};

/// The comparison of judges with people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Each invariant that has a label, in the order of the outputs.
    pub invariants: Vec<InvariantCalibration>,
    /// The labels that are about no output: of another experiment, or with a name that is misspelt.
    pub unmatched: Vec<Label>,
}

/// The agreement of one invariant's judge with people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvariantCalibration {
    /// The invariant.
    pub invariant: String,
    /// The score that is enough for the judge.
    pub threshold: f64,
    /// The number of outputs that the judge rates.
    pub outputs: usize,
    /// The number of outputs that people labelled.
    pub labelled: usize,
    /// Labelled outputs on which as many people say pass as fail. They are not compared.
    pub undecided: usize,
    /// Labelled outputs for which no score is kept. They are not compared.
    pub unscored: usize,
    /// The judge and people.
    pub agreement: Agreement,
    /// The thresholds that would agree best.
    pub best: Option<BestThreshold>,
    /// The mean distance of the judge's score from people's, where people gave scores.
    pub mean_distance: Option<f64>,
    /// The share of pairs of people who agree, where several labelled the same output: no judge can be expected to do better.
    pub people_agree: Option<f64>,
    /// Each family of models and people, where several were asked.
    pub families: Vec<FamilyAgreement>,
    /// Outputs on which the judge and people disagree, the furthest from the threshold first.
    pub disagreements: Vec<Disagreement>,
}

/// The agreement of one family of models with people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyAgreement {
    /// The family.
    pub family: String,
    /// The family and people.
    pub agreement: Agreement,
}

/// An output on which a judge and people disagree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The experiment.
    pub experiment: String,
    /// The scenario.
    pub scenario: String,
    /// The judge's score.
    pub score: f64,
    /// The judge's reason.
    pub reason: String,
    /// True when most people say that it passes.
    pub people_pass: bool,
    /// The label of each person.
    pub labels: Vec<Label>,
}

/// An output, and the last label of each person about it.
struct Labelled<'a> {
    output: &'a JudgedOutput,
    labels: Vec<&'a Label>,
}

/// Compares judges with people.
#[must_use]
pub fn calibrate(outputs: &[JudgedOutput], labels: &[Label]) -> Calibration {
    let mut of_invariants: IndexMap<&str, Vec<Labelled<'_>>> = IndexMap::new();
    for output in outputs {
        let labels = last_of_each_person(labels.iter().filter(|label| is_about(label, output)));
        of_invariants.entry(&output.invariant).or_default().push(Labelled { output, labels });
    }
    let is_unmatched = |label: &&Label| !outputs.iter().any(|output| is_about(label, output));
    let unmatched = labels.iter().filter(is_unmatched).cloned().collect();
    let with_labels = of_invariants.into_iter().filter(|(_, all)| all.iter().any(|one| !one.labels.is_empty()));
    Calibration { invariants: with_labels.map(|(name, all)| of_invariant(name, &all)).collect(), unmatched }
}

fn is_about(label: &Label, output: &JudgedOutput) -> bool {
    label.scenario == output.scenario
        && label.invariant == output.invariant
        && label.experiment.as_ref().is_none_or(|experiment| *experiment == output.experiment)
}

fn last_of_each_person<'a>(labels: impl Iterator<Item = &'a Label>) -> Vec<&'a Label> {
    labels.map(|label| (label.by.as_str(), label)).collect::<IndexMap<_, _>>().into_values().collect()
}

fn of_invariant(name: &str, all: &[Labelled<'_>]) -> InvariantCalibration {
    let threshold = all.first().map_or(0.5, |one| one.output.threshold);
    let labelled: Vec<_> = all.iter().filter(|one| !one.labels.is_empty()).collect();
    let decided: Vec<_> = labelled.iter().filter_map(|one| Some((*one, one.people_pass()?))).collect();
    let compared: Vec<(&Labelled<'_>, &Judged, bool)> =
        decided.iter().filter_map(|(one, people)| Some((*one, one.output.judged.as_ref().ok()?, *people))).collect();
    let pairs: Vec<_> = compared.iter().map(|(_, judged, people)| (judged.score, *people)).collect();
    let mut confusion = Confusion::default();
    compared.iter().for_each(|(one, judged, people)| confusion.add(judged.score >= one.output.threshold, *people));
    InvariantCalibration {
        invariant: name.to_owned(),
        threshold,
        outputs: all.len(),
        labelled: labelled.len(),
        undecided: labelled.len() - decided.len(),
        unscored: decided.len() - compared.len(),
        agreement: confusion.agreement(),
        best: best(&pairs, threshold),
        mean_distance: mean_distance(&compared),
        people_agree: people_agree(&labelled),
        families: families(&compared),
        disagreements: disagreements(&compared),
    }
}

impl Labelled<'_> {
    /// The majority's word; `None` on a tie.
    fn people_pass(&self) -> Option<bool> {
        let passes = self.labels.iter().filter(|label| label.label.passes(self.output.threshold)).count();
        let fails = self.labels.len() - passes;
        (passes != fails).then_some(passes > fails)
    }
}

fn mean_distance(compared: &[(&Labelled<'_>, &Judged, bool)]) -> Option<f64> {
    let distances = compared.iter().flat_map(|(one, judged, _)| {
        one.labels.iter().filter_map(|label| match label.label {
            HumanLabel::Score(score) => Some((judged.score - score).abs()),
            HumanLabel::Pass | HumanLabel::Fail => None,
        })
    });
    let distances: Vec<f64> = distances.collect();
    (!distances.is_empty()).then(|| distances.iter().sum::<f64>() / count(distances.len()))
}

/// The share of pairs of people about the same output who say the same.
fn people_agree(labelled: &[&Labelled<'_>]) -> Option<f64> {
    let (mut same, mut pairs) = (0, 0);
    for one in labelled {
        let passes = one.labels.iter().filter(|label| label.label.passes(one.output.threshold)).count();
        let fails = one.labels.len() - passes;
        let choose_two = |some: usize| some * some.saturating_sub(1) / 2;
        same += choose_two(passes) + choose_two(fails);
        pairs += choose_two(passes + fails);
    }
    (pairs > 0).then(|| count(same) / count(pairs))
}

fn families(compared: &[(&Labelled<'_>, &Judged, bool)]) -> Vec<FamilyAgreement> {
    let mut confusions: BTreeMap<&str, Confusion> = BTreeMap::new();
    for (one, judged, people) in compared {
        for family in &judged.families {
            confusions.entry(&family.family).or_default().add(family.mean >= one.output.threshold, *people);
        }
    }
    let agreement = |(family, confusion): (&str, Confusion)| FamilyAgreement {
        family: family.to_owned(),
        agreement: confusion.agreement(),
    };
    confusions.into_iter().map(agreement).collect()
}

fn disagreements(compared: &[(&Labelled<'_>, &Judged, bool)]) -> Vec<Disagreement> {
    let mut apart: Vec<_> =
        compared.iter().filter(|(one, judged, people)| (judged.score >= one.output.threshold) != *people).collect();
    let distance = |(one, judged, _): &&(&Labelled<'_>, &Judged, bool)| (judged.score - one.output.threshold).abs();
    apart.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    let told = |(one, judged, people): &(&Labelled<'_>, &Judged, bool)| Disagreement {
        experiment: one.output.experiment.clone(),
        scenario: one.output.scenario.clone(),
        score: judged.score,
        reason: judged.reason.clone(),
        people_pass: *people,
        labels: one.labels.iter().map(|label| (*label).clone()).collect(),
    };
    apart.into_iter().map(told).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Label, calibrate};
    use crate::judge_calibration::{FamilyScore, HumanLabel, Judged, JudgedOutput};

    fn output(scenario: &str, score: f64) -> JudgedOutput {
        let families = vec![
            FamilyScore { family: "anthropic".to_owned(), mean: score },
            FamilyScore { family: "openai".to_owned(), mean: 1.0 },
        ];
        JudgedOutput {
            experiment: "e1".to_owned(),
            scenario: scenario.to_owned(),
            invariant: "polite".to_owned(),
            description: String::new(),
            criteria: String::new(),
            task: String::new(),
            text: String::new(),
            threshold: 0.5,
            judged: Ok(Judged { score, reason: format!("it is {score}"), families }),
        }
    }

    fn label(scenario: &str, label: HumanLabel, by: &str) -> Label {
        let (scenario, invariant, by) = (scenario.to_owned(), "polite".to_owned(), by.to_owned());
        Label { experiment: None, scenario, invariant, label, by, note: format!("so says {by}", by = "a person") }
    }

    pub(in crate::judge_calibration) fn example() -> (Vec<JudgedOutput>, Vec<Label>) {
        let mut outputs =
            vec![output("a", 0.9), output("b", 0.6), output("c", 0.2), output("d", 0.8), output("e", 0.7)];
        outputs.push(JudgedOutput { judged: Err("was not asked this".to_owned()), ..output("f", 0.0) });
        let (pass, fail) = (HumanLabel::Pass, HumanLabel::Fail);
        let labels = vec![
            label("a", fail, "ada"),
            label("a", pass, "ada"),
            label("b", fail, "ada"),
            label("b", HumanLabel::Score(0.25), "bob"),
            label("c", fail, "ada"),
            label("d", pass, "ada"),
            label("d", fail, "bob"),
            label("f", pass, "ada"),
            label("gone", pass, "ada"),
        ];
        (outputs, labels)
    }

    #[test]
    fn labels_are_compared_with_scores() {
        let (outputs, labels) = example();
        let found = calibrate(&outputs, &labels);
        let [polite] = found.invariants.as_slice() else { panic!("{found:?}") };
        assert_eq!((polite.outputs, polite.labelled, polite.undecided, polite.unscored), (6, 5, 1, 1));
        let confusion = polite.agreement.confusion;
        assert_eq!(
            (confusion.both_pass, confusion.judge_only, confusion.both_fail),
            (1, 1, 1),
            "ada changed her mind about a"
        );
        assert_eq!(
            polite.best.map(|best| (best.above, best.up_to, best.suggested, best.agreeing)),
            Some((0.6, 0.9, 0.75, 3))
        );
        assert!(polite.mean_distance.is_some_and(|distance| (distance - 0.35).abs() < 1e-9));
        assert_eq!(polite.people_agree, Some(0.5), "on b, and not on d");
        let families: Vec<_> =
            polite.families.iter().map(|one| (one.family.as_str(), one.agreement.confusion.agreeing())).collect();
        assert_eq!(families, [("anthropic", 2), ("openai", 1)]);
        let [apart] = polite.disagreements.as_slice() else { panic!("{:?}", polite.disagreements) };
        assert_eq!((apart.scenario.as_str(), apart.people_pass, apart.labels.len()), ("b", false, 2));
        assert_eq!(found.unmatched.iter().map(|label| label.scenario.as_str()).collect::<Vec<_>>(), ["gone"]);
    }

    #[test]
    fn a_label_of_another_experiment_is_about_nothing_here() {
        let (outputs, labels) = example();
        let other =
            labels.into_iter().map(|label| Label { experiment: Some("e2".to_owned()), ..label }).collect::<Vec<_>>();
        let found = calibrate(&outputs, &other);
        assert_eq!((found.invariants.len(), found.unmatched.len()), (0, other.len()));
    }
}
