//! A process that was started as root becomes an unprivileged user, in the group of the Docker engine's socket.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Place, Started};
use crate::read;
use crate::serving::Served;

/// The user and the group to become; no account has these numbers.
const ACCOUNT: &str = "54321:54322";
/// A group without members.
const GROUP: u32 = 45678;

/// A folder for the user to become, with something where the engine's socket is looked for.
struct World {
    place: Place,
    /// Keeps the socket; no process accepts connections.
    _listener: Option<UnixListener>,
    host: String,
}

impl World {
    fn new(make: impl FnOnce(&Path) -> Option<UnixListener>) -> Self {
        let place = Place::new("");
        fs::create_dir(place.data()).expect("a folder");
        for path in [place.path().to_owned(), place.data()] {
            fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("open to all");
            if rustix::process::geteuid().is_root() {
                chown(&path, Some(54321), Some(54322)).expect("given away");
            }
        }
        let path = place.path().join("engine.sock");
        let _listener = make(&path);
        Self { place, _listener, host: format!("unix://{}", path.display()) }
    }

    fn with_socket(group: u32, mode: u32) -> Self {
        Self::new(|path| Some(socket(path, group, mode)))
    }

    fn command(&self, program: &[&str], arguments: &[&str]) -> Command {
        let words = [program, &[env!("CARGO_BIN_EXE_touchstone")], arguments].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir("/").env("DOCKER_HOST", &self.host).env("TOUCHSTONE_RUN_AS", ACCOUNT);
        command.env("HOME", self.place.path()).env("TOUCHSTONE_DATA_DIR", self.place.data());
        command.env_remove("DATABASE_URL").env_remove("TOUCHSTONE_DATABASE_URL");
        command
    }

    fn run(&self, program: &[&str], arguments: &[&str]) -> (i32, String, String) {
        read(self.command(program, arguments).output().expect("a run"))
    }

    /// Returns the kernel's status of a program that was started after root was dropped.
    fn status(&self) -> Status {
        let folder = self.place.path().display().to_string();
        let (code, stdout, stderr) = self.run(&[], &["confine", &folder, "--", "cat", "/proc/self/status"]);
        assert_eq!(code, 0, "{stderr}");
        Status::parse(&stdout)
    }

    /// Returns the finding of `doctor` about the engine.
    fn engine(&self) -> String {
        let (_, stdout, stderr) = self.run(&[], &["doctor", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
        let findings = report["findings"].as_array().expect("findings");
        let found = findings.iter().find(|finding| finding["what"] == "docker engine").expect("one about the engine");
        found["found"].as_str().expect("a text").to_owned()
    }
}

fn socket(path: &Path, group: u32, mode: u32) -> UnixListener {
    let listener = UnixListener::bind(path).expect("a socket");
    chown(path, None, Some(group)).expect("its group");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
    listener
}

/// The kernel's status of a process, by name.
#[derive(Debug)]
struct Status(BTreeMap<String, String>);

impl Status {
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let words = |words: &str| words.split_whitespace().collect::<Vec<_>>().join(" ");
        Self(lines.map(|(name, text)| (name.to_owned(), words(text))).collect())
    }

    #[track_caller]
    fn require(&self, groups: &str) {
        for (name, expected) in [
            ("Uid", "54321 54321 54321 54321"),
            ("Gid", "54322 54322 54322 54322"),
            ("Groups", groups),
            ("CapInh", "0000000000000000"),
            ("CapPrm", "0000000000000000"),
            ("CapEff", "0000000000000000"),
            ("CapAmb", "0000000000000000"),
            ("NoNewPrivs", "1"),
        ] {
            assert_eq!(self.0.get(name).map(String::as_str), Some(expected), "{name} of {self:?}");
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn exactly_the_group_of_the_socket_is_joined() {
    if !is_root() {
        return left_as_it_is();
    }
    for (group, mode, groups) in [
        (GROUP, 0o660, "45678"),
        (4_000_000_000, 0o770, "4000000000"),
        // As Docker Desktop has it.
        (0, 0o660, "0"),
        // Not needed, or of no use.
        (GROUP, 0o666, ""),
        (54322, 0o660, ""),
        (GROUP, 0o600, ""),
        (0, 0o600, ""),
    ] {
        World::with_socket(group, mode).status().require(groups);
    }
    World::new(|_| None).status().require("");
    World::new(|path| {
        fs::create_dir(path).expect("a folder");
        None
    })
    .status()
    .require("");
    let remote = World { host: "tcp://192.0.2.1:2375".to_owned(), ..World::new(|_| None) };
    remote.status().require("");
}

/// A process that was not started as root keeps its user.
fn left_as_it_is() {
    let status = World::new(|_| None).status();
    let user = rustix::process::getuid().as_raw();
    assert_eq!(status.0["Uid"], [user.to_string(), user.to_string(), user.to_string(), user.to_string()].join(" "));
}

#[test]
fn all_threads_of_a_server_have_left_root_behind() {
    if !is_root() {
        return left_as_it_is();
    }
    let world = World::with_socket(GROUP, 0o660);
    let mut command = world.command(&[], &["serve", "--no-worker", "--listen", "127.0.0.1:0"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("the binary");
    let tasks = PathBuf::from(format!("/proc/{}/task", child.id()));
    let served = Served::of(Started::watch(child));
    let statuses: Vec<_> = fs::read_dir(tasks).expect("threads").filter_map(Result::ok).collect();
    assert!(statuses.len() > 1, "a server has threads");
    for task in statuses {
        let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        if !text.is_empty() {
            Status::parse(&text).require("45678");
        }
    }
    served.process.signal("TERM");
    assert_eq!(served.process.end().0.code(), Some(0));
}

#[test]
fn a_socket_that_is_no_use_is_told_with_what_to_do() {
    if !is_root() {
        return left_as_it_is();
    }
    let shut = World::with_socket(0, 0o600).engine();
    assert!(shut.contains("only the user 0 may use it") && shut.contains("daemon.json"), "{shut}");
    let folder = World::new(|path| {
        fs::create_dir(path).expect("a folder");
        None
    });
    let folder = folder.engine();
    assert!(folder.contains("is a directory, not a socket"), "{folder}");
    let none = World::new(|_| None).engine();
    assert!(none.contains("no Docker engine answers at"), "{none}");
}

#[test]
fn root_that_cannot_be_left_behind_ends_it() {
    if !is_root() {
        return left_as_it_is();
    }
    let world = World::with_socket(GROUP, 0o660);
    for without in [&["--bounding-set=-all"][..], &["--bounding-set=-setuid"], &["--bounding-set=-setgid"]] {
        let program = [&["setpriv", "--inh-caps=-all"], without].concat();
        let (code, stdout, stderr) = world.run(&program, &["doctor"]);
        assert!(code == 4 && stdout.is_empty(), "{without:?}: {stdout}{stderr}");
        assert!(stderr.contains("give the container the capabilities SETUID and SETGID"), "{without:?}: {stderr}");
    }
    // Capabilities that a process was told to keep are given up too.
    let (code, stdout, stderr) = world.run(
        &["setpriv", "--inh-caps=+setuid,+net_admin", "--ambient-caps=+net_admin", "--securebits=+no_setuid_fixup"],
        &["confine", &world.place.path().display().to_string(), "--", "cat", "/proc/self/status"],
    );
    assert_eq!(code, 0, "{stderr}");
    Status::parse(&stdout).require("45678");
}

#[test]
fn an_account_that_is_none_is_a_mistake() {
    let world = World::new(|_| None);
    for wrong in ["root", "0:0", "1000", "1000:0"] {
        let mut command = world.command(&[], &["validate", "specs/hello-world"]);
        let (code, _, stderr) = read(command.env("TOUCHSTONE_RUN_AS", wrong).output().expect("a run"));
        assert!(code == 2 && stderr.contains("TOUCHSTONE_RUN_AS") && stderr.contains("1000:1000"), "{wrong}: {stderr}");
    }
}
