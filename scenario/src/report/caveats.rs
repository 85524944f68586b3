//! The caveats of a report: a caveat that all its scenarios share is listed once.

use indexmap::IndexMap;

use super::Report;
use crate::count_noun;
use crate::result::Caveat;

/// A caveat of several scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportCaveat<'a> {
    /// The caveat of the first of them.
    pub caveat: &'a Caveat,
    /// Number of scenarios with the caveat.
    pub scenarios: usize,
}

impl<'a> ReportCaveat<'a> {
    /// The caveats of scenarios, each once: about agents first.
    pub fn of(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<Self> {
        let mut told: IndexMap<_, Self> = IndexMap::new();
        for caveat in caveats {
            told.entry(same(caveat)).or_insert(Self { caveat, scenarios: 0 }).scenarios += 1;
        }
        let mut told: Vec<_> = told.into_values().collect();
        told.sort_by_key(|told| !told.caveat.is_about_the_agent());
        told
    }

    /// All of it in one line that is safe to show.
    #[must_use]
    pub fn message(&self) -> String {
        let message = self.caveat.message();
        if self.scenarios > 1 { format!("{message} ({})", count_noun(self.scenarios, "scenario")) } else { message }
    }
}

impl Report {
    /// Returns the caveats that readers must know to judge the results: those about agents first.
    #[must_use]
    pub fn caveats(&self) -> Vec<ReportCaveat<'_>> {
        ReportCaveat::of(self.rows.iter().flat_map(|row| &row.result.caveats))
    }
}

/// Returns the key by which the caveats of two scenarios count as the same. The paths that an agent changed may differ
/// from run to run.
fn same(caveat: &Caveat) -> [&str; 3] {
    match caveat {
        Caveat::ModifiedImage { invariant, .. } => [caveat.kind(), invariant, ""],
        Caveat::StandIn { image, used, .. } => [caveat.kind(), image, used],
        Caveat::Vacuous { rules } => [caveat.kind(), rules.first().map_or("", String::as_str), ""],
        Caveat::SharedState => [caveat.kind(), "", ""],
        Caveat::LostEvidence { scenario, .. } => [caveat.kind(), scenario, ""],
    }
}
