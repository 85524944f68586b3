//! Tests of where models are found.

use std::path::Path;

use scenario::evidence::TokenCount;

use super::{ProviderKind, Providers, ProvidersError, Upstream};

const ENVIRONMENT: [(&str, &str); 3] = [
    ("OPENAI_API_KEY", "sk-openai"),
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/anthropic/"),
    ("OTHER_KEY", " sk-other\n"),
];

fn read(yaml: &str) -> Result<Providers, ProvidersError> {
    let environment =
        |name: &str| ENVIRONMENT.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Providers::read(yaml, Path::new("/data/models.yaml"), &environment)
}

fn known(yaml: &str) -> Providers {
    read(yaml).unwrap_or_else(|error| panic!("{error}"))
}

fn key(upstream: &Upstream) -> Option<&str> {
    upstream.key.as_ref().map(super::Key::expose)
}

#[test]
fn models_are_found_by_their_names() {
    let providers = known("");
    let gpt = providers.for_model("gpt-4o").expect("a provider");
    assert_eq!((gpt.base_url.as_str(), key(&gpt)), ("https://api.openai.com/v1", Some("sk-openai")));
    assert_eq!((gpt.provider, gpt.model.as_deref()), (ProviderKind::OpenAi, Some("gpt-4o")));
    let claude = providers.for_model("claude-sonnet-4-5").expect_err("no key");
    assert_eq!(claude.to_string(), "the environment variable `ANTHROPIC_API_KEY` is not set");
    assert_eq!(
        providers.for_model("paragon-fast").expect_err("no alias").to_string(),
        "there is no alias `paragon-fast` in `/data/models.yaml`: add it"
    );
    assert!(providers.for_model("llama").expect_err("no alias").to_string().contains("no alias `llama`"));
}

#[test]
fn an_alias_says_where_and_which() {
    let providers = known(
        "aliases:\n  paragon-fast: {provider: openai, model: gpt-4o-mini}\n  local: {provider: openai, base_url: 'http://localhost:11434/v1/'}\n  \
         claude: {provider: anthropic, api_key_env: OTHER_KEY}\n  gpt-4o: {provider: openai, base_url: 'https://proxy.example/v1', api_key: literal}\n",
    );
    let fast = providers.for_model("paragon-fast").expect("a provider");
    assert_eq!((fast.model.as_deref(), key(&fast)), (Some("gpt-4o-mini"), Some("sk-openai")));
    let local = providers.upstream("local").expect("a provider");
    assert_eq!(
        (local.base_url.as_str(), key(&local), local.model.as_deref()),
        ("http://localhost:11434/v1", None, None)
    );
    assert_eq!(providers.for_model("local").expect("a provider").model.as_deref(), Some("local"));
    let claude = providers.upstream("claude").expect("a provider");
    assert_eq!((claude.base_url.as_str(), key(&claude)), ("http://127.0.0.1:9/anthropic/v1", Some("sk-other")));
    assert_eq!(providers.for_model("gpt-4o").expect("a provider").base_url, "https://proxy.example/v1");
    assert_eq!(providers.warnings().len(), 1, "{:?}", providers.warnings());
    assert!(providers.upstream("gpt-4").expect_err("no alias").to_string().contains("it has `claude`, `gpt-4o`"));
}

#[test]
fn a_key_is_never_shown_but_told_to_who_hides_it() {
    let providers = known("aliases: {a: {provider: openai, api_key: sk-literal}}");
    let shown = format!("{providers:?} {:?} {:?}", providers.upstream("a"), providers.warnings());
    assert!(!shown.contains("sk-literal") && !shown.contains("sk-openai"), "{shown}");
    let mut keys: Vec<_> = providers.keys().into_iter().map(|(_, value)| value).collect();
    keys.sort();
    assert_eq!(keys, ["sk-literal", "sk-openai"]);
}

#[test]
fn a_key_may_be_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("key"), "sk-file\n").expect("written");
    let config = folder.path().join("models.yaml");
    std::fs::write(
        &config,
        "aliases: {a: {provider: openai, api_key_file: key}, b: {provider: openai, api_key_file: gone}}",
    )
    .expect("written");
    let providers = Providers::load(&config, &|_| None).expect("providers");
    assert_eq!(key(&providers.upstream("a").expect("a provider")), Some("sk-file"));
    let gone = providers.upstream("b").expect_err("no key");
    assert!(gone.to_string().contains("the alias `b` has no key: cannot read"), "{gone}");
    assert!(Providers::load(&folder.path().join("none.yaml"), &|_| None).is_ok());
}

#[test]
fn mistakes_are_said_with_their_place() {
    for (yaml, expected) in [
        ("aliass: {}", "unknown field `aliass`"),
        ("aliases: {a: {provider: openai, key: x}}", "aliases.a: unknown field `key`"),
        ("aliases: {a: {provider: azure}}", "aliases.a.provider: unknown variant `azure`"),
        ("aliases: {a: {}}", "aliases.a: missing field `provider`"),
        ("aliases: {a: {provider: openai, base_url: api.example}}", "aliases.a: base_url: `api.example` is no address"),
        ("aliases: {a: {provider: openai, api_key: x, api_key_env: Y}}", "aliases.a: give one of"),
        ("prices: {gpt-4o: {input: free, output: 1}}", "prices.gpt-4o.input: invalid type"),
        ("prices: {gpt-4o: {input: -1, output: 1}}", "-1 is no price"),
    ] {
        let error = read(yaml).expect_err(yaml).to_string();
        assert!(error.contains(expected) && error.contains("/data/models.yaml"), "{yaml}: {error}");
    }
}

#[test]
fn own_prices_come_first() {
    let providers = known("prices: {gpt-4o: {input: 1, output: 1}}");
    let tokens = TokenCount { input: 1_000_000, ..TokenCount::default() };
    assert_eq!(providers.cost("gpt-4o-2024-08-06", &tokens), Some(1.0));
    assert_eq!(providers.cost("gpt-4o-mini", &tokens), Some(0.15));
    assert_eq!(providers.cost("unheard-of", &tokens), None);
}
