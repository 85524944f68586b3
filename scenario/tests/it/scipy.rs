//! The exact tests beside an independent implementation: the values of scipy, which `scripts/simulate --scipy` computes.

use scenario::statistics::{Share, boschloo, fisher, mann_whitney};
use serde::Deserialize;

/// What scipy says.
#[derive(Deserialize)]
struct Values {
    drops: Vec<Drop>,
    mann_whitney: Vec<Samples>,
}

#[derive(Deserialize)]
struct Drop {
    /// Passed and judged before, passed and judged now.
    table: [usize; 4],
    fisher: f64,
    boschloo: f64,
}

#[derive(Deserialize)]
struct Samples {
    before: Vec<f64>,
    now: Vec<f64>,
    rise: f64,
    drop: f64,
}

fn values() -> Values {
    serde_json::from_str(include_str!("data/scipy.json")).expect("the values of scipy")
}

#[test]
fn drops_have_the_p_values_of_scipy() {
    let drops = values().drops;
    assert!(drops.len() > 80, "{}", drops.len());
    for Drop { table, fisher: by_fisher, boschloo: by_boschloo } in drops {
        let (before, now) =
            (Share { passed: table[0], judged: table[1] }, Share { passed: table[2], judged: table[3] });
        let found = fisher(before, now).expect("a p-value");
        assert!((found - by_fisher).abs() <= by_fisher * 1e-9, "{before} and {now}: {found}, {by_fisher}");
        // scipy stops a little before the largest likelihood, and never after it.
        let found = boschloo(before, now).expect("a p-value");
        assert!((found - by_boschloo).abs() <= by_boschloo * 1e-5, "{before} and {now}: {found}, {by_boschloo}");
    }
}

#[test]
fn samples_have_the_p_values_of_scipy() {
    for Samples { before, now, rise, drop } in values().mann_whitney {
        let found = mann_whitney(&before, &now).expect("a test");
        for (found, expected) in [(found.chance_of_rise, rise), (found.chance_of_drop, drop)] {
            assert!((found - expected).abs() <= expected * 1e-9, "{before:?} and {now:?}: {found}, {expected}");
        }
    }
}
