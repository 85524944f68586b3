//! Runs a test of this program once more, as a user of the machine who has no rights.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::FdFlags;

/// Number of the unprivileged user.
const SOMEBODY: u32 = 1234;
/// Variable that is set when the process that started this one waits in its place.
pub(crate) const WAITED: &str = "TOUCHSTONE_TEST_WAITED";

/// Returns true if this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the test `body` of the module `local` beside a module, as somebody.
pub(crate) fn run(module: &str, body: &str) {
    if !is_root() {
        // Then the test itself is run by somebody.
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _slot = runtime.block_on(crate::harness::slot());
    let folder = tempfile::tempdir().expect("a folder");
    chown(folder.path(), Some(SOMEBODY), Some(SOMEBODY)).expect("to give a folder away");
    // Through a descriptor: the folders above the program may be closed to others.
    let program = File::open(std::env::current_exe().expect("this program")).expect("this program");
    rustix::io::fcntl_setfd(&program, FdFlags::empty()).expect("a descriptor that stays");
    let (_, module) = module.split_once("::").expect("a crate and a module");
    let module = module.strip_suffix("unprivileged").expect("a module of unprivileged tests");
    let output = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .args([&format!("{module}local::{body}"), "--exact", "--nocapture"])
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .env(WAITED, "1")
        .current_dir("/")
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .output()
        .expect("this program as somebody");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
