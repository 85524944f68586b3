//! Scripts of `custom` checks that run beside the worker, with a read-only view of the workspace.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use doorkeeper::protocol::{Entry, EntryKind};
use rustix::process::{Pid, Signal};
use scenario::evidence::{Answer, CommandAnswer, Exit, Limit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Prober;
use super::script::interpreted;
use crate::attempt::HostChecks;
use crate::backend::WORKSPACE;
use crate::capture::{CHECK_BYTES, Capture};
use crate::door::Door;
use crate::error::EngineError;

/// Number of entries of the workspace that are copied out.
const MOST_ENTRIES: u64 = 50_000;
/// Time for reading streams after the script has ended.
const PARTING: Duration = Duration::from_secs(1);
/// Time limit of that.
const COPYING: Duration = Duration::from_secs(60);

impl Prober<'_> {
    /// Runs a script of the bundle on this machine: confined, without our environment, on a copy of the workspace.
    pub(super) async fn on_host(&self, script: &str, timeout: Duration) -> Result<Answer, EngineError> {
        self.on_host_with(script, timeout, true).await
    }

    /// The same on an empty workspace.
    pub(super) async fn on_host_without_workspace(
        &self,
        script: &str,
        timeout: Duration,
    ) -> Result<Answer, EngineError> {
        self.on_host_with(script, timeout, false).await
    }

    async fn on_host_with(&self, script: &str, timeout: Duration, copies: bool) -> Result<Answer, EngineError> {
        let located = self.attempt.bundle.locate(script).filter(|path| path.is_file());
        let located = located.and_then(|path| path.canonicalize().ok());
        let (Some(checks), Some(path)) = (&self.attempt.permissions.host_checks, located) else {
            let what = format!("the script `{script}` may not run on this machine, or is not in the spec's folder");
            return Err(EngineError::Unsupported { what });
        };
        let operation = "copy the workspace for a check";
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().permissions(private).tempdir_in(self.world.sandbox.scratch());
        let folder = folder.map_err(EngineError::files(operation))?;
        let (workspace, scratch) = (folder.path().join("workspace"), folder.path().join("scratch"));
        for made in [&workspace, &scratch] {
            fs::create_dir(made).map_err(EngineError::files(operation))?;
        }
        if let Some(answer) = self.copy_in_time(&workspace, copies).await? {
            return Ok(answer);
        }
        for (name, log) in self.logs.files() {
            fs::write(scratch.join(name), log).map_err(EngineError::files(operation))?;
        }
        let context = self.context(&workspace.display().to_string(), &scratch.display().to_string());
        let running = format!("run the script `{script}`");
        let mut child =
            start(checks, &path.display().to_string(), &scratch).map_err(EngineError::files(running.clone()))?;
        let answer = self.follow_host(&mut child, context, timeout).await;
        answer.map(Answer::Command).map_err(EngineError::files(running))
    }

    /// Copies the workspace, if that is wanted; the answer when it cannot be copied.
    async fn copy_in_time(&self, to: &Path, copies: bool) -> Result<Option<Answer>, EngineError> {
        if !copies {
            return Ok(None);
        }
        let unavailable = |reason, limit| Some(Answer::Unavailable { reason, limit: Some(limit) });
        match tokio::time::timeout(COPYING, self.copy_out(to)).await {
            Ok(copied) => Ok(copied?.and_then(|reason| unavailable(reason, Limit::FileBytes))),
            Err(_) => {
                let reason = format!("the workspace cannot be copied within {}s", COPYING.as_secs());
                Ok(unavailable(reason, Limit::CheckTimeout))
            }
        }
    }

    /// Follows a script to its end. What it left running is ended with it, and cannot hold it by keeping its streams open.
    async fn follow_host(&self, child: &mut Child, context: Vec<u8>, timeout: Duration) -> io::Result<CommandAnswer> {
        let group = Group::of(child);
        let mut stdout = Capture::new(CHECK_BYTES, &self.world.redactor);
        let mut stderr = Capture::new(CHECK_BYTES, &self.world.redactor);
        let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A script need not read its context.
                let _ = stdin.write_all(&context).await;
            }
        };
        let end = async {
            let ended = tokio::time::timeout(timeout, child.wait()).await;
            drop(group);
            ended
        };
        let ended = {
            let reading = async { tokio::join!(feed, drain(out, &mut stdout), drain(err, &mut stderr)) };
            tokio::pin!(reading, end);
            tokio::select! {
                ended = &mut end => {
                    // Whatever left the group may keep the streams open; what the script printed is there by now.
                    let _ = tokio::time::timeout(PARTING, reading).await;
                    ended
                }
                _ = &mut reading => end.await,
            }
        };
        let exit = match ended {
            Ok(status) => Some(exit(status?)),
            Err(_) => None,
        };
        let (stdout, stderr) = (stdout.finish().0, stderr.finish().0);
        Ok(CommandAnswer { exit, stdout, stderr, image_changes: Vec::new() })
    }

    /// Copies files and folders of the workspace out of the sandbox; the reason when it is too much. Links, pipes and
    /// devices stay behind: what they lead to would be something of this machine.
    async fn copy_out(&self, to: &Path) -> Result<Option<String>, EngineError> {
        let operation = "copy the workspace for a check";
        let door = self.world.sandbox.door();
        let listing = door.walk(WORKSPACE, b".", MOST_ENTRIES, true).await.map_err(EngineError::door(operation))?;
        // A file with holes can claim any size.
        let bytes = listing.entries.iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.size);
        let bytes = bytes.fold(0u64, u64::saturating_add);
        if listing.incomplete || bytes > self.world.limits.disk.saturating_mul(2) {
            let entries = listing.entries.len();
            return Ok(Some(format!(
                "the workspace cannot be copied: it is too large, {entries} entries, {bytes} bytes"
            )));
        }
        for entry in &listing.entries {
            match copy_entry(door, entry, to).await {
                Err(EngineError::Files { cause, .. }) if cause.kind() == io::ErrorKind::InvalidFilename => {
                    return Ok(Some("the workspace cannot be copied: a path is too long".to_owned()));
                }
                copied => copied?,
            }
        }
        Ok(None)
    }
}

/// The processes that a script started, which end when this is dropped.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

fn start(checks: &HostChecks, script: &str, scratch: &Path) -> io::Result<Child> {
    let mut words = checks.confine.clone();
    words.extend([scratch.display().to_string(), "--".to_owned()]);
    words.extend(interpreted(script));
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .current_dir(scratch)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TMPDIR", scratch)
        .env("HOME", scratch)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn drain(from: Option<impl tokio::io::AsyncRead + Unpin>, into: &mut Capture) {
    let Some(mut from) = from else { return };
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        into.take(&bytes[..read]);
    }
}

fn exit(status: std::process::ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

async fn copy_entry(door: &Door, entry: &Entry, to: &Path) -> Result<(), EngineError> {
    use std::os::unix::ffi::OsStrExt as _;
    let operation = "copy the workspace for a check";
    let target = to.join(std::ffi::OsStr::from_bytes(&entry.path));
    match entry.kind {
        EntryKind::Directory => fs::create_dir_all(&target).map_err(EngineError::files(operation)),
        EntryKind::File => {
            let mut file = fs::File::create(&target).map_err(EngineError::files(operation))?;
            let mut written = Ok(());
            let copying = door.read_into(WORKSPACE, &entry.path, entry.size, |bytes| {
                if written.is_ok() {
                    written = file.write_all(bytes);
                }
            });
            copying.await.map_err(EngineError::door(operation))?;
            written.map_err(EngineError::files(operation))?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o444)).map_err(EngineError::files(operation))
        }
        EntryKind::Link | EntryKind::Other => Ok(()),
    }
}
