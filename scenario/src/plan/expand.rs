//! Spec to plan.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::parameters::{self, Cell};
use super::scenario::{CellId, Plan, Scenario, ScenarioId};
use super::seed::Seed;
use super::variants;
use crate::counted;
use crate::spec::Spec;
use crate::spec::diagnostic::did_you_mean;
use crate::spec::sections::MOST_CELLS;

/// How many scenarios one experiment may have.
pub const MAX_SCENARIOS: usize = 10_000;

/// What the caller may change about a spec's plan.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// Instead of the spec's own `determinism.seed`.
    pub seed: Option<u64>,
    /// Instead of the spec's own `parallelism.replicas`.
    pub replicas: Option<usize>,
    /// Values instead of the matrix's own, in every cell. A name that stands several times makes cells for each of its
    /// values.
    pub parameters: Vec<(String, Json)>,
}

/// Why a spec has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More scenarios than an experiment may have.
    #[error(
        "the plan has {all} scenarios ({cells} × {replicas}); at most {MAX_SCENARIOS} are run in one experiment",
        all = .0,
        cells = counted(*.1, "cell"),
        replicas = counted(*.2, "replica")
    )]
    TooMany(usize, usize, usize),
    /// None at all.
    #[error("the plan has no scenario: `parallelism.exclude` leaves no cell, or `replicas` is 0")]
    Empty,
    /// The same parameters twice.
    #[error("two cells of the matrix have the same parameters {0}; use `replicas` to repeat a cell")]
    Repeated(String),
    /// A parameter that no cell has.
    #[error("there is no parameter `{name}`{}", hint(name, known))]
    UnknownParameter {
        /// The name that was given.
        name: String,
        /// The names that the matrix has.
        known: Vec<String>,
    },
    /// A text that is no parameter.
    #[error("`{0}` is no parameter: write NAME=VALUE")]
    NoParameter(String),
}

/// What to write instead of a name that is not known.
fn hint(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return ": the spec has no `parallelism.matrix`".to_owned();
    }
    let guess = did_you_mean(name, known.iter().map(String::as_str)).map(|guess| format!("; {guess}"));
    format!(", only `{}`{}", known.join("`, `"), guess.unwrap_or_default())
}

/// Every scenario of a spec, in a fixed order.
pub fn expand(spec: &Spec, options: PlanOptions) -> Result<Plan, PlanError> {
    let replicas = options.replicas.unwrap_or_else(|| spec.parallelism.replicas.count());
    let seed = options.seed.map(Seed::new).unwrap_or_else(|| own_seed(spec));
    let cells = cells(spec, replicas, &options.parameters)?;
    let total = cells.len().saturating_mul(replicas);
    if total > MAX_SCENARIOS {
        return Err(PlanError::TooMany(total, cells.len(), replicas));
    }
    if total == 0 {
        return Err(PlanError::Empty);
    }
    let variant_counts = variants::counts(spec);
    let mut seen = HashSet::new();
    let mut scenarios = Vec::with_capacity(total);
    for parameters in cells {
        let cell = CellId::of(&parameters);
        if !seen.insert(cell.clone()) {
            return Err(PlanError::Repeated(Json::from_iter(parameters).to_string()));
        }
        let mut variants = variants::choose(seed.derive(&["variants", cell.as_str()]), &variant_counts, replicas);
        for replica in 0..u32::try_from(replicas).unwrap_or(u32::MAX) {
            let id = ScenarioId::of(&cell, replica);
            let seed = seed.derive(&["scenario", id.as_str()]);
            let variants = variants.next().unwrap_or_default();
            scenarios.push(Scenario {
                id,
                cell: cell.clone(),
                replica,
                seed,
                parameters: parameters.clone(),
                variants,
                snapshot: None,
            });
        }
    }
    Ok(Plan { spec_id: spec.id.to_string(), seed, scenarios })
}

fn own_seed(spec: &Spec) -> Seed {
    spec.determinism.seed.map_or_else(|| Seed::of(spec.digest.as_bytes()), |seed| Seed::new(seed.get().unsigned_abs()))
}

/// The parameters of each cell that is not excluded.
fn cells(spec: &Spec, replicas: usize, given: &[(String, Json)]) -> Result<Vec<Cell>, PlanError> {
    let Some(matrix) = &spec.parallelism.matrix else {
        return parameters::set(spec, vec![Cell::new()], given);
    };
    // A product is counted before it is made, and again after exclusion.
    if matrix.len() > MOST_CELLS {
        return Err(PlanError::TooMany(matrix.len().saturating_mul(replicas), matrix.len(), replicas));
    }
    let excluded: Vec<Vec<(String, Json)>> = spec
        .parallelism
        .exclude
        .iter()
        .map(|cell| cell.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect())
        .collect();
    let is_excluded = |cell: &Cell| {
        excluded.iter().any(|rule| !rule.is_empty() && rule.iter().all(|(name, value)| cell.get(name) == Some(value)))
    };
    let all = (0..matrix.len())
        .map(|index| matrix.cell(index).into_iter().map(|(name, value)| (name, value.to_json())).collect())
        .collect();
    let mut cells = parameters::set(spec, all, given)?;
    cells.retain(|cell| !is_excluded(cell));
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::{Plan, PlanError, PlanOptions, expand};
    use crate::spec::{Spec, load};

    fn spec(parallelism: &str) -> Spec {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nparallelism: {parallelism}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    fn ids(parallelism: &str) -> Vec<String> {
        expand(&spec(parallelism), PlanOptions::default())
            .expect("a plan")
            .scenarios
            .into_iter()
            .map(|scenario| scenario.id.to_string())
            .collect()
    }

    #[test]
    fn a_plain_spec_is_one_scenario() {
        assert_eq!(ids("{}"), ["default-r0"]);
        assert_eq!(ids("{replicas: 3}"), ["default-r0", "default-r1", "default-r2"]);
    }

    #[test]
    fn a_matrix_is_a_list_of_cells_or_a_product() {
        assert_eq!(ids("{matrix: [{model: a}, {model: b}], replicas: 2}").len(), 4);
        let product = ids("{matrix: {x: [1, 2], y: [a, b, c]}}");
        assert_eq!(product.len(), 6);
        assert!(
            product[0].starts_with("1-a-") && product[1].starts_with("1-b-") && product[3].starts_with("2-a-"),
            "{product:?}"
        );
    }

    #[test]
    fn excluded_cells_are_left_out() {
        assert_eq!(ids("{matrix: {x: [1, 2], y: [a, b]}, exclude: [{x: 1, y: a}]}").len(), 3);
        assert_eq!(ids("{matrix: {x: [1, 2], y: [a, b]}, exclude: [{x: 1}]}").len(), 2);
    }

    #[test]
    fn seeds_differ_by_scenario_and_follow_the_experiments_seed() {
        let spec = spec("{replicas: 50, matrix: {x: [1, 2]}}");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let seeds: HashSet<_> = plan.scenarios.iter().map(|scenario| scenario.seed).collect();
        assert_eq!(seeds.len(), 100);
        let other = expand(&spec, PlanOptions { seed: Some(5), ..PlanOptions::default() }).expect("a plan");
        assert_eq!(other.scenarios[0].id, plan.scenarios[0].id);
        assert_ne!(other.scenarios[0].seed, plan.scenarios[0].seed);
    }

    #[test]
    fn comments_and_key_order_do_not_change_the_seed() {
        let text = |agent: &str| {
            format!(
                "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\n{agent}\ninvariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
            )
        };
        let seed =
            |text: &str| expand(&load(text, None).spec.expect("a spec"), PlanOptions::default()).expect("a plan").seed;
        let plain = seed(&text("agent: {type: cli, command: run, timeout: 5m}"));
        assert_eq!(plain, seed(&text("# a remark\nagent: {timeout: 5m, command: run, type: cli}")));
        assert_ne!(plain, seed(&text("agent: {type: cli, command: run2, timeout: 5m}")));
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let error = |parallelism: &str, replicas| {
            expand(&spec(parallelism), PlanOptions { replicas: Some(replicas), ..PlanOptions::default() })
                .expect_err("no plan")
        };
        assert_eq!(error("{matrix: {x: [1, 2, 3]}}", 4000), PlanError::TooMany(12_000, 3, 4000));
        assert_eq!(error("{}", 0), PlanError::Empty);
    }

    proptest! {
        #[test]
        fn the_same_spec_gives_the_same_plan_byte_for_byte(values in prop::collection::btree_set("[a-z0-9]{1,6}", 1..6), replicas in 1..5u32) {
            let parallelism = format!("{{replicas: {replicas}, matrix: {{p: [{}]}}}}", values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(", "));
            let plan = || serde_json::to_string(&expand(&spec(&parallelism), PlanOptions::default()).expect("a plan")).expect("JSON");
            prop_assert_eq!(plan(), plan());
            let ids: HashSet<_> = ids(&parallelism).into_iter().collect();
            prop_assert_eq!(ids.len(), values.len() * replicas as usize);
        }

        #[test]
        fn a_plan_survives_json(numbers in prop::collection::vec(any::<f64>(), 1..6), texts in prop::collection::vec("\\PC{0,8}", 1..4), seed: u64) {
            let parameters: Vec<_> = numbers.into_iter().map(|number| ("x".to_owned(), json!(number)))
                .chain(texts.into_iter().map(|text| ("y".to_owned(), json!({"b": text, "a": [null, true]}))))
                .collect();
            let options = PlanOptions { seed: Some(seed), replicas: Some(2), parameters };
            let plan = expand(&spec("{matrix: {x: [1], y: [1]}}"), options).expect("a plan");
            let written = serde_json::to_string(&plan).expect("JSON");
            let read: Plan = serde_json::from_str(&written).expect("a plan");
            prop_assert_eq!(&read, &plan);
            prop_assert_eq!(serde_json::to_string(&read).expect("JSON"), written);
        }
    }
}
