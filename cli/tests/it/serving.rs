//! `serve`, `worker` and `key`: a server as a person starts it.

use std::fs;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::place::{Place, Started, THERE, spec};
use crate::run;

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that was started.
pub(crate) struct Served {
    pub(crate) process: Started,
    pub(crate) url: String,
    /// The key that it showed.
    pub(crate) key: Option<String>,
}

impl Served {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let anywhere = if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        Self::of(place.begin(&[&["serve", "--no-pull"], anywhere, arguments].concat()))
    }

    /// Waits until a process that was started serves.
    pub(crate) fn of(mut process: Started) -> Self {
        assert!(process.wait_for("touchstone: serving on "), "{}", process.told);
        let told = process.told.clone();
        let word = |start: &str| {
            let rest = told.lines().find_map(|line| line.split_once(start))?.1;
            Some(rest.split_whitespace().next()?.to_owned())
        };
        let (url, key) = (word("serving on ").expect("a URL"), word("TOUCHSTONE_API_KEY="));
        Self { process, url, key }
    }

    /// Asks the server; the status and what it says.
    pub(crate) fn ask(&self, key: &str, method: &str, path: &str, body: Option<(&str, String)>) -> (u16, Json) {
        ask(&self.url, key, method, path, body)
    }

    /// Submits a spec, and runs it; the experiment's id.
    pub(crate) fn submit(&self, key: &str, spec: String) -> String {
        let (status, said) = self.ask(key, "POST", "/v1/specs", Some(("application/x-yaml", spec)));
        assert_eq!(status, 201, "{said}");
        let wanted = json!({ "name": "a test", "spec_id": said["id"] }).to_string();
        let (status, said) = self.ask(key, "POST", "/v1/experiments", Some(("application/json", wanted)));
        assert_eq!(status, 201, "{said}");
        let id = said["id"].as_str().expect("an id").to_owned();
        let (status, said) = self.ask(key, "POST", &format!("/v1/experiments/{id}/run"), None);
        assert_eq!(status, 202, "{said}");
        id
    }

    /// Waits until all scenarios of an experiment have ended.
    fn results(&self, key: &str, id: &str) -> Json {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (status, said) = self.ask(key, "GET", &format!("/v1/experiments/{id}"), None);
            assert_eq!(status, 200, "{said}");
            let number = |name: &str| said[name].as_u64().expect("a number");
            if number("passed") + number("failed") + number("flaky") + number("errors") >= number("total_scenarios") {
                return said;
            }
            assert!(Instant::now() < deadline, "{said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn ask(url: &str, key: &str, method: &str, path: &str, body: Option<(&str, String)>) -> (u16, Json) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
        let mut request = client.request(method.parse().expect("a method"), format!("{url}{path}"));
        if !key.is_empty() {
            request = request.bearer_auth(key);
        }
        if let Some((kind, body)) = body {
            request = request.header("content-type", kind).body(body);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Json::String(text)))
    })
}

#[test]
fn the_first_start_shows_a_key_and_later_ones_do_not() {
    let place = Place::new("");
    let first = Served::start(&place, &["--no-worker"]);
    let key = first.key.clone().expect("a key");
    assert!(key.len() == "ts_live_".len() + 43 && first.process.told.contains("will not be shown again"));
    assert_eq!(first.ask(&key, "GET", "/v1/specs", None).0, 200);
    assert_eq!(first.ask("", "GET", "/v1/specs", None).0, 401);
    first.process.signal("TERM");
    let (status, told) = first.process.end();
    assert_eq!(status.code(), Some(0), "{told}");
    let second = Served::start(&place, &["--no-worker"]);
    assert_eq!(second.key, None, "{}", second.process.told);
    assert_eq!(second.ask(&key, "GET", "/v1/specs", None).0, 200);
}

#[test]
fn a_port_that_is_taken_is_told_with_what_to_do() {
    let place = Place::new("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, _, stderr) = place.run(&["serve", "--no-worker", "--listen", &address]);
    assert!(code == 4 && stderr.contains("another program listens there"), "{stderr}");
}

#[test]
fn only_a_server_on_loopback_goes_without_keys() {
    let place = Place::new("");
    let (code, _, stderr) = place.run(&["serve", "--no-auth", "--no-worker", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(stderr, @"touchstone: --no-auth lets everybody who reaches 0.0.0.0:0 run commands on this machine; it is only for 127.0.0.1 and ::1: leave it away, and make keys with `touchstone key create`");
    let open = Served::start(&place, &["--no-auth", "--no-worker"]);
    assert_eq!((open.key.as_deref(), open.ask("", "GET", "/v1/specs", None).0), (None, 200));
}

#[test]
fn a_submitted_spec_is_run_to_its_end() {
    let place = Place::new("");
    let served = Served::start(&place, &[]);
    assert!(served.process.told.contains("worker with"), "{}", served.process.told);
    let key = served.key.clone().expect("a key");
    let id = served.submit(&key, spec("touch out", THERE));
    let results = served.results(&key, &id);
    assert_eq!((results["passed"].as_u64(), results["total_scenarios"].as_u64()), (Some(1), Some(1)), "{results}");
    served.process.signal("TERM");
    assert_eq!(served.process.end().0.code(), Some(0));
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_server_that_is_asked_to_end_lets_scenarios_end_first() {
    let place = Place::new("");
    let mut served = Served::start(&place, &[]);
    let key = served.key.clone().expect("a key");
    let id = served.submit(&key, spec("sleep 3; touch out", THERE));
    wait_for_sandbox(&place);
    served.process.signal("TERM");
    assert!(served.process.wait_for("ending: what is being run"), "{}", served.process.told);
    let (status, told) = served.process.end();
    assert!(status.code() == Some(0) && told.contains(&format!("{id}/default-r0: pass")), "{told}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn what_takes_too_long_is_given_back_and_done_after_the_next_start() {
    let place = Place::new("");
    let served = Served::start(&place, &["--drain-for", "100ms"]);
    let key = served.key.clone().expect("a key");
    let id = served.submit(&key, spec("sleep 4; touch out", THERE));
    wait_for_sandbox(&place);
    served.process.signal("TERM");
    let (status, told) = served.process.end();
    assert!(status.code() == Some(0) && told.contains("given back"), "{told}");
    assert_eq!(place.left(), Vec::<String>::new());
    let again = Served::start(&place, &[]);
    assert_eq!(again.results(&key, &id)["passed"].as_u64(), Some(1));
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_next_start_cleans_up() {
    let place = Place::new("");
    let mut served = Served::start(&place, &["--lease", "1s"]);
    let key = served.key.clone().expect("a key");
    let id = served.submit(&key, spec("sleep 5; touch out", THERE));
    wait_for_sandbox(&place);
    served.process.signal("TERM");
    assert!(served.process.wait_for("ending: "), "{}", served.process.told);
    // Signals of the first second are the first one again.
    let (status, told) = served.process.signal_until_it_ends("TERM");
    assert_eq!(status.code(), Some(130), "{told}");
    let again = Served::start(&place, &["--lease", "1s"]);
    assert_eq!(again.results(&key, &id)["passed"].as_u64(), Some(1));
    again.process.signal("TERM");
    assert_eq!(again.process.end().0.code(), Some(0));
    assert_eq!(place.left(), Vec::<String>::new());
}

/// Waits until a sandbox exists.
fn wait_for_sandbox(place: &Place) {
    let deadline = Instant::now() + PATIENCE;
    while !place.left().iter().any(|thing| thing.starts_with("container")) {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_worker_of_its_own_shares_the_database_of_its_machine() {
    let place = Place::new("");
    let served = Served::start(&place, &["--no-worker"]);
    let key = served.key.clone().expect("a key");
    let mut worker = place.begin(&["worker", "--no-pull", "--control-listen", "127.0.0.1:0"]);
    assert!(worker.wait_for("touchstone: working with "), "{}", worker.told);
    let id = served.submit(&key, spec("touch out", THERE));
    assert_eq!(served.results(&key, &id)["passed"].as_u64(), Some(1));
    let sandbox = json!({ "spec_id": "trial", "timeout": "5m" }).to_string();
    let (status, said) = served.ask(&key, "POST", "/v1/sandboxes", Some(("application/json", sandbox)));
    assert_eq!(status, 201, "{said}");
    let path = format!("/v1/sandboxes/{}", said["id"].as_str().expect("an id"));
    let deadline = Instant::now() + PATIENCE;
    while served.ask(&key, "GET", &path, None).1["state"] == "creating" {
        assert!(Instant::now() < deadline, "{}", worker.told);
        std::thread::sleep(Duration::from_millis(100));
    }
    let command = json!({ "command": "echo by hand" }).to_string();
    let (status, said) = served.ask(&key, "POST", &format!("{path}/commands"), Some(("application/json", command)));
    assert_eq!((status, said["stdout"].as_str()), (200, Some("by hand\n")), "{said}");
    assert_eq!(served.ask(&key, "DELETE", &path, None).0, 204);
    worker.signal("TERM");
    assert_eq!(worker.end().0.code(), Some(0));
    served.process.signal("TERM");
    assert_eq!(served.process.end().0.code(), Some(0));
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_worker_without_a_database_says_what_it_needs() {
    let place = Place::new("");
    let (code, _, stderr) = place.run(&["worker"]);
    assert!(code == 2 && stderr.contains("several machines need Postgres"), "{stderr}");
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let place = Place::new("");
    let (code, key, stderr) = place.run(&["key", "create", "--owner", "team", "--name", "ci", "--scope", "read"]);
    assert!(code == 0 && stderr.contains("will not be shown again"), "{stderr}");
    let (_, made, _) = place.run(&["key", "create", "--format", "json"]);
    let made: Json = serde_json::from_str(&made).expect("JSON");
    assert_eq!((made["owner"].as_str(), made["scope"].as_str()), (Some("default"), Some("submit")));
    let (_, listed, _) = place.run(&["key", "list", "--format", "json"]);
    assert!(!listed.contains(key.trim()) && !listed.contains("hash"), "{listed}");
    let listed: Json = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(2));

    let served = Served::start(&place, &["--no-worker"]);
    assert_eq!(served.key, None, "there are keys already");
    let reader = key.trim();
    assert_eq!(served.ask(reader, "GET", "/v1/specs", None).0, 200);
    let spec = Some(("application/x-yaml", spec("touch out", THERE)));
    assert_eq!(served.ask(reader, "POST", "/v1/specs", spec).0, 403);
    let id = listed.as_array().into_iter().flatten().find(|key| key["owner"] == "team").expect("the key")["id"].clone();
    let id = id.as_str().expect("an id");
    assert_eq!(place.run(&["key", "revoke", id]).0, 0);
    let deadline = Instant::now() + PATIENCE;
    while served.ask(reader, "GET", "/v1/specs", None).0 != 401 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(100));
    }
    let (code, _, stderr) = place.run(&["key", "revoke", id]);
    assert!(code == 2 && stderr.contains("no valid key"), "{stderr}");
    assert_eq!(place.run(&["key", "create", "--owner", "no spaces"]).0, 2);
}

#[test]
fn a_database_is_used_with_one_secret_key_only() {
    let place = Place::new("");
    drop(Served::start(&place, &["--no-worker"]));
    let other = place.path().join("other.key");
    fs::write(&other, "ab".repeat(32)).expect("written");
    let other = other.display().to_string();
    let (code, _, stderr) =
        place.run(&["serve", "--no-worker", "--listen", "127.0.0.1:0", "--secret-key-file", &other]);
    assert!(code == 2 && stderr.contains("another secret key"), "{stderr}");
}

#[test]
fn a_file_configures_and_the_environment_and_the_line_go_before_it() {
    let place = Place::new("");
    let config = place.path().join("touchstone.toml");
    fs::write(&config, "no-worker = true\n[serve]\nlisten = \"127.0.0.1:0\"\nmax-streams = 1\n").expect("written");
    let config = config.display().to_string();
    let mut process = place.begin(&["serve", "--config", &config]);
    assert!(process.wait_for("no worker"), "{}", process.told);
    fs::write(&config, "[serve]\nlistn = \"127.0.0.1:0\"\n").expect("written");
    let (code, _, stderr) = place.run(&["serve", "--config", &config]);
    assert!(code == 2 && stderr.contains("did you mean `listen`?"), "{stderr}");
    fs::write(&config, "listen = \"0.0.0.0:0\"\n").expect("written");
    let refused = place.run(&["serve", "--config", &config, "--no-auth"]);
    assert!(refused.0 == 2 && refused.2.contains("0.0.0.0:0"), "{}", refused.2);
    // The line goes before the file.
    let open = Served::start(&place, &["--config", &config, "--no-auth", "--no-worker"]);
    assert!(open.url.starts_with("http://127.0.0.1:"), "{}", open.url);
}

#[test]
fn everything_that_can_be_configured_is_documented() {
    let (code, stdout, _) = run(&["config", "--markdown"]);
    assert_eq!(code, 0);
    for key in ["`listen`", "`database-url`", "`keep-for`", "`control-listen`", "`TOUCHSTONE_NO_WORKER`"] {
        assert!(stdout.contains(key), "{key}");
    }
}
