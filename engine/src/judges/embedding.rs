//! Sends a question to a model of embeddings, in OpenAI's form.

use std::time::Duration;

use async_openai::error::OpenAIError;
use scenario::evidence::{Embedding, EmbeddingAnswer, EmbeddingReply, EmbeddingRequest, TokenCount, Usage};
use serde_json::{Value as Json, json};

use super::cache::{Cache, Question};
use super::call::{self, NoReply};
use super::transport::Patience;
use crate::machine::Machine;
use crate::providers::{ProviderKind, Providers, Upstream};

/// The time limit of an answer, with all tries.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The parts of a question about vectors that are sent and compared.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddingQuestion {
    /// The request.
    pub(crate) request: EmbeddingRequest,
    /// The key of the attempt's redaction markers, which does not make it another question.
    pub(crate) marker_key: Option<String>,
}

/// The provider of a model of embeddings; otherwise why there is none.
pub(super) fn upstream(providers: &Providers, model: &str) -> Result<Upstream, String> {
    let upstream = providers.for_model(model).map_err(|error| error.to_string())?;
    match upstream.provider {
        ProviderKind::OpenAi => Ok(upstream),
        ProviderKind::Anthropic => {
            Err(format!("`{}` is a provider without embeddings; name one like OpenAI's", upstream.name))
        }
    }
}

/// Requests the vectors of two texts, unless they were requested before. A failure is an answer too.
pub(super) async fn embed(machine: &Machine, asked: &EmbeddingQuestion, patience: Patience) -> EmbeddingAnswer {
    let upstream = match upstream(&machine.providers, &asked.request.model) {
        Ok(upstream) => upstream,
        Err(problem) => return without_vectors(EmbeddingReply::Unavailable(problem)),
    };
    let question = Question::of_vectors(&upstream, &asked.request, asked.marker_key.as_deref());
    let cache = machine.judgements.as_deref().map(Cache);
    let kept = cache.as_ref().and_then(|cache| serde_json::from_str(&cache.get(&question)?).ok());
    if let Some(reply) = kept {
        return EmbeddingAnswer { reply, usage: Usage::default(), cached: true };
    }
    let calling = vectors(&machine.providers, &upstream, &asked.request, patience);
    let answer = match tokio::time::timeout(TIMEOUT, calling).await {
        Ok(answer) => answer,
        Err(_) => {
            let reason = format!("it took longer than {}s", TIMEOUT.as_secs());
            return without_vectors(EmbeddingReply::Unavailable(reason));
        }
    };
    let text = serde_json::to_string(&answer.reply).unwrap_or_default();
    let cache = cache.filter(|_| matches!(answer.reply, EmbeddingReply::Vectors(..)));
    if let Some(Err(error)) = cache.map(|cache| cache.put(&question, &answer.usage.model, &text)) {
        tracing::warn!(%error, "vectors could not be kept for the next time");
    }
    answer
}

/// Requests both vectors. A text that is refused counts against the agent only when the model takes the other one.
async fn vectors(
    providers: &Providers,
    upstream: &Upstream,
    request: &EmbeddingRequest,
    patience: Patience,
) -> EmbeddingAnswer {
    let EmbeddingRequest { expected, text, .. } = request;
    let reason = match ask(providers, upstream, &[expected, text], patience).await {
        Ok(answer) => return answer,
        Err(NoReply::Unavailable(reason)) => return without_vectors(EmbeddingReply::Unavailable(reason)),
        Err(NoReply::Rejected(reason)) => reason,
    };
    let once = Patience { tries: 1, ..patience };
    match ask(providers, upstream, &[expected, expected], once).await {
        Ok(control) => EmbeddingAnswer { reply: EmbeddingReply::Refused(reason), ..control },
        Err(_) => without_vectors(EmbeddingReply::Unavailable(reason)),
    }
}

/// Asks a provider once for the vectors of two texts.
async fn ask(
    providers: &Providers,
    upstream: &Upstream,
    texts: &[&str; 2],
    patience: Patience,
) -> Result<EmbeddingAnswer, NoReply> {
    let client = call::client(upstream, patience).map_err(|error| NoReply::Unavailable(error.to_string()))?;
    let body = json!({ "model": upstream.model, "input": texts, "encoding_format": "float" });
    let asked: Result<Json, OpenAIError> = client.embeddings().create_byot(body).await;
    let answered = asked.map_err(|error| call::no_reply(&error)).and_then(|body| read(providers, upstream, &body));
    answered.map_err(|none| call::safe(providers, none))
}

/// The vectors of a provider's answer, by their indices.
fn read(providers: &Providers, upstream: &Upstream, body: &Json) -> Result<EmbeddingAnswer, NoReply> {
    let vector = |index: u64| {
        let found = body["data"].as_array()?.iter().find(|one| one["index"].as_u64() == Some(index))?;
        let numbers: Option<Vec<f32>> = found["embedding"].as_array()?.iter().map(number).collect();
        Embedding::new(&numbers?)
    };
    let without = || NoReply::Unavailable("the provider's answer holds no two vectors".to_owned());
    let reply = EmbeddingReply::Vectors(vector(0).ok_or_else(without)?, vector(1).ok_or_else(without)?);
    let input = body.pointer("/usage/prompt_tokens").and_then(Json::as_u64);
    let tokens = TokenCount { input: input.unwrap_or_default(), ..TokenCount::default() };
    Ok(EmbeddingAnswer { reply, usage: call::usage(providers, upstream, body, &tokens), cached: false })
}

#[expect(clippy::cast_possible_truncation, reason = "vectors are numbers of four bytes")]
fn number(json: &Json) -> Option<f32> {
    json.as_f64().map(|number| number as f32)
}

fn without_vectors(reply: EmbeddingReply) -> EmbeddingAnswer {
    EmbeddingAnswer { reply, usage: Usage::default(), cached: false }
}
