//! Invariants: a path, and what must be true of every value there.
//!
//! To add an operator: a variant of [`Operator`], its name and operand in `read`, its meaning in `check`.

mod check;
mod read;

pub(crate) use check::Failure;
pub(crate) use read::Context;
use regex::Regex;
use serde_json::Value as Json;

use crate::diagnostic::Place;
use crate::json_path::JsonPath;
use crate::value::Num;

/// A path, and the operators that hold for every value there.
#[derive(Debug, Clone)]
pub(crate) struct Invariant {
    pub(crate) path: JsonPath,
    pub(crate) operators: Vec<Operator>,
    /// The slot that the value must equal.
    pub(crate) reference: Option<Reference>,
    /// True when an absent path is passed over.
    pub(crate) is_optional: bool,
    pub(crate) place: Place,
    /// The place as text, which names the rule in reasons.
    pub(crate) rule: String,
}

/// A slot, and how far from it a number may be.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    pub(crate) slot: String,
    pub(crate) tolerance: Option<f64>,
    pub(crate) place: Place,
}

/// One condition.
#[derive(Debug, Clone)]
pub(crate) enum Operator {
    Equals(Json),
    ExactMatch(Json),
    Exists(bool),
    Type(TypeName),
    Contains(Json),
    OneOf(Vec<Json>),
    Regex(Regex),
    AtLeast(Num),
    AtMost(Num),
    LengthAtLeast(u64),
    LengthAtMost(u64),
    EqualsEnvironment(String),
}

/// The types of JSON, and whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeName {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
}

impl TypeName {
    /// The words for them.
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("integer", Self::Integer),
        ("boolean", Self::Boolean),
        ("object", Self::Object),
        ("array", Self::Array),
    ];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, name)| *name == self).map_or("", |(word, _)| word)
    }
}

impl Operator {
    /// The operator's name and operand, as they were written.
    pub(crate) fn written(&self) -> (&'static str, Json) {
        match self {
            Self::Equals(value) => ("equals", value.clone()),
            Self::ExactMatch(value) => ("exact_match", value.clone()),
            Self::Exists(value) => ("exists", (*value).into()),
            Self::Type(name) => ("type", name.word().into()),
            Self::Contains(value) => ("contains", value.clone()),
            Self::OneOf(values) => ("one_of", values.clone().into()),
            Self::Regex(regex) => ("regex", regex.as_str().into()),
            Self::AtLeast(number) => ("gte", number.to_json()),
            Self::AtMost(number) => ("lte", number.to_json()),
            Self::LengthAtLeast(length) => ("length_gte", (*length).into()),
            Self::LengthAtMost(length) => ("length_lte", (*length).into()),
            Self::EqualsEnvironment(name) => ("equals_env", name.as_str().into()),
        }
    }
}
