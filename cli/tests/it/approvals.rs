//! `touchstone approvals`, in the history of this machine and on a server.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use store::{Clock, NewApproval, RunId};

use crate::place::{Place, THERE, local_spec};
use crate::read;
use crate::serving::Served;

/// A server whose only experiment has calls that wait, and its data directory.
struct World {
    // The server ends before its folder goes.
    served: Served,
    place: Place,
    experiment: String,
}

/// The time of this machine.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "what the binary compares it with is the time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl World {
    fn new() -> Self {
        let place = Place::new("");
        let served = Served::start(&place, &["--no-worker"]);
        let experiment = served.submit(&served.key.clone().expect("a key"), local_spec("touch out", THERE));
        Self { served, place, experiment }
    }

    /// Holds a call for some time; its approval's id.
    fn hold(&self, repetition: u64, left: Duration) -> String {
        let run = RunId { experiment: self.experiment.parse().expect("an id"), number: 1 };
        let now = SystemClock.now();
        let id = format!("ap_{repetition}");
        let new = NewApproval {
            id: id.clone(),
            run,
            scenario: "default-r0".to_owned(),
            session: "main".to_owned(),
            tool: "refund".to_owned(),
            arguments_hash: "sha256:a".to_owned(),
            contract: "sha256:c".to_owned(),
            repetition,
            call: "call_1".to_owned(),
            state_version: 1,
            context: vec![("Amount".to_owned(), json!(120)), ("To".to_owned(), json!("x\u{1b}[2J"))],
            checkpoints: vec!["large_refund".to_owned()],
            reason: "`amount` is above 100".to_owned(),
            deadline: now + left,
            allows_on_timeout: false,
        };
        self.place.store(async |store| store.ask_for_approval(&new, now).await.expect("asked"));
        id
    }

    /// Runs a command on the data directory.
    fn here(&self, arguments: &[&str]) -> (i32, String, String) {
        self.place.run(&[&["approvals"], arguments].concat())
    }

    /// Runs a command on the server.
    fn there(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = crate::touchstone(&[&["approvals"], arguments].concat());
        let key = self.served.key.clone().expect("a key");
        command.env("TOUCHSTONE_URL", &self.served.url).env("TOUCHSTONE_API_KEY", key).env("USER", "ada");
        read(command.output().expect("a run"))
    }
}

/// Runs a command somewhere: its exit code, and what it printed.
type Run = fn(&World, &[&str]) -> (i32, String, String);

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn calls_are_decided_on_here_and_on_a_server_alike() {
    let world = World::new();
    let places: [Run; 2] = [World::here, World::there];
    let empty = world.here(&["list"]);
    assert_eq!(empty, (0, "no call waits for a person\n".to_owned(), String::new()));
    for (number, run) in places.into_iter().enumerate() {
        let (yes, no) = (world.hold(2 * number as u64, LONG), world.hold(2 * number as u64 + 1, LONG));
        let (code, listed, stderr) = run(&world, &["list"]);
        assert!(code == 0 && listed.contains(&yes) && listed.contains(&no), "{listed}{stderr}");
        let (code, shown, _) = run(&world, &["show", &yes]);
        assert!(code == 0 && shown.starts_with(&format!("{yes} pending\n")), "{shown}");
        let (code, said, stderr) = run(&world, &["approve", &yes, "--note", "asked the customer", "--by", "Grace"]);
        assert_eq!(code, 0, "{said}{stderr}");
        let before =
            ["call        refund (call_1)", "  Amount: 120", "  To: x␛[2J", "reason      `amount` is above 100"];
        for part in before {
            let at = said.find(part).unwrap_or_else(|| panic!("{part} is not in {said}"));
            assert!(at < said.find(&format!("{yes} is approved")).expect("the decision"), "{said}");
        }
        let (code, json, _) = run(&world, &["deny", &no, "--by", "Grace", "--format", "json"]);
        let json: Json = serde_json::from_str(&json).expect("JSON");
        assert_eq!((code, &json["status"], &json["by"]), (0, &json!("denied"), &json!("Grace")));
        let (code, _, stderr) = run(&world, &["approve", &no]);
        assert!(code == 2 && stderr.contains("denied already"), "{stderr}");
        let (code, json, _) = run(&world, &["list", "--status", "approved", "--format", "json"]);
        let json: Json = serde_json::from_str(&json).expect("JSON");
        assert_eq!((code, &json[0]["id"], &json[0]["note"]), (0, &json!(yes), &json!("asked the customer")));
        let (code, _, stderr) = run(&world, &["show", "ap_none"]);
        assert!(code == 2 && stderr.contains("there is no approval `ap_none`"), "{stderr}");
    }
    let (_, json, _) = world.here(&["list", "--status", "all", "--format", "json"]);
    let json: Json = serde_json::from_str(&json).expect("JSON");
    let keys: Vec<_> = json.as_array().expect("approvals").iter().map(|one| one["by_key"].clone()).collect();
    assert_eq!(keys.iter().filter(|key| **key == "local").count(), 2, "{keys:?}");
    let (_, there, _) = world.there(&["list", "--status", "all", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Json>(&there).expect("JSON"), json, "both say the same");
}

#[test]
fn nobody_decides_after_the_deadline() {
    let world = World::new();
    let late = world.hold(0, Duration::ZERO);
    for (code, _, stderr) in [world.here(&["approve", &late]), world.there(&["approve", &late])] {
        assert!(code == 2 && stderr.contains("has passed"), "{stderr}");
    }
    let (code, listed, _) = world.here(&["list", "--status", "expired"]);
    assert!(code == 0 && listed.contains(&late) && listed.contains("expired"), "{listed}");
    assert_eq!(world.there(&["list"]).1, "no call waits for a person\n");
}
