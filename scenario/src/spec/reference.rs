//! The language in words: `touchstone explain` and the reference are made from the descriptions of the types.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::Sections;
use super::code::Code;
use super::diagnostic::closest;
use super::load::RESERVED;
use super::reader::Readable;
use super::section::Fields as _;
use super::sections::Profile;
use super::shape::{Field, Section, Shape, Tagged};
use crate::checks::Comparison;

/// One thing that can be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Name of the topic: `agent`, `agent.cli`, `resources.memory`, `check.sql`, `unknown-key`.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// All about it, as Markdown.
    pub text: String,
    /// The topic that says the same, when a section stands in several places.
    pub same_as: Option<String>,
}

/// Returns all topics, in the order of the reference.
#[must_use]
pub fn topics() -> Vec<Topic> {
    let Shape::Section(root) = Sections::shape() else {
        unreachable!("a spec is a section");
    };
    let mut list = List::default();
    list.add("spec", &root.doc, section_text("spec", &root), None);
    for field in &root.fields {
        list.field(field.key, field);
    }
    let comparison = Comparison::section();
    list.add("comparison", &comparison.doc, section_text("comparison", &comparison), None);
    list.add("templates", "What `{{ … }}` becomes.", TEMPLATES.to_owned(), None);
    for profile in Profile::ALL {
        let name = format!("profile.{profile}");
        let faults: String = profile.yaml().lines().map(|line| format!("  {line}\n")).collect();
        let text = format!("# Profile `{profile}`\n\nIt stands for these faults:\n\n```yaml\nchaos:\n{faults}```\n");
        let summary = profile.yaml().lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        list.add(&name, &summary, text, None);
    }
    for key in RESERVED {
        let text = format!(
            "# `{key}`\n\nReserved for a later version; a spec that uses it is refused with `not-supported-yet`.\n"
        );
        list.add(key, "Reserved for a later version.", text, None);
    }
    for code in Code::ALL {
        let explanation = code.explanation();
        let text = format!("# {} `{code}`\n\n{explanation}\n", code.severity());
        list.add(code.name(), &explanation, text, None);
    }
    list.topics
}

/// The topic with this name, or whose last word it is; otherwise the closest name.
pub fn explain(name: &str) -> Result<Topic, Option<String>> {
    let topics = topics();
    let wanted = name.replace("[]", "");
    let last = |topic: &Topic| topic.name.rsplit('.').next().unwrap_or_default().to_owned();
    let exact =
        topics.iter().find(|topic| topic.name == wanted || topic.name.replace("invariants.check", "check") == wanted);
    // A bare `sql` means the check, which is what most people ask about.
    let check = || topics.iter().find(|topic| topic.name == format!("invariants.check.{wanted}"));
    match exact.or_else(check).or_else(|| topics.iter().find(|topic| last(topic) == wanted)) {
        Some(topic) => Ok(topic.clone()),
        None => {
            let words: Vec<_> = topics.iter().map(last).collect();
            let near = closest(
                &wanted,
                topics.iter().map(|topic| topic.name.as_str()).chain(words.iter().map(String::as_str)),
            );
            Err(near.map(ToOwned::to_owned))
        }
    }
}

/// The topics of a document of another kind, and of everything below it.
pub(crate) fn topics_of(name: &str, shape: &Shape) -> Vec<Topic> {
    let mut list = List::default();
    if let Shape::Section(section) = shape {
        list.section(name, section);
    }
    list.topics
}

/// Beginning of the page.
const PREFACE: &str = "# Spec reference

This page is generated from the types that read a spec; `touchstone explain TOPIC` shows the same text in a terminal. It describes
the whole language; [backends.md](backends.md) says which parts need Docker.
";

/// The whole reference as one Markdown page.
#[must_use]
pub fn markdown() -> String {
    let mut page = PREFACE.to_owned();
    let topics = topics();
    let (codes, sections): (Vec<_>, Vec<_>) =
        topics.iter().partition(|topic| Code::ALL.iter().any(|code| code.name() == topic.name));
    let repeated: Vec<_> = sections.iter().filter(|topic| topic.same_as.is_some()).collect();
    for topic in sections.iter().filter(|topic| !is_field(topic)) {
        let inside_repeated = repeated.iter().any(|other| topic.name.starts_with(&format!("{}.", other.name)));
        let _ = match &topic.same_as {
            _ if inside_repeated => Ok(()),
            Some(same) => write!(page, "\n## {}\n\nThe same as `{same}`.\n", heading(&topic.name)),
            None => write!(page, "\n{}\n", topic.text.trim_end()),
        };
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

/// Returns true if a topic is a single key, which the page shows in its section's table.
fn is_field(topic: &Topic) -> bool {
    !topic.text.starts_with("## ")
}

/// Topics in the making.
#[derive(Default)]
struct List {
    topics: Vec<Topic>,
    /// The first place in which each section was explained.
    seen: HashMap<&'static str, String>,
}

impl List {
    fn add(&mut self, name: &str, doc: &str, text: String, section: Option<&'static str>) {
        let first = section.and_then(|section| self.seen.get(section).cloned());
        if let Some(section) = section {
            self.seen.entry(section).or_insert_with(|| name.to_owned());
        }
        self.topics.push(Topic { name: name.to_owned(), summary: first_line(doc), text, same_as: first });
    }

    fn field(&mut self, name: &str, field: &Field) {
        let sections = field.shape.sections();
        if sections.is_empty() {
            self.add(name, &field.doc, field_text(name, field), None);
        }
        for shape in sections {
            match shape {
                Shape::Section(section) => self.section(name, section),
                Shape::Tagged(tagged) => self.tagged(name, tagged),
                _ => {}
            }
        }
    }

    fn section(&mut self, name: &str, section: &Section) {
        self.add(name, &section.doc, section_text(name, section), Some(section.name));
        for field in &section.fields {
            self.field(&format!("{name}.{}", field.key), field);
        }
    }

    fn tagged(&mut self, name: &str, tagged: &Tagged) {
        self.add(name, &tagged.doc, tagged_text(name, tagged), Some(tagged.name));
        for field in &tagged.common {
            self.field(&format!("{name}.{}", field.key), field);
        }
        for (word, section) in &tagged.variants {
            self.section(&format!("{name}.{word}"), section);
        }
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
    let paragraph = doc.trim().split("\n\n").next().unwrap_or_default().replace('\n', " ");
    paragraph.split_once(". ").map_or(paragraph.clone(), |(sentence, _)| format!("{sentence}."))
}

/// Text about `{{ … }}`.
const TEMPLATES: &str = "## `templates`

`{{ … }}` is replaced in `base`, `task.prompt`, `agent`, `model`, `setup`, the texts of container services, `fixtures` and checks:

| name | becomes |
|---|---|
| `{{ params.NAME }}` | the cell's parameter; in a comparison, a value that is exactly this keeps its type |
| `{{ secrets.NAME }}` | the secret's value; in results it is a marker, `[redacted:NAME:…]`, or `[redacted:NAME/FORM:…]` where it stood encoded, which equals nothing |
| `{{ services.NAME.host }}`, `{{ services.NAME.port }}` | where the agent reaches a service |
| `{{ seed }}` | the scenario's seed |
| `{{ replica }}` | which repetition this is, from 0 |
| `{{ task.prompt }}` | the prompt, outside `task` |

A name that does not exist is an error, and so is a near miss such as `{{ parms.x }}`. Any other `{{` is left alone, and `\\{{` is
a literal `{{`. Answers of an `http_mock` are left alone unless their route says `template: true`.
";
