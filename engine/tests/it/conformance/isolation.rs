//! The walls of a sandbox: what cannot be seen, reached or become from inside.

use std::net::{Ipv4Addr, TcpListener};

use doorkeeper::protocol::Spawn;
use engine::backend::Sandbox;
use engine::door::{Command, CommandEvent};
use serde_json::json;

use super::{DEBIAN, Sketch, TestImage, is_met, printed, suite};
use crate::harness::{Harness, small};

suite! {
    the_network_is_a_loopback_and_nothing_else,
    the_agent_has_no_capability_and_no_way_to_one,
    what_is_ours_inside_cannot_be_changed,
    a_neighbour_can_neither_be_seen_nor_reached;
    also on local:
    the_network_is_a_loopback_and_nothing_else,
    what_is_ours_inside_cannot_be_changed,
    a_neighbour_can_neither_be_seen_nor_reached,
}

async fn the_network_is_a_loopback_and_nothing_else(harness: &mut Harness) {
    // Listeners of this machine, one of them where containers usually reach it.
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let everywhere = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a listener");
    let [own_port, port] = [&own, &everywhere].map(|listener| listener.local_addr().expect("an address").port());
    let mut targets =
        vec![format!("127.0.0.1/{own_port}"), format!("127.0.0.1/{port}"), "host.docker.internal/80".to_owned()];
    targets.extend(own_addresses().into_iter().map(|address| format!("{address}/{port}")));
    targets.extend(["1.1.1.1/443", "169.254.169.254/80", "10.0.0.1/22"].map(ToOwned::to_owned));
    let script = format!(
        r#"
        echo "links=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n')"
        echo "routes=$(tail -n +2 /proc/net/route | wc -l)"
        echo "addresses=$(grep -B1 'host LOCAL' /proc/net/fib_trie | grep -oE '[0-9]+(\.[0-9]+){{3}}' | sort -u | tr '\n' ' ')"
        for target in {}; do
            timeout 2 bash -c "echo > /dev/tcp/$target" 2> /dev/null && echo "reached=$target"
        done
        getent hosts example.com > /dev/null && echo "resolved=yes"
        timeout 2 bash -c "echo > /dev/udp/1.1.1.1/53" 2> /dev/null && echo "sent=yes"
        ls -d /run/docker.sock /var/run/docker.sock /run/containerd 2> /dev/null && echo "engine=yes"
        echo "end=yes"
        "#,
        targets.join(" ")
    );
    let (_, evidence) = Sketch::acting(&script).run(harness).await;
    let said = printed(&evidence);
    assert_eq!(said.get("end").map(String::as_str), Some("yes"), "{evidence:#?}");
    assert_eq!((said["links"].as_str(), said["routes"].as_str()), ("lo", "0"), "{said:#?}");
    assert!(said["addresses"].split_whitespace().all(|address| address.starts_with("127.")), "{said:#?}");
    for key in ["reached", "resolved", "sent", "engine"] {
        assert_eq!(said.get(key), None, "{said:#?}");
    }
    own.set_nonblocking(true).expect("a mode");
    everywhere.set_nonblocking(true).expect("a mode");
    assert!(own.accept().is_err() && everywhere.accept().is_err(), "somebody came");
}

/// The addresses of this machine, that of Docker's bridge among them.
fn own_addresses() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/net/fib_trie").expect("a table");
    let lines: Vec<_> = table.lines().collect();
    let local = lines.windows(2).filter(|pair| pair[1].contains("host LOCAL"));
    let mut found: Vec<_> = local.filter_map(|pair| Some(pair[0].split("-- ").nth(1)?.to_owned())).collect();
    found.sort();
    found.dedup();
    assert!(found.iter().any(|address| !address.starts_with("127.")), "{found:?}");
    found
}

async fn the_agent_has_no_capability_and_no_way_to_one(harness: &mut Harness) {
    let image = TestImage::make(DEBIAN, "cp /usr/bin/id /usr/bin/who-am-i && chmod 6755 /usr/bin/who-am-i", &[]);
    let script = r#"
        while read -r key value; do echo "${key%:}=$value"; done < <(grep -E '^(Cap(Eff|Prm|Inh|Amb)|NoNewPrivs|Seccomp|Uid|Groups):' /proc/self/status)
        echo "setuid=$(stat -c %A /usr/bin/who-am-i | cut -c4) $(who-am-i -u):$(who-am-i -g)"
        try() { "$@" > /dev/null 2>&1 && echo "could=$*"; }
        try mount -t tmpfs none /mnt; try mount --bind /etc /mnt; try chown 4321 /etc/passwd; try mknod /tmp/null c 1 3
        try unshare -r true; try unshare -n true; try chroot / true; try hostname other; try cat /dev/kmsg
        try sh -c 'echo 1 > /proc/sys/kernel/panic'; try sh -c 'echo 1 > /proc/1/oom_score_adj'; try kill -9 1
        try sh -c 'echo -500 > /proc/self/oom_score_adj'; try sh -c 'echo 1 > /sys/fs/cgroup/memory/memory.limit_in_bytes'
        try nsenter -t 1 -n true; try prlimit --pid 1 --nofile=3; try su nobody -s /bin/sh -c true
        echo "devices=$(find /dev -type b | wc -l) $(ls /dev | tr '\n' ' ')"; echo "init=$(cat /proc/1/comm)"
    "#;
    for user in ["0", "1234"] {
        let sketch = Sketch::acting(script).base(image.name()).agent("user", json!(user));
        let (_, evidence) = sketch.run(harness).await;
        let said = printed(&evidence);
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(said[set], "0000000000000000", "{user}: {said:#?}");
        }
        assert_eq!((said["NoNewPrivs"].as_str(), said["Seccomp"].as_str()), ("1", "2"), "{user}: {said:#?}");
        assert_eq!(said["setuid"], format!("s {user}:0"), "a setuid program gains nothing");
        assert_eq!(said.get("could"), None, "{user}: {said:#?}");
        assert!(said["init"].starts_with("doorkeeper"), "{said:#?}");
        let devices: Vec<_> = said["devices"].split_whitespace().collect();
        let known = "0 console core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero";
        assert!(devices.iter().all(|device| known.split(' ').any(|known| known == *device)), "{devices:?}");
    }
}

async fn what_is_ours_inside_cannot_be_changed(harness: &mut Harness) {
    let script = r#"
        echo x > kept; cd /.touchstone; echo "there=$(find . | sort | tr '\n' ' ')"
        for path in doorkeeper door/x door/socket; do { echo x > $path; } 2> /dev/null && echo "wrote=$path"; done
        { rm -f doorkeeper || mv door away; } 2> /dev/null && echo "removed=yes"
        mv /.touchstone /gone; mkdir /.touchstone; mkdir /.touchstone/other
        find / -xdev -type s 2> /dev/null | grep . && echo "sockets=yes"
        grep -E ' /\.touchstone/(doorkeeper|door) ' /proc/self/mounts | grep -v ' ro,' && echo "writable=yes"
        ls /proc/1/fd /proc/1/cwd/ > /dev/null 2>&1 && echo "looked=yes"
        head -c 1 /proc/1/environ > /dev/null 2>&1 && echo "read=yes"; echo "end=yes"
    "#;
    let sketch = Sketch::acting(script)
        .must_succeed("sandbox", "true")
        .must("fresh", json!({"type": "command_exit", "command": "test -s kept", "verify": "fresh"}));
    let (result, evidence) = sketch.run(harness).await;
    assert!(
        is_met(&result, "sandbox") && is_met(&result, "fresh"),
        "its own image is the agent's to change: {result:#?}"
    );
    assert!(evidence.image_changes.iter().any(|path| path == "/.touchstone/other"), "{:?}", evidence.image_changes);
    let said = printed(&evidence);
    assert_eq!(said["there"], ". ./door ./doorkeeper ");
    for key in ["wrote", "removed", "sockets", "writable", "looked", "read"] {
        assert_eq!(said.get(key), None, "{evidence:#?}");
    }
    assert_eq!(said["end"], "yes");
}

async fn a_neighbour_can_neither_be_seen_nor_reached(harness: &mut Harness) {
    let one = harness.sandbox(DEBIAN, small()).await;
    let other = harness.sandbox(DEBIAN, small()).await;
    let server = r#"
        use IO::Socket; use Socket;
        my $port = IO::Socket::INET->new(LocalAddr => "127.0.0.1:7777", Listen => 5) or die;
        socket(my $unix, PF_UNIX, SOCK_STREAM, 0); bind($unix, pack_sockaddr_un("\0neighbour")) or die; listen($unix, 5);
        open my $file, ">", "/workspace/mine"; open my $other, ">", "/tmp/mine"; open my $shared, ">", "/dev/shm/mine";
        $0 = "the-neighbour"; $| = 1; print "ready\n"; sleep 1000;
    "#;
    let look = r#"
        use IO::Socket; use Socket;
        print "port " if IO::Socket::INET->new("127.0.0.1:7777");
        socket(my $unix, PF_UNIX, SOCK_STREAM, 0); print "unix " if connect($unix, pack_sockaddr_un("\0neighbour"));
        print "file " if grep { -e } "/workspace/mine", "/tmp/mine", "/dev/shm/mine";
        print "process " if `cat /proc/[0-9]*/cmdline` =~ /the-n[e]ighbour/;
        print "end\n";
    "#;
    let mut command = one.door().spawn(perl(server)).await.expect("started");
    let CommandEvent::Output(_, said) = command.next().await.expect("an event") else { panic!("it ended") };
    assert_eq!(said, b"ready\n");
    assert_eq!(run(&*one, look).await, "port unix file process end\n", "it is there for itself");
    assert_eq!(run(&*other, look).await, "end\n");
    one.destroy().await.expect("removed");
    assert_eq!(run(&*other, "print 'alive'").await, "alive", "the end of one is not the end of the other");
    other.destroy().await.expect("removed");
}

async fn run(sandbox: &dyn Sandbox, script: &str) -> String {
    let command = sandbox.door().spawn(perl(script)).await.expect("started");
    all_output(command).await
}

/// Returns the whole output of a command.
pub(super) async fn all_output(mut command: Command) -> String {
    let mut printed = Vec::new();
    loop {
        match command.next().await.expect("an event") {
            CommandEvent::Output(_, bytes) => printed.extend(bytes),
            CommandEvent::Exited(_) => return String::from_utf8_lossy(&printed).into_owned(),
        }
    }
}

fn perl(script: &str) -> Spawn {
    spawn(&["/usr/bin/perl", "-e", script])
}

/// A command as root.
pub(super) fn spawn(words: &[&str]) -> Spawn {
    Spawn {
        arguments: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        environment: vec![(b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())],
        directory: b"/".to_vec(),
        uid: 0,
        gid: 0,
        ..Spawn::default()
    }
}
