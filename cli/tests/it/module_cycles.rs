//! Modules of a crate that use each other in a circle. The list below only shrinks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use crate::root;

/// The modules of each crate that are part of a circle. Remove a name once its module has left the circle; add none.
const KNOWN: [(&str, &[&str]); 11] = [
    ("yaml_tree", &[]),
    ("tool_contracts", &[]),
    ("scenario", &["checks", "evidence", "metric", "plan", "regression", "report", "result", "score", "spec"]),
    ("doorkeeper", &[]),
    ("gateways", &["listener", "tls"]),
    (
        "engine",
        &[
            "agent",
            "attempt",
            "backend",
            "environment",
            "faketime",
            "fixtures",
            "kept",
            "limits",
            "owner",
            "probes",
            "run",
            "services",
            "snapshot",
            "uploaded",
            "world",
        ],
    ),
    (
        "store",
        &[
            "artifact_owner",
            "counters",
            "db",
            "error",
            "evidence",
            "experiments",
            "json",
            "migrate",
            "newest",
            "number",
            "page",
            "queue",
            "reading",
            "retries",
            "runs",
            "snapshots",
            "specs",
            "tags",
            "time",
            "wakeups",
        ],
    ),
    ("listener", &[]),
    ("worker", &[]),
    (
        "server",
        &["api", "app", "auth", "extract", "openapi", "redact", "results", "router", "submission", "telemetry", "web"],
    ),
    ("cli", &["commands", "submitting"]),
];

/// The modules that each module of a crate names, at the first level below `src`.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Code without comments and without tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The words that follow `crate::`, also in braces.
fn named(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let (list, is_list) = match rest.strip_prefix('{') {
            Some(list) => (list.split(';').next().unwrap_or_default(), true),
            None => (rest, false),
        };
        let paths: Vec<&str> = if is_list { list.split([',', '{']).collect() } else { vec![list] };
        for path in paths {
            let path = path.trim_start();
            let end = path.find(|character: char| !character.is_alphanumeric() && character != '_');
            names.insert(path[..end.unwrap_or(path.len())].to_owned());
        }
    }
    names
}

/// Returns the first level of a crate's modules, each with the modules that it names.
fn uses(crate_name: &str) -> Uses {
    let source = root().join(crate_name).join("src");
    let mut uses = Uses::new();
    for entry in WalkDir::new(&source).into_iter().map(|entry| entry.expect("an entry")) {
        let path = entry.path().strip_prefix(&source).expect("below the source").to_string_lossy().into_owned();
        let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        let is_code = entry.path().extension().is_some_and(|extension| extension == "rs");
        if !is_code || path.contains("tests") || ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        uses.entry(module).or_default().extend(named(&code(entry.path())));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, named) in &mut uses {
        named.retain(|name| name != module && modules.contains(name));
    }
    uses
}

/// The modules that reach themselves.
fn in_circles(uses: &Uses) -> Vec<&str> {
    let reaches_itself = |module: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![module]);
        while let Some(next) = open.pop() {
            open.extend(uses[next].iter().map(String::as_str).filter(|name| seen.insert(*name)));
        }
        seen.contains(module)
    };
    uses.keys().map(String::as_str).filter(|module| reaches_itself(module)).collect()
}

#[test]
fn no_module_joins_a_circle() {
    for (crate_name, known) in KNOWN {
        assert_eq!(in_circles(&uses(crate_name)), known, "{crate_name}: the modules that use each other in a circle");
    }
}

#[test]
fn circles_are_found() {
    let uses = |pairs: &[(&str, &[&str])]| -> Uses {
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        pairs.iter().map(|(module, names)| ((*module).to_owned(), named(names))).collect()
    };
    let circle = uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a"])]);
    assert_eq!(in_circles(&circle), ["b", "c"]);
    assert_eq!(
        named("use crate::a::{B, c};\nuse crate::{d, e::F};\n crate::g::h()"),
        ["a", "d", "e", "g"].map(str::to_owned).into()
    );
}
