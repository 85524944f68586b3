//! Changes from outside while an agent acts: permissions, room, and processes that are stopped and continued.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use doorkeeper::protocol::{Event, Failure, Request, Status};

use crate::sandbox::{Sandbox, script, wait_until};

fn answer(sandbox: &mut Sandbox, id: u32) -> Result<(), Failure> {
    match sandbox.event(id) {
        Event::Done { .. } => Ok(()),
        Event::Failed { failure, .. } => Err(failure),
        other => panic!("neither done nor failed, but {other:?}"),
    }
}

fn set_mode(sandbox: &mut Sandbox, path: &str, mode: u32) -> Result<(), Failure> {
    let (root, path) = (sandbox.root(), path.into());
    let id = sandbox.ask(|id| Request::SetMode { id, root, path, mode });
    answer(sandbox, id)
}

#[test]
fn permissions_are_changed_whoever_owns_the_file_and_hold_for_root() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::write(root.join("own"), "x").unwrap();
    std::fs::write(root.join("other"), "x").unwrap();
    std::os::unix::fs::chown(root.join("other"), Some(1234), Some(99)).unwrap();
    std::fs::create_dir(root.join("folder")).unwrap();
    for path in ["own", "other", "folder"] {
        set_mode(&mut sandbox, path, 0).unwrap();
        assert_eq!(std::fs::metadata(root.join(path)).unwrap().mode() & 0o7777, 0, "{path}");
    }
    let read = format!("cat {} 2>&1 | grep -c denied || true", root.join("own").display());
    assert_eq!(sandbox.shell(&read).trim(), "1", "the agent is root without privileges");
    set_mode(&mut sandbox, "own", 0o640).unwrap();
    assert_eq!(std::fs::metadata(root.join("own")).unwrap().mode() & 0o7777, 0o640);
}

#[test]
fn no_link_is_followed_to_change_permissions() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let root = sandbox.workspace();
    std::fs::write(root.join("file"), "x").unwrap();
    std::fs::set_permissions(root.join("file"), PermissionsExt::from_mode(0o644)).unwrap();
    symlink("file", root.join("link")).unwrap();
    symlink("/etc", root.join("out")).unwrap();
    assert_eq!(set_mode(&mut sandbox, "link", 0).unwrap_err().errno, libc::ELOOP);
    assert_eq!(set_mode(&mut sandbox, "out/passwd", 0).unwrap_err().errno, libc::EXDEV);
    assert_eq!(set_mode(&mut sandbox, "nothing", 0).unwrap_err().errno, libc::ENOENT);
    assert_eq!(std::fs::metadata(root.join("file")).unwrap().mode() & 0o7777, 0o644);
}

#[test]
fn processes_stop_and_go_on_by_a_signal_for_all() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // A shell that is just starting a program waits for it in a way that no signal changes.
    let id = sandbox.spawn(script("exec sleep 1000"));
    let pid = sandbox.started(id);
    let state = |sandbox: &mut Sandbox| sandbox.shell(&format!("ps -o stat= -p {pid} | cut -c1")).trim().to_owned();
    for (signal, wanted) in [(libc::SIGSTOP, "T"), (libc::SIGCONT, "S"), (libc::SIGSTOP, "T")] {
        let asked = sandbox.ask(|id| Request::SignalAll { id, signal });
        answer(&mut sandbox, asked).unwrap();
        wait_until("the process to notice", || state(&mut sandbox) == wanted);
    }
    // One that is stopped ends like any other.
    let asked = sandbox.ask(|id| Request::KillAll { id });
    assert!(matches!(sandbox.finish(id).exited.status, Status::Signal(libc::SIGKILL)));
    sandbox.done(asked);
}
