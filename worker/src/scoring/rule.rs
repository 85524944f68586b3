//! Scores a scenario by a rule.

use engine::judges;
use engine::machine::Machine;
use regex::{Regex, RegexBuilder};
use scenario::checks::{Case, Check};
use scenario::evidence::{Answer, Evidence};
use scenario::plan::Values;
use scenario::spec::{Spec, load};
use scenario::verdict::{Outcome, Verdict};
use serde_json::{Map, Value as Json, json};
use store::StoredScenario;

/// Memory limit of a compiled pattern, in bytes.
const MOST_PATTERN: usize = 1 << 20;

/// A rule.
#[derive(Debug)]
pub(super) enum Rule {
    /// The output has a match of this pattern.
    Pattern(Regex),
    /// The output has this text.
    Text(String),
    /// A check of the language, judged by the evidence that was kept.
    Check(Box<Check>),
    /// The rule cannot be applied, for this reason.
    Unusable(String),
}

/// Judgement of a rule on a scenario.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    /// Score, from 0 to 1.
    pub(super) score: f64,
    /// True when the score is good enough.
    pub(super) passed: bool,
    /// Reason for the judgement.
    pub(super) message: String,
}

impl Judged {
    /// Makes the judgement of a rule that could not be applied.
    pub(super) fn not_possible(message: impl Into<String>) -> Self {
        Self { score: 0.0, passed: false, message: message.into() }
    }

    fn found(found: bool, message: impl FnOnce() -> String) -> Self {
        let message = if found { String::new() } else { message() };
        Self { score: if found { 1.0 } else { 0.0 }, passed: found, message }
    }

    fn of(verdict: Verdict) -> Self {
        let Verdict { outcome, score, message, reason, .. } = verdict;
        let said = if message.is_empty() { reason } else { message };
        match outcome {
            Outcome::Passed => Self { score, passed: true, message: said },
            Outcome::Failed => Self { score, passed: false, message: said },
            Outcome::Errored(_) => Self::not_possible(format!("this could not be judged: {said}")),
        }
    }
}

impl Rule {
    /// Reads a rule.
    pub(super) fn read(kind: &str, config: &Json) -> Self {
        let text = |name: &str| config[name].as_str().ok_or_else(|| format!("`config.{name}` must be a text"));
        let read = match kind {
            "regex" => text("pattern").and_then(pattern).map(Self::Pattern),
            "contains" => text("text").map(|text| Self::Text(text.to_owned())),
            "custom" => {
                Err("a `custom` rule runs a script in the sandbox, which is gone; make it an invariant".to_owned())
            }
            kind => check(kind, config).map(|check| Self::Check(Box::new(check))),
        };
        read.unwrap_or_else(|problem| Self::Unusable(format!("this rule cannot be used: {problem}")))
    }

    /// Judges a scenario.
    pub(super) async fn judge(
        &self,
        machine: &Machine,
        spec: &Spec,
        stored: &StoredScenario,
        evidence: &Evidence,
    ) -> Judged {
        match self {
            Self::Pattern(pattern) => Judged::found(pattern.is_match(&super::output(evidence)), || {
                format!("the output has no match of `{pattern}`")
            }),
            Self::Text(text) => Judged::found(super::output(evidence).contains(text.as_str()), || {
                format!("the output does not contain `{text}`")
            }),
            Self::Unusable(problem) => Judged::not_possible(problem.as_str()),
            Self::Check(check) => {
                let values = Values::for_judging(spec, &stored.scenario, evidence);
                let Some(mut answers) = kept_answers(check, spec, evidence, &values) else {
                    return Judged::not_possible(
                        "this was not looked at when the scenario ran; add the check to the spec's invariants, and run it again",
                    );
                };
                match ask(machine, check, &Case::new(&answers, evidence, &values)).await {
                    Ok(replies) => answers.extend(replies),
                    Err(verdict) => return Judged::of(*verdict),
                }
                Judged::of(check.judge(&Case::new(&answers, evidence, &values)))
            }
        }
    }
}

fn pattern(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MOST_PATTERN).build().map_err(|error| error.to_string())
}

/// Reads a check as it would stand in a spec, beside the services that it names.
fn check(kind: &str, config: &Json) -> Result<Check, String> {
    let mut check = config.as_object().cloned().unwrap_or_default();
    check.insert("type".to_owned(), kind.into());
    let spec = json!({
        "version": 1, "id": "rule", "base": "any", "task": { "prompt": "any" }, "agent": { "type": "noop" },
        "services": services(kind, &check),
        "invariants": { "rule": { "description": "a rule", "check": check } },
    });
    let loaded = load(&spec.to_string(), None);
    let problems = || {
        let messages: Vec<_> = loaded.diagnostics.iter().map(|one| one.message.as_str()).collect();
        messages.join("; ")
    };
    let spec = loaded.spec.as_ref().ok_or_else(problems)?;
    let invariant = spec.invariants.values().next().ok_or_else(problems)?;
    Ok(invariant.check.clone())
}

/// Declares the services that a check names: the evidence decides if they exist.
fn services(kind: &str, check: &Map<String, Json>) -> Json {
    let named = check.get("service").and_then(Json::as_str);
    let input = check.get("input_from").and_then(Json::as_str).and_then(|input| input.split_once('.'));
    match (named, input) {
        (Some(name), _) if kind == "sql" => {
            json!([{ "name": name, "image": "postgres", "env": { "POSTGRES_PASSWORD": "any" } }])
        }
        (Some(name), _) | (None, Some((name, _))) => json!([{ "name": name, "type": "http_mock", "record": true }]),
        (None, None) => json!([]),
    }
}

/// The answers to a check's questions, when an invariant of the spec asked the same ones.
fn kept_answers(check: &Check, spec: &Spec, evidence: &Evidence, values: &Values<'_>) -> Option<Vec<Answer>> {
    let probes = check.probes(values);
    if probes.is_empty() {
        return Some(Vec::new());
    }
    let judged = values.scenario().judged(spec);
    let same = judged.iter().filter(|judged| judged.check.probes(values) == probes);
    let mut answers = same.filter_map(|judged| evidence.answers.get(judged.name)?.get(..probes.len()));
    answers.next().map(<[Answer]>::to_vec)
}

/// Asks the model of a check, when it has one; otherwise returns the verdict without asking.
async fn ask(machine: &Machine, check: &Check, case: &Case<'_>) -> Result<Vec<Answer>, Box<Verdict>> {
    let marker_key = case.evidence.marker_key.clone();
    if let Some(request) = check.embedding(case) {
        return Ok(vec![Answer::Embedding(judges::embed_kept(machine, request?, marker_key).await)]);
    }
    let Check::LlmAsJudge(judge) = check else { return Ok(Vec::new()) };
    let replies = judges::judge_kept(machine, judge.requests(case)?, marker_key, judge.timeout.get()).await;
    Ok(replies.into_iter().map(Answer::Judge).collect())
}

#[cfg(test)]
mod tests {
    use scenario::evidence::{Captured, CommandAnswer, Exit};
    use scenario::plan::{PlanOptions, expand};

    use super::*;

    const SPEC: &str = "version: 1\nid: t\nbase: x\ntask: {prompt: x}\nagent: {type: noop}\n\
        invariants: {tests: {description: x, check: {type: command_exit, command: npm test}}}\n";

    async fn judged(kind: &str, config: Json) -> Judged {
        let spec = load(SPEC, None).spec.unwrap();
        let scenario = expand(&spec, PlanOptions::default()).unwrap().scenarios.remove(0);
        let mut evidence = Evidence::default();
        evidence.agent.stdout = Captured::from("I am sorry, order 17 is late\n");
        let command = CommandAnswer {
            exit: Some(Exit::Code(1)),
            stdout: Captured::default(),
            stderr: Captured::default(),
            image_changes: Vec::new(),
        };
        evidence.answers.insert("tests".to_owned(), vec![Answer::Command(command)]);
        let stored = StoredScenario { scenario, result: None, source: None };
        Rule::read(kind, &config).judge(&Machine::default(), &spec, &stored, &evidence).await
    }

    #[tokio::test]
    async fn words_and_patterns_are_looked_for_in_what_the_agent_said() {
        assert!(judged("contains", json!({ "text": "sorry" })).await.passed);
        let missing = judged("contains", json!({ "text": "refund" })).await;
        assert_eq!((missing.score, missing.message.as_str()), (0.0, "the output does not contain `refund`"));
        assert!(judged("regex", json!({ "pattern": r"order \d+" })).await.passed);
        assert!(!judged("regex", json!({ "pattern": "^order" })).await.passed);
    }

    #[tokio::test]
    async fn a_check_is_judged_by_the_answer_that_was_kept() {
        let same = judged("command_exit", json!({ "command": "npm test" })).await;
        assert!(!same.passed && !same.message.contains("not looked at"), "{same:?}");
        assert!(judged("command_exit", json!({ "command": "npm test", "exit_code": 1 })).await.passed);
        let other = judged("command_exit", json!({ "command": "npm run lint" })).await;
        assert!(other.message.contains("not looked at"), "{other:?}");
        for (kind, config) in [
            ("file_exists", json!({ "path": "x" })),
            ("file_absent", json!({ "path": "x" })),
            ("file_content", json!({ "path": "x", "contains": "y" })),
            ("sql", json!({ "service": "db", "query": "SELECT 1", "equals": 1 })),
        ] {
            let said = judged(kind, config).await;
            assert!(said.message.contains("not looked at"), "{kind}: {said:?}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_judged_says_why() {
        let check = async |kind, config, word: &str| {
            let said = judged(kind, config).await;
            assert!(!said.passed && said.score == 0.0 && said.message.contains(word), "{kind}: {said:?}");
        };
        check("custom", json!({}), "which is gone").await;
        check("regex", json!({ "pattern": "(" }), "cannot be used").await;
        check("regex", json!({}), "`config.pattern` must be a text").await;
        check("regex", json!({ "pattern": "x{999999}{99}" }), "cannot be used").await;
        check("file_exists", json!({ "pth": "x" }), "unknown key `pth`").await;
        check("no_such", json!({}), "cannot be used").await;
        // Nobody told this machine of a model.
        check("llm_as_judge", json!({ "criteria": "polite", "model": "gpt-4o" }), "could not be judged").await;
    }
}
