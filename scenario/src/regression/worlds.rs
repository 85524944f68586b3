//! The worlds in which two runs were made: what made their sandboxes and from which images, the spec, the agent, the models, and the
//! rules of scoring.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::ImageRecord;
use crate::report::{AgentIdentity, Provenance, Report};
use crate::result::RanIn;

/// How the worlds of two runs differ.
#[derive(Debug, Default)]
pub(super) struct Worlds {
    /// Every difference, a line each.
    pub(super) differences: Vec<String>,
    /// Differences for which a drop need not be the agent's: another backend, another image in the place of one, or other rules of
    /// scoring. Another version of the same image is told, and no excuse; and so are another agent and model, which are what
    /// one wants to compare, and another version of the spec, or any edit of it would switch the gate off.
    pub(super) apart: Option<String>,
}

impl Worlds {
    /// Compares what was recorded. What was not recorded differs from nothing.
    pub(super) fn of(before: &Report, now: &Report) -> Self {
        let told = changed_versions(&before.provenance, &now.provenance);
        let scoring = changed_scoring(&before.provenance, &now.provenance);
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
        apart.extend(scoring);
        let words = apart.join("; ");
        apart.extend(updated);
        apart.extend(told);
        Self { differences: apart, apart: Some(words).filter(|words| !words.is_empty()) }
    }
}

/// What differs and is told: the spec, the agent, the models.
fn changed_versions(before: &Provenance, now: &Provenance) -> Vec<String> {
    let mut told = Vec::new();
    if let (Some(before), Some(now)) = (&before.spec_digest, &now.spec_digest)
        && before != now
    {
        told.push(format!("spec: version {} → {}", short(before), short(now)));
    }
    if let (Some(before), Some(now)) = (&before.agent, &now.agent)
        && before != now
    {
        let name = |agent: &AgentIdentity| format!("{} {}", agent.kind, short(&agent.digest));
        told.push(format!("agent: {} → {}", name(before), name(now)));
    }
    told.extend(changed("model", &before.models, &now.models));
    told
}

/// Another version of the rules of scoring, which makes numbers that cannot be compared.
fn changed_scoring(before: &Provenance, now: &Provenance) -> Option<String> {
    let (before, now) = (before.scoring_version?, now.scoring_version?);
    (before != now).then(|| format!("scoring: version {before} → {now}"))
}

/// The beginning of a digest, as people read it.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
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
        for RanIn { backend, images, .. } in report.rows.iter().filter_map(|row| row.result.ran_in.as_ref()) {
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
