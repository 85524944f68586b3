use std::os::unix::fs::{PermissionsExt, symlink};

use doorkeeper::protocol::{Event, Failure, Request, WINDOW};

use super::sandbox::Sandbox;

/// Reads a file, giving credit.
fn read(sandbox: &mut Sandbox, root: &[u8], path: &[u8], limit: u64) -> Result<Vec<u8>, Failure> {
    let (root, path) = (root.to_vec(), path.to_vec());
    let id = sandbox.ask(|id| Request::Read { id, root, path, limit });
    let mut content = Vec::new();
    loop {
        let event = sandbox.event(id);
        match &event {
            Event::Data { bytes, .. } => content.extend_from_slice(bytes),
            Event::Done { .. } => return Ok(content),
            Event::Failed { failure, .. } => return Err(failure.clone()),
            other => panic!("{other:?}"),
        }
        sandbox.credit(&event);
    }
}

fn read_in_workspace(sandbox: &mut Sandbox, path: &str) -> Result<Vec<u8>, Failure> {
    let root = sandbox.root();
    read(sandbox, &root, path.as_bytes(), u64::MAX)
}

fn errno(sandbox: &mut Sandbox, path: &str) -> i32 {
    read_in_workspace(sandbox, path).unwrap_err().errno
}

#[test]
fn files_and_links_that_stay_inside_are_read() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("a/b/file"), "content").unwrap();
    symlink("b/file", root.join("a/relative")).unwrap();
    symlink("../a/./b/../relative", root.join("a/upwards")).unwrap();
    symlink(root.join("a"), root.join("absolute")).unwrap();
    let absolute = root.join("a/b/file").display().to_string();
    for path in
        ["a/b/file", "/a/b/../b/./file", "a/relative", "a/upwards", "absolute/b/file", "absolute/upwards", &absolute]
    {
        let path = path.strip_prefix("/a").map_or(path.to_owned(), |rest| format!("a{rest}"));
        assert_eq!(read_in_workspace(&mut sandbox, &path).unwrap(), b"content", "{path}");
    }
}

#[test]
fn whatever_leads_out_is_refused() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    let name = root.file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::create_dir(root.join("inside")).unwrap();
    std::fs::create_dir(root.with_extension("other")).unwrap();
    std::fs::write(root.with_extension("other").join("file"), "secret").unwrap();
    symlink("/etc/passwd", root.join("out")).unwrap();
    symlink("../../../etc/passwd", root.join("inside/up")).unwrap();
    symlink("/", root.join("slash")).unwrap();
    symlink("..", root.join("parent")).unwrap();
    symlink(root.with_extension("other").join("file"), root.join("sibling")).unwrap();
    symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
    let back = format!("../{name}/inside");
    for path in ["out", "inside/up", "slash/etc/passwd", "parent/x", "sibling", "magic", "../x", "/etc/passwd", &back] {
        let failure = read_in_workspace(&mut sandbox, path).unwrap_err();
        assert_eq!(failure.errno, 18, "{path}: {}", failure.message);
        assert!(failure.message.contains("leads out of"), "{}", failure.message);
    }
}

#[test]
fn loops_pipes_devices_and_folders_are_refused() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    std::fs::write(root.join("file"), "").unwrap();
    std::fs::create_dir(root.join("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let workspace = root.display();
    sandbox.shell(&format!("mkfifo {workspace}/pipe"));
    assert_eq!(errno(&mut sandbox, "a"), 40);
    assert_eq!(errno(&mut sandbox, "pipe"), 6);
    assert_eq!(errno(&mut sandbox, "socket"), 6);
    assert_eq!(errno(&mut sandbox, "folder"), 21);
    assert_eq!(errno(&mut sandbox, "file/below"), 20);
    assert_eq!(errno(&mut sandbox, "absent"), 2);
    assert_eq!(errno(&mut sandbox, &"n".repeat(256)), 36);
    assert_eq!(read(&mut sandbox, b"/", b"dev/zero", 10).unwrap_err().errno, 6);
}

#[test]
fn long_chains_and_long_paths_are_followed() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    let long = "n".repeat(255);
    std::fs::write(root.join(&long), "content").unwrap();
    symlink(&long, root.join("link0")).unwrap();
    for number in 1..=40 {
        symlink(format!("link{}", number - 1), root.join(format!("link{number}"))).unwrap();
    }
    assert_eq!(read_in_workspace(&mut sandbox, &long).unwrap(), b"content");
    assert_eq!(read_in_workspace(&mut sandbox, "link39").unwrap(), b"content");
    assert_eq!(errno(&mut sandbox, "link40"), 40);
    let deep = "d/".repeat(3000);
    assert_eq!(errno(&mut sandbox, &format!("{deep}x")), 2);
}

#[test]
fn the_limit_and_the_credit_hold() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    std::fs::write(sandbox.workspace().join("file"), &content).unwrap();
    let root = sandbox.root();
    assert!(read(&mut sandbox, &root, b"file", u64::MAX).unwrap() == content);
    assert_eq!(read(&mut sandbox, &root, b"file", 10).unwrap(), &content[..10]);
    assert_eq!(read(&mut sandbox, &root, b"file", 0).unwrap(), b"");
    let id = sandbox.ask(|id| Request::Read { id, root, path: b"file".to_vec(), limit: u64::MAX });
    let mut received = 0;
    while received < WINDOW {
        received += sandbox.event(id).credit();
    }
    assert_eq!(received, WINDOW);
    // Without credit nothing more comes, and nothing comes after it was cancelled.
    assert_eq!(sandbox.shell("echo alive"), "alive");
    sandbox.send(Request::Cancel { id });
    sandbox.send(Request::Credit { id, stream: doorkeeper::protocol::Stream::Out, bytes: 1000 });
    assert_eq!(sandbox.shell("echo alive"), "alive");
}

#[test]
fn files_that_say_they_are_empty_are_read() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let status = read(&mut sandbox, b"/", b"proc/1/status", u64::MAX).unwrap();
    assert!(status.starts_with(b"Name:\tdoorkeeper"));
    assert!(read(&mut sandbox, b"/", b"etc/passwd", u64::MAX).unwrap().starts_with(b"root:"));
    assert!(read(&mut sandbox, b"/", b"/etc/../../etc/passwd", u64::MAX).unwrap().starts_with(b"root:"));
    assert!(read(&mut sandbox, b"/proc/self", b"limits", u64::MAX).unwrap().starts_with(b"Limit"));
}

#[test]
fn what_may_not_be_read_is_not_absent() {
    let Some(mut sandbox) = Sandbox::without_rights() else { return };
    let root = sandbox.workspace();
    std::fs::write(root.join("secret"), "").unwrap();
    std::fs::create_dir(root.join("closed")).unwrap();
    std::fs::write(root.join("closed/file"), "").unwrap();
    std::fs::set_permissions(root.join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(root.join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(errno(&mut sandbox, "secret"), 13);
    assert_eq!(errno(&mut sandbox, "closed/file"), 13);
    assert_eq!(errno(&mut sandbox, "closed/absent"), 13);
    assert_eq!(errno(&mut sandbox, "absent"), 2);
}

#[test]
fn the_doorkeeper_reads_what_only_its_owner_may() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::write(root.join("secret"), "content").unwrap();
    std::fs::set_permissions(root.join("secret"), PermissionsExt::from_mode(0o000)).unwrap();
    assert_eq!(read_in_workspace(&mut sandbox, "secret").unwrap(), b"content");
}

#[test]
fn a_link_is_read_and_nothing_else() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let workspace = sandbox.workspace();
    std::os::unix::fs::symlink("/etc/../somewhere", workspace.join("link")).unwrap();
    std::fs::write(workspace.join("file"), "x").unwrap();
    let mut read = |path: &str| {
        let (root, path) = (sandbox.root(), path.as_bytes().to_vec());
        let id = sandbox.ask(|id| Request::ReadLink { id, root, path });
        match sandbox.event(id) {
            Event::Data { bytes, .. } => {
                assert!(matches!(sandbox.event(id), Event::Done { .. }));
                Ok(bytes)
            }
            Event::Failed { failure, .. } => Err(failure.errno),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("link"), Ok(b"/etc/../somewhere".to_vec()));
    assert_eq!(read("file"), Err(rustix::io::Errno::INVAL.raw_os_error()));
    assert_eq!(read("missing"), Err(rustix::io::Errno::NOENT.raw_os_error()));
    assert_eq!(read("link/x"), Err(rustix::io::Errno::XDEV.raw_os_error()));
}
