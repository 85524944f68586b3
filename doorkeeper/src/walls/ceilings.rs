//! Limits of a box that is in no control group: those that the kernel keeps for every process by itself.

use doorkeeper::plan::Ceilings;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Limits this process and its children. The limits can only be lowered from then on.
pub(super) fn hold(ceilings: Ceilings) -> Result<(), Errno> {
    let both = |value| Rlimit { current: Some(value), maximum: Some(value) };
    // What a process has for itself and may write to: programs that only reserve addresses are not hindered.
    setrlimit(Resource::Data, both(ceilings.memory))?;
    // The kernel counts the processes of each user namespace on their own.
    setrlimit(Resource::Nproc, both(ceilings.processes))?;
    sched_setaffinity(None, &chosen(&sched_getaffinity(None)?, ceilings.cores))
}

/// Chooses this many of the processors; the choice differs from box to box.
fn chosen(all: &CpuSet, cores: usize) -> CpuSet {
    let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
    let offset = usize::try_from(std::process::id()).unwrap_or(0);
    let mut set = CpuSet::new();
    for number in 0..cores.clamp(1, there.len().max(1)) {
        if let Some(core) = there.get((offset + number) % there.len().max(1)) {
            set.set(*core);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::{CpuSet, chosen};

    #[test]
    fn no_more_processors_are_chosen_than_are_there_and_at_least_one() {
        let mut all = CpuSet::new();
        all.set(1);
        all.set(4);
        for (cores, expected) in [(0, 1), (1, 1), (2, 2), (9, 2)] {
            let set = chosen(&all, cores);
            assert_eq!(set.count(), expected, "{cores}");
            assert!((0..CpuSet::MAX_CPU).all(|core| !set.is_set(core) || all.is_set(core)));
        }
    }
}
