//! Attempts to turn a failure into an error, which would enter no pass rate.

use std::path::Path;
use std::sync::Arc;

use engine::bundle::BundleFolder;
use engine::machine::Machine;
use engine::providers::Providers;
use scenario::result::{RowStatus, ScenarioResult};
use scenario::verdict::{ErrorKind, Outcome};
use serde_json::{Value as Json, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::{Attack, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    a_script_that_stumbles_over_what_the_agent_left_is_a_failure,
    a_script_without_memory_is_a_failure,
    a_script_whose_service_was_ended_is_a_failure,
    a_provider_that_is_down_or_refuses_us_is_an_error,
    a_provider_that_the_agent_makes_fail_is_a_failure;
    also on local:
    a_script_that_stumbles_over_what_the_agent_left_is_a_failure,
    a_provider_that_is_down_or_refuses_us_is_an_error,
    a_provider_that_the_agent_makes_fail_is_a_failure;
    on local as root:
    a_script_without_memory_is_a_failure,
    a_script_whose_service_was_ended_is_a_failure,
}

/// Scripts of checks: one that understands only what it expects, one that is greedy, one that needs Redis, and one that is broken.
const SCRIPTS: [(&str, &str); 5] = [
    (
        "parse.py",
        "import json\ntry:\n    text = open('/workspace/out.json').read()\nexcept FileNotFoundError:\n    text = '{}'\njson.loads(text)\nprint('{\"passed\": true}')\n",
    ),
    ("echo.sh", "cat /workspace/out.json 2>/dev/null || echo '{\"passed\": false}'\n"),
    ("greedy.py", "bytearray(b'x') * (110 << 20)\nprint('{\"passed\": true}')\n"),
    (
        "redis.py",
        "import socket\ntry:\n    socket.create_connection(('redis', 6379), 5)\nexcept OSError:\n    raise SystemExit('no Redis')\nprint('{\"passed\": true}')\n",
    ),
    ("broken.sh", "echo 'a bug of its own' >&2\nexit 3\n"),
];

fn bundle(harness: &mut Harness) {
    let folder = harness.folder.path().join("bundle");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in SCRIPTS {
        std::fs::write(folder.join(name), text).expect("a script");
    }
    harness.bundle = BundleFolder::at(folder);
}

fn script(name: &str, verify: &str) -> Json {
    json!({"type": "custom", "script": name, "runs_in": "sandbox", "verify": verify})
}

async fn a_script_that_stumbles_over_what_the_agent_left_is_a_failure(harness: &mut Harness) {
    bundle(harness);
    let attack = Attack::new("open('/workspace/out.json', 'w').write('no JSON')\n")
        .expect("parse", script("parse.py", "sandbox"))
        .expect("parse_fresh", script("parse.py", "fresh"))
        .expect("echo", script("echo.sh", "sandbox"))
        .expect("broken", script("broken.sh", "sandbox"));
    let (result, _) = harness.run(&attack.yaml()).await;
    for name in ["parse", "parse_fresh", "echo"] {
        assert_eq!(verdict(&result, name).outcome, Outcome::Failed, "{result:#?}");
    }
    let broken = verdict(&result, "broken");
    assert_eq!(broken.outcome, Outcome::Errored(ErrorKind::Check), "{broken:?}");
    assert!(broken.message.contains("a bug of its own"), "{broken:?}");
}

/// Leaves so much in memory that little is left, and less than makes room for checks.
const HOARD: &str = "import os\nhoard = os.open('/dev/shm/hoard', os.O_CREAT | os.O_WRONLY)\ntry:\n    for _ in range(100):\n        os.write(hoard, b'x' * (1 << 20))\nexcept OSError:\n    pass\n";

async fn a_script_without_memory_is_a_failure(harness: &mut Harness) {
    bundle(harness);
    let attack = |program: &str| Attack::new(program).expect("greedy", script("greedy.py", "sandbox")).yaml();
    let (result, _) = harness.run(&attack(HOARD)).await;
    assert_ne!(result.status, RowStatus::Error, "{result:#?}");
    // Namespaces have more room to make.
    if harness.backend.record().name == "docker" {
        assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    }
    let (honest, _) = harness.run(&attack("")).await;
    assert_eq!(honest.status, RowStatus::Pass, "{honest:#?}");
}

/// Ends Redis as one of its clients may.
const SHUTDOWN: &str = "import socket\nredis = socket.create_connection(('redis', 6379))\nredis.sendall(b'SHUTDOWN NOSAVE\\r\\n')\nredis.recv(99)\n";

async fn a_script_whose_service_was_ended_is_a_failure(harness: &mut Harness) {
    bundle(harness);
    let services = json!([{"name": "redis", "type": "image", "image": "touchstone/redis:7", "ports": [6379]}]);
    let attack = |program: &str| {
        let attack = Attack::new(program).with("services", services.clone());
        attack.expect("redis", script("redis.py", "sandbox")).yaml()
    };
    let (result, _) = harness.run(&attack(SHUTDOWN)).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(verdict(&result, "redis").message.contains("the service `redis` ended"), "{result:#?}");
}

/// Program that asks the model, and writes its answer.
const ASKS: &str = "import json, os, sys, urllib.request\nbody = json.dumps(dict(model=os.environ.get('MODEL', 'm'), messages=[dict(role='user', content=os.environ.get('SAYS', 'hello'))])).encode()\nrequest = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, dict(Authorization='Bearer ' + os.environ['OPENAI_API_KEY']))\nanswer = urllib.request.urlopen(request).read()\nopen('/workspace/answer', 'wb').write(answer)\n";

/// The same until its time is over.
const ASKS_FOR_EVER: &str = "import os, subprocess, time\nwhile subprocess.run(['python3', '/opt/asks.py'], stderr=subprocess.DEVNULL).returncode:\n    time.sleep(0.2)\n";

/// Runs an agent whose model's provider answers each request with this.
async fn with_provider(
    harness: &mut Harness,
    attack: Attack,
    answer: impl Fn(&str) -> ResponseTemplate + Send + Sync + 'static,
) -> ScenarioResult {
    let server = MockServer::start().await;
    let answer = move |request: &Request| answer(&String::from_utf8_lossy(&request.body));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let yaml = format!(
        "aliases: {{fake: {{provider: openai, base_url: '{}/v1', api_key: sk-of-the-provider}}}}",
        server.uri()
    );
    let providers = Providers::read(&yaml, Path::new("models.yaml"), &|_| None).expect("providers");
    harness.machine = Machine { providers: Arc::new(providers), ..Machine::default() };
    let attack = attack
        .with("model", json!({"mode": "proxy", "upstream": {"alias": "fake"}}))
        .expect("answer", json!({"type": "file_exists", "path": "answer"}));
    harness.run(&attack.yaml()).await.0
}

/// A failure that is not waited for, because it would take too long.
fn failing(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status)
        .insert_header("retry-after", "3600")
        .set_body_json(json!({"error": {"message": "no"}}))
}

fn answering() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"id": "c", "model": "m", "choices": [], "data": [{"id": "m"}]}))
}

fn error_kind(result: &ScenarioResult) -> Option<ErrorKind> {
    result.error.as_ref().map(|error| error.kind)
}

async fn a_provider_that_is_down_or_refuses_us_is_an_error(harness: &mut Harness) {
    for (status, kind) in [(503, ErrorKind::Provider), (429, ErrorKind::Provider), (401, ErrorKind::ProviderConfig)] {
        let result = with_provider(harness, Attack::new(ASKS), move |_| failing(status)).await;
        assert_eq!(error_kind(&result), Some(kind), "{status}: {result:#?}");
        let message = result.error.expect("an error").message;
        assert!(message.contains(&status.to_string()), "{message}");
    }
    let files =
        json!([{"path": "/opt/attack.py", "content": ASKS_FOR_EVER}, {"path": "/opt/asks.py", "content": ASKS}]);
    let patient = Attack::new(ASKS_FOR_EVER).with("setup.files", files).with("agent.timeout", "3s");
    let result = with_provider(harness, patient, |_| failing(503)).await;
    assert_eq!(
        error_kind(&result),
        Some(ErrorKind::Provider),
        "its time was over, for no fault of its own: {result:#?}"
    );
    assert_eq!(result.limits.len(), 1, "{result:#?}");
    let resourceful = Attack::new(
        "try:\n    exec(open('/opt/asks.py').read())\nexcept Exception:\n    open('/workspace/answer', 'w')\n",
    );
    let files = json!([{"path": "/opt/attack.py", "content": resourceful.program.clone()}, {"path": "/opt/asks.py", "content": ASKS}]);
    let result = with_provider(harness, resourceful.with("setup.files", files), |_| failing(503)).await;
    assert_eq!(result.status, RowStatus::Pass, "it did without: {result:#?}");
}

async fn a_provider_that_the_agent_makes_fail_is_a_failure(harness: &mut Harness) {
    let poisoned = |status: u16| move |body: &str| if body.contains("poison") { failing(status) } else { answering() };
    for (says, status) in [("poison", 500), ("poison", 429), ("poison", 401)] {
        let attack = Attack::new(&format!("import os\nos.environ['SAYS'] = '{says}'\n{ASKS}"));
        let result = with_provider(harness, attack, poisoned(status)).await;
        assert_eq!((result.status, error_kind(&result)), (RowStatus::Fail, None), "{status}: {result:#?}");
    }
    let attack = Attack::new(&format!("import os\nos.environ['MODEL'] = 'poison'\n{ASKS}"));
    let result = with_provider(harness, attack, poisoned(404)).await;
    assert_eq!((result.status, error_kind(&result)), (RowStatus::Fail, None), "{result:#?}");
    let content = Attack::new(&format!("import os\nos.environ['SAYS'] = 'poison'\n{ASKS}"));
    let result = with_provider(harness, content, poisoned(400)).await;
    assert_eq!((result.status, error_kind(&result)), (RowStatus::Fail, None), "{result:#?}");
}
