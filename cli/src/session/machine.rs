//! Resources of this machine for scenarios.
//!
//! Sandboxes of the `local` backend are children of this process: the limits of its control groups hold for all of them
//! together. Containers belong to the engine, which is outside of these groups and on the same machine: all that the machine
//! has is theirs.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use engine::backend::Backend;
use store::Demand;

use super::control_group::GroupLimits;

/// Scenarios for each core: most agents wait for a model most of the time.
const PER_CORE: u64 = 2;
/// Promised cores for each core: few sandboxes use all that they may.
const PROMISED: u64 = 8;
/// The memory that this process keeps for itself where sandboxes share a limit with it, and the part of the limit that it
/// keeps at most.
const OWN: (u64, u64) = (128 << 20, 4);
/// The file that lists the online processors.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Resources of this machine for scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Available {
    /// Bytes of memory that all sandboxes together may use.
    memory: u64,
    /// Thousandths of cores that all sandboxes together may use.
    cpu_milli: u64,
    /// Thousandths of cores that this process may use, which serves all sandboxes.
    own_cpu_milli: u64,
}

impl Available {
    /// Measures the resources for the sandboxes of a backend.
    pub(crate) fn to(backend: &dyn Backend) -> Self {
        let limits = GroupLimits::of_this_process(|path| fs::read_to_string(path).ok());
        Self::of(limits, backend.is_in_own_group(), memory(), (cores(), online()))
    }

    fn of(limits: GroupLimits, shares_limits: bool, all: Option<u64>, (cores, online): (u64, Option<u64>)) -> Self {
        let own_cpu_milli = limits.cpu_milli.unwrap_or(u64::MAX).min(cores * 1000);
        let all = all.unwrap_or(u64::MAX);
        match limits.memory.filter(|limit| shares_limits && *limit < all) {
            Some(limit) => Self { memory: without_own(limit), cpu_milli: own_cpu_milli, own_cpu_milli },
            None if shares_limits => Self { memory: all, cpu_milli: own_cpu_milli, own_cpu_milli },
            None => Self { memory: all, cpu_milli: online.unwrap_or(cores) * 1000, own_cpu_milli },
        }
    }

    /// Returns the default number of concurrent scenarios.
    pub(crate) fn usual_slots(self) -> usize {
        usize::try_from(self.own_cpu_milli * PER_CORE / 1000).unwrap_or(usize::MAX).max(1)
    }

    /// Returns the total that all scenarios may reserve. A user who sets the number of scenarios is not limited by
    /// processors.
    pub(crate) fn budget(self, slots_chosen: bool) -> Demand {
        let cpu_milli = if slots_chosen { u64::MAX } else { self.cpu_milli * PROMISED };
        Demand { cpu_milli, memory: self.memory }
    }
}

/// Returns the part of a limit that sandboxes may use when the limit includes this process.
fn without_own(limit: u64) -> u64 {
    let (own, part) = OWN;
    limit - own.min(limit / part)
}

/// The processors that this process may be on.
fn cores() -> u64 {
    let counted = || thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    fs::read_to_string("/proc/self/status").ok().and_then(|status| allowed(&status)).unwrap_or_else(counted)
}

fn allowed(status: &str) -> Option<u64> {
    count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
}

/// The processors of the machine.
fn online() -> Option<u64> {
    count(fs::read_to_string(Path::new(ONLINE)).ok()?.trim())
}

/// Counts the numbers of a list such as `0-3,8`.
fn count(list: &str) -> Option<u64> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    list.split(',').map(length).sum()
}

/// All memory of the machine in bytes.
fn memory() -> Option<u64> {
    total(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn limits(memory: Option<u64>, cpu_milli: Option<u64>) -> GroupLimits {
        GroupLimits { memory, cpu_milli }
    }

    #[test]
    fn local_sandboxes_share_the_limits_of_this_process_and_containers_do_not() {
        let check = |limits, shares, memory, cpu_milli, slots| {
            let available = Available::of(limits, shares, Some(16 * GIB), (8, Some(8)));
            let budget = available.budget(false);
            assert_eq!((budget.memory, budget.cpu_milli, available.usual_slots()), (memory, cpu_milli, slots));
        };
        check(limits(None, None), true, 16 * GIB, 64_000, 16);
        check(limits(None, None), false, 16 * GIB, 64_000, 16);
        check(limits(Some(700 * MIB), None), true, 572 * MIB, 64_000, 16);
        check(limits(Some(700 * MIB), Some(1500)), true, 572 * MIB, 12_000, 3);
        check(limits(Some(700 * MIB), Some(1500)), false, 16 * GIB, 64_000, 3);
        check(limits(Some(200 * MIB), Some(100)), true, 150 * MIB, 800, 1);
        check(limits(Some(u64::MAX / 2), Some(80_000)), true, 16 * GIB, 64_000, 16);
    }

    #[test]
    fn a_machine_that_tells_nothing_limits_nothing() {
        let available = Available::of(limits(None, None), false, None, (2, None));
        assert_eq!(available.budget(true), Demand { cpu_milli: u64::MAX, memory: u64::MAX });
        assert_eq!(available.budget(false).cpu_milli, 16_000);
    }

    #[test]
    fn what_the_kernel_says_is_understood() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 * MIB));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(allowed("Name: x\nCpus_allowed_list:\t0,2-3\n"), Some(3));
        assert_eq!((count("0-3,8"), count("0"), count("x"), count("3-1")), (Some(5), Some(1), None, None));
    }
}
