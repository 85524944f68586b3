//! Labels that people give to outputs, read from YAML, JSON, JSON lines or CSV.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::csv;
use crate::number::Number;
use crate::spec::code::Code;
use crate::spec::diagnostic::Diagnostic;
use crate::spec::path::Path;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Limits, Node, Span, parse};

section! {
    /// A person's label for one output.
    ///
    /// ```yaml
    /// - { scenario: default-r0, invariant: polite, label: fail, by: ada, note: too curt }
    /// ```
    pub struct Label {
        /// The experiment; without it, the one that is calibrated.
        experiment: Option<String>,
        /// The scenario.
        scenario: String,
        /// The invariant.
        invariant: String,
        /// `pass`, `fail`, or a score from 0 to 1, which passes from the judge's own `pass_threshold`.
        label: HumanLabel,
        /// The name of the person. The last label of the same person about the same output counts.
        by: String = String::new(),
        /// Why.
        note: String = String::new(),
    }
}

/// A label: pass, fail, or a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HumanLabel {
    /// It passes.
    Pass,
    /// It fails.
    Fail,
    /// A score from 0 to 1.
    Score(f64),
}

impl HumanLabel {
    /// The label that a word or a number stands for.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "pass" | "passed" => Some(Self::Pass),
            "fail" | "failed" => Some(Self::Fail),
            number => Some(Self::Score(number.parse().ok().filter(|score| (0.0..=1.0).contains(score))?)),
        }
    }

    /// Tells if it passes; a score passes from `threshold`.
    #[must_use]
    pub fn passes(self, threshold: f64) -> bool {
        match self {
            Self::Pass => true,
            Self::Fail => false,
            Self::Score(score) => score >= threshold,
        }
    }
}

impl std::fmt::Display for HumanLabel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pass => formatter.write_str("pass"),
            Self::Fail => formatter.write_str("fail"),
            Self::Score(score) => write!(formatter, "{score}"),
        }
    }
}

impl Serialize for HumanLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Pass | Self::Fail => serializer.collect_str(self),
            Self::Score(score) => serializer.serialize_f64(*score),
        }
    }
}

impl Readable for HumanLabel {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(text) = node.scalar() else {
            return reader.wrong_type(node, "`pass`, `fail` or a number from 0 to 1");
        };
        Self::read(text).or_else(|| {
            let message = format!("expected `pass`, `fail` or a number from 0 to 1, found {}", node.describe());
            reader.invalid(node, message, None)
        })
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// Reads labels, or every problem with its place. A text that begins with `{` is JSON lines, one that begins with `[` or `-` is
/// JSON or YAML, and any other is CSV whose first line names the columns.
pub fn read_labels(text: &str) -> Result<Vec<Label>, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let nodes = match first(text) {
        None => return Err(vec![finding(text, "there is no label in it")]),
        Some('{') => lines(text, &mut findings),
        Some('[' | '-') => list(text, &mut findings),
        Some(_) => csv::rows(text, &mut findings),
    };
    let mut reader = Reader::default();
    let labels: Vec<_> =
        nodes.into_iter().map(without_nulls).filter_map(|node| Label::read(&node, &mut reader)).collect();
    findings.extend(reader.finish().0);
    if findings.is_empty() { Ok(labels) } else { Err(findings) }
}

/// Labels as JSON lines, which [`read_labels`] reads.
#[must_use]
pub fn labels_as_lines(labels: &[Label]) -> String {
    labels.iter().map(|label| format!("{}\n", as_json(label))).collect()
}

/// A label without the keys that say nothing.
fn as_json(label: &Label) -> Json {
    let mut json = serde_json::json!(label);
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    }
    json
}

/// A map without the keys that programs write although they say nothing.
fn without_nulls(mut node: Node) -> Node {
    if let Kind::Map(entries) = &mut node.kind {
        entries.retain(|entry| entry.value.kind != Kind::Null);
    }
    node
}

/// The first character that is no comment.
fn first(text: &str) -> Option<char> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---")?;
    line.chars().next()
}

pub(super) fn finding(text: &str, message: &str) -> Diagnostic {
    let span = Span { start: 0, end: text.chars().count().min(1), line: 1, column: 1 };
    Diagnostic { code: Code::InvalidValue, message: message.to_owned(), help: None, path: Path::default(), span }
}

fn list(text: &str, findings: &mut Vec<Diagnostic>) -> Vec<Node> {
    let (root, mut problems) = parse(text, Limits::default());
    findings.append(&mut problems);
    match root.map(|root| root.kind) {
        Some(Kind::List(items)) => items,
        Some(_) => {
            findings.push(finding(text, "expected a list of labels"));
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// One JSON object on each line.
fn lines(text: &str, findings: &mut Vec<Diagnostic>) -> Vec<Node> {
    let (mut nodes, mut start) = (Vec::new(), 0);
    for (index, line) in text.split('\n').enumerate() {
        if !line.trim().is_empty() {
            let (node, problems) = parse(line, Limits::default());
            let shifted =
                problems.into_iter().map(|problem| Diagnostic { span: shift(problem.span, start, index), ..problem });
            findings.extend(shifted);
            nodes.extend(node.map(|node| shifted_node(node, start, index)));
        }
        start += line.chars().count() + 1;
    }
    nodes
}

fn shift(span: Span, start: usize, line: usize) -> Span {
    Span { start: span.start + start, end: span.end + start, line: span.line + line, ..span }
}

fn shifted_node(node: Node, start: usize, line: usize) -> Node {
    let kind = match node.kind {
        Kind::Map(entries) => Kind::Map(
            entries
                .into_iter()
                .map(|mut entry| {
                    entry.key_span = shift(entry.key_span, start, line);
                    entry.value = shifted_node(entry.value, start, line);
                    entry
                })
                .collect(),
        ),
        Kind::List(items) => Kind::List(items.into_iter().map(|item| shifted_node(item, start, line)).collect()),
        other => other,
    };
    Node { span: shift(node.span, start, line), kind }
}

/// A scalar of a table: a number where it is one.
pub(super) fn scalar(text: &str) -> Kind {
    Number::parse(text).map_or_else(|| Kind::String(text.to_owned()), Kind::Number)
}

#[cfg(test)]
mod tests {
    use super::{HumanLabel, labels_as_lines, read_labels};

    const YAML: &str = "# by hand\n- { scenario: a-r0, invariant: polite, label: pass, by: ada }\n\
        - { experiment: e1, scenario: b-r0, invariant: polite, label: 0.25, note: 'curt, and late' }\n";

    #[test]
    fn every_form_gives_the_same_labels() {
        let labels = read_labels(YAML).expect("labels");
        assert_eq!((labels.len(), labels[1].label, labels[0].by.as_str()), (2, HumanLabel::Score(0.25), "ada"));
        let lines = labels_as_lines(&labels);
        assert_eq!(read_labels(&lines).expect("lines"), labels);
        let json = format!("[{}]", lines.trim().replace('\n', ","));
        assert_eq!(read_labels(&json).expect("JSON"), labels);
        let csv = "experiment,scenario,invariant,label,by,note\n,a-r0,polite,pass,ada,\ne1,b-r0,polite,0.25,,\"curt, and late\"\n";
        assert_eq!(read_labels(csv).expect("CSV"), labels);
    }

    #[test]
    fn every_problem_has_its_place() {
        let problems = |text: &str| {
            let told = read_labels(text).expect_err("a problem");
            let line = |one: &crate::spec::diagnostic::Diagnostic| {
                format!("{}:{} {}", one.span.line, one.span.column, one.message)
            };
            told.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(problems("- {scenario: a, invariant: b, label: maybe}\n- {scenario: a, invarient: b, label: 1.5}\n"), @r#"
        1:38 expected `pass`, `fail` or a number from 0 to 1, found the string "maybe"
        2:3 the key `invariant` is missing
        2:38 expected `pass`, `fail` or a number from 0 to 1, found the number 1.5
        2:17 unknown key `invarient`
        "#);
        insta::assert_snapshot!(problems("{\"scenario\": \"a\", \"invariant\": \"b\", \"label\": 1}\n{\"scenario\": \"a\", \"label\": \"ok\"}\n"), @r#"
        2:1 the key `invariant` is missing
        2:28 expected `pass`, `fail` or a number from 0 to 1, found the string "ok"
        "#);
        insta::assert_snapshot!(problems("scenario,invariant,label\na,b,pass\na,\"b,fail\n"), @r"
        3:3 this quote is not closed
        3:1 expected 3 cells as in the first line, found 2
        ");
        insta::assert_snapshot!(problems("scenario,invariant,verdict\na,b,pass\n"), @r"
        2:1 the key `label` is missing
        1:20 unknown key `verdict`
        ");
        insta::assert_snapshot!(problems("\n# nothing\n"), @"1:1 there is no label in it");
    }
}
