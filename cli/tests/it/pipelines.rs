//! The scripts of docs/ci, taken out of their files and run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, THERE, local_spec};
use crate::{FOREIGN, read, root};

/// The blocks of text below a key, such as `run: |`, in the order of the file.
fn blocks(text: &str, key: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<_> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.trim() == key);
    starts
        .map(|(start, line)| {
            let inside = lines[start + 1..].iter().take_while(|inner| inner.is_empty() || indent(inner) > indent(line));
            inside.map(|inner| format!("{}\n", inner.trim())).collect()
        })
        .collect()
}

/// Runs a script in a folder, as a pipeline would.
fn script(place: &Place, shell: &[&str], text: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(shell[0]);
    let program = Path::new(env!("CARGO_BIN_EXE_touchstone")).parent().expect("a folder").display().to_string();
    let path = format!("{}:{program}:{}", place.path().join("bin").display(), std::env::var("PATH").expect("a path"));
    for foreign in FOREIGN {
        command.env_remove(foreign);
    }
    command.args(&shell[1..]).args(["-c", text]).current_dir(place.path()).env("PATH", path);
    command.env("TOUCHSTONE_DATA_DIR", place.data()).env("TOUCHSTONE_BACKEND", "local");
    read(command.envs(variables.iter().copied()).output().expect("a shell"))
}

const BASH: [&str; 4] = ["bash", "--noprofile", "--norc", "-eo"];

/// Installs a stand-in of GitHub's command line, which records its calls, and lists a comment when the test provides
/// one.
fn fake_gh(place: &Place) {
    let folder = place.path().join("bin");
    fs::create_dir(&folder).expect("a folder");
    let text = "#!/bin/sh\necho \"$@\" >> calls\ncase \"$*\" in *--paginate*) cat known 2>/dev/null || true;; esac\n";
    fs::write(folder.join("gh"), text).expect("a file");
    fs::set_permissions(folder.join("gh"), fs::Permissions::from_mode(0o755)).expect("a program");
}

#[test]
fn the_github_action_runs_comments_and_ends_with_the_verdict() {
    let action = fs::read_to_string(root().join("docs/ci/github-action/action.yml")).expect("the action");
    let steps = blocks(&action, "run: |");
    let [run, comment, verdict] = steps.as_slice() else { panic!("three steps: {steps:#?}") };
    let place = Place::new(&local_spec("true", THERE));
    fake_gh(&place);
    let bash = [&BASH[..], &["pipefail"]].concat();
    let inputs = [
        ("INPUT_SPECS", "spec"),
        ("INPUT_ARGUMENTS", "--replicas 1"),
        ("INPUT_PROGRAM", "touchstone"),
        ("INPUT_BASELINE", "nowhere.json"),
        ("INPUT_OUTPUT", "out"),
        ("INPUT_COMMENT_KEY", "report"),
        ("TOUCHSTONE_URL", ""),
        ("TOUCHSTONE_API_KEY", ""),
        ("GITHUB_OUTPUT", "outputs"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
    ];
    let (code, stdout, stderr) = script(&place, &bash, run, &inputs);
    assert_eq!(code, 0, "a failing agent does not end the step: {stdout}{stderr}");
    assert!(stdout.contains("::error file=spec/spec.yaml,title=trial/default-r0 fail::"), "{stdout}");
    let file = |name: &str| fs::read_to_string(place.path().join(name)).unwrap_or_default();
    assert_eq!(file("outputs"), "exit-code=1\n");
    assert!(file("out/junit.xml").contains("<testsuite") && file("out/report.json").contains("\"verdict\": \"fail\""));
    assert!(file("summary.md").contains("### Touchstone: `trial` failed"));

    let about = [("INPUT_OUTPUT", "out"), ("REPOSITORY", "o/r"), ("PULL_REQUEST", "7"), ("GH_TOKEN", "x")];
    let (code, _, stderr) = script(&place, &bash, comment, &about);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        file("calls").contains("--method POST repos/o/r/issues/7/comments -F body=@out/comment.md"),
        "{}",
        file("calls")
    );
    assert!(file("calls").contains("startswith(\"<!-- touchstone:report -->\")"), "{}", file("calls"));
    fs::write(place.path().join("known"), "42\n").expect("a file");
    let (code, _, stderr) = script(&place, &bash, comment, &about);
    assert_eq!(code, 0, "{stderr}");
    assert!(file("calls").contains("--method PATCH repos/o/r/issues/comments/42 -F body=@out/comment.md"));
    fs::write(place.path().join("bin/gh"), "#!/bin/sh\necho forbidden >&2\nexit 1\n").expect("a file");
    let (code, stdout, _) = script(&place, &bash, comment, &about);
    assert!(code == 0 && stdout.contains("::warning title=Touchstone::the comment was not written"), "{stdout}");
    assert_eq!(script(&place, &bash, verdict, &[("CODE", "1")]).0, 1);
    assert_eq!(script(&place, &bash, verdict, &[("CODE", "0")]).0, 0);
}

#[test]
fn the_gitlab_job_runs_and_leaves_its_reports() {
    let file = fs::read_to_string(root().join("docs/ci/gitlab-ci.yml")).expect("the job");
    let blocks = blocks(&file, "- |");
    let [job] = blocks.as_slice() else { panic!("one script: {blocks:#?}") };
    let place = Place::new(&local_spec("touch out", THERE));
    let variables = [("SPECS", "spec"), ("ARGUMENTS", ""), ("BASELINE", "baseline/report.json")];
    let (code, stdout, stderr) = script(&place, &["sh", "-e"], job, &variables);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let folder = place.path().join("touchstone-report");
    assert!(["report.json", "junit.xml", "comment.md"].iter().all(|name| folder.join(name).is_file()));
    fs::create_dir(place.path().join("baseline")).expect("a folder");
    fs::rename(folder.join("report.json"), place.path().join("baseline/report.json")).expect("moved");
    fs::write(place.spec().join("spec.yaml"), local_spec("true", THERE)).expect("a spec");
    let (code, stdout, stderr) = script(&place, &["sh", "-e"], job, &variables);
    assert!(code == 1 && stdout.contains("which fails the run"), "{stdout}{stderr}");
}
