//! The server as a service, with a store in a folder of its own, a clock that is moved by hand, and ids that are the
//! same each time.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use scenario::evidence::{AgentRecord, Captured, Evidence};
use scenario::interactive::{Ask, Refusal, RefusalKind, Reply};
use scenario::plan::AgentOverride;
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::spec::Spec;
use scenario::verdict::{ErrorKind, Verdict};
use serde_json::Value;
use server::{Access, Admission, Config, Parts, Workers, auth};
use store::{
    ClaimRequest, Clock, Completion, Demand, Held, Ids, Kept, Lane, MasterKey, NewKey, Numbers, Scope, Store, WorkerId,
};
use tempfile::TempDir;
use tower::ServiceExt as _;
use uuid::Uuid;

/// A spec with one scenario.
pub(crate) const HELLO: &str = "\
version: 1
id: hello
description: Says hello
base: debian:bookworm-slim
task: {prompt: Say hello}
agent: {type: noop}
invariants:
  greeted: {description: It greets, weight: 1, gate: true, check: {type: file_exists, path: hello.txt}}
";

/// A spec with so many scenarios of one cell.
pub(crate) fn replicas(count: usize) -> String {
    format!("{HELLO}parallelism: {{replicas: {count}}}\n")
}

/// The server, and what is around it.
pub(crate) struct TestApp {
    pub(crate) router: Router,
    pub(crate) store: Store,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) master_key: MasterKey,
    pub(crate) workers: Arc<FakeWorkers>,
    _folder: TempDir,
}

/// The keys of callers.
pub(crate) const ADMIN: &str = "ts_live_admin";
/// Of the owner `ada`.
pub(crate) const ADA: &str = "ts_live_ada";
/// Of the owner `ada`, to read only.
pub(crate) const ADA_READS: &str = "ts_live_ada_reads";
/// Of the owner `bob`.
pub(crate) const BOB: &str = "ts_live_bob";
/// A token for the sandbox `sb-000000000001` of `ada`.
pub(crate) const SANDBOX: &str = "ks_sb_ada";

/// A clock that is moved by hand.
#[derive(Debug, Default)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    /// Moves it by so many seconds.
    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + self.0.load(Ordering::SeqCst)).expect("a time")
    }
}

/// Ids that count.
#[derive(Debug, Default)]
pub(crate) struct CountedIds(AtomicU64);

impl From<u64> for CountedIds {
    /// Ids that count from a number.
    fn from(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }
}

impl Ids for CountedIds {
    fn id(&self) -> Uuid {
        Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(self.0.fetch_add(1, Ordering::SeqCst)))
    }

    fn random(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        for (index, byte) in bytes.iter_mut().rev().enumerate() {
            *byte = number[7 - index % 8];
        }
    }
}

/// Refuses specs whose image is `refused`.
#[derive(Debug)]
pub(crate) struct FakeAdmission;

impl Admission for FakeAdmission {
    fn demand(&self, _: &Spec) -> Demand {
        Demand { cpu_milli: 1000, memory: 1 << 20 }
    }

    fn refuses(&self, spec: &Spec, agent: Option<&AgentOverride>) -> Option<String> {
        let is_refused = spec.tags.iter().any(|tag| tag.as_str() == "refused");
        let has_agent = spec.agent.is_some() || agent.is_some();
        (is_refused || !has_agent).then(|| "no worker can run it".to_owned())
    }
}

/// The answers of a worker.
type Answers = Box<dyn Fn(&str, &str, Ask) -> Result<Reply, Refusal> + Send>;

/// Workers that refuse everything, unless a test says otherwise.
#[derive(Default)]
pub(crate) struct FakeWorkers(Mutex<Option<Answers>>);

impl FakeWorkers {
    /// From now on, this is what workers answer: by their id and control port, and what they are asked.
    pub(crate) fn answer(&self, answers: impl Fn(&str, &str, Ask) -> Result<Reply, Refusal> + Send + 'static) {
        *self.0.lock().expect("a lock") = Some(Box::new(answers));
    }
}

impl fmt::Debug for FakeWorkers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FakeWorkers")
    }
}

#[async_trait]
impl Workers for FakeWorkers {
    async fn ask(&self, worker: &str, url: &str, ask: Ask) -> Result<Reply, Refusal> {
        match &*self.0.lock().expect("a lock") {
            Some(answers) => answers(worker, url, ask),
            None => Err(Refusal::new(RefusalKind::Gone, "the sandbox is gone")),
        }
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// The body, when the status is this one.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The body as it is, when the status is this one.
    #[track_caller]
    pub(crate) fn expect_raw(&self, status: u16) -> &[u8] {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        &self.body
    }

    /// The text of a refusal, when the status is this one: it stands in both places.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        let body = self.expect(status);
        assert_eq!(body["error"], body["message"], "{body}");
        assert!(body["code"].as_str().is_some_and(|code| !code.is_empty()), "{body}");
        body["error"].as_str().expect("a text").to_owned()
    }
}

impl TestApp {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A server with another configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        let clock = Arc::new(HandClock::default());
        let master_key = MasterKey::new([7; 32]);
        for (text, id, owner, scope, sandbox) in [
            (ADMIN, "key_admin", "ops", Scope::Admin, None),
            (ADA, "key_ada", "ada", Scope::Submit, None),
            (ADA_READS, "key_ada_reads", "ada", Scope::Read, None),
            (BOB, "key_bob", "bob", Scope::Submit, None),
            (SANDBOX, "key_sandbox", "ada", Scope::Sandbox, Some("sb-000000000001".to_owned())),
        ] {
            let (id, owner, name) = (id.to_owned(), owner.to_owned(), String::new());
            let key = NewKey { id, owner, name, scope, hash: auth::hash(text), sandbox };
            store.create_key(&key, clock.now()).await.expect("a key");
        }
        let mut config = Config { look: std::time::Duration::from_millis(5), ..Config::default() };
        change(&mut config);
        let workers = Arc::new(FakeWorkers::default());
        let parts = Parts {
            config,
            store: store.clone(),
            master_key: master_key.clone(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            ids: Arc::new(CountedIds::default()),
            admission: Arc::new(FakeAdmission),
            workers: Arc::clone(&workers) as Arc<dyn Workers>,
        };
        Self { router: server::service(parts), store, clock, master_key, workers, _folder: folder }
    }

    /// A server that asks for no key.
    pub(crate) async fn open() -> Self {
        Self::with(|config| config.access = Access::Open).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Sends a request with a key, headers and a body.
    pub(crate) async fn call(
        &self,
        method: Method,
        key: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.into()).expect("a request")).await
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> Answer {
        self.call(Method::GET, key, path, &[], Body::empty()).await
    }

    pub(crate) async fn delete(&self, key: &str, path: &str) -> Answer {
        self.call(Method::DELETE, key, path, &[], Body::empty()).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, key: &str, path: &str, body: Value) -> Answer {
        self.call(Method::POST, key, path, &[("content-type", "application/json")], body.to_string()).await
    }

    /// Posts nothing, without a content type.
    pub(crate) async fn post_empty(&self, key: &str, path: &str) -> Answer {
        self.call(Method::POST, key, path, &[("content-length", "0")], Body::empty()).await
    }

    /// Uploads a spec.
    pub(crate) async fn upload(&self, key: &str, spec: &str) -> Answer {
        let yaml = [("content-type", "application/x-yaml")];
        self.call(Method::POST, key, "/v1/specs", &yaml, spec.to_owned()).await
    }

    /// An experiment of a spec that `ada` uploads now; its id.
    pub(crate) async fn experiment(&self, spec: &str) -> String {
        let spec_id = self.upload(ADA, spec).await.expect(201)["id"].clone();
        let body = serde_json::json!({"name": "mine", "spec_id": spec_id});
        let made = self.post(ADA, "/v1/experiments", body).await.expect(201);
        made["id"].as_str().expect("an id").to_owned()
    }

    /// An experiment of `ada` that is being run; its id.
    pub(crate) async fn running(&self, spec: &str) -> String {
        let id = self.experiment(spec).await;
        self.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
        id
    }

    /// An experiment of `ada` of which all scenarios have passed; its id.
    pub(crate) async fn finished(&self, spec: &str) -> String {
        let id = self.running(spec).await;
        self.finish(RowStatus::Pass).await;
        id
    }

    /// Waits until so many streams are open, or requests wait for news.
    pub(crate) async fn until_waiting(&self, many: u32) {
        let line = format!("touchstone_streams {many}");
        for _ in 0..2000 {
            if self.get(ADMIN, "/metrics").await.text().lines().any(|found| found == line) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nobody waits");
    }

    /// Takes the next job of whoever.
    pub(crate) async fn claim(&self) -> Option<Held> {
        let now = self.clock.now();
        let request = ClaimRequest {
            lane: Lane::Shared,
            worker: WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(2) },
            token: "token".to_owned(),
            now,
            until: now + std::time::Duration::from_secs(60),
            room: None,
            limits: store::Limits::default(),
        };
        self.store.claim(&request).await.expect("a claim")
    }

    /// Takes the next job and ends it; whether there was one.
    pub(crate) async fn finish_one(&self, status: RowStatus) -> bool {
        let Some(held) = self.claim().await else { return false };
        self.complete(&held, status).await;
        true
    }

    /// Ends all jobs.
    pub(crate) async fn finish(&self, status: RowStatus) {
        while self.finish_one(status).await {}
    }

    pub(crate) async fn complete(&self, held: &Held, status: RowStatus) -> Kept {
        self.complete_with(held, result(held, status)).await
    }

    /// Ends a job with this result.
    pub(crate) async fn complete_with(&self, held: &Held, result: ScenarioResult) -> Kept {
        let evidence = evidence(&held.scenario.id.to_string());
        let completion = Completion { evidence: Some(&evidence), result: &result, traces: &[], at: self.clock.now() };
        let numbers = Numbers::of(&self.store, held.run).await.expect("numbers");
        let kept = self.store.complete(&held.lease, held.run, completion, &|results| numbers.score(results)).await;
        kept.expect("kept")
    }
}

/// The result of a scenario.
pub(crate) fn result(held: &Held, status: RowStatus) -> ScenarioResult {
    let verdict = if status == RowStatus::Pass { Verdict::passed() } else { Verdict::failed("there is no hello.txt") };
    let (name, description) = ("greeted".to_owned(), "It greets".to_owned());
    let invariant = InvariantResult { name, description, weight: 1.0, gate: true, verdict };
    let result = ScenarioResult::failed_to_run(&held.scenario, ErrorKind::Infrastructure, "the engine is gone");
    if status == RowStatus::Error {
        return result;
    }
    let composite = if status == RowStatus::Pass { 1.0 } else { 0.0 };
    ScenarioResult { status, composite, invariants: vec![invariant], error: None, wall_ms: 1200, ..result }
}

/// The evidence of an agent that says hello.
pub(crate) fn evidence(name: &str) -> Evidence {
    let agent = AgentRecord { stdout: Captured::from(format!("hello from {name}").as_str()), ..AgentRecord::default() };
    Evidence { agent, ..Evidence::default() }
}
