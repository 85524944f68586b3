//! Certificates of specs.

use scenario::certificate::{Certificate, CertificateVerdict, RunCount};
use store::Page;

use crate::harness::{World, at};

databases![the_newest_certificate_of_each_content_is_kept, certificates_are_listed_newest_first];

fn certificate(spec_id: &str, digest: &str, second: i64, verdict: CertificateVerdict) -> Certificate {
    Certificate {
        spec_id: spec_id.to_owned(),
        spec_digest: digest.to_owned(),
        touchstone: "0.1.0".to_owned(),
        made_at: at(second),
        verdict,
        replicas: 3,
        noop: RunCount { as_expected: 3, runs: 3 },
        oracle: RunCount { as_expected: 3, runs: 3 },
        cheats: Vec::new(),
        strength: None,
        reasons: Vec::new(),
        ran_in: None,
    }
}

async fn the_newest_certificate_of_each_content_is_kept(world: World) {
    use CertificateVerdict::{Certified, FlakyWorld, NotCertified};
    let store = &world.store;
    for (digest, second, verdict) in
        [("d1", 5, NotCertified), ("d1", 6, Certified), ("d1", 4, FlakyWorld), ("d2", 3, Certified)]
    {
        store.keep_certificate("ann", &certificate("ledger", digest, second, verdict)).await.expect("kept");
    }
    let read = async |owner: &str, digest: &str| {
        store.certificate(owner, "ledger", digest).await.expect("read").map(|one| (one.made_at, one.verdict))
    };
    assert_eq!(read("ann", "d1").await, Some((at(6), Certified)), "an older one replaces nothing");
    assert_eq!(read("ann", "d2").await, Some((at(3), Certified)));
    assert_eq!((read("ann", "d3").await, read("bob", "d1").await), (None, None));
    let newest = store.newest_certificate("ann", "ledger").await.expect("read").expect("a certificate");
    assert_eq!(
        (newest.spec_digest.as_str(), store.newest_certificate("bob", "ledger").await.expect("read")),
        ("d1", None)
    );
}

async fn certificates_are_listed_newest_first(world: World) {
    let store = &world.store;
    for (owner, spec_id, second) in [("", "a", 1), ("", "b", 3), ("ann", "a", 2), ("", "c", 3)] {
        let certificate = certificate(spec_id, "d", second, CertificateVerdict::Certified);
        store.keep_certificate(owner, &certificate).await.expect("kept");
    }
    let list = async |owner, after: Option<&str>| {
        let listed = store.certificates(owner, Page { after, most: 2 }).await.expect("certificates");
        let told = |one: store::StoredCertificate| format!("{}/{}", one.owner, one.certificate.spec_id);
        (listed.items.into_iter().map(told).collect::<Vec<_>>(), listed.next)
    };
    let (first, next) = list(None, None).await;
    assert_eq!(first, ["/c", "/b"]);
    assert_eq!(list(None, next.as_deref()).await, (vec!["ann/a".to_owned(), "/a".to_owned()], None));
    assert_eq!(list(Some("ann"), None).await, (vec!["ann/a".to_owned()], None));
}
