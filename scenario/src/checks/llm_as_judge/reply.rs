//! What a model's reply means.

use serde_json::{Map, Value as Json};

/// Scores up to this are rounding, not another scale.
const ROUNDING: f64 = 1.05;

/// A score and its reason.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rating {
    pub(super) score: f64,
    pub(super) reason: String,
    /// The score that the model gave, when it was not from 0 to 1.
    pub(super) adjusted: Option<f64>,
}

/// The first JSON object of the reply that has a number `score`.
pub(super) fn read(reply: &str) -> Option<Rating> {
    let fields = objects(reply).find(|fields| score(fields).is_some())?;
    let given = score(&fields)?;
    let score = scaled(given).clamp(0.0, 1.0);
    let reason = fields.get("reason").and_then(Json::as_str).unwrap_or_default().to_owned();
    Some(Rating { score, reason, adjusted: (score.to_bits() != given.to_bits()).then_some(given) })
}

fn score(fields: &Map<String, Json>) -> Option<f64> {
    let score = fields.get("score")?;
    score.as_f64().or_else(|| score.as_str()?.trim().parse().ok()).filter(|score| score.is_finite())
}

/// Models that were asked for 0 to 1 sometimes answer on a scale of 10 or 100.
fn scaled(score: f64) -> f64 {
    match score {
        score if score <= ROUNDING => score,
        score if score <= 10.0 => score / 10.0,
        score if score <= 100.0 => score / 100.0,
        score => score,
    }
}

/// Every JSON object that begins at a brace of the text, up to a bounded number of braces.
fn objects(text: &str) -> impl Iterator<Item = Map<String, Json>> {
    const MOST_TRIES: usize = 50;
    text.match_indices('{').take(MOST_TRIES).filter_map(|(at, _)| {
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Map<String, Json>>();
        stream.next()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::read;

    proptest! {
        #[test]
        fn any_reply_gives_a_score_from_0_to_1_or_none(reply in "\\PC{0,60}", score: f64) {
            for text in [reply, format!("{{\"score\": {score}}}")] {
                if let Some(rating) = read(&text) {
                    prop_assert!((0.0..=1.0).contains(&rating.score));
                }
            }
        }
    }
}
