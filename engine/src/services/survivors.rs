//! Finds what an agent left running in a service, such as a program that a database was told to start.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::LiveServices;
use crate::backend::{Process, RunningService};
use crate::error::EngineError;

/// What ran in each service before the agent started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline(BTreeMap<String, Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    processes: BTreeSet<u32>,
    programs: BTreeSet<String>,
}

/// Programs that run others: one more of them says nothing about what it runs.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "busybox", "env"];

impl Baseline {
    /// Looks at the services.
    pub(crate) async fn take(services: &LiveServices) -> Result<Self, EngineError> {
        let mut known = BTreeMap::new();
        for (name, service) in services {
            let processes = service.running.processes().await?;
            let programs = processes.iter().map(program).collect();
            let processes = processes.iter().map(|process| process.pid).collect();
            known.insert(name.clone(), Known { processes, programs });
        }
        Ok(Self(known))
    }
}

impl Known {
    /// A process is expected when it was there, or is one more of a program that was: servers start helpers.
    fn expects(&self, process: &Process) -> bool {
        let program = program(process);
        let is_shell = SHELLS.contains(&program.rsplit('/').next().unwrap_or(&program));
        self.processes.contains(&process.pid) || (self.programs.contains(&program) && !is_shell)
    }
}

/// How often a service is looked at while something unexpected runs in it. A process that is just ending cannot be told from
/// a stranger, because the kernel does not say any more what it ran; it is gone at one of the next looks.
const LOOKS: u32 = 10;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What the agent left running in services; each is a reason to fail.
pub(crate) async fn offences(services: &LiveServices, baseline: &Baseline) -> Result<Vec<String>, EngineError> {
    let mut offences = Vec::new();
    for (name, service) in services {
        let known = baseline.0.get(name).cloned().unwrap_or_default();
        let mut strangers = strangers(&*service.running, &known).await?;
        for _ in 1..LOOKS {
            if strangers.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            strangers = self::strangers(&*service.running, &known).await?;
        }
        for Process { arguments, .. } in strangers {
            offences.push(format!("a process that was not there before runs in the service `{name}`: {arguments}"));
        }
    }
    Ok(offences)
}

/// The processes of a service that are not expected.
async fn strangers(service: &dyn RunningService, known: &Known) -> Result<Vec<Process>, EngineError> {
    // A service that the agent ended has no processes; the checks that need it say so.
    if !service.is_running().await? {
        return Ok(Vec::new());
    }
    match service.processes().await {
        Ok(processes) => Ok(processes.into_iter().filter(|process| !known.expects(process)).collect()),
        // It may have ended just now.
        Err(_) if !service.is_running().await? => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What a process is known by: the file that it runs where the kernel tells, because a name can be chosen freely.
fn program(process: &Process) -> String {
    let own = format!("/proc/{}", process.pid);
    // Where we see other processes than the engine does, the number is somebody else's.
    let same = std::fs::read_to_string(format!("{own}/comm")).is_ok_and(|name| name.trim_end() == process.program);
    match std::fs::read_link(format!("{own}/exe")) {
        Ok(path) if same => path.display().to_string(),
        _ => process.program.clone(),
    }
}
