//! Specs in a browser: how each went last, and what changed between versions.

use scenario::certificate::Certificate;
use scenario::result::RowStatus::{Fail, Pass};
use serde_json::json;
use store::{Clock as _, SpecContent, SpecFile};

use crate::test_app::{ADA, ADMIN, HELLO, TestApp, replicas};
use crate::web_hostile::require_harmless;
use crate::web_session::Browser;

#[tokio::test]
async fn the_list_says_how_each_spec_went_last() {
    let app = TestApp::new().await;
    let named = |id: &str, text: &str| text.replace("id: hello", &format!("id: {id}"));
    app.finished(&named("again", &replicas(2))).await;
    app.clock.pass(60);
    let id = app.running(&named("again", &replicas(2))).await;
    app.finish_one(Pass).await;
    app.finish_one(Fail).await;
    app.upload(ADA, &named("never", HELLO)).await.expect(201);
    let open = app.running(&named("open", &replicas(2))).await;
    app.clock.pass(120);
    for key in [ADA, ADMIN] {
        let page = Browser::signed_in(&app, key).await.get("/specs").await.text();
        let row = |spec: &str| {
            let row = page.split("<tr>").find(|row| row.contains(&format!("/specs/{spec}?owner=ada")));
            row.unwrap_or_else(|| panic!("{spec} is not in {page}")).to_owned()
        };
        let again = row("again");
        for part in [&format!("/experiments/{id}?run=1"), ">failed<", ">50 %<", ">2 min ago<"] {
            assert!(again.contains(part), "{part} is not in {again}");
        }
        assert!(row("never").contains("not run yet") && !row("never").contains(" %"), "{}", row("never"));
        assert!(row("open").contains(&open) && row("open").contains(">running<"), "{}", row("open"));
        assert!(!row("open").contains(" %"), "{}", row("open"));
    }
}

#[tokio::test]
async fn what_changed_between_two_versions_is_shown_line_by_line() {
    let app = TestApp::new().await;
    let keep = async |text: &str, files: &[(&str, &str)]| {
        let own = [("spec.yaml", text)];
        let file = |(path, content): &(&str, &str)| {
            let (path, content) = ((*path).to_owned(), content.as_bytes().to_vec());
            SpecFile { path, executable: false, content }
        };
        let mut files: Vec<_> = own.iter().chain(files).map(file).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let content = SpecContent { text: text.to_owned(), files };
        app.store.keep_spec("ada", "hello", &content, app.clock.now()).await.expect("kept");
    };
    keep(HELLO, &[("agent.py", "print(1)\n"), ("same.txt", "same")]).await;
    let changed = HELLO.replace("Says hello", "'<script>alert(1)</script>'");
    keep(&changed, &[("agent.py", "print(2)\n"), ("new.bin", "x"), ("same.txt", "same")]).await;
    keep(&changed.replace("weight: 1", "weight: 0.5"), &[("same.txt", "same")]).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/specs/hello?version=2&against=1").await.text();
    require_harmless(&page);
    for part in [
        "What changed from v1 to v2",
        "<span class=\"removed\">-description: Says hello\n</span>",
        "<span class=\"added\">+description: '&lt;script&gt;alert(1)&lt;/script&gt;'\n</span>",
        "<span class=\"change modified\">modified</span> <code>agent.py</code>",
        "<span class=\"added\">+print(2)\n</span>",
        "<span class=\"change added\">added</span> <code>new.bin</code>",
        "Files beside it: agent.py, new.bin, same.txt",
        "&amp;against=1#changes\">since v1</a>",
        "<select id=\"against\" name=\"against\">",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let page = browser.get("/specs/hello?version=3&against=2").await.text();
    let difference = page.split("<section").find(|part| part.contains("id=\"changes\"")).expect("a difference");
    assert!(difference.contains("weight: 0.5") && !difference.contains("same.txt"), "{difference}");
    assert!(difference.contains("<span class=\"change removed\">removed</span> <code>agent.py</code>"), "{difference}");
    assert!(browser.get("/specs/hello?version=1&against=1").await.text().contains("The text is the same."));
    assert!(!browser.get("/specs/hello").await.text().contains("id=\"changes\""), "nobody asked");
    assert_eq!(browser.get("/specs/hello?against=9").await.status, 404);
}

#[tokio::test]
async fn the_page_says_what_the_certificate_of_the_spec_says() {
    let app = TestApp::new().await;
    app.upload(ADA, HELLO).await.expect(201);
    let version = app.store.spec_version("ada", "hello").await.expect("read").expect("a spec").version;
    let browser = Browser::signed_in(&app, ADA).await;
    let keep = async |digest: &str| {
        let whole = json!({"as_expected": 3, "runs": 3});
        let certificate: Certificate = serde_json::from_value(json!({
            "spec_id": "hello", "spec_digest": digest, "touchstone": "0.1.0", "made_at": "2026-11-19T10:00:00Z",
            "verdict": "certified", "replicas": 3, "noop": whole, "oracle": whole, "cheats": [],
            "strength": {"tried": 4, "noticed": 3},
        }))
        .expect("a certificate");
        app.store.keep_certificate("ada", &certificate).await.expect("kept");
    };
    assert!(!browser.get("/specs/hello").await.text().contains("certified"));
    keep("another").await;
    assert!(browser.get("/specs/hello").await.text().contains("certified for an earlier version of the spec"));
    keep(&version.digest).await;
    let page = browser.get("/specs/hello").await.text();
    assert!(page.contains("certified 2026-11-19, 3/3 oracle, 3/3 noop, 0 cheats, strength 0.75"), "{page}");
}
