//! Selection of the variant of each turn of a scripted model for a replica.
//!
//! - Replica 0 gets the first variant of every turn.
//! - When there are as many replicas as combinations, or more, every combination is seen: they are walked in an order that
//!   the seed decides, again and again.
//! - Otherwise each turn walks its own variants, in an order that the seed decides anew for each block, so that each variant
//!   comes up as often as any other, and no two turns go together.

use crate::seed::Seed;
use crate::spec::Spec;
use crate::spec::sections::{ModelMode, Turn};

/// Returns the number of variants of each turn of the script, those of `match` after those of `turns`; empty when none
/// has any.
pub(super) fn counts(spec: &Spec) -> Vec<usize> {
    let Some(model) = spec.model.as_ref().filter(|model| model.mode == ModelMode::Scripted) else { return Vec::new() };
    let turns = model.turns.iter().chain(model.rules.iter().map(|rule| &rule.turn));
    let counts: Vec<_> = turns.map(|turn: &Turn| turn.variants.len()).collect();
    if counts.iter().all(|count| *count == 0) { Vec::new() } else { counts }
}

/// The variants of each turn for each replica, in the order of the replicas.
pub(super) fn choose(seed: Seed, counts: &[usize], replicas: usize) -> impl Iterator<Item = Vec<usize>> {
    let counts: Vec<_> = counts.iter().map(|count| (*count).max(1)).collect();
    let product = counts.iter().try_fold(1usize, |product, count| product.checked_mul(*count));
    let whole = product.filter(|product| *product <= replicas);
    let orders: Vec<Vec<usize>> = match whole {
        Some(product) => vec![walk(seed, "all", product, replicas)],
        None => {
            let turns = counts.iter().enumerate();
            turns.map(|(turn, count)| walk(seed, &turn.to_string(), *count, replicas)).collect()
        }
    };
    (0..if counts.is_empty() { 0 } else { replicas }).map(move |replica| match whole {
        Some(_) => combination(orders[0][replica], &counts),
        None => orders.iter().map(|order| order[replica]).collect(),
    })
}

/// The numbers below `count` in blocks, each block in an order of its own; the first one begins with 0.
fn walk(seed: Seed, name: &str, count: usize, length: usize) -> Vec<usize> {
    if count <= 1 {
        return vec![0; length];
    }
    let mut order = Vec::with_capacity(length + count);
    for block in 0..length.div_ceil(count) {
        let mut numbers: Vec<_> = (0..count).collect();
        let place = |number: &usize| seed.derive(&[name, &block.to_string(), &number.to_string()]);
        numbers.sort_by_cached_key(|number| (block == 0 && *number > 0, place(number)));
        order.extend(numbers);
    }
    order.truncate(length);
    order
}

/// The combination with this number; the last turn changes fastest.
fn combination(mut number: usize, counts: &[usize]) -> Vec<usize> {
    let mut chosen = vec![0; counts.len()];
    for (turn, count) in counts.iter().enumerate().rev() {
        chosen[turn] = number % count;
        number /= count;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use proptest::prelude::*;

    use super::choose;
    use crate::plan::{PlanOptions, Scenario, Seed, expand};
    use crate::spec::load;

    fn chosen(seed: u64, counts: &[usize], replicas: usize) -> Vec<Vec<usize>> {
        choose(Seed::new(seed), counts, replicas).collect()
    }

    fn planned(model: &str, replicas: usize) -> Vec<Vec<usize>> {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nmodel: {model}\n\
             parallelism: {{replicas: {replicas}}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let plan = expand(&spec, PlanOptions { seed: Some(7), ..PlanOptions::default() }).expect("a plan");
        plan.scenarios.into_iter().map(|scenario| scenario.variants).collect()
    }

    const TWICE_TWO: &str = "{mode: scripted, turns: [{variants: [{content: a}, {content: b}]}, {content: c}, {variants: [{content: d}, {content: e}]}]}";

    #[test]
    fn four_replicas_see_all_combinations_of_two_turns_with_two_variants() {
        let variants = planned(TWICE_TWO, 4);
        assert_eq!(variants[0], [0, 0, 0], "replica 0 has the first variant of every turn");
        assert_eq!(variants.iter().collect::<HashSet<_>>().len(), 4);
        insta::assert_snapshot!(format!("{variants:?}"), @"[[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]]");
    }

    #[test]
    fn rules_have_variants_too_and_a_script_without_any_has_no_entries() {
        let rule = "{mode: scripted, turns: [{content: a}], match: [{contains: x, turn: {variants: [{content: b}, {content: c}]}}]}";
        let variants: HashSet<_> = planned(rule, 2).into_iter().collect();
        assert_eq!(variants, HashSet::from([vec![0, 0], vec![0, 1]]));
        assert_eq!(planned("{mode: scripted, turns: [{content: a}]}", 2), [vec![0; 0], vec![]]);
    }

    #[test]
    fn a_plan_that_was_stored_without_variants_is_still_read() {
        let old = r#"{"id": "default-r0", "cell": "default", "replica": 0, "seed": 1, "parameters": {}}"#;
        let scenario: Scenario = serde_json::from_str(old).expect("a scenario");
        assert_eq!(scenario.variants, [0; 0]);
        assert!(!serde_json::to_string(&scenario).expect("JSON").contains("variants"));
    }

    proptest! {
        #[test]
        fn each_variant_comes_up_as_often_as_any_other(seed: u64, counts in prop::collection::vec(0usize..5, 1..6), replicas in 1usize..60) {
            let variants = chosen(seed, &counts, replicas);
            prop_assert_eq!(variants.len(), replicas);
            prop_assert!(variants[0].iter().all(|variant| *variant == 0));
            let product: usize = counts.iter().map(|count| (*count).max(1)).product();
            if product <= replicas {
                prop_assert_eq!(variants[..product].iter().collect::<HashSet<_>>().len(), product);
                return Ok(());
            }
            for (turn, count) in counts.iter().enumerate() {
                let mut seen = BTreeMap::<usize, usize>::new();
                variants.iter().for_each(|chosen| *seen.entry(chosen[turn]).or_default() += 1);
                prop_assert!(seen.keys().all(|variant| *variant < (*count).max(1)));
                let (least, most) = (replicas / (*count).max(1), replicas.div_ceil((*count).max(1)));
                prop_assert!(seen.values().all(|times| (least..=most).contains(times)), "{:?}", seen);
            }
        }

        #[test]
        fn more_replicas_do_not_change_the_first_ones(seed: u64, counts in prop::collection::vec(2usize..4, 3..5), replicas in 1usize..8, more in 0usize..20) {
            // As long as both are below the number of combinations, or both are not.
            let product: usize = counts.iter().product();
            let longer = (replicas + more).min(product.saturating_sub(1)).max(replicas);
            prop_assert_eq!(&chosen(seed, &counts, replicas)[..], &chosen(seed, &counts, longer)[..replicas]);
        }
    }
}
