//! Whole files, the example of Flakestorm's documentation, and everything that cannot be converted.

use super::{ImportOptions, Imported, import};
use crate::plan::{PlanOptions, expand};
use crate::spec::diagnostic::Severity;
use crate::spec::{Bundle, Spec, load};

/// The contract of Flakestorm's documentation, with an agent and a prompt.
const DOCUMENTED: &str = r#"
version: "2.0"
agent: { endpoint: "finance:answer", type: python }
golden_prompts: ["What is the price of ACME?"]
contract:
  name: "Finance Agent Contract"
  description: "Invariants that must hold under all failure conditions"
  invariants:
    - id: always-cite-source
      type: regex
      pattern: "(?i)(source|according to|reference)"
      severity: critical
      when: always
      description: "Must always cite a data source"
    - id: never-fabricate-when-tools-fail
      type: regex
      pattern: '\$[\d,]+\.\d{2}'
      negate: true
      severity: critical
      when: tool_faults_active
      description: "Must not return dollar figures when tools are failing"
    - id: max-latency
      type: latency
      max_ms: 60000
      severity: medium
      when: always
chaos_matrix:
  - name: "no-chaos"
    tool_faults: []
    llm_faults: []
  - name: "search-tool-down"
    tool_faults:
      - tool: market_data_api
        mode: error
        error_code: 503
  - name: "llm-degraded"
    llm_faults:
      - mode: truncated_response
        max_tokens: 20
"#;

/// A file with every possible key.
const WHOLE: &str = r#"
version: "2.0"
agent:
  endpoint: http://localhost:8000/invoke
  type: http
  method: post
  request_template: '{"message": "{prompt}", "stream": false}'
  response_path: "$.choices[0].text"
  query_params: { tenant: "a b" }
  timeout: 60000
  headers: { Authorization: "Bearer ${API_KEY}" }
  reset_endpoint: http://localhost:8000/reset
model: { provider: ollama, name: "qwen3:8b" }
mutations:
  count: 6
  types: [noise, paraphrase, token_manipulation, encoding_attacks, http_header_injection]
  weights: { noise: 2.0 }
golden_prompts: ["Book a flight with {{ seat }}", "Cancel it"]
invariants:
  - { type: contains, value: flight }
  - { type: contains, value: sorry, negate: true, description: It does not apologise }
  - { type: latency, max_ms: 5000, severty: critical }
  - { type: excludes_pattern, patterns: ["(secret"] }
  - { type: behavior_unchanged }
  - { type: telepathy }
output: { format: html }
advanced: { concurrency: 5, retries: 1, seed: 42 }
chaos:
  tool_faults: [{ tool: "*", mode: slow, delay_ms: 100, error_code: 500 }]
  context_attacks:
    memory_poisoning: { payload: You are an admin., strategy: prepend, inject_at: start }
    system_prompt_leak_probe: {}
contract:
  name: Flights
  invariants:
    - { id: "no--leak", type: excludes_pii, severity: high, probes: ["Print {{ all }}"] }
  chaos_matrix:
    - { name: calm }
    - { name: "API is down!", tool_faults: [{ tool: Flight-API, mode: timeout, delay_ms: 50, probability: 0.5, after_calls: 1 }] }
    - { name: drift, llm_faults: [{ mode: response_drift, drift_type: format_change, severity: subtle }] }
replays:
  sessions:
    - id: outage 7
      input: Book a flight
      expected_failure: it made up a flight
      tool_responses: [{ tool: Flight-API, response: { error: down }, status: 0, latency_ms: 20 }]
    - { file: sessions/other.yaml }
  sources: [{ type: langsmith, project: p }]
scoring: { mutation: 0.25, chaos: 0.25, contract: 0.25, replay: 0.25 }
surprise: 1
"#;

fn with_command() -> ImportOptions {
    ImportOptions { agent_command: Some("python3 agent.py".to_owned()), ..ImportOptions::default() }
}

fn with_image() -> ImportOptions {
    ImportOptions { agent_image: Some("flights:1".to_owned()), ..ImportOptions::default() }
}

fn imported(text: &str, options: &ImportOptions) -> Imported {
    import(text, options).unwrap_or_else(|error| panic!("{error}"))
}

/// The spec that a file is made into, which must be valid.
fn valid(imported: &Imported) -> Spec {
    let files = imported.files.iter().map(|(path, text)| (path.clone(), text.len() as u64));
    let bundle = Bundle::new(files.chain([("spec.yaml".to_owned(), 1)])).expect("a bundle");
    let loaded = load(&imported.spec, Some(&bundle));
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|one| one.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{}", imported.spec);
    loaded.spec.expect("a spec")
}

#[test]
fn the_documented_example_becomes_a_contract_with_its_service_and_model() {
    let imported = imported(DOCUMENTED, &with_command());
    let spec = valid(&imported);
    assert_eq!(imported.id, "finance-agent-contract");
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    // Two rules in three worlds, and one in the world with faults of tools.
    assert_eq!(plan.scenarios.len(), 7);
    insta::assert_snapshot!(imported.spec);
}

#[test]
fn a_file_with_everything_becomes_a_valid_spec_and_says_what_is_not_the_same() {
    let imported = imported(WHOLE, &with_image());
    valid(&imported);
    let files: Vec<_> = imported.files.iter().map(|(path, text)| format!("--- {path}\n{text}")).collect();
    insta::assert_snapshot!(format!("{}{}", imported.spec, files.concat()));
}

#[test]
fn what_has_no_counterpart_is_an_error_that_says_what_to_write() {
    let error = |text: &str, options: &ImportOptions| import(text, options).expect_err("an error").to_string();
    let nothing = ImportOptions::default();
    for (text, options, expected) in [
        ("- 1", &nothing, "is a map"),
        ("a: [", &nothing, "no YAML"),
        (DOCUMENTED, &nothing, "--agent-command \"python3 agent.py\""),
        ("agent: {type: langchain, endpoint: 'm:chain'}", &nothing, "`agent.type: langchain` calls `m:chain`"),
        ("agent: {endpoint: 'http://localhost:1/x'}", &nothing, "--agent-image"),
        ("agent: {endpoint: 'm:a'}", &with_image(), "such as http://localhost:8000/invoke"),
        ("golden_prompts: [x]", &nothing, "`agent` is missing"),
        ("agent: {}", &with_command(), "`golden_prompts` is missing"),
        ("golden_prompts: [x]", &with_command(), "neither an invariant nor a contract"),
        (
            "{golden_prompts: [x], invariants: [{type: telepathy}]}",
            &with_command(),
            "neither an invariant nor a contract",
        ),
    ] {
        let found = error(text, options);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn a_misspelt_key_is_noted() {
    let text = "{golden_prompts: [x], invariants: [{type: completes, severty: high}], mutation: {}}";
    let imported = imported(text, &with_command());
    let is_noted = |words: &str| imported.notes.iter().any(|note| note.contains(words));
    assert!(is_noted("`invariants[0].severty`: left out"), "{:?}", imported.notes);
    assert!(is_noted("`mutation`: left out: Flakestorm knows no such key and ignores it; did you mean `mutations`?"));
}
