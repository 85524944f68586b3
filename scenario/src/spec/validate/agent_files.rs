//! `agent.command`: a file of the spec's folder that it runs is put into the sandbox.
//!
//! Only what is certain is reported: the command's first file, where nothing else could have put it there.

use super::rules::Rules;
use crate::spec::Spec;
use crate::spec::code::Code;
use crate::spec::sections::{Cli, Fixture};
use crate::spec::types::{Command, SandboxPath};

/// Programs that run the file which is named after them.
const INTERPRETERS: [&str; 10] = ["bash", "dash", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"];
/// Options after which no file follows, but code or the name of a module.
const INSTEAD_OF_A_FILE: [&str; 5] = ["-c", "-e", "-m", "-p", "-r"];
/// Images of others, in which no agent of the spec's author can be.
const BARE_IMAGES: [&str; 16] = [
    "alpine", "busybox", "debian", "fedora", "golang", "mariadb", "mysql", "node", "perl", "php", "postgres", "python",
    "redis", "ruby", "rust", "ubuntu",
];

pub(super) fn check(rules: &mut Rules<'_>, cli: &Cli) {
    let Some(file) = run_file(&cli.command) else { return };
    let file = file.trim_start_matches("./").to_owned();
    let is_broken = ["setup", "fixtures", "base"].iter().any(|section| rules.holes.has_section(section));
    if is_broken || !rules.is_beside(&file) || may_be_there(rules.spec, cli, &file) {
        return;
    }
    let help = format!("copy it: add `{{ path: {file}, from: {file} }}` to `setup.files`");
    let message = format!("`{file}` is in the spec's folder, and nothing puts it into the sandbox");
    rules.at("command").report(Code::FileNotCopied, message, Some(&help));
}

/// The file that a command runs: its program, or what its interpreter is given.
fn run_file(command: &Command) -> Option<&str> {
    let words: Vec<&str> = match command {
        Command::Line(line) => line.source().split_whitespace().collect(),
        Command::Words(words) => words.iter().map(|word| word.source()).collect(),
    };
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !INTERPRETERS.contains(&name) {
        return Some(program);
    }
    let options = arguments.iter().take_while(|word| word.starts_with('-')).count();
    let (options, rest) = arguments.split_at(options);
    let is_something_else = options.iter().any(|option| INSTEAD_OF_A_FILE.contains(option));
    rest.first().filter(|_| !is_something_else).copied()
}

/// Returns true if the image, a fixture, or `setup` may create the file.
fn may_be_there(spec: &Spec, cli: &Cli, file: &str) -> bool {
    let image = spec.base.source().trim_start_matches("touchstone/");
    let image = image.split([':', '@']).next().unwrap_or(image);
    let name = file.rsplit('/').next().unwrap_or(file);
    let written = |path: &SandboxPath| path.as_literal().is_none_or(|path| path.ends_with(name));
    !BARE_IMAGES.contains(&image)
        || cli.workdir != SandboxPath::workspace()
        || spec.setup.files.iter().any(|file| written(&file.path))
        || spec.setup.commands.iter().any(|command| names(command, name))
        || spec.fixtures.iter().any(|fixture| matches!(fixture, Fixture::GitRepo(_) | Fixture::Directory(_)))
}

fn names(command: &Command, file: &str) -> bool {
    match command {
        Command::Line(line) => line.source().contains(file),
        Command::Words(words) => words.iter().any(|word| word.source().contains(file)),
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::code::Code;
    use crate::spec::{Bundle, load};

    /// Returns true if a spec with this agent, base and rest gets a warning, when `agent.py` and `run/agent.sh` are
    /// beside it.
    fn is_warned(base: &str, command: &str, rest: &str) -> bool {
        let files = ["agent.py", "run/agent.sh", "notes.txt"].map(|file| (file.to_owned(), 1));
        let bundle = Bundle::new(files).expect("a bundle");
        let text = format!(
            "version: 1\nid: t\nbase: {base}\ntask: {{prompt: x}}\nagent: {{type: cli, command: {command}}}\n{rest}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let found: Vec<_> = load(&text, Some(&bundle)).diagnostics.into_iter().map(|finding| finding.code).collect();
        assert!(found.iter().all(|code| *code == Code::FileNotCopied), "{text}: {found:?}");
        !found.is_empty()
    }

    #[test]
    fn a_file_that_nothing_copies_is_told() {
        for command in [
            "python agent.py",
            "./agent.py",
            "python3 -u ./agent.py --verbose",
            "/usr/bin/env-less/python3 agent.py",
            "bash run/agent.sh > log",
            "[python3, agent.py]",
            "'python3 agent.py --task \"{{ task.prompt }}\"'",
        ] {
            assert!(is_warned("python:3.12", command, ""), "{command}");
        }
    }

    #[test]
    fn what_may_be_there_is_not_told() {
        for command in [
            "python other.py",
            "python -m agent.py",
            "sh -c agent.py",
            "cat agent.py",
            "cd run && bash agent.sh",
            "python3 /opt/agent.py",
        ] {
            assert!(!is_warned("python:3.12", command, ""), "{command}");
        }
        for rest in [
            "setup: {files: [{path: agent.py, from: agent.py}]}",
            "setup: {files: [{path: /workspace/agent.py, content: x}]}",
            "setup: {files: [{path: '{{ seed }}', content: x}]}",
            "setup: {commands: [printf x > agent.py]}",
            "fixtures: [{type: directory, path: run}]",
        ] {
            assert!(!is_warned("python:3.12", "python agent.py", rest), "{rest}");
        }
        assert!(!is_warned("registry.example/my-agent:1", "python agent.py", ""), "the image may have it");
        assert!(!is_warned("python", "python agent.py, workdir: /srv", ""), "the image may have it there");
    }
}
