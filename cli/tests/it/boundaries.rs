//! Allowed dependencies. `ARCHITECTURE.md` gives the reasons; this test enforces them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::root;

/// Our crates that each crate may use.
const OURS: [(&str, &[&str]); 11] = [
    ("yaml_tree", &[]),
    ("tool_contracts", &["yaml_tree"]),
    ("scenario", &["yaml_tree", "tool_contracts"]),
    ("doorkeeper", &[]),
    ("gateways", &["scenario", "tool_contracts"]),
    ("engine", &["scenario", "tool_contracts", "doorkeeper", "gateways"]),
    ("store", &["scenario"]),
    ("listener", &[]),
    ("server", &["scenario", "tool_contracts", "store", "listener"]),
    ("worker", &["scenario", "store", "engine", "listener"]),
    ("cli", &["scenario", "tool_contracts", "engine", "store", "server", "worker"]),
];

/// Crates of others that only some of ours may use.
const OTHERS: [(&str, &[&str]); 18] = [
    ("saphyr-parser", &["yaml_tree"]),
    ("yaml_serde", &["scenario", "gateways", "engine"]),
    ("quick-junit", &["scenario"]),
    ("annotate-snippets", &["scenario"]),
    ("bollard", &["engine"]),
    ("sea-query", &["store"]),
    ("sqlx", &["store", "engine"]),
    ("maud", &["server"]),
    ("clap", &["cli"]),
    ("anstream", &["cli"]),
    ("tokio", &["gateways", "engine", "store", "listener", "server", "worker", "cli"]),
    ("reqwest", &["gateways", "engine", "store", "server", "cli"]),
    ("axum", &["server"]),
    ("utoipa", &["server"]),
    ("object_store", &["store"]),
    ("aes-gcm", &["store"]),
    ("toml", &["cli"]),
    ("hyper", &["gateways", "engine", "listener"]),
];

/// Names that code without I/O, clock and randomness must not use.
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "std::io::stdout",
    "SystemTime",
    "Instant::now",
];

fn members() -> Vec<Package> {
    let metadata =
        MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().expect("cargo metadata");
    metadata.packages
}

fn normal(package: &Package) -> Vec<String> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal)
        .map(|dependency| dependency.name.clone())
        .collect()
}

#[test]
fn crates_use_only_the_crates_that_they_may() {
    let ours: BTreeMap<_, _> = OURS.into_iter().collect();
    for package in members() {
        let name = package.name.as_str();
        let allowed = ours.get(name).unwrap_or_else(|| panic!("`{name}` is not in the table of crates"));
        for used in normal(&package).iter().filter(|used| ours.contains_key(used.as_str())) {
            assert!(allowed.contains(&used.as_str()), "`{name}` must not use `{used}`");
        }
    }
}

#[test]
fn outside_crates_stay_where_they_belong() {
    for package in members() {
        let name = package.name.as_str();
        for used in normal(&package) {
            let allowed = OTHERS.iter().find(|(other, _)| *other == used);
            assert!(allowed.is_none_or(|(_, users)| users.contains(&name)), "`{name}` must not use `{used}`");
        }
    }
}

/// Without this feature, some floats of kept evidence are read back with another last bit. A test of reading cannot
/// tell: a dependency of the tests switches it on for them, and not for the binary.
#[test]
fn floats_in_json_are_read_to_the_last_bit() {
    let members = members();
    let scenario = members.iter().find(|package| package.name.as_str() == "scenario").expect("the domain");
    let json = scenario.dependencies.iter().find(|used| used.name == "serde_json").expect("serde_json");
    assert!(json.features.iter().any(|feature| feature == "float_roundtrip"), "{:?}", json.features);
}

#[test]
fn folders_are_called_like_their_crates() {
    for package in members() {
        let folder = package.manifest_path.parent().and_then(|folder| folder.file_name());
        assert_eq!(folder, Some(package.name.as_str()));
    }
}

#[test]
fn the_domain_does_no_io_and_reads_no_clock() {
    let mut offences = Vec::new();
    for pure in ["yaml_tree", "tool_contracts", "scenario"] {
        scan(&root().join(pure).join("src"), &mut offences);
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

#[test]
fn only_one_file_of_the_command_prints() {
    let allowed = root().join("cli/src/output.rs");
    let mut offences = Vec::new();
    visit(&root().join("cli/src"), &mut |path, text| {
        if path != allowed && (text.contains("io::stdout") || text.contains("io::stderr")) {
            offences.push(path.display().to_string());
        }
    });
    assert!(offences.is_empty(), "{offences:?}");
}

/// An example in Rust would be compiled by a doc test. There is none, so CI does not start `cargo test --doc`, which takes a while.
#[test]
fn doc_comments_have_no_examples_that_nothing_runs() {
    let mut offences = Vec::new();
    for package in members() {
        visit(&root().join(package.name.as_str()).join("src"), &mut |path, text| {
            let mut is_open = false;
            for (number, line) in text.lines().map(str::trim_start).enumerate() {
                let Some(fence) = line.strip_prefix("/// ```").or_else(|| line.strip_prefix("//! ```")) else {
                    continue;
                };
                if !is_open && !["yaml", "text", "json", "sh"].contains(&fence) {
                    offences.push(format!("{}:{}: ```{fence}", path.display(), number + 1));
                }
                is_open = !is_open;
            }
        });
    }
    assert!(offences.is_empty(), "make the example a unit test, or name its language: {offences:#?}");
}

fn scan(folder: &Path, offences: &mut Vec<String>) {
    visit(folder, &mut |path, text| {
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs" || name == "testing.rs");
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|_| !is_test) {
            if let Some(word) = IMPURE.iter().find(|word| line.contains(*word) && !line.trim_start().starts_with("//"))
            {
                offences.push(format!("{}:{} names {word}", path.display(), number + 1));
            }
        }
    });
}

fn visit(folder: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            visit(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path, &fs::read_to_string(&path).expect("a text"));
        }
    }
}
