//! Work that files of the agent can make longer: links that lead far, folders that are deep, and pipes where files should be.

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use doorkeeper::protocol::{EntryKind, Event, Request, WriteFile};
use rustix::fs::{Mode, OFlags, mkdirat, mkfifoat, openat, symlinkat};

use super::sandbox::Sandbox;

/// Opens a folder.
fn open(path: &Path) -> OwnedFd {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Makes folders in each other, and gives the innermost.
fn deepen(mut folder: OwnedFd, name: &str, depth: usize) -> OwnedFd {
    for _ in 0..depth {
        mkdirat(&folder, name, Mode::from_raw_mode(0o755)).unwrap();
        folder = openat(&folder, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    folder
}

/// Lists everything; how many entries there are, which of them are links that lead somewhere, and whether something is missing.
fn list(sandbox: &mut Sandbox) -> (usize, usize, bool) {
    let root = sandbox.root();
    let id = sandbox.ask(|id| Request::Walk { id, root, path: b".".to_vec(), most: 100_000, recursive: true });
    let (mut all, mut leading) = (0, 0);
    loop {
        let event = sandbox.event(id);
        match &event {
            Event::Entries { entries, .. } => {
                all += entries.len();
                let leads =
                    |entry: &&doorkeeper::protocol::Entry| entry.kind == EntryKind::Link && entry.leads_to.is_some();
                leading += entries.iter().filter(leads).count();
            }
            Event::Listed { listed, .. } => return (all, leading, listed.incomplete),
            other => panic!("{other:?}"),
        }
        sandbox.credit(&event);
    }
}

#[test]
fn links_that_go_up_and_down_in_deep_folders_take_a_bounded_time() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let deep = deepen(open(&sandbox.workspace()), "a", 700);
    // Each leads to the next, and all of them go up and down as often as fits into a link.
    let wander = "../a/".repeat(800);
    for number in 0..40 {
        let target = format!("{wander}{}", (number + 1) % 40);
        symlinkat(target, &deep, number.to_string()).unwrap();
    }
    symlinkat("..", &deep, "up").unwrap();
    let (all, leading, incomplete) = list(&mut sandbox);
    assert_eq!((all, leading, incomplete), (741, 1, false));
    let deepest = format!("{}0", "a/".repeat(700)).into_bytes();
    let root = sandbox.root();
    let read = sandbox.ask(|id| Request::Read { id, root, path: deepest, limit: 10 });
    assert_eq!(sandbox.failure(read).errno, rustix::io::Errno::LOOP.raw_os_error());
}

#[test]
fn a_listing_whose_links_lead_too_far_together_says_so() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::create_dir(root.join("a")).unwrap();
    for number in 0..40 {
        symlink(format!("{}a", "a/../".repeat(800)), root.join(format!("link-{number:04}"))).unwrap();
    }
    let (all, leading, incomplete) = list(&mut sandbox);
    assert_eq!((all, incomplete), (41, false), "so many are no burden");
    assert_eq!(leading, 40);
    for number in 0..300 {
        symlink(format!("{}a", "a/../".repeat(800)), root.join(format!("more-{number:04}"))).unwrap();
    }
    let (all, leading, incomplete) = list(&mut sandbox);
    assert!(all == 341 && incomplete && leading < 340, "{all} {leading} {incomplete}");
}

#[test]
fn trees_that_go_deep_again_and_again_are_listed_in_time() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // Deeper than folders are kept open, from many places that are deep themselves.
    let mut folder = deepen(open(&sandbox.workspace()), "a", 300);
    for _ in 0..20 {
        deepen(folder.try_clone().unwrap(), "b", 100);
        mkdirat(&folder, "c", Mode::from_raw_mode(0o755)).unwrap();
        folder = openat(&folder, "c", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let (all, _, incomplete) = list(&mut sandbox);
    assert_eq!((all, incomplete), (300 + 20 * 101, false));
}

#[test]
fn folders_that_are_moved_while_they_are_found_lead_nowhere_else() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("file"), "content").unwrap();
    for (path, found) in [("a/b/../../file", true), ("a/../a/b/../../file", true), ("a/../../file", false)] {
        let (root, path) = (sandbox.root(), path.as_bytes().to_vec());
        let id = sandbox.ask(|id| Request::Read { id, root, path, limit: 10 });
        match sandbox.event(id) {
            Event::Data { bytes, .. } => assert!(found && bytes == b"content"),
            Event::Failed { failure, .. } => assert!(!found && failure.message.contains("leads out"), "{failure:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_pipe_where_a_file_is_written_keeps_nobody_waiting() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let folder = open(&sandbox.workspace());
    mkfifoat(&folder, "pipe", Mode::from_raw_mode(0o666)).unwrap();
    let path = sandbox.workspace().join("pipe").display().to_string().into_bytes();
    let content = b"more".to_vec();
    let file = WriteFile { path, kind: EntryKind::File, uid: 0, gid: 0, mode: 0o644, content, append: true };
    let appended = sandbox.ask(|id| Request::Write { id, file: file.clone() });
    assert_eq!(sandbox.failure(appended).errno, rustix::io::Errno::NXIO.raw_os_error());
    let replaced = sandbox.ask(|id| Request::Write { id, file: WriteFile { append: false, ..file } });
    sandbox.done(replaced);
    assert_eq!(std::fs::read(sandbox.workspace().join("pipe")).unwrap(), b"more");
}
