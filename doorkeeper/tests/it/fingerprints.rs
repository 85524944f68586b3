use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, symlink};

use doorkeeper::protocol::{Event, Fingerprint, Request};

use super::sandbox::Sandbox;

/// Takes fingerprints of paths; returns them and the number of bytes that were read.
fn look(sandbox: &mut Sandbox, paths: &[&str], most_bytes: u64) -> (Vec<Option<Fingerprint>>, u64) {
    let (root, paths) = (sandbox.root(), paths.iter().map(|path| path.as_bytes().to_vec()).collect());
    let id = sandbox.ask(|id| Request::Fingerprint { id, root, paths, most_bytes });
    match sandbox.event(id) {
        Event::Fingerprints { fingerprints, bytes, .. } => (fingerprints, bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_path_has_one_in_its_place_and_nothing_is_none() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let workspace = sandbox.workspace();
    fs::create_dir(workspace.join("folder")).unwrap();
    for (name, content) in [("a", "same"), ("folder/b", "other"), ("empty", "")] {
        fs::write(workspace.join(name), content).unwrap();
    }
    symlink("a", workspace.join("link")).unwrap();
    symlink("/etc/passwd", workspace.join("out")).unwrap();
    let paths = ["a", "missing", "folder", "folder/b", "empty", "link", "out", "a/below", "../etc/passwd"];
    let (found, bytes) = look(&mut sandbox, &paths, 1 << 20);
    let there: Vec<_> = found.iter().map(Option::is_some).collect();
    assert_eq!(there, [true, false, true, true, true, true, true, false, true]);
    let whole: Vec<_> = found.iter().flatten().map(|one| one.whole).collect();
    // What leads out of the folder is there, and not looked at.
    assert_eq!(whole, [true, true, true, true, true, true, false]);
    assert_eq!(bytes, 9, "a link is not followed");
    assert_eq!(look(&mut sandbox, &paths, 1 << 20).0, found, "nothing was changed");
}

#[test]
fn no_more_is_read_than_is_allowed() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let workspace = sandbox.workspace();
    fs::write(workspace.join("small"), vec![1; 1000]).unwrap();
    fs::write(workspace.join("large"), vec![2; 1_000_000]).unwrap();
    File::create(workspace.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let (found, bytes) = look(&mut sandbox, &["sparse", "large", "small"], 1_000_999);
    let whole: Vec<_> = found.iter().flatten().map(|one| one.whole).collect();
    assert_eq!((whole.as_slice(), bytes), ([false, true, false].as_slice(), 1_000_000));
}

#[test]
fn a_changed_byte_is_another_fingerprint() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let path = sandbox.workspace().join("file");
    fs::write(&path, vec![7; 300_000]).unwrap();
    let before = look(&mut sandbox, &["file"], 1 << 20).0;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_at(&[8], 299_999).unwrap();
    let after = look(&mut sandbox, &["file"], 1 << 20).0;
    assert_ne!(before, after);
}
