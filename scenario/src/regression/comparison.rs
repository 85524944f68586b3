//! What two shares say: a drop that chance does not explain, one that it may explain, or something better.

use std::collections::HashMap;

use super::gate::Budget;
use super::worlds::Worlds;
use super::{Change, Finding, Share};
use crate::score::CellVerdict;
use crate::statistics::boschloo::is_below;
use crate::statistics::holm::holm;
use crate::statistics::{MOST_REPLICAS, boschloo_given_variation, count, replicas_to_tell};

/// Something that was looked at on both sides.
#[derive(Debug)]
pub(super) struct Compared {
    spec: String,
    cell: Option<String>,
    invariant: Option<String>,
    before: Share,
    now: Share,
    bar: Bar,
    /// How the worlds of the two sides differ, when they differ so much that a drop need not be the agent's.
    worlds: Option<String>,
}

/// What became of the bar that decides whether it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bar {
    /// It is on the same side as before, or has none.
    Same,
    /// It reached its bar, and does not any more.
    Missed,
    /// It reached its bar, and could not be judged now.
    Unknown,
    /// It reaches its bar now.
    Reached,
}

impl Compared {
    pub(super) fn cell(
        spec: &str,
        cell: &str,
        shares: (Share, Share),
        verdicts: Option<(CellVerdict, CellVerdict)>,
    ) -> Self {
        let bar = match verdicts {
            Some((CellVerdict::Pass, CellVerdict::Fail)) => Bar::Missed,
            Some((CellVerdict::Pass, CellVerdict::Error | CellVerdict::Pending)) => Bar::Unknown,
            Some((CellVerdict::Fail, CellVerdict::Pass)) => Bar::Reached,
            _ => Bar::Same,
        };
        Self { cell: Some(cell.to_owned()), bar, ..Self::all_cells(spec, shares) }
    }

    pub(super) fn invariant(spec: &str, cell: &str, name: &str, shares: (Share, Share)) -> Self {
        Self { invariant: Some(name.to_owned()), ..Self::cell(spec, cell, shares, None) }
    }

    pub(super) fn all_cells(spec: &str, (before, now): (Share, Share)) -> Self {
        Self { spec: spec.to_owned(), cell: None, invariant: None, before, now, bar: Bar::Same, worlds: None }
    }

    /// The same, between runs in these worlds.
    pub(super) fn between(self, worlds: &Worlds) -> Self {
        Self { worlds: worlds.apart.clone(), ..self }
    }

    fn kind(&self) -> Kind {
        match (&self.cell, &self.invariant) {
            (None, _) => Kind::AllCells,
            (Some(_), None) => Kind::Cell,
            (Some(_), Some(_)) => Kind::Invariant,
        }
    }

    /// Whether there is anything to find: neither all passed nor none did, on both sides together.
    fn varies(&self) -> bool {
        let all = self.before.and(self.now);
        self.before.judged > 0 && self.now.judged > 0 && !all.is_all() && !all.is_none()
    }

    /// Whether a smaller share passed than before.
    fn is_drop(&self) -> bool {
        self.before.judged > 0 && self.now.judged > 0 && self.now.is_below(self.before)
    }

    /// What is found, when there is something to say.
    fn finding(self, evidence: Evidence) -> Option<Finding> {
        let (change, why) = match (self.is_drop(), self.bar) {
            (true, _) if evidence.is_unlikely => match &self.worlds {
                None => (Change::Regressed, evidence.words()),
                Some(worlds) => {
                    let why = format!("{}, but the worlds differ: {worlds}", evidence.words());
                    (Change::DifferentWorld, why)
                }
            },
            (_, Bar::Unknown) => {
                (Change::InsufficientEvidence, "it reached its bar, and could not be judged now".to_owned())
            }
            (true, Bar::Missed) => (Change::InsufficientEvidence, format!("{MISSED}, but {}", self.doubt(evidence))),
            (true, _) => (Change::InsufficientEvidence, self.doubt(evidence)),
            (false, Bar::Missed) => {
                (Change::InsufficientEvidence, format!("{MISSED}, although its pass rate did not drop"))
            }
            (false, Bar::Reached) => (Change::Improved, "it reaches its bar now".to_owned()),
            (false, Bar::Same) if self.invariant.is_some() && self.before.is_none() && self.now.is_all() => {
                (Change::Improved, "no replica met it, and every one does now".to_owned())
            }
            (false, Bar::Same) => return None,
        };
        let Evidence { chance, replicas_to_tell, .. } = evidence;
        let Self { spec: spec_id, cell, invariant, before, now, .. } = self;
        Some(Finding { change, spec_id, cell, invariant, before, now, chance, replicas_to_tell, why })
    }

    /// Why a drop is no regression.
    fn doubt(&self, evidence: Evidence) -> String {
        if self.kind() == Kind::Invariant && evidence.is_one_of_many() {
            return format!(
                "{}, but invariants are judged in cells that regressed, with their part of the level",
                evidence.chance_words()
            );
        }
        let what = if self.cell.is_some() { "replicas" } else { "scenarios" };
        let drop = format!("a drop from {} to {}", percent(self.before), percent(self.now));
        let needed = match evidence.replicas_to_tell {
            Some(needed) => format!("{needed} {what} on either side would tell {drop} in 80 of 100 comparisons"),
            None => format!("more than {MOST_REPLICAS} {what} on either side would be needed to tell {drop}"),
        };
        format!("{}; {needed}", evidence.words())
    }
}

const MISSED: &str = "it reached its bar, and does not any more, which fails the run";

fn percent(share: Share) -> String {
    format!("{:.0} %", share.rate() * 100.0)
}

/// Something that is compared; each kind has a family of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All scenarios of a cell.
    Cell,
    /// An invariant of a cell.
    Invariant,
    /// All cells of a spec together.
    AllCells,
}

/// What the test says of one comparison.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// How likely chance alone explains it.
    chance: Option<f64>,
    /// Whether that is unlikely, among so many comparisons.
    is_unlikely: bool,
    /// How many comparisons of its kind could have found something.
    comparisons: usize,
    /// The level of all of them together.
    level: f64,
    /// How many replicas on either side would be enough, where these are not.
    replicas_to_tell: Option<usize>,
}

impl Evidence {
    fn words(self) -> String {
        let many = match self.comparisons {
            made if made > 1 && self.is_one_of_many() => format!(", and {made} were made"),
            _ => String::new(),
        };
        format!("{}{many}", self.chance_words())
    }

    /// Whether one alone would have been enough.
    fn is_one_of_many(self) -> bool {
        !self.is_unlikely && self.chance.is_some_and(|chance| is_below(chance, self.level))
    }

    fn chance_words(self) -> String {
        let times = match self.chance.unwrap_or(1.0) * 100.0 {
            times if times < 1.0 => "less than 1".to_owned(),
            times => format!("{times:.0}"),
        };
        format!("chance alone would do this in {times} of 100 comparisons")
    }
}

/// Makes findings of everything that was compared. An invariant follows the cell that it is of.
pub(super) fn decide(compared: Vec<Compared>, budget: &Budget) -> Vec<Finding> {
    let mut chances = Chances::default();
    let unlikely = unlikely(&compared, budget, &mut chances);
    let families = Families::of(&compared, budget);
    let mut findings = Vec::new();
    for (one, is_unlikely) in compared.into_iter().zip(unlikely) {
        let family = families.of_kind(one.kind());
        let is_open = !is_unlikely && one.is_drop();
        let replicas_to_tell = is_open
            .then(|| chances.replicas_to_tell(one.before, one.now, family.level / count(family.size.max(1))))
            .flatten();
        let chance = chances.of(one.before, one.now);
        let (comparisons, level) = (family.size, family.level);
        findings.extend(one.finding(Evidence { chance, is_unlikely, comparisons, level, replicas_to_tell }));
    }
    findings
}

/// Says of each comparison whether chance is an unlikely reason for what was found, among all of them.
///
/// All cells in which anything varied are one family, sums of cells another. Invariants are judged within cells that have regressed,
/// each with the part of the level that its cell had.
pub(super) fn unlikely(compared: &[Compared], budget: &Budget, chances: &mut Chances) -> Vec<bool> {
    let mut unlikely = vec![false; compared.len()];
    let of_kind =
        |kind: Kind| (0..compared.len()).filter(move |place| compared[*place].kind() == kind).collect::<Vec<_>>();
    let cells = of_kind(Kind::Cell);
    let varied = test(&cells, compared, budget.cells, chances, &mut unlikely);
    test(&of_kind(Kind::AllCells), compared, budget.sums, chances, &mut unlikely);
    for cell in cells.into_iter().filter(|cell| unlikely[*cell]).collect::<Vec<_>>() {
        let is_of_cell = |place: &usize| compared[*place].kind() == Kind::Invariant;
        let invariants: Vec<_> = (cell + 1..compared.len()).take_while(is_of_cell).collect();
        test(&invariants, compared, budget.cells / count(varied), chances, &mut unlikely);
    }
    unlikely
}

/// Tests a family, of which those without anything to find are no members; says how many members it has.
fn test(places: &[usize], compared: &[Compared], level: f64, chances: &mut Chances, unlikely: &mut [bool]) -> usize {
    let members: Vec<_> = places.iter().copied().filter(|place| compared[*place].varies()).collect();
    let found: Vec<_> =
        members.iter().map(|place| chances.of(compared[*place].before, compared[*place].now).unwrap_or(1.0)).collect();
    for (place, is_unlikely) in members.iter().zip(holm(&found, level)) {
        unlikely[*place] = is_unlikely;
    }
    members.len()
}

/// How many members each family has, and its level.
struct Families {
    cells: Family,
    sums: Family,
}

#[derive(Clone, Copy)]
struct Family {
    size: usize,
    level: f64,
}

impl Families {
    fn of(compared: &[Compared], budget: &Budget) -> Self {
        let size = |kind| compared.iter().filter(|one| one.kind() == kind && one.varies()).count();
        Self {
            cells: Family { size: size(Kind::Cell), level: budget.cells },
            sums: Family { size: size(Kind::AllCells), level: budget.sums },
        }
    }

    fn of_kind(&self, kind: Kind) -> Family {
        match kind {
            Kind::Cell | Kind::Invariant => self.cells,
            Kind::AllCells => self.sums,
        }
    }
}

/// What is known of pairs of shares: many cells have the same ones, and counting takes a while.
#[derive(Default)]
pub(super) struct Chances {
    chances: HashMap<(Share, Share), Option<f64>>,
    needed: HashMap<(Share, Share, u64), Option<usize>>,
}

impl Chances {
    fn of(&mut self, before: Share, now: Share) -> Option<f64> {
        *self.chances.entry((before, now)).or_insert_with(|| boschloo_given_variation(before, now))
    }

    fn replicas_to_tell(&mut self, before: Share, now: Share, level: f64) -> Option<usize> {
        *self.needed.entry((before, now, level.to_bits())).or_insert_with(|| replicas_to_tell(before, now, level))
    }
}
