//! The overall score in words.

use crate::score::{OverallPart, OverallScore, ScoredPart};

/// The number, or a dash where there is none.
#[must_use]
pub fn overall_number(overall: &OverallScore) -> String {
    overall.score.map_or_else(|| "–".to_owned(), |score| format!("{score:.4}"))
}

/// The parts that it is made from with their weights, and those that were not run.
#[must_use]
pub fn overall_explained(overall: &OverallScore) -> String {
    let mut words = vec![overall.parts.iter().map(part).collect::<Vec<_>>().join(", ")];
    if !overall.not_run.is_empty() {
        let names: Vec<_> = overall.not_run.iter().copied().map(ScoredPart::word).collect();
        words.push(format!("not run: {}", names.join(", ")));
    }
    words.extend(overall.min_overall.map(|bar| format!("{bar} is required")));
    words.retain(|word| !word.is_empty());
    words.join("; ")
}

fn part(part: &OverallPart) -> String {
    let score = part.score.map_or_else(|| "not judged".to_owned(), |score| format!("{score:.4}"));
    format!("{} {score} × {}", part.part.word(), part.weight)
}
