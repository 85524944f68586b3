//! The combined score of one scenario.

use crate::result::InvariantResult;
use crate::spec::sections::GateRule;

/// Tolerance below a bar, for rounding only.
const ROUNDING: f64 = 1e-9;

/// Σ(weight · score) / Σ(weight); 0 when a `forbidden` rule was violated or a gate is not met.
///
/// A gate is met by a passed verdict with a score of 1; with `scoring.gate: verdict`, by a passed verdict.
#[must_use]
pub fn composite(invariants: &[InvariantResult], rule: GateRule, violated: bool) -> f64 {
    if violated || misses_gate(invariants, rule) {
        return 0.0;
    }
    let weights: f64 = invariants.iter().map(|invariant| invariant.weight).sum();
    let scores: f64 = invariants.iter().map(|invariant| invariant.weight * invariant.verdict.score).sum();
    if weights > 0.0 { (scores / weights).clamp(0.0, 1.0) } else { 0.0 }
}

/// Returns true if a gate is not met.
#[must_use]
pub fn misses_gate(invariants: &[InvariantResult], rule: GateRule) -> bool {
    let met = |invariant: &InvariantResult| match rule {
        GateRule::Score => invariant.verdict.is_passed() && invariant.verdict.score >= 1.0,
        GateRule::Verdict => invariant.verdict.is_passed(),
    };
    invariants.iter().any(|invariant| invariant.gate && !met(invariant))
}

/// Returns true if `value` reaches `bar`, rounding aside.
#[must_use]
pub fn reaches(value: f64, bar: f64) -> bool {
    value + ROUNDING >= bar
}
