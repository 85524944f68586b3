//! Tests of a box that the doorkeeper makes around itself, as root and as an unprivileged user.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use doorkeeper::plan::{BOX, Beside, Ceilings, FIRST_OPEN, Ids, NAMESPACES, Plan, Step};
use doorkeeper::protocol::{Request, Spawn, Status};
use tempfile::TempDir;

use super::sandbox::{Sandbox, possible, script};

/// The user who makes a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// Root: the box has many users.
    Root,
    /// A user of the host: the box has that one only.
    Somebody,
}

impl Maker {
    const SOMEBODY: u32 = 1234;

    fn ids(self) -> Ids {
        match self {
            Self::Root => Ids { inside: 0, outside: 0, count: 65536 },
            Self::Somebody => Ids { inside: 0, outside: Self::SOMEBODY, count: 1 },
        }
    }

    /// A script as whom an agent is.
    fn script(self, text: &str) -> Spawn {
        let uid = self.ids().inside;
        Spawn { uid, gid: uid, directory: b"/workspace".to_vec(), ..script(text) }
    }
}

/// Makes a folder that a box is made from: the files that programs expect besides `/usr`.
fn skeleton(folder: &Path) {
    std::fs::create_dir_all(folder.join("etc")).unwrap();
    std::fs::write(folder.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    for name in ["bin", "sbin", "lib", "lib64"] {
        let target = format!("usr/{name}");
        if Path::new("/").join(&target).exists() {
            symlink(target, folder.join(name)).unwrap();
        }
    }
    for path in [folder, &folder.join("etc")] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

fn plan(folder: &Path, maker: Maker) -> Plan {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let at = |path: &str| path.to_owned();
    let memory = |target: &str, bytes, mode| Step::Memory { target: at(target), bytes, mode };
    Plan {
        stage: text(&folder.join("stage")),
        users: vec![maker.ids()],
        groups: vec![maker.ids()],
        host_name: at("box"),
        space: 64 << 20,
        steps: vec![
            Step::Layer { target: at("/"), lower: text(&folder.join("skeleton")) },
            Step::Layer { target: at("/usr"), lower: at("/usr") },
            Step::Processes,
            Step::Devices,
            memory("/tmp", 1 << 20, 0o1777),
            memory("/run", 1 << 20, 0o777),
            memory("/workspace", 4 << 20, 0o777),
            Step::Bind { target: at("/.touchstone/door"), source: text(&folder.join("door")), writable: false },
        ],
        open: vec![text(&folder.join("skeleton"))],
        socket: at("/.touchstone/door/socket"),
        watched: at("/workspace"),
        ..Plan::default()
    }
}

/// Makes a box; `None` where none can be made.
fn raise(maker: Maker, change: impl FnOnce(&mut Plan)) -> Option<Sandbox> {
    raise_with(maker, change, |_| Vec::new())
}

/// Does the same with a command prefix.
fn raise_with(
    maker: Maker,
    change: impl FnOnce(&mut Plan),
    before: impl FnOnce(&Path) -> Vec<String>,
) -> Option<Sandbox> {
    if !possible() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    open(folder.path(), 0o755);
    skeleton(&folder.path().join("skeleton"));
    if maker == Maker::Somebody {
        let owner = format!("{0}:{0}", Maker::SOMEBODY);
        assert!(
            Command::new("chown").args(["-hR", &owner]).arg(folder.path().join("skeleton")).status().unwrap().success()
        );
    }
    for name in ["stage", "door"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        open(&folder.path().join(name), 0o777);
    }
    let listener = UnixListener::bind(folder.path().join("door/socket")).unwrap();
    open(&folder.path().join("door/socket"), 0o777);
    let mut plan = plan(folder.path(), maker);
    change(&mut plan);
    let before = before(folder.path());
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    Some(start_with(folder, &listener, maker, &plan, &before))
}

/// Starts it with a command prefix.
fn start_with(folder: TempDir, listener: &UnixListener, maker: Maker, plan: &Plan, before: &[&str]) -> Sandbox {
    let program = folder.path().join("doorkeeper");
    std::fs::copy(env!("CARGO_BIN_EXE_doorkeeper"), &program).unwrap();
    let mut command = match before {
        [] => Command::new("setpriv"),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg("setpriv");
            command
        }
    };
    if maker == Maker::Somebody {
        let id = Maker::SOMEBODY.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    let mut process = command
        .arg(program)
        .arg(BOX)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(&plan.encode()).unwrap();
    listener.set_nonblocking(true).unwrap();
    super::sandbox::wait_until("the doorkeeper's call", || {
        if let Some(status) = process.try_wait().unwrap() {
            let mut said = String::new();
            std::io::Read::read_to_string(&mut process.stderr.take().unwrap(), &mut said).unwrap();
            panic!("{status}: {said}");
        }
        let waits = rustix::event::PollFlags::IN;
        let mut polled = [rustix::event::PollFd::new(listener, waits)];
        rustix::event::poll(&mut polled, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 10_000_000 })).unwrap() > 0
    });
    listener.set_nonblocking(false).unwrap();
    Sandbox::greet(folder, listener, process)
}

fn each(test: impl Fn(Maker, &mut Sandbox)) {
    for maker in [Maker::Root, Maker::Somebody] {
        let Some(mut sandbox) = raise(maker, |_| ()) else { return };
        test(maker, &mut sandbox);
    }
}

fn says(sandbox: &mut Sandbox, spawn: Spawn) -> String {
    let finished = sandbox.run(spawn);
    let err = String::from_utf8_lossy(&finished.err).into_owned();
    assert_eq!(finished.exited.status, Status::Code(0), "{err}{}", finished.text());
    finished.text().to_owned()
}

#[test]
fn a_box_has_a_world_of_its_own() {
    each(|maker, sandbox| {
        let seen =
            says(sandbox, maker.script("ls -A / | sort | xargs; hostname; ip -o link | wc -l; ps -e -o pid= | wc -l"));
        let lines: Vec<&str> = seen.lines().collect();
        assert!(!lines[0].contains("home") && !lines[0].contains("root") && !lines[0].contains("sys"), "{seen}");
        assert_eq!(lines[1..3], ["box", "1"], "{seen}");
        // The doorkeeper, the shell, `ps` and `wc`.
        assert!(lines[3].trim().parse::<u32>().unwrap() <= 5, "{seen}");
        let own = says(
            sandbox,
            maker.script(
                "id -u; cat /proc/self/status | grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' | tr -s '\\t' ' '",
            ),
        );
        let lines: Vec<&str> = own.lines().collect();
        assert_eq!(lines[0], maker.ids().inside.to_string());
        assert!(
            own.contains("CapEff: 0000000000000000") && own.contains("NoNewPrivs: 1") && own.contains("Seccomp: 2"),
            "{own}"
        );
    });
}

#[test]
fn what_is_written_stays_in_the_box() {
    each(|maker, sandbox| {
        says(sandbox, maker.script("echo x > /workspace/a; echo x > /tmp/b; test ! -e /tmp/a"));
        let full = sandbox.run(maker.script("head -c 8M /dev/zero > /workspace/big"));
        assert_ne!(full.exited.status, Status::Code(0), "the workspace has its size");
        if maker == Maker::Root {
            says(
                sandbox,
                maker.script("echo evil > /usr/bin/ls && cat /usr/bin/ls && echo x > /etc/new && rm /usr/bin/cp"),
            );
            assert!(std::fs::metadata("/usr/bin/ls").unwrap().len() > 1000 && !Path::new("/etc/new").exists());
            assert!(Path::new("/usr/bin/cp").exists());
        }
    });
}

#[test]
fn nothing_leads_out_of_a_box() {
    // Each of these prints something when it succeeds.
    const ATTEMPTS: [(&str, &str); 29] = [
        ("the host's root", "ls /proc/1/root/ && echo seen"),
        ("the doorkeeper's environment", "cat /proc/1/environ && echo seen"),
        ("the doorkeeper's memory", "head -c 1 /proc/1/mem && echo seen"),
        ("the doorkeeper's score", "echo 1000 > /proc/1/oom_score_adj && echo changed"),
        ("the doorkeeper's limits", "prlimit --pid 1 --nofile=3:3 && echo changed"),
        (
            "the doorkeeper's life",
            "kill -9 1; kill -STOP 1; sleep 0.1; grep -q 'State:.*[TZ]' /proc/1/status && echo stopped",
        ),
        (
            "a signal that the kernel sends",
            "perl -MSocket -MFcntl -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); fcntl($a, 8, 1); fcntl($a, 10, 15); fcntl($a, F_SETFL, 020000); syswrite($b, \"x\")'; grep -q 'State:.*[TZ]' /proc/1/status && echo stopped",
        ),
        (
            "a signal through a folder of /proc",
            "perl -e 'use Fcntl; sysopen(my $d, \"/proc/1\", O_RDONLY); exit(syscall(424, fileno($d), 15, 0, 0) < 0)' && echo changed",
        ),
        (
            "the bus of the host",
            "test -S /run/dbus/system_bus_socket && echo seen; test -S /var/run/dbus/system_bus_socket && echo seen",
        ),
        (
            "a disk",
            "head -c 1 /dev/vda /dev/sda /dev/mem /dev/kmsg && echo seen; ls /dev/disk /dev/fuse /dev/kvm && echo seen",
        ),
        (
            "a folder of the host that is kept open",
            "cat /proc/1/fd/100/etc/passwd && echo seen; ls /proc/self/fd/100/ && echo seen",
        ),
        ("a mount", "mount -t tmpfs none /tmp && echo mounted"),
        ("an unmount", "umount /workspace && echo unmounted"),
        ("a user namespace", "unshare --user true && echo made"),
        ("a network namespace", "unshare --net true && echo made"),
        ("another root", "chroot / true && echo changed"),
        ("the kernel's settings", "echo x > /proc/sys/kernel/core_pattern && echo changed"),
        ("the kernel's switch", "echo h > /proc/sysrq-trigger && echo switched"),
        ("a device", "mknod /workspace/disk b 8 0 && echo made"),
        ("a key", "perl -e 'exit(syscall(248, \"user\", \"a\", \"b\", 1, -3) < 0)' && echo kept"),
        ("bpf", "perl -e 'exit(syscall(321, 0, 0, 0) < 0)' && echo loaded"),
        ("perf", "perl -e 'my $a = \"\\0\" x 128; exit(syscall(298, $a, 0, -1, -1, 0) < 0)' && echo counted"),
        ("userfaultfd", "perl -e 'exit(syscall(323, 0) < 0)' && echo watched"),
        ("io_uring", "perl -e 'my $a = \"\\0\" x 128; exit(syscall(425, 4, $a) < 0)' && echo queued"),
        (
            "a hidden process of the host",
            "perl -e 'exit(kill(0, 2) ? 0 : 1)' && test -e /proc/2/exe && ls -l /proc/2/exe && echo seen",
        ),
        (
            "secrets of the host",
            "cat /etc/shadow /root/.ssh/* /home/*/.ssh/* /run/docker.sock /var/run/docker.sock && echo seen",
        ),
        ("the engine's socket", "test -S /run/docker.sock && echo seen; test -S /var/run/docker.sock && echo seen"),
        ("control groups", "ls /sys/fs/cgroup && echo seen"),
        ("the host's name", "hostname other && echo changed"),
    ];
    each(|maker, sandbox| {
        for (what, attempt) in ATTEMPTS {
            let finished = sandbox.run(maker.script(&format!("({attempt}) 2>/dev/null | tail -n 1")));
            let said = finished.text().to_owned();
            let words = ["seen", "changed", "stopped", "mounted", "unmounted", "made", "switched", "kept", "loaded"];
            let succeeded = words.iter().chain(&["counted", "watched", "queued"]).any(|word| said == *word);
            // Its own root is not the host's.
            let own_root = what == "the host's root" && maker == Maker::Root;
            assert!(!succeeded || own_root, "{maker:?}: {what}: {said}");
        }
        let root = sandbox.run(maker.script("ls -d /proc/1/root/home /proc/1/root/root 2>/dev/null")).text().to_owned();
        assert_eq!(root, "", "{maker:?}");
        assert!(sandbox.is_running());
    });
}

#[test]
fn calls_and_families_that_are_not_allowed_are_not_there() {
    // The last families have more bits than the kernel looks at.
    let families = "for my $family (0..60, 4294967336, 4294967300) { next if grep { $_ == $family } (1, 2, 10, 16); \
                    for my $call (41, 53) { my $got = syscall($call, $family, 1, 0, 0); \
                    print \"$call $family $got \", $! + 0, \"\\n\" if $got >= 0 || $! != 97 } }";
    // Asynchronous I/O, calls of another interface to the same kernel, and calls that nobody knows.
    let absent = "for my $call (206, 207, 208, 209, 435, 1073741863, 1073741865, 457, 4711) { \
                  my $got = syscall($call, 1, 0, 0, 0, 0, 0); print \"$call $got \", $! + 0, \"\\n\" if $got >= 0 || $! != 38 }";
    let needed = "for my $family (1, 2, 10, 16) { my $got = syscall(41, $family, $family == 16 ? 3 : 1, 0); \
                  print \"$family \", $! + 0, \"\\n\" if $got < 0 }";
    each(|maker, sandbox| {
        for text in [families, absent, needed] {
            assert_eq!(says(sandbox, maker.script(&format!("perl -e '{text}'"))), "", "{maker:?}");
        }
    });
}

#[test]
fn watches_of_a_box_are_its_own() {
    let take = "my $count = 0; $count++ while syscall(253) >= 0; print $count";
    each(|maker, sandbox| {
        let all: u64 =
            std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap().trim().parse().unwrap();
        let taken: u64 = says(sandbox, maker.script(&format!("perl -e '{take}'"))).parse().unwrap();
        assert!(taken > 0 && taken <= all / 2, "{maker:?}: {taken} of {all}");
    });
}

#[test]
fn programs_with_the_setuid_bit_give_no_rights() {
    each(|maker, sandbox| {
        let who = "for program in /usr/bin/su /usr/bin/mount /usr/bin/passwd; do test -u $program && $program --help >/dev/null 2>&1; done; grep Uid /proc/self/status | tr -s '\\t' ' '";
        let id = maker.ids().inside;
        assert_eq!(says(sandbox, maker.script(who)), format!("Uid: {id} {id} {id} {id}"));
    });
}

#[test]
fn abstract_sockets_of_the_host_are_not_there() {
    use std::os::linux::net::SocketAddrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(b"touchstone-test").unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    each(|maker, sandbox| {
        let connect = "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); exit(connect($s, pack(\"Sa*\", 1, \"\\0touchstone-test\")) ? 0 : 1)'";
        assert_eq!(sandbox.run(maker.script(connect)).exited.status, Status::Code(1), "{maker:?}");
    });
}

#[test]
fn a_box_ends_with_its_worker_and_leaves_nothing() {
    each(|maker, sandbox| {
        let id = sandbox.spawn(maker.script("sleep 1000"));
        sandbox.started(id);
        let before = sandbox.workspace();
        sandbox.leave();
        let (status, said) = sandbox.end();
        assert!(status.code() == Some(1) && said.contains("the worker closed the connection"), "{status}: {said}");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let folder = before.parent().unwrap().to_str().unwrap();
        assert!(!mounts.contains(folder), "{mounts}");
    });
}

#[test]
fn a_folder_that_was_kept_open_can_be_copied_from() {
    each(|maker, sandbox| {
        let id = sandbox.ask(|id| Request::Copy {
            id,
            from: format!("/proc/self/fd/{FIRST_OPEN}").into_bytes(),
            to: b"/workspace".to_vec(),
        });
        let event = sandbox.event(id);
        assert!(format!("{event:?}").contains("Copied"), "{event:?}");
        assert_eq!(says(sandbox, maker.script("cat /workspace/etc/passwd")), "root:x:0:0:root:/root:/bin/sh");
    });
}

#[test]
fn a_sealed_box_is_written_to_only_where_it_may() {
    let Some(mut sandbox) = raise(Maker::Root, |plan| {
        for target in ["/proc", "/dev", "/tmp", "/run", "/workspace"] {
            plan.steps.insert(2, Step::Folder { target: target.to_owned(), mode: 0o755 });
        }
        plan.steps.push(Step::Seal { target: "/".to_owned() });
        plan.steps.push(Step::Seal { target: "/usr".to_owned() });
    }) else {
        return;
    };
    let tried = "echo x > /new || echo x > /usr/new || echo x > /etc/passwd || { echo x > /tmp/new && echo y > /workspace/new && cat /tmp/new; }";
    assert_eq!(says(&mut sandbox, Maker::Root.script(tried)), "x");
}

#[test]
fn a_box_that_cannot_be_made_says_why() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("stage")).unwrap();
    let mut plan = plan(folder.path(), Maker::Root);
    plan.steps[0] = Step::Layer { target: "/".to_owned(), lower: "/nowhere".to_owned() };
    let mut process = Command::new(env!("CARGO_BIN_EXE_doorkeeper"))
        .arg(BOX)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    plan.open.clear();
    process.stdin.take().unwrap().write_all(&plan.encode()).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("could not put `/nowhere` below `/`"), "{said}");
}

#[test]
fn without_control_groups_the_limits_of_the_kernel_hold() {
    for maker in [Maker::Root, Maker::Somebody] {
        let ceilings = Ceilings { memory: 128 << 20, processes: 40, cores: 1 };
        let Some(mut sandbox) = raise(maker, |plan| plan.ceilings = Some(ceilings)) else { return };
        let memory = "perl -e 'my $all = \"x\" x (256 << 20); print length $all'";
        assert_ne!(sandbox.run(maker.script(memory)).exited.status, Status::Code(0), "{maker:?}");
        let little = "perl -e 'my $all = \"x\" x (16 << 20); print length $all'";
        assert_eq!(says(&mut sandbox, maker.script(little)), (16 << 20).to_string());
        assert_eq!(says(&mut sandbox, maker.script("nproc")), "1", "{maker:?}");
        if maker == Maker::Somebody {
            let bomb = "perl -e 'for (1..200) { my $p = fork; last unless defined $p; if (!$p) { sleep 60; exit } print \"x\" }'";
            let made = sandbox.run(maker.script(bomb)).text().len();
            assert!((1..=40).contains(&made), "{made} processes");
        }
        let raised = "prlimit --pid $$ --data=unlimited --nproc=unlimited && echo raised";
        assert_ne!(sandbox.run(maker.script(raised)).text(), "raised", "{maker:?}");
        assert!(sandbox.is_running());
    }
}

#[test]
fn a_box_beside_another_has_its_network_and_can_have_a_user_of_another_name() {
    for maker in [Maker::Root, Maker::Somebody] {
        let Some(mut first) = raise(maker, |_| ()) else { return };
        let (watcher, descriptors) = first.told();
        let namespace = |name: &str| {
            let index = descriptors.len() - NAMESPACES.len() + NAMESPACES.iter().position(|one| *one == name).unwrap();
            format!("/proc/{watcher}/fd/{}", descriptors[index])
        };
        let beside = Beside { users: namespace("user"), network: namespace("net") };
        let other = Ids { inside: 70, outside: 0, count: 1 };
        let own = |plan: &mut Plan| {
            plan.beside = Some(beside);
            (plan.users, plan.groups) = (vec![other], vec![other]);
        };
        let mut second = raise(maker, own).unwrap();
        let who = Spawn { uid: 70, gid: 70, ..maker.script("id -u; id -g; readlink /proc/self/ns/net") };
        let said = second.run(who).text().to_owned();
        let network = says(&mut first, maker.script("readlink /proc/self/ns/net"));
        assert_eq!(said.lines().collect::<Vec<_>>(), ["70", "70", network.as_str()], "{maker:?}");
        let into_the_other = Spawn { uid: 70, gid: 70, ..maker.script("ls /proc | grep -c '^[0-9]'") };
        assert!(second.run(into_the_other).text().parse::<u32>().unwrap() <= 5, "its processes are its own");
    }
}

#[test]
fn what_has_a_mount_below_it_can_be_read_and_not_written_to() {
    for maker in [Maker::Root, Maker::Somebody] {
        let sandbox = raise_with(
            maker,
            |plan| {
                let lower = plan.stage.replace("/stage", "/extra");
                plan.steps.push(Step::Layer { target: "/more".to_owned(), lower });
            },
            |folder| {
                let hidden = folder.join("extra/below");
                std::fs::create_dir_all(&hidden).unwrap();
                std::fs::write(folder.join("extra/file"), "y").unwrap();
                let mount = format!(
                    "mount -t tmpfs -o mode=777 none '{0}' && echo x > '{0}/there' && exec \"$@\"",
                    hidden.display()
                );
                ["unshare", "--mount", "sh", "-c", &mount, "sh"].map(ToOwned::to_owned).to_vec()
            },
        );
        let Some(mut sandbox) = sandbox else { return };
        assert_eq!(says(&mut sandbox, maker.script("cat /more/below/there /more/file")), "x\ny");
        let tried = "echo y > /more/below/there || echo y > /more/new || rm /more/file || echo refused";
        assert_eq!(says(&mut sandbox, maker.script(&format!("({tried}) 2>/dev/null"))), "refused", "{maker:?}");
    }
}
