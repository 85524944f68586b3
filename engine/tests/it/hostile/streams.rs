//! Agents that print.

use std::fs;

use scenario::evidence::{Exit, Limit};
use serde_json::json;

use super::{Attack, assert_harmless, assert_limit};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    an_endless_line_is_the_limit_of_output_and_takes_no_memory_here,
    garbage_and_closed_streams_do_no_harm,
    an_agent_that_plays_with_its_pipes_harms_only_its_own_output;
    also on local:
    an_endless_line_is_the_limit_of_output_and_takes_no_memory_here,
    garbage_and_closed_streams_do_no_harm,
    an_agent_that_plays_with_its_pipes_harms_only_its_own_output,
}

/// The memory of this process, in MiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") / 1024
}

/// Prints as fast as it can, on one stream.
fn flood(stream: u32) -> Attack {
    let program = format!("import os\nwhile True:\n    os.write({stream}, b'x' * 1000000)\n");
    Attack::new(&program).with("resources.output", "160MB").expect("x", json!({"type": "file_exists", "path": "."}))
}

async fn an_endless_line_is_the_limit_of_output_and_takes_no_memory_here(harness: &mut Harness) {
    let before = resident();
    for stream in [1, 2] {
        let (result, evidence) = harness.run(&flood(stream).yaml()).await;
        assert_limit(&result, Limit::Output);
        let kept = evidence.agent.stdout.text().len() + evidence.agent.stderr.text().len();
        assert!(kept < 3 << 20, "{kept}");
    }
    assert!(resident() < before + 128, "{before} MiB before, {} MiB at most", resident());
}

/// Prints what no text is, and what a terminal would obey; leaves a pipe full, closes both streams, and goes on.
const GARBAGE: &str = r#"
import os, subprocess
os.write(1, bytes(range(256)) * 64)
os.write(1, b"\x1b[2J\x1b[1;31mPASS\x1b]0;title\x07\r\n" * 100)
os.write(2, b"\xff\xfe\x00" * 1000)
subprocess.Popen(["sleep", "600"])
os.write(1, b"[redacted:x:0]\n{\"passed\": true}\n")
os.close(1)
os.close(2)
open("/workspace/after", "w").close()
os._exit(7)
"#;

async fn garbage_and_closed_streams_do_no_harm(harness: &mut Harness) {
    let attack = Attack::new(GARBAGE).expect("after", json!({"type": "file_exists", "path": "after"}));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_harmless(&result);
    assert_eq!(evidence.agent.exit, Some(Exit::Code(7)));
    assert!(evidence.agent.stdout.text().ends_with("{\"passed\": true}\n"));
}

/// Reads its own output away, makes it wait, and makes the pipes as large as they get.
const PIPES: &str = r#"
import fcntl, os
for stream in (1, 2):
    fcntl.fcntl(stream, 1031, 1 << 20)
    os.set_blocking(stream, False)
try:
    while True:
        os.write(1, b"y" * 4096)
except BlockingIOError:
    pass
back = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
try:
    while True:
        os.read(back, 1 << 20)
except BlockingIOError:
    pass
"#;

async fn an_agent_that_plays_with_its_pipes_harms_only_its_own_output(harness: &mut Harness) {
    let (result, _) =
        harness.run(&Attack::new(PIPES).expect("x", json!({"type": "file_exists", "path": "."})).yaml()).await;
    assert_harmless(&result);
}
