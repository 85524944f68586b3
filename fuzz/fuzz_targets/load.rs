//! Any bytes as a spec: read, planned, and every finding shown. Nothing may panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::plan::{PlanOptions, expand};
use scenario::spec::load;
use scenario::spec::render::{Style, github, json, text};

fuzz_target!(|source: &str| {
    let loaded = load(source, None);
    assert!(loaded.spec.is_some() || !loaded.diagnostics.is_empty());
    for finding in &loaded.diagnostics {
        let _ = (text(finding, "x", source, Style::Plain), json(finding, "x"), github(finding, "x"));
    }
    if let Some(spec) = &loaded.spec {
        let _ = expand(spec, PlanOptions::default());
    }
});
