//! The weights of the overall score.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::fields::Fields;

/// The parts with the weights that they have where the file says nothing.
const WEIGHTS: [(&str, f64); 4] = [("mutation", 0.20), ("chaos", 0.35), ("contract", 0.35), ("replay", 0.10)];

pub(super) fn scoring(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let scoring = file.section("scoring")?;
    scoring.note_unknown(&["mutation", "chaos", "contract", "replay", "weights"], import);
    let weights = scoring.section("weights").unwrap_or(scoring);
    let of = |(part, usual): (&'static str, f64)| (part, weights.get(part).and_then(Json::as_f64).unwrap_or(usual));
    let all = WEIGHTS.map(of);
    let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
    if (sum - 1.0).abs() > 0.001 {
        let message = format!(
            "left out: with the usual weights of parts that are not given, they add up to {sum:.2}, and not to 1"
        );
        import.note("scoring", message);
        return None;
    }
    let weights: Map<String, Json> = all.iter().map(|(part, weight)| ((*part).to_owned(), json!(weight))).collect();
    Some(json!({ "weights": weights }))
}
