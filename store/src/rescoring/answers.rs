//! Which of the stored answers are answers to what a spec asks.

use std::collections::BTreeMap;

use scenario::checks::{Case, Check};
use scenario::evidence::{AgentRecord, Answer, BaselineRun, Evidence, Invocation, Probe};
use scenario::plan::{PlanOptions, Purpose, Scenario, Values, expand};
use scenario::spec::Spec;

use super::Version;
use crate::error::StoreError;

/// The evidence with the answers to what this version asks, and no others: a check that asks something new cannot be
/// judged, for what came of another question says nothing about it.
pub(super) fn answering(now: &Version, asked: &Version, scenario: &Scenario, evidence: Evidence) -> Evidence {
    let baseline = evidence.baseline.as_ref();
    let seen = Seen { scenario, evidence: &evidence, agent: &evidence.agent, baseline, answers: &evidence.answers };
    let answers = answers_to(now, asked, scenario, &seen);
    let invocations = evidence.invocations.iter().map(|invocation| {
        let Some(agent) = &invocation.agent else { return invocation.clone() };
        let purpose = invocation.rule.clone().map_or(Purpose::Everything, Purpose::Invariant);
        let of_one = Scenario { purpose, prompt: invocation.prompt, ..scenario.clone() };
        let (baseline, answers) = (invocation.baseline.as_ref(), &invocation.answers);
        let seen = Seen { scenario: &of_one, evidence: &evidence, agent, baseline, answers };
        Invocation { answers: answers_to(now, asked, scenario, &seen), ..invocation.clone() }
    });
    let invocations = invocations.collect();
    Evidence { answers, invocations, ..evidence }
}

/// The subject of answers.
struct Seen<'a> {
    /// The scenario, or the invocation as one.
    scenario: &'a Scenario,
    evidence: &'a Evidence,
    agent: &'a AgentRecord,
    baseline: Option<&'a BaselineRun>,
    /// The answers, by the name of their invariant.
    answers: &'a BTreeMap<String, Vec<Answer>>,
}

/// The answers to what the invariants of a scenario ask now.
fn answers_to(now: &Version, asked: &Version, scenario: &Scenario, seen: &Seen<'_>) -> BTreeMap<String, Vec<Answer>> {
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    let old = scenario.judged(&asked.spec);
    for judged in scenario.judged(&now.spec) {
        let same = |old: &str, check: &Check| {
            let (one, other) = ((now, judged.check), (asked, check));
            is_same(one, other, seen, seen.answers.get(old).map_or(&[][..], Vec::as_slice))
        };
        let by_name = old.iter().filter(|old| old.name == judged.name);
        // An invariant may have got another name.
        let found = by_name.chain(&old).find(|old| same(old.name, old.check));
        if let Some(found) = found.and_then(|old| seen.answers.get(old.name)) {
            answers.insert(judged.name.to_owned(), wanted(judged.check, found));
        }
    }
    answers
}

/// Finds out whether all that the rules of this spec go by was recorded for the other.
pub(super) fn check_records(now: &Spec, asked: &Spec) -> Result<(), StoreError> {
    let (wanted, kept) = (now.effective_audit(), asked.effective_audit());
    let switches = [
        ("audit.db_writes", wanted.db_writes && !kept.db_writes),
        ("audit.http_calls", wanted.http_calls && !kept.http_calls),
        ("audit.file_writes", wanted.file_writes && !kept.file_writes),
        ("audit.commands", wanted.commands && !kept.commands),
    ];
    let is_bait = |spec: &Spec, name: &str| {
        spec.secrets.iter().any(|secret| secret.name().as_str() == name && secret.entry().honeytoken)
    };
    let new_bait = now.secrets.iter().find(|secret| {
        let name = secret.name().as_str();
        is_bait(now, name) && !is_bait(asked, name)
    });
    let missing = switches.into_iter().find(|(_, missing)| *missing).map(|(name, _)| name.to_owned());
    match missing.or_else(|| new_bait.map(|bait| format!("the honeytoken `{}`", bait.name()))) {
        None => Ok(()),
        Some(what) => Err(StoreError::Conflict(format!(
            "the given spec goes by {what}, which was not recorded when it was run: run it instead"
        ))),
    }
}

/// Finds out whether scenarios of a run have all parameters that this spec uses.
pub(super) fn check_parameters(spec: &Spec, scenarios: &[&Scenario]) -> Result<(), StoreError> {
    let plan = expand(spec, PlanOptions::default()).map_err(|error| StoreError::Conflict(error.to_string()))?;
    let used = plan.scenarios.first().map(|scenario| &scenario.parameters);
    let missing = used.into_iter().flat_map(|used| used.keys()).find(|name| {
        let has = |scenario: &&Scenario| scenario.parameters.contains_key(*name);
        !scenarios.iter().all(has)
    });
    match missing {
        None => Ok(()),
        Some(name) => Err(StoreError::Conflict(format!(
            "the given spec has the parameter `{name}`, which the scenarios of the run have not: run it instead"
        ))),
    }
}

/// The answers that a check wants: nothing of a model that it does not ask, and no more samples of a judge than it asks for.
fn wanted(check: &Check, answers: &[Answer]) -> Vec<Answer> {
    let is_models = |answer: &Answer| matches!(answer, Answer::Judge(_) | Answer::Embedding(_));
    let (mut replies, mut wanted): (Vec<_>, Vec<_>) = answers.iter().cloned().partition(is_models);
    replies.truncate(match check {
        Check::LlmAsJudge(judge) => judge.samples(),
        other => usize::from(other.asked_model().is_some()),
    });
    wanted.append(&mut replies);
    wanted
}

/// True when two checks ask the same question. They may judge the answer in different ways.
fn is_same(
    (now, check): (&Version, &Check),
    (asked, old): (&Version, &Check),
    seen: &Seen<'_>,
    answers: &[Answer],
) -> bool {
    let Seen { scenario, evidence, agent, baseline, .. } = *seen;
    let baseline = baseline.map(|run| &run.stdout);
    let values = Values::for_judging(&now.spec, scenario, evidence);
    let old_values = Values::for_judging(&asked.spec, scenario, evidence);
    let case = Case { agent, baseline, ..Case::new(answers, evidence, &values) };
    let old_case = Case { agent, baseline, ..Case::new(answers, evidence, &old_values) };
    let ask_models_the_same = match (check, old) {
        (Check::LlmAsJudge(judge), Check::LlmAsJudge(old)) => {
            let request = judge.request(&case).ok();
            // Without a request, the verdict is known without a model.
            request.is_none() || request == old.request(&old_case).ok()
        }
        (Check::LlmAsJudge(_), _) | (_, Check::LlmAsJudge(_)) => false,
        _ => match check.embedding(&case) {
            None | Some(Err(_)) => true,
            Some(Ok(request)) => old.embedding(&old_case).and_then(Result::ok) == Some(request),
        },
    };
    let probes = check.probes(&values);
    ask_models_the_same
        && probes == old.probes(&old_values)
        && probes.iter().all(|probe| match probe {
            Probe::Script { script, .. } => file(now, script) == file(asked, script),
            Probe::Command { .. } | Probe::Files { .. } | Probe::Sql { .. } => true,
        })
}

fn file<'a>(version: &'a Version, path: &str) -> Option<&'a [u8]> {
    let path = path.strip_prefix("./").unwrap_or(path);
    version.content.files.iter().find(|file| file.path == path).map(|file| file.content.as_slice())
}

#[cfg(test)]
mod tests {
    use scenario::evidence::{
        AgentRecord, Answer, Captured, Embedding, EmbeddingAnswer, EmbeddingReply, Evidence, JudgeAnswer, Usage,
    };
    use scenario::plan::{PlanOptions, expand};
    use scenario::result::ScenarioResult;
    use scenario::spec::load;
    use scenario::verdict::{ErrorKind, Outcome};

    use super::{Version, answering};
    use crate::specs::SpecContent;

    fn version(prompt: &str, check: &str) -> Version {
        checked(prompt, &format!("type: llm_as_judge, {check}"))
    }

    fn checked(prompt: &str, check: &str) -> Version {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: {prompt}}}\nagent: {{type: noop}}\n\
             invariants: {{kind: {{description: x, check: {{{check}}}}}}}\n"
        );
        let loaded = load(&text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        Version { spec, content: SpecContent { text, files: Vec::new() } }
    }

    const ASKED: &str = "criteria: Be kind., pass_threshold: 0.5, samples: 2";

    /// Judges what two samples said by another version.
    fn rescored(prompt: &str, check: &str) -> Outcome {
        let (asked, now) = (version("x", ASKED), version(prompt, check));
        let sample = |score: f64| {
            let reply = Ok(format!("{{\"score\": {score}}}"));
            Answer::Judge(JudgeAnswer { reply, usage: Usage::default(), cached: false })
        };
        outcome(&asked, &now, vec![sample(0.6), sample(0.8)])
    }

    /// Judges what models answered to one version by another.
    fn outcome(asked: &Version, now: &Version, answers: Vec<Answer>) -> Outcome {
        let scenario = expand(&asked.spec, PlanOptions::default()).expect("a plan").scenarios.remove(0);
        let evidence = Evidence {
            agent: AgentRecord { stdout: Captured::from("Dear Ada"), ..AgentRecord::default() },
            marker_key: Some("0123456789abcdef".to_owned()),
            answers: [("kind".to_owned(), answers)].into(),
            ..Evidence::default()
        };
        let evidence = answering(now, asked, &scenario, evidence);
        ScenarioResult::judge(&now.spec, &scenario, &evidence).invariants[0].verdict.outcome
    }

    #[test]
    fn a_judges_replies_count_as_long_as_it_was_asked_the_same() {
        assert_eq!(rescored("x", ASKED), Outcome::Passed);
        assert_eq!(rescored("x", "criteria: Be kind., pass_threshold: 0.9, samples: 2, timeout: 5s"), Outcome::Failed);
        assert_eq!(
            rescored("x", "criteria: Be kind., pass_threshold: 0.65"),
            Outcome::Failed,
            "the first sample alone"
        );
    }

    #[test]
    fn vectors_count_as_long_as_they_are_of_the_same_texts() {
        const ASKED: &str = "type: similarity, expected: Dear Eve, method: embedding, model: embedder, threshold: 0.9";
        let rescored = |check: &str| {
            let (asked, now) = (checked("x", ASKED), checked("x", check));
            let vector = |numbers: &[f32]| Embedding::new(numbers).expect("a vector");
            let reply = EmbeddingReply::Vectors(vector(&[3.0, 4.0]), vector(&[4.0, 3.0]));
            let answer = Answer::Embedding(EmbeddingAnswer { reply, usage: Usage::default(), cached: false });
            outcome(&asked, &now, vec![answer])
        };
        assert_eq!(rescored(ASKED), Outcome::Passed);
        assert_eq!(rescored(&ASKED.replace("0.9", "0.97")), Outcome::Failed, "the same vectors and another bar");
        for other in [ASKED.replace("Eve", "Ada"), ASKED.replace("embedder", "another")] {
            assert_eq!(rescored(&other), Outcome::Errored(ErrorKind::Judge), "{other}");
        }
        assert_eq!(rescored("type: similarity, expected: Dear Ada"), Outcome::Passed, "no vectors are needed");
    }

    #[test]
    fn another_question_must_be_asked() {
        let unasked = Outcome::Errored(ErrorKind::Judge);
        for check in [
            "criteria: Be polite., samples: 2",
            "criteria: Be kind., model: gpt-4o, samples: 2",
            "criteria: Be kind., temperature: 1, samples: 2",
            "criteria: Be kind., samples: 3",
        ] {
            assert_eq!(rescored("x", check), unasked, "{check}");
        }
        assert_eq!(rescored("y", ASKED), unasked, "the task is a part of the question");
    }
}
