//! Calls of a model as a conversation.

use scenario::evidence::{Blob, Body, Dialect, Evidence, ModelCall, ModelRecord, TokenCount};
use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, HELLO, TestApp};
use crate::web_hostile::{end, require_harmless};
use crate::web_session::Browser;

const EVIL: &str = "<script>alert(1)</script>\u{202e}";

fn call(at_ms: u64, messages: &Value, response: &str) -> ModelCall {
    let body = |text: String| Body::Kept(Blob(text.into_bytes()));
    let tool = json!({"type": "function", "function": {"name": "refund"}});
    ModelCall {
        at_ms,
        duration_ms: 20,
        dialect: Dialect::Chat,
        request_model: "gpt-4o".to_owned(),
        status: 200,
        request: body(json!({"messages": messages, "tools": [tool]}).to_string()),
        response: body(response.to_owned()),
        tokens: TokenCount { input: 1200, output: 30, cache_read: 1000, estimated: false },
        cost_usd: Some(0.25),
        ..ModelCall::default()
    }
}

/// The page of a scenario that had these calls.
async fn page(calls: Vec<ModelCall>) -> String {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let evidence = Evidence { model: Some(ModelRecord { calls, ..ModelRecord::default() }), ..Evidence::default() };
    let held = end(&app, RowStatus::Fail, &evidence).await;
    let place = format!("/experiments/{id}/scenarios/{}?kind=model", held.scenario.id);
    let page = Browser::signed_in(&app, ADA).await.get(&place).await.text();
    require_harmless(&page);
    page
}

#[tokio::test]
async fn a_call_shows_what_is_new_and_the_answer_as_messages() {
    let first = json!([{"role": "system", "content": "You help."}, {"role": "user", "content": EVIL}]);
    let tool = json!({"id": "c1", "function": {"name": "refund", "arguments": "{\"order\":7}"}});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [tool]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "paid back"});
    let second: Vec<_> = first.as_array().expect("a list").iter().cloned().chain([calls.clone(), result]).collect();
    let answer = json!({"choices": [{"message": calls}]}).to_string();
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All \"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"done.\"}}]}\n\ndata: [DONE]\n\n";
    let page = page(vec![call(1, &first, &answer), call(50, &json!(second), stream)]).await;
    let (one, other) = page.split_once("id=\"moment-1\"").expect("two calls");
    for part in [
        "<p class=\"role\">system</p><div class=\"text\" tabindex=\"0\">You help.</div>",
        "&lt;script&gt;alert(1)&lt;/script&gt;&lt;U+202E&gt;",
        "Calls <code>refund</code>",
        "{\n  &quot;order&quot;: 7\n}",
        "1\u{202f}200 in, 30 out, 1\u{202f}000 from the provider's cache",
        "$0.2500",
        "<dt>Tools offered</dt><dd>refund</dd>",
        "As it was sent",
    ] {
        assert!(one.contains(part), "{part} is not in {one}");
    }
    assert!(!one.contains("earlier message"), "{one}");
    // The system, the user and the model's own call were seen with the first call.
    let (earlier, new) = other.split_once("</details>").expect("what was said before");
    assert!(earlier.contains("3 earlier messages") && earlier.contains("You help."), "{earlier}");
    let new = new.split("As it was sent").next().expect("the conversation");
    assert!(new.contains("Result of <code>refund</code>") && new.contains("paid back"), "{new}");
    assert!(new.contains("All done.") && !new.contains("You help."), "{new}");
}

#[tokio::test]
async fn what_cannot_be_read_is_shown_as_it_was_sent_and_what_is_long_is_cut() {
    let odd = ModelCall { request: Body::Kept(Blob(EVIL.as_bytes().to_vec())), ..call(1, &json!([]), "<html>") };
    let long = json!([{"role": "user", "content": "x".repeat(200_000)}]);
    let many: Vec<_> = (0..500).map(|number| json!({"role": "user", "content": format!("m{number}.")})).collect();
    let large: Vec<_> = (0..40).map(|_| json!({"role": "user", "content": "y".repeat(8000)})).collect();
    let answer = json!({"choices": [{"message": {"content": "short"}}]}).to_string();
    let calls = vec![
        odd,
        call(2, &long, "{\"error\":{\"message\":\"no\"}}"),
        call(3, &json!(many), "{}"),
        call(4, &json!(large), &answer),
    ];
    let page = page(calls).await;
    let parts: Vec<_> = page.split("<details id=\"moment-").collect();
    assert!(parts[1].contains("&lt;html&gt;") && !parts[1].contains("As it was sent"), "{}", parts[1]);
    assert!(parts[2].contains("191.8 kB more") && parts[2].contains("/evidence?run=1\">the evidence</a>"));
    assert!(parts[2].contains("&quot;message&quot;: &quot;no&quot;"), "an answer that is none is in the open");
    assert!(
        parts[3].contains("m39.</div>") && !parts[3].contains("m40.</div>") && parts[3].contains("460 more messages")
    );
    let said = parts[4].split("As it was sent").next().expect("a conversation");
    assert!(
        said.len() < 50_000 && said.contains("short"),
        "all messages of a call have a bound, and the answer its own"
    );
    assert!(page.len() < 200_000, "{}", page.len());
}
