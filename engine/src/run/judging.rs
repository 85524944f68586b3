//! Asks the models of checks, after all other probes. They have a time limit of their own: a slow model is not the
//! agent's fault.

use futures::{StreamExt as _, stream};
use gateways::redact::Redactor;
use scenario::checks::{Case, Check};
use scenario::evidence::{Answer, Evidence, Usage};
use scenario::plan::{Judged, Values};

use super::redacted;
use crate::attempt::Attempt;
use crate::judges::{self, EmbeddingQuestion, JudgeQuestion};
use crate::machine::Machine;

/// Number of questions that are under way at once.
const AT_ONCE: usize = 4;

/// A question to a model.
enum ModelQuestion {
    /// A question for its judgement.
    Judge(JudgeQuestion),
    /// A question for vectors.
    Embedding(EmbeddingQuestion),
}

impl ModelQuestion {
    async fn ask(self, machine: &Machine) -> (Answer, Usage) {
        match self {
            Self::Judge(asked) => {
                let answer = judges::ask(machine, &asked).await;
                let usage = answer.usage.clone();
                (Answer::Judge(answer), usage)
            }
            Self::Embedding(asked) => {
                let answer = judges::embed(machine, &asked).await;
                let usage = answer.usage.clone();
                (Answer::Embedding(answer), usage)
            }
        }
    }
}

/// A question of an invariant, and the invocation that it is about, when it is about one.
struct Asked {
    invariant: String,
    invocation: Option<usize>,
    question: ModelQuestion,
}

/// Asks every model, and adds the replies to the answers of its invariant.
pub(super) async fn ask(attempt: &Attempt<'_>, evidence: &mut Evidence, redactor: &Redactor) {
    let asking = questions(attempt, evidence, redactor).into_iter().map(|asked| async move {
        let Asked { invariant, invocation, question } = asked;
        (invariant, invocation, question.ask(attempt.machine).await)
    });
    let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
    for (name, invocation, (answer, usage)) in answers {
        evidence.judge_usage.add(&usage);
        let answers = match invocation.and_then(|index| evidence.invocations.get_mut(index)) {
            Some(invocation) => &mut invocation.answers,
            None => &mut evidence.answers,
        };
        answers.entry(name).or_default().push(answer);
    }
}

/// The questions to ask; none where the verdict is known without asking.
fn questions(attempt: &Attempt<'_>, evidence: &Evidence, redactor: &Redactor) -> Vec<Asked> {
    let reuses_sandbox = attempt.scenario.reuses_sandbox(attempt.spec);
    let mut questions = Vec::new();
    for judged in attempt.scenario.judged(attempt.spec) {
        if judged.check.asked_model().is_none() {
            continue;
        }
        if reuses_sandbox && judged.check.is_about_invocation() {
            for (index, question) in about_invocations(attempt, &judged, evidence) {
                questions.push(Asked { invariant: judged.name.to_owned(), invocation: Some(index), question });
            }
            continue;
        }
        let asked = about_scenario(attempt, &judged, evidence, redactor);
        let named = |question| Asked { invariant: judged.name.to_owned(), invocation: None, question };
        questions.extend(asked.into_iter().map(named));
    }
    questions
}

/// The questions of an invariant about all evidence.
fn about_scenario(
    attempt: &Attempt<'_>,
    judged: &Judged<'_>,
    evidence: &Evidence,
    redactor: &Redactor,
) -> Vec<ModelQuestion> {
    // Templates become what they are while judging: markers stand for secrets.
    let values = Values::for_judging(attempt.spec, attempt.scenario, evidence);
    let mut answers = evidence.answers.get(judged.name).cloned().unwrap_or_default();
    if answers.iter().any(|answer| matches!(answer, Answer::Unavailable { .. })) {
        return Vec::new();
    }
    // Nothing leaves this machine that could not be kept.
    answers.iter_mut().for_each(|answer| redacted::answer(answer, redactor));
    of_check(judged.check, &Case::new(&answers, evidence, &values))
}

/// The questions of an invariant about each of its invocations.
fn about_invocations(attempt: &Attempt<'_>, judged: &Judged<'_>, evidence: &Evidence) -> Vec<(usize, ModelQuestion)> {
    let planned = attempt.scenario.invocations(attempt.spec);
    let is_rule = !attempt.spec.invariants.contains_key(judged.name);
    let mut questions = Vec::new();
    for (index, (scenario, invocation)) in planned.iter().zip(&evidence.invocations).enumerate() {
        let (Some(agent), true) = (&invocation.agent, scenario.rule() == is_rule.then_some(judged.name)) else {
            continue;
        };
        let values = Values::for_judging(attempt.spec, scenario, evidence);
        let case = Case::of_invocation(invocation, agent, judged.name, evidence, &values);
        questions.extend(of_check(judged.check, &case).into_iter().map(|question| (index, question)));
    }
    questions
}

/// The question of a check.
fn of_check(check: &Check, case: &Case<'_>) -> Vec<ModelQuestion> {
    let marker_key = case.evidence.marker_key.clone();
    if let Some(asked) = check.embedding(case) {
        let asked = asked.ok().map(|request| EmbeddingQuestion { request, marker_key });
        return asked.into_iter().map(ModelQuestion::Embedding).collect();
    }
    let Check::LlmAsJudge(check) = check else { return Vec::new() };
    let Ok(request) = check.request(case) else { return Vec::new() };
    let asked = JudgeQuestion { request, marker_key, sample: 0, timeout: check.timeout.get() };
    (0..check.samples()).map(|sample| ModelQuestion::Judge(JudgeQuestion { sample, ..asked.clone() })).collect()
}
