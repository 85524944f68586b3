//! Asks the models of checks, once everything else was looked at. They have a time limit of their own: a slow model is not the
//! agent's fault.

use futures::{StreamExt as _, stream};
use gateways::redact::Redactor;
use scenario::checks::{Case, Check};
use scenario::evidence::{Answer, Evidence, Usage};
use scenario::plan::Values;

use super::redacted;
use crate::attempt::Attempt;
use crate::judges::{self, EmbeddingQuestion, JudgeQuestion};
use crate::machine::Machine;

/// How many questions are under way at once.
const AT_ONCE: usize = 4;

/// A question to a model.
enum ModelQuestion {
    /// For its judgement.
    Judge(JudgeQuestion),
    /// For vectors.
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

/// Asks every model, and adds what came back to the answers of its invariant.
pub(super) async fn ask(attempt: &Attempt<'_>, evidence: &mut Evidence, redactor: &Redactor) {
    let questions = questions(attempt, evidence, redactor);
    let asking = questions.into_iter().map(|(name, asked)| async move { (name, asked.ask(attempt.machine).await) });
    let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
    for (name, (answer, usage)) in answers {
        evidence.judge_usage.add(&usage);
        evidence.answers.entry(name).or_default().push(answer);
    }
}

/// What to ask, by invariant; nothing where the verdict is known without asking.
fn questions(attempt: &Attempt<'_>, evidence: &Evidence, redactor: &Redactor) -> Vec<(String, ModelQuestion)> {
    // Templates become what they are while judging: markers stand for secrets.
    let values = Values::for_judging(attempt.spec, attempt.scenario, evidence);
    let mut questions = Vec::new();
    for judged in attempt.scenario.judged(attempt.spec) {
        if judged.check.asked_model().is_none() {
            continue;
        }
        let mut answers = evidence.answers.get(judged.name).cloned().unwrap_or_default();
        if answers.iter().any(|answer| matches!(answer, Answer::Unavailable { .. })) {
            continue;
        }
        // Nothing leaves this machine that could not be kept.
        answers.iter_mut().for_each(|answer| redacted::answer(answer, redactor));
        let asked = of_check(judged.check, &Case::new(&answers, evidence, &values));
        questions.extend(asked.into_iter().map(|asked| (judged.name.to_owned(), asked)));
    }
    questions
}

/// What a check asks.
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
