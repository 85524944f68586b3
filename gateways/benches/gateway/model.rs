//! The model gateway, beside a plain server: scripted (streamed and not), and as a proxy (streamed).

use std::any::Any;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateways::Gateway as _;
use gateways::contract_session::{ContractSession, ContractSettings, SessionApprover};
use gateways::model::{ModelGateway, ModelSettings, Source};
use gateways::providers::{Key, ProviderKind, Reach, Upstream};
use gateways::redact::Redactor;
use scenario::evidence::ContractMode;
use scenario::plan::{PlanOptions, Values, expand};
use scenario::spec::load;
use scenario::spec::sections::{NarrowingFeedback, PauseScope};
use serde_json::{Value as Json, json};

use tool_contracts::options::Mode;
use tool_contracts::{CompileOptions, RawFile, RawSet, compile};

use crate::direct::{self, Plain};
use crate::target::{Ask, Pair, Target};

/// Token that the agent shows instead of a key.
const TOKEN: &str = "token-of-the-benchmark";
/// Number of words in the model's answer, which is sent word by word when it is streamed.
const WORDS: usize = 40;

/// Returns the measured pairs of the model gateway.
pub(crate) async fn pairs() -> Vec<Pair> {
    vec![
        pair("model, scripted", false, served(scripted(), ask(false), ())).await,
        pair("model, scripted, under tool contracts", false, governed().await).await,
        pair("model, scripted and streamed", true, served(scripted(), ask(true), ())).await,
        pair("model, proxy and streamed", true, proxy().await).await,
    ]
}

/// A gateway beside a plain server that gives an answer of the same form.
async fn pair(name: &'static str, is_streamed: bool, gateway: Target) -> Pair {
    let answer = if is_streamed { events() } else { whole() };
    Pair { name, is_streamed, plain: direct::target(answer, ask(is_streamed)).await, gateway }
}

/// A gateway in front of a plain server that streams.
async fn proxy() -> Target {
    let (address, guard) = direct::serve(events()).await;
    let upstream = Upstream {
        name: "bench".to_owned(),
        base_url: format!("http://{address}/v1"),
        key: Key::new("key-of-the-upstream"),
        provider: ProviderKind::OpenAi,
        model: None,
        reach: Reach::Anywhere,
        family: None,
    };
    served(Source::Upstream(upstream), ask(true), guard)
}

/// A script whose one turn is given again and again.
fn scripted() -> Source {
    let spec = json!({
        "version": 1,
        "id": "bench",
        "base": "debian",
        "task": {"prompt": "x"},
        "model": {
            "mode": "scripted",
            "on_exhausted": "repeat_last",
            "turns": [{"content": text(), "prompt_tokens": 20, "completion_tokens": WORDS}],
        },
        "invariants": {"x": {"description": "x", "check": {"type": "file_exists", "path": "x"}}},
    });
    let spec = load(&spec.to_string(), None).spec.expect("a valid spec");
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let scenario = &plan.scenarios[0];
    let secrets = BTreeMap::new();
    let values = Values::with_secrets(&spec, scenario, &secrets);
    Source::new(spec.model.as_ref().expect("a model"), scenario, &values, None, None).expect("a script")
}

/// A scripted gateway whose calls tool contracts decide on. Its answers call no tool.
async fn governed() -> Target {
    let tool = RawFile { name: "pay.yaml".to_owned(), text: "tool: pay\nside_effect: financial\n".to_owned() };
    let mut options = CompileOptions::default();
    options.run.mode = Mode::Govern;
    let (contracts, _) = compile(&RawSet { files: vec![tool] }, &options).expect("a set");
    let session = Arc::new(ContractSession::open(ContractSettings {
        session: "bench".to_owned(),
        role: None,
        contracts: Arc::new(contracts),
        mode: ContractMode::Govern,
        sees_model: true,
        feedback: NarrowingFeedback::Silent,
        max_retries: 0,
        approver: SessionApprover::Human(None),
        pause_scope: PauseScope::Session,
        hold_wait: Duration::from_secs(45),
        world: None,
        clock: Arc::default(),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        redactor: Redactor::default(),
    }));
    session.begin().await;
    with_settings(ModelSettings { contracts: Some(session), ..ModelSettings::new(scripted(), TOKEN) }, ask(false), ())
}

/// Starts a gateway; `beside` lives as long.
fn served(source: Source, ask: Ask, beside: impl Any + Send + Sync) -> Target {
    with_settings(ModelSettings::new(source, TOKEN), ask, beside)
}

fn with_settings(settings: ModelSettings, ask: Ask, beside: impl Any + Send + Sync) -> Target {
    let gateway = ModelGateway::new(settings);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    gateway.serve(listener).expect("serving");
    Target { address, ask, _server: Box::new((gateway, beside)) }
}

fn ask(stream: bool) -> Ask {
    let body = json!({
        "model": "gpt-4o-mini",
        "stream": stream,
        "messages": [{"role": "user", "content": "Tell me something about gateways, in a few words."}],
    });
    let mut ask = Ask::post("/v1/chat/completions", "model", body.to_string());
    ask.headers.push(("authorization", format!("Bearer {TOKEN}")));
    ask
}

fn text() -> String {
    ["word"; WORDS].join(" ")
}

/// An answer at once.
fn whole() -> Plain {
    let message = json!({"role": "assistant", "content": text()});
    let body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": WORDS, "total_tokens": 20 + WORDS},
    });
    Plain { content_type: "application/json", parts: [Bytes::from(body.to_string())].into() }
}

/// An answer word by word.
fn events() -> Plain {
    let chunk = |delta: Json, end: Json| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        let chunk = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "gpt-4o-mini",
            "choices": [choice],
        });
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let words = (0..WORDS).map(|_| chunk(json!({"content": "word "}), Json::Null));
    let end = [chunk(json!({}), json!("stop")), Bytes::from_static(b"data: [DONE]\n\n")];
    let parts: Arc<[Bytes]> = words.chain(end).collect();
    Plain { content_type: "text/event-stream", parts }
}
