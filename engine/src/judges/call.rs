//! Sends a question to a model, in the form of OpenAI's chat completions, which Anthropic answers too.

use std::collections::BTreeMap;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use gateways::redact::Redactor;
use http::StatusCode;
use scenario::evidence::{JudgeRequest, TokenCount, Usage};
use serde_json::{Value as Json, json};

use super::transport::{self, CallError, Patience};
use crate::providers::{ProviderKind, Providers, Upstream};

/// Length limit of a reply, in tokens.
const MOST_TOKENS: u32 = 512;
/// The same for a text.
const MOST_TOKENS_OF_TEXT: u32 = 2048;
/// The same for models that count what they think.
const MOST_TOKENS_WITH_THOUGHTS: u32 = 4096;

/// Reply of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    /// Its words.
    pub(super) text: String,
    /// Its tokens and cost.
    pub(super) usage: Usage,
}

/// The form that a reply should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyForm {
    /// A rating.
    Rating,
    /// A text, the same each time with the same seed.
    Text {
        /// The seed.
        seed: u64,
    },
}

/// Reason why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoReply {
    /// The judge is unavailable, or refuses us. Nothing that is judged can bring that about.
    Unavailable(String),
    /// The judge did not take the question, which what is judged can bring about: by what a filter finds in it, or by its
    /// length.
    Rejected(String),
}

/// Parameters of the request that a provider understands. Each one that it complains about is left out.
#[derive(Debug, Clone, Copy)]
struct Dialect {
    schema: bool,
    max_tokens: bool,
    temperature: bool,
    seed: bool,
}

/// Asks a provider once, with parameters that it understands.
pub(super) async fn ask(
    providers: &Providers,
    upstream: &Upstream,
    request: &JudgeRequest,
    form: ReplyForm,
    patience: Patience,
) -> Result<Reply, NoReply> {
    let asked = negotiate(upstream, request, form, patience).await;
    let answered = asked.and_then(|body| read(providers, upstream, &body));
    let redactor = redactor(providers);
    answered.map(|reply| Reply { text: redactor.text(&reply.text), ..reply }).map_err(|none| safe(providers, none))
}

/// A provider may repeat the key in what it says.
fn redactor(providers: &Providers) -> Redactor {
    let hidden: BTreeMap<_, _> = providers.keys().into_iter().collect();
    Redactor::new(&hidden, "hidden")
}

/// A reason without keys.
pub(super) fn safe(providers: &Providers, none: NoReply) -> NoReply {
    let redactor = redactor(providers);
    match none {
        NoReply::Unavailable(reason) => NoReply::Unavailable(redactor.text(&reason)),
        NoReply::Rejected(reason) => NoReply::Rejected(redactor.text(&reason)),
    }
}

async fn negotiate(
    upstream: &Upstream,
    request: &JudgeRequest,
    form: ReplyForm,
    patience: Patience,
) -> Result<Json, NoReply> {
    let client = client(upstream, patience).map_err(|error| NoReply::Unavailable(error.to_string()))?;
    let is_openai = upstream.provider == ProviderKind::OpenAi;
    let is_rating = form == ReplyForm::Rating;
    let mut dialect =
        Dialect { schema: is_openai && is_rating, max_tokens: true, temperature: true, seed: is_openai && !is_rating };
    loop {
        let asked: Result<Json, _> = client.chat().create_byot(body(upstream, request, form, dialect)).await;
        let error = match asked {
            Ok(body) => return Ok(body),
            Err(error) => error,
        };
        dialect = match simpler(dialect, &error) {
            Some(simpler) => simpler,
            None => return Err(no_reply(&error)),
        };
    }
}

/// Returns the reason why an error leaves no reply.
pub(super) fn no_reply(error: &OpenAIError) -> NoReply {
    match call_error(error) {
        Some(refused) if refused.can_be_provoked() => NoReply::Rejected(described(error)),
        _ => NoReply::Unavailable(described(error)),
    }
}

/// A client for this provider.
pub(super) fn client(upstream: &Upstream, patience: Patience) -> Result<Client<OpenAIConfig>, CallError> {
    let http = transport::client()?;
    let key = upstream.key.as_ref().map_or("", |key| key.expose());
    // Everything is said, so that nothing is taken from the environment.
    let config = OpenAIConfig::new()
        .with_api_base(upstream.base_url.clone())
        .with_api_key(key)
        .with_org_id("")
        .with_project_id("");
    let sender = http.clone();
    let service =
        tower::service_fn(move |request: HttpRequestFactory| transport::send(sender.clone(), request, patience));
    Ok(Client::build(http, config).with_http_service(service))
}

fn body(upstream: &Upstream, request: &JudgeRequest, form: ReplyForm, dialect: Dialect) -> Json {
    let mut body = json!({
        "model": upstream.model.as_deref().unwrap_or(&request.model),
        "messages": [
            { "role": "system", "content": request.system },
            { "role": "user", "content": request.prompt },
        ],
        "stream": false,
    });
    if dialect.max_tokens {
        body["max_tokens"] = if form == ReplyForm::Rating { MOST_TOKENS } else { MOST_TOKENS_OF_TEXT }.into();
    } else {
        body["max_completion_tokens"] = MOST_TOKENS_WITH_THOUGHTS.into();
    }
    if dialect.temperature {
        body["temperature"] = request.temperature.into();
    }
    if let ReplyForm::Text { seed } = form
        && dialect.seed
    {
        body["seed"] = seed.into();
    }
    if dialect.schema {
        body["response_format"] = schema();
    }
    body
}

/// The form of a rating.
fn schema() -> Json {
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": "rating",
            "strict": true,
            "schema": {
                "type": "object",
                "properties": {
                    "score": { "type": "number", "description": "from 0 to 1" },
                    "passed": { "type": "boolean" },
                    "reason": { "type": "string", "description": "one or two sentences" },
                },
                "required": ["score", "passed", "reason"],
                "additionalProperties": false,
            },
        },
    })
}

/// The same without what the provider complains about; `None` when it complains about something else.
fn simpler(dialect: Dialect, error: &OpenAIError) -> Option<Dialect> {
    let Some(CallError::Refused { status, message, .. }) = call_error(error) else { return None };
    if !matches!(*status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) {
        return None;
    }
    let names = |word: &str| message.contains(word);
    match dialect {
        Dialect { schema: true, .. } if names("response_format") || names("json_schema") => {
            Some(Dialect { schema: false, ..dialect })
        }
        Dialect { max_tokens: true, .. } if names("max_tokens") => Some(Dialect { max_tokens: false, ..dialect }),
        Dialect { seed: true, .. } if names("seed") => Some(Dialect { seed: false, ..dialect }),
        Dialect { temperature: true, .. } if names("temperature") => Some(Dialect { temperature: false, ..dialect }),
        _ => None,
    }
}

fn call_error(error: &OpenAIError) -> Option<&CallError> {
    match error {
        OpenAIError::Boxed(cause) => cause.downcast_ref(),
        _ => None,
    }
}

fn described(error: &OpenAIError) -> String {
    match error {
        // What is no JSON is not repeated.
        OpenAIError::JSONDeserialize(problem, _) => {
            format!("the provider answered with something else than JSON: {problem}")
        }
        other => call_error(other).map_or_else(|| other.to_string(), ToString::to_string),
    }
}

/// Returns the text of the model's reply. A refusal is a reply too: the judged text can provoke it.
fn text(body: &Json) -> Result<String, NoReply> {
    // A provider's filter may leave none.
    let without = || NoReply::Rejected("the provider's answer holds no message".to_owned());
    let message = body.pointer("/choices/0/message").ok_or_else(without)?;
    if let Some(refusal) = message["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        return Ok(refusal.to_owned());
    }
    Ok(match &message["content"] {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        // Such as when the provider's filter took it away.
        _ => String::new(),
    })
}

/// Reads a provider's answer.
fn read(providers: &Providers, upstream: &Upstream, body: &Json) -> Result<Reply, NoReply> {
    let text = text(body)?;
    let count = |path: &str| body.pointer(path).and_then(Json::as_u64).unwrap_or_default();
    let tokens = TokenCount {
        input: count("/usage/prompt_tokens"),
        output: count("/usage/completion_tokens"),
        cache_read: count("/usage/prompt_tokens_details/cached_tokens"),
        estimated: false,
    };
    Ok(Reply { text, usage: usage(providers, upstream, body, &tokens) })
}

/// The tokens and the cost of one answer.
pub(super) fn usage(providers: &Providers, upstream: &Upstream, body: &Json, tokens: &TokenCount) -> Usage {
    let asked = upstream.model.clone().unwrap_or_default();
    let model =
        body["model"].as_str().filter(|model| !model.is_empty()).map_or_else(|| asked.clone(), ToOwned::to_owned);
    let cost_usd = providers.cost(&model, tokens).or_else(|| providers.cost(&asked, tokens));
    Usage {
        calls: 1,
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_tokens: tokens.cache_read,
        model,
        // Without a count of tokens, what it cost is not known.
        cost_usd: cost_usd.filter(|_| body["usage"].is_object()),
    }
}
