//! Images that agents run in.

use super::world::World;

async fn check(image: &'static str, script: &str, expected: &str) {
    let world = World::new(image).await;
    let ran = world.agent_runs(&[], &["sh", "-c", script]).await;
    assert_eq!((ran.code, ran.output.trim()), (0, expected));
}

#[tokio::test]
async fn busybox_has_its_programs_and_two_users() {
    let script = "id -un; id -u agent; stat -c %a /tmp; echo b a | awk '{ print $2 }'; ls -d /home/agent; find /var /etc /tmp | wc -l";
    check("touchstone/busybox:1", script, "root\n1000\n1777\na\n/home/agent\n9").await;
}

#[tokio::test]
async fn debian_has_what_scripts_use() {
    let script = "id -un; for program in bash awk sed grep perl diff tar gzip find apt-get; do command -v $program > /dev/null || echo no $program; done; . /etc/os-release; echo $VERSION_CODENAME; ls /usr/share/doc /usr/share/man | grep -v : | wc -w";
    check("touchstone/debian:bookworm", script, "root\nbookworm\n0").await;
}

#[tokio::test]
async fn python_answers_to_both_of_its_names() {
    let script = "python -c 'import ssl, sqlite3, sys; print(sys.version_info[:2])'; python3 -c 'print(1)'; perl -MData::Dumper -e 'print 2'; echo a | diff - /dev/null | head -n 1";
    check("touchstone/python:3.11", script, "(3, 11)\n1\n21d0").await;
}
