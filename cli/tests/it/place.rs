//! A folder with a spec in it and a data directory, and what becomes of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value as Json;
use store::{AttemptOutcome, Run, RunState, Store, StoredAttempt};
use tempfile::TempDir;

use crate::serving::Served;
use crate::{FOREIGN, read, touchstone};

/// An image that is always there when tests run.
pub(crate) const IMAGE: &str = "touchstone/busybox:1";
/// Timeout of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Interval of polling.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
/// Timeout for a process to end after a test.
const END: Duration = Duration::from_secs(10);

/// A folder with a spec in it and a data directory.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// A place with this spec.
    pub(crate) fn new(spec: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("spec")).expect("a folder");
        fs::write(folder.path().join("spec/spec.yaml"), spec).expect("a spec");
        Self { folder }
    }

    /// A place whose data directory knows the stand-ins of common images.
    pub(crate) fn with_images() -> Self {
        let place = Self::new("");
        let (code, _, stderr) = place.run(&["images", "build"]);
        assert_eq!(code, 0, "{stderr}");
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The spec's folder.
    pub(crate) fn spec(&self) -> PathBuf {
        self.path().join("spec")
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Runs a command on this data directory to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        read(self.command(arguments).output().expect("a run"))
    }

    /// Runs the spec to its end.
    pub(crate) fn run_spec(&self, arguments: &[&str]) -> (i32, String, String) {
        let spec = self.spec().display().to_string();
        self.run(&[&["run", "--no-pull", &spec], arguments].concat())
    }

    /// Runs the spec to its end, and reads the report.
    pub(crate) fn report(&self, arguments: &[&str]) -> (i32, Json, String) {
        let (code, stdout, stderr) = self.run_spec(&[&["--format", "json"], arguments].concat());
        let report = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        (code, report, stderr)
    }

    /// A command on this data directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = touchstone(arguments);
        command.arg("--data-dir").arg(self.data());
        command
    }

    /// Starts running the spec, telling of every step.
    pub(crate) fn start(&self, arguments: &[&str]) -> Started {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
        command.args(["run", "--no-pull", "--verbose"]).arg(self.spec()).args(arguments);
        command.arg("--data-dir").arg(self.data()).stdout(Stdio::null()).stderr(Stdio::piped());
        Started::watch(command.spawn().expect("the binary"))
    }

    /// Starts a command that serves, and tells of everything.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Started {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
        command.args(arguments).arg("--data-dir").arg(self.data());
        for foreign in ["DATABASE_URL", "TOUCHSTONE_DATABASE_URL", "TOUCHSTONE_SECRET_KEY", "TOUCHSTONE_CONFIG"] {
            command.env_remove(foreign);
        }
        Started::watch(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary"))
    }

    /// Starts a command that speaks to a server, and watches what it tells.
    pub(crate) fn watch(&self, served: &Served, arguments: &[&str]) -> Started {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
        for foreign in FOREIGN {
            command.env_remove(foreign);
        }
        command.args(arguments).env("TOUCHSTONE_URL", &served.url);
        command.env("TOUCHSTONE_API_KEY", served.key.as_deref().unwrap_or_default());
        Started::watch(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary"))
    }

    /// The containers, volumes and networks of this data directory, and what its processes left in it.
    pub(crate) fn left(&self) -> Vec<String> {
        let id = fs::read_to_string(self.data().join("id")).expect("an id");
        let label = format!("label=touchstone.data={}", id.trim());
        let mut left = Vec::new();
        for kind in [["container", "ls", "-aq"], ["volume", "ls", "-q"].map(|word| word), ["network", "ls", "-q"]]
            .iter()
            .map(|words| words.as_slice())
        {
            let output = Command::new("docker").args(kind).args(["--filter", &label]).output().expect("docker");
            left.extend(String::from_utf8_lossy(&output.stdout).lines().map(|line| format!("{} {line}", kind[0])));
        }
        for folder in ["doors", "scratch", "owners", "kept"] {
            let entries = fs::read_dir(self.data().join(folder)).into_iter().flatten().filter_map(Result::ok);
            left.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        for controller in ["", "memory/", "pids/", "cpu/"] {
            let groups = format!("/sys/fs/cgroup/{controller}touchstone/{}", id.trim());
            left.extend(fs::exists(&groups).unwrap_or(false).then(|| format!("group {groups}")));
        }
        left.extend(self.boxes().into_iter().map(|pid| format!("process {pid}")));
        left
    }

    /// Waits until nothing is left.
    pub(crate) fn until_nothing_is_left(&self) {
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            if self.left().is_empty() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("left: {:?}", self.left());
    }

    /// The processes that make and watch boxes for this data directory.
    fn boxes(&self) -> Vec<String> {
        let folder = self.data().join("doorkeeper").display().to_string();
        let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        let is_ours = |entry: &fs::DirEntry| {
            let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments).starts_with(&folder)
        };
        processes.filter(is_ours).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Asks the store.
    pub(crate) fn store<T>(&self, ask: impl AsyncFnOnce(Store) -> T) -> T {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let store = Store::open(&self.data()).await.expect("a store");
            let answer = ask(store.clone()).await;
            store.close().await;
            answer
        })
    }

    /// All runs, and the attempts of each.
    pub(crate) fn runs(&self) -> Vec<(Run, Vec<StoredAttempt>)> {
        self.store(async |store| {
            let mut all = Vec::new();
            for experiment in store.experiments(100, None).await.expect("experiments") {
                for run in store.runs(experiment.id).await.expect("runs") {
                    let attempts = store.attempts(run.id).await.expect("attempts");
                    all.push((run, attempts));
                }
            }
            all
        })
    }

    /// The only run: its state, and how its attempts ended.
    pub(crate) fn only_run(&self) -> (RunState, Vec<(String, AttemptOutcome)>) {
        let [(run, attempts)] = <[_; 1]>::try_from(self.runs()).expect("one run");
        (run.state, attempts.into_iter().map(|attempt| (attempt.scenario, attempt.outcome)).collect())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind either.
        if self.data().join("id").exists() {
            for thing in self.left() {
                if let Some((kind @ ("container" | "volume" | "network"), id)) = thing.split_once(' ') {
                    let _ = Command::new("docker").args([kind, "rm", "-f", id]).output();
                }
                if let Some(group) = thing.strip_prefix("group ") {
                    remove_groups(Path::new(group));
                }
            }
        }
    }
}

/// Removes control groups without processes, the lowest first.
fn remove_groups(group: &Path) {
    for below in fs::read_dir(group).into_iter().flatten().filter_map(Result::ok) {
        if below.path().is_dir() {
            remove_groups(&below.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// A command that was started. It is ended when the test ends.
pub(crate) struct Started {
    child: Child,
    lines: Receiver<String>,
    /// Its output so far.
    pub(crate) told: String,
}

impl Started {
    pub(crate) fn watch(mut child: Child) -> Self {
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        for pipe in [stdout, stderr].into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self { child, lines, told: String::new() }
    }

    /// Waits until it tells a line with this text; whether it did before it ended.
    pub(crate) fn wait_for(&mut self, text: &str) -> bool {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.told.push_str(&line);
                    self.told.push('\n');
                    if line.contains(text) {
                        return true;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("no line with `{text}`: {}", self.told),
            }
        }
    }

    /// Sends it a signal, such as `INT`.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Sends it a signal again and again, as an impatient person does, until it ends.
    pub(crate) fn signal_until_it_ends(mut self, signal: &str) -> (ExitStatus, String) {
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return self.end();
            }
            self.signal(signal);
            std::thread::sleep(PAUSE);
        }
        panic!("it did not end: {}", self.told);
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        while self.wait_for("\u{0}") {}
        let status = self.child.wait().expect("its end");
        (status, std::mem::take(&mut self.told))
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("its end");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Who is killed leaves the boxes behind that wait for the next scenario.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
        }
        for _ in 0..END.as_millis() / PAUSE.as_millis() {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A spec with a shell command as its agent.
pub(crate) fn spec(agent: &str, more: &str) -> String {
    format!(
        "version: 1\nid: trial\nbase: {IMAGE}\ntask: {{prompt: x}}\nagent: {{type: cli, command: {agent:?}}}\n\
         resources: {{memory: 64Mi, disk: 16Mi}}\n{more}\n"
    )
}

/// A spec whose sandboxes need no image: with `--backend local` they have the programs of this machine.
pub(crate) fn local_spec(agent: &str, more: &str) -> String {
    spec(agent, more).replace(IMAGE, "debian")
}

/// An invariant that asks for a file.
pub(crate) const THERE: &str = "invariants: {there: {description: x, check: {type: file_exists, path: out}}}";
