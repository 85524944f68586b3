//! Certificates as people and programs want them.

use std::fmt::Write as _;

use scenario::certificate::{Certificate, CertificateVerdict, Reason, ReasonKind, Strength, UnnoticedChange};
use scenario::{count_noun, untrusted};
use serde_json::{Value as Json, json};

use super::Certified;
use crate::table::table;

/// How long a line of foreign text may be.
const MOST_LINE: usize = 300;
/// How many lines of one kind are shown for a reason.
const MOST_LINES: usize = 8;

/// All of them as one object, which `touchstone ci --certificates` reads.
pub(super) fn json(certified: &Certified) -> Json {
    let skipped = certified.skipped.iter().map(|one| json!({"spec": one.spec, "reason": one.reason}));
    json!({"certificates": certified.certificates, "skipped": skipped.collect::<Vec<_>>()})
}

/// A table, and below it what is wrong with each spec that is not certified.
pub(super) fn text(certified: &Certified, width: u16) -> String {
    let certificates = &certified.certificates;
    let mut text = String::new();
    if !certificates.is_empty() {
        let mut table = table(["spec", "verdict", "solution passed", "nothing failed", "cheats failed", "strength"]);
        table.set_width(width);
        for one in certificates {
            table.add_row([
                one.spec_id.clone(),
                one.verdict.words().to_owned(),
                one.oracle.to_string(),
                one.noop.to_string(),
                cheats(one),
                strength(one),
            ]);
        }
        let _ = writeln!(text, "{table}");
    }
    certificates.iter().for_each(|one| tell(&mut text, one));
    for one in &certified.skipped {
        let _ = writeln!(text, "skipped {}: {}", one.spec, untrusted::line(&one.reason, MOST_LINE));
    }
    let sound = certificates.iter().filter(|one| one.verdict == CertificateVerdict::Certified).count();
    let _ = writeln!(text, "\n{sound} of {} certified", count_noun(certificates.len(), "spec"));
    text
}

/// How many cheats failed, of those that make sense for the spec.
fn cheats(certificate: &Certificate) -> String {
    let failed = certificate.run_cheats().filter(|cheat| cheat.count.is_whole()).count();
    format!("{failed}/{}", certificate.run_cheats().count())
}

/// The share of ways to break the right answer that was noticed, where that was tried.
fn strength(certificate: &Certificate) -> String {
    let Some(strength) = &certificate.strength else { return "not tried".to_owned() };
    match strength.score() {
        Some(score) => format!("{score:.2} ({}/{})", strength.noticed, strength.tried),
        None => "nothing to break".to_owned(),
    }
}

/// What nobody noticed, with invariants that would.
fn tell_strength(text: &mut String, certificate: &Certificate) {
    let Some(strength) = certificate.strength.as_ref().filter(|strength| !is_whole(strength)) else { return };
    let _ = writeln!(text, "\n{}: what nothing notices", certificate.spec_id);
    for UnnoticedChange { change, suggestion } in &strength.unnoticed {
        let _ = writeln!(text, "  nothing notices when {}", untrusted::line(change, MOST_LINE));
        for line in suggestion.lines() {
            let _ = writeln!(text, "      {}", untrusted::line(line, MOST_LINE));
        }
    }
    for reason in &strength.unjudged {
        let _ = writeln!(text, "  not tried: {}", untrusted::line(reason, MOST_LINE));
    }
    if strength.left_out > 0 {
        let _ = writeln!(text, "  {} left out; --at-most N tries more", count_noun(strength.left_out, "way"));
    }
}

fn is_whole(strength: &Strength) -> bool {
    strength.unnoticed.is_empty() && strength.unjudged.is_empty() && strength.left_out == 0
}

fn tell(text: &mut String, certificate: &Certificate) {
    tell_strength(text, certificate);
    if certificate.reasons.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}: {}", certificate.spec_id, certificate.verdict.words());
    for reason in &certificate.reasons {
        let _ = writeln!(text, "  {reason}");
        let word = match reason.kind {
            ReasonKind::Passed => "met",
            ReasonKind::Failed | ReasonKind::Flips | ReasonKind::NotJudged => "not met",
        };
        lines(text, word, &reason.invariants);
        lines(text, "also", &reason.remarks);
        advice(text, reason);
    }
}

fn lines(text: &mut String, word: &str, lines: &[String]) {
    for line in lines.iter().take(MOST_LINES) {
        let _ = writeln!(text, "    {word}: {}", untrusted::line(line, MOST_LINE));
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(text, "    and {} more", lines.len() - MOST_LINES);
    }
}

/// What to do about it.
fn advice(text: &mut String, reason: &Reason) {
    let advice = match reason.kind {
        ReasonKind::Passed => "add an invariant that only a right answer meets",
        ReasonKind::Failed => "repair `task.solution`, or the invariants that it does not meet",
        ReasonKind::Flips => "make the world the same in each run: fixed data, fixed times, services that are ready",
        ReasonKind::NotJudged => return,
    };
    let _ = writeln!(text, "    to do: {advice}");
}
