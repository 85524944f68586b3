//! The tree agrees with another YAML reader, and hostile texts stay bounded.

use proptest::prelude::*;

use super::{Kind, Limits, Node, ProblemKind, parse};

fn tree(text: &str) -> Node {
    let (node, findings) = parse(text, "spec", Limits::default());
    assert!(findings.is_empty(), "{findings:?}");
    node.expect("a document")
}

fn kinds(text: &str) -> Vec<ProblemKind> {
    parse(text, "spec", Limits::default()).1.into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn positions_are_those_of_the_text() {
    let root = tree("a:\n  - b: 1\n    ü: \"two\"\n");
    let Some(Kind::List(items)) = root.get("a").map(|node| &node.kind) else { panic!("a list") };
    let word = items[0].get("ü").expect("the key");
    assert_eq!((word.span.line, word.span.column), (3, 8));
}

#[test]
fn scalars_follow_the_core_schema() {
    let root = tree("[no, 'true', true, 1.10, 0x10, ~, .inf, 1_000, !!str 5]");
    let Kind::List(items) = &root.kind else { panic!("a list") };
    let shown: Vec<_> = items.iter().map(Node::describe).collect();
    assert_eq!(
        shown,
        [
            "the string \"no\"",
            "the string \"true\"",
            "`true`",
            "the number 1.10",
            "the number 0x10",
            "nothing",
            "the string \".inf\"",
            "the string \"1_000\"",
            "the string \"5\""
        ]
    );
}

#[test]
fn merge_keys_bring_what_the_map_does_not_have() {
    let root = tree("x-base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\n");
    assert_eq!(root.get("own").expect("own").canonical(), serde_json::json!({"a": 1, "b": 3}));
}

#[test]
fn every_duplicate_is_found() {
    assert_eq!(kinds("a: 1\na: 2\nb: {c: 1, c: 2, c: 3}\n"), [ProblemKind::DuplicateKey; 3]);
}

#[test]
fn structural_trouble_has_its_own_code() {
    assert_eq!(kinds("a: [1\n"), [ProblemKind::Syntax]);
    assert_eq!(kinds("a: 1\n---\nb: 2\n"), [ProblemKind::Documents]);
    assert_eq!(kinds(""), [ProblemKind::Documents]);
    assert_eq!(kinds("# nothing\n"), [ProblemKind::Documents]);
    assert_eq!(kinds("a: !include x\n"), [ProblemKind::Tag]);
    assert_eq!(kinds("{[1]: 2}\n"), [ProblemKind::Key]);
    assert_eq!(kinds("<<: 3\n"), [ProblemKind::Key]);
    assert_eq!(kinds("a: &a [*a]\n"), [ProblemKind::Syntax]);
}

#[test]
fn a_tab_is_told_where_it_is() {
    for (text, line, column) in [
        ("a:\n\tb: 1\n", 2, 1),
        ("a:\n  b: x\n\tc: y\n", 3, 1),
        ("a:\n  - x\n  \t- y\n", 3, 3),
        ("ü:\n  b: 'tab\tinside'\n  c: x\n\td: y\n", 4, 1),
    ] {
        let findings = parse(text, "spec", Limits::default()).1;
        assert_eq!(findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [ProblemKind::Syntax], "{text:?}");
        assert_eq!((findings[0].span.line, findings[0].span.column), (line, column), "{text:?}: {findings:?}");
    }
}

#[test]
fn a_template_without_quotes_is_one_finding_and_is_read_as_what_was_meant() {
    for text in ["a: {{ params.x }}\n", "a: {{params.x}}\n", "[{a: {{ params.x }}}, b]\n", "{{ params.x }}: b\n"] {
        assert_eq!(kinds(text), [ProblemKind::Key], "{text:?}");
    }
    assert_eq!(kinds("a: {{ params.x }} and more\nb: 1\n"), [ProblemKind::Key], "what follows is not another one");
    let (root, findings) = parse("a: {{ params.x | upper }}\n", "spec", Limits::default());
    assert_eq!(findings[0].help.as_deref(), Some("put all of it in quotes: \"{{ params.x | upper }}\""));
    let meant = root.expect("a tree").get("a").expect("a").canonical();
    assert_eq!(meant, serde_json::json!("{{ params.x | upper }}"));
    assert_eq!(kinds("a: {{b: 1}: 2}\n"), [ProblemKind::Key]);
    assert_eq!(kinds("a: { {b}: 2}\n"), [ProblemKind::Key]);
}

#[test]
fn hostile_texts_are_refused_in_bounded_time() {
    assert_eq!(kinds(&"[".repeat(100)), [ProblemKind::TooDeep]);
    // The scanner has a bound of its own, far above ours.
    assert_eq!(kinds(&"[".repeat(100_000)).len(), 1);
    let nested_anchors: String = (0..60).map(|level| format!("&a{level} [")).chain(["x, ".repeat(200_000)]).collect();
    assert_eq!(kinds(&nested_anchors).len(), 1);
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let previous = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{}]\n", vec![previous; 9].join(", ")));
    }
    assert_eq!(kinds(&laughs), [ProblemKind::TooMany]);
    assert_eq!(kinds(&"a".repeat(1024 * 1024 + 1)), [ProblemKind::TooLarge]);
    let keys: String = (0..100_001).map(|key| format!("{key}:\n")).collect();
    assert_eq!(kinds(&keys), [ProblemKind::TooMany]);
}

/// JSON values whose scalars are read alike by everybody.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[^\\p{C}\u{2028}\u{2029}]{0,12}".prop_map(Into::into),
        "[ \\n\\t:#'\"{}\\[\\],&*!|>%@-]{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn the_tree_agrees_with_serde_yaml(value in document()) {
        let text = serde_yaml::to_string(&serde_json::json!({ "root": value })).expect("YAML");
        let theirs: serde_json::Value = serde_yaml::from_str(&text).expect("read back");
        prop_assert_eq!(tree(&text).canonical(), theirs);
    }

    #[test]
    fn no_text_panics(text in "[\\PC\\n\\t ]{0,200}") {
        let _ = parse(&text, "spec", Limits::default());
    }

    #[test]
    fn no_yaml_like_text_panics(text in "([ \\n]|- |: |[a-c]|[&*]a|[\\[\\]{},|>'\"#!?~%]|<<){0,60}") {
        let _ = parse(&text, "spec", Limits::default());
    }
}
