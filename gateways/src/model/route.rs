//! Routes: finds the call of a path.

use http::{HeaderMap, Method, StatusCode};
use scenario::evidence::Dialect;

use super::refusal::{Refusal, Shape};

/// A header that Anthropic's clients always send.
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// Call of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) dialect: Dialect,
    /// Shape of its errors.
    pub(super) shape: Shape,
    /// The path without `/v1`.
    pub(super) path: String,
    /// The model that is looked up, with `/models/{id}`.
    pub(super) looked_up: Option<String>,
}

impl Route {
    /// The call that a path is, with and without `/v1` before it.
    pub(super) fn new(path: &str, headers: &HeaderMap) -> Self {
        let path = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        let decoded = |id: &str| percent_encoding::percent_decode_str(id).decode_utf8_lossy().into_owned();
        // A path that leads up again would lead to other calls of an upstream, with its key.
        let leads_up = |id: &str| decoded(id).split(['/', '\\']).any(|step| matches!(step, "." | ".."));
        let looked_up = path.strip_prefix("/models/").filter(|id| !id.is_empty() && !leads_up(id));
        let dialect = match path {
            "/chat/completions" => Dialect::Chat,
            "/responses" => Dialect::Responses,
            "/messages" => Dialect::Messages,
            "/embeddings" => Dialect::Embeddings,
            "/models" => Dialect::Models,
            _ if looked_up.is_some() => Dialect::Models,
            _ => Dialect::Other,
        };
        let anthropic = path.starts_with("/messages") || headers.contains_key(ANTHROPIC_VERSION);
        let openai = matches!(dialect, Dialect::Chat | Dialect::Responses | Dialect::Embeddings);
        let shape = if anthropic && !openai { Shape::Anthropic } else { Shape::OpenAi };
        Self { dialect, shape, path: path.to_owned(), looked_up: looked_up.map(decoded) }
    }

    /// Refuses paths and methods that are no call.
    pub(super) fn check(&self, method: &Method) -> Result<(), Refusal> {
        let expected = match self.dialect {
            Dialect::Other => {
                let message = "the model gateway has no such path; it serves /chat/completions, /responses, /embeddings, /messages and /models";
                return Err(Refusal::new(StatusCode::NOT_FOUND, "unknown_path", message));
            }
            Dialect::Models => Method::GET,
            Dialect::Chat | Dialect::Responses | Dialect::Messages | Dialect::Embeddings => Method::POST,
        };
        if *method == expected {
            return Ok(());
        }
        let message = format!("this path is called with {expected}");
        Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message))
    }

    /// Returns true if an answer to it costs something.
    pub(super) fn is_billed(&self) -> bool {
        !matches!(self.dialect, Dialect::Models | Dialect::Other)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use scenario::evidence::Dialect;

    use super::{Route, Shape};

    #[test]
    fn paths_are_calls_with_and_without_a_version() {
        let check = |path: &str, dialect, shape| {
            for path in [path.to_owned(), format!("/v1{path}")] {
                let route = Route::new(&path, &HeaderMap::new());
                assert_eq!((route.dialect, route.shape), (dialect, shape), "{path}");
            }
        };
        check("/chat/completions", Dialect::Chat, Shape::OpenAi);
        check("/responses", Dialect::Responses, Shape::OpenAi);
        check("/embeddings", Dialect::Embeddings, Shape::OpenAi);
        check("/messages", Dialect::Messages, Shape::Anthropic);
        check("/messages/count_tokens", Dialect::Other, Shape::Anthropic);
        check("/models", Dialect::Models, Shape::OpenAi);
        check("/models/", Dialect::Other, Shape::OpenAi);
        check("/v1", Dialect::Other, Shape::OpenAi);
        check("/", Dialect::Other, Shape::OpenAi);
        let looked_up = Route::new("/v1/models/a%2Fb", &HeaderMap::new()).looked_up;
        assert_eq!(looked_up.as_deref(), Some("a/b"));
    }

    #[test]
    fn a_header_says_whose_models_are_meant() {
        let headers =
            HeaderMap::from_iter([("anthropic-version".parse().expect("a name"), "1".parse().expect("a value"))]);
        assert_eq!(Route::new("/v1/models", &headers).shape, Shape::Anthropic);
        assert_eq!(Route::new("/v1/chat/completions", &headers).shape, Shape::OpenAi);
    }

    #[test]
    fn a_model_that_leads_to_other_paths_is_none() {
        for path in ["/models/../files", "/v1/models/%2e%2e/files", "/models/a/..%2f..%2ffiles", "/models/..\\files"] {
            assert_eq!(Route::new(path, &HeaderMap::new()).dialect, Dialect::Other, "{path}");
        }
        assert_eq!(Route::new("/models/org/name..x", &HeaderMap::new()).dialect, Dialect::Models);
    }
}
