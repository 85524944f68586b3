//! Reads the reply of a model.

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

/// The rating of a reply: the one JSON object in it that has a number `score`. A reply with different scores means
/// nothing: one of them may be quoted from what was judged.
pub(super) fn read(reply: &str) -> Option<Rating> {
    let rated: Vec<_> =
        objects(reply).into_iter().filter_map(|fields| score(&fields).map(|score| (score, fields))).collect();
    let (given, fields) = rated.last()?;
    // Every score that is written must be one that was read: not nested, not doubled, not in an object that is broken.
    let written = reply.matches("\"score\"").count();
    if written != rated.len() || rated.iter().any(|(other, _)| other.to_bits() != given.to_bits()) {
        return None;
    }
    let score = scaled(*given).clamp(0.0, 1.0);
    let reason = fields.get("reason").and_then(Json::as_str).unwrap_or_default().to_owned();
    Some(Rating { score, reason, adjusted: (score.to_bits() != given.to_bits()).then_some(*given) })
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

/// The JSON objects of a text, without those inside others, up to a bounded number of tries.
fn objects(text: &str) -> Vec<Map<String, Json>> {
    const MOST_TRIES: usize = 50;
    let mut found = Vec::new();
    let mut rest = text;
    for _ in 0..MOST_TRIES {
        let Some(at) = rest.find('{') else { break };
        rest = &rest[at..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Json>>();
        let parsed = stream.next();
        let end = if let Some(Ok(fields)) = parsed {
            found.push(fields);
            stream.byte_offset()
        } else {
            1
        };
        rest = &rest[end..];
    }
    found
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
