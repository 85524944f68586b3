//! A running `mmdebstrap`, which is told to clean up when nobody waits for it any more.

use std::collections::VecDeque;
use std::fmt;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// Number of lines at the end of the log that a failure shows.
const LINES: usize = 20;

/// Time limit for the clean-up of a stopped program, and the interval of checks whether it has ended.
const CLEANING: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// A running program.
#[derive(Debug)]
pub(super) struct Bootstrapping {
    child: Child,
    log: ChildStderr,
    folder: Option<TempDir>,
}

/// Failure of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Description of its end.
    pub ended: String,
    /// Its last lines of output.
    pub last_lines: Vec<String>,
}

impl Failed {
    /// Returns true if it failed because nobody read its output.
    pub(super) fn broken_pipe(&self) -> bool {
        self.last_lines.iter().any(|line| line.contains("Broken pipe"))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; it said last:", self.ended)?;
        self.last_lines.iter().try_for_each(|line| write!(formatter, "\n  {line}"))
    }
}

impl Bootstrapping {
    /// Starts it. It gets a process group of its own, because it signals its whole group when it fails; and a folder of
    /// its own, because it leaves some of its files behind when it is ended.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, ChildStdout)> {
        // Without root it becomes somebody else, who must be able to get in.
        let everybody = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().prefix("touchstone-images-").permissions(everybody).tempdir()?;
        let mut child = command.process_group(0).env("TMPDIR", folder.path()).spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let log = child.stderr.take().ok_or_else(|| io::Error::other("no log"))?;
        Ok((Self { child, log, folder: Some(folder) }, output))
    }

    /// Waits until it has ended.
    pub(super) async fn finish(mut self) -> Result<(), Failed> {
        let mut lines = BufReader::new(&mut self.log).split(b'\n');
        let mut last_lines = VecDeque::with_capacity(LINES);
        while let Ok(Some(line)) = lines.next_segment().await {
            if last_lines.len() == LINES {
                last_lines.pop_front();
            }
            last_lines.push_back(String::from_utf8_lossy(&line).into_owned());
        }
        let ended = match self.child.wait().await {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => describe(status),
            Err(error) => format!("could not be waited for: {error}"),
        };
        Err(Failed { ended, last_lines: last_lines.into() })
    }
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("ended with code {code}"))
}

impl Drop for Bootstrapping {
    /// Asked to end, not killed: then it unmounts and removes what it has made so far. That is waited for, because its folder
    /// cannot be removed before.
    fn drop(&mut self) {
        let running = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = running {
            let _ = kill_process_group(group, Signal::TERM);
        }
        for _ in 0..CLEANING.as_millis() / LOOK.as_millis() {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        // It still works there, and removes most of it itself.
        let _ = self.folder.take().map(TempDir::keep);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::process::{ChildStdout, Command};
    use tokio::time::timeout;

    use super::Bootstrapping;

    fn start(script: &str) -> (Bootstrapping, ChildStdout) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Bootstrapping::start(command).expect("started")
    }

    #[tokio::test]
    async fn a_failure_shows_how_it_ended_and_the_last_lines() {
        let (bootstrapping, _output) = start("for i in $(seq 100); do echo line $i >&2; done; exit 7");
        let failed = bootstrapping.finish().await.expect_err("failed");
        assert_eq!(failed.last_lines.len(), 20);
        assert!(failed.to_string().starts_with("ended with code 7; it said last:\n  line 81\n"), "{failed}");
        assert!(failed.to_string().ends_with("line 100"), "{failed}");
        let (bootstrapping, _output) = start("echo fine >&2");
        assert_eq!(bootstrapping.finish().await, Ok(()));
    }

    #[tokio::test]
    async fn a_program_that_nobody_waits_for_is_asked_to_clean_up() {
        let (bootstrapping, mut output) =
            start("trap 'echo cleaned; exit' TERM; sh -c 'echo ready; exec sleep 600' & wait");
        let mut word = [0; 6];
        output.read_exact(&mut word).await.expect("it is ready");
        drop(bootstrapping);
        let mut rest = String::new();
        // The pipe is closed when nobody in the group is left to write to it.
        let read = timeout(Duration::from_secs(30), output.read_to_string(&mut rest)).await;
        assert!(read.is_ok() && rest == "cleaned\n", "{rest:?}");
    }
}
