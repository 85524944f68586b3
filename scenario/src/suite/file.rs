//! `suite.yaml`: several specs that are run and judged together.

use crate::coverage::CapabilityMatrix;
use crate::plan::{AgentOverride, UnknownAgent};
use crate::spec::code::Code;
use crate::spec::diagnostic::{Diagnostic, closest, did_you_mean};
use crate::spec::path::Path;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{by_default, section};
use crate::spec::shape::Shape;
use crate::spec::types::{Dollars, Fraction, Label, Many, SpecId, Table, Weight, Whole};
use crate::spec::yaml::Node;
use crate::spec::{Document, read_document, tree};

section! {
    /// Several specs that are run and judged together, with bars of their own. `touchstone run suite.yaml` runs it; so does the
    /// folder that has a file of this name. Paths are relative to the file.
    ///
    /// ```yaml
    /// suite: checkout
    /// specs: [specs/refund, specs/cart, "specs/search-*"]
    /// weights: { refund-agent: 2 }
    /// floors: { pass_rate: 0.9, coverage: 0.8 }
    /// capabilities: capabilities.yaml
    /// forecast: { runs_per_day: 5000, price_per_mtok: 5 }
    /// ```
    pub struct Suite {
        /// The suite's name.
        suite: Label,
        /// What the suite is about, for people.
        description: String = String::new(),
        /// The specs: files, folders and patterns.
        specs: Many<SuitePath>,
        /// How much a spec counts in the suite's means, by its id; 1 without it. A spec that weighs 0 must pass all the same.
        weights: Table<SpecId, Weight> = Table::default(),
        /// What the suite must reach, besides what its specs ask for. Floors only make passing harder.
        floors: Floors = by_default(),
        /// The file with the capabilities that the suite is meant to show.
        capabilities: Option<SuitePath>,
        /// Makes it an error when a spec names a capability that the list does not have.
        strict_tags: bool = false,
        /// Who acts in place of the specs' own agents, when `--agent` does not say: `noop`, `oracle`, or a line for `sh -c`.
        agent: Option<SuiteAgent>,
        /// The folder with the files of a command that `agent` names. They come to `/opt/agent`.
        agent_files: Option<SuitePath>,
        /// What `touchstone ci` compares with when `--baseline` is not given: a report's file, or the name of a baseline.
        baseline: Option<SuitePath>,
        /// The file that lists scenarios whose failures do not fail the suite.
        quarantine: Option<SuitePath>,
        /// Projects tokens and cost to days and months.
        forecast: Option<ForecastSettings>,
    }
}

section! {
    /// What a suite must reach, besides what its specs ask for.
    pub struct Floors {
        /// The pass rate that every cell of every spec must reach, if its own bar is not higher.
        pass_rate: Option<Fraction>,
        /// The mean pass^k of the specs: the share of their cells of which every replica passed.
        pass_k: Option<Fraction>,
        /// The share of the capabilities that must be covered.
        coverage: Option<Fraction>,
    }
}

section! {
    /// How often the agent will run, and what its model costs.
    pub struct ForecastSettings {
        /// How often it is meant to succeed in a day.
        runs_per_day: Whole<1, 1_000_000_000>,
        /// What a million tokens cost, in US dollars. Without it, the prices of the models that answered are used.
        price_per_mtok: Option<Dollars>,
    }
}

/// The agent that a suite names.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct SuiteAgent(AgentOverride);

impl SuiteAgent {
    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &AgentOverride {
        &self.0
    }
}

impl Readable for SuiteAgent {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, reader)?;
        match text.parse() {
            Ok(agent) => Some(Self(agent)),
            Err(unknown) => {
                let unknown: UnknownAgent = unknown;
                let near = closest(&text, AgentOverride::PLAIN.iter().filter_map(AgentOverride::name));
                reader.invalid(node, unknown.to_string(), near.map(|near| format!("did you mean `{near}`?")))
            }
        }
    }

    fn shape() -> Shape {
        Shape::Filled
    }
}

/// A path in a suite's file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct SuitePath(String);

impl SuitePath {
    /// The path, as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Readable for SuitePath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, reader)?;
        if text.trim().is_empty() || text.contains('\0') {
            return reader.invalid(node, "this is no path", Some("write a path relative to this file".to_owned()));
        }
        Some(Self(text))
    }

    fn shape() -> Shape {
        Shape::Filled
    }
}

/// Keys that only a suite has.
const OWN_KEYS: [&str; 7] = ["specs", "floors", "weights", "baseline", "quarantine", "forecast", "strict_tags"];
/// Keys that only a spec has and nearly every spec does.
const KEYS_OF_SPECS: [&str; 5] = ["version", "id", "base", "task", "invariants"];

impl Suite {
    /// Reads a suite's file.
    #[must_use]
    pub fn load(text: &str) -> Document<Self> {
        read_document(text, "suite")
    }

    /// Whether a text is a suite rather than a spec: it has a key that only suites have, and none of those that every spec has.
    #[must_use]
    pub fn is_suite(text: &str) -> bool {
        let Some(root) = tree(text) else { return false };
        let has =
            |wanted: &[&str]| root.entries().into_iter().flatten().any(|entry| wanted.contains(&entry.key.as_str()));
        has(&OWN_KEYS) && !has(&KEYS_OF_SPECS)
    }

    /// How much a spec counts in the means.
    #[must_use]
    pub fn weight(&self, spec: &str) -> f64 {
        self.weights.iter().find(|(id, _)| id.as_str() == spec).map_or(1.0, |(_, weight)| weight.get())
    }

    /// What is wrong between a suite and the specs that it names: weights of specs that it does not have, or that leave nothing
    /// to take a mean of.
    #[must_use]
    pub fn check(&self, text: &str, specs: &[&str]) -> Vec<Diagnostic> {
        let root = tree(text);
        let weights = root.as_ref().and_then(|root| root.entries()?.iter().find(|entry| entry.key == "weights"));
        let Some(weights) = weights else { return Vec::new() };
        let is_unknown = |id: &str| !specs.contains(&id);
        let mut found: Vec<_> = weights
            .value
            .entries()
            .into_iter()
            .flatten()
            .filter(|entry| is_unknown(&entry.key))
            .map(|entry| Diagnostic {
                code: Code::InvalidValue,
                message: format!("the suite has no spec with the id `{}`", crate::untrusted::line(&entry.key, 100)),
                help: did_you_mean(&entry.key, specs.iter().copied()),
                path: Path::default().key("weights").key(&entry.key),
                span: entry.key_span,
            })
            .collect();
        if !specs.is_empty() && specs.iter().all(|spec| self.weight(spec) == 0.0) {
            found.push(Diagnostic {
                code: Code::ZeroWeight,
                message: "all specs weigh 0, so there is nothing to average".to_owned(),
                help: None,
                path: Path::default().key("weights"),
                span: weights.key_span,
            });
        }
        found
    }

    /// What is wrong between a suite and its list of capabilities: a floor for a coverage that nobody can compute.
    #[must_use]
    pub fn check_coverage(&self, text: &str, matrix: Option<&CapabilityMatrix>) -> Vec<Diagnostic> {
        if self.floors.coverage.is_none() || matrix.is_some() {
            return Vec::new();
        }
        let root = tree(text);
        let floors = root.as_ref().and_then(|root| root.entries()?.iter().find(|entry| entry.key == "floors"));
        vec![Diagnostic {
            code: Code::MissingKey,
            message: "`floors.coverage` needs `capabilities`".to_owned(),
            help: Some("name the file with the list of capabilities".to_owned()),
            path: Path::default().key("floors").key("coverage"),
            span: floors.map(|entry| entry.key_span).unwrap_or_default(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::Suite;
    use crate::spec::diagnostic::Diagnostic;

    fn lines(found: &[Diagnostic]) -> Vec<String> {
        let help = |found: &Diagnostic| found.help.clone().map(|help| format!(" ({help})")).unwrap_or_default();
        found
            .iter()
            .map(|one| format!("{}:{} {}: {}{}", one.span.line, one.span.column, one.path, one.message, help(one)))
            .collect()
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let read = Suite::load(text);
        assert!(read.value.is_none(), "{text}");
        assert!(
            lines(&read.diagnostics).iter().any(|line| line.starts_with(expected)),
            "{:?}",
            lines(&read.diagnostics)
        );
    }

    const WHOLE: &str = "suite: checkout\nspecs: [specs/refund, 'specs/x-*']\nweights: {refund: 2, x-1: 0}\n\
                         floors: {pass_rate: 0.9, pass_k: 0.5, coverage: 0.8}\ncapabilities: c.yaml\nstrict_tags: true\n\
                         baseline: main\nquarantine: quarantine.yaml\nforecast: {runs_per_day: 5000, price_per_mtok: 5}\n";

    #[test]
    fn a_suite_is_read_with_everything_it_says() {
        let read = Suite::load(WHOLE);
        assert_eq!(lines(&read.diagnostics), [""; 0]);
        let suite = read.value.expect("a suite");
        assert_eq!(suite.specs.iter().map(super::SuitePath::as_str).collect::<Vec<_>>(), ["specs/refund", "specs/x-*"]);
        assert_eq!(["refund", "x-1", "x-2"].map(|spec| suite.weight(spec)), [2.0, 0.0, 1.0]);
        assert_eq!(suite.floors.pass_rate.map(crate::spec::types::Fraction::get), Some(0.9));
        assert_eq!(suite.forecast.map(|forecast| forecast.runs_per_day.get()), Some(5000));
    }

    #[test]
    fn what_is_wrong_with_a_suite_is_said_with_its_place() {
        refused("suite: x\nspecs: [a]\nagent: orcale\n", "3:8 agent: this version knows no agent `orcale`; ");
        refused(
            "suite: x\nspecs: [a]\nfloor: {pass_rate: 1}\n",
            "3:1 floor: unknown key `floor` (did you mean `floors`?)",
        );
        refused("suite: x\nspecs: []\n", "2:8 specs: ");
        refused("suite: x\nspecs: a\n", "2:8 specs: expected a list, found ");
        refused("specs: [a]\n", "1:1 : the key `suite` is missing");
        refused("suite: x\nspecs: [a, '']\n", "2:12 specs[1]: this is no path");
        refused(
            "suite: x\nspecs: [a]\nfloors: {pass_rate: 90}\n",
            "3:21 floors.pass_rate: expected a number from 0 to 1",
        );
        refused(
            "suite: x\nspecs: [a]\nforecast: {price_per_mtok: 5}\n",
            "3:11 forecast: the key `runs_per_day` is missing",
        );
        refused(
            "suite: x\nspecs: [a]\nforecast: {runs_per_day: 0}\n",
            "3:26 forecast.runs_per_day: expected a whole number",
        );
        refused("suite: x\nspecs: [a]\nweights: {A B: 1}\n", "3:11 weights[\"A B\"]: ");
        refused("suite: x\nsuite: y\nspecs: [a]\n", "2:1");
    }

    #[test]
    fn weights_belong_to_specs_of_the_suite_and_leave_something() {
        let suite = Suite::load(WHOLE).value.expect("a suite");
        assert_eq!(suite.check(WHOLE, &["refund", "x-1"]), []);
        let found = lines(&suite.check(WHOLE, &["refunds"]));
        assert_eq!(
            found,
            [
                "3:11 weights.refund: the suite has no spec with the id `refund` (did you mean `refunds`?)",
                "3:22 weights.x-1: the suite has no spec with the id `x-1`"
            ]
        );
        assert_eq!(
            lines(&suite.check(WHOLE, &["x-1"]))[1],
            "3:1 weights: all specs weigh 0, so there is nothing to average"
        );
        assert_eq!(
            lines(&suite.check_coverage(WHOLE, None)),
            [
                "4:1 floors.coverage: `floors.coverage` needs `capabilities` (name the file with the list of capabilities)"
            ]
        );
    }

    #[test]
    fn a_suite_is_told_from_a_spec_by_its_keys() {
        assert!(Suite::is_suite(WHOLE) && Suite::is_suite("specs: [a]") && Suite::is_suite("suite: x\nfloors: {}\n"));
        for spec in ["version: 1\nid: x\nsuite: s\n", "suite: x\n", "", "- a\n", "version: 1\nspecs: [a]\n", "a: [}"] {
            assert!(!Suite::is_suite(spec), "{spec}");
        }
    }
}
