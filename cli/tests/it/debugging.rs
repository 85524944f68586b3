//! `shell` and `trace`: looking into what was run.

use serde_json::Value as Json;

use crate::place::{Place, THERE, local_spec};
use crate::{read, run, touchstone};

const MOCK: &str = "services: [{name: api, type: http_mock, record: true, ports: [80], routes: [{method: GET, path: /x, status: 404, response: {ok: false}}]}]";
const AGENT: &str =
    "exec 3<>/dev/tcp/api/80; printf 'GET /x HTTP/1.0\r\nHost: api\r\n\r\n' >&3; cat <&3 >/dev/null; echo left > other";

/// A spec whose agent asks a mock, and does not leave the file that is asked for.
fn asking() -> Place {
    Place::new(&local_spec(&format!("bash -c \"{AGENT}\""), &format!("{MOCK}\n{THERE}")))
}

#[test]
fn a_kept_sandbox_is_entered_by_its_scenario_or_its_name() {
    let place = asking();
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local", "--keep-sandbox", "on-failure"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let name = stderr.split("touchstone shell ").nth(1).and_then(|rest| rest.split('`').next()).expect("a name");
    for sandbox in [&["latest/default-r0"][..], &["latest"], &[name], &[]] {
        let words = [&["shell"], sandbox, &["--data-dir", &place.data().display().to_string(), "--", "cat", "other"]];
        let (code, stdout, stderr) = run(&words.concat());
        assert_eq!((code, stdout.as_str()), (0, "left\n"), "{sandbox:?}: {stderr}");
    }
    let (code, _, stderr) = place.run(&["shell", "latest/nowhere"]);
    assert!(code == 2 && stderr.contains("the run has no scenario `nowhere`"), "{stderr}");
    assert_eq!(place.run(&["sweep", "--kept"]).0, 0);
    let (code, _, stderr) = place.run(&["shell", "latest/default-r0"]);
    assert!(code == 2 && stderr.contains("no sandbox is kept; `touchstone run --keep-sandbox"), "{stderr}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn who_enters_a_sandbox_has_the_agents_variables_and_not_their_own() {
    let more = format!(
        "setup: {{env: {{PLACE: 'north {{{{ params.side }}}}', URL: 'http://u:{{{{ secrets.PASS }}}}@db'}}}}\n\
         secrets: [{{name: PASS, from: 'static://swordfish-7'}}]\nparallelism: {{matrix: {{side: [east]}}}}\n{THERE}"
    );
    let place = Place::new(&local_spec("true", &more));
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local", "--keep-sandbox", "always"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let data = place.data().display().to_string();
    let shell = |words: &[&str]| touchstone(&[&["shell", "--data-dir", &data, "--"], words].concat());
    let (code, printed, stderr) = read(shell(&["env"]).env("OPENAI_API_KEY", "sk-mine").output().expect("ran"));
    assert_eq!(code, 0, "{stderr}");
    assert!(printed.contains("PLACE=north east\n") && printed.contains("TOUCHSTONE_TASK_PROMPT="), "{printed}");
    for hidden in ["sk-mine", "swordfish", "TOUCHSTONE_DATA_DIR"] {
        assert!(!printed.contains(hidden), "{hidden}: {printed}");
    }
    assert_eq!(read(shell(&["sh", "-c", "exit 5"]).output().expect("ran")).0, 5);
    assert_eq!(place.run(&["sweep", "--kept"]).0, 0);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_timeline_has_phases_requests_and_probes() {
    let place = asking();
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let (code, stdout, stderr) = place.run(&["trace", "latest", "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    let trace: Json = serde_json::from_str(&stdout).expect("JSON");
    let moments = trace["timeline"].as_array().expect("moments");
    let find = |kind: &str, what: &str| {
        let wanted = |one: &&Json| one["kind"] == kind && one["what"].as_str().is_some_and(|text| text.contains(what));
        moments.iter().find(wanted).unwrap_or_else(|| panic!("no {kind} {what}: {trace:#}"))
    };
    let number = |moment: &Json, name: &str| moment[name].as_u64().expect("a number");
    let (act, request) = (find("phase", "act"), find("http", "GET api/x 404"));
    let (begin, end) = (number(act, "at_ms"), number(act, "at_ms") + number(act, "duration_ms"));
    assert!((begin..=end + 50).contains(&number(request, "at_ms")) && request["failed"] == true, "{trace:#}");
    assert!(number(find("probe", "there"), "at_ms") >= begin);
    find("phase", "prepare");
    find("phase", "destroy");
    let (code, text, _) = place.run(&["trace", "latest/default-r0"]);
    assert!(code == 0 && text.contains("!http       GET api/x 404") && text.contains("phase    act"), "{text}");
    let (code, _, stderr) = place.run(&["trace", "latest/nowhere"]);
    assert!(code == 2 && stderr.contains("has no scenario"), "{stderr}");
}

#[test]
fn a_timeline_has_requests_to_mocks_that_do_not_record() {
    let (mock, audit) = (MOCK.replace("record: true", "record: false"), "audit: {http_calls: true}");
    let place = Place::new(&local_spec(&format!("bash -c \"{AGENT}\""), &format!("{mock}\n{audit}\n{THERE}")));
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let (code, text, stderr) = place.run(&["trace", "latest"]);
    assert!(code == 0 && text.contains("!http       GET api/x 404"), "{text}{stderr}");
}
