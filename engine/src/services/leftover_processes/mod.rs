//! Finds what an agent left running in a service, such as a program that a database was told to start.

mod makeup;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;

use super::LiveServices;
use crate::backend::{Process, RunningService};
use crate::error::EngineError;
use makeup::Makeup;

/// Processes that ran in each service before the agent started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline(BTreeMap<String, Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    processes: BTreeMap<u32, Seen>,
    /// Time of the look, in seconds.
    taken: i64,
}

/// A process, and what it is made of, where that can be seen.
#[derive(Debug, Clone)]
struct Seen {
    process: Process,
    makeup: Option<Makeup>,
}

/// Programs that run others: one more of them says nothing about what it runs.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "busybox", "env"];

impl Baseline {
    /// Records the processes of the services at a time.
    pub(crate) async fn take(services: &LiveServices, now: Timestamp) -> Result<Self, EngineError> {
        let mut known = BTreeMap::new();
        for (name, service) in services {
            let seen = see(&*service.running).await?;
            let processes = seen.into_iter().map(|seen| (seen.process.pid, seen)).collect();
            known.insert(name.clone(), Known { processes, taken: now.as_second() });
        }
        Ok(Self(known))
    }
}

impl Known {
    /// The processes that are not expected, each with what is wrong with it. A process is expected when it was there and has
    /// no foreign code, or when one that is expected made it as servers make their helpers: as a copy of itself, or just as
    /// another was started before.
    ///
    /// In a service that was started again, the processes of its start are expected too.
    fn strangers(&self, seen: &[Seen], is_restarted: bool) -> Vec<String> {
        let mut accepted: BTreeSet<u32> = self.processes.keys().copied().collect();
        let mut known: Vec<&Seen> = self.processes.values().collect();
        let again = if is_restarted { self.started_again(seen) } else { Vec::new() };
        accepted.extend(again.iter().map(|seen| seen.process.pid));
        known.extend(&again);
        let is_again = |seen: &Seen| again.iter().any(|one| one.process.pid == seen.process.pid);
        let mut left: Vec<_> = seen.iter().filter(|seen| !self.was_there(seen) && !is_again(seen)).collect();
        loop {
            let count = left.len();
            let (children, others): (Vec<_>, _) = left
                .into_iter()
                .partition(|seen| accepted.contains(&seen.process.parent) && is_like_another(seen, &known));
            accepted.extend(children.iter().map(|seen| seen.process.pid));
            if is_restarted {
                known.extend(&children);
            }
            left = others;
            if left.len() == count {
                break;
            }
        }
        let unexpected = left.iter().map(|seen| (seen.process.pid, seen.process.arguments.clone()));
        let mut strangers: BTreeMap<_, _> = unexpected.collect();
        for seen in seen {
            if let Some(code) = self.foreign_code(seen) {
                let told = format!("{} (with code of {code})", seen.process.arguments);
                strangers.insert(seen.process.pid, told);
            }
        }
        strangers.into_values().collect()
    }

    fn was_there(&self, seen: &Seen) -> bool {
        let Some(before) = self.processes.get(&seen.process.pid) else { return false };
        match (&seen.makeup, &before.makeup) {
            (Some(now), Some(before)) => now.is_still(before),
            (None, Some(_)) => false,
            _ => seen.process.program == before.process.program,
        }
    }

    /// The processes that a service was started with again: nobody of it made them, they run the same files as those that it was
    /// started with before, and there are no more of them. They may be called in another way: what prepares a database does so only
    /// once.
    fn started_again<'a>(&self, seen: &'a [Seen]) -> Vec<&'a Seen> {
        let firsts = |pids: &BTreeSet<u32>, seen: &Seen| !pids.contains(&seen.process.parent);
        let pids = self.processes.keys().copied().collect();
        let before: Vec<_> = self.processes.values().filter(|seen| firsts(&pids, seen)).collect();
        let runs_same = |seen: &Seen| {
            before.iter().any(|before| match (&seen.makeup, &before.makeup) {
                (Some(now), Some(old)) => now.runs_same(old),
                (None, Some(_)) => false,
                _ => seen.process.program == before.process.program,
            })
        };
        let pids = seen.iter().map(|seen| seen.process.pid).collect();
        let mut again: Vec<_> = seen.iter().filter(|seen| firsts(&pids, seen) && runs_same(seen)).collect();
        again.sort_by_key(|seen| seen.process.pid);
        again.truncate(before.len());
        again
    }

    /// A file whose code is in a process though it was in none before, and that was changed since.
    fn foreign_code(&self, seen: &Seen) -> Option<String> {
        let makeup = seen.makeup.as_ref()?;
        let before = self.processes.values().filter_map(|before| before.makeup.as_ref());
        let known: BTreeSet<&[u8]> = before.flat_map(Makeup::code).collect();
        let is_foreign = |path: &&[u8]| !known.contains(path) && !makeup::is_older(&seen.process, path, self.taken);
        makeup.code().find(is_foreign).map(|path| String::from_utf8_lossy(path).into_owned())
    }
}

/// Returns true if a process was made as one of these was.
fn is_like_another(seen: &Seen, known: &[&Seen]) -> bool {
    let program = seen.process.program.as_str();
    let is_shell = SHELLS.contains(&program);
    known.iter().any(|before| match (&seen.makeup, &before.makeup) {
        (Some(now), Some(old)) => {
            let is_same_call = seen.process.arguments == before.process.arguments && !is_shell;
            now.is_fork_of(old) || is_same_call && now.is_started_like(old)
        }
        (None, Some(_)) => false,
        // Where only the engine sees it, its name is all there is.
        _ => before.process.program == program && !is_shell,
    })
}

/// Number of looks at a service while something unexpected runs in it. A process that is just ending cannot be
/// distinguished from a stranger, because the kernel does not say any more what it ran; it is gone at one of the next
/// looks.
const LOOKS: u32 = 20;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the processes that the agent left running in services; each is a reason to fail.
pub(crate) async fn offences(services: &LiveServices, baseline: &Baseline) -> Result<Vec<String>, EngineError> {
    let mut offences = Vec::new();
    for (name, service) in services {
        let known = baseline.0.get(name).cloned().unwrap_or_default();
        let is_restarted = service.restarted.load(Ordering::Acquire);
        let mut strangers = known.strangers(&see(&*service.running).await?, is_restarted);
        for _ in 1..LOOKS {
            if strangers.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            strangers = known.strangers(&see(&*service.running).await?, is_restarted);
        }
        for stranger in strangers {
            offences.push(format!("a process that was not there before runs in the service `{name}`: {stranger}"));
        }
    }
    Ok(offences)
}

/// The processes of a service that are alive; none when all of it has ended.
async fn see(service: &dyn RunningService) -> Result<Vec<Seen>, EngineError> {
    let processes = service.processes().await?.into_iter();
    let alive = processes.filter(|process| !makeup::is_over(process));
    Ok(alive.map(|process| Seen { makeup: Makeup::of(&process), process }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, parent: u32, program: &str) -> Seen {
        let process = Process { pid, parent, program: program.to_owned(), arguments: format!("{program} of {pid}") };
        Seen { process, makeup: None }
    }

    #[test]
    fn where_only_names_are_seen_a_helper_is_a_child_of_what_was_there() {
        let before = [seen(10, 1, "postgres"), seen(11, 10, "sh")];
        let processes = before.into_iter().map(|seen| (seen.process.pid, seen)).collect();
        let known = Known { processes, taken: 0 };
        let now = [seen(10, 1, "postgres"), seen(20, 10, "postgres"), seen(21, 20, "postgres")];
        assert!(known.strangers(&now, false).is_empty());
        // Not a child of it, a shell, another program, and one that has become something else.
        let now = [seen(20, 1, "postgres"), seen(21, 10, "sh"), seen(22, 10, "perl"), seen(10, 1, "perl")];
        assert_eq!(known.strangers(&now, false).len(), 4);
    }

    #[test]
    fn a_service_that_was_started_again_has_its_own_processes_and_no_others() {
        let called = |pid, parent, program: &str| {
            let mut seen = seen(pid, parent, program);
            seen.process.arguments = program.to_owned();
            seen
        };
        let before = [called(10, 1, "postgres"), called(11, 10, "postgres")];
        let processes = before.into_iter().map(|seen| (seen.process.pid, seen)).collect();
        let known = Known { processes, taken: 0 };
        let now = [called(20, 1, "postgres"), called(21, 20, "postgres")];
        assert_eq!((known.strangers(&now, true).len(), known.strangers(&now, false).len()), (0, 2));
        let now = [called(20, 1, "postgres"), called(21, 20, "perl"), called(22, 1, "sh"), called(23, 1, "postgres")];
        assert_eq!(known.strangers(&now, true), ["perl", "sh", "postgres"], "there was one server before");
    }
}
