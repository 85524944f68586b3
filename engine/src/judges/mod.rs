//! Asks models for their judgement of what the agent left, for vectors of it, and to write prompts.

mod cache;
mod call;
mod embedding;
mod transport;
mod writing;

use std::time::Duration;

use scenario::checks::{Check, LlmAsJudge};
use scenario::evidence::{EmbeddingAnswer, EmbeddingRequest, JudgeAnswer, JudgeRequest, Usage};
use scenario::spec::Spec;
use scenario::spec::types::Filled;

use crate::machine::Machine;
use crate::providers::{Providers, Upstream};
use cache::{Cache, Question};
use call::{NoReply, Reply, ReplyForm};
pub(crate) use embedding::EmbeddingQuestion;
use transport::Patience;
pub(crate) use writing::{WrittenPrompt, write};

/// Returns true if checks of a spec ask models, or if one writes prompts.
#[must_use]
pub fn are_asked(spec: &Spec) -> bool {
    models_of(spec).next().is_some() || writer_of(spec).is_some()
}

/// Describes a model of a spec's checks that cannot be asked here; `None` when all can. A model that depends on
/// parameters is not looked at.
#[must_use]
pub fn missing(spec: &Spec, providers: &Providers) -> Option<String> {
    let of_checks = models_of(spec).map(|(place, check, model)| (place, Some(check), model.source()));
    let writer = writer_of(spec).map(|model| ("mutations.model".to_owned(), None, model));
    of_checks.chain(writer).find_map(|(place, check, model)| {
        let found = match check {
            _ if model.contains("{{") => return None,
            Some(Check::LlmAsJudge(_)) | None => providers.for_model(model).map_err(|error| error.to_string()),
            Some(_) => embedding::upstream(providers, model),
        };
        found.err().map(|problem| format!("`{place}` asks the model `{model}`: {problem}"))
    })
}

/// The model that writes prompts of mutations.
fn writer_of(spec: &Spec) -> Option<&str> {
    let mutations = spec.mutations.as_ref()?;
    let is_asked = mutations.counts().iter().any(|(kind, _)| kind.needs_model());
    mutations.model.as_ref().filter(|_| is_asked).map(|model| model.as_str())
}

fn models_of(spec: &Spec) -> impl Iterator<Item = (String, &Check, &Filled)> {
    spec.checks().filter_map(|(place, check)| check.asked_model().map(|model| (place, check, model)))
}

/// Asks a model for its judgement of stored evidence: as often as there are to be samples, one after the other.
///
/// `marker_key` is the key of the evidence's redaction markers. That it does not answer is an answer too.
pub async fn judge_kept(
    machine: &Machine,
    request: JudgeRequest,
    marker_key: Option<String>,
    (samples, timeout): (usize, Duration),
) -> Vec<JudgeAnswer> {
    let mut answers = Vec::new();
    for sample in 0..samples {
        let asked = JudgeQuestion { request: request.clone(), marker_key: marker_key.clone(), sample, timeout };
        answers.push(ask(machine, &asked).await);
    }
    answers
}

/// Requests vectors of stored evidence from a model. A failure is an answer too.
pub async fn embed_kept(machine: &Machine, request: EmbeddingRequest, marker_key: Option<String>) -> EmbeddingAnswer {
    embed(machine, &EmbeddingQuestion { request, marker_key }).await
}

/// Requests vectors, unless they were requested before.
pub(crate) async fn embed(machine: &Machine, asked: &EmbeddingQuestion) -> EmbeddingAnswer {
    embedding::embed(machine, asked, Patience::default()).await
}

/// A question to a model, with its timeout.
#[derive(Debug, Clone)]
pub(crate) struct JudgeQuestion {
    /// The request.
    pub(crate) request: JudgeRequest,
    /// The key of the attempt's redaction markers, which does not make it another question.
    pub(crate) marker_key: Option<String>,
    /// Number among several equal questions, from 0.
    pub(crate) sample: usize,
    /// Time limit of an answer, with all tries.
    pub(crate) timeout: Duration,
}

/// Asks a model, unless it was asked the same before. A model that does not answer is an answer too, and never the
/// agent's fault.
pub(crate) async fn ask(machine: &Machine, asked: &JudgeQuestion) -> JudgeAnswer {
    ask_with(machine, asked, Patience::default()).await
}

async fn ask_with(machine: &Machine, asked: &JudgeQuestion, patience: Patience) -> JudgeAnswer {
    let upstream = match machine.providers.for_model(&asked.request.model) {
        Ok(upstream) => upstream,
        Err(problem) => return unanswered(problem.to_string()),
    };
    let question = Question::new(&upstream, &asked.request, asked.marker_key.as_deref(), asked.sample);
    let cache = machine.judgements.as_deref().map(Cache);
    if let Some(reply) = cache.as_ref().and_then(|cache| cache.get(&question)) {
        return JudgeAnswer { reply: Ok(reply), usage: Usage::default(), cached: true };
    }
    let calling = call(&machine.providers, &upstream, &asked.request, patience);
    let called = match tokio::time::timeout(asked.timeout, calling).await {
        Ok(called) => called,
        Err(_) => Err(format!("it took longer than {}s", asked.timeout.as_secs_f64())),
    };
    match called {
        Ok(reply) => {
            // A reply that means nothing is asked for again the next time.
            let cache = cache.filter(|_| LlmAsJudge::is_rating(&reply.text));
            if let Some(Err(error)) = cache.map(|cache| cache.put(&question, &reply.usage.model, &reply.text)) {
                tracing::warn!(%error, "a judge's reply could not be kept for the next time");
            }
            JudgeAnswer { reply: Ok(reply.text), usage: reply.usage, cached: false }
        }
        Err(problem) => unanswered(problem),
    }
}

/// Calls a model until it rates, twice at most. A question that it does not take is no reply only when it takes none at all.
async fn call(
    providers: &Providers,
    upstream: &Upstream,
    request: &JudgeRequest,
    patience: Patience,
) -> Result<Reply, String> {
    let mut used = Usage::default();
    let first = call::ask(providers, upstream, request, ReplyForm::Rating, patience).await;
    match first {
        Ok(reply) if LlmAsJudge::is_rating(&reply.text) => return Ok(reply),
        // By chance, or because of what is judged; asked once more, chance is no excuse.
        Ok(reply) => used.add(&reply.usage),
        Err(NoReply::Unavailable(reason)) => return Err(reason),
        Err(NoReply::Rejected(reason)) => {
            let about_nothing = request.about_nothing().ok_or_else(|| reason.clone())?;
            let once = Patience { tries: 1, ..patience };
            let control = call::ask(providers, upstream, &about_nothing, ReplyForm::Rating, once).await;
            used.add(&control.map_err(|_| reason)?.usage);
        }
    }
    let mut second = match call::ask(providers, upstream, request, ReplyForm::Rating, patience).await {
        Ok(reply) => reply,
        Err(NoReply::Unavailable(reason)) => return Err(reason),
        Err(NoReply::Rejected(reason)) => Reply { text: rejection(&reason), usage: Usage::default() },
    };
    second.usage.add(&used);
    Ok(second)
}

/// The reply of a judge that did not take the question. The provider may repeat what is judged, in which nothing must look like a
/// rating.
fn rejection(reason: &str) -> String {
    format!("(the question was refused: {})", reason.replace(['{', '}'], "|"))
}

fn unanswered(problem: String) -> JudgeAnswer {
    JudgeAnswer { reply: Err(problem), usage: Usage::default(), cached: false }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod writing_tests;
