//! In which form results are wanted.

use http::HeaderMap;
use http::header::ACCEPT;
use serde::Deserialize;
use utoipa::ToSchema;

/// In which form results are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// All of it, as JSON.
    Json,
    /// The numbers as JSON, without the scenarios.
    Summary,
    /// `JUnit`'s XML.
    Junit,
    /// Markdown, for people.
    Markdown,
}

/// A form by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResultFormat {
    /// JSON.
    Json,
    /// `JUnit`'s XML.
    Junit,
    /// Markdown.
    Markdown,
}

impl Form {
    /// The form that is named, or else the first one that `Accept` has.
    pub(crate) fn wanted(format: Option<ResultFormat>, headers: &HeaderMap) -> Self {
        match format {
            Some(ResultFormat::Json) => Self::Json,
            Some(ResultFormat::Junit) => Self::Junit,
            Some(ResultFormat::Markdown) => Self::Markdown,
            None => Self::accepted(headers),
        }
    }

    fn accepted(headers: &HeaderMap) -> Self {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let known = kinds.filter_map(|kind| match kind.to_ascii_lowercase().as_str() {
            "application/json" | "*/*" | "application/*" => Some(Self::Json),
            "application/xml" | "text/xml" | "application/junit+xml" => Some(Self::Junit),
            "text/markdown" => Some(Self::Markdown),
            _ => None,
        });
        known.into_iter().next().unwrap_or(Self::Json)
    }

    /// Returns the content type of this form.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Summary => "application/json",
            Self::Junit => "application/xml",
            Self::Markdown => "text/markdown; charset=utf-8",
        }
    }

    /// One letter for it.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Json => 'j',
            Self::Summary => 's',
            Self::Junit => 'x',
            Self::Markdown => 'm',
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{Form, ResultFormat};

    #[test]
    fn the_name_comes_before_what_is_accepted() {
        let form = |accept: &'static str, format| {
            let headers: HeaderMap = [(http::header::ACCEPT, accept.parse().expect("a header"))].into_iter().collect();
            Form::wanted(format, &headers)
        };
        assert_eq!(form("application/json", None), Form::Json);
        assert_eq!(form("text/html, application/xml;q=0.9, */*", None), Form::Junit);
        assert_eq!(form("text/markdown", None), Form::Markdown);
        assert_eq!(form("text/html", None), Form::Json);
        assert_eq!(form("*/*", Some(ResultFormat::Junit)), Form::Junit);
        assert_eq!(form("text/markdown", Some(ResultFormat::Json)), Form::Json);
    }
}
