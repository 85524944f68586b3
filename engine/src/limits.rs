//! Limits that the kernel keeps: whether they fired, read from the sandbox's own control group.

use doorkeeper::protocol::Space;
use scenario::evidence::{Fired, Limit};

use crate::backend::{Limits, WORKSPACE};
use crate::door::{Door, DoorError};

/// Where the kernel counts processes that it ended for want of memory: version 1, version 2.
const OUT_OF_MEMORY: [&str; 2] = ["sys/fs/cgroup/memory/memory.oom_control", "sys/fs/cgroup/memory.events"];
/// Where the kernel says how much memory is used: version 1, version 2.
const MEMORY: [&str; 2] = ["sys/fs/cgroup/memory/memory.usage_in_bytes", "sys/fs/cgroup/memory.current"];
/// Where the kernel counts processes that it did not start: version 1, version 2.
const TOO_MANY: [&str; 2] = ["sys/fs/cgroup/pids/pids.events", "sys/fs/cgroup/pids.events"];
/// A workspace with less room than this is full.
const FULL: u64 = 4096;

/// How often limits had fired at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counters {
    out_of_memory: u64,
    too_many: u64,
}

impl Counters {
    /// Reads the counters.
    pub(crate) async fn read(door: &Door) -> Result<Self, DoorError> {
        Ok(Self {
            out_of_memory: counter(door, OUT_OF_MEMORY, "oom_kill").await?,
            too_many: counter(door, TOO_MANY, "max").await?,
        })
    }

    /// The limits that fired since.
    pub(crate) fn fired(self, later: Self, limits: &Limits) -> Vec<Fired> {
        let mut fired = Vec::new();
        if later.out_of_memory > self.out_of_memory {
            fired.push(out_of_memory(limits));
        }
        if later.too_many > self.too_many {
            let detail = format!("more than {} processes and threads at once", limits.pids);
            fired.push(Fired { limit: Limit::Pids, detail });
        }
        fired
    }
}

/// The kernel ended processes for want of memory.
pub(crate) fn out_of_memory(limits: &Limits) -> Fired {
    let detail = format!("more than {} of memory", size(limits.memory));
    Fired { limit: Limit::Memory, detail }
}

/// Whether most of the memory is used, as when the agent left large files in `/dev/shm`: then checks would find none. Files
/// that the kernel only keeps for speed count too.
pub(crate) async fn is_short_of_memory(door: &Door, limits: &Limits) -> bool {
    for path in MEMORY {
        if let Ok(content) = door.read("/", path.as_bytes(), 64).await {
            let used: u64 = String::from_utf8_lossy(&content).trim().parse().unwrap_or(0);
            return used > limits.memory.saturating_add(limits.disk) / 4 * 3;
        }
    }
    false
}

/// Whether the workspace was full at some time.
pub(crate) async fn disk(door: &Door, limits: &Limits) -> Result<Option<Fired>, DoorError> {
    let space: Space = door.space(WORKSPACE).await?;
    let full = space.least_free < FULL || space.free < FULL || space.free_inodes == 0;
    let detail = format!("the workspace of {} was full", size(limits.disk));
    Ok(full.then_some(Fired { limit: Limit::Disk, detail }))
}

/// Too much was written over the image.
pub(crate) fn written_over_image(written: u64, limits: &Limits) -> Option<Fired> {
    let detail = format!("{} written outside the workspace, more than {}", size(written), size(limits.disk));
    (written > limits.disk).then_some(Fired { limit: Limit::Disk, detail })
}

async fn counter(door: &Door, paths: [&str; 2], key: &str) -> Result<u64, DoorError> {
    for path in paths {
        match door.read("/", path.as_bytes(), 4096).await {
            Ok(content) => return Ok(value(&String::from_utf8_lossy(&content), key)),
            Err(DoorError::Failed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(0)
}

fn value(text: &str, key: &str) -> u64 {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(name, _)| *name == key).find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    const MEBI: u64 = 1024 * 1024;
    if bytes >= MEBI { format!("{} MiB", bytes / MEBI) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::Limit;

    use super::{Counters, value};
    use crate::backend::Limits;

    #[test]
    fn counters_of_both_versions_are_read() {
        assert_eq!(value("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
        assert_eq!(value("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n", "oom_kill"), 1);
        assert_eq!(value("max 7\n", "max"), 7);
        assert_eq!(value("", "max"), 0);
    }

    #[test]
    fn only_what_rose_has_fired() {
        let limits = Limits { cpus: 1.0, memory: 1 << 24, disk: 1 << 20, pids: 8 };
        let before = Counters { out_of_memory: 1, too_many: 0 };
        let after = Counters { out_of_memory: 1, too_many: 2 };
        let fired: Vec<_> = before.fired(after, &limits).into_iter().map(|fired| fired.limit).collect();
        assert_eq!(fired, [Limit::Pids]);
    }
}
