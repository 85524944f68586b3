//! No input brings the loader down, and findings always point into the text.

use proptest::prelude::*;

use scenario::spec::code::Code;
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
fn all_keys_that_are_missing_are_found_at_once() {
    let loaded = load("version: 1\nid: hello\n", None);
    assert!(loaded.spec.is_none());
    let messages: Vec<_> = loaded.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert!(messages.contains(&"the key `base` is missing") && messages.contains(&"the key `invariants` is missing"));
}

#[test]
fn every_prefix_of_a_spec_is_survived() {
    for case in examples() {
        for (end, _) in case.text.char_indices().step_by(37) {
            survive(&case.text[..end]);
        }
    }
}

/// A spec that is right, but for what is put behind it.
fn spec(more: &str) -> String {
    format!("version: 1\nid: x\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{more}\n")
}

const INVARIANTS: &str = "invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";

#[test]
fn an_error_behind_a_hundred_warnings_still_counts() {
    let crowd: String = (0..1000).map(|n| format!("  i{n}: {{check: {{type: file_exists, path: x}}}}\n")).collect();
    let rule = "scoring: {replica_aggregation: all, min_pass_rate: 0.5}";
    assert!(load(&spec(&format!("invariants:\n{crowd}{rule}")), None).spec.is_none(), "a rule's error counts too");
    let warnings: String = (0..101).map(|n| format!("  i{n}: {{check: {{type: file_exists, path: x}}}}\n")).collect();
    let loaded = load(&spec(&format!("invariants:\n{warnings}scoring: {{pass_treshold: 1}}")), None);
    assert!(loaded.spec.is_none());
    assert_eq!((loaded.diagnostics.len(), loaded.left_out), (100, 2));
    assert!(loaded.diagnostics.iter().any(|finding| finding.code == Code::UnknownKey));
}

#[test]
fn one_broken_part_does_not_hide_mistakes_in_others() {
    let text = spec(
        "resources: {timeout: 5}\nservices: [{name: db, image: redis, wieght: 1}, {name: mail, type: http_mok}]\ninvariants:\n  a: {description: x, check: {type: sql, service: db, query: x, equals: 1}}\n  b: {description: x, check: {type: sql, service: mail, query: x, equals: 1}}\n  c: {description: x, check: {type: sql, service: dbb, query: x, equals: 1}}\n  d: {description: x, weight: much, check: {type: file_exists, path: x}}",
    );
    let found: Vec<_> =
        load(&text, None).diagnostics.iter().map(|finding| (finding.code.name(), finding.path.to_string())).collect();
    let expected = [
        ("invalid-value", "resources.timeout"),
        ("unknown-key", "services[0].wieght"),
        ("unknown-choice", "services[1].type"),
        ("wrong-service-kind", "invariants.a.check.service"),
        ("unknown-service", "invariants.c.check.service"),
        ("wrong-type", "invariants.d.weight"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, path)| (code, path.to_owned())),
        "and nothing is said about the broken service `mail`"
    );
}

/// Texts that are small and were expensive, or brought a library down. They end, or the runner's limit says so.
#[test]
fn hostile_specs_are_refused_or_read_in_bounded_time() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<String>();
    let nested_glob = format!("{}b{}", "{a,".repeat(125), "}".repeat(125));
    for more in [
        format!("{INVARIANTS}description: '{}'", "{{ ".repeat(200_000)),
        format!("{INVARIANTS}setup: {{env: {{A: '{}{}'}}}}", "{{".repeat(100_000), "}}".repeat(100_000)),
        format!("{INVARIANTS}services:\n  - {{name: s, type: http_mock, routes: [{}]}}", list(50_000, &|n| format!("{{path: /{n}}}, "))),
        format!("{INVARIANTS}parallelism: {{matrix: [{}], exclude: [{}]}}", list(20_000, &|n| format!("{{a: {n}}}, ")), list(20_000, &|n| format!("{{a: {n}}}, "))),
        format!("{INVARIANTS}parallelism: {{matrix: {{{}}}}}", list(20_000, &|n| format!("a{n}: [1], "))),
        format!("{INVARIANTS}x-big: &big [{}]\nparallelism: {{matrix: {{a: [*big, 1], b: [{}]}}}}", "1, ".repeat(20_000), list(900, &|n| format!("{n}, "))),
        format!("{INVARIANTS}forbidden: {{http_except: [{}]}}", list(50_000, &|n| format!("s{n}, "))),
        format!("{INVARIANTS}setup: {{commands: [{}]}}", list(900, &|_| "['{{ params.q }}', '{{ secrets.Q }}'], ".to_owned())),
        format!("invariants: {{x: {{description: x, check: {{type: file_exists, path: '{nested_glob}'}}}}}}"),
        format!("invariants: {{x: {{description: x, check: {{type: file_exists, path: '{}'}}}}}}", "{".repeat(100_000)),
        format!("invariants: {{x: {{description: x, check: {{type: http_mock_assertions, service: x, assertions: [{}]}}}}}}", list(900, &|n| format!("{{field: request_count, matches: '{n}a{{50}}'}}, "))),
        "invariants: {x: {description: x, check: {type: file_content, path: x, pattern: '((a{1,100}){1,100}){1,100}'}}}".to_owned(),
        format!("{INVARIANTS}x-names: &names [{}]\ntools: [{}]\nchaos: {{tool_faults: [{}]}}", list(900, &|n| format!("n{n}, ")), list(200, &|n| format!("{{server: s{n}, command: [x], prefix: p{n}, tools: *names}}, ")), list(900, &|n| format!("{{tool: '*x{n}', mode: vanish}}, "))),
        format!("{INVARIANTS}tools: [{{name: x, input_schema: {{type: object, properties: {{{}}}}}, mock: {{rules: [{}]}}}}]", list(900, &|n| format!("a{n}: {{type: string}}, ")), list(900, &|n| format!("{{match: {{a{n}: x}}, times: 1, return: x}}, "))),
    ] {
        survive(&spec(&more));
    }
}

/// Findings about tools and faults of them.
fn findings(more: &str) -> Vec<(&'static str, String)> {
    let found = load(&spec(&format!("{INVARIANTS}{more}")), None).diagnostics;
    found.iter().map(|finding| (finding.code.name(), finding.path.to_string())).collect()
}

#[test]
fn faults_may_name_what_a_broken_tool_may_be() {
    let faults = "chaos: {tool_faults: [{tool: note, mode: vanish}, {tool: nota, mode: vanish}]}";
    let broken = findings(&format!("tools: [{{name: note, timeout: 5, mock: {{}}}}]\n{faults}"));
    let expected = [("invalid-value", "tools[0].timeout"), ("unknown-service", "chaos.tool_faults[1].tool")];
    assert_eq!(broken, expected.map(|(code, path)| (code, path.to_owned())));
    let broken = findings(&format!("tools: {{list: [{{server: notes, command: 5}}]}}\n{faults}"));
    assert_eq!(broken, [("wrong-type", "tools.list[0].command".to_owned())], "a server may have any tool");
}

#[test]
fn faults_may_name_any_tool_of_a_server_without_a_list() {
    let faults = |tool: &str| format!("chaos: {{tool_faults: [{{tool: '{tool}', mode: vanish}}]}}");
    let open = "tools: [{server: fs, command: [x], prefix: fs_}]";
    for tool in ["fs_read", "fs_*", "*"] {
        assert_eq!(findings(&format!("{open}\n{}", faults(tool))), [], "{tool}");
    }
    for tool in ["fs_", "read", "fs"] {
        let found = findings(&format!("{open}\n{}", faults(tool)));
        assert_eq!(found, [("unknown-service", "chaos.tool_faults[0].tool".to_owned())], "{tool}");
    }
    let listed = "tools: [{server: fs, command: [x], tools: [files.read, 'files/write']}]";
    for tool in ["files.read", "files.*", "*write"] {
        assert_eq!(findings(&format!("{listed}\n{}", faults(tool))), [], "{tool}");
    }
}

#[test]
fn an_image_that_serves_tools_is_a_service_for_rules() {
    let text = "tools: [{server: fs, image: 'fs:1', port: 9000}]\nsetup: {env: {PORT: '{{ services.fs.port }}'}}\n\
                chaos: {network_faults: [{mode: latency, services: [fs]}]}";
    assert_eq!(findings(text), []);
    let twice = "tools: [{server: db, image: 'fs:1'}]\nservices: [{name: db, image: redis}]";
    assert_eq!(findings(twice), [("duplicate-name", "tools[0].server".to_owned())]);
}

#[test]
fn ordinary_expressions_are_not_too_large() {
    for pattern in [r"\w{1,50}", r"^[\w.+-]{1,64}@[\w.-]{1,255}$", r"(?s)^.{0,2000}$"] {
        let text = spec(&format!(
            "invariants: {{x: {{description: x, check: {{type: file_content, path: x, pattern: '{pattern}'}}}}}}"
        ));
        assert_eq!(load(&text, None).diagnostics, [], "{pattern}");
    }
}

#[test]
fn a_parameter_of_any_cell_can_be_excluded() {
    let text = spec(&format!("{INVARIANTS}parallelism: {{matrix: [{{a: 1}}, {{a: 2, b: 2}}], exclude: [{{b: 2}}]}}"));
    assert_eq!(load(&text, None).diagnostics, []);
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
