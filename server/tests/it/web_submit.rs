//! The page for submitting.

use http::Method;
use serde_json::json;

use crate::bundles::WITH_FILE;
use crate::test_app::{ADA, HELLO, TestApp};
use crate::web_hostile::require_harmless;
use crate::web_session::{Browser, OWN};

#[tokio::test]
async fn a_spec_is_checked_and_run_from_a_form() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/submit").await;
    let broken =
        "version: 1\nid: x\nbase: debian\ntask: {prompt: '</textarea><script>alert(1)</script>'}\nagnt: {type: noop}\n";
    let wrong = browser.submit(&[("token", &token), ("spec", broken), ("do", "run")], &[OWN]).await;
    assert_eq!(wrong.status, 400);
    require_harmless(&wrong.text());
    for part in ["did you mean", "href=\"#L5\"", "aria-invalid=\"true\"", "&lt;/textarea&gt;"] {
        assert!(wrong.text().contains(part), "{part} is not in {}", wrong.text());
    }
    let right = browser.submit(&[("token", &token), ("spec", HELLO), ("do", "check")], &[OWN]).await;
    assert!(right.text().contains("The spec is valid"), "{}", right.text());
    let fields = [
        ("token", token.as_str()),
        ("spec", broken),
        ("file", HELLO),
        ("replicas", "3"),
        ("name", "mine"),
        ("do", "run"),
    ];
    let begun = browser.submit(&fields, &[OWN]).await;
    assert_eq!(begun.status, 303, "{}", begun.text());
    let page = browser.get(begun.header("location")).await.text();
    assert!(page.contains("0 of 3 scenarios have ended") && page.contains("mine"), "{page}");
    let bad = [("token", token.as_str()), ("spec", HELLO), ("replicas", "many"), ("do", "run")];
    assert!(browser.submit(&bad, &[OWN]).await.text().contains("whole number"));
    assert_eq!(browser.submit(&[("token", "x"), ("spec", HELLO)], &[OWN]).await.status, 403);
    assert_eq!(browser.submit(&[("token", &token), ("spec", HELLO)], &[]).await.status, 403);
}

/// The field for a secret's value, as it stands in a page.
fn field(name: &str) -> String {
    format!(
        "<input id=\"secret-{name}\" type=\"password\" name=\"secret:{name}\" required autocomplete=\"off\" \
         spellcheck=\"false\" aria-describedby=\"sealed\">"
    )
}

#[tokio::test]
async fn secrets_that_are_not_kept_are_asked_for_and_never_shown_again() {
    let app = TestApp::new().await;
    let kept = json!({"value": "kept by the server"}).to_string();
    app.call(Method::PUT, ADA, "/v1/secrets/KEPT", &[], kept).await.expect(200);
    let spec =
        format!("{HELLO}secrets: [TOKEN, KEPT, {{name: MADE, from: generated}}, {{name: PIN, source: 'env:PATH'}}]\n");
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/submit").await;
    let first = [("token", token.as_str()), ("spec", spec.as_str())];
    let send = async |more: &[(&str, &str)]| browser.submit(&[&first[..], more].concat(), &[OWN]).await;

    let checked = send(&[("do", "check")]).await;
    assert_eq!(checked.status, 200);
    let page = checked.text();
    assert!(page.contains("The spec is valid.") && page.contains("<label for=\"secret-TOKEN\">Value of TOKEN</label>"));
    assert!(page.contains(&field("TOKEN")) && page.contains(&field("PIN")), "{page}");
    assert!(!page.contains("secret-KEPT") && !page.contains("secret-MADE"), "those have values: {page}");

    let missing = send(&[("do", "run"), ("secret:TOKEN", "swordfish"), ("secret:PIN", "")]).await;
    assert_eq!(missing.status, 400);
    assert!(missing.text().contains("needs the secret <code>PIN</code>, which is not kept here"), "{}", missing.text());
    let short = send(&[("do", "run"), ("secret:TOKEN", "swordfish"), ("secret:PIN", "zzz")]).await;
    assert!(short.text().contains("is shorter than 4 characters"), "{}", short.text());
    let many = [("do", "run"), ("secret:TOKEN", "swordfish"), ("secret:PIN", "98765"), ("replicas", "many")];
    let wrong = send(&many).await;
    assert!(wrong.text().contains("whole number"), "{}", wrong.text());
    for answer in [&missing, &short, &wrong] {
        assert_eq!(answer.status, 400);
        assert!(
            answer.text().contains(&field("TOKEN")) && answer.text().contains(&field("PIN")),
            "they are asked again"
        );
        for value in ["swordfish", "zzz", "98765"] {
            assert!(!answer.text().contains(value), "{value} came back: {}", answer.text());
        }
    }

    let given = [("do", "run"), ("secret:TOKEN", "swordfish"), ("secret:PIN", "98765"), ("secret:OTHER", "not named")];
    let begun = send(&given).await;
    assert_eq!(begun.status, 303, "{}", begun.text());
    let id = begun.header("location").trim_start_matches("/experiments/");
    let sealed = app.store.experiment_secrets(id.parse().expect("an id")).await.expect("read").expect("secrets");
    let opened = app.master_key.open(&sealed, id).expect("opened");
    assert_eq!(String::from_utf8_lossy(&opened), r#"{"PIN":"98765","TOKEN":"swordfish"}"#);
    assert!(!browser.get(begun.header("location")).await.text().contains("swordfish"));
}

#[tokio::test]
async fn who_sends_a_spec_without_its_files_is_told_what_a_page_can_do_about_it() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/submit").await;
    let page = browser.submit(&[("token", &token), ("spec", WITH_FILE), ("do", "check")], &[OWN]).await.text();
    assert!(page.contains("upload a tar archive with the spec as <code>spec.yaml</code>"), "{page}");
    assert!(!page.contains("name the folder"), "{page}");
}

#[tokio::test]
async fn what_is_wrong_with_a_spec_is_said_before_its_secrets_are_asked_for() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/submit").await;
    let broken = format!("{HELLO}secrets: [TOKEN]\nagnt: 1\n");
    let fields = [("token", token.as_str()), ("spec", &broken), ("secret:TOKEN", "swordfish"), ("do", "run")];
    let page = browser.submit(&fields, &[OWN]).await.text();
    assert!(page.contains("did you mean") && page.contains("aria-invalid=\"true\""), "{page}");
    assert!(!page.contains("swordfish") && !page.contains("secret-TOKEN"), "{page}");
}
