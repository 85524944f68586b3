//! The help of every command.

use crate::run;

/// Commands whose help stands elsewhere or is of no interest to people.
const ELSEWHERE: [&str; 7] = ["cancel", "gc", "list", "rescore", "show", "sweep", "help"];

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let (code, stdout, _) = run(&["--help"]);
    assert_eq!(code, 0);
    let lines = stdout.lines().skip_while(|line| *line != "Write a spec:").take_while(|line| *line != "Options:");
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect()
}

#[test]
fn every_command_says_what_it_does() {
    let commands = commands();
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands.iter().filter(|command| !ELSEWHERE.contains(&command.as_str())) {
        let (code, stdout, stderr) = run(&[command, "--help"]);
        assert_eq!((code, stderr.as_str()), (0, ""), "{command}");
        let stdout: String = stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        insta::assert_snapshot!(format!("help_{command}"), stdout);
    }
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, stderr) = run(&["completions", shell]);
        assert!(code == 0 && script.contains("submit") && script.contains("doctor"), "{shell}: {stderr}");
    }
    let (code, _, stderr) = run(&["completions", "tcsh"]);
    assert!(code == 2 && stderr.contains("bash"), "{stderr}");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let (code, page, _) = run(&["man"]);
    assert!(code == 0 && page.contains(".TH touchstone 1") && page.contains("Exit codes"), "{page}");
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, stderr) = run(&["man", "--folder", &folder.path().display().to_string()]);
    assert_eq!(code, 0, "{stderr}");
    for command in commands().iter().filter(|command| *command != "help") {
        let path = folder.path().join(format!("touchstone-{command}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(page.contains("SYNOPSIS"), "{page}");
    }
    assert!(folder.path().join("touchstone-key-create.1").exists());
    assert!(!folder.path().join("touchstone-confine.1").exists(), "what is hidden has no page");
}
