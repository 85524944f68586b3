//! A sandbox from its making to its end: what the agent is given, and how it is started.

use engine::error::EngineError;
use engine::event::{Event, Phase};
use scenario::evidence::{Answer, Exit, redacted};
use scenario::plan::AgentOverride;
use scenario::result::RowStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{DEBIAN, Sketch, TestImage, answer, bundle, is_met, output, printed, suite};
use crate::harness::Harness;

suite! {
    an_agent_acts_and_is_judged_by_what_it_left,
    what_the_agents_processes_used_is_told_and_nothing_else,
    the_agent_is_given_the_task_its_environment_and_files,
    what_setup_makes_belongs_to_the_agents_user,
    a_user_that_the_image_does_not_have_is_an_error,
    an_agent_can_have_another_folder_no_input_and_a_read_only_image,
    a_setup_command_that_fails_is_an_error_with_its_output,
    secrets_are_replaced_wherever_they_turn_up_and_leaks_are_counted,
    a_program_that_is_not_there_is_exit_code_127_with_a_message,
    an_image_is_run_as_it_wants_to_be,
    an_image_with_a_server_is_asked_over_http,
    a_service_that_is_the_agent_is_stopped_before_anything_is_looked_at,
    the_oracle_runs_every_line_of_the_solution_and_nobody_does_nothing;
    also on local:
    an_agent_acts_and_is_judged_by_what_it_left,
    what_the_agents_processes_used_is_told_and_nothing_else,
    the_agent_is_given_the_task_its_environment_and_files,
    a_user_that_the_image_does_not_have_is_an_error,
    an_agent_can_have_another_folder_no_input_and_a_read_only_image,
    a_setup_command_that_fails_is_an_error_with_its_output,
    secrets_are_replaced_wherever_they_turn_up_and_leaks_are_counted,
    a_program_that_is_not_there_is_exit_code_127_with_a_message,
    the_oracle_runs_every_line_of_the_solution_and_nobody_does_nothing;
    on local as root:
    what_setup_makes_belongs_to_the_agents_user,
}

/// Also: its events come in the order of its phases.
async fn an_agent_acts_and_is_judged_by_what_it_left(harness: &mut Harness) {
    let sketch = Sketch::acting("cat > out.txt; echo said; exit 3")
        .must("there", json!({"type": "file_content", "path": "out.txt", "contains": "do it"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(evidence.agent.exit, Some(Exit::Code(3)), "the exit code is recorded and decides nothing");
    assert_eq!(evidence.agent.stdout.head, "said\n");
    assert_eq!(evidence.workspace.added, ["out.txt"]);
    let name = evidence.world.sandbox.clone();
    let events: Vec<_> = harness.events.lock().expect("events").iter().map(without_times).collect();
    let phase = |phase| [Event::PhaseStarted(phase), Event::PhaseEnded(phase, Default::default())];
    let [prepare, prepared] = phase(Phase::Prepare);
    let [act, acted] = phase(Phase::Act);
    let [probe, probed] = phase(Phase::Probe);
    let [destroy, destroyed] = phase(Phase::Destroy);
    let made = Event::SandboxCreated { name: name.clone() };
    let ended = Event::AgentEnded { exit: evidence.agent.exit, after: Default::default() };
    let answered = Event::Probed { invariant: "there".to_owned() };
    let gone = Event::SandboxDestroyed { name };
    let expected = [
        prepare,
        made,
        prepared,
        act,
        Event::AgentStarted,
        ended,
        acted,
        probe,
        answered,
        probed,
        destroy,
        gone,
        destroyed,
    ];
    assert_eq!(events, expected);
}

/// The agent leaves a busy process behind that nobody waits for; what was prepared used more memory than the agent does.
async fn what_the_agents_processes_used_is_told_and_nothing_else(harness: &mut Harness) {
    let busy =
        "while read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user _ < /proc/self/stat && [ $user -lt 10 ]; do :; done; touch busy";
    let acts = format!(
        "head -c 20000000 /dev/zero | tail | wc -c; setsid sh -c '{busy}; sleep 1000' & until [ -e busy ]; do sleep 0.01; done"
    );
    let prepared = "setup: {commands: ['head -c 90000000 /dev/zero | tail | wc -c']}";
    let (result, evidence) = Sketch::acting(&acts).with(prepared).run(harness).await;
    assert_eq!(evidence.agent.exit, Some(Exit::Code(0)), "{result:#?}");
    let used = evidence.agent.used.expect("what was used");
    assert!(used.user_us >= 90_000 && (20_000_000..90_000_000).contains(&used.most_memory), "{used:?}");
}

fn without_times(event: &Event) -> Event {
    match event.clone() {
        Event::PhaseEnded(phase, _) => Event::PhaseEnded(phase, Default::default()),
        Event::AgentEnded { exit, .. } => Event::AgentEnded { exit, after: Default::default() },
        other => other,
    }
}

async fn the_agent_is_given_the_task_its_environment_and_files(harness: &mut Harness) {
    harness.bundle = bundle(harness, &[("data/table.csv", "a,b\n1,2\n")]);
    let script = r#"
        echo "touchstone=$TOUCHSTONE_TASK_PROMPT"; echo "keystone=$KEYSTONE_TASK_PROMPT"; echo "stdin=$(cat)"
        echo "template={{ task.prompt }}"; echo "own=$OWN"; echo "shared=$SHARED"; echo "both=$BOTH"
        echo "host=$MAIL_BOX_HOST"; echo "port=$MAIL_BOX_PORT"; echo "url=$MAIL_BOX_URL"; echo "other=$PLAIN_URL"
        echo "seed=$TOUCHSTONE_SEED $KEYSTONE_SEED $PYTHONHASHSEED"; echo "workspace=$WORKSPACE $PWD $HOME"
        echo "tool=$(stat -c '%a %u' a/b/tool.sh)"; echo "parent=$(stat -c '%a %u' a/b)"; echo "run=$(a/b/tool.sh)"
        echo "outside=$(cat /opt/own/settings.ini)"; echo "copied=$(sed -n 2p copied.csv)"; echo "order=$(cat order | tr '\n' ' ')"
        echo "json=$(tr -d '\n' < .keystone/task.json)"
    "#;
    let sketch = Sketch::acting(script).agent("env", json!({"OWN": "mine", "BOTH": "agent"})).with(
        r##"
task: {prompt: count the stars}
services: [{name: mail-box, type: http_mock, ports: [8025]}, {name: plain, type: http_mock}]
setup:
  env: {SHARED: "of {{ task.prompt }}", BOTH: setup}
  files:
    - {path: a/b/tool.sh, content: "#!/bin/sh\necho ran\n", mode: "0750"}
    - {path: /opt/own/settings.ini, content: outside}
    - {path: copied.csv, from: data/table.csv}
  commands:
    - echo one $SHARED >> order
    - [sh, -c, "echo two $BOTH $(ls copied.csv) >> order"]"##,
    );
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = printed(&evidence);
    let expect =
        |key: &str, value: &str| assert_eq!(said.get(key).map(String::as_str), Some(value), "{key}: {said:#?}");
    for key in ["touchstone", "keystone", "stdin", "template"] {
        expect(key, "count the stars");
    }
    for (key, value) in [
        ("own", "mine"),
        ("shared", "of count the stars"),
        ("both", "agent"),
        ("host", "mail-box"),
        ("port", "8025"),
        ("url", "http://mail-box:8025"),
        ("other", "http://plain"),
        ("workspace", "/workspace /workspace /root"),
        ("tool", "750 0"),
        ("parent", "755 0"),
        ("run", "ran"),
        ("outside", "outside"),
        ("copied", "1,2"),
        ("order", "one of count the stars two setup copied.csv "),
    ] {
        expect(key, value);
    }
    let json: serde_json::Value = serde_json::from_str(&said["json"]).expect("JSON");
    let seed = json["seed"].as_u64().expect("a seed");
    expect("seed", &format!("{seed} {seed} {}", seed & u64::from(u32::MAX)));
    assert_eq!(
        (&json["prompt"], &json["spec_id"], &json["workspace_path"]),
        (&json!("count the stars"), &json!("test"), &json!("/workspace"))
    );
}

async fn what_setup_makes_belongs_to_the_agents_user(harness: &mut Harness) {
    let script = r#"
        echo "who=$(id -u):$(id -g):$(id -G | tr ' ' ,)"; echo "home=$HOME"
        echo "file=$(stat -c '%u:%g' deep/er/file)"; echo "folder=$(stat -c '%u:%g' deep)"; echo "made=$(stat -c '%u:%g' made)"
        touch deep/new .keystone/new && echo "writes=yes"; touch /etc/new 2> /dev/null || echo "etc=no"
    "#;
    let setup = "setup: {files: [{path: deep/er/file, content: x}], commands: [touch made]}";
    for (user, ids, groups) in
        [("nobody", "65534:65534", "65534"), ("1234", "1234:0", "0"), ("1234:4321", "1234:4321", "4321")]
    {
        let sketch = Sketch::acting(script)
            .agent("user", json!(user))
            .with(setup)
            .must_succeed("same", "test $(id -u):$(id -g) = $(stat -c %u:%g made)");
        let (result, evidence) = sketch.run(harness).await;
        let said = printed(&evidence);
        assert_eq!(said["who"], format!("{ids}:{groups}"), "{said:#?}");
        for thing in ["file", "folder", "made"] {
            assert_eq!(said[thing], ids, "{thing}: {said:#?}");
        }
        assert_eq!((said["writes"].as_str(), said["etc"].as_str()), ("yes", "no"));
        assert!(is_met(&result, "same"), "checks run as the agent's user");
    }
}

async fn a_user_that_the_image_does_not_have_is_an_error(harness: &mut Harness) {
    let sketch = Sketch::acting("true").agent("user", json!("somebody"));
    let error = harness.try_run(&sketch.yaml(), &CancellationToken::new()).await.expect_err("no such user");
    assert!(matches!(&error, EngineError::WrongSpec { place, .. } if place == "agent.user"), "{error}");
    harness.assert_nothing_is_left();
}

async fn an_agent_can_have_another_folder_no_input_and_a_read_only_image(harness: &mut Harness) {
    let script = r#"
        echo "input=$(cat | wc -c)"; echo "folder=$PWD"
        for path in /etc /usr/bin /root /tmp /run /workspace; do
            touch $path/new 2> /dev/null && echo "$path=yes" || echo "$path=no"
        done
    "#;
    let sketch = Sketch::acting(script)
        .agent("stdin", json!("none"))
        .agent("workdir", json!("/var/lib"))
        .agent("read_only", json!(true));
    let (_, evidence) = sketch.run(harness).await;
    let said = printed(&evidence);
    let writable: Vec<_> =
        ["/etc", "/usr/bin", "/root", "/tmp", "/run", "/workspace"].map(|path| said[path].as_str()).into();
    assert_eq!(writable, ["no", "no", "no", "yes", "yes", "yes"], "{said:#?}");
    assert_eq!((said["input"].as_str(), said["folder"].as_str()), ("0", "/var/lib"));
}

async fn a_setup_command_that_fails_is_an_error_with_its_output(harness: &mut Harness) {
    let setup = "setup: {commands: [\"true\", \"echo out; echo wrong >&2; exit 4\", \"touch /never\"]}";
    let yaml = Sketch::acting("true").with(setup).yaml();
    let error = harness.try_run(&yaml, &CancellationToken::new()).await.expect_err("a failure");
    let EngineError::WrongSpec { place, reason } = &error else { panic!("{error:?}") };
    assert_eq!(place, "setup.commands[1]");
    assert!(["exit code 4", "out", "wrong"].iter().all(|part| reason.contains(part)), "{reason}");
    harness.assert_nothing_is_left();
}

async fn secrets_are_replaced_wherever_they_turn_up_and_leaks_are_counted(harness: &mut Harness) {
    let values = [
        ("KEY", "key-of-the-test"),
        ("TOKEN", "token-of-the-test"),
        ("MADE", "made-of-the-test"),
        ("PLACED", "placed-here"),
    ];
    harness.secrets = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let script = r#"
        echo "$KEY and $KEY"; echo "$MADE" >&2; cat /run/secrets/PLACED > /dev/null
        echo "mode=$(stat -c '%a %u' ~/.netrc /run/secrets/PLACED | tr '\n' ,)"; echo "env=${TOKEN:-none}"
        echo "netrc=$(cat ~/.netrc)"
        { cat ~/.netrc; printf '%s' "$KEY"; } > kept.txt; touch "$KEY.txt"
        exec 3<> /dev/tcp/mail/80
        printf 'POST /send?k=%s HTTP/1.1\r\nHost: mail\r\nX-Key: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
            "$KEY" "$KEY" "${#KEY}" "$KEY" >&3
        cat <&3 > /dev/null
    "#;
    let sketch = Sketch::acting(script)
        .with(
            r#"
secrets:
  - KEY
  - {name: TOKEN, scope: {file: /root/.netrc, file_template: "machine x password {{ secrets.TOKEN }}"}}
  - {name: MADE, from: generated}
  - {name: PLACED, scope: {file: /run/secrets/PLACED, mode: "0440"}}
services: [{name: mail, type: http_mock, record: true}]"#,
        )
        .must("kept", json!({"type": "file_content", "path": "kept.txt", "contains": "machine x"}))
        .must_succeed("seen", "echo $KEY; test -n \"$KEY\"");
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let key = evidence.marker_key.clone().expect("a key");
    let said = printed(&evidence);
    assert_eq!((said["mode"].as_str(), said["env"].as_str()), ("400 0,440 0,", "none"), "{said:#?}");
    assert_eq!(said["netrc"], format!("machine x password {}", redacted("TOKEN", &key)));
    let all = serde_json::to_string(&evidence).expect("JSON");
    for (name, value) in values {
        assert!(!all.contains(value), "{name} is in the evidence: {all}");
    }
    let exchange = &evidence.journals["mail"].exchanges[0];
    let marker = redacted("KEY", &key);
    assert_eq!((exchange.header("x-key"), exchange.query[0].1.as_str()), (Some(marker.as_str()), marker.as_str()));
    assert_eq!(exchange.whole_body().map(|body| body.text()), Some(marker.clone()));
    assert!(evidence.workspace.added.contains(&format!("{marker}.txt")), "{:?}", evidence.workspace.added);
    let leaks: Vec<_> =
        evidence.leaks.iter().map(|leak| (leak.secret.as_str(), leak.place.as_str(), leak.count)).collect();
    assert_eq!(leaks, [("KEY", "stdout", 2), ("TOKEN", "stdout", 1), ("MADE", "stderr", 1)]);
}

async fn a_program_that_is_not_there_is_exit_code_127_with_a_message(harness: &mut Harness) {
    let agent = json!({"type": "cli", "command": ["no-such-program", "x"]});
    let sketch = Sketch::with_agent(agent).must_succeed("missing", "no-such-check").must_succeed("there", "true");
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(evidence.agent.exit, Some(Exit::Code(127)));
    assert!(evidence.agent.stderr.head.contains("no-such-program"), "{:?}", evidence.agent.stderr);
    let Answer::Command(missing) = answer(&evidence, "missing") else { panic!("{evidence:#?}") };
    assert_eq!((missing.exit, result.status), (Some(Exit::Code(127)), RowStatus::Fail));
    assert!(is_met(&result, "there"));
}

async fn an_image_is_run_as_it_wants_to_be(harness: &mut Harness) {
    let entrypoint = r#"ENTRYPOINT ["sh", "-c", "echo said=$GREETING,$0,$(pwd),$(id -u),$(cat)"]"#;
    let changes = ["ENV GREETING=hello", "WORKDIR /srv", "USER nobody", entrypoint, r#"CMD ["first"]"#];
    let image = TestImage::make(DEBIAN, "true", &changes);
    for (command, word) in [(None, "first"), (Some(json!(["second"])), "second")] {
        let mut sketch = Sketch::with_agent(json!({"type": "image", "image": image.name()}));
        if let Some(command) = command {
            sketch = sketch.agent("command", command);
        }
        let (_, evidence) = sketch.run(harness).await;
        assert_eq!(printed(&evidence)["said"], format!("hello,{word},/srv,65534,do it"), "{evidence:#?}");
        assert_eq!(evidence.world.images[0].reference, image.name());
    }
}

/// A server that answers with what it was asked, remembers how often, and forgets that when it is told to.
const SERVER: &str = r#"
import http.server, json, os
class Server(http.server.BaseHTTPRequestHandler):
    asked = ["before"]
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.asked.append(body) if self.path != "/reset" else self.asked.clear()
        text = " ".join([self.path, self.headers.get("x-own", ""), *self.asked])
        answer = json.dumps({"choices": [{"text": text}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
http.server.HTTPServer(("", int(os.environ.get("PORT", "8080"))), Server).serve_forever()
"#;

/// An image that is such a server.
fn server() -> TestImage {
    TestImage::make("touchstone/python:3.11", "true", &[&format!("CMD {}", json!(["python3", "-c", SERVER]))])
}

async fn an_image_with_a_server_is_asked_over_http(harness: &mut Harness) {
    let image = server();
    let agent = json!({
        "type": "http", "image": image.name(), "port": 9000, "path": "/chat", "headers": {"X-Own": "{{ task.prompt }}"},
        "request": {"input": "{{ task.prompt }}"}, "response_path": "choices.0.text", "reset": "/reset", "timeout": "60s",
    });
    // The server is gone when the check looks for it.
    let sketch = Sketch::with_agent(agent)
        .must_succeed("gone", "! grep -q python3 /proc/[0-9]*/comm && ! bash -c 'echo > /dev/tcp/127.0.0.1/9000'");
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(evidence.agent.stdout.head, "/chat do it {\"input\":\"do it\"}", "{evidence:#?}");
    assert_eq!((evidence.agent.exit, result.status), (Some(Exit::Code(0)), RowStatus::Pass), "{result:#?}");
}

async fn a_service_that_is_the_agent_is_stopped_before_anything_is_looked_at(harness: &mut Harness) {
    let image = server();
    let agent = json!({"type": "http", "url": "http://assistant.services.internal:8080/ask", "request": "plain {{ task.prompt }}", "timeout": "60s"});
    let reach = "bash -c 'echo > /dev/tcp/assistant/8080'";
    let sketch = Sketch::with_agent(agent)
        .with(&format!(
            "services: [{{name: assistant, image: '{}', ports: [8080]}}]\nsetup: {{commands: [\"{reach}\"]}}",
            image.name()
        ))
        .must_succeed("gone", &format!("! {reach}"));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(
        evidence.agent.stdout.head, "{\"choices\": [{\"text\": \"/ask  before plain do it\"}]}",
        "{evidence:#?}"
    );
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
}

async fn the_oracle_runs_every_line_of_the_solution_and_nobody_does_nothing(harness: &mut Harness) {
    let sketch = Sketch::acting("touch wrong")
        .with("task: {prompt: do it, solution: ['echo one > a; echo first', 'false', 'echo two >> a; echo last']}")
        .must("done", json!({"type": "file_content", "path": "a", "pattern": "^one\ntwo\n$"}));
    harness.agent = Some(AgentOverride::Oracle);
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!((result.status, evidence.agent.stdout.head.as_str()), (RowStatus::Pass, "first\nlast\n"), "{result:#?}");
    harness.agent = Some(AgentOverride::Noop);
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!((result.status, evidence.agent.exit), (RowStatus::Fail, None));
    assert_eq!(evidence.workspace.added, Vec::<String>::new());
}

/// An image that somebody else made before is found too, so it is made once at most.
#[tokio::test(flavor = "multi_thread")]
async fn packages_are_installed_once_and_found_again() {
    let harness = Harness::docker().await;
    let sketch = Sketch::acting("hello --version | head -1").with("setup: {packages: [hello]}");
    let before = cached();
    let mut baked = 0;
    for _ in 0..2 {
        let (_, evidence) = sketch.run(&harness).await;
        assert!(evidence.agent.stdout.head.starts_with("hello (GNU Hello)"), "{evidence:#?}");
        assert_eq!(evidence.world.images[0].name, DEBIAN, "the base is what the evidence names");
        let events = harness.events.lock().expect("events");
        baked = events.iter().filter(|event| matches!(event, Event::Baking { .. })).count();
    }
    for image in cached().iter().filter(|image| !before.contains(image)) {
        output("docker", &["image", "rm", "--force", image]);
    }
    assert!(baked <= 1, "it was made {baked} times");
}

fn cached() -> Vec<String> {
    output("docker", &["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "touchstone/cache"])
        .lines()
        .map(ToOwned::to_owned)
        .collect()
}
