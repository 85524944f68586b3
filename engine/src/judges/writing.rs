//! Asks models to write prompts in other ways, and keeps what they wrote.

use std::time::Duration;

use scenario::evidence::{JudgeRequest, Usage};
use scenario::plan::{PromptRequest, usable_text};

use super::cache::{Cache, Question};
use super::call::{self, NoReply, ReplyForm};
use super::transport::Patience;
use crate::machine::Machine;
use crate::providers::ProviderUnavailable;

/// The time that a prompt may take to be written, with all tries.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The number of answers that are asked for when they cannot be used.
const ANSWERS: u64 = 2;

/// A prompt that a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenPrompt {
    /// The prompt.
    pub(crate) text: String,
    /// The tokens and the cost; nothing when it was written before.
    pub(crate) usage: Usage,
}

/// A prompt that was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The model has no provider here.
    #[error(transparent)]
    NoProvider(#[from] ProviderUnavailable),
    /// The provider does not answer, or refuses the question.
    #[error("{0}")]
    NoReply(String),
    /// The model took too long.
    #[error("it took longer than {}s", TIMEOUT.as_secs())]
    TooSlow,
    /// No answer can be used.
    #[error("its answers are empty, the prompt itself, or more than three times as long")]
    Unusable,
}

/// Asks a model for a prompt, unless it has written it before.
pub(crate) async fn write(machine: &Machine, request: &PromptRequest) -> Result<WrittenPrompt, WriteError> {
    write_with(machine, request, Patience::default()).await
}

pub(super) async fn write_with(
    machine: &Machine,
    request: &PromptRequest,
    patience: Patience,
) -> Result<WrittenPrompt, WriteError> {
    let upstream = machine.providers.for_model(&request.model)?;
    let asked = asked(request);
    let question = Question::of_prompt(&upstream, &asked, request.seed);
    let cache = machine.judgements.as_deref().map(Cache);
    let kept = cache.as_ref().and_then(|cache| cache.get(&question));
    if let Some(text) = kept.and_then(|kept| usable_text(&request.prompt, &kept)) {
        return Ok(WrittenPrompt { text, usage: Usage::default() });
    }
    let mut usage = Usage::default();
    for answer in 0..ANSWERS {
        // The same seed would bring the same answer.
        let form = ReplyForm::Text { seed: request.seed.wrapping_add(answer) };
        let calling = call::ask(&machine.providers, &upstream, &asked, form, patience);
        let called = tokio::time::timeout(TIMEOUT, calling).await;
        let reply = called.map_err(|_| WriteError::TooSlow)?.map_err(no_reply)?;
        usage.add(&reply.usage);
        let Some(text) = usable_text(&request.prompt, &reply.text) else { continue };
        if let Some(Err(error)) = cache.map(|cache| cache.put(&question, &usage.model, &text)) {
            tracing::warn!(%error, "a prompt that a model wrote could not be kept for the next time");
        }
        return Ok(WrittenPrompt { text, usage });
    }
    Err(WriteError::Unusable)
}

fn asked(request: &PromptRequest) -> JudgeRequest {
    let PromptRequest { model, system, prompt, .. } = request.clone();
    JudgeRequest { model, temperature: 0.0, system, prompt, fence: String::new() }
}

fn no_reply(none: NoReply) -> WriteError {
    match none {
        NoReply::Unavailable(reason) | NoReply::Rejected(reason) => WriteError::NoReply(reason),
    }
}
