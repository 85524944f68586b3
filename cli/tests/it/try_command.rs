//! `touchstone try` as a person uses it, also wrongly.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{read, touchstone};

const IMAGE: &str = "touchstone/debian:bookworm";

/// A folder with a spec in it, and a data directory.
struct Try {
    folder: TempDir,
}

impl Try {
    fn new(spec: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("spec")).expect("a folder");
        fs::write(folder.path().join("spec/spec.yaml"), spec).expect("a spec");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        read(self.command(arguments).output().expect("a run"))
    }

    fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = touchstone(&["try", "--no-pull"]);
        command.arg(self.path().join("spec")).args(arguments).arg("--data-dir").arg(self.path().join("data"));
        command
    }

    /// Containers and volumes of this data directory.
    fn left(&self) -> String {
        let id = fs::read_to_string(self.path().join("data/id")).expect("an id");
        let label = format!("label=touchstone.data={}", id.trim());
        let list = |arguments: &[&str]| {
            let output = Command::new("docker").args(arguments).args(["--filter", &label]).output().expect("docker");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        list(&["ps", "-aq"]) + &list(&["volume", "ls", "-q"])
    }
}

fn spec(agent: &str, more: &str) -> String {
    format!(
        "version: 1\nid: trial\nbase: {IMAGE}\ntask: {{prompt: x}}\nagent: {{type: cli, command: {agent}}}\n{more}\n"
    )
}

const THERE: &str = "invariants: {there: {description: x, check: {type: file_exists, path: out}}}";

#[test]
fn a_pass_and_a_fail_have_their_exit_codes() {
    let passing = Try::new(&spec("touch out", THERE));
    let (code, stdout, stderr) = passing.run(&[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("pass  there") && stdout.contains("default-r0 passed, score 1.000"), "{stdout}");
    assert!(stderr.contains("prepare: ") && stderr.contains("destroy: "), "{stderr}");
    let (code, stdout, _) = passing.run(&["--agent", "noop", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, &json["result"]["status"]), (1, &serde_json::json!("fail")));
    assert_eq!(json["evidence"]["world"]["images"][0]["name"], IMAGE);
    assert_eq!(passing.left(), "");
}

#[test]
fn mistakes_are_said_before_anything_is_made() {
    let broken = Try::new("version: 1\nid: trial\n");
    assert_eq!(broken.run(&[]).0, 3);
    let secret = Try::new(&spec("touch out", &format!("secrets: [NO_SUCH_VARIABLE_HERE]\n{THERE}")));
    let (code, _, stderr) = secret.run(&[]);
    assert_eq!(code, 2);
    assert!(stderr.contains("set the environment variable `NO_SUCH_VARIABLE_HERE`"), "{stderr}");
    let fine = Try::new(&spec("touch out", THERE));
    let (code, _, stderr) = fine.run(&["--scenario", "other"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("the spec has no scenario `other`; it has default-r0"), "{stderr}");
    let (code, stdout, _) =
        Try::new(&spec("touch out", THERE).replace(IMAGE, "no-such-image:1")).run(&["--backend", "docker"]);
    assert_eq!(code, 4);
    assert!(stdout.contains("`no-such-image:1` is not here") && stdout.contains("touchstone images build"), "{stdout}");
}

#[test]
fn an_engine_that_does_not_answer_is_named() {
    let fine = Try::new(&spec("touch out", THERE));
    let mut command = fine.command(&["--backend", "docker"]);
    let (code, stdout, _) = read(command.env("DOCKER_HOST", "unix:///nowhere/docker.sock").output().expect("a run"));
    assert_eq!(code, 4);
    assert!(stdout.contains("no Docker engine answers at unix:///nowhere/docker.sock"), "{stdout}");
    let mut command = fine.command(&[]);
    let (code, _, stderr) = read(command.env("DOCKER_HOST", "unix:///nowhere/docker.sock").output().expect("a run"));
    assert!(code == 0 && stderr.contains("touchstone: no Docker engine answers, so"), "{stderr}");
    let mut command = fine.command(&["--runtime", "runsc"]);
    let (code, stdout, _) = read(command.output().expect("a run"));
    assert_eq!(code, 4);
    assert!(stdout.contains("no runtime `runsc`"), "{stdout}");
}

/// Runs on the host: tells what it can do there.
const HOST_CHECK: &str = r#"
import json, os, socket, sys
context = json.load(sys.stdin)
def allowed(act):
    try:
        act()
        return True
    except OSError:
        return False
found = {
    "reads the workspace": open(context["workspace_path"] + "/out").read() == "hello\n",
    "writes its scratch folder": allowed(lambda: open(os.environ["TMPDIR"] + "/x", "w")),
    "writes the workspace": allowed(lambda: open(context["workspace_path"] + "/out", "w")),
    "writes /tmp": allowed(lambda: open("/tmp/touchstone-host-check", "w")),
    "sees our environment": "TOUCHSTONE_TEST_SECRET" in os.environ,
}
expected = {name: name.startswith(("reads", "writes its")) for name in found}
print(json.dumps({"passed": found == expected, "reason": str(found)}))
"#;

#[test]
fn a_check_on_the_host_needs_permission_and_is_confined() {
    let check = "invariants: {host: {description: x, check: {type: custom, script: check.py}}}";
    let trial = Try::new(&spec("echo hello > out", check));
    fs::write(trial.path().join("spec/check.py"), HOST_CHECK).expect("a script");
    let (code, stdout, _) = trial.run(&[]);
    assert_eq!(code, 4);
    assert!(stdout.contains("--allow-host-checks"), "{stdout}");
    let mut command = trial.command(&["--allow-host-checks"]);
    let (code, stdout, stderr) = read(command.env("TOUCHSTONE_TEST_SECRET", "x").output().expect("a run"));
    assert_eq!(code, 0, "{stdout}{stderr}");
}

#[test]
fn a_signal_cleans_up_and_says_so() {
    let trial = Try::new(&spec("sleep 600", THERE));
    let child = Command::new(assert_cmd::cargo::cargo_bin("touchstone"))
        .args(["try", "--no-pull", "--data-dir"])
        .arg(trial.path().join("data"))
        .arg(trial.path().join("spec"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    wait_until(|| trial.path().join("data/id").exists() && !trial.left().is_empty());
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("kill").success());
    let (code, _, stderr) = finished(child);
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains("interrupted: cancelling and cleaning up"), "{stderr}");
    assert_eq!(trial.left(), "");
}

fn finished(child: Child) -> (i32, String, String) {
    read(child.wait_with_output().expect("ended"))
}

/// Looks again and again, for half a minute.
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..600 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not come about");
}
