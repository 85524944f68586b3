//! Limits that the kernel keeps: whether they fired, read from the sandbox's own control group.

use std::collections::BTreeMap;

use doorkeeper::protocol::Space;
use scenario::evidence::{Fired, Limit};

use crate::backend::{Limits, WORKSPACE};
use crate::door::{Door, DoorError};
use crate::memory_events::{Files, MemoryEvents, OutOfMemory, value};

/// Folder of the control group for memory: version 1, version 2.
const MEMORY_GROUPS: [(&str, Files); 2] = [("sys/fs/cgroup/memory", Files::V1), ("sys/fs/cgroup", Files::V2)];
/// File with the memory in use: version 1, version 2.
const MEMORY: [&str; 2] = ["sys/fs/cgroup/memory/memory.usage_in_bytes", "sys/fs/cgroup/memory.current"];
/// File in which the kernel counts processes that it did not start: version 1, version 2.
const TOO_MANY: [&str; 2] = ["sys/fs/cgroup/pids/pids.events", "sys/fs/cgroup/pids.events"];
/// A workspace with less room than this is full.
const FULL: u64 = 4096;

/// Counters of limits that had fired at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counters {
    memory: MemoryEvents,
    too_many: u64,
}

impl Counters {
    /// Reads the counters.
    pub(crate) async fn read(door: &Door) -> Result<Self, DoorError> {
        Ok(Self { memory: memory_events(door).await?, too_many: counter(door, TOO_MANY, "max").await? })
    }

    /// The limits that fired since.
    pub(crate) fn fired(self, later: Self, limits: &Limits) -> Vec<Fired> {
        let mut fired = Vec::new();
        if self.memory.ended_since(later.memory) == Some(OutOfMemory::Own) {
            fired.push(out_of_memory(limits));
        }
        if later.too_many > self.too_many {
            let detail = format!("more than {} processes and threads at once", limits.pids);
            fired.push(Fired { limit: Limit::Pids, detail });
        }
        fired
    }

    /// Returns true if the kernel killed a process since because there was no memory outside of the sandbox, which was
    /// below its own limit.
    pub(crate) fn lacked_memory_outside(self, later: Self) -> bool {
        self.memory.ended_since(later.memory) == Some(OutOfMemory::Outside)
    }
}

/// Reads the kernel's counters of the sandbox's control group for memory.
async fn memory_events(door: &Door) -> Result<MemoryEvents, DoorError> {
    for (folder, files) in MEMORY_GROUPS {
        let mut contents = BTreeMap::new();
        for name in files.names() {
            match door.read("/", format!("{folder}/{name}").as_bytes(), 4096).await {
                Ok(content) => drop(contents.insert(*name, String::from_utf8_lossy(&content).into_owned())),
                Err(DoorError::Failed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(events) = MemoryEvents::of(files, |name| contents.get(name).cloned()) {
            return Ok(events);
        }
    }
    Ok(MemoryEvents::default())
}

/// The kernel ended processes for want of memory.
pub(crate) fn out_of_memory(limits: &Limits) -> Fired {
    let detail = format!("more than {} of memory", size(limits.memory));
    Fired { limit: Limit::Memory, detail }
}

/// Returns true if most of the memory is used, as when the agent left large files in `/dev/shm`: then checks would find
/// none. Files that the kernel only keeps for speed count too.
pub(crate) async fn is_short_of_memory(door: &Door, limits: &Limits) -> bool {
    for path in MEMORY {
        if let Ok(content) = door.read("/", path.as_bytes(), 64).await {
            let used: u64 = String::from_utf8_lossy(&content).trim().parse().unwrap_or(0);
            return used > limits.memory.saturating_add(limits.disk) / 4 * 3;
        }
    }
    false
}

/// Returns the firing of the disk limit, if the workspace was full at some time.
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

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    const MEBI: u64 = 1024 * 1024;
    if bytes >= MEBI { format!("{} MiB", bytes / MEBI) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::Limit;

    use super::Counters;
    use crate::backend::Limits;

    #[test]
    fn only_what_rose_has_fired() {
        let limits = Limits { cpus: 1.0, memory: 1 << 24, disk: 1 << 20, pids: 8 };
        let before = Counters::default();
        let after = Counters { too_many: 2, ..before };
        let fired: Vec<_> = before.fired(after, &limits).into_iter().map(|fired| fired.limit).collect();
        assert_eq!(fired, [Limit::Pids]);
    }
}
