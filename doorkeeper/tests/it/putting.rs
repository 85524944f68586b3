//! Tests of files that are written and removed while an agent acts in the sandbox.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use doorkeeper::protocol::{EntryKind, Event, Failure, Request, WriteFile};

use crate::sandbox::Sandbox;
use crate::writing::file;

fn answer(sandbox: &mut Sandbox, id: u32) -> Result<(), Failure> {
    match sandbox.event(id) {
        Event::Done { .. } => Ok(()),
        Event::Failed { failure, .. } => Err(failure),
        other => panic!("neither done nor failed, but {other:?}"),
    }
}

fn put(sandbox: &mut Sandbox, file: WriteFile) -> Result<(), Failure> {
    let root = sandbox.root();
    let id = sandbox.ask(|id| Request::Put { id, root, file });
    answer(sandbox, id)
}

fn remove(sandbox: &mut Sandbox, path: &str) -> Result<(), Failure> {
    let (root, path) = (sandbox.root(), path.into());
    let id = sandbox.ask(|id| Request::Remove { id, root, path, uid: 0, gid: 0 });
    answer(sandbox, id)
}

#[test]
fn a_file_is_put_where_it_belongs_with_the_folders_above_it() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    put(&mut sandbox, WriteFile { uid: 7, gid: 8, ..file(b"a/b/c.txt", b"one") }).unwrap();
    put(&mut sandbox, WriteFile { append: true, ..file(b"a/b/c.txt", b" two") }).unwrap();
    let metadata = std::fs::metadata(root.join("a/b/c.txt")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (7, 8, 0o644));
    assert_eq!(std::fs::metadata(root.join("a")).unwrap().uid(), 7);
    assert_eq!(std::fs::read(root.join("a/b/c.txt")).unwrap(), b"one two");
    let absolute = [sandbox.root().as_slice(), b"//d.txt"].concat();
    put(&mut sandbox, file(&absolute, b"x")).unwrap();
    assert_eq!(std::fs::read(root.join("d.txt")).unwrap(), b"x");
}

#[test]
fn a_file_that_is_there_keeps_its_permissions_and_a_link_is_replaced() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::write(root.join("run.sh"), "old").unwrap();
    std::fs::set_permissions(root.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("run.sh", root.join("link")).unwrap();
    for path in ["run.sh", "link"] {
        put(&mut sandbox, file(path.as_bytes(), path.as_bytes())).unwrap();
        assert_eq!(std::fs::read(root.join(path)).unwrap(), path.as_bytes());
    }
    assert_eq!(std::fs::metadata(root.join("run.sh")).unwrap().mode() & 0o777, 0o755);
    assert!(std::fs::symlink_metadata(root.join("link")).unwrap().is_file());
}

#[test]
fn nothing_is_put_outside() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.join("folder")).unwrap();
    symlink(outside.path(), root.join("out")).unwrap();
    symlink(outside.path().join("absent"), root.join("file")).unwrap();
    let kind = EntryKind::Directory;
    for (file, errno) in [
        (file(b"../x", b""), 18),
        (file(b"out/x", b""), 18),
        (file(b"out/deep/er/x", b""), 18),
        (file(b"/etc/x", b""), 18),
        (WriteFile { append: true, ..file(b"file", b"x") }, 40),
        (file(b"folder", b""), 21),
        (file(b"folder/..", b""), 22),
        (file(b"/", b""), 22),
        (WriteFile { kind, ..file(b"x", b"") }, 22),
    ] {
        let shown = format!("{file:?}");
        let failure = put(&mut sandbox, file).unwrap_err();
        assert_eq!(failure.errno, errno, "{shown}: {}", failure.message);
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 3, "nothing is left behind");
}

#[test]
fn a_folder_is_removed_with_all_that_is_in_it_and_nothing_else() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("stays"), "x").unwrap();
    let deep = root.join("tree").join("d/".repeat(100));
    std::fs::create_dir_all(&deep).unwrap();
    (0..3000).for_each(|number| std::fs::write(root.join(format!("tree/d/{number}")), "x").unwrap());
    symlink(outside.path(), deep.join("out")).unwrap();
    symlink(outside.path(), root.join("link")).unwrap();
    for path in ["tree", "link"] {
        remove(&mut sandbox, path).unwrap();
        assert!(std::fs::symlink_metadata(root.join(path)).is_err(), "{path}");
    }
    assert!(outside.path().join("stays").exists());
}

#[test]
fn what_is_not_there_or_outside_is_not_removed() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("stays"), "x").unwrap();
    std::fs::write(root.join("file"), "x").unwrap();
    symlink(outside.path(), root.join("out")).unwrap();
    std::fs::create_dir_all(root.join("d/".repeat(300))).unwrap();
    for (path, errno) in
        [("absent", 2), ("file/x", 20), ("out/stays", 18), ("../socket", 18), (".", 22), ("", 22), ("d", 36)]
    {
        let failure = remove(&mut sandbox, path).unwrap_err();
        assert_eq!(failure.errno, errno, "{path}: {}", failure.message);
    }
    assert!(outside.path().join("stays").exists());
    sandbox.shell(&format!("rm -r {}/d", root.display()));
}
