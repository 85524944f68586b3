//! A contract's cells as a table: rules down, worlds across.

use indexmap::{IndexMap, IndexSet};

use super::{ContractCell, ContractScore};
use crate::plan::parameter_text;
use crate::spec::sections::Severity;

/// A contract's cells as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractMatrix<'a> {
    /// The names of the worlds.
    pub worlds: Vec<String>,
    /// The rules, each with its cell in every world; `None` where the run left it out.
    pub rules: Vec<MatrixRow<'a>>,
}

/// One rule in every world.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixRow<'a> {
    /// The rule.
    pub invariant: &'a str,
    /// Its severity.
    pub severity: Severity,
    /// Its cells.
    pub cells: Vec<Option<&'a ContractCell>>,
}

impl ContractScore {
    /// Its cells as a table.
    #[must_use]
    pub fn matrix(&self) -> ContractMatrix<'_> {
        let worlds: IndexSet<String> = self.cells.iter().map(ContractCell::world).collect();
        let mut rules: IndexMap<&str, MatrixRow<'_>> = IndexMap::new();
        for cell in &self.cells {
            let empty =
                || MatrixRow { invariant: &cell.invariant, severity: cell.severity, cells: vec![None; worlds.len()] };
            let row = rules.entry(&cell.invariant).or_insert_with(empty);
            if let Some(place) = worlds.get_index_of(&cell.world()).and_then(|index| row.cells.get_mut(index)) {
                *place = Some(cell);
            }
        }
        ContractMatrix { worlds: worlds.into_iter().collect(), rules: rules.into_values().collect() }
    }

    /// The reason for the verdict, in a few words.
    #[must_use]
    pub fn why(&self) -> String {
        let critical =
            self.cells.iter().filter(|cell| cell.is_critical() && cell.status.holds() == Some(false)).count();
        let unjudged = self.cells.iter().filter(|cell| cell.status.is_unjudged()).count();
        match (critical, self.min_score, self.resilience_score) {
            (0, Some(bar), Some(score)) if score < bar => format!("it needs a score of {bar}"),
            (0, ..) if unjudged > 0 => format!("{} could not be judged", crate::count_noun(unjudged, "cell")),
            (0, ..) => "no critical rule failed".to_owned(),
            (some, ..) => format!("a critical rule failed in {}", crate::count_noun(some, "cell")),
        }
    }

    /// The score with two digits; a dash when nothing was judged.
    #[must_use]
    pub fn score_text(&self) -> String {
        self.resilience_score.map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"))
    }
}

impl ContractCell {
    /// The name of its world: its chaos cell, and the parameters where there are any.
    #[must_use]
    pub fn world(&self) -> String {
        world_name(&self.scenario, &self.parameters)
    }

    /// The difference to the world without faults in points of a hundred, such as `−33 points`; `None` where there is none.
    #[must_use]
    pub fn difference_text(&self) -> Option<String> {
        let points = (self.difference_to_clean? * 100.0).round();
        let sign = if points < 0.0 { '−' } else { '+' };
        (points != 0.0).then(|| format!("{sign}{:.0} points", points.abs()))
    }
}

/// The name of a world.
pub(super) fn world_name(chaos: &str, parameters: &IndexMap<String, serde_json::Value>) -> String {
    let chaos = if chaos.is_empty() { "default" } else { chaos };
    let pairs: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={}", parameter_text(value))).collect();
    if pairs.is_empty() { chaos.to_owned() } else { format!("{chaos} {}", pairs.join(" ")) }
}
