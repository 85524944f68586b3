use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use doorkeeper::protocol::{Entry, EntryKind, Event, Failure, Request};

use rustix::fs::{Mode, OFlags};

use super::sandbox::{Sandbox, now};

/// Lists, giving credit.
fn walk(sandbox: &mut Sandbox, path: &str, most: u64, recursive: bool) -> Result<(Vec<Entry>, bool), Failure> {
    let (root, path) = (sandbox.root(), path.as_bytes().to_vec());
    let id = sandbox.ask(|id| Request::Walk { id, root, path, most, recursive });
    let mut all = Vec::new();
    loop {
        let event = sandbox.event(id);
        match &event {
            Event::Entries { entries, .. } => all.extend_from_slice(entries),
            Event::Listed { listed, .. } => return Ok((all, listed.incomplete)),
            Event::Failed { failure, .. } => return Err(failure.clone()),
            other => panic!("{other:?}"),
        }
        sandbox.credit(&event);
    }
}

fn paths(sandbox: &mut Sandbox, path: &str, most: u64, recursive: bool) -> Vec<String> {
    let (entries, _) = walk(sandbox, path, most, recursive).unwrap();
    entries.into_iter().map(|entry| String::from_utf8(entry.path).unwrap()).collect()
}

fn tree(sandbox: &Sandbox) {
    let root = sandbox.workspace();
    std::fs::create_dir_all(root.join("b/inner")).unwrap();
    std::fs::create_dir(root.join("a")).unwrap();
    for file in ["z", "b/2", "b/1", "b/inner/x", "a/file"] {
        std::fs::write(root.join(file), file).unwrap();
    }
}

#[test]
fn folders_are_listed_depth_first_and_sorted() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    tree(&sandbox);
    assert_eq!(paths(&mut sandbox, ".", 100, true), ["a", "a/file", "b", "b/1", "b/2", "b/inner", "b/inner/x", "z"]);
    assert_eq!(paths(&mut sandbox, ".", 100, false), ["a", "b", "z"]);
    assert_eq!(paths(&mut sandbox, "b", 100, true), ["b", "b/1", "b/2", "b/inner", "b/inner/x"]);
    assert_eq!(paths(&mut sandbox, "./b//", 100, false), ["b", "b/1", "b/2", "b/inner"]);
    assert_eq!(paths(&mut sandbox, "z", 100, true), ["z"]);
}

#[test]
fn no_more_is_listed_than_was_asked_for() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    tree(&sandbox);
    let all = paths(&mut sandbox, ".", 100, true);
    for most in 0..=all.len() {
        let (entries, incomplete) = walk(&mut sandbox, ".", most as u64, true).unwrap();
        let listed: Vec<String> = entries.into_iter().map(|entry| String::from_utf8(entry.path).unwrap()).collect();
        assert_eq!((listed.as_slice(), incomplete), (&all[..most], most < all.len()));
    }
}

#[test]
fn an_entry_says_what_it_is() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let file = sandbox.workspace().join("file");
    std::fs::write(&file, "12345").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o4710)).unwrap();
    std::os::unix::fs::chown(&file, Some(12), Some(34)).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o4710)).unwrap();
    let metadata = std::fs::metadata(&file).unwrap();
    let (entries, _) = walk(&mut sandbox, "file", 10, true).unwrap();
    let expected = Entry {
        path: b"file".to_vec(),
        kind: EntryKind::File,
        leads_to: Some(EntryKind::File),
        size: 5,
        mode: 0o4710,
        uid: 12,
        gid: 34,
        inode: metadata.ino(),
        modified_ns: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
        changed_ns: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
    };
    assert_eq!(entries, [expected]);
}

#[test]
fn links_are_entries_that_say_where_they_lead() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    tree(&sandbox);
    let root = sandbox.workspace();
    let links = root.join("links");
    std::fs::create_dir(&links).unwrap();
    symlink("../b/inner/x", links.join("file")).unwrap();
    symlink(root.join("b"), links.join("folder")).unwrap();
    symlink("nothing", links.join("nothing")).unwrap();
    symlink("/etc/passwd", links.join("out")).unwrap();
    symlink("self", links.join("self")).unwrap();
    let (entries, _) = walk(&mut sandbox, "links", 100, true).unwrap();
    let seen: Vec<_> = entries[1..].iter().map(|entry| (entry.path.as_slice(), entry.kind, entry.leads_to)).collect();
    let link = EntryKind::Link;
    assert_eq!(
        seen,
        [
            (b"links/file".as_slice(), link, Some(EntryKind::File)),
            (b"links/folder", link, Some(EntryKind::Directory)),
            (b"links/nothing", link, None),
            (b"links/out", link, None),
            (b"links/self", link, None),
        ]
    );
    assert_eq!(entries[1].size, 9);
    // The link itself, and what is behind it when the path goes through it.
    assert_eq!(paths(&mut sandbox, "links/folder", 100, true), ["links/folder"]);
    assert_eq!(paths(&mut sandbox, "links/folder/inner", 100, true), ["links/folder/inner", "links/folder/inner/x"]);
    assert_eq!(paths(&mut sandbox, "links/folder/", 100, false)[..2], ["links/folder", "links/folder/1"]);
}

#[test]
fn what_is_absent_or_outside_fails() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    symlink("/etc", sandbox.workspace().join("out")).unwrap();
    assert_eq!(walk(&mut sandbox, "absent", 10, true).unwrap_err().errno, 2);
    assert_eq!(walk(&mut sandbox, "..", 10, true).unwrap_err().errno, 18);
    assert_eq!(walk(&mut sandbox, "out/passwd", 10, true).unwrap_err().errno, 18);
    let id = sandbox.ask(|id| Request::Walk {
        id,
        root: b"/nowhere".to_vec(),
        path: b".".to_vec(),
        most: 1,
        recursive: true,
    });
    assert_eq!(sandbox.failure(id).message, "open the folder `/nowhere`: no such file or directory");
}

#[test]
fn names_are_bytes() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let name = std::ffi::OsStr::from_bytes(b"\xff\n\x01");
    std::fs::write(sandbox.workspace().join(name), "").unwrap();
    assert_eq!(walk(&mut sandbox, ".", 10, true).unwrap().0[0].path, b"\xff\n\x01");
}

#[test]
fn a_folder_that_cannot_be_opened_does_not_end_the_walk() {
    let Some(mut sandbox) = Sandbox::without_rights() else { return };
    tree(&sandbox);
    std::fs::set_permissions(sandbox.workspace().join("b"), PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(paths(&mut sandbox, ".", 100, true), ["a", "a/file", "b", "z"]);
}

#[test]
fn a_hundred_thousand_files_are_listed_while_others_are_served() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // In memory where possible: making the files takes far longer than listing them.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = memory.path();
    for folder in 0..100 {
        let folder = root.join(format!("{folder:03}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..1000 {
            std::fs::File::create(folder.join(format!("{file:04}"))).unwrap();
        }
    }
    let path = root.as_os_str().as_encoded_bytes().to_vec();
    let id = sandbox.ask(|id| Request::Walk { id, root: path, path: b".".to_vec(), most: u64::MAX, recursive: true });
    let begun = now();
    let read = sandbox.ask(|id| Request::Read { id, root: b"/".to_vec(), path: b"etc/hostname".to_vec(), limit: 1 });
    assert!(matches!(sandbox.event(read), Event::Data { .. }));
    let waited = begun.elapsed();
    let (mut last, mut count) = (Vec::new(), 0);
    let finished = loop {
        let event = sandbox.event(id);
        match &event {
            Event::Entries { entries, .. } => {
                for entry in entries {
                    assert!(entry.path > last);
                    last.clone_from(&entry.path);
                }
                count += entries.len();
            }
            Event::Listed { listed, .. } => break !listed.incomplete,
            other => panic!("{other:?}"),
        }
        sandbox.credit(&event);
    };
    assert!(finished);
    assert_eq!(count, 100_100);
    assert!(waited.as_millis() < 500, "{waited:?}");
}

#[test]
fn very_deep_folders_are_listed_as_far_as_a_path_goes() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let mut folder = std::fs::File::open(sandbox.workspace()).unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&folder, "d", Mode::from_raw_mode(0o755)).unwrap();
        folder = rustix::fs::openat(&folder, "d", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap().into();
    }
    std::fs::write(sandbox.workspace().join("later"), "").unwrap();
    let (entries, incomplete) = walk(&mut sandbox, ".", u64::MAX, true).unwrap();
    let removed = std::process::Command::new("rm").arg("-rf").arg(sandbox.workspace().join("d")).status();
    assert!(removed.unwrap().success());
    assert!(incomplete);
    assert!(entries.len() > 1500, "{}", entries.len());
    assert_eq!(entries.last().unwrap().path, b"later");
}
