//! Every broken spec is refused for the reason that it states, and every reason has a broken spec.

use std::collections::{BTreeMap, BTreeSet};

use scenario::spec::code::Code;
use scenario::spec::diagnostic::Severity;
use scenario::spec::render::{Style, text};
use scenario::spec::{Bundle, load};

use crate::corpus::invalid;

/// Codes whose spec would be too large to keep, or that need a folder which git cannot keep.
const MADE_HERE: [Code; 2] = [Code::YamlTooLarge, Code::InvalidBundle];

#[test]
fn every_broken_spec_is_refused_for_the_reason_that_it_states() {
    for case in invalid() {
        let stated = case
            .text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# expect: "))
            .unwrap_or_else(|| panic!("{} states no code", case.name));
        let found: Vec<_> = case.load().diagnostics.iter().map(|finding| finding.code.name()).collect();
        assert_eq!(found.join(", "), stated, "{}", case.name);
    }
}

#[test]
fn every_code_has_a_broken_spec() {
    let shown: BTreeSet<_> =
        invalid().iter().flat_map(|case| case.load().diagnostics).map(|finding| finding.code).collect();
    // What could be better is not broken.
    let is_fault = |code: &&Code| code.severity() != Severity::Advice;
    let faults = Code::ALL.iter().filter(is_fault);
    let missing: Vec<_> = faults.filter(|code| !shown.contains(code) && !MADE_HERE.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn findings_are_shown_with_place_and_remedy() {
    let mut by_code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in invalid() {
        let code = case.name.split("--").next().unwrap_or_default().to_owned();
        let file = format!("{}.yaml", case.name);
        let shown = case.load().diagnostics.into_iter().map(|finding| text(&finding, &file, &case.text, Style::Plain));
        by_code.entry(code).or_default().extend(shown);
    }
    for (code, shown) in by_code {
        insta::with_settings!({ snapshot_suffix => code, omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("findings", shown.join("\n\n"));
        });
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let codes = |text: &str| load(text, None).diagnostics.iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(codes(&format!("# {}\nversion: 1\n", "x".repeat(1024 * 1024))), [Code::YamlTooLarge]);
    assert!(Bundle::new((0..2000).map(|file| (file.to_string(), 1))).is_err());
}
