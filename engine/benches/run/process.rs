//! The real binary, as a process with a data directory of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;

use crate::ours::TRIVIAL;
use crate::turns::Turn;

/// The variable with the path of the binary.
const BINARY: &str = "TOUCHSTONE_BINARY";
/// Units per second in which `/proc` counts processor time.
const TICKS: u64 = 100;

/// A binary, a spec, and a data directory.
#[derive(Debug)]
pub(crate) struct Process {
    binary: PathBuf,
    folder: tempfile::TempDir,
}

impl Process {
    /// The binary that the environment names.
    pub(crate) fn find() -> Self {
        let binary = std::env::var_os(BINARY).map(PathBuf::from).filter(|path| path.is_file());
        let binary = binary.unwrap_or_else(|| panic!("{BINARY} names no file: build touchstone and say where it is"));
        let folder = tempfile::tempdir().expect("a folder");
        // Everything beside a spec belongs to it, so it has a folder of its own.
        fs::create_dir(folder.path().join("spec")).expect("a folder");
        fs::write(folder.path().join("spec/spec.yaml"), TRIVIAL).expect("a spec");
        Self { binary, folder }
    }

    /// Runs so many scenarios, all of which must pass.
    pub(crate) fn run(&self, count: usize, width: usize) -> Turn {
        let before = cpu(Waited::Yes);
        let started = Instant::now();
        let output = Command::new(&self.binary)
            .args(["run", "--no-pull", "--format", "json"])
            .args(["--replicas", &count.to_string(), "--max-concurrent", &width.to_string()])
            .arg(self.folder.path().join("spec/spec.yaml"))
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .output()
            .expect("the binary ran");
        let wall = started.elapsed();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let passed = stdout.contains(&format!("\"passed\": {count},"));
        assert!(output.status.success() && passed, "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        Turn { count, wall, cpu: cpu(Waited::Yes) - before }
    }
}

/// Selects whose processor time is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Processor time of processes that were started and waited for.
    Yes,
    /// Processor time of this process.
    No,
}

/// The processor time so far.
pub(crate) fn cpu(waited: Waited) -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    // The name, in brackets, can hold anything; utime is the 12th field after it.
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let first = if waited == Waited::Yes { 13 } else { 11 };
    let ticks: u64 = fields.split_whitespace().skip(first).take(2).map(|field| field.parse().unwrap_or(0)).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
