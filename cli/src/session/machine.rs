//! What this machine has for scenarios.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use store::Demand;

/// Scenarios for each core: most agents wait for a model most of the time.
const PER_CORE: usize = 2;
/// Promised cores for each core: few sandboxes use all that they may.
const PROMISED: u64 = 8;

/// How many scenarios run at once when nobody says.
pub(crate) fn usual_slots() -> usize {
    cores() * PER_CORE
}

/// What all scenarios together may be promised. Who says how many are to run has thought of the processors.
pub(crate) fn budget(slots_chosen: bool) -> Demand {
    let cpu_milli = if slots_chosen { u64::MAX } else { cores() as u64 * PROMISED * 1000 };
    Demand { cpu_milli, memory: memory().unwrap_or(u64::MAX) }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// All memory of the machine in bytes.
fn memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
