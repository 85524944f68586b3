//! The choice of the backend: Docker where an engine answers, and namespaces elsewhere.

use std::os::unix::fs::MetadataExt as _;

use serde_json::Value as Json;

use crate::place::{Place, THERE, spec};
use crate::read;

/// Address without an engine.
const NOWHERE: &str = "unix:///nowhere/docker.sock";
/// The notice when namespaces stand in for Docker.
const STAND_IN: &str =
    "touchstone: no Docker engine answers, so sandboxes are made with namespaces of this machine and have its programs";
/// A service that needs no image, and an agent that asks it.
const MOCK: &str = "services: [{name: api, type: http_mock, record: true, ports: [80], routes: [{method: GET, path: /x, status: 200, response: {ok: true}}]}]";
const ASKING: &str = "invariants: {there: {description: x, check: {type: file_exists, path: out}}, asked: {description: x, check: {type: http_mock_assertions, service: api, assertions: [{field: request_count, equals: 1}]}}}";
const AGENT: &str = "exec 3<>/dev/tcp/api/80; printf 'GET /x HTTP/1.0\r\nHost: api\r\n\r\n' >&3; cat <&3 >out";

/// A spec whose agent is a command of bash.
fn asking() -> Place {
    Place::new(&spec(&format!("bash -c \"{AGENT}\""), &format!("{MOCK}\n{ASKING}")))
}

/// Runs a command on a machine without Docker.
fn without_docker(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    read(place.command(arguments).env("DOCKER_HOST", NOWHERE).output().expect("a run"))
}

fn run_spec(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let path = place.spec().display().to_string();
    without_docker(place, &[&["run", &path], arguments].concat())
}

/// Returns the backend of the newest experiment's sandbox.
fn backend_of(place: &Place) -> Json {
    let (code, evidence, stderr) = place.run(&["show", "latest/default-r0", "--evidence"]);
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str::<Json>(&evidence).expect("JSON")["world"]["backend"].clone()
}

#[test]
fn without_docker_sandboxes_are_made_with_namespaces_and_a_line_says_so() {
    let place = asking();
    let (code, stdout, stderr) = run_spec(&place, &["--format", "json"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let report: Json = serde_json::from_str(&stdout).expect("nothing but JSON");
    assert_eq!(report["verdict"], "pass");
    let told: Vec<_> = stderr.lines().filter(|line| line.starts_with("touchstone:")).collect();
    assert!(told.len() == 1 && told[0].starts_with(STAND_IN), "{stderr}");
    assert_eq!(backend_of(&place), "local");
    let (_, shown, _) = place.run(&["show", "latest/default-r0"]);
    assert!(shown.contains("made by local with"), "{shown}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn who_insists_on_docker_gets_nothing_else() {
    let place = Place::new(&spec("touch out", THERE));
    let (code, _, stderr) = run_spec(&place, &["--backend", "docker"]);
    assert!(code == 4 && stderr.contains(&format!("no Docker engine answers at {NOWHERE}")), "{code}: {stderr}");
    assert!(!stderr.contains("namespaces"), "{stderr}");
    let path = place.spec().display().to_string();
    let mut command = place.command(&["run", &path]);
    command.env("DOCKER_HOST", NOWHERE).env("TOUCHSTONE_BACKEND", "docker");
    assert_eq!(read(command.output().expect("a run")).0, 4, "the environment can insist too");
    let config = place.path().join("touchstone.toml");
    std::fs::write(&config, "backend = \"docker\"\n").expect("a file");
    let (code, ..) = run_spec(&place, &["--config", &config.display().to_string()]);
    assert_eq!(code, 4, "and so can the file");
}

#[test]
fn an_engine_that_answers_is_used_unless_somebody_wants_none() {
    let place = Place::new(&spec("touch out", THERE));
    let (code, stdout, stderr) = place.run_spec(&[]);
    assert!(code == 0 && !stderr.contains("namespaces"), "{stdout}{stderr}");
    assert_eq!(backend_of(&place), "docker");
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let wanted = "touchstone: as was asked for, sandboxes are made with namespaces of this machine";
    assert!(stderr.contains(wanted), "{stderr}");
    assert_eq!(backend_of(&place), "local");
}

#[test]
fn when_nothing_works_all_reasons_are_said() {
    let place = Place::new(&spec("touch out", THERE));
    let (code, _, stderr) = run_spec(&place, &["--rootfs", "/no/such/folder"]);
    assert_eq!(code, 4, "{stderr}");
    for reason in [NOWHERE, "without Docker it does not work either: cannot prepare what sandboxes are made from"] {
        assert!(stderr.contains(reason), "{stderr}");
    }
    let (code, _, stderr) = run_spec(&place, &["--backend", "local", "--rootfs", "/no/such/folder"]);
    assert!(code == 4 && !stderr.contains(NOWHERE), "{stderr}");
}

#[test]
fn what_a_spec_insists_on_is_kept() {
    let local = spec("touch out", THERE).replace("type: cli", "type: cli, backend: local");
    let place = Place::new(&local);
    let (code, stdout, stderr) = place.run_spec(&[]);
    assert!(code == 0 && stderr.contains("as specs insist on it"), "{stdout}{stderr}");
    assert_eq!(backend_of(&place), "local", "although an engine answers");
    let (code, _, stderr) = place.run_spec(&["--backend", "docker"]);
    assert!(code == 4 && stderr.contains("`agent.backend: local`"), "{stderr}");
    let place = Place::new(&format!("needs: [docker]\n{}", spec("touch out", THERE)));
    let (code, _, stderr) = place.run_spec(&["--backend", "local"]);
    assert!(code == 4 && stderr.contains("insists on Docker (`needs: [docker]`)"), "{stderr}");
    let parent = place.path().display().to_string();
    let (code, stdout, stderr) = place.run(&["run", &parent, "--backend", "local"]);
    let told = format!("{stdout}{stderr}");
    assert!(code != 0 && told.contains("insists on Docker"), "nothing was run, and that is no success: {code}: {told}");
    assert_eq!(place.left(), Vec::<String>::new());
}

/// A spec on an image that no engine of a test has.
fn on(image: &str) -> Place {
    Place::new(&spec("touch out", THERE).replace("touchstone/busybox:1", image))
}

#[test]
fn a_well_known_image_that_no_registry_can_be_asked_for_is_stood_in_for_and_every_report_says_so() {
    let place = on("debian:99");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (xml, markdown) = (file("r.xml"), file("r.md"));
    let (code, stdout, stderr) = place.run_spec(&["-o", &xml, "-o", &markdown]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stderr.contains("the Docker engine has no image `debian:99` and reaches no registry"), "{stderr}");
    assert_eq!(backend_of(&place), "local");
    assert!(stdout.contains("CAVEAT `debian:99` was not used: `host"), "{stdout}");
    let (_, shown, _) = place.run(&["show", "latest/default-r0"]);
    for text in
        [&shown, &std::fs::read_to_string(&xml).expect("a file"), &std::fs::read_to_string(&markdown).expect("a file")]
    {
        assert!(text.contains("`debian:99` was not used"), "{text}");
    }
    let json = place.run(&["show", "latest", "--format", "json"]).1;
    let report: Json = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["caveats"][0]["kind"], "stand_in");
    assert_eq!(report["scenarios"][0]["ran_in"]["backend"], "local");
    let (code, stdout, stderr) = place.run(&["rerun", "latest", "--no-pull"]);
    assert!(code == 0 && stderr.contains("has no image"), "{stdout}{stderr}");
}

#[test]
fn a_name_that_may_be_a_slip_is_not_stood_in_for() {
    for (image, meant) in [
        ("debain:12", "did you mean `debian`?"),
        ("nobody.example/has/debian:12", ""),
        ("pyhton:3.11", "did you mean `python`?"),
    ] {
        let place = on(image);
        let (code, stdout, stderr) = place.run_spec(&[]);
        let told = format!("{stdout}{stderr}");
        assert!(code == 4 && told.contains(image) && told.contains(meant), "{image}: {told}");
        assert!(!told.contains("namespaces"), "{image}: {told}");
        // Nor where there is no engine at all.
        let (code, stdout, stderr) = run_spec(&place, &[]);
        let told = format!("{stdout}{stderr}");
        assert!(code == 4 && told.contains(meant) && told.contains("`--backend local` insists"), "{image}: {told}");
        // Who asks for the programs of this machine gets them, and the report says so.
        let (code, stdout, stderr) = run_spec(&place, &["--backend", "local"]);
        assert!(code == 0 && stdout.contains(&format!("CAVEAT `{image}` was not used")), "{image}: {stdout}{stderr}");
    }
    // What only Docker can do stays with Docker, and its reason is the one that is told.
    let place = Place::new(&format!(
        "{}setup: {{packages: [jq]}}\n",
        spec("touch out", THERE).replace("touchstone/busybox:1", "debian:99")
    ));
    let (code, stdout, stderr) = place.run_spec(&[]);
    let told = format!("{stdout}{stderr}");
    assert!(code == 4 && told.contains("debian:99") && !told.contains("namespaces"), "{told}");
}

#[test]
fn neither_ci_nor_a_worker_falls_back() {
    let place = on("debian:99");
    let path = place.spec().display().to_string();
    let (code, stdout, stderr) = place.run(&["ci", "--no-pull", &path]);
    let told = format!("{stdout}{stderr}");
    assert!(code == 4 && told.contains("the image `debian:99` is not here") && !told.contains("namespaces"), "{told}");
    let (code, stdout, stderr) = without_docker(&place, &["ci", &path]);
    let told = format!("{stdout}{stderr}");
    assert!(code == 4 && told.contains("`ci` uses the programs of this machine only when asked to"), "{told}");
    let (code, _, stderr) = without_docker(&place, &["ci", &path, "--backend", "local"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, _, stderr) = without_docker(&place, &["worker"]);
    assert!(
        code == 4 && stderr.contains("a worker uses the programs of this machine only when asked to"),
        "{code}: {stderr}"
    );
}

#[test]
fn sandboxes_can_be_made_from_an_archive_with_a_system() {
    let place = Place::new(&spec("sh -c 'ls /usr/bin | wc -l > out; test ! -e /usr/bin/python3'", THERE));
    let archive = place.path().join("busybox.tar").display().to_string();
    let (code, stdout, stderr) = place.run(&["images", "build", "busybox", "--tar", &archive]);
    assert!(code == 0 && stdout.contains("--rootfs"), "{stdout}{stderr}");
    let (code, stdout, stderr) = run_spec(&place, &["--rootfs", &archive]);
    assert!(code == 0 && stderr.contains(&format!("the programs of `{archive}`")), "{stdout}{stderr}");
    // The same for one image, by an alias.
    let image = spec("", "").lines().find_map(|line| line.strip_prefix("base: ")).expect("an image").to_owned();
    std::fs::write(place.data().join("images.yaml"), format!("alias: {{\"{image}\": \"{archive}\"}}\n"))
        .expect("a file");
    let (code, stdout, stderr) = run_spec(&place, &[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (_, evidence, _) = place.run(&["show", "latest/default-r0", "--evidence"]);
    assert!(evidence.contains(&archive), "{evidence}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_kept_sandbox_is_swept_by_what_made_it() {
    let place = Place::new(&spec("true", THERE));
    let (code, stdout, stderr) = run_spec(&place, &["--keep-sandbox", "always"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let kept = |(code, stdout, stderr): (i32, String, String)| {
        assert_eq!(code, 0, "{stderr}");
        let swept: Json = serde_json::from_str(&stdout).expect("nothing but JSON");
        (swept["kept"].clone(), swept["containers"].clone())
    };
    // Also where Docker is asked, which has no container of it.
    assert_eq!(kept(place.run(&["sweep", "--format", "json"])), (1.into(), 0.into()));
    assert_eq!(kept(without_docker(&place, &["sweep", "--format", "json"])), (1.into(), 0.into()));
    assert_eq!(kept(place.run(&["sweep", "--kept", "--format", "json"])), (0.into(), 1.into()));
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn somebody_without_rights_has_sandboxes_too_and_is_told_what_is_not_enforced() {
    const SOMEBODY: &str = "1234";
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        assert!(std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_none(), "only root can become somebody else");
        return;
    }
    let place = asking();
    // Where that user can reach it.
    let program = place.path().join("touchstone");
    std::fs::copy(env!("CARGO_BIN_EXE_touchstone"), &program).expect("a copy");
    let owner = format!("{SOMEBODY}:{SOMEBODY}");
    let chown = std::process::Command::new("chown").args(["-R", &owner]).arg(place.path()).status();
    assert!(chown.expect("chown").success());
    let output = std::process::Command::new("setpriv")
        .args(["--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups"])
        .arg(&program)
        .arg("run")
        .arg(place.spec())
        .arg("--data-dir")
        .arg(place.data())
        .env("DOCKER_HOST", NOWHERE)
        .env("HOME", place.path())
        .output()
        .expect("setpriv");
    let (code, stdout, stderr) = read(output);
    assert_eq!(code, 0, "{stdout}{stderr}");
    for weakness in ["memory is limited for each process only", "share one user"] {
        assert!(stderr.contains(weakness), "{stderr}");
    }
    assert_eq!(backend_of(&place), "local");
    assert_eq!(place.left(), Vec::<String>::new());
}
