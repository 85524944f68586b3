//! `custom`: did a script return `passed: true`?

use serde_json::Value as Json;

use super::command_exit::{if_image_is_known, note_changes, outputs, overdue};
use super::verify::Verify;
use super::{Case, unanswered};
use crate::evidence::{Answer, CommandAnswer, Exit, Probe};
use crate::spec::code::Code;
use crate::spec::section::{choice, section};
use crate::spec::types::{BundlePath, Timespan};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Outcome, Verdict};

section! {
    /// Runs a script that reads a context as JSON on standard input and prints a result as JSON on standard output.
    ///
    /// The context has `sandbox_id`, `workspace_path`, `services` (name to host and port), `audit_log_path`,
    /// `trace_path`, `contract_log_paths` (the records of each session under tool contracts), `task.prompt` and
    /// `scenario_params`. The result is
    /// `{"passed": true, "score": 1.0, "reason": "…", "details": {…}}`; `passed` must be there, `score` is 1 or 0 by
    /// `passed` without it, the rest is optional. The result is the whole output, or its last line.
    ///
    /// - Exit code 0: the result decides. `passed` decides whether the invariant is met and `score` counts in the
    ///   composite, also when they disagree; a gate needs both.
    /// - Any other exit code, no result, a result of another form, or a score outside 0 to 1: the script is run once more where
    ///   no agent was (the original image or the host, with an empty workspace and without services). When it ends in the same
    ///   way there (the same exit code and the same last line on standard error), the check itself is at fault, and the scenario
    ///   is an `error`. Otherwise the script stumbled over what the agent left, and the invariant fails.
    /// - With `runs_in: sandbox` the invariant also fails when the agent changed the image, when a signal ended the script
    ///   (such as for want of memory), when a service has ended that the script may need, and when the script does not end
    ///   within `timeout` (limit `check.timeout`): the agent can bring each of these about.
    ///
    /// A script that ends in `.py` is run with `python3`, one in `.sh` with `sh`, any other as it is.
    ///
    /// ```yaml
    /// check: { type: custom, script: checks/verify_summary.py, runs_in: sandbox, verify: fresh }
    /// ```
    pub struct Custom {
        /// The script: a file of the spec's folder. With `runs_in: sandbox` it may also be a file of the workspace, where
        /// the agent can change it.
        script: BundlePath,
        /// Where the script runs.
        runs_in: RunsIn = RunsIn::Host,
        /// In which sandbox the script runs, with `runs_in: sandbox`: the one that the agent left (`sandbox`), or a `fresh` container of
        /// the original image with a copy of the workspace and no network.
        verify: Verify = Verify::Sandbox,
        /// How long the script may take.
        timeout: Timespan = Timespan::from_secs(120),
    }
}

choice! {
    /// Where a script runs.
    pub enum RunsIn {
        /// Beside the worker, with a read-only view of the workspace. The worker's configuration must allow it.
        Host = "host",
        /// Inside the sandbox.
        Sandbox = "sandbox",
    }
}

impl Custom {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        if self.runs_in == RunsIn::Sandbox || matches!(self.verify, Verify::Fresh(_)) {
            self.verify.validate(rules);
        }
        if self.runs_in == RunsIn::Host && matches!(self.verify, Verify::Fresh(_)) {
            rules.at("verify").report(Code::NoEffect, "`verify: fresh` changes nothing with `runs_in: host`", None);
        }
        let script = self.script.as_str();
        match self.runs_in {
            _ if rules.bundle_has(script) == Some(true) => {}
            RunsIn::Host if rules.bundle_has(script).is_none() => {
                let message = format!("the script `{script}` is not here: this spec stands alone");
                let help = "put it beside `spec.yaml` in a folder, or into the checks folder of the worker";
                rules.at("script").report(Code::ScriptNotBundled, message, Some(help));
            }
            RunsIn::Host => rules.at("script").missing_file(script),
            RunsIn::Sandbox => {
                let message =
                    format!("the script `{script}` is not in the spec's folder, so it is read from the workspace");
                let help = "keep it beside `spec.yaml`, out of the agent's reach";
                rules.at("script").report(Code::ScriptNotBundled, message, Some(help));
            }
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        let script = self.script.as_str().to_owned();
        vec![Probe::Script { script, runs_in: self.runs_in, verify: self.verify.clone(), timeout: self.timeout.get() }]
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let (answer, control) = match case.answers {
            [Answer::Command(answer)] => (answer, None),
            [Answer::Command(answer), Answer::Command(control)] => (answer, Some(control)),
            _ => return unanswered(),
        };
        let broken = |problem: String| match control {
            Some(control) if !ends_alike(answer, control) => {
                Verdict::failed(format!("{problem}\nwhere no agent was, the script does not end like this"))
            }
            _ => Verdict::errored(ErrorCause::BrokenScript, problem),
        };
        let in_sandbox = self.runs_in == RunsIn::Sandbox;
        let verdict = match answer.exit {
            Some(Exit::Code(0)) => result(answer).unwrap_or_else(broken),
            Some(exit) => {
                let message = format!("the script `{}` ended with {exit}{}", self.script.as_str(), outputs(answer));
                // The agent may have broken what runs it, or left no memory for it.
                let was_stopped = in_sandbox && matches!(exit, Exit::Signal(_));
                let is_intact = answer.image_changes.is_empty()
                    && (!self.runs_where_agent_was() || case.evidence.image_unseen.is_none());
                if was_stopped || !is_intact { Verdict::failed(message) } else { broken(message) }
            }
            None => {
                let message = format!("{}{}", overdue(self.timeout.get()), outputs(answer));
                // What runs where the agent was can be slowed down by what the agent left.
                if in_sandbox { Verdict::failed(message) } else { broken(message) }
            }
        };
        let verdict = if self.runs_where_agent_was() { if_image_is_known(verdict, case) } else { verdict };
        note_changes(verdict, answer, case)
    }

    /// Returns true if the script runs in the sandbox that the agent left.
    #[must_use]
    pub fn runs_where_agent_was(&self) -> bool {
        self.runs_in == RunsIn::Sandbox && self.verify == Verify::Sandbox
    }

    /// Returns true if a script printed a result.
    #[must_use]
    pub fn is_result(answer: &CommandAnswer) -> bool {
        result(answer).is_ok()
    }
}

/// Returns true if two runs of a script that printed no result ended in the same way.
fn ends_alike(one: &CommandAnswer, other: &CommandAnswer) -> bool {
    one.exit == other.exit && Custom::is_result(one) == Custom::is_result(other) && last_error(one) == last_error(other)
}

/// The last line of standard error, without the folders of its paths, which are others in each run, and without addresses.
fn last_error(answer: &CommandAnswer) -> String {
    let printed = answer.stderr.tail.as_deref().unwrap_or(&answer.stderr.head);
    let line = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = line.split_whitespace().filter(|word| !word.contains("0x"));
    words.map(|word| word.rsplit('/').next().unwrap_or(word)).collect::<Vec<_>>().join(" ")
}

/// Reads the script's result from its output; the error says why it is invalid.
fn result(answer: &CommandAnswer) -> Result<Verdict, String> {
    let printed = answer.stdout.tail.as_deref().unwrap_or(&answer.stdout.head);
    let last_line = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let whole = Some(printed).filter(|_| answer.stdout.is_complete());
    let parsed = whole.and_then(object).or_else(|| object(last_line));
    let Some(result) = parsed else {
        return Err(format!("expected a result as JSON on standard output, found something else{}", outputs(answer)));
    };
    let Some(passed) = result.get("passed").and_then(Json::as_bool) else {
        return Err(format!("the result has no `passed: true` or `passed: false`: {last_line}"));
    };
    let score = match result.get("score") {
        None | Some(Json::Null) => f64::from(u8::from(passed)),
        Some(score) => score.as_f64().ok_or_else(|| format!("the result's `score` is no number: {score}"))?,
    };
    if !(0.0..=1.0).contains(&score) {
        return Err(format!("the result's `score` is {score}, outside 0 to 1"));
    }
    let reason = result.get("reason").and_then(Json::as_str).unwrap_or_default().to_owned();
    let details = result.get("details").cloned().unwrap_or(Json::Null);
    Ok(verdict(passed, score, reason, details))
}

fn object(text: &str) -> Option<serde_json::Map<String, Json>> {
    serde_json::from_str(text.trim()).ok()
}

fn verdict(passed: bool, score: f64, reason: String, details: Json) -> Verdict {
    let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
    let stated = if reason.is_empty() { "the script gave no reason" } else { reason.as_str() };
    let message =
        if passed { String::new() } else { format!("expected `passed: true`, found `passed: false`: {stated}") };
    let verdict = Verdict { outcome, score, message, reason, details, is_unproven: false };
    let disagree = passed != (score > 0.0) || (!passed && score >= 1.0);
    if disagree {
        verdict.with_detail("note", format!("the script says `passed: {passed}` and `score: {score}`"))
    } else {
        verdict
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::checks::testing::{check, command, failure};
    use crate::evidence::{Answer, Captured, CommandAnswer, Exit};
    use crate::verdict::{ErrorKind, Outcome, Verdict};

    const SPEC: &str = "{type: custom, script: checks/x.py}";

    fn printed(stdout: &str) -> Verdict {
        check(SPEC, [command(Exit::Code(0), stdout, "")])
    }

    fn error(verdict: &Verdict) -> &str {
        assert_eq!((verdict.outcome, verdict.score), (Outcome::Errored(ErrorKind::Check), 0.0), "{verdict:?}");
        &verdict.message
    }

    #[test]
    fn the_result_decides() {
        let verdict = printed(r#"{"passed": true, "score": 0.5, "reason": "half", "details": {"n": 1}}"#);
        assert_eq!((verdict.outcome, verdict.score, verdict.reason.as_str()), (Outcome::Passed, 0.5, "half"));
        assert_eq!(verdict.details["n"], 1);
        assert_eq!(printed(r#"{"passed": true}"#).score, 1.0);
        insta::assert_snapshot!(failure(SPEC, [command(Exit::Code(0), r#"{"passed": false, "reason": "2 of 3"}"#, "")]), @"expected `passed: true`, found `passed: false`: 2 of 3");
    }

    #[test]
    fn logging_before_the_result_is_fine() {
        assert!(printed("checking…\nstill checking\n{\"passed\": true}\n\n").is_passed());
    }

    #[test]
    fn a_failing_script_is_an_error_and_not_a_failure() {
        insta::assert_snapshot!(error(&check(SPEC, [command(Exit::Code(1), "", "Traceback: no module\n")])), @r"
        the script `checks/x.py` ended with exit code 1
        stderr: Traceback: no module
        ");
        let overdue = CommandAnswer {
            exit: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            image_changes: Vec::new(),
        };
        insta::assert_snapshot!(error(&check(SPEC, [Answer::Command(overdue.clone())])), @"the command did not end within 120s (limit `check.timeout`)");
        let inside = "{type: custom, script: checks/x.py, runs_in: sandbox}";
        insta::assert_snapshot!(failure(inside, [Answer::Command(overdue)]), @"the command did not end within 120s (limit `check.timeout`)");
    }

    #[test]
    fn a_script_that_fails_on_an_image_that_the_agent_changed_is_a_failure() {
        let broken = CommandAnswer {
            exit: Some(Exit::Code(127)),
            stdout: Captured::default(),
            stderr: Captured::default(),
            image_changes: vec!["/usr/bin/python3".to_owned()],
        };
        let spec = "{type: custom, script: checks/x.py, runs_in: sandbox}";
        assert_eq!(check(spec, [Answer::Command(broken)]).outcome, Outcome::Failed);
    }

    const SANDBOX: &str = "{type: custom, script: checks/x.py, runs_in: sandbox}";

    /// Judges a script that ends with this exit code and last line, and with the control's ones in a sandbox without
    /// the agent.
    fn controlled(exit: (Exit, &str), control: (Exit, &str)) -> Outcome {
        check(SANDBOX, [command(exit.0, "", exit.1), command(control.0, "", control.1)]).outcome
    }

    #[test]
    fn a_script_that_fails_only_after_the_agent_is_a_failure() {
        let (missing, garbled) = ("No such file: '/tmp/a1/out.json'", "JSONDecodeError: line 1");
        let one = Exit::Code(1);
        assert_eq!(controlled((one, garbled), (one, missing)), Outcome::Failed, "another reason");
        assert_eq!(controlled((one, "MemoryError"), (Exit::Code(0), "")), Outcome::Failed, "none at all");
        assert_eq!(controlled((Exit::Code(2), missing), (one, missing)), Outcome::Failed, "another code");
        let broken = Outcome::Errored(ErrorKind::Check);
        assert_eq!(controlled((one, missing), (one, "No such file: '/tmp/b2/out.json'")), broken);
        assert_eq!(controlled((one, "<o at 0x7f01>"), (one, "<o at 0x8a02>")), broken);
        let passed = |stdout: &str| command(Exit::Code(0), stdout, "");
        let unreadable = check(SANDBOX, [passed("oops"), passed("{\"passed\": false}")]);
        assert_eq!(unreadable.outcome, Outcome::Failed, "its output is the agent's");
        assert_eq!(check(SANDBOX, [passed("oops"), passed("oops")]).outcome, broken);
        let lost = Answer::Unavailable { reason: "x".to_owned(), limit: None };
        assert_eq!(check(SANDBOX, [command(one, "", ""), lost]).outcome, Outcome::Failed, "it cannot be told");
    }

    #[test]
    fn a_script_that_a_signal_ended_in_the_sandbox_is_a_failure() {
        for signal in [6, 9, 11] {
            assert_eq!(check(SANDBOX, [command(Exit::Signal(signal), "", "")]).outcome, Outcome::Failed);
        }
        assert_eq!(check(SPEC, [command(Exit::Signal(9), "", "")]).outcome, Outcome::Errored(ErrorKind::Check));
    }

    #[test]
    fn a_result_of_another_form_is_an_error() {
        insta::assert_snapshot!(error(&printed("all good")), @r"
        expected a result as JSON on standard output, found something else
        stdout: all good
        ");
        insta::assert_snapshot!(error(&printed("")), @"expected a result as JSON on standard output, found something else");
        insta::assert_snapshot!(error(&printed("[1]")), @r"
        expected a result as JSON on standard output, found something else
        stdout: [1]
        ");
        insta::assert_snapshot!(error(&printed(r#"{"score": 1}"#)), @r#"the result has no `passed: true` or `passed: false`: {"score": 1}"#);
        insta::assert_snapshot!(error(&printed(r#"{"passed": true, "score": 1.5}"#)), @"the result's `score` is 1.5, outside 0 to 1");
        insta::assert_snapshot!(error(&printed(r#"{"passed": true, "score": "high"}"#)), @r#"the result's `score` is no number: "high""#);
    }

    #[test]
    fn passed_and_score_may_disagree_and_it_is_said() {
        let verdict = printed(r#"{"passed": false, "score": 1}"#);
        assert_eq!((verdict.outcome, verdict.score), (Outcome::Failed, 1.0));
        assert_eq!(verdict.details["note"], "the script says `passed: false` and `score: 1`");
        let verdict = printed(r#"{"passed": true, "score": 0, "details": [1]}"#);
        assert_eq!(
            (verdict.outcome, verdict.score, &verdict.details["given"]),
            (Outcome::Passed, 0.0, &serde_json::json!([1]))
        );
    }

    proptest! {
        #[test]
        fn no_output_panics_and_scores_stay_in_bounds(stdout in "\\PC{0,80}", score: f64) {
            prop_assert!((0.0..=1.0).contains(&printed(&stdout).score));
            let result = format!("{{\"passed\": true, \"score\": {score}}}");
            prop_assert!((0.0..=1.0).contains(&printed(&result).score));
        }
    }
}
