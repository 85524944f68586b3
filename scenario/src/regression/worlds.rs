//! The worlds in which two runs were made: what made their sandboxes, and from which images.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::ImageRecord;
use crate::report::Report;
use crate::result::RanIn;

/// How the worlds of two runs differ.
#[derive(Debug, Default)]
pub(super) struct Worlds {
    /// Every difference, a line each.
    pub(super) differences: Vec<String>,
    /// Differences for which a drop need not be the agent's: another backend, or another image in the place of one. Another
    /// version of the same image is told, and no excuse.
    pub(super) apart: Option<String>,
}

impl Worlds {
    /// Compares what was recorded. What was not recorded differs from nothing.
    pub(super) fn of(before: &Report, now: &Report) -> Self {
        let (before, now) = (Seen::of(before), Seen::of(now));
        let mut apart: Vec<String> = changed("backend", &before.backends, &now.backends).into_iter().collect();
        let mut updated = Vec::new();
        for (reference, earlier) in &before.images {
            let Some(later) = now.images.get(reference) else { continue };
            let what = format!("image {reference}");
            let names = |images: &BTreeSet<ImageRecord>| images.iter().map(|image| image.name.clone()).collect();
            match changed(&what, &names(earlier), &names(later)) {
                Some(line) => apart.push(line),
                None if earlier != later => updated.push(format!("{what}: another version of it")),
                None => {}
            }
        }
        let words = apart.join("; ");
        apart.extend(updated);
        Self { differences: apart, apart: Some(words).filter(|words| !words.is_empty()) }
    }
}

/// What the scenarios of a report ran in.
#[derive(Default)]
struct Seen {
    backends: BTreeSet<String>,
    images: BTreeMap<String, BTreeSet<ImageRecord>>,
}

impl Seen {
    fn of(report: &Report) -> Self {
        let mut seen = Self::default();
        for RanIn { backend, images } in report.rows.iter().filter_map(|row| row.result.ran_in.as_ref()) {
            seen.backends.insert(backend.clone());
            for image in images {
                seen.images.entry(image.reference.clone()).or_default().insert(image.clone());
            }
        }
        seen
    }
}

/// `backend: docker → local`, when both are known and differ.
fn changed(what: &str, before: &BTreeSet<String>, now: &BTreeSet<String>) -> Option<String> {
    let words = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let differs = !before.is_empty() && !now.is_empty() && before != now;
    differs.then(|| format!("{what}: {} → {}", words(before), words(now)))
}
