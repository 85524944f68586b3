use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use doorkeeper::protocol::{Copied, Event, Failure, Request};

use super::sandbox::{Sandbox, now};

fn copy(sandbox: &mut Sandbox, from: &Path, to: &Path) -> Result<Copied, Failure> {
    let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    let (from, to) = (bytes(from), bytes(to));
    let id = sandbox.ask(|id| Request::Copy { id, from, to });
    match sandbox.event(id) {
        Event::Copied { copied, .. } => Ok(copied),
        Event::Failed { failure, .. } => Err(failure),
        other => panic!("{other:?}"),
    }
}

/// Returns the facts that a copy must share with its original.
fn facts(path: &Path) -> (u32, u32, u32, i64, i64, u64) {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    let size = if metadata.is_dir() { 0 } else { metadata.size() };
    (metadata.uid(), metadata.gid(), metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), size)
}

#[test]
fn a_copy_has_owners_permissions_times_and_content() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    std::fs::create_dir_all(from.join("folder/inner")).unwrap();
    std::fs::write(from.join("empty"), "").unwrap();
    std::fs::write(from.join("folder/inner/large"), vec![7; 5_000_000]).unwrap();
    std::fs::write(from.join("folder/program"), "x").unwrap();
    chown(from.join("folder/program"), Some(12), Some(34)).unwrap();
    std::fs::set_permissions(from.join("folder/program"), PermissionsExt::from_mode(0o4751)).unwrap();
    symlink("/etc/passwd", from.join("folder/link")).unwrap();
    let workspace = sandbox.workspace().display().to_string();
    sandbox.shell(&format!("mkfifo -m 640 {workspace}/from/pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
    chown(from.join("folder"), Some(1000), Some(1000)).unwrap();
    std::fs::set_permissions(from.join("folder"), PermissionsExt::from_mode(0o550)).unwrap();
    for path in ["empty", "folder/program", "folder"] {
        std::fs::File::open(from.join(path)).unwrap().set_modified(UNIX_EPOCH + Duration::new(1_000_000, 123)).unwrap();
    }
    let copied = copy(&mut sandbox, &from, &to).unwrap();
    assert_eq!(copied, Copied { entries: 7, bytes: 5_000_001, skipped: 1 });
    for path in ["empty", "folder", "folder/inner", "folder/inner/large", "folder/program", "folder/link", "pipe"] {
        assert_eq!(facts(&to.join(path)), facts(&from.join(path)), "{path}");
    }
    assert!(std::fs::read(to.join("folder/inner/large")).unwrap() == vec![7; 5_000_000]);
    assert_eq!(std::fs::read_link(to.join("folder/link")).unwrap(), Path::new("/etc/passwd"));
    assert!(std::fs::symlink_metadata(to.join("pipe")).unwrap().file_type().is_fifo());
    assert!(!to.join("socket").exists());
}

#[test]
fn a_copy_replaces_files_and_fills_folders() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    std::fs::create_dir_all(from.join("folder")).unwrap();
    std::fs::create_dir_all(to.join("folder")).unwrap();
    std::fs::write(from.join("folder/file"), "new").unwrap();
    std::fs::write(to.join("folder/file"), "older").unwrap();
    std::fs::write(to.join("folder/other"), "stays").unwrap();
    copy(&mut sandbox, &from, &to).unwrap();
    assert_eq!(std::fs::read(to.join("folder/file")).unwrap(), b"new");
    assert_eq!(std::fs::read(to.join("folder/other")).unwrap(), b"stays");
}

#[test]
fn holes_stay_holes() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    std::fs::create_dir(&from).unwrap();
    let size = 50 << 30;
    let file = std::fs::File::create(from.join("sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"data", 10 << 30).unwrap();
    file.set_len(size).unwrap();
    copy(&mut sandbox, &from, &to).unwrap();
    let copied = std::fs::File::open(to.join("sparse")).unwrap();
    let mut data = [0; 4];
    std::os::unix::fs::FileExt::read_exact_at(&copied, &mut data, 10 << 30).unwrap();
    assert_eq!(&data, b"data");
    assert_eq!(copied.metadata().unwrap().len(), size);
    assert!(copied.metadata().unwrap().blocks() < 1000);
}

#[test]
fn an_error_names_the_path() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    assert_eq!(copy(&mut sandbox, &from, &to).unwrap_err().errno, 2);
    std::fs::create_dir(&from).unwrap();
    std::fs::create_dir_all(to.join("name")).unwrap();
    std::fs::write(from.join("name"), "a file where a folder is").unwrap();
    let failure = copy(&mut sandbox, &from, &to).unwrap_err();
    assert_eq!(failure.errno, 21);
    assert!(failure.message.contains(from.join("name").to_str().unwrap()), "{}", failure.message);
}

#[test]
fn others_are_served_while_a_large_folder_is_copied() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    std::fs::create_dir(&from).unwrap();
    for number in 0..20_000 {
        std::fs::write(from.join(number.to_string()), "x").unwrap();
    }
    let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    let id = sandbox.ask(|id| Request::Copy { id, from: bytes(&from), to: bytes(&to) });
    let begun = now();
    let space = sandbox.ask(|id| Request::Space { id, path: b"/".to_vec() });
    assert!(matches!(sandbox.event(space), Event::Space { .. }));
    assert!(begun.elapsed().as_millis() < 500);
    let copied = Copied { entries: 20_000, bytes: 20_000, skipped: 0 };
    assert_eq!(sandbox.event(id), Event::Copied { id, copied });
}

#[test]
fn a_file_with_two_names_is_copied_once() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (from, to) = (sandbox.workspace().join("from"), sandbox.workspace().join("to"));
    std::fs::create_dir_all(from.join("b")).unwrap();
    std::fs::write(from.join("a"), vec![1; 100_000]).unwrap();
    std::fs::hard_link(from.join("a"), from.join("b/c")).unwrap();
    let copied = copy(&mut sandbox, &from, &to).unwrap();
    assert_eq!(copied, Copied { entries: 3, bytes: 100_000, skipped: 0 });
    let inode = |path: &str| std::fs::metadata(to.join(path)).unwrap().ino();
    assert_eq!(inode("a"), inode("b/c"));
    assert_eq!(std::fs::read(to.join("b/c")).unwrap(), vec![1; 100_000]);
}
