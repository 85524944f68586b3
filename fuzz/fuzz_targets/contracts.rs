//! Any text as the files of a set of tool contracts: `NAME` and its text, separated by lines with `===`. Nothing may
//! panic, a set that does not compile says why, and one that does has the same hash again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tool_contracts::options::Principal;
use tool_contracts::{CompileOptions, RawFile, RawSet, compile, compile_workflow, mermaid, svg};

/// The first line of a part is the file's name.
fn file(part: &str) -> RawFile {
    let (name, text) = part.split_once('\n').unwrap_or(("session.yaml", part));
    RawFile { name: name.to_owned(), text: text.to_owned() }
}

fuzz_target!(|source: &str| {
    let set = RawSet { files: source.split("===\n").map(file).collect() };
    let mut options = CompileOptions { principal: Principal::Missing, ..CompileOptions::default() };
    // A text that is JSON is also a rule from outside.
    options.rules = serde_json::from_str(source).into_iter().collect();
    match compile(&set, &options) {
        Ok((compiled, warnings)) => {
            assert!(warnings.iter().all(|found| !found.is_error()));
            let again = compile(&set, &options).map(|(compiled, _)| compiled.hash);
            assert!(again.is_ok_and(|hash| hash == compiled.hash));
            let _ = (mermaid(&compiled), svg(&compiled));
        }
        Err(error) => {
            assert!(error.diagnostics.iter().any(|found| found.is_error()));
            let _: Vec<String> = error.diagnostics.iter().map(ToString::to_string).collect();
        }
    }
    let _ = compile_workflow(&set, &options);
});
