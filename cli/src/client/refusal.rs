//! Refusals of a server: the reason, and its fix.

use std::error::Error as _;
use std::fmt::Write as _;

use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use scenario::untrusted;
use serde_json::Value as Json;

use super::Server;
use crate::output::CommandError;

/// Maximum length of a message of a server.
const MOST_SAID: usize = 2000;
/// Maximum number of findings about a spec that are shown.
const MOST_FINDINGS: usize = 50;

/// The server did not answer.
pub(super) fn unreachable(server: &Server, error: &reqwest::Error) -> CommandError {
    let place = server.place();
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        reason = deeper.to_string();
        cause = deeper.source();
    }
    let next = if error.is_connect() {
        "is it running, and is `--url` right? `touchstone serve` starts one"
    } else if error.is_timeout() {
        "it took too long; is it overloaded?"
    } else {
        "the connection broke; try again"
    };
    CommandError::Infrastructure(format!(
        "the server {place} does not answer: {}; {next}",
        untrusted::line(&reason, 300)
    ))
}

/// The server refused.
pub(super) async fn refused(server: &Server, answer: Response) -> CommandError {
    let status = answer.status();
    let location = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok()).map(ToOwned::to_owned);
    let text = answer.text().await.unwrap_or_default();
    let said: Json = serde_json::from_str(&text).unwrap_or_default();
    let message = said["message"].as_str().or_else(|| said["error"].as_str());
    let message = message.map_or_else(|| format!("it answers {status}"), |message| untrusted::line(message, MOST_SAID));
    let place = server.place();
    match status {
        StatusCode::UNAUTHORIZED if server.key.is_none() => CommandError::Usage(format!(
            "{place} wants a key: set TOUCHSTONE_API_KEY; `touchstone key create` on the server's machine makes one"
        )),
        StatusCode::UNAUTHORIZED => CommandError::Usage(format!(
            "{place} does not take this key: {message}; `touchstone key create` on the server's machine makes another"
        )),
        StatusCode::BAD_REQUEST if said["code"] == "invalid_spec" => {
            CommandError::InvalidSpec(findings(&message, &said))
        }
        status if status.is_redirection() => {
            let elsewhere = untrusted::line(&location.unwrap_or_default(), 300);
            CommandError::Usage(format!("{place} sends to `{elsewhere}`: use the address that is meant as `--url`"))
        }
        status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => CommandError::Usage(message),
        _ => CommandError::Infrastructure(format!("{place}: {message}")),
    }
}

/// Lists the findings about a spec, one per line.
fn findings(message: &str, said: &Json) -> String {
    let mut text = message.to_owned();
    for finding in said["findings"].as_array().into_iter().flatten().take(MOST_FINDINGS) {
        let word = |name: &str| untrusted::line(finding[name].as_str().unwrap_or_default(), 500);
        let _ = write!(text, "\n{}[{}] line {}: {}", word("severity"), word("code"), finding["line"], word("message"));
        let path = word("path");
        if !path.is_empty() {
            let _ = write!(text, " (at {path})");
        }
    }
    text
}
