//! Models: whether the file about them can be read, and which keys there are.

use std::env;

use engine::data_dir::DataDir;

use super::Finding;
use crate::machine::ModelOptions;

/// The variables in which keys of providers usually are.
const KEYS: [&str; 2] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// Looks at models and their keys.
pub(super) fn look(options: &ModelOptions, data_dir: &DataDir) -> Vec<Finding> {
    let mut findings = Vec::new();
    match options.machine(data_dir) {
        Ok(machine) => {
            let warnings = machine.providers.warnings();
            let fix = "see \"Models and judges\" in docs/running.md";
            findings.extend(warnings.iter().map(|warning| Finding::warn("models", warning.clone(), fix)));
            if warnings.is_empty() {
                findings.push(Finding::ok("models", "can be read"));
            }
        }
        Err(error) => {
            findings.push(Finding::fail("models", error.to_string(), "mend the file, or leave `--models` away"))
        }
    }
    findings.push(keys());
    findings
}

/// Keys are optional: scripted models and most checks need none.
fn keys() -> Finding {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let set: Vec<_> = KEYS.into_iter().filter(is_set).collect();
    if set.is_empty() {
        return Finding::ok("keys of models", "none in the environment; scripted models and most checks need none");
    }
    Finding::ok("keys of models", format!("{} in the environment", set.join(", ")))
}
