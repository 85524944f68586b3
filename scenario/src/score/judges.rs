//! Model judges of a run: mean score, spread between samples, agreement and cost.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::result::ScenarioResult;
use crate::statistics::count;
use crate::verdict::Verdict;

/// The judges of one invariant in all scenarios.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgeScore {
    /// The invariant.
    pub invariant: String,
    /// The number of scenarios that were judged.
    pub judged: usize,
    /// The mean score.
    pub mean: f64,
    /// The mean distance between the highest and the lowest score given to the same output; `None` when nothing was asked twice.
    pub spread: Option<f64>,
    /// The mean share of samples that agree whether it passes; `None` when nothing was asked twice.
    pub agreement: Option<f64>,
    /// Calls of models.
    pub calls: u64,
    /// Replies that were given before, and cost nothing.
    pub cached: u64,
    /// Tokens of questions and answers.
    pub tokens: u64,
    /// The cost in US dollars; `None` when a model has no price.
    pub cost_usd: Option<f64>,
}

impl JudgeScore {
    /// All of it in one line, without the name.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { mean, judged, calls, tokens, .. } = self;
        let mut words = vec![format!("mean {mean:.3} of {judged}")];
        words.extend(self.spread.map(|spread| format!("spread {spread:.3}")));
        words.extend(self.agreement.map(|agreement| format!("agreement {:.0} %", agreement * 100.0)));
        let cached = if self.cached > 0 { format!(" ({} given before)", self.cached) } else { String::new() };
        let cost = self.cost_usd.map_or_else(|| "no price".to_owned(), |cost| format!("${cost:.4}"));
        words.push(format!("{calls} calls{cached}, {tokens} tokens, {cost}"));
        words.join(", ")
    }
}

/// The judges of a run, in the order of their invariants. A verdict tells by its details that a judge was asked.
pub(super) fn scores(results: &[&ScenarioResult]) -> Vec<JudgeScore> {
    let mut verdicts: IndexMap<&str, Vec<&Verdict>> = IndexMap::new();
    for invariant in results.iter().flat_map(|result| &result.invariants) {
        if invariant.verdict.details["judging"].is_object() {
            verdicts.entry(&invariant.name).or_default().push(&invariant.verdict);
        }
    }
    verdicts.into_iter().map(|(name, verdicts)| of_invariant(name, &verdicts)).collect()
}

fn of_invariant(name: &str, verdicts: &[&Verdict]) -> JudgeScore {
    let numbers = |path: &str| -> Vec<f64> {
        verdicts.iter().filter_map(|verdict| verdict.details.pointer(path)?.as_f64()).collect()
    };
    let total = |path: &str| -> u64 {
        let counts = verdicts.iter().filter_map(|verdict| verdict.details.pointer(path)?.as_u64());
        counts.fold(0, u64::saturating_add)
    };
    let (highest, lowest) = (numbers("/spread/max"), numbers("/spread/min"));
    let ranges: Vec<f64> = highest.iter().zip(&lowest).map(|(high, low)| high - low).collect();
    // One call without a price makes the sum unknown; replies that were given before cost nothing.
    let is_priced = |judging: &Json| judging["calls"].as_u64() == Some(0) || judging["cost_usd"].is_f64();
    let priced = verdicts.iter().all(|verdict| is_priced(&verdict.details["judging"]));
    let scores: Vec<f64> = verdicts.iter().map(|verdict| verdict.score).collect();
    JudgeScore {
        invariant: name.to_owned(),
        judged: verdicts.len(),
        mean: mean(&scores).unwrap_or_default(),
        spread: mean(&ranges),
        agreement: mean(&numbers("/agreement")),
        calls: total("/judging/calls"),
        cached: total("/judging/cached"),
        tokens: total("/judging/input_tokens").saturating_add(total("/judging/output_tokens")),
        cost_usd: priced.then(|| numbers("/judging/cost_usd").iter().fold(0.0, |sum, cost| sum + cost)),
    }
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / count(numbers.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of_invariant;
    use crate::verdict::Verdict;

    fn verdict(score: f64, details: serde_json::Value) -> Verdict {
        Verdict { score, details, ..Verdict::passed() }
    }

    #[test]
    fn judges_are_summed_up_over_scenarios() {
        let asked = |cost: serde_json::Value| json!({ "calls": 3, "cached": 0, "input_tokens": 300, "output_tokens": 30, "cost_usd": cost });
        let one = verdict(
            0.5,
            json!({ "spread": { "min": 0.25, "max": 0.75 }, "agreement": 1.0, "judging": asked(json!(0.25)) }),
        );
        let other = verdict(
            1.0,
            json!({ "spread": { "min": 1.0, "max": 1.0 }, "agreement": 0.5, "judging": asked(json!(0.5)) }),
        );
        let score = of_invariant("polite", &[&one, &other]);
        insta::assert_snapshot!(score.words(), @"mean 0.750 of 2, spread 0.250, agreement 75 %, 6 calls, 660 tokens, $0.7500");
        let unpriced = verdict(1.0, json!({ "judging": asked(json!(null)) }));
        let score = of_invariant("polite", &[&unpriced]);
        insta::assert_snapshot!(score.words(), @"mean 1.000 of 1, 3 calls, 330 tokens, no price");
        let kept = verdict(1.0, json!({ "judging": { "calls": 0, "cached": 2 } }));
        insta::assert_snapshot!(of_invariant("polite", &[&kept]).words(), @"mean 1.000 of 1, 0 calls (2 given before), 0 tokens, $0.0000");
    }
}
