//! Tests of certificates.

use jiff::Timestamp;

use super::cheats::cheats;
use super::{AgentRuns, Certificate, CertificateHeader, CertificateVerdict, ReasonKind};
use crate::checks::testing::files;
use crate::evidence::Evidence;
use crate::plan::{AgentOverride, PlanOptions, expand};
use crate::result::ScenarioResult;
use crate::spec::types::CheatName;
use crate::spec::{Spec, load};
use crate::verdict::ErrorKind;

fn spec(more: &str) -> Spec {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{more}\
         invariants: {{there: {{description: x, check: {{type: file_exists, path: out}}}}}}\n"
    );
    let loaded = load(&text, None);
    loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
}

/// Runs of an agent, of which those pass that this says: by cell and replica.
fn runs(spec: &Spec, agent: AgentOverride, replicas: usize, passes: impl Fn(usize) -> Option<bool>) -> AgentRuns {
    let plan = expand(spec, PlanOptions { replicas: Some(replicas), ..PlanOptions::default() }).expect("a plan");
    let result = |(index, scenario)| match passes(index) {
        None => ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine"),
        Some(passes) => {
            let entries = passes.then(|| crate::checks::testing::entry("out", crate::evidence::FileKind::File));
            let answers = [("there".to_owned(), vec![files(entries)])].into();
            ScenarioResult::judge(spec, scenario, &Evidence { answers, ..Evidence::default() })
        }
    };
    let results = plan.scenarios.iter().enumerate().map(result).collect();
    AgentRuns { agent, plan, results }
}

fn cheat(name: &str) -> AgentOverride {
    AgentOverride::Cheat(CheatName::new(name).expect("a name"))
}

/// The certificate of these runs, with all other cheats failing.
fn certify(spec: &Spec, some: &[AgentRuns]) -> Certificate {
    let planned = cheats(spec);
    let others = planned.iter().filter(|one| one.not_applicable.is_none()).map(|one| cheat(&one.name));
    let others = others.filter(|agent| some.iter().all(|runs| runs.agent != *agent));
    let runs: Vec<_> = some.iter().cloned().chain(others.map(|agent| runs(spec, agent, 1, |_| Some(false)))).collect();
    let made_at: Timestamp = "2026-11-19T10:00:00Z".parse().expect("a time");
    let header = CertificateHeader { spec_digest: "d1".into(), touchstone: "0.1.0".into(), made_at, replicas: 3 };
    Certificate::of(spec, header, &planned, &runs)
}

/// The verdict, and the reasons as people see them.
fn told(certificate: &Certificate) -> (CertificateVerdict, Vec<String>) {
    (certificate.verdict, certificate.reasons.iter().map(ToString::to_string).collect())
}

#[test]
fn nothing_fails_the_solution_passes_and_cheats_fail() {
    let spec = spec("");
    let certificate = certify(
        &spec,
        &[
            runs(&spec, AgentOverride::Noop, 3, |_| Some(false)),
            runs(&spec, AgentOverride::Oracle, 3, |_| Some(true)),
            runs(&spec, cheat("confident"), 1, |_| Some(false)),
        ],
    );
    assert_eq!(told(&certificate), (CertificateVerdict::Certified, vec![]));
    assert!(certificate.certifies("t", "d1") && !certificate.certifies("t", "d2"));
    assert_eq!(certificate.to_string(), "certified 2026-11-19, 3/3 oracle, 3/3 noop, 4 cheats");
    let json = serde_json::to_string(&certificate).expect("JSON");
    assert_eq!(serde_json::from_str::<Certificate>(&json).expect("a certificate"), certificate);
}

#[test]
fn a_cheat_that_passes_is_told_with_the_invariants_that_it_met() {
    let spec = spec("");
    let certificate = certify(
        &spec,
        &[
            runs(&spec, AgentOverride::Noop, 2, |_| Some(false)),
            runs(&spec, AgentOverride::Oracle, 2, |_| Some(true)),
            runs(&spec, cheat("touch-paths"), 1, |_| Some(true)),
        ],
    );
    let expected = "cheat:touch-paths passes".to_owned();
    assert_eq!(told(&certificate), (CertificateVerdict::NotCertified, vec![expected]));
    assert_eq!(certificate.reasons[0].invariants, ["there"]);
    assert_eq!(certificate.to_string(), "not certified 2026-11-19, 2/2 oracle, 2/2 noop, 3 of 4 cheats failed");
}

#[test]
fn every_cell_counts_and_not_only_the_experiment() {
    let spec = spec("parallelism: {matrix: {n: [1, 2]}}\n");
    // Two replicas of the first cell, then two of the second: doing nothing is enough in the second.
    let noop = runs(&spec, AgentOverride::Noop, 2, |index| Some(index >= 2));
    let certificate = certify(&spec, &[noop, runs(&spec, AgentOverride::Oracle, 2, |_| Some(true))]);
    let expected = "noop passes (2 of 2 runs) in the cell n=2".to_owned();
    assert_eq!(told(&certificate), (CertificateVerdict::NotCertified, vec![expected]));
    assert_eq!((certificate.noop.to_string(), certificate.oracle.to_string()), ("2/4".into(), "4/4".into()));
}

#[test]
fn a_solution_that_fails_is_told_with_the_invariants_that_it_missed() {
    let spec = spec("");
    let noop = runs(&spec, AgentOverride::Noop, 2, |_| Some(false));
    let certificate = certify(&spec, &[noop, runs(&spec, AgentOverride::Oracle, 2, |_| Some(false))]);
    assert_eq!(certificate.verdict, CertificateVerdict::NotCertified);
    assert_eq!(certificate.reasons[0].to_string(), "oracle fails (2 of 2 runs)");
    assert_eq!(
        certificate.reasons[0].invariants,
        ["there: expected a file or directory at `out`, found nothing there"]
    );
}

#[test]
fn what_flips_is_the_world_and_goes_before_everything_else() {
    let spec = spec("");
    let noop = runs(&spec, AgentOverride::Noop, 3, |_| Some(true));
    let certificate = certify(&spec, &[noop, runs(&spec, AgentOverride::Oracle, 3, |index| Some(index != 1))]);
    assert_eq!((certificate.verdict, certificate.verdict.exit_code()), (CertificateVerdict::FlakyWorld, 4));
    let flips = certificate.reasons.iter().find(|reason| reason.kind == ReasonKind::Flips).expect("a reason");
    assert_eq!(flips.to_string(), "oracle passes and fails: the world is flaky (2 of 3 passed)");
    assert_eq!(flips.invariants.len(), 1);
}

#[test]
fn what_could_not_be_judged_certifies_nothing() {
    let spec = spec("");
    let noop = || runs(&spec, AgentOverride::Noop, 2, |_| Some(false));
    let oracle = runs(&spec, AgentOverride::Oracle, 2, |index| (index == 0).then_some(true));
    let certificate = certify(&spec, &[noop(), oracle]);
    let expected = "oracle could not be judged (1 of 2 runs)".to_owned();
    assert_eq!(told(&certificate), (CertificateVerdict::NotJudged, vec![expected]));
    assert_eq!(certificate.reasons[0].remarks, ["infrastructure: no engine"]);
    assert_eq!(certify(&spec, &[noop()]).verdict, CertificateVerdict::NotJudged, "without a solution");
}
