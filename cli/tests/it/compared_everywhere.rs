//! The command line, the API and the pages say the same about the same two runs.

use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::place::Started;
use crate::seeded::{Seeded, minute};
use crate::serving::Served;
use crate::{FOREIGN, read, touchstone};

/// A server without a worker over what is seeded, which lets everybody in.
fn serve(seeded: &Seeded) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
    for foreign in FOREIGN {
        command.env_remove(foreign);
    }
    command.args(["serve", "--no-worker", "--no-auth", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(seeded.path().join("data")).stdout(Stdio::piped()).stderr(Stdio::piped());
    Served::of(Started::watch(command.spawn().expect("the binary")))
}

/// The verdict: whether something regressed, the sentence, and each finding with its words.
fn verdict(said: &Json, findings: &Json) -> Json {
    let finding = |one: &Json| json!([one["change"], one["cell"], one["invariant"], one["chance"], one["why"]]);
    let findings: Vec<_> = findings.as_array().expect("findings").iter().map(finding).collect();
    json!([said["regressed"], said["summary"], findings])
}

/// The verdict of `touchstone compare`, and its exit code.
fn compared((code, stdout, stderr): (i32, String, String)) -> (i32, Json) {
    let said: Json = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    (code, verdict(&said, &said["details"]["findings"]))
}

#[test]
fn every_place_has_the_same_verdict_about_two_runs() {
    let seeded = Seeded::new();
    let english = ["hello"; 6];
    let runs: Vec<_> = [["hello"; 6], ["hello", "hello", "hello", "hello", "hello", "goodbye"], ["goodbye"; 6]]
        .iter()
        .zip(1..)
        .map(|(german, number)| {
            let greetings = [english, *german].concat();
            seeded.replicated(number, 6, &greetings, minute(i64::from(number))).to_string()
        })
        .collect();
    let served = serve(&seeded);
    for (before, now, finds) in
        [(0, 1, "insufficient_evidence"), (0, 2, "regressed"), (1, 2, "regressed"), (2, 0, "improved")]
    {
        let (before, now) = (runs[before].as_str(), runs[now].as_str());
        let arguments = ["compare", before, now, "--format", "json"];
        let (code, local) = compared(seeded.run(&arguments));
        let remote = touchstone(&arguments).env("TOUCHSTONE_URL", &served.url).output().expect("a run");
        assert_eq!(compared(read(remote)), (code, local.clone()), "a server's");
        let body = json!({"baseline_id": before, "candidate_id": now}).to_string();
        let (status, said) = served.ask("", "POST", "/v1/experiments/compare", Some(("application/json", body)));
        assert_eq!((status, verdict(&said, &said["findings"])), (200, local.clone()), "the API's");
        assert_eq!(code == 1, said["regressed"] == true, "the exit code");
        let (status, page) = served.ask("", "GET", &format!("/compare?a={before}&b={now}"), None);
        let (page, sentence) = (page.as_str().expect("a page"), local[1].as_str().expect("a sentence"));
        assert!(status == 200 && page.contains(&format!("<strong>{sentence}</strong>")), "{sentence}: {page}");
        for change in ["regressed", "insufficient evidence", "improved"] {
            let named = change.replace(' ', "_");
            let found = local[2].as_array().expect("findings").iter().filter(|one| one[0] == named).count();
            assert_eq!(page.matches(&format!("</span>{change}</span>")).count(), found, "{change}: {page}");
        }
        assert_eq!(local[2][0][0], finds, "{local:#}");
    }
}
