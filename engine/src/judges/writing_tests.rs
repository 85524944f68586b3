//! Tests of prompts that models write, against a provider on this machine.

use std::path::Path;
use std::time::Duration;

use scenario::plan::PromptRequest;

use super::tests::{bodies, completion, machine, provider, refusal};
use super::transport::Patience;
use super::writing::{WriteError, WrittenPrompt, write_with};

fn request(seed: u64) -> PromptRequest {
    PromptRequest {
        model: "paragon-fast".to_owned(),
        system: "Say the same in other words.".to_owned(),
        prompt: "Say hello".to_owned(),
        seed,
    }
}

async fn write(address: &str, folder: Option<&Path>, seed: u64) -> Result<WrittenPrompt, WriteError> {
    let patience = Patience { tries: 2, first: Duration::from_millis(1), longest: Duration::from_millis(20) };
    write_with(&machine(address, folder), &request(seed), patience).await
}

#[tokio::test]
async fn a_prompt_is_asked_for_once_and_kept() {
    let server = provider(vec![completion(" Greet me.\n"), completion("Hi there?")]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let written = write(&server.uri(), Some(folder.path()), 7).await.expect("a prompt");
    assert_eq!((written.text.as_str(), written.usage.calls, written.usage.input_tokens), ("Greet me.", 1, 1000));
    let again = write(&server.uri(), Some(folder.path()), 7).await.expect("a prompt");
    assert_eq!((again.text.as_str(), again.usage.calls), ("Greet me.", 0), "it is not asked for again");
    let other = write(&server.uri(), Some(folder.path()), 8).await.expect("a prompt");
    assert_eq!(other.text, "Hi there?", "another seed is another question");
    let asked = bodies(&server).await;
    assert_eq!((asked.len(), &asked[0]["temperature"], &asked[0]["seed"]), (2, &0.0.into(), &7.into()));
    assert!(asked[0].get("response_format").is_none(), "a text is no rating: {}", asked[0]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_asked_for_once_more() {
    let long = "x".repeat(1000);
    for bad in ["", "Say hello", long.as_str()] {
        let server = provider(vec![completion(bad), completion("Greet me.")]).await;
        let written = write(&server.uri(), None, 7).await.expect("a prompt");
        assert_eq!((written.text.as_str(), written.usage.calls), ("Greet me.", 2), "{bad}");
        assert_ne!(bodies(&server).await[0]["seed"], bodies(&server).await[1]["seed"]);
        let server = provider(vec![completion(bad)]).await;
        let error = write(&server.uri(), None, 7).await.expect_err("no prompt");
        assert!(matches!(error, WriteError::Unusable), "{error}");
        assert_eq!(bodies(&server).await.len(), 2);
    }
}

#[tokio::test]
async fn a_provider_that_knows_no_seed_is_asked_without_and_one_that_refuses_is_no_answer() {
    let server = provider(vec![refusal(400, "unknown field `seed`"), completion("Greet me.")]).await;
    assert_eq!(write(&server.uri(), None, 7).await.expect("a prompt").text, "Greet me.");
    assert!(bodies(&server).await[1].get("seed").is_none());
    let server = provider(vec![refusal(401, "no such key")]).await;
    let error = write(&server.uri(), None, 7).await.expect_err("no prompt");
    assert!(matches!(&error, WriteError::NoReply(reason) if reason.contains("no such key")), "{error}");
}
