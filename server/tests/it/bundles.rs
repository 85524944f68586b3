//! Specs with the files beside them, and archives that try something.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::test_app::{ADA, Answer, HELLO, TestApp};

/// A spec that needs a file beside it.
pub(crate) const WITH_FILE: &str = "\
version: 1
id: with-file
base: x
task: {prompt: x}
agent: {type: noop}
setup: {files: [{path: agent.sh, from: scripts/agent.sh}]}
invariants:
  x: {description: x, check: {type: file_exists, path: x}}
";

pub(crate) struct Tar(Builder<Vec<u8>>);

impl Tar {
    pub(crate) fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    /// Adds an entry whose name nobody looks at.
    fn entry(mut self, kind: EntryType, name: &str, content: &[u8], link: &str) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        let bytes = &mut header.as_old_mut().name;
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        if !link.is_empty() {
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        }
        header.set_cksum();
        self.0.append(&header, content).expect("an entry");
        self
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, name, content.as_bytes(), "")
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().expect("an archive")
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("packed")
}

/// A small archive with one entry of so many bytes.
fn bomb(kind: EntryType, name: &str, bytes: usize) -> Vec<u8> {
    const PIECE: usize = 1 << 20;
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    // Packed files behind each other are one packed file.
    let mut packed = gzip(header.as_bytes());
    let piece = gzip(&vec![b'a'; PIECE]);
    (0..bytes / PIECE).for_each(|_| packed.extend(&piece));
    packed
}

fn good() -> Vec<u8> {
    Tar::new().file("spec.yaml", WITH_FILE).file("scripts/agent.sh", "echo hi").bytes()
}

async fn run(app: &TestApp, kind: &str, bytes: Vec<u8>) -> Answer {
    app.call(Method::POST, ADA, "/v1/runs", &[("content-type", kind)], bytes).await
}

#[tokio::test]
async fn an_archive_is_a_spec_with_its_files() {
    let app = TestApp::new().await;
    for (kind, bytes) in [
        ("application/x-tar", good()),
        ("application/gzip", gzip(&good())),
        ("application/octet-stream", gzip(&good())),
        ("application/octet-stream", good()),
    ] {
        assert_eq!(run(&app, kind, bytes).await.expect(202)["total_scenarios"], 1, "{kind}");
    }
    let packed = STANDARD.encode(gzip(&good()));
    app.post(ADA, "/v1/runs", json!({"bundle": packed})).await.expect(202);
    let digest = app.get(ADA, "/v1/specs/with-file").await.expect(200)["digest"].as_str().expect("a digest").to_owned();
    let content = app.store.spec(&digest).await.expect("the spec");
    let files: Vec<_> = content.files.iter().map(|file| (file.path.as_str(), file.executable)).collect();
    assert_eq!(files, [("scripts/agent.sh", true), ("spec.yaml", true)]);
    assert_eq!(content.text, WITH_FILE);
    let uploaded =
        app.call(Method::POST, ADA, "/v1/specs", &[("content-type", "application/gzip")], gzip(&good())).await;
    assert_eq!(uploaded.expect(201)["version"], 1, "the same content");
}

#[tokio::test]
async fn an_archive_may_have_one_folder_around_it() {
    let app = TestApp::new().await;
    let around = Tar::new()
        .entry(EntryType::Directory, "mine/", b"", "")
        .file("mine/spec.yaml", WITH_FILE)
        .file("./mine/scripts/agent.sh", "echo hi")
        .bytes();
    run(&app, "application/x-tar", around).await.expect(202);
    let two = Tar::new().file("a/spec.yaml", WITH_FILE).file("b/x", "").bytes();
    assert!(run(&app, "application/x-tar", two).await.refused(400).contains("no `spec.yaml`"));
}

#[tokio::test]
async fn archives_that_try_something_are_refused() {
    let app = TestApp::new().await;
    let spec = || Tar::new().file("spec.yaml", HELLO);
    for (what, tar, wanted) in [
        ("absolute", spec().file("/etc/passwd", "x"), "no path below"),
        ("upwards", spec().file("a/../../x", "x"), "no path below"),
        ("upwards only", spec().file("..", "x"), "no path below"),
        ("backslash", spec().file("a\\..\\x", "x"), "no path below"),
        ("symlink", spec().entry(EntryType::Symlink, "link", b"", "/etc/passwd"), "no regular file"),
        ("hard link", spec().entry(EntryType::Link, "link", b"", "spec.yaml"), "no regular file"),
        ("device", spec().entry(EntryType::Char, "tty", b"", ""), "no regular file"),
        ("fifo", spec().entry(EntryType::Fifo, "pipe", b"", ""), "no regular file"),
        ("sparse", spec().entry(EntryType::GNUSparse, "holes", b"", ""), ""),
        ("twice", spec().file("a", "1").file("./a", "2"), "twice"),
        ("file and folder", spec().file("a", "1").file("a/b", "2"), "a file and a folder"),
        ("no spec", Tar::new().file("other.yaml", HELLO), "no `spec.yaml`"),
        ("empty", Tar::new(), ""),
        ("not UTF-8", Tar::new().entry(EntryType::Regular, "spec.yaml", &[0xff, 0xfe], ""), "UTF-8"),
    ] {
        let refused = run(&app, "application/x-tar", tar.bytes()).await.refused(400);
        assert!(refused.contains(wanted), "{what}: {refused}");
    }
    assert_eq!(app.get(ADA, "/v1/experiments").await.expect(200), json!([]));
}

#[tokio::test]
async fn archives_that_are_too_much_are_refused_before_they_fill_anything() {
    let app = TestApp::new().await;
    let many = (0..1001).fold(Tar::new().file("spec.yaml", HELLO), |tar, number| tar.file(&format!("f{number}"), ""));
    assert!(run(&app, "application/gzip", gzip(&many.bytes())).await.refused(400).contains("more than 1000 files"));
    let folders =
        (0..4100).fold(Tar::new(), |tar, number| tar.entry(EntryType::Directory, &format!("d{number}/"), b"", ""));
    assert!(run(&app, "application/gzip", gzip(&folders.bytes())).await.refused(400).contains("entries"));
    for (kind, name) in [(EntryType::Regular, "zeros"), (EntryType::GNULongName, "././@LongLink")] {
        let bomb = bomb(kind, name, 80 << 20);
        assert!(bomb.len() < 1 << 20);
        assert!(run(&app, "application/gzip", bomb).await.refused(413).contains("bytes"));
    }
}

#[tokio::test]
async fn archives_that_break_off_are_refused() {
    let app = TestApp::new().await;
    let whole = good();
    run(&app, "application/x-tar", whole[..600].to_vec()).await.refused(400);
    let packed = gzip(&whole);
    run(&app, "application/gzip", packed[..packed.len() / 2].to_vec()).await.refused(400);
    let mut broken = whole.clone();
    broken[100] ^= 0xff;
    run(&app, "application/x-tar", broken).await.refused(400);
    run(&app, "application/gzip", b"\x1f\x8bgarbage".to_vec()).await.refused(400);
}

#[tokio::test]
async fn a_spec_without_its_files_is_refused() {
    let app = TestApp::new().await;
    let refused = app.post(ADA, "/v1/runs", json!({"spec": WITH_FILE})).await.refused(400);
    assert!(refused.contains("scripts/agent.sh"), "{refused}");
}
