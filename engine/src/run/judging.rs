//! Asks the models of `llm_as_judge` checks, once everything else was looked at. They have a time limit of their own: a
//! slow judge is not the agent's fault.

use futures::{StreamExt as _, stream};
use gateways::redact::Redactor;
use scenario::checks::{Check, LlmAsJudge};
use scenario::evidence::{Answer, Evidence};
use scenario::plan::Values;

use super::redacted;
use crate::attempt::Attempt;
use crate::judges::{self, JudgeQuestion};

/// How many questions are under way at once.
const AT_ONCE: usize = 4;

/// Asks every judge, and adds what came back to the answers of its invariant.
pub(super) async fn ask(attempt: &Attempt<'_>, evidence: &mut Evidence, redactor: &Redactor) {
    let questions = questions(attempt, evidence, redactor);
    let asking =
        questions.into_iter().map(|(name, asked)| async move { (name, judges::ask(attempt.machine, &asked).await) });
    let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
    for (name, answer) in answers {
        evidence.judge_usage.add(&answer.usage);
        evidence.answers.entry(name).or_default().push(Answer::Judge(answer));
    }
}

/// What to ask, by invariant; nothing where the verdict is known without asking.
fn questions(attempt: &Attempt<'_>, evidence: &Evidence, redactor: &Redactor) -> Vec<(String, JudgeQuestion)> {
    // Templates become what they are while judging: markers stand for secrets.
    let values = Values::for_judging(attempt.spec, attempt.scenario, evidence);
    let mut questions = Vec::new();
    for judged in attempt.scenario.judged(attempt.spec) {
        let Check::LlmAsJudge(check) = judged.check else { continue };
        let asked = question(check, evidence.answers.get(judged.name), evidence, &values, redactor);
        let samples = asked
            .into_iter()
            .flat_map(|asked| (0..check.samples()).map(move |sample| JudgeQuestion { sample, ..asked.clone() }));
        questions.extend(samples.map(|asked| (judged.name.to_owned(), asked)));
    }
    questions
}

fn question(
    check: &LlmAsJudge,
    answers: Option<&Vec<Answer>>,
    evidence: &Evidence,
    values: &Values<'_>,
    redactor: &Redactor,
) -> Option<JudgeQuestion> {
    let mut answers = answers.cloned().unwrap_or_default();
    if answers.iter().any(|answer| matches!(answer, Answer::Unavailable { .. })) {
        return None;
    }
    // Nothing leaves this machine that could not be kept.
    answers.iter_mut().for_each(|answer| redacted::answer(answer, redactor));
    let request = check.request(&answers, evidence, values).ok()?;
    let (marker_key, timeout) = (evidence.marker_key.clone(), check.timeout.get());
    Some(JudgeQuestion { request, marker_key, sample: 0, timeout })
}
