//! Putting the root of a box together.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use doorkeeper::plan::{Plan, Step};
use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, mount_remount, unmount,
};

use super::watcher::Line;
use super::{NoBox, refused};
use crate::sys;

/// Folder below the stage with the box's changes to its layers.
const LAYERS: &str = "layers";
/// Below the stage: the root of the box.
const ROOT: &str = "root";
/// The devices that every program expects.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links among the devices.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Entries of `/proc` that are about the host, and that its root can change: read-only in the box.
const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];
/// Entries of `/proc` that reveal the host: empty in the box.
const HIDDEN: [&str; 9] =
    ["acpi", "asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"];
/// Capacity of the shared memory in `/dev`, in bytes.
const SHARED_MEMORY: u64 = 64 << 20;

/// Returns the layers of a plan: their paths in the box, and the folders that they are written over.
pub(super) fn layers(plan: &Plan) -> impl Iterator<Item = (&str, &str)> {
    plan.steps.iter().filter_map(|step| match step {
        Step::Layer { target, lower } => Some((target.as_str(), lower.as_str())),
        _ => None,
    })
}

/// Returns the path of a layer's upper folder, as long as the host's root is the root.
pub(super) fn upper(plan: &Plan, number: usize) -> String {
    format!("{}/{LAYERS}/{number}/upper", plan.stage)
}

/// Returns the path of a place in the box, as long as the host's root is the root.
pub(super) fn inside(plan: &Plan, path: &str) -> String {
    format!("{}/{ROOT}{path}", plan.stage)
}

/// Puts the root together and moves into it. The watcher looks at the layers before that.
pub(super) fn assemble(plan: &Plan, line: &Line) -> Result<(), NoBox> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(refused("keep mounts to itself"))?;
    in_memory(&plan.stage, plan.space, 0o755).map_err(refused("make the box's own memory"))?;
    let root = inside(plan, "");
    fs::create_dir(&root).map_err(NoBox::Plan)?;
    let mut number = 0;
    for step in &plan.steps {
        take(plan, step, &root, &mut number).map_err(refused(describe(step)))?;
    }
    line.say(b'l')?;
    line.hear(b'g')?;
    change_root(&root).map_err(refused("move into the box"))
}

fn describe(step: &Step) -> String {
    match step {
        Step::Layer { target, lower } => format!("put `{lower}` below `{target}`"),
        Step::Bind { target, source, .. } => format!("put `{source}` at `{target}`"),
        Step::Memory { target, .. } | Step::Folder { target, .. } => format!("make `{target}`"),
        Step::Processes => {
            "make `/proc` (where the host's is not whole, as in a container, the kernel refuses it)".to_owned()
        }
        Step::Devices => "make `/dev`".to_owned(),
        Step::Link { target, to } => format!("link `{target}` to `{to}`"),
        Step::Seal { target } => format!("make `{target}` read-only"),
    }
}

fn take(plan: &Plan, step: &Step, root: &str, number: &mut usize) -> Result<(), Errno> {
    match step {
        Step::Layer { target, lower } => {
            let (upper, work) = (upper(plan, *number), format!("{}/{LAYERS}/{number}/work", plan.stage));
            *number += 1;
            overlay(&format!("{root}{target}"), lower, &upper, &work)
        }
        Step::Bind { target, source, writable } => bind(&format!("{root}{target}"), source, *writable),
        Step::Memory { target, bytes, mode } => in_memory(&format!("{root}{target}"), *bytes, *mode),
        Step::Processes => processes(&format!("{root}/proc")),
        Step::Devices => devices(&format!("{root}/dev")),
        Step::Folder { target, mode } => folder(&format!("{root}{target}"), *mode),
        Step::Link { target, to } => symlink(to, format!("{root}{target}")).map_err(|error| code(&error)),
        Step::Seal { target } => read_only(format!("{root}{target}").trim_end_matches('/')),
    }
}

fn folder(path: &str, mode: u32) -> Result<(), Errno> {
    fs::create_dir_all(path).map_err(|error| code(&error))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| code(&error))
}

fn in_memory(target: &str, bytes: u64, mode: u32) -> Result<(), Errno> {
    fs::create_dir_all(target).map_err(|error| code(&error))?;
    let options = cstring(format!("size={bytes},mode={mode:o}"));
    mount("tmpfs", target, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}

fn overlay(target: &str, lower: &str, upper: &str, work: &str) -> Result<(), Errno> {
    for folder in [upper, work, target] {
        fs::create_dir_all(folder).map_err(|error| code(&error))?;
    }
    // The folder itself is as open as the one below it, and the same user's where that is known in the box.
    if let Ok(found) = fs::metadata(lower) {
        let _ = chown(upper, Some(found.uid()), Some(found.gid()));
        let _ = fs::set_permissions(upper, found.permissions());
    }
    let plain = lower;
    let lower = lower.replace('\\', "\\\\").replace(':', "\\:").replace(',', "\\,");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = |more: &str| cstring(format!("lowerdir={lower},upperdir={upper},workdir={work}{more}"));
    let mounted = match mount("overlay", target, "overlay", flags, options(",userxattr").as_c_str()) {
        Err(Errno::INVAL) => mount("overlay", target, "overlay", flags, options("").as_c_str()),
        mounted => mounted,
    };
    match mounted {
        // Where something is mounted below it, the kernel lets nobody see what that hides. Then it is as it is, and can only be
        // read.
        Err(Errno::INVAL) => {
            mount_bind_recursive(plain, target)?;
            sys::seal_tree(&cstring(target.to_owned()))
        }
        mounted => mounted,
    }
}

fn bind(target: &str, source: &str, writable: bool) -> Result<(), Errno> {
    let found = fs::metadata(source).map_err(|error| code(&error))?;
    if found.is_dir() {
        fs::create_dir_all(target).map_err(|error| code(&error))?;
    } else if !Path::new(target).exists() {
        if let Some(parent) = Path::new(target).parent() {
            fs::create_dir_all(parent).map_err(|error| code(&error))?;
        }
        fs::write(target, "").map_err(|error| code(&error))?;
    }
    mount_bind_recursive(source, target)?;
    if writable { Ok(()) } else { read_only(target) }
}

/// Makes a mount read-only. Keeps those of its flags that cannot be removed.
fn read_only(target: &str) -> Result<(), Errno> {
    let found = rustix::fs::statvfs(target)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| found.contains(*flag)).map(|(_, flag)| flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union);
    mount_remount(target, flags, c"")
}

fn processes(target: &str) -> Result<(), Errno> {
    fs::create_dir_all(target).map_err(|error| code(&error))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", target, "proc", flags, None)?;
    for name in READ_ONLY {
        let path = format!("{target}/{name}");
        if Path::new(&path).exists() {
            bind(&path, &path, false)?;
        }
    }
    for name in HIDDEN {
        let path = format!("{target}/{name}");
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
                mount("tmpfs", &*path, "tmpfs", flags, c"size=0")?;
            }
            Ok(_) => mount_bind_recursive("/dev/null", &*path)?,
            Err(_) => {}
        }
    }
    Ok(())
}

fn devices(target: &str) -> Result<(), Errno> {
    in_memory(target, 1 << 20, 0o755)?;
    for name in DEVICES {
        let source = format!("/dev/{name}");
        if Path::new(&source).exists() {
            bind(&format!("{target}/{name}"), &source, true)?;
        }
    }
    for (name, to) in DEVICE_LINKS {
        symlink(to, format!("{target}/{name}")).map_err(|error| code(&error))?;
    }
    in_memory(&format!("{target}/shm"), SHARED_MEMORY, 0o1777)?;
    folder(&format!("{target}/mqueue"), 0o1777)?;
    let terminals = format!("{target}/pts");
    folder(&terminals, 0o755)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Not every kernel gives it to everybody; then there are no terminals.
    let _ = mount("devpts", &*terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620");
    Ok(())
}

/// Makes a folder the root, and forgets the old one.
fn change_root(root: &str) -> Result<(), Errno> {
    // A root must be a mount of its own.
    rustix::process::chdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

fn cstring(text: String) -> std::ffi::CString {
    std::ffi::CString::new(text.replace('\0', "")).unwrap_or_default()
}

fn code(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}
