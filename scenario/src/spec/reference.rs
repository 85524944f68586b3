//! The language in words: `touchstone explain` and the reference are made from the descriptions of the types.

use std::fmt::Write as _;

use super::Sections;
use super::code::Code;
use super::diagnostic::closest;
use super::reader::Readable;
use super::shape::{Field, Section, Shape, Tagged};

/// One thing that can be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// What to ask for: `agent`, `agent.cli`, `resources.memory`, `check.sql`, `unknown-key`.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// All about it, as Markdown.
    pub text: String,
}

/// Everything that can be explained, in the order of the reference.
#[must_use]
pub fn topics() -> Vec<Topic> {
    let mut topics = Vec::new();
    let Shape::Section(root) = Sections::shape() else {
        unreachable!("a spec is a section");
    };
    topics.push(Topic { name: "spec".to_owned(), summary: first_line(&root.doc), text: section_text("spec", &root) });
    for field in &root.fields {
        field_topics(field.key, field, &mut topics);
    }
    topics.push(templates());
    topics.extend(Code::ALL.iter().map(|code| code_topic(*code)));
    topics
}

/// The topic with this name; otherwise the closest name.
pub fn explain(name: &str) -> Result<Topic, Option<String>> {
    let topics = topics();
    let wanted = name.trim_end_matches("[]").replace("[]", "");
    let found =
        topics.iter().find(|topic| topic.name == wanted || topic.name.replace("invariants.check", "check") == wanted);
    let by_end = || topics.iter().find(|topic| topic.name.rsplit('.').next() == Some(wanted.as_str()));
    match found.or_else(by_end) {
        Some(topic) => Ok(topic.clone()),
        None => Err(closest(&wanted, topics.iter().map(|topic| topic.name.as_str())).map(ToOwned::to_owned)),
    }
}

/// The whole reference as one Markdown page.
#[must_use]
pub fn markdown() -> String {
    let mut page = "# Spec reference\n\nThis page is generated from the types that read a spec; `touchstone explain TOPIC` shows the same text in a terminal.\n".to_owned();
    let topics = topics();
    let (codes, sections): (Vec<_>, Vec<_>) =
        topics.iter().partition(|topic| Code::ALL.iter().any(|code| code.name() == topic.name));
    for topic in sections.iter().filter(|topic| !is_field(topic)) {
        let _ = write!(page, "\n{}\n", topic.text.trim_end());
    }
    page.push_str("\n## Diagnostics\n\nEvery finding has a stable code.\n\n| code | kind | meaning |\n|---|---|---|\n");
    for (topic, code) in codes.iter().zip(Code::ALL) {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            topic.name,
            code.severity(),
            code.explanation().replace('\n', " ").replace('|', "\\|")
        );
    }
    page
}

/// Whether a topic is a single key, which the page shows in its section's table.
fn is_field(topic: &Topic) -> bool {
    !topic.text.starts_with("## ")
}

fn field_topics(name: &str, field: &Field, topics: &mut Vec<Topic>) {
    let sections = field.shape.sections();
    if sections.is_empty() {
        topics.push(Topic { name: name.to_owned(), summary: first_line(&field.doc), text: field_text(name, field) });
    }
    for shape in sections {
        match shape {
            Shape::Section(section) => section_topics(name, section, topics),
            Shape::Tagged(tagged) => tagged_topics(name, tagged, topics),
            _ => {}
        }
    }
}

fn section_topics(name: &str, section: &Section, topics: &mut Vec<Topic>) {
    topics.push(Topic { name: name.to_owned(), summary: first_line(&section.doc), text: section_text(name, section) });
    for field in &section.fields {
        field_topics(&format!("{name}.{}", field.key), field, topics);
    }
}

fn tagged_topics(name: &str, tagged: &Tagged, topics: &mut Vec<Topic>) {
    topics.push(Topic { name: name.to_owned(), summary: first_line(&tagged.doc), text: tagged_text(name, tagged) });
    for field in &tagged.common {
        field_topics(&format!("{name}.{}", field.key), field, topics);
    }
    for (word, section) in &tagged.variants {
        section_topics(&format!("{name}.{word}"), section, topics);
    }
}

fn section_text(name: &str, section: &Section) -> String {
    format!("## {}\n\n{}\n{}", heading(name), section.doc, table(&section.fields))
}

fn tagged_text(name: &str, tagged: &Tagged) -> String {
    let mut text = format!("## {}\n\n{}\n\n| `{}` | meaning |\n|---|---|\n", heading(name), tagged.doc, tagged.tag);
    for (word, section) in &tagged.variants {
        let absent = if tagged.absent == Some(word) { " (when absent)" } else { "" };
        let _ = writeln!(text, "| `{word}`{absent} | {} |", first_line(&section.doc));
    }
    if !tagged.common.is_empty() {
        let _ = write!(text, "\nKeys of every kind:\n{}", table(&tagged.common));
    }
    text
}

fn table(fields: &[Field]) -> String {
    if fields.is_empty() {
        return "\nIt has no keys of its own.\n".to_owned();
    }
    let mut text = "\n| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for field in fields {
        let doc = field.doc.replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {} | {} | {doc} |", field.key, field.shape.summary(), default(field));
    }
    for field in fields {
        if let Some(choices) = choices(&field.shape) {
            let _ = write!(text, "\n`{}`:\n{choices}", field.key);
        }
    }
    text
}

fn default(field: &Field) -> String {
    match &field.default {
        _ if field.required => "**required**".to_owned(),
        None | Some(serde_json::Value::Null) => "–".to_owned(),
        Some(serde_json::Value::String(text)) if text.is_empty() => "–".to_owned(),
        Some(serde_json::Value::String(text)) => format!("`{text}`"),
        Some(value) if value.as_array().is_some_and(Vec::is_empty) => "none".to_owned(),
        Some(value) if value.is_object() => "–".to_owned(),
        Some(value) => format!("`{value}`"),
    }
}

fn choices(shape: &Shape) -> Option<String> {
    let choices = match shape {
        Shape::Choice(choices) => choices,
        Shape::List { item, .. } => return choices(item),
        _ => return None,
    };
    Some(choices.iter().map(|choice| format!("- `{}`: {}\n", choice.word, choice.doc.replace('\n', " "))).collect())
}

fn field_text(name: &str, field: &Field) -> String {
    let mut text = format!(
        "# `{name}`\n\n{}\n\nvalue: {}\ndefault: {}\n",
        field.doc,
        field.shape.summary().replace("\\|", "|"),
        default(field)
    );
    if let Some(choices) = choices(&field.shape) {
        let _ = write!(text, "\n{choices}");
    }
    if let Shape::Word { example, .. } = &field.shape {
        let _ = writeln!(text, "\nexample: {}: {example}", field.key);
    }
    text
}

fn heading(name: &str) -> String {
    format!("`{name}`")
}

fn first_line(doc: &str) -> String {
    let paragraph = doc.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    paragraph.split_once(". ").map_or(paragraph.clone(), |(sentence, _)| format!("{sentence}."))
}

fn code_topic(code: Code) -> Topic {
    let explanation = code.explanation();
    Topic {
        name: code.name().to_owned(),
        summary: first_line(&explanation.replace('\n', " ")),
        text: format!("# {} `{code}`\n\n{explanation}\n", code.severity()),
    }
}

fn templates() -> Topic {
    let text = "## `templates`\n\n\
        `{{ … }}` is replaced in `base`, `task.prompt`, `agent`, `model`, `setup`, `services[].env` and other texts of containers, `fixtures` and checks:\n\n\
        | name | becomes |\n|---|---|\n\
        | `{{ params.NAME }}` | the cell's parameter; in a comparison, a value that is exactly this keeps its type |\n\
        | `{{ secrets.NAME }}` | the secret's value; in results it is `[redacted:NAME]` |\n\
        | `{{ services.NAME.host }}`, `{{ services.NAME.port }}` | where the agent reaches a service |\n\
        | `{{ seed }}` | the scenario's seed |\n\
        | `{{ replica }}` | which repetition this is, from 0 |\n\
        | `{{ task.prompt }}` | the prompt, outside `task` |\n\n\
        A name that does not exist is an error, and so is a near miss such as `{{ parms.x }}`. Any other `{{` is left alone, and `\\{{` is a literal `{{`. \
        Answers of an `http_mock` are left alone unless their route says `template: true`.\n";
    Topic { name: "templates".to_owned(), summary: "What `{{ … }}` becomes.".to_owned(), text: text.to_owned() }
}
