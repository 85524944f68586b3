//! What several ratings of the same thing mean together.

use serde_json::json;

use super::reply::Rating;
use crate::verdict::{Outcome, Verdict};

/// The verdict of all samples: their mean decides, and the details show how far they agree.
pub(super) fn verdict(ratings: &[Rating], threshold: f64) -> Verdict {
    let score = mean(ratings);
    let passed = score >= threshold;
    // The reason of a sample that agrees with the verdict.
    let agrees = |rating: &&Rating| (rating.score >= threshold) == passed;
    let reason = ratings.iter().find(agrees).or(ratings.first()).map_or_else(String::new, |one| one.reason.clone());
    let message = if passed {
        String::new()
    } else {
        format!("expected a score of at least {threshold}, found {score}: {reason}")
    };
    let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
    let mut verdict = Verdict { outcome, score, message, reason, ..Verdict::passed() };
    let adjusted: Vec<_> = ratings.iter().filter_map(note).collect();
    if !adjusted.is_empty() {
        verdict = verdict.with_detail("note", adjusted.join("; "));
    }
    if ratings.len() > 1 { with_spread(verdict, ratings, threshold) } else { verdict }
}

/// What was made of a score that was not from 0 to 1.
fn note(rating: &Rating) -> Option<String> {
    rating.adjusted.map(|given| format!("the model's score {given} was read as {}", rating.score))
}

fn with_spread(verdict: Verdict, ratings: &[Rating], threshold: f64) -> Verdict {
    let scores: Vec<f64> = ratings.iter().map(|rating| rating.score).collect();
    let number = scores.len() as f64;
    let above = scores.iter().filter(|score| **score >= threshold).count();
    let majority = above.max(scores.len() - above) as f64;
    let variance = scores.iter().map(|score| (score - verdict.score).powi(2)).sum::<f64>() / number;
    let spread = json!({
        "min": scores.iter().copied().fold(f64::INFINITY, f64::min),
        "max": scores.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "standard_deviation": rounded(variance.sqrt()),
    });
    verdict
        .with_detail("scores", scores)
        .with_detail("spread", spread)
        .with_detail("agreement", rounded(majority / number))
}

/// The mean of all scores. That of equal scores is that score, and not what is left of it after adding and dividing.
fn mean(ratings: &[Rating]) -> f64 {
    match ratings {
        [only] => only.score,
        many => rounded(many.iter().map(|rating| rating.score).sum::<f64>() / many.len().max(1) as f64),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reply::Rating;
    use super::verdict;
    use crate::verdict::{Outcome, Verdict};

    fn rated(scores: &[f64], threshold: f64) -> Verdict {
        let rating = |score: &f64| Rating { score: *score, reason: format!("it is {score}"), adjusted: None };
        verdict(&scores.iter().map(rating).collect::<Vec<_>>(), threshold)
    }

    #[test]
    fn the_mean_decides_and_the_spread_is_shown() {
        let verdict = rated(&[0.9, 0.4, 0.8], 0.7);
        assert_eq!((verdict.outcome, verdict.score, verdict.reason.as_str()), (Outcome::Passed, 0.7, "it is 0.9"));
        insta::assert_snapshot!(verdict.details, @r#"{"scores":[0.9,0.4,0.8],"spread":{"min":0.4,"max":0.9,"standard_deviation":0.21602469},"agreement":0.666666667}"#);
        let verdict = rated(&[0.9, 0.4, 0.4], 0.7);
        assert_eq!((verdict.outcome, verdict.reason.as_str()), (Outcome::Failed, "it is 0.4"));
    }

    #[test]
    fn equal_scores_reach_the_same_threshold() {
        for score in [0.1, 0.3, 0.6, 0.7, 0.9] {
            let verdict = rated(&[score; 3], score);
            assert_eq!((verdict.outcome, verdict.score), (Outcome::Passed, score));
        }
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_samples(scores in prop::collection::vec(0.0f64..=1.0, 2..25), threshold in 0.0f64..=1.0) {
            let verdict = rated(&scores, threshold);
            let (least, most) = scores.iter().fold((1.0f64, 0.0f64), |(least, most), score| (least.min(*score), most.max(*score)));
            prop_assert!(verdict.score >= least - 1e-9 && verdict.score <= most + 1e-9 && (0.0..=1.0).contains(&verdict.score));
            let agreement = verdict.details["agreement"].as_f64().expect("a number");
            prop_assert!((0.5 - 1e-9..=1.0).contains(&agreement));
        }
    }
}
