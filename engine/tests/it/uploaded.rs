//! Agents that were uploaded.

use std::io::Write as _;
use std::sync::Arc;

use engine::error::EngineError;
use engine::uploaded::{ConfigFile, SnapshotFiles};
use flate2::Compression;
use flate2::write::GzEncoder;
use scenario::result::RowStatus;
use tokio_util::sync::CancellationToken;

use crate::harness::Harness;

const SPEC: &str = "
version: 1
id: test
base: touchstone/debian:bookworm
task: {prompt: say it}
agent: {type: snapshot, snapshot: greeter, env: {TONE: kind}, timeout: 60s}
secrets: [{name: API_KEY, from: 'static://s3cr3t-s3cr3t'}]
invariants:
  said: {description: x, check: {type: file_content, path: out.txt, contains: 'say it in /workspace, kind'}}
  still: {description: x, check: {type: command_exit, command: 'test -x /opt/agent/run.sh'}}
";

const RUN: &str = "#!/bin/sh
. \"$(dirname \"$0\")/lib/words.sh\"
cat \"$KEYSTONE_AGENT_DIR/settings.ini\" > settings.txt
words \"$(cat)\" > out.txt
";

fn archive(files: &[(&str, &str, u32)]) -> Arc<[u8]> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(*mode);
        builder.append_data(&mut header, path, content.as_bytes()).expect("an entry");
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&builder.into_inner().expect("an archive")).expect("bytes");
    encoder.finish().expect("an archive").into()
}

fn greeter() -> SnapshotFiles {
    let words = "words() { echo \"$1 in $PWD, $TONE\"; }\n";
    let path = "settings.ini".to_owned();
    SnapshotFiles {
        id: "snap_1".to_owned(),
        name: "greeter".to_owned(),
        version: 3,
        digest: "sha256:abc".to_owned(),
        archive: archive(&[("run.sh", RUN, 0o755), ("lib/words.sh", words, 0o644)]),
        entrypoint: vec!["./run.sh".to_owned()],
        runtime: "sh".to_owned(),
        required_env: vec!["API_KEY".to_owned()],
        config_files: vec![ConfigFile { path, template: "key=${API_KEY} same={{ secrets.API_KEY }}\n".to_owned() }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_agent_acts_in_the_workspace_and_its_files_are_no_change_of_the_image() {
    let mut harness = Harness::docker().await;
    harness.secrets.insert("API_KEY".to_owned(), "s3cr3t-s3cr3t".to_owned());
    harness.snapshot = Some(greeter());
    let (result, evidence) = harness.run(SPEC).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?} {evidence:#?}");
    assert_eq!(evidence.image_changes, [""; 0]);
    let used = evidence.world.snapshot.expect("a snapshot");
    assert_eq!((used.name.as_str(), used.version, used.digest.as_str()), ("greeter", 3, "sha256:abc"));
    let session = harness.open(SPEC, &CancellationToken::new()).await.expect("a session");
    let reply =
        session.command("cat $KEYSTONE_AGENT_DIR/settings.ini; run.sh </dev/null; cat out.txt", None, false).await;
    let said = reply.expect("a reply").stdout;
    assert!(said.starts_with("key=[redacted:API_KEY") && said.ends_with(" in /workspace, kind\n"), "{said}");
    session.destroy().await.expect("its end");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_uploaded_agent_lacks_is_said() {
    let mut harness = Harness::docker().await;
    let refused = async |harness: &Harness, word: &str| {
        let error = harness.try_run(SPEC, &CancellationToken::new()).await.expect_err("an error");
        assert!(!error.is_retryable() && error.to_string().contains(word), "{error}");
        harness.assert_nothing_is_left();
        error
    };
    let error = refused(&harness, "needs a server that holds the snapshot").await;
    assert!(matches!(error, EngineError::Unsupported { .. }));
    harness.snapshot = Some(greeter());
    refused(&harness, "needs the variable `API_KEY`").await;
    harness.secrets.insert("API_KEY".to_owned(), "x".to_owned());
    harness.snapshot = Some(SnapshotFiles { archive: b"no archive".as_slice().into(), ..greeter() });
    refused(&harness, "the archive of the agent `greeter`: it cannot be read").await;
}
