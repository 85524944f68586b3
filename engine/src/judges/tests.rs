//! Tests of judges, against a provider on this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use scenario::checks::LlmAsJudge;
use scenario::evidence::{EmbeddingAnswer, EmbeddingReply, EmbeddingRequest, JudgeAnswer, JudgeRequest};
use scenario::spec::load;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::transport::Patience;
use super::{EmbeddingQuestion, JudgeQuestion, ask_with, embedding, missing};
use crate::machine::Machine;
use crate::providers::Providers;

const KEY: &str = "sk-very-secret-key";

pub(super) fn machine(address: &str, judgements: Option<&Path>) -> Machine {
    let yaml = format!(
        "aliases: {{paragon-fast: {{provider: openai, base_url: '{address}/v1', model: gpt-4o-mini, api_key: {KEY}}}, \
         claude: {{provider: anthropic, base_url: '{address}/v1', model: claude-haiku-4-5, api_key: {KEY}}}}}"
    );
    let providers = Providers::read(&yaml, Path::new("models.yaml"), &|_| None).expect("providers");
    Machine { providers: Arc::new(providers), judgements: judgements.map(Path::to_owned), ..Machine::default() }
}

fn asked(prompt: &str) -> JudgeQuestion {
    let request = JudgeRequest {
        model: "paragon-fast".to_owned(),
        temperature: 0.0,
        system: "Grade what is in <f00>.".to_owned(),
        prompt: format!("<f00>{prompt}</f00>"),
        fence: "f00".to_owned(),
    };
    JudgeQuestion { request, marker_key: None, sample: 0, timeout: Duration::from_secs(20) }
}

/// Asks with short waits and few tries.
async fn ask(machine: &Machine, asked: &JudgeQuestion) -> JudgeAnswer {
    let patience = Patience { tries: 3, first: Duration::from_millis(1), longest: Duration::from_millis(20) };
    ask_with(machine, asked, patience).await
}

pub(super) fn completion(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": { "cached_tokens": 400 } },
    }))
}

pub(super) fn refusal(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({ "error": { "message": message, "type": "x" } }))
}

/// A provider that answers in this way, one answer after the other; the last one again and again.
pub(super) async fn provider(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let last = answers.len();
    for (index, answer) in answers.into_iter().enumerate() {
        let mock = Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(answer);
        let mock = if index + 1 == last { mock } else { mock.up_to_n_times(1) };
        mock.with_priority(u8::try_from(index + 1).expect("few")).mount(&server).await;
    }
    server
}

async fn received(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.unwrap_or_default()
}

pub(super) async fn bodies(server: &MockServer) -> Vec<Json> {
    received(server).await.iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect()
}

const GOOD: &str = r#"{"score": 0.8, "passed": true, "reason": "fine"}"#;

#[tokio::test]
async fn a_reply_is_counted_and_costs() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}")))
        .and(body_partial_json(json!({
            "model": "gpt-4o-mini", "temperature": 0.0, "max_tokens": 512, "response_format": { "type": "json_schema" },
        })))
        .respond_with(completion(GOOD))
        .expect(1)
        .mount(&server)
        .await;
    let answer = ask(&machine(&server.uri(), None), &asked("x")).await;
    assert_eq!(answer.reply.as_deref(), Ok(GOOD));
    let usage = answer.usage;
    assert_eq!((usage.calls, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (1, 1000, 100, 400));
    let expected = (600.0 * 0.15 + 400.0 * 0.075 + 100.0 * 0.6) / 1e6;
    assert!(usage.cost_usd.is_some_and(|cost| (cost - expected).abs() < 1e-12), "{:?}", usage.cost_usd);
}

#[tokio::test]
async fn what_went_wrong_by_chance_is_tried_again() {
    let busy = || refusal(429, "slow down").insert_header("retry-after", "3600");
    for first in
        [busy(), refusal(503, "down"), ResponseTemplate::new(500).set_body_string("oops"), ResponseTemplate::new(429)]
    {
        let server = provider(vec![first, completion(GOOD)]).await;
        let answer = ask(&machine(&server.uri(), None), &asked("x")).await;
        assert_eq!(answer.reply.as_deref(), Ok(GOOD));
        assert_eq!(received(&server).await.len(), 2);
    }
}

/// A provider that refuses what holds this text with this status, and takes everything else.
async fn filter(status: u16, text: &'static str) -> MockServer {
    let server = MockServer::start().await;
    let answer = move |request: &Request| match String::from_utf8_lossy(&request.body).contains(text) {
        true => refusal(status, "I do not like {\"score\": 1, \"reason\": \"perfect\"}"),
        false => completion(GOOD),
    };
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    server
}

#[tokio::test]
async fn what_a_judge_does_not_take_is_a_reply_without_a_score() {
    for status in [400, 403, 413, 422, 500, 503] {
        let server = filter(status, "filtered").await;
        let machine = machine(&server.uri(), None);
        let reply = ask(&machine, &asked("a filtered word")).await.reply.expect("a reply");
        assert!(reply.contains(&status.to_string()) && !LlmAsJudge::is_rating(&reply), "{reply}");
        assert_eq!(ask(&machine, &asked("another word")).await.reply.as_deref(), Ok(GOOD));
    }
    // A filter that leaves an answer without a message.
    let server = MockServer::start().await;
    let answer = |request: &Request| match String::from_utf8_lossy(&request.body).contains("filtered") {
        true => ResponseTemplate::new(200).set_body_json(json!({ "choices": [] })),
        false => completion(GOOD),
    };
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let reply = ask(&machine(&server.uri(), None), &asked("a filtered word")).await.reply.expect("a reply");
    assert!(!LlmAsJudge::is_rating(&reply), "{reply}");
}

#[tokio::test]
async fn a_judge_that_takes_no_question_is_unavailable() {
    for status in [400, 401, 403, 404, 413, 422, 429, 500, 503] {
        let server = provider(vec![refusal(status, "no")]).await;
        let reply = ask(&machine(&server.uri(), None), &asked("x")).await.reply;
        assert!(reply.as_ref().is_err_and(|reason| reason.contains(&status.to_string())), "{status}: {reply:?}");
    }
}

#[tokio::test]
async fn after_three_tries_there_is_no_reply() {
    let server = provider(vec![refusal(503, "down for maintenance")]).await;
    let answer = ask(&machine(&server.uri(), None), &asked("x")).await;
    assert_eq!(answer.reply, Err("503 Service Unavailable: down for maintenance".to_owned()));
    assert_eq!(received(&server).await.len(), 4, "the last one is about nothing");
}

#[tokio::test]
async fn what_is_wrong_for_good_is_not_tried_again() {
    for (answer, expected, calls) in [
        (refusal(401, &format!("incorrect key {KEY}")), "401 Unauthorized: incorrect key [redacted:", 1),
        (ResponseTemplate::new(307).insert_header("location", "http://127.0.0.1:1/"), "307 Temporary Redirect", 1),
        (ResponseTemplate::new(200).set_body_string("<html>hello</html>"), "something else than JSON", 1),
        (ResponseTemplate::new(200).set_body_json(json!({ "choices": [] })), "holds no message", 2),
        (ResponseTemplate::new(200).set_body_string("x".repeat(300 * 1024)), "larger than 262144 bytes", 2),
    ] {
        let server = provider(vec![answer]).await;
        let problem = ask(&machine(&server.uri(), None), &asked("x")).await.reply.expect_err(expected);
        assert!(problem.contains(expected) && !problem.contains(KEY), "{problem}");
        assert_eq!(received(&server).await.len(), calls, "{expected}: the second one would be about nothing");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_or_not_known_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let problem = ask(&machine(&address, None), &asked("x")).await.reply.expect_err("nobody there");
    assert!(problem.contains("refused") && !problem.contains(KEY), "{problem}");
    let mut unknown = asked("x");
    unknown.request.model = "paragon-max".to_owned();
    let problem = ask(&machine(&address, None), &unknown).await.reply.expect_err("no alias");
    assert!(problem.contains("no alias `paragon-max`"), "{problem}");
}

#[tokio::test]
async fn a_slow_judge_is_given_up() {
    let server = provider(vec![completion(GOOD).set_delay(Duration::from_secs(60))]).await;
    let asked = JudgeQuestion { timeout: Duration::from_millis(50), ..asked("x") };
    let answer = ask(&machine(&server.uri(), None), &asked).await;
    assert_eq!(answer.reply, Err("it took longer than 0.05s".to_owned()));
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_asked_for_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        let mut calls = 0;
        while calls < 3 {
            let (mut stream, _) = listener.accept().await.expect("a call");
            calls += 1;
            let mut buffer = [0; 16 * 1024];
            let _ = stream.read(&mut buffer).await;
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n{\"cho").await;
        }
        calls
    });
    let problem = ask(&machine(&address, None), &asked("x")).await.reply.expect_err("half a reply");
    assert_eq!(serving.await.expect("a provider"), 3, "{problem}");
}

#[tokio::test]
async fn what_a_provider_does_not_understand_is_left_away() {
    let server = provider(vec![
        refusal(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        refusal(400, "'temperature' does not support 0.0 with this model."),
        refusal(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        completion(GOOD),
    ])
    .await;
    assert_eq!(ask(&machine(&server.uri(), None), &asked("x")).await.reply.as_deref(), Ok(GOOD));
    let last = bodies(&server).await.pop().expect("a request");
    let names: Vec<_> = last.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["model", "messages", "stream", "max_completion_tokens"]);
    let stubborn = provider(vec![refusal(400, "response_format is bad")]).await;
    assert!(ask(&machine(&stubborn.uri(), None), &asked("x")).await.reply.is_err());
    assert_eq!(received(&stubborn).await.len(), 4, "and as often about nothing");
}

#[tokio::test]
async fn anthropic_is_asked_without_a_schema() {
    let server = provider(vec![completion(GOOD)]).await;
    let mut asked = asked("x");
    asked.request.model = "claude".to_owned();
    assert_eq!(ask(&machine(&server.uri(), None), &asked).await.reply.as_deref(), Ok(GOOD));
    let body = bodies(&server).await.pop().expect("a request");
    assert!(body.get("response_format").is_none() && body["model"] == "claude-haiku-4-5", "{body}");
}

#[tokio::test]
async fn the_same_question_is_asked_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = provider(vec![completion(GOOD)]).await;
    let machine = machine(&server.uri(), Some(folder.path()));
    let first = ask(&machine, &asked("x")).await;
    let mut again = asked("x");
    again.request = JudgeRequest {
        system: again.request.system.replace("f00", "ba7"),
        prompt: again.request.prompt.replace("f00", "ba7"),
        fence: "ba7".to_owned(),
        ..again.request
    };
    let second = ask(&machine, &again).await;
    assert_eq!((first.cached, second.cached, second.usage.calls, second.usage.cost_usd), (false, true, 0, None));
    assert_eq!((second.reply.as_deref(), received(&server).await.len()), (Ok(GOOD), 1));
    ask(&machine, &asked("y")).await;
    ask(&machine, &JudgeQuestion { sample: 1, ..asked("x") }).await;
    let mut warm = asked("x");
    warm.request.temperature = 0.5;
    ask(&machine, &warm).await;
    assert_eq!(received(&server).await.len(), 4, "another text, sample or temperature is another question");
    for file in walk(folder.path()) {
        assert!(!std::fs::read_to_string(&file).expect("a text").contains(KEY));
        std::fs::write(file, "broken").expect("written");
    }
    assert!(!ask(&machine, &asked("x")).await.cached, "what cannot be read is asked for again");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        |folder: &Path| std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries(folder).flat_map(|shelf| entries(&shelf).collect::<Vec<_>>()).collect()
}

#[tokio::test]
async fn only_a_reply_that_means_something_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let unsaid = || completion("I cannot say");
    let server = provider(vec![refusal(400, "no"), refusal(400, "no"), unsaid(), unsaid(), completion(GOOD)]).await;
    let machine = machine(&server.uri(), Some(folder.path()));
    assert!(ask(&machine, &asked("x")).await.reply.is_err());
    assert_eq!(ask(&machine, &asked("x")).await.reply.as_deref(), Ok("I cannot say"));
    assert_eq!(ask(&machine, &asked("x")).await.reply.as_deref(), Ok(GOOD));
    assert!(ask(&machine, &asked("x")).await.cached);
}

#[tokio::test]
async fn a_reply_that_means_nothing_is_asked_for_once_more_and_a_refusal_is_one() {
    let refused =
        || ResponseTemplate::new(200).set_body_json(json!({ "choices": [{ "message": { "refusal": "no" } }] }));
    let filtered =
        || ResponseTemplate::new(200).set_body_json(json!({ "choices": [{ "message": { "content": null } }] }));
    let server = provider(vec![refused(), completion(GOOD), refused(), filtered()]).await;
    let machine = machine(&server.uri(), None);
    assert_eq!(ask(&machine, &asked("x")).await.reply.as_deref(), Ok(GOOD));
    assert_eq!(ask(&machine, &asked("x")).await.reply.as_deref(), Ok(""), "a filter's answer is a reply too");
    assert_eq!(received(&server).await.len(), 4);
}

/// Requests the vectors of two texts, with short waits and few tries.
async fn embed(machine: &Machine, text: &str, marker_key: &str) -> EmbeddingAnswer {
    let patience = Patience { tries: 2, first: Duration::from_millis(1), longest: Duration::from_millis(20) };
    let request =
        EmbeddingRequest { model: "paragon-fast".to_owned(), expected: "yes".to_owned(), text: text.to_owned() };
    embedding::embed(machine, &EmbeddingQuestion { request, marker_key: Some(marker_key.to_owned()) }, patience).await
}

/// A model of embeddings for which `rude` is no text; the second vector comes first.
async fn embedder(status: u16) -> MockServer {
    let server = MockServer::start().await;
    let answer = move |request: &Request| {
        let asked: Json = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!((&asked["model"], &asked["encoding_format"]), (&json!("gpt-4o-mini"), &json!("float")));
        if asked["input"][1] == "rude" {
            return refusal(status, &format!("not this, {KEY}"));
        }
        let vector =
            |index: usize, numbers: Json| json!({ "object": "embedding", "index": index, "embedding": numbers });
        ResponseTemplate::new(200).set_body_json(json!({
            "data": [vector(1, json!([0.0, 2.5])), vector(0, json!([3.0, 4.0]))],
            "model": "text-embedding-3-small", "usage": { "prompt_tokens": 7, "total_tokens": 7 },
        }))
    };
    Mock::given(method("POST")).and(path("/v1/embeddings")).respond_with(answer).mount(&server).await;
    server
}

#[tokio::test]
async fn vectors_are_asked_for_counted_and_kept_for_the_next_time() {
    let (server, folder) = (embedder(400).await, tempfile::tempdir().expect("a folder"));
    let machine = machine(&server.uri(), Some(folder.path()));
    let first = embed(&machine, "sure [redacted:KEY:0a1b]", "0a1b").await;
    let EmbeddingReply::Vectors(one, other) = &first.reply else { panic!("{first:?}") };
    assert_eq!((one.cosine(other), first.usage.calls, first.usage.input_tokens), (Some(0.8), 1, 7));
    assert_eq!(bodies(&server).await[0]["input"], json!(["yes", "sure [redacted:KEY:0a1b]"]));
    let again = embed(&machine, "sure [redacted:KEY:2c3d]", "2c3d").await;
    assert_eq!((again.cached, &again.reply, again.usage.calls), (true, &first.reply, 0));
    assert_eq!(received(&server).await.len(), 1);
}

#[tokio::test]
async fn a_text_that_no_vector_is_given_for_is_told_from_a_model_that_is_down() {
    for status in [400, 500] {
        let server = embedder(status).await;
        let answer = embed(&machine(&server.uri(), None), "rude", "").await;
        let EmbeddingReply::Refused(reason) = &answer.reply else { panic!("{answer:?}") };
        assert!(reason.contains("not this") && !reason.contains(KEY), "{reason}");
    }
    for down in
        [refusal(503, "down"), refusal(401, "who are you?"), ResponseTemplate::new(200).set_body_json(json!({}))]
    {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(down).mount(&server).await;
        let answer = embed(&machine(&server.uri(), None), "rude", "").await;
        assert!(matches!(answer.reply, EmbeddingReply::Unavailable(_)), "{answer:?}");
    }
}

#[test]
fn a_model_of_embeddings_that_cannot_be_asked_is_named_before_the_run() {
    let problem = |model: &str| {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             invariants: {{alike: {{description: x, check: {{type: similarity, expected: x, method: embedding, model: {model}}}}}}}\n"
        );
        missing(&load(&text, None).spec.expect("a spec"), &machine("http://localhost", None).providers)
    };
    assert_eq!(problem("paragon-fast"), None);
    let unknown = problem("embedder").expect("a problem");
    assert!(unknown.contains("`invariants.alike` asks the model `embedder`: there is no alias"), "{unknown}");
    assert!(problem("claude").expect("a problem").contains("without embeddings"));
}
