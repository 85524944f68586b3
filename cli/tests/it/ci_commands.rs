//! The output of an agent is no command for the CI system in which `touchstone` runs.

use crate::place::{Place, THERE, spec};
use crate::read;

/// An agent that says to a runner what only we should.
const AGENT: &str = "printf '::add-mask::e\\n  ::stop-commands::x\\nsee ##[stop-commands]x\\n##vso[task.setvariable variable=v]x\\n##'; echo '[error]x' >&2";

/// Returns true if a runner of GitHub, Azure or `TeamCity` would find a command in a line.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::") || ["##[", "##vso[", "##teamcity["].iter().any(|word| line.contains(word))
}

#[test]
fn no_line_that_is_printed_where_ci_listens_is_a_command_of_the_agents() {
    let place = Place::new(&spec(AGENT, THERE));
    let spec = place.spec().display().to_string();
    let printed = |arguments: &[&str], ci: bool| {
        let mut command = place.command(arguments);
        if ci {
            command.env("GITHUB_ACTIONS", "true");
        }
        let (_, stdout, stderr) = read(command.output().expect("a run"));
        format!("{stdout}{stderr}")
    };
    for format in ["text", "json", "ndjson", "junit", "markdown"] {
        let text = printed(&["run", "--no-pull", &spec, "--format", format], true);
        let is_shown = text.contains("stop-commands") || format == "markdown";
        assert!(is_shown, "{format} shows what was printed: {text}");
        assert_eq!(text.lines().find(|line| is_command(line)), None, "{format}: {text}");
    }
    let github = printed(&["run", "--no-pull", &spec, "--format", "github"], true);
    let is_ours = |line: &str| ["::error ", "::notice "].iter().any(|ours| line.starts_with(ours));
    assert_eq!(github.lines().find(|line| is_command(line) && !is_ours(line)), None, "{github}");
    for arguments in
        [["show", "latest", "--output"], ["show", "latest", "--evidence"], ["show", "latest", "--format=json"]]
    {
        let text = printed(&arguments, true);
        assert!(text.contains("stop-commands"), "{text}");
        assert_eq!(text.lines().find(|line| is_command(line)), None, "{arguments:?}: {text}");
    }
    assert!(
        printed(&["show", "latest", "--output"], false).starts_with("::add-mask::e\n"),
        "exact where nobody listens"
    );
}
