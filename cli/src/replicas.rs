//! The word that a replica gets while others of its cell still run.
//!
//! A failure is `fail` or `flaky`, and which of them is known when another replica has passed, or all have ended. Until then no word
//! says it, so that none has to be taken back.

use std::collections::HashMap;

use scenario::result::RowStatus;
use scenario::score::Status;

/// The cells of runs, and how their replicas did so far.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    cells: HashMap<String, Cell>,
}

#[derive(Debug, Default)]
struct Cell {
    planned: usize,
    ended: usize,
    passed: usize,
    /// The failed ones that have no word yet.
    open: Vec<String>,
}

/// The state of a replica that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has a status that stays.
    Settled(Status),
    /// It did not pass; its status waits for this number of other replicas.
    Open(usize),
}

impl Standing {
    /// The word, as wide as any other.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Settled(Status::Pass) => "pass ",
            Self::Settled(Status::Fail) => "FAIL ",
            Self::Settled(Status::Flaky) => "FLAKY",
            Self::Settled(Status::Error) => "ERROR",
            Self::Open(_) => "miss ",
        }
    }

    /// The word, or the one for a pass that proves nothing.
    pub(crate) const fn word_or_inconclusive(self, is_inconclusive: bool) -> &'static str {
        if is_inconclusive { "INCONCLUSIVE" } else { self.word() }
    }

    /// Returns the remark about a replica that has no status yet.
    pub(crate) fn remark(self) -> String {
        match self {
            Self::Settled(_) => String::new(),
            Self::Open(1) => " (fail or flaky: another replica is to come)".to_owned(),
            Self::Open(others) => format!(" (fail or flaky: {others} more replicas are to come)"),
        }
    }
}

impl Cell {
    /// Settles the replicas that have no word yet: no pass will come any more that came not already.
    fn settle(&mut self) -> Vec<(String, Status)> {
        let failed = if self.passed > 0 { Status::Flaky } else { Status::Fail };
        std::mem::take(&mut self.open).into_iter().map(|scenario| (scenario, failed)).collect()
    }
}

impl Replicas {
    /// Another scenario of a run is planned.
    pub(crate) fn plan(&mut self, run: &str, scenario: &str) {
        self.cells.entry(cell(run, scenario)).or_default().planned += 1;
    }

    /// Sets the number of planned replicas of a cell.
    pub(crate) fn plan_cell(&mut self, run: &str, cell: &str, replicas: usize) {
        self.cells.entry(format!("{run}/{cell}")).or_default().planned += replicas;
    }

    /// No more replicas of a cell will be run: which are settled by that.
    pub(crate) fn close(&mut self, run: &str, cell: &str) -> Vec<(String, Status)> {
        self.cells.get_mut(&format!("{run}/{cell}")).map(Cell::settle).unwrap_or_default()
    }

    /// A replica will not be run: which others are settled by that.
    pub(crate) fn dropped(&mut self, run: &str, scenario: &str) -> Vec<(String, Status)> {
        let cell = self.cells.entry(cell(run, scenario)).or_default();
        cell.planned = cell.planned.saturating_sub(1);
        if cell.planned > cell.ended {
            return Vec::new();
        }
        cell.settle()
    }

    /// A replica has ended: how it stands, and which others are settled by that.
    pub(crate) fn ended(&mut self, run: &str, scenario: &str, status: RowStatus) -> (Standing, Vec<(String, Status)>) {
        let cell = self.cells.entry(cell(run, scenario)).or_default();
        cell.ended += 1;
        cell.passed += usize::from(status == RowStatus::Pass);
        let left = cell.planned.saturating_sub(cell.ended);
        let failed = if cell.passed > 0 { Status::Flaky } else { Status::Fail };
        let is_settled = cell.passed > 0 || left == 0;
        let settled = if is_settled { std::mem::take(&mut cell.open) } else { Vec::new() };
        let standing = match status {
            RowStatus::Pass => Standing::Settled(Status::Pass),
            RowStatus::Error => Standing::Settled(Status::Error),
            RowStatus::Fail if is_settled => Standing::Settled(failed),
            RowStatus::Fail => {
                cell.open.push(scenario.to_owned());
                Standing::Open(left)
            }
        };
        (standing, settled.into_iter().map(|scenario| (scenario, failed)).collect())
    }
}

/// The cell of a scenario, by its id: `<cell>-r<replica>`.
fn cell(run: &str, scenario: &str) -> String {
    let cell = scenario.rsplit_once("-r").map_or(scenario, |(cell, _)| cell);
    format!("{run}/{cell}")
}

#[cfg(test)]
mod tests {
    use scenario::result::RowStatus::{self, Error, Fail, Pass};
    use scenario::score::Status;

    use super::{Replicas, Standing};

    fn of(replicas: usize) -> Replicas {
        let mut cells = Replicas::default();
        cells.plan_cell("e", "default", replicas);
        cells
    }

    fn end(cells: &mut Replicas, replica: usize, status: RowStatus) -> (Standing, Vec<(String, Status)>) {
        cells.ended("e", &format!("default-r{replica}"), status)
    }

    #[test]
    fn one_replica_is_settled_at_once() {
        assert_eq!(end(&mut of(1), 0, Fail), (Standing::Settled(Status::Fail), vec![]));
        assert_eq!(end(&mut of(1), 0, Error), (Standing::Settled(Status::Error), vec![]));
    }

    #[test]
    fn a_failure_is_settled_by_the_first_pass() {
        let mut cells = of(4);
        assert_eq!(end(&mut cells, 2, Fail), (Standing::Open(3), vec![]));
        let settled = vec![("default-r2".to_owned(), Status::Flaky)];
        assert_eq!(end(&mut cells, 0, Pass), (Standing::Settled(Status::Pass), settled));
        assert_eq!(end(&mut cells, 1, Fail), (Standing::Settled(Status::Flaky), vec![]), "it is known already");
    }

    #[test]
    fn failures_are_failures_when_all_have_ended_without_a_pass() {
        let mut cells = of(3);
        assert_eq!(end(&mut cells, 0, Fail).0, Standing::Open(2));
        assert_eq!(end(&mut cells, 1, Error).0, Standing::Settled(Status::Error));
        let settled = vec![("default-r0".to_owned(), Status::Fail)];
        assert_eq!(end(&mut cells, 2, Fail), (Standing::Settled(Status::Fail), settled));
    }

    #[test]
    fn failures_are_failures_when_the_others_are_not_needed() {
        let mut cells = of(4);
        assert_eq!(end(&mut cells, 0, Fail).0, Standing::Open(3));
        assert_eq!(cells.dropped("e", "default-r2"), vec![]);
        assert_eq!(cells.dropped("e", "default-r3"), vec![], "one still runs");
        let settled = vec![("default-r0".to_owned(), Status::Fail)];
        assert_eq!(end(&mut cells, 1, Fail), (Standing::Settled(Status::Fail), settled));
        let mut cells = of(2);
        end(&mut cells, 0, Fail);
        assert_eq!(cells.dropped("e", "default-r1"), vec![("default-r0".to_owned(), Status::Fail)]);
    }

    #[test]
    fn cells_do_not_settle_each_other() {
        let mut cells = Replicas::default();
        for scenario in ["a-r0", "a-r1", "b-r0"] {
            cells.plan("e", scenario);
        }
        assert_eq!(cells.ended("e", "a-r0", Fail).0, Standing::Open(1));
        assert_eq!(cells.ended("e", "b-r0", Pass).1, vec![]);
        assert_eq!(cells.ended("e", "a-r1", Fail).1, vec![("a-r0".to_owned(), Status::Fail)]);
    }
}
