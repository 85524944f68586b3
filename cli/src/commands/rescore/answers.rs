//! Which of the stored answers are answers to what a spec asks.

use std::collections::BTreeMap;

use scenario::checks::Check;
use scenario::evidence::{Answer, Evidence, Probe};
use scenario::plan::{PlanOptions, Scenario, Values, expand};
use scenario::spec::Spec;
use store::SpecContent;

use crate::output::CommandError;

/// A spec with the files beside it.
#[derive(Debug)]
pub(super) struct Version {
    /// The spec.
    pub(super) spec: Spec,
    /// What is kept of it.
    pub(super) content: SpecContent,
}

/// The evidence with the answers to what this version asks, and no others: a check that asks something new cannot be
/// judged, for what came of another question says nothing about it.
pub(super) fn answering(now: &Version, asked: &Version, scenario: &Scenario, evidence: Evidence) -> Evidence {
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for (name, invariant) in now.spec.invariants.iter() {
        let same = |check: &Check| is_same(now, &invariant.check, asked, check, scenario, &evidence);
        let by_name = asked.spec.invariants.iter().filter(|(old, _)| *old == name);
        // An invariant may have got another name.
        let found = by_name.chain(asked.spec.invariants.iter()).find(|(_, old)| same(&old.check));
        if let Some(found) = found.and_then(|(old, _)| evidence.answers.get(old.as_str())) {
            answers.insert(name.to_string(), found.clone());
        }
    }
    Evidence { answers, ..evidence }
}

/// Finds out whether scenarios of a run have all parameters that this spec uses.
pub(super) fn check_parameters(spec: &Spec, scenarios: &[&Scenario]) -> Result<(), CommandError> {
    let plan = expand(spec, PlanOptions::default()).map_err(|error| CommandError::Usage(error.to_string()))?;
    let used = plan.scenarios.first().map(|scenario| &scenario.parameters);
    let missing = used.into_iter().flat_map(|used| used.keys()).find(|name| {
        let has = |scenario: &&Scenario| scenario.parameters.contains_key(*name);
        !scenarios.iter().all(has)
    });
    match missing {
        None => Ok(()),
        Some(name) => Err(CommandError::Usage(format!(
            "the given spec has the parameter `{name}`, which the scenarios of the run have not: run it instead"
        ))),
    }
}

/// Whether two checks ask the same.
fn is_same(
    now: &Version,
    check: &Check,
    asked: &Version,
    old: &Check,
    scenario: &Scenario,
    evidence: &Evidence,
) -> bool {
    // What a model is asked is in the check itself.
    if matches!((check, old), (Check::LlmAsJudge(_), _) | (_, Check::LlmAsJudge(_))) {
        return check == old;
    }
    let probes = check.probes(&Values::for_judging(&now.spec, scenario, evidence));
    probes == old.probes(&Values::for_judging(&asked.spec, scenario, evidence))
        && probes.iter().all(|probe| match probe {
            Probe::Script { script, .. } => file(now, script) == file(asked, script),
            Probe::Command { .. } | Probe::Files { .. } | Probe::Sql { .. } => true,
        })
}

fn file<'a>(version: &'a Version, path: &str) -> Option<&'a [u8]> {
    let path = path.strip_prefix("./").unwrap_or(path);
    version.content.files.iter().find(|file| file.path == path).map(|file| file.content.as_slice())
}
