//! Choosing scenarios of a plan.

use globset::{GlobBuilder, GlobMatcher};

use super::purpose::Purpose;
use super::scenario::{Plan, Scenario, word};
use crate::spec::Spec;

/// A pattern that chooses scenarios: `*` stands for any characters, `?` for one, everything else for itself.
///
/// It matches the whole of a scenario's id, its cell's id, the spec's id, `SPEC-ID/SCENARIO-ID`, the spec's suite, one of
/// its tags, `NAME=VALUE` of a parameter, `chaos=NAME` of a chaos cell, or `invariant=ID` of a contract's rule.
#[derive(Debug, Clone)]
pub struct Filter {
    matcher: GlobMatcher,
}

/// The reason why a pattern is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// There is nothing.
    #[error("a filter is empty: write a scenario's id, a spec's id, a suite, a tag or NAME=VALUE of a parameter")]
    Empty,
    /// It is not written as one.
    #[error("`{pattern}` is no filter: {}", source.kind())]
    Syntax {
        /// The pattern.
        pattern: String,
        /// The reason.
        source: globset::Error,
    },
}

impl Filter {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, FilterError> {
        if pattern.is_empty() {
            return Err(FilterError::Empty);
        }
        let glob = GlobBuilder::new(&glob_of_wildcards(pattern))
            .literal_separator(false)
            .backslash_escape(true)
            .build()
            .map_err(|source| FilterError::Syntax { pattern: pattern.to_owned(), source })?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    /// Returns true if the filter selects this scenario of the spec.
    #[must_use]
    pub fn matches(&self, scenario: &Scenario, spec: &Spec) -> bool {
        let is_match = |text: &str| self.matcher.is_match(text);
        is_match(scenario.id.as_str())
            || is_match(scenario.cell.as_str())
            || is_match(spec.id.as_str())
            || is_match(&format!("{}/{}", spec.id, scenario.id))
            || spec.suite.iter().chain(&spec.tags).any(|label| is_match(label.as_str()))
            || (!scenario.chaos.is_empty() && is_match(&format!("chaos={}", scenario.chaos)))
            || matches!(&scenario.purpose, Purpose::Invariant(id) if is_match(&format!("invariant={id}")))
            || scenario.parameters.iter().any(|(name, value)| is_match(&format!("{name}={}", word(value))))
    }
}

/// A pattern as a glob: `*` and `?` keep their meaning, several `*` are one, and nothing else has any.
pub(crate) fn glob_of_wildcards(pattern: &str) -> String {
    let mut glob = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        match character {
            '*' if glob.ends_with('*') && !glob.ends_with("\\*") => {}
            '[' | ']' | '{' | '}' | '!' | ',' | '\\' => glob.extend(['\\', character]),
            character => glob.push(character),
        }
    }
    glob
}

impl Plan {
    /// The plan with only the scenarios that one of the filters chooses, with the ids and seeds that they had; all of
    /// them without a filter. `None` when none is left.
    #[must_use]
    pub fn narrowed(mut self, filters: &[Filter], spec: &Spec) -> Option<Self> {
        if !filters.is_empty() {
            self.scenarios.retain(|scenario| filters.iter().any(|filter| filter.matches(scenario, spec)));
        }
        (!self.scenarios.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;
    use crate::plan::{Plan, PlanOptions, expand};
    use crate::spec::{Spec, load};

    const SPEC: &str = "
version: 1
id: refund-agent
suite: shop
tags: [money/out, 'v1.0']
base: debian
task: {prompt: x}
agent: {type: noop}
invariants: {x: {description: x, check: {type: file_exists, path: x}}}
parallelism: {replicas: 2, matrix: {model: [small, large]}}
";

    fn plan() -> (Spec, Plan) {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        (spec, plan)
    }

    fn chosen(patterns: &[&str]) -> usize {
        let (spec, plan) = plan();
        let filters: Vec<_> = patterns.iter().map(|pattern| Filter::new(pattern).expect("a filter")).collect();
        plan.narrowed(&filters, &spec).map_or(0, |plan| plan.scenarios.len())
    }

    #[test]
    fn a_filter_matches_the_whole_of_a_name() {
        let (_, plan) = plan();
        let (id, cell) = (plan.scenarios[1].id.as_str(), plan.scenarios[1].cell.as_str());
        assert_eq!((chosen(&[]), chosen(&[id]), chosen(&[cell])), (4, 1, 2));
        assert_eq!(chosen(&[&format!("refund-agent/{id}")]), 1);
        for all in ["refund-agent", "shop", "money/out", "v1.0", "*", "**", "refund-agent/*", "m*t", "sho?", "r**t"] {
            assert_eq!(chosen(&[all]), 4, "{all}");
        }
        for none in ["refund", "SHOP", "out", "v1?0?", "[s]hop", "{shop,x}", "v1.0 ", "small", "shop/*", "\\shop"] {
            assert_eq!(chosen(&[none]), 0, "{none}");
        }
        for half in ["model=small", "model=s*", "*=large"] {
            assert_eq!(chosen(&[half]), 2, "{half}");
        }
        assert_eq!((chosen(&["model=*"]), chosen(&["model="]), chosen(&["mode=small"])), (4, 0, 0));
        assert_eq!((chosen(&["*-r0"]), chosen(&["small-*"]), chosen(&["small-*", "*-r0"])), (2, 2, 3));
        assert!(Filter::new("").is_err());
    }

    #[test]
    fn scenarios_that_stay_do_not_change() {
        let (spec, plan) = plan();
        let filter = Filter::new("large-*-r1").expect("a filter");
        let narrowed = plan.clone().narrowed(&[filter], &spec).expect("a plan");
        assert_eq!((narrowed.seed, narrowed.scenarios.as_slice()), (plan.seed, &plan.scenarios[3..]));
    }
}
