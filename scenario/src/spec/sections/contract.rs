//! `contract`: rules that must hold in every chaos cell.

use serde::Serialize;

use super::chaos::{Chaos, ChaosCell};
use super::invariant::{Guards, Severity};
use crate::checks::Check;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section};
use crate::spec::shape::{Shape, Tagged};
use crate::spec::types::{Filled, InvariantName, Many, Percent, Whole};
use crate::spec::yaml::Node;

section! {
    /// Rules that must hold in every chaos cell. Each invariant is judged in each chaos cell; what comes out is a matrix, and a
    /// resilience score from 0 to 100: the weights of the cells that hold, divided by those of all cells that were judged.
    ///
    /// The contract fails when an invariant with `severity: critical` fails in any chaos cell, or when `min_score` is missed. The
    /// number itself is never set to zero.
    ///
    /// ```yaml
    /// contract:
    ///   name: Finance agent
    ///   invariants:
    ///     - { id: cites-a-source, type: regex, pattern: "(?i)source|according to", severity: critical }
    ///     - { id: fast-enough, type: latency, max_ms: 60000 }
    /// chaos_matrix:
    ///   - { name: no-chaos }
    ///   - { name: search-down, tool_faults: [{ tool: search, mode: error, error_code: 503 }] }
    /// ```
    pub struct Contract {
        /// Its name, for people.
        name: Filled,
        /// What it is about, for people.
        description: String = String::new(),
        /// The rules.
        invariants: Many<ContractInvariant, 100>,
        /// The worlds in which they must hold, when they do not stand at the top level.
        chaos_matrix: Option<Many<ChaosCell, 100>>,
        /// The resilience score that the contract needs.
        min_score: Option<Percent>,
        /// What is shared between the cells of the matrix.
        isolation: Isolation = Isolation::Cell,
        /// How often the agent is run for each cell. `scoring.replica_aggregation` says how the runs decide together.
        repeat: Whole<1, 1000> = Whole::new(1),
        /// Makes a cell with faults that holds although none fired `inconclusive`.
        require_fired: bool = false,
    }
}

choice! {
    /// What the cells of a contract's matrix share.
    pub enum Isolation {
        /// Nothing: the agent is run in a fresh sandbox for every invariant in every chaos cell.
        Cell = "cell",
        /// The run of their chaos cell: all invariants are judged on it, and the agent is run once for them. Invariants with
        /// `probes` still have runs of their own.
        Scenario = "scenario",
        /// The sandbox of their chaos cell: the agent is invoked in it for each invariant and each prompt, one after the other, and
        /// reset in between as `agent.reset` says. What looks at the output, the exit or the time is judged on the invocations of its
        /// invariant, and what looks at files, databases and services on what is left after the last one.
        Reuse = "reuse",
    }
}

section! {
    /// A rule of a contract. The keys of its check stand beside these, with `type` as in Flakestorm, or below `check`.
    ///
    /// ```yaml
    /// contract:
    ///   name: Finance agent
    ///   invariants:
    ///     - id: never-invents-prices
    ///       type: regex
    ///       pattern: '\$[\d,]+\.\d{2}'
    ///       negate: true
    ///       severity: critical
    ///       guards: honesty
    ///     - id: keeps-the-report
    ///       guards: state
    ///       check: { type: file_content, path: report.md, contains: ACME }
    /// ```
    pub struct ContractRule {
        /// Its name, unlike that of any other.
        id: InvariantName,
        /// What it means, for people.
        description: Option<String>,
        /// How bad it is when it does not hold.
        severity: Severity = Severity::Medium,
        /// In which chaos cells it is judged.
        when: When = When::Always,
        /// Makes it hold when its check does not.
        negate: bool = false,
        /// What is lost when it does not hold.
        guards: Guards = Guards::Task,
        /// Prompts for this rule, in place of the task's own. The agent is run for each, and the rule must hold in all.
        probes: Option<Many<Filled, 100>>,
    }
}

section! {
    /// The check of a rule under a key of its own.
    pub struct NestedCheck {
        /// How it is tested.
        check: Check,
    }
}

choice! {
    /// In which chaos cells a rule is judged, by the faults that they configure.
    pub enum When {
        /// In all of them.
        Always = "always",
        /// In those with `tool_faults`.
        ToolFaultsActive = "tool_faults_active",
        /// In those with `llm_faults`.
        LlmFaultsActive = "llm_faults_active",
        /// In those with any fault or attack.
        AnyChaosActive = "any_chaos_active",
        /// In those without.
        NoChaos = "no_chaos",
    }
}

/// A rule of a contract, and how it is tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContractInvariant {
    /// The part that all rules have.
    #[serde(flatten)]
    pub rule: ContractRule,
    /// The check that tests it.
    pub check: Check,
}

impl Readable for ContractInvariant {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let rule = ContractRule::read_fields(&mut map, reader);
        let check = if node.get("check").is_some() {
            let nested = NestedCheck::read_fields(&mut map, reader);
            map.finish(reader, &[]);
            nested.map(|nested| nested.check)
        } else {
            let check = Check::read_variant(&mut map, reader);
            finish_tagged(&map, reader, "type", Check::variants());
            check
        };
        Some(Self { rule: rule?, check: check? })
    }

    fn shape() -> Shape {
        let mut nested = ContractRule::section();
        let flat = Shape::Tagged(Tagged {
            name: "ContractCheck",
            doc: "A rule of a contract with the keys of its check beside its own.".to_owned(),
            tag: "type",
            absent: None,
            common: nested.fields.clone(),
            variants: Check::variants(),
        });
        nested.fields.extend(NestedCheck::section().fields);
        Shape::Either(vec![Shape::Section(nested), flat])
    }
}

impl When {
    /// Returns true if a rule is judged in a world with these faults.
    #[must_use]
    pub fn holds_in(self, chaos: &Chaos) -> bool {
        match self {
            Self::Always => true,
            Self::ToolFaultsActive => !chaos.tool_faults.is_empty(),
            Self::LlmFaultsActive => !chaos.llm_faults.is_empty(),
            Self::AnyChaosActive => chaos.has_faults(),
            Self::NoChaos => !chaos.has_faults(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ContractInvariant, When};
    use crate::checks::testing::read;
    use crate::spec::load;

    #[test]
    fn a_rule_has_the_keys_of_its_check_beside_its_own_or_below_check() {
        let flat: ContractInvariant = read("{id: quick, severity: high, when: no_chaos, type: latency, max_ms: 5}");
        let nested: ContractInvariant =
            read("{id: quick, severity: high, when: no_chaos, check: {type: latency, max_ms: 5}}");
        assert_eq!(flat, nested);
        assert_eq!((flat.rule.when, flat.rule.negate, flat.check.word()), (When::NoChaos, false, "latency"));
    }

    fn findings(rule: &str) -> Vec<String> {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             contract: {{name: x, invariants: [{rule}]}}\n"
        );
        let loaded = load(&text, None);
        loaded.diagnostics.iter().map(|finding| format!("{} {}", finding.path, finding.message)).collect()
    }

    #[test]
    fn a_rule_is_not_written_in_both_ways_and_misspelt_keys_are_told() {
        assert_eq!(findings("{id: x, type: completes}"), Vec::<String>::new());
        let both = findings("{id: x, type: completes, check: {type: completes}}");
        assert_eq!(both, ["contract.invariants[0].type unknown key `type`"]);
        let misspelt = findings("{id: x, severty: high, type: completes}");
        assert_eq!(misspelt, ["contract.invariants[0].severty unknown key `severty`"]);
        assert_eq!(findings("{id: x}"), ["contract.invariants[0] the key `type` is missing"]);
    }
}
