//! Files that are made from the code are up to date.

use std::fs;

use crate::{root, run};

#[test]
fn generated_files_are_up_to_date() {
    for (file, arguments) in [
        ("docs/spec-reference.md", &["explain", "--markdown"][..]),
        ("docs/spec.schema.json", &["schema"]),
        ("docs/suite.schema.json", &["schema", "suite"]),
        ("docs/configuration.md", &["config", "--markdown"]),
    ] {
        let (code, made, _) = run(arguments);
        let kept = fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(code == 0 && made == kept, "{file} is stale: run scripts/generate");
    }
}
