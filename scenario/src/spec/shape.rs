//! Descriptions of the language's values: the one source of the JSON Schema, `touchstone explain` and the reference.

use serde_json::Value as Json;

/// Maximum number of entries in a list or map. Rules compare entries with each other, so this also bounds their time.
pub const MOST_ENTRIES: usize = 1000;

/// The form of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Anything at all.
    Any,
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds.
    Integer {
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: i64,
    },
    /// A number within bounds.
    Number {
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A string; numbers and booleans are taken as they are written.
    Text,
    /// The same, with something in it.
    Filled,
    /// A string of a certain form.
    Word {
        /// The name of the form: `duration`, `service name`.
        name: &'static str,
        /// A regular expression that describes it, for editors.
        pattern: &'static str,
        /// One that is right.
        example: &'static str,
    },
    /// One of a few words.
    Choice(Vec<Choice>),
    /// A list of values of one form.
    List {
        /// The shape of each entry.
        item: Box<Shape>,
        /// Minimum number of entries.
        least: usize,
        /// Maximum number of entries.
        most: usize,
    },
    /// A map from free names to values of one form.
    Map {
        /// The form of a name, as a regular expression; empty for any name.
        key: &'static str,
        /// The shape of each value.
        value: Box<Shape>,
        /// Minimum number of entries.
        least: usize,
        /// Maximum number of entries.
        most: usize,
    },
    /// A map with known keys.
    Section(Section),
    /// Several sections told apart by the word under one key.
    Tagged(Tagged),
    /// A map from the words of several sections to one of each, which therefore has no key that tells them apart.
    ByTag(Tagged),
    /// Any of several forms.
    Either(Vec<Shape>),
}

/// One allowed word.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The word.
    pub word: &'static str,
    /// Its meaning.
    pub doc: String,
}

/// A map with known keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its name in the schema: `Resources`.
    pub name: &'static str,
    /// Its purpose.
    pub doc: String,
    /// Its keys, in the order of the reference.
    pub fields: Vec<Field>,
}

/// Several sections told apart by one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// Its name in the schema: `Agent`.
    pub name: &'static str,
    /// Its purpose.
    pub doc: String,
    /// The key that tells: `type`.
    pub tag: &'static str,
    /// The meaning of an absent key; `None` when it is required.
    pub absent: Option<&'static str>,
    /// Keys that every variant has.
    pub common: Vec<Field>,
    /// The word for each variant, and its section.
    pub variants: Vec<(&'static str, Section)>,
}

/// One key of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Its meaning.
    pub doc: String,
    /// The shape of its value.
    pub shape: Shape,
    /// True if it is required.
    pub required: bool,
    /// The value that applies when it is absent.
    pub default: Option<Json>,
}

impl Shape {
    /// A few words for a table: `duration`, `list of text`.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Integer { min, max } => format!("integer{}", bounds(*min, *max)),
            Self::Number { min, max } => format!("number{}", number_bounds(*min, *max)),
            Self::Text | Self::Filled => "text".to_owned(),
            Self::Word { name, .. } => (*name).to_owned(),
            Self::Choice(choices) => {
                choices.iter().map(|choice| format!("`{}`", choice.word)).collect::<Vec<_>>().join(" \\| ")
            }
            Self::List { item, .. } => format!("list of {}", item.summary()),
            Self::Map { value, .. } => format!("map of {}", value.summary()),
            Self::Section(_) => "map".to_owned(),
            Self::Tagged(tagged) => format!("map by `{}`", tagged.tag),
            Self::ByTag(tagged) => format!("map from each `{}` to the rest", tagged.tag),
            Self::Either(shapes) => {
                let mut forms: Vec<_> = shapes.iter().map(Self::summary).collect();
                forms.dedup();
                forms.join(", or ")
            }
        }
    }

    /// The sections inside this shape, itself first.
    #[must_use]
    pub fn sections(&self) -> Vec<&Self> {
        match self {
            Self::Section(_) | Self::Tagged(_) => vec![self],
            Self::List { item, .. } => item.sections(),
            Self::Map { value, .. } => value.sections(),
            Self::Either(shapes) => shapes.iter().flat_map(Self::sections).collect(),
            _ => Vec::new(),
        }
    }
}

fn bounds(min: i64, max: i64) -> String {
    match (min, max) {
        (i64::MIN, i64::MAX) => String::new(),
        (min, i64::MAX) => format!(" ≥ {min}"),
        (i64::MIN, max) => format!(" ≤ {max}"),
        (min, max) if min == max => format!(" {min}"),
        (min, max) => format!(" {min}–{max}"),
    }
}

fn number_bounds(min: f64, max: f64) -> String {
    match (min.is_finite(), max.is_finite()) {
        (false, false) => String::new(),
        (true, false) => format!(" ≥ {min}"),
        (false, true) => format!(" ≤ {max}"),
        (true, true) => format!(" {min}–{max}"),
    }
}

/// Joins the lines of a doc comment into paragraphs without the space that rustdoc leaves in front.
#[must_use]
pub fn doc_text(lines: &[&str]) -> String {
    let stripped: Vec<_> = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    stripped.join("\n").trim().to_owned()
}
