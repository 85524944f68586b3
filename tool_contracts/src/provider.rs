//! Provider constraints: patterns over a request as it is sent.
//!
//! A pattern is terms joined by `+`, all of which must match: `key.path=value`; the name of a request field, which
//! matches when the field is set; or a glob on the model.

use serde_json::Value as Json;

use crate::call::ModelRequest;
use crate::canonical::canonical;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::Reason;

/// The request fields of known providers that a bare word may name.
const FIELDS: [&str; 38] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "include",
    "input",
    "instructions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "stop_sequences",
    "store",
    "stream",
    "stream_options",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
];

/// Returns why a provider's constraints refuse a request, and their remarks.
pub(crate) fn check(set: &Compiled, request: &ModelRequest) -> (Option<Reason>, Vec<Reason>) {
    let Some(constraints) = set.session.providers.get(&request.provider) else { return (None, Vec::new()) };
    let provider = &request.provider;
    let reason = |key: &str, pattern: &str| {
        let sentence = format!("the request combines `{pattern}`, which {provider} does not support");
        let rule = format!("provider_constraints/{provider}/{key}");
        Reason::new(Code::ProviderIncompatible, rule, sentence).checked("pattern", pattern)
    };
    let matching = |patterns: &[String]| -> Vec<String> {
        patterns.iter().filter(|pattern| matches(pattern, &request.body)).cloned().collect()
    };
    let refusal = matching(&constraints.block).first().map(|pattern| reason("block_incompatible", pattern));
    let mut warnings: Vec<_> =
        matching(&constraints.warn).iter().map(|pattern| reason("warn_incompatible", pattern)).collect();
    let model = request.body.get("model").and_then(Json::as_str);
    if let Some(model) = model.filter(|model| constraints.warn_floating_alias && is_floating(model)) {
        let sentence = format!("the model {} names no version", crate::reason::name(model));
        let rule = format!("provider_constraints/{provider}/warn_floating_alias");
        warnings.push(Reason::new(Code::FloatingModelAlias, rule, sentence).found("model", model));
    }
    (refusal, warnings)
}

fn matches(pattern: &str, body: &Json) -> bool {
    pattern.split('+').map(str::trim).all(|term| matches_term(term, body))
}

fn matches_term(term: &str, body: &Json) -> bool {
    if let Some((path, wanted)) = term.split_once('=') {
        let value = path.trim().split('.').try_fold(body, |value, key| match value {
            Json::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        });
        return value.is_some_and(|value| value.as_str() == Some(wanted.trim()) || canonical(value) == wanted.trim());
    }
    if FIELDS.contains(&term) {
        return body.get(term).is_some_and(is_set);
    }
    body.get("model").and_then(Json::as_str).is_some_and(|model| matches_glob(term, model))
}

/// True when a field asks for something.
fn is_set(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty() && map.get("type").and_then(Json::as_str) != Some("disabled"),
        Json::Bool(true) | Json::Number(_) => true,
    }
}

/// Returns true if a text matches a pattern with `*` and `?`.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // The positions of the pattern that are reached after each sign; linear in both.
    let closure = |mut reached: Vec<bool>| {
        for at in 0..pattern.len() {
            reached[at + 1] |= reached[at] && pattern[at] == '*';
        }
        reached
    };
    let mut start = vec![false; pattern.len() + 1];
    start[0] = true;
    let mut reached = closure(start);
    for sign in text {
        let mut next = vec![false; pattern.len() + 1];
        for at in 0..pattern.len() {
            match pattern[at] {
                '*' => next[at] |= reached[at],
                '?' => next[at + 1] |= reached[at],
                other => next[at + 1] |= reached[at] && other == sign,
            }
        }
        reached = closure(next);
    }
    reached.last().copied().unwrap_or(false)
}

/// True when a model's name ends in no date and no version: `-2024-08-06`, `-20240806` or `@2`.
fn is_floating(model: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let after = |separator: char| model.rsplit_once(separator).map(|(_, rest)| rest);
    if after('@').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    if after('-').is_some_and(|rest| digits(rest, 8)) {
        return false;
    }
    let parts: Vec<_> = model.rsplitn(4, '-').collect();
    !matches!(parts[..], [day, month, year, _] if digits(day, 2) && digits(month, 2) && digits(year, 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_floating, matches, matches_glob};

    #[test]
    fn terms_match_values_fields_and_models() {
        let body = json!({"model": "gpt-4o-mini", "parallel_tool_calls": false, "thinking": {"type": "enabled"},
            "tool_choice": {"type": "any"}, "stream": false, "tools": []});
        for pattern in
            ["tool_choice.type=any + thinking", "parallel_tool_calls=false + gpt-4o-mini", "gpt-4*", "gpt-4o-m?ni"]
        {
            assert!(matches(pattern, &body), "{pattern}");
        }
        for pattern in
            ["stream", "tools", "gpt-4o", "tool_choice.type=auto", "tool_choice.kind=any", "gpt-4o-mini + stream"]
        {
            assert!(!matches(pattern, &body), "{pattern}");
        }
        assert!(!matches("thinking", &json!({"thinking": {"type": "disabled"}})));
        assert!(matches_glob("*", "") && matches_glob("**a*b", "xxaxxb") && !matches_glob("a?", "a"));
    }

    #[test]
    fn a_version_is_a_date_or_a_number() {
        for model in ["gpt-4o-2024-08-06", "claude-3-5-sonnet-20241022", "m@2"] {
            assert!(!is_floating(model), "{model}");
        }
        for model in ["gpt-4o", "claude-3-5-sonnet-latest", "m@", "gpt-4-08-06"] {
            assert!(is_floating(model), "{model}");
        }
    }
}
