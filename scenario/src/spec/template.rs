//! `{{ … }}` in the texts of a spec: what they name, and what they become.
//!
//! `{{ params.x }}`, `{{ secrets.X }}`, `{{ services.x.host }}`, `{{ services.x.port }}`, `{{ seed }}`,
//! `{{ replica }}` and `{{ task.prompt }}` are ours. A name that is missing in one of these namespaces is an error, a
//! near miss (`{{ parms.x }}`) too. Any other `{{` is left alone, and `\{{` is a literal `{{`.

use std::fmt;

use serde::{Serialize, Serializer};

use super::diagnostic::closest;
use super::reader::{Readable, Reader};
use super::shape::Shape;
use super::yaml::Node;
use crate::spec::code::Code;

/// The words before the first dot that belong to us.
const NAMESPACES: [&str; 6] = ["params", "secrets", "services", "seed", "replica", "task"];

/// A text of the spec, split where it names something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    source: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Name(Reference),
}

/// A reference in a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    /// A matrix parameter.
    Param(String),
    /// A declared secret.
    Secret(String),
    /// The name under which a service is reached.
    ServiceHost(String),
    /// The first port of a service.
    ServicePort(String),
    /// The scenario's seed.
    Seed,
    /// Index of the repetition.
    Replica,
    /// The task's prompt.
    TaskPrompt,
}

/// The values of references.
pub trait Bindings {
    /// The value of `reference`; `None` when it has none, and the text keeps the braces.
    fn value(&self, reference: &Reference) -> Option<serde_json::Value>;
}

/// The reason why a `{{ … }}` is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The problem.
    pub message: String,
    /// The text to write instead.
    pub help: Option<String>,
}

impl Text {
    /// Splits `source`; the mistakes are those that need no knowledge of what is declared.
    #[must_use]
    pub fn parse(source: &str) -> (Self, Vec<Mistake>) {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut mistakes = Vec::new();
        let mut rest = source;
        while let Some(at) = rest.find("{{") {
            let before = &rest[..at];
            let after = &rest[at + 2..];
            if let Some(before) = before.strip_suffix('\\') {
                literal.push_str(before);
                literal.push_str("{{");
                rest = after;
                continue;
            }
            literal.push_str(before);
            let inner = close(after);
            match inner.map(|(inner, tail)| (name(inner.trim()), tail)) {
                Some((Named::Ours(reference), tail)) => {
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Name(reference));
                    rest = tail;
                }
                Some((Named::Mistake(mistake), tail)) => {
                    mistakes.push(mistake);
                    rest = tail;
                }
                Some((Named::Foreign, _)) | None => {
                    literal.push_str("{{");
                    rest = after;
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        (Self { source: source.to_owned(), parts }, mistakes)
    }

    /// A text that is taken as it stands.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self { source: text.replace("{{", "\\{{"), parts: vec![Part::Literal(text.to_owned())] }
    }

    /// The text as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text itself, when it names nothing.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns true if the source is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Returns all references of the text, in order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Name(reference) => Some(reference),
        })
    }

    /// The text with every reference replaced.
    #[must_use]
    pub fn render(&self, bindings: &dyn Bindings) -> String {
        self.parts.iter().map(|part| render_part(part, bindings)).collect()
    }

    /// The value of a text that is exactly one reference, with its type; otherwise the rendered text.
    #[must_use]
    pub fn render_value(&self, bindings: &dyn Bindings) -> serde_json::Value {
        if let [Part::Name(reference)] = self.parts.as_slice()
            && let Some(value) = bindings.value(reference)
        {
            return value;
        }
        self.render(bindings).into()
    }
}

/// Splits the text after `{{` into the part before `}}` and the rest. Names are short, so the search is limited.
fn close(after: &str) -> Option<(&str, &str)> {
    const MOST_INNER: usize = 300;
    let end = after
        .as_bytes()
        .iter()
        .take(MOST_INNER)
        .zip(after.as_bytes().iter().skip(1))
        .position(|pair| pair == (&b'}', &b'}'))?;
    Some((&after[..end], &after[end + 2..]))
}

fn render_part(part: &Part, bindings: &dyn Bindings) -> String {
    match part {
        Part::Literal(text) => text.clone(),
        Part::Name(reference) => match bindings.value(reference) {
            Some(serde_json::Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => format!("{{{{ {reference} }}}}"),
        },
    }
}

enum Named {
    Ours(Reference),
    Foreign,
    Mistake(Mistake),
}

/// Parses the text between the braces.
fn name(inner: &str) -> Named {
    let (namespace, rest) = inner.split_once('.').map_or((inner, None), |(namespace, rest)| (namespace, Some(rest)));
    let plain = |name: &str| {
        !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
    };
    let reference = match (namespace, rest) {
        ("params", Some(name)) if plain(name) => Reference::Param(name.to_owned()),
        ("secrets", Some(name)) if plain(name) => Reference::Secret(name.to_owned()),
        ("services", Some(rest)) => match rest.rsplit_once('.') {
            Some((service, "host")) if plain(service) => Reference::ServiceHost(service.to_owned()),
            Some((service, "port")) if plain(service) => Reference::ServicePort(service.to_owned()),
            _ => return mistake(inner, Some("write `services.NAME.host` or `services.NAME.port`".to_owned())),
        },
        ("seed", None) => Reference::Seed,
        ("replica", None) => Reference::Replica,
        ("task", Some("prompt")) => Reference::TaskPrompt,
        _ if NAMESPACES.contains(&namespace) && (rest.is_some() || !matches!(namespace, "task")) => {
            return mistake(
                inner,
                Some(format!("write `{{{{ {} }}}}`, or `\\{{{{` for literal braces", form(namespace))),
            );
        }
        (namespace, Some(_)) if plain(namespace) => match closest(namespace, NAMESPACES) {
            Some(near) if strsim::damerau_levenshtein(&namespace.to_lowercase(), near) <= 2 => {
                return mistake(
                    inner,
                    Some(format!(
                        "did you mean `{}`? Write `\\{{{{` for literal braces",
                        inner.replacen(namespace, near, 1)
                    )),
                );
            }
            _ => return Named::Foreign,
        },
        _ => return Named::Foreign,
    };
    Named::Ours(reference)
}

fn form(namespace: &str) -> &'static str {
    match namespace {
        "params" => "params.NAME",
        "secrets" => "secrets.NAME",
        "services" => "services.NAME.host",
        "seed" => "seed",
        "replica" => "replica",
        _ => "task.prompt",
    }
}

fn mistake(inner: &str, help: Option<String>) -> Named {
    Named::Mistake(Mistake { message: format!("`{{{{ {inner} }}}}` names nothing"), help })
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Param(name) => write!(formatter, "params.{name}"),
            Self::Secret(name) => write!(formatter, "secrets.{name}"),
            Self::ServiceHost(name) => write!(formatter, "services.{name}.host"),
            Self::ServicePort(name) => write!(formatter, "services.{name}.port"),
            Self::Seed => formatter.write_str("seed"),
            Self::Replica => formatter.write_str("replica"),
            Self::TaskPrompt => formatter.write_str("task.prompt"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Readable for Text {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(source) = node.scalar() else {
            return reader.wrong_type(node, "text");
        };
        let (text, mistakes) = Self::parse(source);
        for mistake in mistakes {
            reader.report(Code::InvalidTemplate, node.span, mistake.message, mistake.help);
        }
        for reference in text.references() {
            reader.refer(reference.clone());
        }
        Some(text)
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Bindings, Reference, Text};

    struct Fixed;

    impl Bindings for Fixed {
        fn value(&self, reference: &Reference) -> Option<serde_json::Value> {
            match reference {
                Reference::Param(name) => Some(json!(if name == "n" { json!(3) } else { json!("word") })),
                Reference::Seed => Some(json!(7)),
                _ => None,
            }
        }
    }

    fn check(source: &str, rendered: &str) {
        let (text, mistakes) = Text::parse(source);
        assert_eq!((text.render(&Fixed).as_str(), mistakes.len()), (rendered, 0), "{source}");
    }

    #[test]
    fn our_names_are_replaced_and_nothing_else_is() {
        check("plain", "plain");
        check("{{ params.x }}-{{params.n}} {{ seed }}", "word-3 7");
        check("{{ user.name }} {{ item }} {{", "{{ user.name }} {{ item }} {{");
        check("{{{{ params.x }}", "{{word");
        check("\\{{ params.x }}", "{{ params.x }}");
        check("{{ secrets.KEY }}", "{{ secrets.KEY }}");
        check("{% if x %}{{ request.body }}{% endif %}", "{% if x %}{{ request.body }}{% endif %}");
    }

    #[test]
    fn near_misses_are_mistakes() {
        for source in [
            "{{ parms.x }}",
            "{{ secret.X }}",
            "{{ service.db.host }}",
            "{{ Params.x }}",
            "{{ params }}",
            "{{ params.a.b }}",
            "{{ seed.x }}",
            "{{ services.db }}",
            "{{ services.db.hots }}",
            "{{ params.x | upper }}",
            "{{ task.promt }}",
        ] {
            assert_eq!(Text::parse(source).1.len(), 1, "{source}");
        }
    }

    #[test]
    fn a_lone_reference_keeps_its_type() {
        assert_eq!(Text::parse("{{ params.n }}").0.render_value(&Fixed), json!(3));
        assert_eq!(Text::parse("{{ params.n }} ").0.render_value(&Fixed), json!("3 "));
    }

    #[test]
    fn a_literal_survives_being_written_and_read() {
        let text = Text::literal("{{ params.x }}");
        assert_eq!(text.render(&Fixed), "{{ params.x }}");
        assert_eq!(Text::parse(text.source()).0.render(&Fixed), "{{ params.x }}");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_text_without_braces_stays(source in "[\\PC\\n]{0,60}") {
            let (text, _) = Text::parse(&source);
            if !source.contains("{{") {
                prop_assert_eq!(text.render(&Fixed), source);
            }
        }
    }
}
