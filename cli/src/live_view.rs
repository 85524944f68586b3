//! The display of a terminal while scenarios run: a line for each of them, and below a bar with a tally.
//!
//! It is drawn on standard error. What is printed meanwhile goes through [`beside`], which takes the lines away for a moment.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use scenario::count_noun;
use scenario::result::RowStatus;
use tokio::time::Instant;

use crate::screen::{self, Unechoed};

/// Maximum number of scenarios with a line of their own; the others are counted.
const MOST_LINES: usize = 12;
/// Interval at which times are redrawn.
const TICK: Duration = Duration::from_millis(250);

/// The display of all live views: there is one terminal.
static SCREEN: LazyLock<MultiProgress> = LazyLock::new(|| MultiProgress::with_draw_target(screen::target()));

/// Prints something while nothing is drawn.
pub(crate) fn beside<T>(print: impl FnOnce() -> T) -> T {
    SCREEN.suspend(print)
}

/// The lines of scenarios that run, and a bar.
#[derive(Debug)]
pub(crate) struct LiveView {
    bar: ProgressBar,
    lines: BTreeMap<String, ProgressBar>,
    /// The scenarios without room for a line, with their activity and the time at which they started.
    hidden: BTreeMap<String, (String, Instant)>,
    tally: Tally,
    _unechoed: Unechoed,
}

/// Number of scenarios for each outcome.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    errors: usize,
}

impl LiveView {
    /// Creates a view of `total` scenarios, of which some have ended.
    pub(crate) fn new(total: u64, ended: u64) -> Self {
        let bar = SCREEN.add(ProgressBar::new(total));
        bar.set_style(style("[{bar:30}] {pos}/{len}  {elapsed}  {wide_msg}").progress_chars("=> "));
        bar.set_position(ended);
        bar.enable_steady_tick(TICK);
        let view = Self {
            bar,
            lines: BTreeMap::new(),
            hidden: BTreeMap::new(),
            tally: Tally::default(),
            _unechoed: Unechoed::begin(),
        };
        view.tell();
        view
    }

    /// A scenario does something; it has a line from now on.
    pub(crate) fn doing(&mut self, name: &str, what: &str) {
        if let Some(line) = self.lines.get(name) {
            line.set_message(message(name, what));
        } else if let Some((doing, _)) = self.hidden.get_mut(name) {
            what.clone_into(doing);
        } else if self.lines.len() < MOST_LINES {
            self.add(name, what, Duration::ZERO);
        } else {
            self.hidden.insert(name.to_owned(), (what.to_owned(), Instant::now()));
        }
        self.tell();
    }

    /// A scenario does nothing any more; how it ended, if it did.
    pub(crate) fn ended(&mut self, name: &str, status: Option<RowStatus>) {
        match status {
            Some(RowStatus::Pass) => self.tally.passed += 1,
            Some(RowStatus::Fail) => self.tally.failed += 1,
            Some(RowStatus::Error) => self.tally.errors += 1,
            None => {}
        }
        if status.is_some() {
            self.bar.inc(1);
        }
        self.forget(name);
    }

    /// A scenario has no line any more; one of those that had no room gets it.
    pub(crate) fn forget(&mut self, name: &str) {
        self.hidden.remove(name);
        if let Some(line) = self.lines.remove(name) {
            line.finish_and_clear();
            SCREEN.remove(&line);
            if let Some((name, (what, since))) = self.hidden.pop_first() {
                self.add(&name, &what, since.elapsed());
            }
        }
        self.tell();
    }

    /// A scenario ended without a result.
    pub(crate) fn gone(&mut self, name: &str) {
        self.bar.inc(1);
        self.forget(name);
    }

    /// Removes everything that is drawn.
    pub(crate) fn end(&mut self) {
        for line in std::mem::take(&mut self.lines).into_values() {
            line.finish_and_clear();
        }
        self.bar.finish_and_clear();
        let _ = SCREEN.clear();
    }

    fn add(&mut self, name: &str, what: &str, elapsed: Duration) {
        let line = ProgressBar::new_spinner().with_elapsed(elapsed);
        let line = SCREEN.insert_before(&self.bar, line);
        line.set_style(style("{spinner} {elapsed:>4}  {wide_msg}"));
        line.set_message(message(name, what));
        line.enable_steady_tick(TICK);
        self.lines.insert(name.to_owned(), line);
    }

    fn tell(&self) {
        let Tally { passed, failed, errors } = &self.tally;
        let hidden = match self.hidden.len() {
            0 => String::new(),
            more => format!(", {more} more run"),
        };
        self.bar.set_message(format!("{passed} passed, {failed} failed, {}{hidden}", count_noun(*errors, "error")));
    }
}

fn message(name: &str, what: &str) -> String {
    format!("{name}  {what}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
