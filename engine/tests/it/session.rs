//! Sandboxes that somebody works in.

use std::time::Duration;

use engine::error::EngineError;
use engine::session::Session;
use scenario::interactive::{Ask, CommandReply, FileBytes, Refusal, RefusalKind, Reply, TIMED_OUT};
use tokio_util::sync::CancellationToken;

use crate::harness::Harness;

/// A spec without an agent.
const SPEC: &str = "
version: 1
id: test
base: touchstone/debian:bookworm
task: {prompt: look around}
secrets: [{name: KEY, from: 'static://hunter2-hunter2'}]
services:
  - {name: mail, type: http_mock, routes: [{path: /, response: {body: hello}}]}
setup: {files: [{path: /workspace/given.txt, content: given}, {path: /workspace/old.txt, content: old}]}
invariants: {x: {description: x, check: {type: file_exists, path: x}}}
";

async fn open(harness: &mut Harness) -> Session {
    harness.secrets.insert("KEY".to_owned(), "hunter2-hunter2".to_owned());
    harness.open(SPEC, &CancellationToken::new()).await.expect("a session")
}

async fn run(session: &Session, line: &str) -> CommandReply {
    session.command(line, None, false).await.expect("a reply")
}

fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>, kind: RefusalKind, word: &str) {
    let refusal = result.expect_err("a refusal");
    assert_eq!(refusal.kind, kind, "{refusal:?}");
    assert!(refusal.message.contains(word), "{refusal:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_where_and_as_the_agent_would() {
    let mut harness = Harness::docker().await;
    let session = open(&mut harness).await;
    let reply = run(&session, "pwd; id -u; cat given.txt; echo \"$KEYSTONE_SANDBOX_ID\"; echo oops >&2; exit 3").await;
    assert_eq!(reply.stdout, "/workspace\n0\ngivensb-0123456789ab\n");
    assert_eq!((reply.stderr.as_str(), reply.exit_code, reply.truncated, reply.timed_out), ("oops\n", 3, false, false));
    assert_eq!(run(&session, "kill -9 $$").await.exit_code, 137);
    let mail = "exec 3<>/dev/tcp/mail/80; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -1 <&3";
    assert_eq!(run(&session, &format!("bash -c \"{mail}\"")).await.stdout, "{\"body\":\"hello\"}");
    let service = &session.services()["mail"];
    assert_eq!((service.host.as_str(), service.port, service.ready), ("mail.services.internal", 80, true));
    refused(session.command("  ", None, false).await, RefusalKind::Invalid, "words");
    session.destroy().await.expect("its end");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_ended_in_time_and_one_in_the_background_is_left_alone() {
    let mut harness = Harness::docker().await;
    let session = open(&mut harness).await;
    let line = "echo begun; (sleep 1000; echo child) & sleep 1001";
    let reply = session.command(line, Some(Duration::from_millis(500)), false).await.expect("a reply");
    assert_eq!((reply.stdout.as_str(), reply.exit_code, reply.timed_out), ("begun\n", TIMED_OUT, true));
    let reply = session.command("exec sleep 1002", None, true).await.expect("a reply");
    let pid: u32 = reply.stdout.trim().parse().expect("a process");
    let state = session.state().await.expect("a state");
    let running: Vec<_> = state.processes.iter().map(|process| (process.pid, process.command.as_str())).collect();
    assert_eq!(running, [(pid, "sleep 1002")], "the group of the first one is gone");
    let long = run(&session, "yes | head -c 5000000; echo end").await;
    assert!(long.truncated && long.stdout.len() < 1_100_000 && long.stdout.ends_with("end\n"));
    let many = (0..17).map(|_| session.command("sleep 2", None, false));
    let replies = futures::future::join_all(many).await;
    let busy = replies.into_iter().filter_map(Result::err).map(|refusal| refusal.kind);
    assert_eq!(busy.collect::<Vec<_>>(), [RefusalKind::Busy]);
    session.destroy().await.expect("its end");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_written_and_removed_anywhere_and_paths_of_the_workspace_stay_in_it() {
    let mut harness = Harness::docker().await;
    let session = open(&mut harness).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    for path in ["a/b/data.bin", "/srv/deep/data.bin"] {
        session.write(path, bytes.clone()).await.expect("written");
        assert_eq!(session.read(path).await.expect("read"), FileBytes(bytes.clone()));
    }
    assert_eq!(
        run(&session, "cmp a/b/data.bin /srv/deep/data.bin && stat -c %a:%u a/b/data.bin").await.stdout,
        "644:0\n"
    );
    run(&session, "ln -s /etc out; ln -s /etc/hostname host; mkfifo pipe; chmod 000 given.txt").await;
    refused(session.read("absent").await, RefusalKind::NotFound, "no such file");
    refused(session.read("out/passwd").await, RefusalKind::Invalid, "leads out of `/workspace`");
    refused(session.read("../etc/passwd").await, RefusalKind::Invalid, "leads out");
    refused(session.write("out/evil", vec![1]).await, RefusalKind::Invalid, "leads out");
    refused(session.remove("out/passwd").await, RefusalKind::Invalid, "leads out");
    refused(session.read("pipe").await, RefusalKind::Invalid, "");
    refused(session.read("a").await, RefusalKind::Invalid, "directory");
    refused(session.read("/").await, RefusalKind::Invalid, "name");
    let other = session.command("exec sleep 1000", None, true).await.expect("a reply").stdout;
    refused(session.read(&format!("/proc/{}/mem", other.trim())).await, RefusalKind::Denied, "permission denied");
    refused(session.write("/sys/kernel/x", vec![1]).await, RefusalKind::Denied, "");
    refused(session.write("big", vec![0; (16 << 20) + 1]).await, RefusalKind::TooLarge, "16 MiB");
    assert_eq!(session.read("/workspace/host").await.map(|bytes| bytes.0.is_empty()), Ok(false), "absolute: anywhere");
    assert_eq!(session.read("given.txt").await, Ok(FileBytes(b"given".to_vec())), "it is the owner who asks");
    run(&session, "head -c 16777217 /dev/zero > /tmp/big").await;
    refused(session.read("/tmp/big").await, RefusalKind::TooLarge, "16 MiB");
    session.remove("a").await.expect("removed");
    refused(session.remove("a").await, RefusalKind::NotFound, "no such file");
    session.remove("/srv/deep").await.expect("removed");
    assert_eq!(run(&session, "ls; ls /srv").await.stdout, "given.txt\nhost\nold.txt\nout\npipe\n");
    session.destroy().await.expect("its end");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_seen_what_is_there_and_what_changed_and_no_secret_comes_out() {
    let mut harness = Harness::docker().await;
    let session = open(&mut harness).await;
    assert_eq!(session.diff().await.expect("a diff").added, [""; 0]);
    run(&session, "printf $KEY > key.txt; rm old.txt; echo more >> given.txt; chmod 755 given.txt").await;
    let diff = session.diff().await.expect("a diff");
    assert_eq!(
        (diff.added, diff.removed, diff.modified),
        (vec!["key.txt".to_owned()], vec!["old.txt".to_owned()], vec!["given.txt".to_owned()],)
    );
    let state = session.state().await.expect("a state");
    let given = &state.files["given.txt"];
    let digest = run(&session, "sha256sum given.txt").await.stdout;
    assert_eq!((given.size, given.mode.as_str()), (10, "0755"));
    assert_eq!(given.checksum.strip_prefix("sha256:"), digest.split_whitespace().next());
    assert!(!state.incomplete && state.files.contains_key(".keystone/task.json"), "{state:?}");
    let said = run(&session, "echo $KEY; echo $KEY | base64; cat key.txt; echo $KEY >&2; touch $KEY").await;
    let read = session.read("key.txt").await.expect("read");
    let seen = format!("{said:?} {} {:?}", String::from_utf8_lossy(&read.0), session.diff().await);
    assert!(!seen.contains("hunter2") && seen.matches("[redacted:KEY").count() >= 5, "{seen}");
    let line = "printf 'POST /v1/sandboxes/%s/trace HTTP/1.0\\r\\nAuthorization: Bearer %s\\r\\nContent-Length: 27\\r\\n\\r\\n%s' $KEYSTONE_SANDBOX_ID $KEYSTONE_API_KEY '{\"events\": [{\"tool\": \"t\"}]}' >/dev/tcp/touchstone.services.internal/80";
    session.write("report.sh", line.as_bytes().to_vec()).await.expect("written");
    assert_eq!(run(&session, "bash report.sh").await.exit_code, 0);
    let reported = async {
        while session.reported().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reported).await.expect("a report");
    assert_eq!(session.reported()[0]["tool"], "t");
    session.destroy().await.expect("its end");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_ended_says_so_and_leaves_nothing() {
    let mut harness = Harness::docker().await;
    let session = open(&mut harness).await;
    let following = session.command("sleep 1000", None, false);
    let ending = async {
        while session.state().await.expect("a state").processes.is_empty() {}
        session.destroy().await.expect("its end");
        session.destroy().await.expect("again");
    };
    let (reply, ()) = tokio::join!(following, ending);
    refused(reply, RefusalKind::Gone, "");
    assert!(!session.is_alive());
    refused(session.read("given.txt").await, RefusalKind::Gone, "");
    let destroyed = session.answer(Ask::Destroy { sandbox: "sb-1".to_owned() }).await;
    assert_eq!(destroyed, Ok(Reply::Done));
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_writes_too_much_or_dies_is_not_kept_up() {
    let mut harness = Harness::docker().await;
    let small = format!("{SPEC}resources: {{disk: 20Mi}}\n");
    harness.secrets.insert("KEY".to_owned(), "x".to_owned());
    let session = harness.open(&small, &CancellationToken::new()).await.expect("a session");
    let _ = session.command("head -c 60000000 /dev/urandom > /var/big", None, false).await;
    let why = tokio::time::timeout(Duration::from_secs(60), session.ended()).await.expect("an end");
    assert!(why.contains("written outside the workspace"), "{why}");
    session.destroy().await.expect("its end");
    let why = tokio::time::timeout(Duration::from_secs(60), session.ended()).await.expect("an end");
    assert!(why.contains("the sandbox ended"), "{why}");
    harness.assert_nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_leaves_nothing() {
    let mut harness = Harness::docker().await;
    harness.secrets.insert("KEY".to_owned(), "hunter2-hunter2".to_owned());
    let failing = SPEC.replace("setup: {", "setup: {commands: ['echo no $KEY; false'], ");
    let error = harness.open(&failing, &CancellationToken::new()).await.expect_err("an error").to_string();
    assert!(error.contains("setup.commands[0]") && error.contains("no [redacted:KEY"), "{error}");
    harness.assert_nothing_is_left();
    let slow = SPEC.replace("setup: {", "setup: {commands: ['sleep 1000'], ");
    let cancel = CancellationToken::new();
    let cancelling = async {
        while harness.left().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        cancel.cancel();
    };
    let (opened, ()) = tokio::join!(harness.open(&slow, &cancel), cancelling);
    assert!(matches!(opened, Err(EngineError::Cancelled)), "{opened:?}");
    harness.assert_nothing_is_left();
}
