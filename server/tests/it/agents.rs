//! Snapshots of agents: upload, find, remove.

use std::io::Write as _;

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use scenario::result::RowStatus;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::bundle_key;
use tar::{Builder, EntryType, Header};

use crate::test_app::{ADA, ADA_READS, ADMIN, Answer, BOB, HELLO, SANDBOX, TestApp};

const BOUNDARY: &str = "----part";

/// An archive with one file.
fn bundle(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    let mut tar = Builder::new(Vec::new());
    tar.append(&header, content).expect("an archive");
    packed(&tar.into_inner().expect("an archive"))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("an archive");
    encoder.finish().expect("an archive")
}

/// A form as the SDK sends it: `metadata` has no content type.
fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        write!(body, "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"").expect("an archive");
        if *name == "bundle" {
            write!(body, "; filename=\"codex.tar.gz\"\r\nContent-Type: application/gzip").expect("an archive");
        }
        write!(body, "\r\n\r\n").expect("an archive");
        body.extend_from_slice(content);
        write!(body, "\r\n").expect("an archive");
    }
    write!(body, "--{BOUNDARY}--\r\n").expect("an archive");
    body
}

async fn send(app: &TestApp, key: &str, body: impl Into<Body>) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    app.call(Method::POST, key, "/v1/agents", &[("content-type", &kind)], body).await
}

async fn upload(app: &TestApp, key: &str, metadata: &Value, bundle: &[u8]) -> Answer {
    send(app, key, form(&[("metadata", metadata.to_string().as_bytes()), ("bundle", bundle)])).await
}

fn codex() -> Value {
    json!({"name": "codex", "entrypoint": ["python3", "agent.py"], "runtime": "python3", "tag": "stable"})
}

#[tokio::test]
async fn a_snapshot_is_uploaded_with_its_digest_and_the_next_version() {
    let app = TestApp::new().await;
    let archive = bundle("agent.py", b"print('hi')");
    let made = upload(&app, ADA, &codex(), &archive).await.expect(201);
    let hex: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(made["id"].as_str().unwrap().starts_with("snap_"), "{made}");
    assert_eq!((&made["version"], &made["digest"]), (&json!(1), &json!(format!("sha256:{hex}"))));
    assert_eq!((&made["size_bytes"], &made["tag"]), (&json!(archive.len()), &json!("stable")));
    assert_eq!(made["auth"], json!({"required_env": [], "config_files": [], "egress": {}}));
    assert_eq!(made["entrypoint"], json!(["python3", "agent.py"]));
    let kept = app.store.artifacts().get(&bundle_key(made["digest"].as_str().unwrap())).await.unwrap();
    assert_eq!(kept, archive);
    let auth = json!({"required_env": ["KEY"], "config_files": [{"path": "c", "template": "t"}], "egress": {"api": ["x.com"]}});
    let second = json!({"name": "codex", "entrypoint": ["./run"], "auth": auth});
    let second = upload(&app, ADA, &second, &archive).await.expect(201);
    assert_eq!((&second["version"], &second["auth"]), (&json!(2), &auth));
}

#[tokio::test]
async fn snapshots_are_found_by_name_version_tag_and_id() {
    let app = TestApp::new().await;
    let archive = bundle("agent.py", b"hi");
    let first = upload(&app, ADA, &codex(), &archive).await.expect(201);
    let second = upload(&app, ADA, &json!({"name": "codex", "entrypoint": ["a"]}), &archive).await.expect(201);
    let other = upload(&app, ADA, &json!({"name": "aider", "entrypoint": ["a"]}), &archive).await.expect(201);
    assert_eq!(app.get(ADA_READS, "/v1/agents/codex/latest").await.expect(200), second);
    assert_eq!(app.get(ADA, "/v1/agents/codex/versions/1").await.expect(200), first);
    assert_eq!(app.get(ADA, "/v1/agents/codex/tags/stable").await.expect(200), first);
    let id = first["id"].as_str().unwrap();
    assert_eq!(app.get(ADA, &format!("/v1/snapshots/{id}")).await.expect(200), first);
    let list = app.get(ADA, "/v1/agents?limit=100").await.expect(200);
    assert_eq!((&list["items"], &list["agents"]), (&json!([other, second]), &json!([other, second])));
    assert_eq!((&list["next_cursor"], &list["count"]), (&json!(""), &json!(2)));
    let part = app.get(ADA, "/v1/agents?limit=1").await.expect(200);
    let next = app.get(ADA, &format!("/v1/agents?limit=1&cursor={}", part["next_cursor"].as_str().unwrap())).await;
    assert_eq!(next.expect(200)["items"], json!([second]));
    let versions = app.get(ADA, "/v1/agents/codex/versions?limit=10").await.expect(200);
    assert_eq!(versions["items"], json!([second, first]));
    app.get(ADA, "/v1/agents/codex/versions/9").await.refused(404);
    app.get(ADA, "/v1/agents/codex/versions/last").await.refused(400);
    app.get(ADA, "/v1/agents/codex/tags/missing").await.refused(404);
    app.get(ADA, "/v1/agents/missing/latest").await.refused(404);
    app.delete(ADA, &format!("/v1/snapshots/{id}")).await.expect(204);
    app.get(ADA, &format!("/v1/snapshots/{id}")).await.refused(404);
    app.delete(ADA, &format!("/v1/snapshots/{id}")).await.refused(404);
}

#[tokio::test]
async fn owners_see_their_own_agents() {
    let app = TestApp::new().await;
    let made = upload(&app, ADA, &codex(), &bundle("a", b"hi")).await.expect(201);
    let path = format!("/v1/snapshots/{}", made["id"].as_str().unwrap());
    app.get(BOB, &path).await.refused(403);
    app.delete(BOB, &path).await.refused(403);
    app.delete(ADA_READS, &path).await.refused(403);
    app.get(SANDBOX, &path).await.refused(403);
    app.get(BOB, "/v1/agents/codex/latest").await.refused(404);
    app.get(BOB, "/v1/agents/codex/latest?owner=ada").await.refused(403);
    app.get(ADMIN, "/v1/agents/codex/latest?owner=ada").await.expect(200);
    assert_eq!(app.get(BOB, "/v1/agents").await.expect(200)["count"], 0);
    assert_eq!(app.get(ADMIN, "/v1/agents").await.expect(200)["count"], 1);
    let same = upload(&app, BOB, &codex(), &bundle("a", b"hi")).await.expect(201);
    assert_eq!(same["version"], 1);
    upload(&app, ADA_READS, &codex(), &bundle("a", b"hi")).await.refused(403);
    upload(&app, "", &codex(), &bundle("a", b"hi")).await.refused(401);
    upload(&app, SANDBOX, &codex(), &bundle("a", b"hi")).await.refused(403);
}

#[tokio::test]
async fn metadata_that_cannot_be_is_refused() {
    let app = TestApp::new().await;
    let archive = bundle("a", b"hi");
    for (metadata, words) in [
        (json!({"entrypoint": ["a"]}), "name"),
        (json!({"name": "../x", "entrypoint": ["a"]}), "name"),
        (json!({"name": "a/b", "entrypoint": ["a"]}), "name"),
        (json!({"name": "x", "entrypoint": []}), "entrypoint"),
        (json!({"name": "x", "entrypoint": ["a\0"]}), "entrypoint"),
        (json!({"name": "x", "entrypoint": "a"}), "entrypoint"),
        (json!({"name": "x", "entrypoint": ["a"], "tag": "a b"}), "tag"),
        (json!({"name": "x", "entrypoint": ["a"], "auth": {"required_env": "KEY"}}), "auth"),
        (json!([]), "not as expected"),
    ] {
        let refused = upload(&app, ADA, &metadata, &archive).await.refused(400);
        assert!(refused.contains(words), "{metadata}: {refused}");
    }
    assert_eq!(app.get(ADA, "/v1/agents").await.expect(200)["count"], 0);
}

#[tokio::test]
async fn archives_with_tricks_are_refused() {
    let app = TestApp::new().await;
    for (archive, words) in [
        (bundle("../../etc/passwd", b"x"), "no path below"),
        (bundle("/etc/passwd", b"x"), "no path below"),
        (b"PK\x03\x04".to_vec(), "no tar archive"),
        (Vec::new(), "no tar archive"),
        (packed(b"no tar"), "no tar archive"),
        (packed(b""), "no file"),
    ] {
        let refused = upload(&app, ADA, &codex(), &archive).await.refused(400);
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(app.store.artifacts().list("snapshots").await.unwrap(), []);
}

#[tokio::test]
async fn malformed_forms_are_refused() {
    let app = TestApp::new().await;
    let metadata = codex().to_string();
    let (metadata, archive) = (metadata.as_bytes(), bundle("a", b"hi"));
    let whole = form(&[("metadata", metadata), ("bundle", &archive)]);
    for (body, words) in [
        (form(&[("metadata", metadata)]), "`bundle` is missing"),
        (form(&[("bundle", &archive)]), "`metadata` is missing"),
        (form(&[("metadata", metadata), ("metadata", metadata), ("bundle", &archive)]), "`metadata` is not expected"),
        (form(&[("metadata", metadata), ("bundle", &archive), ("extra", b"x")]), "`extra` is not expected"),
        (whole[..whole.len() - 30].to_vec(), "cannot be read"),
        (b"nonsense".to_vec(), "cannot be read"),
        (Vec::new(), "cannot be read"),
        (form(&[("metadata", b"{"), ("bundle", &archive)]), "not as expected"),
    ] {
        let refused = send(&app, ADA, body).await.refused(400);
        assert!(refused.contains(words), "{refused}");
    }
    app.post(ADA, "/v1/agents", json!({})).await.refused(415);
    app.call(Method::POST, ADA, "/v1/agents", &[("content-type", "multipart/form-data")], whole).await.refused(400);
    let large = vec![b' '; 300 * 1024];
    send(&app, ADA, form(&[("metadata", &large), ("bundle", &archive)])).await.refused(413);
}

#[tokio::test]
async fn an_archive_that_is_too_large_is_refused() {
    let app = TestApp::with(|config| config.upload_bytes = 1000).await;
    upload(&app, ADA, &codex(), &bundle("a", b"hi")).await.expect(201);
    upload(&app, ADA, &codex(), &[7; 1001]).await.refused(413);
    upload(&app, ADA, &codex(), &vec![7; 1 << 20]).await.refused(413);
}

#[tokio::test]
async fn a_run_keeps_the_version_that_it_was_submitted_with() {
    let app = TestApp::new().await;
    let spec = HELLO.replace("{type: noop}", "{type: snapshot, snapshot: codex}");
    assert!(spec.contains("snapshot: codex"), "{spec}");
    let submit = async || {
        let body = json!({ "spec": spec });
        app.post(ADA, "/v1/runs", body).await
    };
    let message = submit().await.refused(400);
    assert!(message.contains("the agent `codex` is not there; upload it"), "{message}");
    let version = async |content: &[u8]| {
        let uploaded =
            upload(&app, ADA, &json!({"name": "codex", "entrypoint": ["agent.py"]}), &bundle("agent.py", content))
                .await;
        uploaded.expect(201)["id"].as_str().expect("an id").to_owned()
    };
    let acting = async || {
        let held = app.claim().await.expect("a job");
        app.complete(&held, RowStatus::Pass).await;
        held.scenario.snapshot
    };
    let first = version(b"one").await;
    let submitted = submit().await.expect(202);
    let path = format!("/v1/experiments/{}", submitted["id"].as_str().expect("an id"));
    let second = version(b"two").await;
    assert_eq!(acting().await.as_ref(), Some(&first), "what comes later changes nothing");
    app.post_empty(ADA, &format!("{path}/rerun")).await.expect(202);
    assert_eq!(acting().await.as_ref(), Some(&first), "the same once more");
    app.post_empty(ADA, &format!("{path}/run")).await.expect(202);
    assert_eq!(acting().await.as_ref(), Some(&second), "a new run has what is new");
    let other = app.post(ADA, "/v1/runs", json!({ "spec": spec, "agent": "noop" })).await;
    other.expect(202);
    assert_eq!(acting().await, None);
}
