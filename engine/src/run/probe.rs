//! Asks what every invariant wants to know.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use doorkeeper::protocol::Entry;
use scenario::evidence::{Answer, Evidence, Fired, Limit};
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::backend::{is_above_scratch, is_scratch};
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::probes::Prober;
use crate::world::World;

use super::audit::Logs;

/// How long probing may take at least, also when the agent used all the time there was.
const GRACE: Duration = Duration::from_secs(120);
/// How many changed paths are kept.
const MOST_CHANGES: usize = 200;
/// How many entries of `/dev` are looked at.
const MOST_DEVICES: u64 = 10_000;
/// Where programs and what they read is: a change there says more than one anywhere else.
const TELLING: [&str; 7] = ["/bin/", "/dev/", "/etc/", "/lib", "/root/", "/sbin/", "/usr/"];

/// Asks the probes of all invariants, in the order of the spec.
pub(super) async fn ask_all(
    world: &World,
    attempt: &Attempt<'_>,
    evidence: &mut Evidence,
    logs: &Logs,
    overall: Instant,
    events: &Events,
) -> Result<(), EngineError> {
    let deadline = overall.max(Instant::now() + GRACE);
    let image_changes = evidence.image_changes.clone();
    let prober = Prober {
        attempt,
        world,
        image_changes: &image_changes,
        logs,
        lost: Mutex::default(),
        ran: AtomicBool::default(),
        kept_bytes: AtomicU64::default(),
    };
    let values = attempt.values();
    for (name, invariant) in attempt.spec.invariants.iter() {
        let mut answers = Vec::new();
        for probe in invariant.check.probes(&values) {
            let asked = tokio::time::timeout_at(deadline, prober.ask(&probe)).await;
            let answer = match asked {
                Ok(answer) => answer.map_err(|error| named(name.as_str(), error))?,
                Err(_) => {
                    overdue(attempt, evidence);
                    return Ok(());
                }
            };
            answers.push(answer);
        }
        evidence.answers.insert(name.to_string(), answers);
        events.tell(Event::Probed { invariant: name.to_string() });
    }
    Ok(())
}

/// Says for which invariant something could not be asked.
fn named(invariant: &str, error: EngineError) -> EngineError {
    match error {
        EngineError::Cancelled | EngineError::Unsupported { .. } | EngineError::Probe { .. } => error,
        other => EngineError::Probe { invariant: invariant.to_owned(), reason: other.to_string() },
    }
}

/// Looking took longer than everything together may take.
fn overdue(attempt: &Attempt<'_>, evidence: &mut Evidence) {
    let seconds = attempt.spec.resources.timeout.get().as_secs_f64();
    let detail = format!(
        "preparing, acting and probing took longer than {seconds}s, and probing longer than {}s",
        GRACE.as_secs()
    );
    evidence.limits.push(Fired { limit: Limit::Timeout, detail });
    unavailable(attempt, evidence, "there was no time left to look", Some(Limit::Timeout));
}

/// Answers everything that was not asked with a reason that counts against the agent.
pub(super) fn unavailable(attempt: &Attempt<'_>, evidence: &mut Evidence, reason: &str, limit: Option<Limit>) {
    let values = attempt.values();
    for (name, invariant) in attempt.spec.invariants.iter() {
        let answer = || Answer::Unavailable { reason: reason.to_owned(), limit };
        let answers = || invariant.check.probes(&values).iter().map(|_| answer()).collect();
        evidence.answers.entry(name.to_string()).or_insert_with(answers);
    }
}

/// What the agent changed in the image: what is different now and was not before it started, outside scratch folders.
pub(super) async fn image_changes(world: &World) -> Result<Vec<String>, EngineError> {
    let Some(before) = &world.before.image_changes else { return Ok(Vec::new()) };
    Ok(changed(before, image_state(world).await?))
}

/// The paths of the image that were changed, each with a number that changes with it. Where the backend has none, the time
/// of the last change stands for it.
pub(super) async fn image_state(world: &World) -> Result<BTreeMap<String, i64>, EngineError> {
    let mut changes = world.sandbox.image_changes().await?;
    for (path, number) in changes.iter_mut().filter(|(_, number)| **number == 0).take(MOST_CHANGES * 10) {
        let relative = path.trim_start_matches('/').as_bytes();
        if let Ok(listing) = world.sandbox.door().walk("/", relative, 1, false).await {
            *number = listing.entries.first().map_or(0, |entry| entry.changed_ns);
        }
    }
    changes.extend(devices(world).await?);
    Ok(changes)
}

/// The entries of `/dev`, which is in no layer: an agent that is root can put something else in their place.
async fn devices(world: &World) -> Result<BTreeMap<String, i64>, EngineError> {
    let listed = world.sandbox.door().walk("/dev", b".", MOST_DEVICES, true).await;
    let listed = listed.map_err(EngineError::door("look at the devices of the sandbox"))?;
    let shown = |path: &[u8]| format!("/dev/{}", String::from_utf8_lossy(path));
    let number = |entry: &Entry| i64::from(entry.mode) << 40 | entry.inode.cast_signed() & ((1 << 40) - 1);
    Ok(listed.entries.iter().map(|entry| (shown(&entry.path), number(entry))).collect())
}

/// What is new or has another number, without the folders that are only listed because of what is in them.
fn changed(before: &BTreeMap<String, i64>, after: BTreeMap<String, i64>) -> Vec<String> {
    let is_new = |(path, number): &(String, i64)| {
        before.get(path) != Some(number) && !is_scratch(path) && !is_above_scratch(path)
    };
    let own: Vec<_> = after.into_iter().filter(is_new).map(|(path, _)| path).collect();
    let holds = |path: &str, next: &String| next.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let is_parent = |index: usize, path: &str| {
        // Between a folder and what is in it, only names that begin like the folder's can stand.
        own[index + 1..].iter().take_while(|next| next.starts_with(path)).any(|next| holds(path, next))
    };
    let kept = own.iter().enumerate().filter(|(index, path)| !is_parent(*index, path)).map(|(_, path)| path.clone());
    let is_telling = |path: &String| TELLING.iter().any(|folder| path.starts_with(folder));
    let (mut kept, others): (Vec<_>, Vec<_>) = kept.partition(is_telling);
    kept.extend(others);
    // Nothing hides behind a crowd.
    if kept.len() > MOST_CHANGES {
        let more = kept.len() - MOST_CHANGES;
        kept.truncate(MOST_CHANGES);
        kept.push(format!("(and {more} more)"));
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::changed;

    fn paths(list: &[(&str, i64)]) -> BTreeMap<String, i64> {
        list.iter().map(|(path, number)| ((*path).to_owned(), *number)).collect()
    }

    #[test]
    fn what_the_agent_changed_is_told_from_what_setup_changed() {
        let before = paths(&[("/opt", 1), ("/opt/agent", 1), ("/etc/hosts", 1)]);
        let after = paths(&[
            ("/opt", 2),
            ("/opt/agent", 2),
            ("/opt/agent/new", 2),
            ("/opt-2", 2),
            ("/etc/hosts", 1),
            ("/tmp/x", 2),
            ("/usr", 2),
            ("/usr/bin", 2),
            ("/usr/bin/ls", 2),
            ("/workspace", 2),
        ]);
        assert_eq!(changed(&before, after), ["/usr/bin/ls", "/opt-2", "/opt/agent/new"]);
    }

    #[test]
    fn a_changed_program_does_not_hide_behind_many_files() {
        let mut after: BTreeMap<_, _> = (0..500).map(|number| (format!("/aaa/{number}"), 1)).collect();
        after.insert("/usr/bin/ls".to_owned(), 1);
        let changed = changed(&BTreeMap::new(), after);
        assert_eq!((changed[0].as_str(), changed[200].as_str()), ("/usr/bin/ls", "(and 301 more)"));
    }
}
