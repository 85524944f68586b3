//! Envelopes: values of later calls bounded by values of earlier ones.

use super::tool::Source;
use crate::code::Code;
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};
use crate::value::Num;

/// Stages, and the constraint between them.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) name: Named,
    pub(crate) stages: Vec<Stage>,
    pub(crate) constraint: Constraint,
    pub(crate) band: f64,
    pub(crate) reason: String,
    pub(crate) rule: String,
}

/// A value of one tool's calls, and its role.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) tool: Named,
    pub(crate) path: JsonPath,
    pub(crate) role: Role,
    pub(crate) source: Source,
}

/// The role of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Ceiling,
    Floor,
    Anchor,
    Initial,
    Constrained,
}

/// The relation between a constrained value and its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    LteCeiling,
    GteFloor,
    Bounded,
    WithinBand,
    MonotonicDecrease,
    MonotonicIncrease,
}

const ROLES: [(&str, Role); 5] = [
    ("ceiling", Role::Ceiling),
    ("floor", Role::Floor),
    ("anchor", Role::Anchor),
    ("initial", Role::Initial),
    ("constrained", Role::Constrained),
];

impl Constraint {
    const WORDS: [(&'static str, Self); 6] = [
        ("lte_ceiling", Self::LteCeiling),
        ("gte_floor", Self::GteFloor),
        ("bounded", Self::Bounded),
        ("within_band", Self::WithinBand),
        ("monotonic_decrease", Self::MonotonicDecrease),
        ("monotonic_increase", Self::MonotonicIncrease),
    ];

    /// The roles of its references.
    fn references(self) -> &'static [Role] {
        match self {
            Self::LteCeiling => &[Role::Ceiling],
            Self::GteFloor => &[Role::Floor],
            Self::Bounded => &[Role::Floor, Role::Ceiling],
            Self::WithinBand => &[Role::Anchor],
            Self::MonotonicDecrease | Self::MonotonicIncrease => &[Role::Initial],
        }
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Role {
    fn word(self) -> &'static str {
        ROLES.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Envelope {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["name", "stages", "constraint", "band", "reason"]) {
            return None;
        }
        let name = reader.required_name(at, "name");
        let constraint = reader.required(at, "constraint").and_then(|value| reader.word(&value, &Constraint::WORDS));
        let written = reader.required(at, "stages").map(|value| reader.list(&value)).unwrap_or_default();
        if at.present("stages").is_some() && written.len() < 2 {
            reader.report(Code::EnvelopeMinStages, at, "an envelope needs at least two stages");
        }
        let stages: Vec<_> = written.iter().filter_map(|stage| read_stage(stage, reader)).collect();
        if let Some(constraint) = constraint {
            // A stage that could not be read may have had any role.
            check_roles(at, constraint, &stages, stages.len() == written.len(), reader);
        }
        let band = read_band(at, constraint, reader);
        let reason = reader.reason(at, Code::ReasonRequired, "an envelope");
        let name = name?;
        let rule = format!("envelopes/{}", name.name);
        Some(Self { name, stages, constraint: constraint?, band, reason, rule })
    }

    /// The stages with a role.
    pub(crate) fn references(&self) -> impl Iterator<Item = (usize, &Stage)> {
        self.stages.iter().enumerate().filter(|(_, stage)| stage.role != Role::Constrained)
    }

    /// The constrained stages of a tool.
    pub(crate) fn constrained<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Stage> {
        self.stages.iter().filter(move |stage| stage.role == Role::Constrained && stage.tool.name == tool)
    }

    /// True when values form a chain.
    pub(crate) fn is_monotonic(&self) -> bool {
        matches!(self.constraint, Constraint::MonotonicDecrease | Constraint::MonotonicIncrease)
    }
}

fn read_stage(at: &At<'_>, reader: &mut Reader) -> Option<Stage> {
    if !reader.is_map(at, &["tool", "path", "role", "source"]) {
        return None;
    }
    let tool = reader.required_name(at, "tool");
    let path = reader.required_path(at, "path");
    let role = reader.required(at, "role").and_then(|value| reader.word(&value, &ROLES));
    let source = reader.word_of(at, "source", &Source::WORDS).unwrap_or(Source::Arguments);
    if role == Some(Role::Constrained) && source == Source::Output {
        reader.report(Code::EnvelopeOutputConstrained, at, "a constrained value cannot come from the output");
    }
    Some(Stage { tool: tool?, path: path?, role: role?, source })
}

fn check_roles(at: &At<'_>, constraint: Constraint, stages: &[Stage], is_whole: bool, reader: &mut Reader) {
    let needed = constraint.references().iter().copied().chain([Role::Constrained]);
    let missing: Vec<_> = needed.clone().filter(|role| stages.iter().all(|stage| stage.role != *role)).collect();
    if is_whole && !missing.is_empty() {
        let words: Vec<_> = missing.into_iter().map(|role| format!("`{}`", role.word())).collect();
        let message = format!("`{}` needs a stage with the role {}", constraint.word(), words.join(" and "));
        reader.report(Code::EnvelopeMissingRole, at, message);
    }
    for stage in stages.iter().filter(|stage| needed.clone().all(|role| role != stage.role)) {
        let message = format!("`{}` has no role `{}`", constraint.word(), stage.role.word());
        reader.diagnostics.report(Code::EnvelopeRoleMismatch, &stage.tool.place, message);
    }
}

fn read_band(at: &At<'_>, constraint: Option<Constraint>, reader: &mut Reader) -> f64 {
    match (at.present("band"), constraint) {
        (None, Some(Constraint::WithinBand)) => {
            reader.report(Code::BandRequired, at, "`within_band` needs a `band`");
        }
        (Some(band), Some(other)) if other != Constraint::WithinBand => {
            reader.report(Code::BandNotAllowed, &band, format!("`{}` has no band", other.word()));
        }
        _ => {}
    }
    let is_valid = |number: Num| number.as_f64() >= 0.0;
    let band = reader.number(at, "band", Code::InvalidOperand, "a fraction of 0 or more", is_valid);
    band.map_or(0.0, Num::as_f64)
}
