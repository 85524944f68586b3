//! Asks models for their judgement of what the agent left, for vectors of it, and to write prompts.

mod cache;
mod call;
mod embedding;
mod transport;
mod writing;

use std::time::Duration;

use scenario::checks::{Check, LlmAsJudge, SampleRequest};
use scenario::evidence::{EmbeddingAnswer, EmbeddingRequest, JudgeAnswer, JudgeRequest, Usage, model_family};
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
    spec.checks().flat_map(|(place, check)| {
        check.asked_models().into_iter().map(move |model| (place.clone(), check, model)).collect::<Vec<_>>()
    })
}

/// Asks models for their judgement of stored evidence, one question after the other.
///
/// `marker_key` is the key of the evidence's redaction markers. That a model does not answer is an answer too.
pub async fn judge_kept(
    machine: &Machine,
    requests: Vec<SampleRequest>,
    marker_key: Option<String>,
    timeout: Duration,
) -> Vec<JudgeAnswer> {
    let mut answers = Vec::new();
    for SampleRequest { sample, request } in requests {
        let asked = JudgeQuestion { request, marker_key: marker_key.clone(), sample, timeout };
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
    let model = asked.request.model.clone();
    let upstream = match machine.providers.for_model(&model) {
        Ok(upstream) => upstream,
        Err(problem) => return JudgeAnswer { reply: Err(problem.to_string()), model, ..JudgeAnswer::default() },
    };
    let answer = JudgeAnswer { family: family(&upstream, &model), model, ..JudgeAnswer::default() };
    let question = Question::new(&upstream, &asked.request, asked.marker_key.as_deref(), asked.sample);
    let cache = machine.judgements.as_deref().map(Cache);
    if let Some(reply) = cache.as_ref().and_then(|cache| cache.get(&question)) {
        return JudgeAnswer { reply: Ok(reply), cached: true, ..answer };
    }
    let calling = call(&machine.providers, &upstream, &asked.request, patience);
    let called = match tokio::time::timeout(asked.timeout, calling).await {
        Ok(called) => called,
        Err(_) => Err(Unanswered::Unavailable(format!("it took longer than {}s", asked.timeout.as_secs_f64()))),
    };
    match called {
        Ok(reply) => {
            // A reply that means nothing is asked for again the next time.
            let cache = cache.filter(|_| LlmAsJudge::is_rating(&reply.text));
            if let Some(Err(error)) = cache.map(|cache| cache.put(&question, &reply.usage.model, &reply.text)) {
                tracing::warn!(%error, "a judge's reply could not be kept for the next time");
            }
            JudgeAnswer { reply: Ok(reply.text), usage: reply.usage, ..answer }
        }
        Err(Unanswered::Unavailable(problem)) => JudgeAnswer { reply: Err(problem), ..answer },
        Err(Unanswered::BrokenPrompt(problem)) => JudgeAnswer { reply: Err(problem), broken_prompt: true, ..answer },
    }
}

/// The family that the configuration says, else that of the model behind the name.
fn family(upstream: &Upstream, model: &str) -> String {
    let named = || model_family(upstream.model.as_deref().unwrap_or(model));
    upstream.family.clone().unwrap_or_else(named)
}

/// The reason for having no rating.
enum Unanswered {
    /// It cannot be asked, or rates nothing at all.
    Unavailable(String),
    /// It rates a plain question, and nothing that this prompt asks, whatever is judged.
    BrokenPrompt(String),
}

/// Calls a model until it rates, twice at most. When it does not, it is asked about nothing, so that what is judged cannot be the
/// reason: a model that fails there too is asked a plain question, which tells a broken prompt from a model that is unavailable.
async fn call(
    providers: &Providers,
    upstream: &Upstream,
    request: &JudgeRequest,
    patience: Patience,
) -> Result<Reply, Unanswered> {
    let asking = Asking { providers, upstream, patience };
    let mut used = Usage::default();
    match asking.ask(request).await {
        Ok(reply) if LlmAsJudge::is_rating(&reply.text) => return Ok(reply),
        // By chance, or because of what is judged; asked once more, chance is no excuse.
        Ok(reply) => used.add(&reply.usage),
        Err(NoReply::Unavailable(reason)) => return Err(Unanswered::Unavailable(reason)),
        Err(NoReply::Rejected(reason)) => used.add(&asking.control(request, reason).await?),
    }
    let mut second = match asking.ask(request).await {
        Ok(reply) if LlmAsJudge::is_rating(&reply.text) => reply,
        Ok(reply) => asking.unrated(request, reply).await?,
        Err(NoReply::Unavailable(reason)) => return Err(Unanswered::Unavailable(reason)),
        Err(NoReply::Rejected(reason)) => Reply { text: rejection(&reason), usage: Usage::default() },
    };
    second.usage.add(&used);
    Ok(second)
}

/// A model that is asked several things.
#[derive(Clone, Copy)]
struct Asking<'a> {
    providers: &'a Providers,
    upstream: &'a Upstream,
    patience: Patience,
}

impl Asking<'_> {
    async fn ask(self, request: &JudgeRequest) -> Result<Reply, NoReply> {
        call::ask(self.providers, self.upstream, request, ReplyForm::Rating, self.patience).await
    }

    /// Asks once, without much patience.
    async fn ask_once(self, request: &JudgeRequest) -> Result<Reply, NoReply> {
        Self { patience: Patience { tries: 1, ..self.patience }, ..self }.ask(request).await
    }

    /// Asks about nothing after a question was not taken, and tells what that cost: what is judged was the reason.
    async fn control(self, request: &JudgeRequest, reason: String) -> Result<Usage, Unanswered> {
        let Some(about_nothing) = request.about_nothing() else { return Err(Unanswered::Unavailable(reason)) };
        match self.ask_once(&about_nothing).await {
            Ok(reply) => Ok(reply.usage),
            Err(NoReply::Unavailable(_)) => Err(Unanswered::Unavailable(reason)),
            Err(NoReply::Rejected(_)) => match self.ask_once(&request.plain()).await {
                Ok(_) => Err(Unanswered::BrokenPrompt(format!(
                    "the provider does not take the prompt, whatever is judged, and takes a plain question: {reason}"
                ))),
                Err(_) => Err(Unanswered::Unavailable(reason)),
            },
        }
    }

    /// The reply without a score, when what is judged can be the reason for it.
    async fn unrated(self, request: &JudgeRequest, mut reply: Reply) -> Result<Reply, Unanswered> {
        let Some(about_nothing) = request.about_nothing() else { return Ok(reply) };
        let Ok(control) = self.ask_once(&about_nothing).await else { return Ok(reply) };
        reply.usage.add(&control.usage);
        if LlmAsJudge::is_rating(&control.text) {
            return Ok(reply);
        }
        match self.ask_once(&request.plain()).await {
            Ok(plain) if LlmAsJudge::is_rating(&plain.text) => Err(Unanswered::BrokenPrompt(
                "the prompt brings no score, not even about nothing, while a plain question does: it must ask for one JSON \
                 object with a `score` from 0 to 1"
                    .to_owned(),
            )),
            Ok(_) => Err(Unanswered::Unavailable("it gives no score, not even for a plain question".to_owned())),
            Err(_) => Ok(reply),
        }
    }
}

/// The reply of a judge that did not take the question. The provider may repeat what is judged, in which nothing must look like a
/// rating.
fn rejection(reason: &str) -> String {
    format!("(the question was refused: {})", reason.replace(['{', '}'], "|"))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod writing_tests;
