//! The table of attacks in docs/security.md names tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold no code of ours.
const SKIPPED: [&str; 4] = ["target", ".git", "specs", "docs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// The names in the last column of the tables.
fn named() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/security.md")).expect("docs/security.md");
    let last =
        |line: &str| line.trim_end_matches('|').trim_end().rsplit('|').next().map(str::trim).map(ToOwned::to_owned);
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.ends_with('|'));
    rows.filter_map(last).filter(|cell| cell != "test").map(|cell| cell.trim_matches('`').to_owned()).collect()
}

/// Collects the names of functions in a folder.
fn collect_functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect_functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            let functions = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(functions.map(ToOwned::to_owned));
        }
    }
}

#[test]
fn every_attack_that_is_listed_has_a_test() {
    let mut functions = BTreeSet::new();
    collect_functions(&root(), &mut functions);
    let named = named();
    assert!(named.len() > 50, "the tables were not found: {named:?}");
    let missing: Vec<_> = named.difference(&functions).collect();
    assert_eq!(missing, Vec::<&String>::new(), "docs/security.md names tests that do not exist");
}
