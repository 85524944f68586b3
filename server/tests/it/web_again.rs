//! Running a scenario again, by what its page offers.

use std::io::Read as _;

use flate2::read::GzDecoder;
use http::Method;
use scenario::result::RowStatus;
use serde_json::json;
use store::{Clock as _, JobId, Lane, NewExperiment, NewJob, NewRun};
use uuid::Uuid;

use crate::bundles::{Tar, WITH_FILE};
use crate::test_app::{ADA, BOB, HELLO, TestApp};
use crate::web_session::Browser;

/// The commands of a page.
fn commands(page: &str) -> Vec<&str> {
    let pieces = page.split("tabindex=\"0\"><code>").skip(1).filter_map(|piece| piece.split("</code>").next());
    pieces.filter(|piece| piece.contains("touchstone ")).collect()
}

#[tokio::test]
async fn a_spec_that_was_only_submitted_is_a_download_that_its_command_runs() {
    let app = TestApp::new().await;
    let body = json!({"spec": HELLO, "agent": "oracle", "seed": 7});
    let id = app.post(ADA, "/v1/runs", body).await.expect(202)["experiment_id"].as_str().expect("an id").to_owned();
    app.finish(RowStatus::Fail).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    let link = format!("<a download=\"hello.yaml\" href=\"/experiments/{id}/spec?run=1\">download hello.yaml</a>");
    assert!(page.contains(&link), "{page}");
    let again = format!("touchstone rerun {id}#1/default-r0");
    let expected = ["touchstone run hello.yaml --seed 7 --agent oracle --filter default-r0", again.as_str()];
    assert_eq!(commands(&page), expected);
    let file = browser.get(&format!("/experiments/{id}/spec?run=1")).await;
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"hello.yaml\"");
    assert_eq!(file.text(), HELLO, "byte for byte");
    assert_eq!(Browser::signed_in(&app, BOB).await.get(&format!("/experiments/{id}/spec")).await.status, 403);
    assert_eq!(browser.get(&format!("/experiments/{id}/spec?run=2")).await.status, 404);
}

#[tokio::test]
async fn a_spec_with_files_is_an_archive_that_is_unpacked_first() {
    let app = TestApp::new().await;
    let archive = Tar::new().file("spec.yaml", WITH_FILE).file("scripts/agent.sh", "#!/bin/sh\n").bytes();
    let kind = [("content-type", "application/x-tar")];
    let begun = app.call(Method::POST, ADA, "/v1/runs", &kind, archive).await.expect(202);
    let id = begun["experiment_id"].as_str().expect("an id").to_owned();
    app.finish(RowStatus::Fail).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    let first = commands(&page)[0].to_owned();
    let unpack = "mkdir -p with-file &amp;&amp; tar -xzf with-file.tar.gz -C with-file\n";
    assert!(first.starts_with(&format!("{unpack}touchstone run with-file/spec.yaml --seed ")), "{first}");
    let file = browser.get(&format!("/experiments/{id}/spec?run=1")).await;
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"with-file.tar.gz\"");
    let mut unpacked = tar::Archive::new(GzDecoder::new(file.expect_raw(200)));
    let mut files = Vec::new();
    for entry in unpacked.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let mut content = String::new();
        entry.read_to_string(&mut content).expect("text");
        let path = entry.path().expect("a path").display().to_string();
        files.push((path, entry.header().mode().expect("a mode"), content));
    }
    let expected = [("spec.yaml", 0o644, WITH_FILE), ("scripts/agent.sh", 0o755, "#!/bin/sh\n")];
    assert_eq!(files, expected.map(|(path, mode, content)| (path.to_owned(), mode, content.to_owned())));
}

#[tokio::test]
async fn an_experiment_of_this_machine_names_the_file_that_was_run() {
    let app = TestApp::new().await;
    let (id, now) = (app.finished(HELLO).await, app.clock.now());
    let old = app.store.experiment(id.parse().expect("an id")).await.expect("an experiment");
    let run = app.store.newest_run(old.id).await.expect("read").expect("a run");
    let scenario = app.store.scenarios(run.id).await.expect("scenarios").remove(0).scenario;
    let new = NewExperiment {
        id: store::ExperimentId(Uuid::from_u128(77)),
        owner: old.owner,
        name: old.name,
        spec: old.spec,
        source: "my specs/hello.yaml".to_owned(),
        seed: old.seed,
        settings: old.settings,
        secrets: None,
    };
    let job = NewJob { id: JobId(Uuid::from_u128(78)), scenario, demand: store::Demand::default(), at_once: None };
    let jobs = NewRun { lane: Lane::Shared, priority: 0, jobs: vec![job] };
    app.store.submit(&new, &jobs, now).await.expect("submitted");
    app.finish(RowStatus::Fail).await;
    let page = Browser::signed_in(&app, ADA).await.get(&format!("/experiments/{}/scenarios/default-r0", new.id)).await;
    let text = page.text();
    let commands = commands(&text);
    assert!(
        commands.len() == 1 && commands[0].starts_with("touchstone run 'my specs/hello.yaml' --seed "),
        "{commands:?}"
    );
}
