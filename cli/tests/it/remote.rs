//! Commands that speak to a server, with a real one that makes its sandboxes without Docker.

use std::fs;

use serde_json::Value as Json;

use crate::place::{Place, THERE, local_spec};
use crate::read;
use crate::serving::Served;

/// A server, and a place with a spec for it.
struct World {
    // The server ends before its folder goes.
    served: Served,
    place: Place,
}

impl World {
    fn new(spec: &str) -> Self {
        let place = Place::new(spec);
        let served = Served::start(&place, &["--backend", "local"]);
        Self { place, served }
    }

    /// Runs a command that gets the server from the environment.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let key = self.served.key.clone().expect("a key");
        let mut command = crate::touchstone(arguments);
        command.env("TOUCHSTONE_URL", &self.served.url).env("TOUCHSTONE_API_KEY", key);
        read(command.output().expect("a run"))
    }

    fn spec(&self) -> String {
        self.place.spec().display().to_string()
    }

    /// Submits the spec, and gives the experiment's id.
    fn submit(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(&[&["submit", &self.spec()], arguments].concat());
        assert_eq!(code, 0, "{stdout}{stderr}");
        assert!(stderr.contains("submitted "), "{stderr}");
        stdout.trim().to_owned()
    }
}

const MIXED: &str = "parallelism: {matrix: {how: [good, bad]}}";

fn mixed() -> String {
    let agent =
        "echo to be or not; echo oh >&2; cat beside.txt >/dev/null; case {{ params.how }} in good) touch out;; esac";
    local_spec(agent, &format!("{MIXED}\nsetup: {{files: [{{path: beside.txt, from: beside.txt}}]}}\n{THERE}"))
}

/// A spec of which one scenario passes and one fails, with a file beside it.
fn world() -> World {
    let world = World::new(&mixed());
    fs::write(world.place.spec().join("beside.txt"), "beside").expect("a file");
    world
}

#[test]
fn a_submitted_spec_is_followed_reported_and_looked_into() {
    let world = world();
    let file = world.place.path().join("out.xml").display().to_string();
    let (code, stdout, stderr) = world.run(&["submit", &world.spec(), "--watch", "-o", &file, "--name", "a test"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stderr.contains("FAIL  trial/bad-") && stderr.contains("pass  trial/good-"), "{stderr}");
    assert!(stdout.contains("scenarios 2, passed 1, failed 1") && stdout.contains("| to be or not"), "{stdout}");
    assert!(
        stdout.contains(&format!("again: touchstone run {}", world.spec())),
        "the path is this machine's: {stdout}"
    );
    assert!(fs::read_to_string(&file).expect("a file").contains("<testsuite name=\"trial\" tests=\"2\""));

    let (code, list, _) = world.run(&["list"]);
    assert!(code == 0 && list.contains("a test") && list.contains("finished") && list.contains("2/2"), "{list}");
    let (_, list, _) = world.run(&["list", "--format", "json", "--spec", "trial"]);
    let list: Json = serde_json::from_str(&list).expect("JSON");
    let id = list[0]["id"].as_str().expect("an id").to_owned();

    let (code, stdout, stderr) = world.run(&["results", &id[..13], "--format", "json"]);
    assert_eq!(code, 1, "{stderr}");
    let report: Json = serde_json::from_str(&stdout).expect("JSON");
    let bad = report["experiments"][0]["scenarios"][1]["scenario_id"].as_str().expect("an id").to_owned();
    let scenario = format!("latest/{bad}");
    let (code, markdown, _) = world.run(&["results", "latest", "--format", "markdown"]);
    assert!(code == 1 && markdown.starts_with("### Touchstone: `trial` failed"), "{markdown}");

    let (code, logs, _) = world.run(&["logs", &scenario]);
    assert_eq!((code, logs.as_str()), (0, "to be or not\noh\n"));
    let (code, events, _) = world.run(&["logs", &scenario, "--events"]);
    assert!(code == 0 && events.contains("agent_started") && events.contains("judged"), "{events}");
    assert!(events.lines().all(|line| line.contains(&bad)), "{events}");
    let (code, timeline, _) = world.run(&["trace", &scenario]);
    assert!(code == 0 && timeline.contains("phase    act") && timeline.contains("probe      there"), "{timeline}");

    let (code, files, _) = world.run(&["artifacts", &scenario]);
    assert!(code == 0 && files.contains("1/evidence.json"), "{files}");
    let folder = world.place.path().join("files");
    let (code, _, stderr) = world.run(&["artifacts", &scenario, "--download", &folder.display().to_string()]);
    assert_eq!(code, 0, "{stderr}");
    let evidence: Json =
        serde_json::from_slice(&fs::read(folder.join("1/evidence.json")).expect("a file")).expect("JSON");
    assert_eq!(evidence["world"]["backend"], "local");

    let (_, shown, _) = world.run(&["results", "latest"]);
    let again = shown.lines().find_map(|line| line.trim().strip_prefix("again: touchstone ")).expect("a command");
    let again: Vec<_> = again.split(' ').map(|word| word.trim_matches('\'')).collect();
    for rerun in [&["rerun", "latest", "--failed-only"][..], &again] {
        let (code, stdout, stderr) = world.run(rerun);
        assert!(code == 1 && stdout.contains("scenarios 1, passed 0, failed 1"), "{rerun:?}: {stdout}{stderr}");
    }
    let (code, stdout, _) = world.run(&["compare", &id, "latest", "--allow-removed"]);
    assert!(code == 0 && stdout.contains("1 cell compared: 0 regressed"), "{stdout}");
}

#[test]
fn a_run_is_watched_cancelled_and_left_alone() {
    let world = World::new(&local_spec("sleep 60; touch out", &format!("parallelism: {{replicas: 3}}\n{THERE}")));
    let id = world.submit(&["--idempotency-key", "build-7"]);
    assert_eq!(world.submit(&["--idempotency-key", "build-7"]), id, "the same submission is the same experiment");
    let (code, stdout, _) = world.run(&["results", &id]);
    assert!(code == 4 && stdout.contains("has not ended yet"), "{stdout}");
    assert!(stdout.contains("not ended: experiments 1, passed 0, failed 0, errors 0, not ended 1"), "{stdout}");
    let mut watching = world.place.watch(&world.served, &["watch", &id, "--format", "ndjson"]);
    assert!(watching.wait_for("\"type\":\"began\""), "programs are told while scenarios run: {}", watching.told);
    assert!(watching.told.contains("following "), "{}", watching.told);
    watching.signal("INT");
    let (status, told) = watching.end();
    assert!(status.code() == Some(130) && told.contains("stopped watching") && told.contains("goes on"), "{told}");
    let (code, stdout, stderr) = world.run(&["cancel", &id, "--reason", "enough"]);
    assert!(code == 0 && stdout.contains("cancelled: 0 of 3 scenarios had ended"), "{stdout}{stderr}");
    let (code, stdout, stderr) = world.run(&["watch", &id]);
    assert!(code == 4 && stdout.contains("cancelled on the server"), "{code}: {stdout}{stderr}");
    let (code, _, stderr) = world.run(&["cancel", &id]);
    assert!(code == 2 && stderr.contains("has ended"), "{stderr}");
}

#[test]
fn a_pipeline_that_is_interrupted_leaves_nothing_running() {
    let world = World::new(&local_spec("sleep 60; touch out", THERE));
    let spec = world.spec();
    let mut running = world.place.watch(&world.served, &["ci", &spec]);
    assert!(running.wait_for("following "), "{}", running.told);
    running.signal("TERM");
    let (status, told) = running.end();
    assert!(status.code() == Some(130) && told.contains("cancelling on the server"), "{told}");
    let (_, list, _) = world.run(&["list", "--format", "json"]);
    let list: Json = serde_json::from_str(&list).expect("JSON");
    assert!(["cancelled", "running"].contains(&list[0]["status"].as_str().expect("a status")), "{list}");
    let (code, stdout, _) = world.run(&["watch", "latest"]);
    assert!(code == 4 && stdout.contains("cancelled on the server"), "{stdout}");
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let world = World::new(&local_spec("touch out", THERE));
    let ask = |arguments: &[&str], key: &str, url: &str| {
        let mut command = crate::touchstone(arguments);
        command.env("TOUCHSTONE_API_KEY", key).env("TOUCHSTONE_URL", url);
        read(command.output().expect("a run"))
    };
    let url = world.served.url.clone();
    let hidden = |text: String| text.replace(&url, "URL");
    let (code, _, stderr) = ask(&["list"], "ts_live_wrong", &url);
    assert_eq!(code, 2);
    insta::assert_snapshot!(hidden(stderr), @"touchstone: URL does not take this key: this key is not known here, or it was revoked; `touchstone key create` on the server's machine makes another");
    let (code, _, stderr) = ask(&["list"], "", &url);
    assert_eq!(code, 2);
    insta::assert_snapshot!(hidden(stderr), @"touchstone: URL wants a key: set TOUCHSTONE_API_KEY; `touchstone key create` on the server's machine makes one");
    let (code, _, stderr) = ask(&["results", "latest"], "x", "http://127.0.0.1:1");
    assert!(code == 4 && stderr.contains("http://127.0.0.1:1 does not answer: "), "{stderr}");
    assert!(stderr.contains("is it running, and is `--url` right?"), "{stderr}");
    let (code, _, stderr) = ask(&["list"], "x", "8012");
    assert!(code == 2 && stderr.contains("write it as http://HOST:PORT"), "{stderr}");
    let (code, _, stderr) = crate::run(&["submit", "specs/hello-world"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(stderr, @"touchstone: say which server: `--url URL`, TOUCHSTONE_URL, or `url` in the configuration file; `touchstone run` runs specs on this machine");
    for (arguments, code, told) in [
        (&["results", "latest"][..], 2, "there is no experiment `latest`"),
        (&["watch", "0123abcd"], 2, "there is no experiment `0123abcd`"),
        (&["logs", "01a1e7f0-ede4-7459-9cd8-6ab0462c19b5/x"], 2, "01a1e7f0-ede4-7459-9cd8-6ab0462c19b5"),
        (&["artifacts", "latest"], 2, "say which scenario"),
        (&["rerun", "latest/x"], 2, "there is no experiment `latest`"),
        (&["submit", "specs/hello-world", "--filter", "nothing"], 2, "no scenario matches `nothing`"),
        (&["submit", "specs/invalid/unknown-key.yaml"], 3, ""),
    ] {
        let (got, stdout, stderr) = world.run(arguments);
        assert!(got == code && stderr.contains(told), "{arguments:?}: {got}: {stdout}{stderr}");
    }
}

#[test]
fn keystones_names_work_where_a_server_is_needed_and_nowhere_else() {
    let world = World::new(&local_spec("touch out", THERE));
    let key = world.served.key.clone().expect("a key");
    let ask = |arguments: &[&str]| {
        let mut command = world.place.command(arguments);
        command.env("KEYSTONE_BASE_URL", &world.served.url).env("KEYSTONE_API_KEY", &key);
        read(command.output().expect("a run"))
    };
    let mut command = crate::touchstone(&["submit", &world.spec(), "--watch"]);
    command.env("KEYSTONE_BASE_URL", &world.served.url).env("KEYSTONE_API_KEY", &key);
    let (code, stdout, stderr) = read(command.output().expect("a run"));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, local, stderr) = ask(&["list"]);
    assert!(code == 0 && local.contains("age"), "the table of this machine: {local}{stderr}");
    let config = world.place.path().join("touchstone.toml");
    fs::write(&config, format!("url = \"{}\"\napi-key = \"{key}\"\n", world.served.url)).expect("a file");
    let config = config.display().to_string();
    let (code, remote, stderr) = crate::run(&["list", "--config", &config]);
    assert!(code == 0 && !remote.contains("age") && remote.contains("trial v1"), "{remote}{stderr}");
    let (code, local, stderr) = world.place.run(&["list", "--local", "--config", &config]);
    assert!(code == 0 && local.contains("age"), "{local}{stderr}");
}
