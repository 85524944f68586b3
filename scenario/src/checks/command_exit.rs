//! `command_exit`: does a command return the expected exit code?

use std::time::Duration;

use super::verify::Verify;
use super::{Case, unanswered};
use crate::evidence::{Answer, CommandAnswer, Limit, Probe};
use crate::plan::Values;
use crate::spec::section::section;
use crate::spec::types::{Filled, Timespan, Whole};
use crate::verdict::Verdict;

/// Maximum length of each output stream in a failure message: its end, where a failing program gives the reason.
const SHOWN: usize = 1500;

section! {
    /// Runs a command through `sh -c` in the workspace, after the agent is gone. Passes when the exit code is the
    /// expected one. A command that is killed by signal n counts as exit code 128 + n, and one that reaches its time
    /// limit fails.
    ///
    /// The message of a failure shows the last 1,500 characters of each output stream; the evidence keeps the first and
    /// the last 64 KiB.
    ///
    /// The command runs in the image that the agent left. When anything outside the workspace and `/tmp` was changed, the
    /// verdict says so and lists it, and when not all of that is known, it fails; `verify: fresh` runs the command in a new
    /// container of the original image, with a copy of the workspace and no network, and `verify: {fresh: [PATH]}` with a
    /// copy of more than the workspace.
    ///
    /// ```yaml
    /// check:
    ///   type: command_exit
    ///   command: python3 -m unittest
    ///   verify: fresh
    /// ```
    pub struct CommandExit {
        /// The line that `sh -c` runs.
        command: Filled,
        /// The exit code that passes.
        exit_code: Whole<0, 255> = Whole::new(0),
        /// Where the command runs: in the `sandbox` that the agent left, or in a `fresh` container of the original image with a
        /// copy of the workspace and no network.
        verify: Verify = Verify::Sandbox,
        /// How long the command may take.
        timeout: Timespan = Timespan::from_secs(120),
    }
}

impl CommandExit {
    pub(super) fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        let command = vec!["sh".to_owned(), "-c".to_owned(), self.command.render(values)];
        vec![Probe::Command { command, timeout: self.timeout.get(), verify: self.verify.clone() }]
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let [Answer::Command(answer)] = case.answers else {
            return unanswered();
        };
        let expected = self.exit_code.get();
        let verdict = match answer.exit {
            Some(exit) if i64::from(exit.shell_code()) == expected => Verdict::passed(),
            Some(exit) => Verdict::failed(format!("expected exit code {expected}, found {exit}{}", outputs(answer))),
            None => Verdict::failed(format!("{}{}", overdue(self.timeout.get()), outputs(answer))),
        };
        let verdict = if self.verify == Verify::Sandbox { if_image_is_known(verdict, case) } else { verdict };
        note_changes(verdict, answer, case)
    }
}

/// The message for a command that was stopped.
pub(super) fn overdue(timeout: Duration) -> String {
    format!("the command did not end within {}s (limit `{}`)", timeout.as_secs_f64(), Limit::CheckTimeout)
}

/// The ends of both output streams, for a message.
pub(super) fn outputs(answer: &CommandAnswer) -> String {
    [("stdout", &answer.stdout), ("stderr", &answer.stderr)]
        .into_iter()
        .filter(|(_, captured)| !captured.text().trim().is_empty())
        .map(|(name, captured)| format!("\n{name}: {}", captured.last(SHOWN)))
        .collect()
}

/// Returns the verdict of a command in the agent's sandbox, unless the agent's changes there are not all known: then no
/// result there can be trusted to pass.
pub(super) fn if_image_is_known(verdict: Verdict, case: &Case<'_>) -> Verdict {
    match &case.evidence.image_unseen {
        Some(reason) if verdict.is_passed() => Verdict::failed(format!(
            "it passed where the agent may have changed more than is known: {reason}; `verify: fresh` runs it in a new sandbox"
        )),
        _ => verdict,
    }
}

/// Adds a note to the verdict when a command ran in an image that the agent had changed.
pub(super) fn note_changes(verdict: Verdict, answer: &CommandAnswer, case: &Case<'_>) -> Verdict {
    if answer.image_changes.is_empty() {
        return verdict;
    }
    let verdict = verdict
        .with_detail("image_note", "ran on a modified image")
        .with_detail("image_changes", answer.image_changes.clone());
    match case.evidence.more_image_changes {
        0 => verdict,
        more => verdict.with_detail("more_image_changes", more),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, command, failure, judge};
    use crate::evidence::{Answer, Captured, CommandAnswer, Evidence, Exit};

    const SPEC: &str = "{type: command_exit, command: make test}";

    #[test]
    fn the_exit_code_decides() {
        assert!(check(SPEC, [command(Exit::Code(0), "", "")]).is_passed());
        assert!(check("{type: command_exit, command: x, exit_code: 3}", [command(Exit::Code(3), "", "")]).is_passed());
        assert!(
            check("{type: command_exit, command: x, exit_code: 137}", [command(Exit::Signal(9), "", "")]).is_passed()
        );
    }

    #[test]
    fn a_failure_shows_what_was_printed() {
        insta::assert_snapshot!(failure(SPEC, [command(Exit::Code(1), "ran 3 tests\n", "AssertionError: 2 != 3\n")]), @r"
        expected exit code 0, found exit code 1
        stdout: ran 3 tests
        stderr: AssertionError: 2 != 3
        ");
        insta::assert_snapshot!(failure(SPEC, [command(Exit::Signal(11), "", "")]), @"expected exit code 0, found signal 11");
    }

    #[test]
    fn the_message_shows_the_end_of_a_long_output() {
        let long = format!("{}THE END", "x".repeat(100_000));
        let message = failure(SPEC, [command(Exit::Code(1), &long, "")]);
        assert!(message.ends_with("THE END") && message.len() < 1700, "{}", message.len());
    }

    #[test]
    fn a_dropped_middle_still_shows_the_end() {
        let stdout = Captured { head: "start".to_owned(), tail: Some("the end".to_owned()), dropped_bytes: 9 };
        let answer =
            CommandAnswer { exit: Some(Exit::Code(1)), stdout, stderr: Captured::default(), image_changes: Vec::new() };
        assert!(failure(SPEC, [Answer::Command(answer)]).contains("…the end"));
    }

    #[test]
    fn a_time_limit_names_itself() {
        let answer = CommandAnswer {
            exit: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            image_changes: Vec::new(),
        };
        insta::assert_snapshot!(failure(SPEC, [Answer::Command(answer)]), @"the command did not end within 120s (limit `check.timeout`)");
    }

    #[test]
    fn nothing_passes_where_not_all_changes_are_known_but_in_a_new_sandbox() {
        let evidence = Evidence { image_unseen: Some("too much to compare".to_owned()), ..Evidence::default() };
        let verdict = judge(SPEC, &[command(Exit::Code(0), "", "")], &evidence);
        insta::assert_snapshot!(verdict.message, @"it passed where the agent may have changed more than is known: too much to compare; `verify: fresh` runs it in a new sandbox");
        let failed = judge(SPEC, &[command(Exit::Code(1), "", "")], &evidence);
        assert_eq!(failed.message, "expected exit code 0, found exit code 1");
        let fresh = "{type: command_exit, command: x, verify: {fresh: [/etc]}}";
        assert!(judge(fresh, &[command(Exit::Code(0), "", "")], &evidence).is_passed());
        let script = |rest: &str| format!("{{type: custom, script: x.sh, {rest}}}");
        let passed = [command(Exit::Code(0), "{\"passed\": true}", "")];
        assert!(!judge(&script("runs_in: sandbox"), &passed, &evidence).is_passed());
        assert!(judge(&script("runs_in: sandbox, verify: fresh"), &passed, &evidence).is_passed());
        assert!(judge(&script("runs_in: host"), &passed, &evidence).is_passed());
    }

    #[test]
    fn a_modified_image_is_said_even_when_it_passes() {
        let answer = CommandAnswer {
            exit: Some(Exit::Code(0)),
            stdout: Captured::default(),
            stderr: Captured::default(),
            image_changes: vec!["/usr/bin/make".to_owned()],
        };
        let verdict = check(SPEC, [Answer::Command(answer)]);
        assert!(verdict.is_passed());
        assert_eq!(verdict.details["image_note"], "ran on a modified image");
        assert_eq!(verdict.details["image_changes"][0], "/usr/bin/make");
    }
}
