//! The memory of this process.

use std::io;

/// Returns the resident memory of this process in MiB.
pub(crate) fn resident_mib() -> io::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or_else(|| io::Error::other("the kernel does not say how much memory is used"))
}
