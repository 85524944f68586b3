//! No input brings the loader down, and findings always point into the text.

use proptest::prelude::*;

use scenario::spec::load;
use scenario::spec::render::{Style, github, json, text};

use crate::corpus::{examples, invalid};

/// Loads a text and shows every finding in every way.
fn survive(source: &str) {
    let loaded = load(source, None);
    assert!(loaded.spec.is_some() || !loaded.diagnostics.is_empty(), "a refused spec says why");
    let lines = source.chars().filter(|character| *character == '\n').count() + 2;
    for finding in &loaded.diagnostics {
        assert!((1..=lines).contains(&finding.span.line), "line {} of {lines}", finding.span.line);
        let shown = text(finding, "x.yaml", source, Style::Plain);
        assert!(shown.contains(finding.code.name()));
        let _ = (json(finding, "x.yaml"), github(finding, "x.yaml"));
    }
}

#[test]
fn every_prefix_of_a_spec_is_survived() {
    for case in examples() {
        for (end, _) in case.text.char_indices().step_by(37) {
            survive(&case.text[..end]);
        }
    }
}

/// One change to a text: a piece cut out, doubled, or replaced.
fn changed(source: &str, at: usize, length: usize, what: &str) -> String {
    let characters: Vec<char> = source.chars().collect();
    let start = at % characters.len().max(1);
    let end = (start + length).min(characters.len());
    characters[..start].iter().chain(what.chars().collect::<Vec<_>>().iter()).chain(&characters[end..]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(source in "\\PC{0,300}") {
        survive(&source);
    }

    #[test]
    fn no_changed_spec_panics(which: prop::sample::Index, at: usize, length in 0..40usize, what in "[ \\n\\t:{}\\[\\],&*!|>'\"#%@`~0-9a-zäλ.-]{0,12}") {
        let cases: Vec<_> = examples().into_iter().chain(invalid()).collect();
        survive(&changed(&which.get(&cases).text, at, length, &what));
    }
}
