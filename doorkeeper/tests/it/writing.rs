use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use doorkeeper::protocol::{EntryKind, Failure, Request, WriteFile};

use super::sandbox::Sandbox;

/// A file of root's.
pub(crate) fn file(path: &[u8], content: &[u8]) -> WriteFile {
    WriteFile {
        path: path.to_vec(),
        kind: EntryKind::File,
        uid: 0,
        gid: 0,
        mode: 0o644,
        content: content.to_vec(),
        append: false,
    }
}

fn at(path: &Path) -> WriteFile {
    file(path.as_os_str().as_encoded_bytes(), b"content")
}

fn write(sandbox: &mut Sandbox, file: WriteFile) -> Result<(), Failure> {
    let id = sandbox.ask(|id| Request::Write { id, file });
    match sandbox.event(id) {
        doorkeeper::protocol::Event::Done { .. } => Ok(()),
        doorkeeper::protocol::Event::Failed { failure, .. } => Err(failure),
        other => panic!("{other:?}"),
    }
}

fn owner(path: &Path) -> (u32, u32, u32) {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
}

#[test]
fn a_file_and_its_folders_have_their_owner_and_permissions() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let path = sandbox.workspace().join("a/b/file");
    for (uid, gid, mode) in [(0, 0, 0o640), (1000, 50, 0o4755), (0, 7, 0o400)] {
        write(&mut sandbox, WriteFile { uid, gid, mode, ..at(&path) }).unwrap();
        assert_eq!(owner(&path), (uid, gid, mode));
        assert_eq!(std::fs::read(&path).unwrap(), b"content");
    }
    assert_eq!(owner(&sandbox.workspace().join("a/b")), (0, 0, 0o755));
    let other = sandbox.workspace().join("c/d/file");
    write(&mut sandbox, WriteFile { uid: 1000, gid: 50, ..at(&other) }).unwrap();
    assert_eq!(owner(&sandbox.workspace().join("c")), (1000, 50, 0o755));
    assert_eq!(std::fs::read_dir(sandbox.workspace().join("c/d")).unwrap().count(), 1);
}

#[test]
fn a_file_can_be_written_in_parts() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let path = sandbox.workspace().join("file");
    let part =
        |content: &[u8], append| WriteFile { content: content.to_vec(), append, uid: 5, mode: 0o400, ..at(&path) };
    for (content, append) in [(vec![1; 3 << 20], false), (vec![2; 3 << 20], true), (vec![3; 10], true)] {
        write(&mut sandbox, part(&content, append)).unwrap();
    }
    let content = std::fs::read(&path).unwrap();
    assert_eq!(content.len(), (6 << 20) + 10);
    assert_eq!((content[0], content[4 << 20], content[6 << 20]), (1, 2, 3));
    write(&mut sandbox, part(b"short", false)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"short");
    assert_eq!(owner(&path), (5, 0, 0o400));
}

#[test]
fn a_file_of_somebody_else_is_replaced() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let path = sandbox.workspace().join("file");
    std::fs::write(&path, "old").unwrap();
    std::os::unix::fs::chown(&path, Some(77), Some(77)).unwrap();
    write(&mut sandbox, WriteFile { uid: 1000, gid: 1000, ..at(&path) }).unwrap();
    assert_eq!(owner(&path), (1000, 1000, 0o644));
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
}

#[test]
fn folders_and_links_are_made() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let folder = sandbox.workspace().join("x/folder");
    let link = sandbox.workspace().join("x/link");
    for mode in [0o1777, 0o700] {
        write(&mut sandbox, WriteFile { kind: EntryKind::Directory, mode, uid: 9, gid: 8, ..at(&folder) }).unwrap();
        assert_eq!(owner(&folder), (9, 8, mode));
    }
    for _ in 0..2 {
        write(&mut sandbox, WriteFile { kind: EntryKind::Link, uid: 9, gid: 8, ..at(&link) }).unwrap();
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("content"));
        assert_eq!(owner(&link).0, 9);
    }
}

#[test]
fn a_folder_whose_group_passes_on_does_not_change_the_group() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let folder = sandbox.workspace().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, None, Some(77)).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o2777)).unwrap();
    write(&mut sandbox, WriteFile { uid: 3, gid: 4, ..at(&folder.join("file")) }).unwrap();
    assert_eq!(owner(&folder.join("file")), (3, 4, 0o644));
}

#[test]
fn what_cannot_be_written_is_named() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::create_dir(root.join("folder")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    for (file, errno) in [
        (at(&root.join("folder")), 21),
        (at(&root.join("loop/file")), 40),
        (WriteFile { append: true, ..at(&root.join("absent")) }, 2),
        (at(&root.join("n".repeat(256))), 36),
        (file(b"relative", b""), 0),
    ] {
        let path = String::from_utf8(file.path.clone()).unwrap();
        let failure = write(&mut sandbox, file).unwrap_err();
        assert_eq!(failure.errno, errno, "{}", failure.message);
        assert!(failure.message.contains(&path), "{}", failure.message);
    }
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 2, "nothing is left behind");
}
