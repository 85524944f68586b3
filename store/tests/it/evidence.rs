//! Evidence.

use std::fs;

use scenario::evidence::{Answer, Datum, SqlAnswer};
use store::{JobId, StoreError};

use crate::harness::{LARGE, World, complete, evidence};

databases![
    small_and_large_evidence_come_back,
    an_attempt_knows_the_digest_and_size,
    damaged_evidence_is_noticed,
    damaged_evidence_in_a_row_is_noticed,
    deep_documents_come_back,
];

/// Completes a job with evidence of so many bytes.
async fn keep(world: &World, bytes: usize) -> JobId {
    world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    complete(&world.store, &held, &evidence(bytes), 1).await;
    held.lease.job
}

async fn small_and_large_evidence_come_back(world: World) {
    let small = keep(&world, 100).await;
    assert_eq!(world.files(), Vec::<String>::new(), "small evidence stands in its row");
    let large = keep(&world, LARGE).await;
    let file = world.files().pop().expect("a file");
    let scenario = crate::harness::scenario(0).id;
    assert!(file.ends_with(&format!("/1/{scenario}/1/evidence.json")), "{file}");
    for (job, bytes) in [(small, 100), (large, LARGE)] {
        assert_eq!(world.store.evidence(job, 1).await.expect("readable"), Some(evidence(bytes)));
        let text = world.store.evidence_text(job, 1).await.expect("readable");
        assert_eq!(text, Some(serde_json::to_string(&evidence(bytes)).expect("JSON")), "byte for byte");
    }
    assert_eq!(world.store.evidence(small, 2).await.expect("readable"), None);
}

async fn an_attempt_knows_the_digest_and_size(world: World) {
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    complete(&world.store, &held, &evidence(LARGE), 1).await;
    let attempt = world.store.attempts(run).await.expect("attempts").remove(0);
    let text = serde_json::to_string(&evidence(LARGE)).expect("JSON");
    assert_eq!((attempt.size, attempt.digest.map(|digest| digest.len())), (Some(text.len() as u64), Some(64)));
}

async fn damaged_evidence_is_noticed(world: World) {
    let job = keep(&world, LARGE).await;
    let file = world.files().pop().expect("a file");
    let content = fs::read(&file).expect("the file");
    for damage in [b"y".as_slice(), &[0xff], b""] {
        let mut damaged = content.clone();
        damaged.splice(LARGE / 2..=LARGE / 2, damage.iter().copied());
        fs::write(&file, damaged).expect("written");
        let error = world.store.evidence(job, 1).await;
        assert!(matches!(&error, Err(StoreError::Evidence { what, .. }) if what.contains("attempt 1")), "{error:?}");
    }
    fs::write(&file, content).expect("written");
    assert_eq!(world.store.evidence(job, 1).await.expect("readable"), Some(evidence(LARGE)));
    fs::remove_file(&file).expect("removed");
    let error = world.store.evidence(job, 1).await.expect_err("gone");
    assert!(matches!(&error, StoreError::EvidenceGone { what, .. } if what.contains("attempt 1")), "{error:?}");
    assert!(error.to_string().contains(&file), "{error}");
}

async fn damaged_evidence_in_a_row_is_noticed(world: World) {
    let job = keep(&world, 10).await;
    world.execute("UPDATE attempts SET body = replace(body, 'x', 'y')").await;
    assert!(matches!(world.store.evidence(job, 1).await, Err(StoreError::Evidence { .. })));
}

/// The deepest document that an agent can leave in a database stands deeper still in the evidence.
async fn deep_documents_come_back(world: World) {
    world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    let deep = format!("{}1.5{}", "[".repeat(127), "]".repeat(127));
    let deep = Datum::Json(serde_json::from_str(&deep).expect("deep"));
    let answer = Answer::Sql(SqlAnswer::Value(deep));
    let mut observed = evidence(1);
    observed.answers.insert("ledger".to_owned(), vec![answer]);
    complete(&world.store, &held, &observed, 1).await;
    assert_eq!(world.store.evidence(held.lease.job, 1).await.expect("readable"), Some(observed));
}
