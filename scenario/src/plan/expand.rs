//! Spec to plan.

use std::collections::HashSet;

use indexmap::IndexSet;
use serde_json::Value as Json;

use super::cell_key::CellKey;
use super::parameters::{self, Cell};
use super::parts::{Part, mutations, parts, replays};
use super::purpose::{Purpose, Replay};
use super::scenario::{CellId, Plan, Scenario, ScenarioId};
use super::variants;
use crate::count_noun;
use crate::seed::Seed;
use crate::spec::Spec;
use crate::spec::diagnostic::did_you_mean;
use crate::spec::sections::chaos::{NO_CHAOS, Profile};
use crate::spec::sections::{MOST_CELLS, ReplayEntry};

/// Maximum number of scenarios of one experiment.
pub const MAX_SCENARIOS: usize = 10_000;

/// The caller's changes to a spec's plan.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// Instead of the spec's own `determinism.seed`.
    pub seed: Option<u64>,
    /// Instead of the spec's own `parallelism.replicas`.
    pub replicas: Option<usize>,
    /// Values instead of the matrix's own, in every cell. A name that stands several times makes cells for each of its
    /// values.
    pub parameters: Vec<(String, Json)>,
    /// The chaos cells that are run, and nothing else; everything without it.
    pub chaos: Option<Vec<String>>,
    /// The parts of the spec that are run.
    pub scope: PlanScope,
}

/// The parts of a spec that are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PlanScope {
    /// Everything.
    #[default]
    Everything,
    /// The chaos cells, with the contract's rules in them: neither mutations nor replays.
    Worlds,
    /// These sessions, each with the name of the chaos cell that it was recorded in, and nothing else.
    Replays(Vec<(Replay, String)>),
}

/// The reason why a spec has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More scenarios than an experiment may have.
    #[error(
        "the plan has {all} scenarios ({cells} × {replicas}); at most {MAX_SCENARIOS} are run in one experiment",
        all = .0,
        cells = count_noun(*.1, "cell"),
        replicas = count_noun(*.2, "replica")
    )]
    TooMany(usize, usize, usize),
    /// None at all.
    #[error(
        "the plan has no scenario: `parallelism.exclude` leaves no cell, `replicas` is 0, or no rule of the contract is judged in any chaos cell"
    )]
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
    /// A chaos cell that the spec does not have.
    #[error("there is no chaos cell `{name}`{}", chaos_hint(name, known))]
    UnknownChaos {
        /// The name that was given.
        name: String,
        /// The names that `chaos_matrix` has.
        known: Vec<String>,
    },
    /// A profile that applies to nothing of the spec.
    #[error("there is nothing in the spec that the profile `{0}` could break")]
    NothingToBreak(String),
    /// A text that is no parameter.
    #[error("`{0}` is no parameter: write NAME=VALUE")]
    NoParameter(String),
}

/// Suggests a name for one that is not known.
fn hint(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return ": the spec has no `parallelism.matrix`".to_owned();
    }
    let guess = did_you_mean(name, known.iter().map(String::as_str)).map(|guess| format!("; {guess}"));
    format!(", only `{}`{}", known.join("`, `"), guess.unwrap_or_default())
}

/// Suggests a chaos cell in place of one that is not known.
fn chaos_hint(name: &str, known: &[String]) -> String {
    let profiles: Vec<_> = Profile::ALL.iter().map(|profile| profile.word()).collect();
    let cells: Vec<_> = known.iter().map(String::as_str).chain([NO_CHAOS]).collect();
    let guess = did_you_mean(name, cells.iter().chain(&profiles).copied());
    let matrix = if known.is_empty() { ": the spec has no `chaos_matrix`" } else { "" };
    format!(
        "{matrix}, only `{}` and the profiles `{}`{}",
        cells.join("`, `"),
        profiles.join("`, `"),
        guess.map(|guess| format!("; {guess}")).unwrap_or_default()
    )
}

/// Every scenario of a spec, in a fixed order.
pub fn expand(spec: &Spec, options: PlanOptions) -> Result<Plan, PlanError> {
    let seed = options.seed.map(Seed::new).unwrap_or_else(|| own_seed(spec));
    let replicas = options.replicas.unwrap_or_else(|| spec.parallelism.replicas.count());
    let cells = cells(spec, replicas, &options.parameters)?;
    let runs = runs(spec, &options)?;
    let keys = keys(cells, &runs);
    let total = keys.iter().fold(0, |total: usize, (_, replicas)| total.saturating_add(*replicas));
    if total > MAX_SCENARIOS {
        return Err(PlanError::TooMany(total, keys.len(), total / keys.len().max(1)));
    }
    if total == 0 {
        return Err(PlanError::Empty);
    }
    let variant_counts = variants::counts(spec);
    let mut seen = HashSet::new();
    let mut scenarios = Vec::with_capacity(total);
    for (key, replicas) in keys {
        let cell = CellId::of(&key);
        if !seen.insert(cell.clone()) {
            return Err(PlanError::Repeated(Json::from_iter(key.parameters).to_string()));
        }
        // Chance is the same for all rules of a contract, so that they are judged in the same world.
        let world = CellId::of(&CellKey { purpose: Purpose::Everything, ..key.clone() });
        let mut variants = variants::choose(seed.derive(&["variants", world.as_str()]), &variant_counts, replicas);
        for replica in 0..u32::try_from(replicas).unwrap_or(u32::MAX) {
            scenarios.push(Scenario {
                id: ScenarioId::of(&cell, replica),
                cell: cell.clone(),
                replica,
                seed: seed.derive(&["scenario", ScenarioId::of(&world, replica).as_str()]),
                parameters: key.parameters.clone(),
                chaos: key.chaos.clone(),
                purpose: key.purpose.clone(),
                prompt: key.prompt,
                variants: variants.next().unwrap_or_default(),
                snapshot: None,
                breakage: None,
            });
        }
    }
    Ok(Plan { spec_id: spec.id.to_string(), seed, scenarios })
}

/// The names of the chaos cells that are run; one without a name where there is no matrix.
fn chaos_cells(spec: &Spec, chosen: Option<&[String]>) -> Result<Vec<String>, PlanError> {
    let names = spec.chaos_cells().map(|cell| cell.own.name.to_string());
    // A name that stands twice is a finding of its own.
    let known: Vec<String> = names.collect::<IndexSet<_>>().into_iter().collect();
    let Some(chosen) = chosen else {
        return Ok(if known.is_empty() { vec![String::new()] } else { known });
    };
    let is_cell = |name: &&String| known.contains(name);
    let is_shipped = |name: &&String| name.as_str() == NO_CHAOS || Profile::named(name).is_some();
    if let Some(name) = chosen.iter().find(|name| !is_cell(name) && !is_shipped(name)) {
        return Err(PlanError::UnknownChaos { name: name.clone(), known });
    }
    if let Some(name) = chosen.iter().find(|name| !is_cell(name) && !can_break(spec, name)) {
        return Err(PlanError::NothingToBreak(name.clone()));
    }
    // Cells keep their order; what is not the spec's own comes after them.
    let shipped: IndexSet<_> = chosen.iter().filter(|name| !is_cell(name)).cloned().collect();
    let cells = known.iter().filter(|name| chosen.contains(name)).cloned();
    Ok(cells.chain(shipped).collect())
}

/// Returns true if a profile has something to break in a spec.
fn can_break(spec: &Spec, name: &str) -> bool {
    let Some(profile) = Profile::named(name) else { return true };
    profile.breaks_something(spec)
}

/// The runs of each cell of the matrix, by the names of their chaos cells.
fn runs(spec: &Spec, options: &PlanOptions) -> Result<Vec<(String, Vec<Part>)>, PlanError> {
    let of_sessions = |sessions: &[(Replay, String)]| {
        let runs = |(replay, chaos): &(Replay, String)| (chaos.clone(), replays(spec, [replay], options.replicas));
        sessions.iter().map(runs).collect::<Vec<_>>()
    };
    if let PlanScope::Replays(sessions) = &options.scope {
        return Ok(of_sessions(sessions));
    }
    let worlds = chaos_cells(spec, options.chaos.as_deref())?.into_iter();
    let mut runs: Vec<_> = worlds
        .map(|chaos| {
            let parts = parts(spec, &chaos, options.replicas);
            (chaos, parts)
        })
        .collect();
    if options.scope == PlanScope::Everything && options.chaos.is_none() {
        runs.push((String::new(), mutations(spec, options.replicas)));
        let chaos = |entry: &ReplayEntry| entry.chaos.as_ref().map(ToString::to_string).unwrap_or_default();
        let sessions: Vec<_> = spec.replays.iter().map(|entry| (Replay::from(entry), chaos(entry))).collect();
        runs.extend(of_sessions(&sessions));
    }
    Ok(runs)
}

/// The keys of all cells, each with its number of replicas: each cell of the matrix with each of the runs.
fn keys(cells: Vec<Cell>, runs: &[(String, Vec<Part>)]) -> Vec<(CellKey, usize)> {
    let of_cell = |parameters: Cell| {
        let in_world = |(chaos, parts): &(String, Vec<Part>)| {
            let key = |part: &Part| CellKey {
                parameters: parameters.clone(),
                chaos: chaos.clone(),
                purpose: part.purpose.clone(),
                prompt: part.prompt,
            };
            parts.iter().map(|part| (key(part), part.replicas)).collect::<Vec<_>>()
        };
        runs.iter().flat_map(in_world).collect::<Vec<_>>()
    };
    cells.into_iter().flat_map(of_cell).collect()
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

    use super::{Plan, PlanError, PlanOptions, PlanScope, expand};
    use crate::spec::{Bundle, Spec, load};

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
    fn each_of_several_prompts_is_a_cell_of_its_own() {
        let text = "version: 1\nid: test\nbase: debian\ntask: {prompts: [first, second]}\nagent: {type: noop}\n\
            invariants: {x: {description: x, check: {type: file_exists, path: x}}}\nparallelism: {replicas: 2}\n";
        let spec = load(text, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let told =
            plan.scenarios.iter().map(|one| (one.id.to_string(), one.prompt_of(&spec).map(|text| text.source())));
        let told: Vec<_> = told.map(|(id, prompt)| format!("{id} {}", prompt.unwrap_or_default())).collect();
        assert_eq!(
            told,
            ["default-p0-r0 first", "default-p0-r1 first", "default-p1-r0 second", "default-p1-r1 second"]
        );
    }

    #[test]
    fn mutations_and_replays_come_after_the_worlds_and_can_be_left_out() {
        let text = "version: 1\nid: test\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\n\
            mutations: {count: 3, types: [noise, case]}\nreplays: [{session: sessions/lost answer.yaml}]\n\
            invariants: {x: {description: x, check: {type: completes}}}\n";
        let bundle = Bundle::new([("sessions/lost answer.yaml".to_owned(), 1)]).expect("a bundle");
        let spec = load(text, Some(&bundle)).spec.expect("a spec");
        let ids = |scope| {
            let plan = expand(&spec, PlanOptions { scope, ..PlanOptions::default() }).expect("a plan");
            plan.scenarios.iter().map(|one| one.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            ids(PlanScope::Everything),
            [
                "default-r0",
                "mutation-noise-0--default-r0",
                "mutation-noise-1--default-r0",
                "mutation-case-0--default-r0",
                "replay-lost-answer--default-r0",
            ]
        );
        assert_eq!(ids(PlanScope::Worlds), ["default-r0"]);
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
    fn every_cell_is_run_with_every_chaos_cell() {
        let text = "version: 1\nid: t\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\nparallelism: {matrix: {x: [1, 2]}, replicas: 2}\n\
             services: [{name: shop, type: http_mock, ports: [80]}]\n\
             chaos_matrix: [{name: calm}, {name: down, tool_faults: [{tool: shop, mode: error}]}]\n\
             invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";
        let loaded = load(text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let plan = |chaos: Option<&str>| {
            let chaos = chaos.map(|name| vec![name.to_owned()]);
            expand(&spec, PlanOptions { chaos, ..PlanOptions::default() })
        };
        let all = plan(None).expect("a plan").scenarios;
        assert_eq!(all.len(), 8);
        assert!(
            all[0].id.as_str().starts_with("calm--1-") && all[2].id.as_str().starts_with("down--1-"),
            "{}",
            all[2].id
        );
        let down = plan(Some("down")).expect("a plan").scenarios;
        assert_eq!((down.len(), &down[0]), (4, &all[2]), "chosen cells keep their ids and seeds");
        let refused = plan(Some("dwon")).expect_err("no plan").to_string();
        assert!(
            refused.starts_with(
                "there is no chaos cell `dwon`, only `calm`, `down`, `no-chaos` and the profiles `api_outage`, "
            ) && refused.ends_with("; did you mean `down`?"),
            "{refused}"
        );
        let plan = |chaos: &[&str]| {
            let chaos = Some(chaos.iter().map(ToString::to_string).collect());
            expand(&spec, PlanOptions { chaos, ..PlanOptions::default() })
        };
        let profiled = plan(&["no-chaos", "api_outage", "down"]).expect("a plan").scenarios;
        assert_eq!((profiled.len(), &profiled[0]), (12, &all[2]), "cells of the spec come first");
        assert!(profiled[2].id.as_str().starts_with("no-chaos--1-"), "{}", profiled[2].id);
        assert!(profiled[4].id.as_str().starts_with("api_outage--1-"), "{}", profiled[4].id);
        assert!(spec.chaos_of("no-chaos").is_none() && !spec.chaos_of("api_outage").is_none());
        let nothing = plan(&["degraded_llm"]).expect_err("no model").to_string();
        assert_eq!(nothing, "there is nothing in the spec that the profile `degraded_llm` could break");
        assert_eq!((spec.chaos_of("down").tool_faults.len(), spec.chaos_of("calm").is_none()), (1, true));
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
            let options = PlanOptions { seed: Some(seed), replicas: Some(2), parameters, ..PlanOptions::default() };
            let plan = expand(&spec("{matrix: {x: [1], y: [1]}}"), options).expect("a plan");
            let written = serde_json::to_string(&plan).expect("JSON");
            let read: Plan = serde_json::from_str(&written).expect("a plan");
            prop_assert_eq!(&read, &plan);
            prop_assert_eq!(serde_json::to_string(&read).expect("JSON"), written);
        }
    }
}
