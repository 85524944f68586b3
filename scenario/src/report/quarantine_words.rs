//! A quarantine in words: entries that have expired or name nothing go first.

use std::fmt::Write as _;

use quick_junit::{Property, TestCase, TestCaseStatus, TestSuite};

use crate::quarantine::{EntryState, JudgedEntry, Quarantined};
use crate::untrusted;

/// The number of entries that are told.
const MOST_ENTRIES: usize = 50;
/// The longest line of one.
const MOST_LINE: usize = 500;

/// The beginning of an entry's line.
pub(super) fn title(entry: &JudgedEntry) -> &'static str {
    match entry.state {
        EntryState::Active => "quarantined",
        EntryState::Expired => "QUARANTINE EXPIRED",
        EntryState::Unmatched => "QUARANTINE OF NOTHING",
    }
}

/// A line for each entry.
pub(super) fn lines(quarantine: &Quarantined) -> Vec<String> {
    let states = [EntryState::Expired, EntryState::Unmatched, EntryState::Active];
    let sorted: Vec<_> = states.into_iter().flat_map(|state| quarantine.of(state)).collect();
    let line = |entry: &&JudgedEntry| {
        let line = format!("{} {}: {}", title(entry), entry.entry.place(), entry.message());
        untrusted::line(&line, MOST_LINE)
    };
    let mut lines: Vec<_> = sorted.iter().take(MOST_ENTRIES).map(line).collect();
    if sorted.len() > lines.len() {
        lines.push(format!("and {} more in quarantine", sorted.len() - lines.len()));
    }
    lines
}

/// The lines for a terminal.
pub(super) fn terminal(quarantine: &Quarantined) -> String {
    lines(quarantine).iter().map(|line| format!("{line}\n")).collect()
}

/// The lines as a list in Markdown, each in code, in which nothing is markup.
pub(super) fn markdown(quarantine: &Quarantined, code: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for line in lines(quarantine) {
        let lead = if text.is_empty() { "\n#### Quarantine\n\n" } else { "" };
        let _ = writeln!(text, "{lead}- {}", code(&line));
    }
    text
}

/// A test suite with a case for each entry that is not in force: it is skipped, so that somebody sees it.
pub(super) fn suite(quarantine: &Quarantined) -> Option<TestSuite> {
    let mut suite = TestSuite::new("touchstone quarantine");
    for entry in quarantine.entries.iter().take(MOST_ENTRIES) {
        let mut status = match entry.state {
            EntryState::Active => TestCaseStatus::success(),
            EntryState::Expired | EntryState::Unmatched => TestCaseStatus::skipped(),
        };
        if entry.state != EntryState::Active {
            status.set_message(untrusted::line(&format!("{}: {}", entry.state.word(), entry.message()), MOST_LINE));
        }
        let mut case = TestCase::new(untrusted::line(&entry.entry.place(), MOST_LINE), status);
        case.set_classname("touchstone quarantine");
        case.add_property(Property::new("message", untrusted::line(&entry.message(), MOST_LINE)));
        suite.add_test_case(case);
    }
    (!quarantine.entries.is_empty()).then_some(suite)
}
