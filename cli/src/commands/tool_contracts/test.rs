//! `touchstone tool-contracts test`: the golden cases of a set.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use scenario::{count_noun, untrusted};
use serde_json::Value as Json;
use tool_contracts::Compiled;
use tool_contracts::golden::{GoldenCaseRef, classify, golden_cases};

use super::files::{ContractFiles, compiled, options};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Test a directory of tool contracts with its golden cases, without an agent and without a network.
///
/// `input_ref` of a case names a JSON file beside the contract, with `request` and `response` or `error`.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The directory.
    dir: PathBuf,
}

impl Test {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let files = ContractFiles::read(&self.dir)?;
        let set = match compiled(&files, &options(false), output)? {
            Ok(set) => set,
            Err(exit) => return Ok(exit),
        };
        let cases = golden_cases(&set);
        let mut failed = 0;
        for case in &cases {
            let name = untrusted::line(&format!("{}/{}", case.tool, case.id), 200);
            match try_case(&files, &set, case)? {
                None => output.line(format!("{name} ok"))?,
                Some(problem) => {
                    failed += 1;
                    output.line(format!("{name} failed: {problem}"))?;
                }
            }
        }
        output.line(format!("{}, {failed} failed", count_noun(cases.len(), "golden case")))?;
        Ok(if failed > 0 { Exit::Failed } else { Exit::Passed })
    }
}

/// Returns why a case fails; `None` when it passes.
fn try_case(files: &ContractFiles, set: &Compiled, case: &GoldenCaseRef) -> Result<Option<String>, CommandError> {
    let relative = PathBuf::from(&case.input_ref);
    let stays = relative
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if !stays {
        return Ok(Some(format!("`input_ref` leaves the directory: {}", untrusted::line(&case.input_ref, 200))));
    }
    let path = files.folder().join(relative);
    let text = fs::read_to_string(&path)
        .map_err(|error| CommandError::usage(format!("{} cannot be read: {error}", path.display())))?;
    let fixture: Json = serde_json::from_str(&text)
        .map_err(|error| CommandError::usage(format!("{} is not JSON: {error}", path.display())))?;
    let class = classify(set, &case.tool, &fixture);
    if class.passes(case.expect_ok, case.expected_error.as_deref()) {
        return Ok(None);
    }
    let wanted = match (&case.expected_error, case.expect_ok) {
        (_, true) => "ok",
        (Some(error), false) => error,
        (None, false) => "an error",
    };
    Ok(Some(format!("got {}, wanted {}", class.name().unwrap_or("ok"), untrusted::line(wanted, 100))))
}
