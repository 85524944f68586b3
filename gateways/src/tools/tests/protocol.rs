//! Sessions, and requests that stand alone.

use serde_json::json;

use crate::tools::testing::{alone, client, deadline, request, until, with};

const NOTE: &str = "[{name: read_note, mock: {rules: [{return: hi}]}}]";

#[tokio::test]
async fn a_session_speaks_the_version_that_the_client_wants_or_the_last_one_with_sessions() {
    let running = with(NOTE).serve();
    for (wanted, spoken) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("tomorrow", "2025-11-25"),
    ] {
        let answer = running.ask("initialize", json!({"protocolVersion": wanted, "capabilities": {}})).await;
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{wanted}");
    }
    assert_eq!(running.ask("initialize", json!({})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_session_that_has_ended_is_not_found_so_that_its_client_begins_another() {
    let running = with(NOTE).serve();
    let session = running.begin().await;
    assert_eq!(running.in_session(&session, "tools/list", json!({})).await.status, 200);
    assert_eq!((running.end(&session).await, running.end(&session).await), (200, 404));
    for gone in [session.as_str(), "never-was"] {
        let answer = running.in_session(gone, "tools/list", json!({})).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (404, Some(-32001)), "{gone}");
        assert_eq!(running.stream(gone).await.status(), 404);
    }
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(running.post(&[("mcp-session-id", &session)], &notification).await.status, 404);
    let again = running.begin().await;
    assert_eq!(running.in_session(&again, "ping", json!({})).await.json()["result"], json!({}));
}

#[tokio::test]
async fn requests_without_a_session_are_served() {
    let running = with(NOTE).serve();
    assert_eq!(running.names().await, ["read_note"]);
    assert_eq!(running.call("read_note", json!({})).await, ("hi".to_owned(), false));
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(running.post(&[], &notification).await.status, 202);
    assert_eq!(running.ask("no/such", json!({})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn requests_that_stand_alone_need_no_session_and_their_answers_are_complete() {
    let running = with(NOTE).serve();
    let found = running.alone("server/discover", json!({})).await.json();
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    let list = running.alone("tools/list", json!({})).await.json();
    for answer in [&found["result"], &list["result"]] {
        assert_eq!(
            (&answer["resultType"], &answer["ttlMs"], &answer["cacheScope"]),
            (&json!("complete"), &json!(0), &json!("private"))
        );
    }
    let called = running.alone("tools/call", json!({"name": "read_note"})).await.json();
    assert_eq!((&called["result"]["resultType"], &called["result"]["ttlMs"]), (&json!("complete"), &json!(null)));
    let clients = running.evidence().tools.expect("a record").clients;
    assert_eq!((clients[0].name.as_str(), clients[0].protocol.as_str()), ("alone", "2026-07-28"));
}

#[tokio::test]
async fn requests_that_stand_alone_are_refused_with_the_status_of_their_error() {
    let running = with(NOTE).serve();
    let refused = async |headers: &[(&str, &str)], body: String| {
        let answer = running.post(headers, body).await;
        (answer.status, answer.json()["error"]["code"].as_i64().expect("a code"))
    };
    let version = |version: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request("tools/list", json!({"_meta": meta}))
    };
    assert_eq!(refused(&[], request("server/discover", json!({}))).await, (400, -32602), "`_meta` is missing");
    let no_capabilities = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert_eq!(refused(&[], request("tools/list", no_capabilities)).await, (400, -32602));
    assert_eq!(refused(&[], version("2027-01-01")).await, (400, -32022));
    assert_eq!(refused(&[], alone("no/such", json!({}))).await, (404, -32601));
    assert_eq!(refused(&[], alone("ping", json!({}))).await, (404, -32601));
    // A tool's name decides no status.
    assert_eq!(refused(&[], alone("tools/call", json!({"name": "x_meta"}))).await, (200, -32602));
    let call = || alone("tools/call", json!({"name": "read_note"}));
    for header in [("mcp-method", "tools/list"), ("mcp-name", "other"), ("mcp-protocol-version", "2025-06-18")] {
        assert_eq!(refused(&[header], call()).await, (400, -32020), "{header:?}");
    }
    let right = [("mcp-method", "tools/call"), ("mcp-name", "read_note"), ("mcp-protocol-version", "2026-07-28")];
    assert_eq!(running.post(&right, call()).await.status, 200);
}

#[tokio::test]
async fn both_eras_are_served_on_one_address_at_once() {
    let running = with(NOTE).serve();
    let session = running.begin().await;
    let calls = (0..20).map(async |number: usize| {
        let params = json!({"name": "read_note"});
        match number % 3 {
            0 => running.alone("tools/call", params).await,
            1 => running.in_session(&session, "tools/call", params).await,
            _ => running.post(&[], request("tools/call", params)).await,
        }
    });
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.json()["result"]["content"][0]["text"], "hi", "{answer:?}");
    }
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let many: Vec<_> = (0..250).map(|number| format!("{{name: t{number:03}, mock: {{unknown: empty}}}}")).collect();
    let running = with(&format!("[{}]", many.join(", "))).serve();
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = running.ask("tools/list", params).await["result"].clone();
        let tools = page["tools"].as_array().expect("tools");
        assert!(tools.len() <= 100);
        names.extend(tools.iter().map(|tool| tool["name"].clone()));
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!((names.len(), &names[249]), (250, &json!("t249")));
    assert_eq!(running.evidence().tools.expect("a record").lists, 1, "the pages of one list are one list");
    let beyond = running.ask("tools/list", json!({"cursor": u64::MAX.to_string()})).await;
    assert_eq!(beyond["result"], json!({"tools": []}));
    assert_eq!(running.ask("tools/list", json!({"cursor": "x"})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_refused() {
    let running = with(NOTE).serve();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let deep = request("tools/call", json!({"name": "read_note"}))
        .replace("\"read_note\"", &format!("\"read_note\", \"arguments\": {deep}"));
    for (body, status) in [
        (String::new(), 400),
        ("{".to_owned(), 400),
        ("[]".to_owned(), 400),
        (deep, 400),
        (format!("\"{}\"", "x".repeat(9 * 1024 * 1024)), 413),
    ] {
        assert_eq!(running.post(&[], &body).await.status, status, "{:.40}", body);
    }
    assert_eq!(running.call("read_note", json!({})).await.0, "hi");
    assert_eq!(running.calls().len(), 1, "what was refused is no call");
}

#[tokio::test]
async fn other_paths_and_methods_say_what_is_served() {
    let running = with(NOTE).serve();
    let http = client();
    let elsewhere = http.post(running.url().replace("/mcp", "/sse")).body("{}").send().await.expect("an answer");
    assert_eq!(elsewhere.status(), 404);
    let put = http.put(running.url()).send().await.expect("an answer");
    assert_eq!(
        (put.status().as_u16(), &put.headers()["allow"]),
        (405, &reqwest::header::HeaderValue::from_static("GET, POST, DELETE"))
    );
}

#[tokio::test]
async fn a_gateway_that_is_dropped_ends_its_streams() {
    let running = with(NOTE).serve();
    let session = running.begin().await;
    let mut stream = running.stream(&session).await;
    drop(running);
    deadline(async { while let Ok(Some(_)) = stream.chunk().await {} }).await;
}

#[tokio::test]
async fn clients_that_say_who_they_are_are_written_down_once() {
    let running = with(NOTE).secret("hunter22").serve();
    for _ in 0..3 {
        running.begin().await;
    }
    let client = json!({"name": "hunter22", "version": "1\u{1b}[31m"});
    running.ask("initialize", json!({"protocolVersion": "2025-06-18", "clientInfo": client})).await;
    until(|| running.evidence().tools.is_some_and(|tools| tools.clients.len() == 2)).await;
    let evidence = format!("{:?}", running.evidence());
    assert!(!evidence.contains("hunter22") && !evidence.contains("\\u{1b}"), "{evidence}");
}
