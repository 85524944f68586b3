//! A worker in a control group with little memory, as in a container: its local sandboxes share the limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value as Json;

use crate::place::{Place, THERE};
use crate::read;

/// Folder of the memory groups in version 1.
const MEMORY: &str = "/sys/fs/cgroup/memory";
/// Joins a group, sees it as the root, as a process in a container does, and goes on with a command.
const ENTER: &str = "echo $$ > \"$POD/cgroup.procs\" && mount --bind \"$POD\" /sys/fs/cgroup/memory && exec \"$@\"";

/// A control group with a limit, as a container has one. It goes with this.
struct Pod(PathBuf);

impl Pod {
    /// Creates a group with this number of MiB; `None` where none can be made.
    fn new(mebibytes: u64) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let pod = Self(Path::new(MEMORY).join(format!("touchstone-test-{}-{number}", std::process::id())));
        fs::create_dir(&pod.0).ok()?;
        fs::write(pod.0.join("memory.limit_in_bytes"), (mebibytes << 20).to_string()).ok()?;
        Some(pod)
    }

    /// Runs a spec in it with local sandboxes, and reads the report.
    fn report(&self, place: &Place, arguments: &[&str]) -> (i32, Json, String) {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_touchstone")).args(["run", "--backend", "local", "--format", "json"]);
        command.arg(place.spec()).args(arguments).arg("--data-dir").arg(place.data()).env("POD", &self.0);
        let (code, stdout, stderr) = read(command.output().expect("a run"));
        let report = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        (code, report, stderr)
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        remove_groups(&self.0);
    }
}

/// Removes a group and those in it, which have no processes any more.
fn remove_groups(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_groups(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Returns a spec whose agent holds `uses` MiB for a moment, and may use `may_use` MiB.
fn hungry(uses: u64, may_use: u64) -> Place {
    let agent = format!("sh -c '(head -c {uses}M /dev/zero; sleep 1) | tail > /dev/null && touch out'");
    let resources = format!("resources: {{memory: {may_use}Mi, disk: 16Mi}}");
    Place::new(&format!(
        "version: 1\nid: hungry\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: cli, command: {agent:?}}}\n{resources}\n{THERE}\n"
    ))
}

/// A group, unless this machine has none that can be made.
#[expect(clippy::print_stdout, reason = "a test that is passed over says so")]
fn pod(mebibytes: u64) -> Option<Pod> {
    let pod = Pod::new(mebibytes);
    if pod.is_none() {
        println!("passed over: no control group for memory of version 1 can be made here");
    }
    pod
}

#[test]
fn agents_that_keep_to_their_limits_pass_however_little_memory_there_is() {
    let Some(pod) = pod(700) else { return };
    let place = hungry(150, 200);
    // All at once they would use more than there is.
    let (code, report, stderr) = pod.report(&place, &["--replicas", "6", "--max-concurrent", "6"]);
    assert_eq!((code, &report["verdict"]), (0, &Json::from("pass")), "{report:#}{stderr}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn an_agent_below_its_own_limit_is_not_blamed_for_a_container_without_memory() {
    let Some(pod) = pod(300) else { return };
    let place = hungry(400, 600);
    let (code, report, stderr) = pod.report(&place, &[]);
    assert_eq!(code, 4, "{report:#}{stderr}");
    let told = report.to_string();
    assert!(told.contains("below its own limit") && told.contains("infrastructure"), "{report:#}");
}

#[test]
fn an_agent_above_its_own_limit_fails_in_a_small_container_too() {
    let Some(pod) = pod(700) else { return };
    let place = hungry(200, 64);
    let (code, report, stderr) = pod.report(&place, &[]);
    assert_eq!(code, 1, "{report:#}{stderr}");
    assert!(report.to_string().contains("more than 64 MiB of memory"), "{report:#}");
}
