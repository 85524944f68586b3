//! One way to put a check and its answers together, for the tests of all checks.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Case, Check};
use crate::evidence::{
    AgentRecord, Answer, Blob, Captured, CommandAnswer, Datum, EmbeddingAnswer, EmbeddingReply, Evidence, Exit,
    FileEntry, FileKind, Files, Journal, SqlAnswer, Usage,
};
use crate::plan::{Scenario, Values};
use crate::spec::reader::{Readable, Reader};
use crate::spec::template::{Bindings, Reference};
use crate::spec::yaml::{Limits, parse};
use crate::spec::{Spec, load};
use crate::verdict::{Outcome, Verdict};

/// Parameters for templates in tests: `three` is 3 and `open` is `(`.
pub(crate) struct Fixed;

impl Bindings for Fixed {
    fn value(&self, reference: &Reference) -> Option<serde_json::Value> {
        match reference {
            Reference::Param(name) if name == "three" => Some(json!(3)),
            Reference::Param(name) if name == "open" => Some(json!("(")),
            _ => None,
        }
    }
}

/// Reads one value of the language, which must be right.
pub(crate) fn read<T: Readable>(yaml: &str) -> T {
    let (node, findings) = parse(yaml, Limits::default());
    assert!(findings.is_empty(), "{findings:?}");
    let mut reader = Reader::default();
    let value = T::read(&node.expect("a value"), &mut reader);
    let (findings, _) = reader.finish();
    value.unwrap_or_else(|| panic!("{findings:?}"))
}

/// Judges `check` by the answers to its probes.
pub(crate) fn check(check: &str, answers: impl IntoIterator<Item = Answer>) -> Verdict {
    judge(check, &answers.into_iter().collect::<Vec<_>>(), &Evidence::default())
}

/// Judges `check` by the requests to the mock `mail`.
pub(crate) fn check_journal(check: &str, journal: Journal) -> Verdict {
    let evidence = Evidence { journals: BTreeMap::from([("mail".to_owned(), journal)]), ..Evidence::default() };
    judge(check, &[], &evidence)
}

/// Judges `check` by everything.
pub(crate) fn judge(check: &str, answers: &[Answer], evidence: &Evidence) -> Verdict {
    judge_case(check, answers, evidence, None)
}

/// Judges `check` by the output of an agent, and its output in a run without faults.
pub(crate) fn judge_against(check: &str, baseline: &str, printed: &str) -> Verdict {
    judge_case(check, &[], &printed_evidence(Captured::from(printed)), Some(&Captured::from(baseline)))
}

fn judge_case(check: &str, answers: &[Answer], evidence: &Evidence, baseline: Option<&Captured>) -> Verdict {
    let spec = spec();
    let scenario = Scenario::only(&spec, [("three", json!(3)), ("open", json!("(")), ("empty", json!(""))]);
    let values = Values::for_judging(&spec, &scenario, evidence);
    read::<Check>(check).judge(&Case { baseline, ..Case::new(answers, evidence, &values) })
}

/// The message of a check that must fail.
pub(crate) fn failure(yaml: &str, answers: impl IntoIterator<Item = Answer>) -> String {
    let verdict = check(yaml, answers);
    assert_eq!((verdict.outcome, verdict.score), (Outcome::Failed, 0.0), "{verdict:?}");
    verdict.message
}

/// Judges `check` by the output of an agent that ended well.
pub(crate) fn output(check: &str, printed: &str) -> Verdict {
    judge(check, &[], &printed_evidence(Captured::from(printed)))
}

/// Judges `check` by the output of an agent and the vectors that a model gave for it.
pub(crate) fn embedded(check: &str, printed: &str, reply: EmbeddingReply) -> Verdict {
    let answer = Answer::Embedding(EmbeddingAnswer { reply, usage: Usage::default(), cached: false });
    judge(check, &[answer], &printed_evidence(Captured::from(printed)))
}

/// Returns the message of a check that must fail by the agent's output.
pub(crate) fn failed_output(check: &str, printed: &str) -> String {
    let verdict = output(check, printed);
    assert_eq!((verdict.outcome, verdict.score), (Outcome::Failed, 0.0), "{verdict:?}");
    verdict.message
}

/// Evidence of an agent that printed so much that the middle was not kept.
pub(crate) fn cut(head: &str, tail: &str) -> Evidence {
    printed_evidence(Captured { head: head.to_owned(), tail: Some(tail.to_owned()), dropped_bytes: 7 })
}

fn printed_evidence(stdout: Captured) -> Evidence {
    let agent = AgentRecord { exit: Some(Exit::Code(0)), stdout, wall_ms: 1200, ..AgentRecord::default() };
    Evidence { agent, ..Evidence::default() }
}

/// Returns all findings in a spec with this check.
pub(crate) fn findings(check: &str) -> String {
    let loaded = load(&SPEC.replace("{type: file_exists, path: x}", check), None);
    let shown = loaded.diagnostics.iter().map(|one| format!("{} at {}: {}", one.code, one.path, one.message));
    shown.collect::<Vec<_>>().join("\n")
}

const SPEC: &str = "version: 1\nid: test\nbase: debian\ntask: {prompt: do it}\nagent: {type: noop}\n\
    invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";

pub(crate) fn spec() -> Spec {
    load(SPEC, None).spec.expect("a spec")
}

pub(crate) fn command(exit: Exit, stdout: &str, stderr: &str) -> Answer {
    Answer::Command(CommandAnswer {
        exit: Some(exit),
        stdout: Captured::from(stdout),
        stderr: Captured::from(stderr),
        image_changes: Vec::new(),
    })
}

pub(crate) fn sql(found: Datum) -> Answer {
    Answer::Sql(SqlAnswer::Value(found))
}

pub(crate) fn files(entries: impl IntoIterator<Item = FileEntry>) -> Answer {
    Answer::Files(Files { entries: entries.into_iter().collect(), incomplete: false })
}

pub(crate) fn entry(path: &str, kind: FileKind) -> FileEntry {
    FileEntry { path: path.to_owned(), kind, size: 0, sha256: None, content: None, problem: None }
}

pub(crate) fn text_file(path: &str, content: &str) -> FileEntry {
    FileEntry { content: Some(Blob::from(content)), size: content.len() as u64, ..entry(path, FileKind::File) }
}
