//! The way in.

use std::time::Duration;

use engine::event::Event;
use scenario::result::RowStatus;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{acting, report};
use crate::harness::Harness;

/// Serves three bytes, and says what came.
const SERVES: &str = r#"
import json, socket
server = socket.create_server(("127.0.0.1", 8080))
got = b""
while not got:
    client, _ = server.accept()
    got = client.recv(3)
    client.sendall(got[::-1])
    client.close()
print(json.dumps({"got": got.decode()}))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_the_sandbox_is_reached_from_this_machine_while_the_agent_acts() {
    let harness = Harness::docker().await;
    let spec = json!({"network": {"ingress": {"allow": [{"from": "host", "to_port": 8080}]}}});
    let yaml = acting(SERVES, &spec);
    let ((result, evidence), address) = tokio::join!(harness.run(&yaml), call(&harness));
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(report(&evidence), json!({"got": "abc"}));
    assert_eq!(evidence.notes, [format!("port 8080 of the sandbox is at {address}")]);
    assert!(TcpStream::connect(&address).await.is_err(), "it is closed");
}

/// Calls the port that is told until somebody answers; where it is.
async fn call(harness: &Harness) -> String {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        assert!(tokio::time::Instant::now() < deadline, "nobody answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let told = harness.events.lock().expect("events").iter().find_map(|event| match event {
            Event::Note(note) => note.strip_prefix("port 8080 of the sandbox is at ").map(ToOwned::to_owned),
            _ => None,
        });
        let Some(address) = told else { continue };
        let Ok(mut stream) = TcpStream::connect(&address).await else { continue };
        let mut answer = String::new();
        // Until the agent listens, connections end at once.
        if stream.write_all(b"abc").await.is_ok() && stream.read_to_string(&mut answer).await.is_ok() && answer == "cba"
        {
            return address;
        }
    }
}
