//! Signing in, and what browsers are told and asked.

use axum::body::Body;
use http::{Method, Request};
use tower::ServiceExt as _;

use crate::test_app::{ADA, ADA_READS, ADMIN, Answer, BOB, HELLO, SANDBOX, TestApp};

/// The header of a request that one of our pages made a browser send.
pub(crate) const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");
const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A browser that may have signed in.
pub(crate) struct Browser<'a> {
    app: &'a TestApp,
    cookie: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(app: &'a TestApp) -> Self {
        Self { app, cookie: String::new() }
    }

    /// One that signed in with a key.
    pub(crate) async fn signed_in(app: &'a TestApp, key: &str) -> Self {
        let mut browser = Self::new(app);
        let answer = browser.sign_in(key, "/experiments").await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        browser.cookie = answer.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        browser
    }

    async fn sign_in(&self, key: &str, next: &str) -> Answer {
        let token = token(&self.get("/sign-in").await);
        self.post("/sign-in", &[("key", key), ("next", next), ("token", &token)], &[OWN]).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.app.call(Method::GET, "", path, &[HTML, ("cookie", &self.cookie)], Body::empty()).await
    }

    /// The body of an answer that is made while it is sent.
    pub(crate) async fn stream(&self, path: &str) -> Body {
        let (name, accepts) = HTML;
        let request = Request::get(path).header(name, accepts).header("cookie", &self.cookie).body(Body::empty());
        let response = self.app.router.clone().oneshot(request.expect("a request")).await.expect("an answer");
        assert_eq!(response.status(), 200);
        response.into_body()
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let mut all = vec![HTML, FORM, ("cookie", self.cookie.as_str())];
        all.extend(headers);
        self.app.call(Method::POST, "", path, &all, body.join("&")).await
    }

    /// Sends the form of the page for submitting.
    pub(crate) async fn submit(&self, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let part = |(name, value): &(&str, &str)| {
            let file = if *name == "file" { "; filename=\"spec.yaml\"" } else { "" };
            format!("--edge\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n")
        };
        let body: String = fields.iter().map(part).chain(["--edge--\r\n".to_owned()]).collect();
        let multipart = ("content-type", "multipart/form-data; boundary=edge");
        let mut all = vec![HTML, multipart, ("cookie", self.cookie.as_str())];
        all.extend(headers);
        self.app.call(Method::POST, "", "/submit", &all, body).await
    }

    /// The token of a page's forms.
    pub(crate) async fn token(&self, path: &str) -> String {
        token(&self.get(path).await)
    }
}

#[track_caller]
fn token(page: &Answer) -> String {
    let text = page.text();
    let after = text.split("name=\"token\" value=\"").nth(1).unwrap_or_else(|| panic!("no token: {text}"));
    after.split('"').next().expect("a value").to_owned()
}

#[tokio::test]
async fn who_is_not_known_is_led_to_sign_in_and_back() {
    let app = TestApp::new().await;
    let browser = Browser::new(&app);
    let answer = browser.get("/experiments?status=failed").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (303, "/sign-in?next=%2Fexperiments%3Fstatus%3Dfailed")
    );
    assert!(browser.get("/sign-in?next=%2Fx%22%3E").await.text().contains("value=\"/x&quot;&gt;\""));
    let answer = browser.sign_in(ADA, "/experiments?status=failed").await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/experiments?status=failed"));
    let answer = browser.sign_in(ADA, "https://evil.example/").await;
    assert_eq!(answer.header("location"), "/experiments", "nobody is led elsewhere");
}

#[tokio::test]
async fn the_cookie_is_no_key_and_is_kept_from_scripts_and_other_sites() {
    let app = TestApp::new().await;
    let browser = Browser::new(&app);
    let answer = browser.sign_in(ADA, "/").await;
    let cookie = answer.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(ADA), "{cookie}");
    let token = browser.token("/sign-in").await;
    let fields = [("key", ADA), ("next", "/"), ("token", token.as_str())];
    let secure = browser.post("/sign-in", &fields, &[OWN, ("x-forwarded-proto", "https")]).await;
    assert!(secure.header("set-cookie").contains("; Secure"));
}

#[tokio::test]
async fn wrong_keys_and_tokens_of_sandboxes_open_nothing() {
    let app = TestApp::new().await;
    let browser = Browser::new(&app);
    for key in ["", "ts_live_wrong", SANDBOX] {
        let answer = browser.sign_in(key, "/").await;
        assert_eq!(answer.status, 401, "{key}");
        assert!(answer.text().contains("This key is not known here") && answer.header("set-cookie").is_empty());
    }
    for cookie in ["touchstone_session=", "touchstone_session=x", "touchstone_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]
    {
        let answer = app.call(Method::GET, "", "/experiments", &[HTML, ("cookie", cookie)], Body::empty()).await;
        assert_eq!(answer.status, 303, "{cookie}");
    }
}

#[tokio::test]
async fn a_session_ends_with_its_time_and_by_signing_out() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    assert_eq!(browser.get("/experiments").await.status, 200);
    let token = browser.token("/experiments").await;
    let answer = browser.post("/sign-out", &[("token", &token)], &[OWN]).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/sign-in"));
    assert!(answer.header("set-cookie").contains("Max-Age=0"));
    app.clock.pass(8 * 24 * 60 * 60);
    assert_eq!(browser.get("/experiments").await.status, 303, "a week is over");
    let page = browser.get("/sign-in?next=%2Fexperiments").await.text();
    assert!(page.contains("Your session has ended, or the key was revoked.") && !page.contains("Go on"), "{page}");
}

#[tokio::test]
async fn who_has_a_key_that_was_revoked_is_told_so() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    assert_eq!(app.delete(ADMIN, "/v1/keys/key_ada").await.status, 204);
    let place = browser.get("/experiments").await.header("location").to_owned();
    let page = browser.get(&place).await.text();
    assert!(page.contains("Your session has ended, or the key was revoked.") && !page.contains("Go on"), "{page}");
    let stranger = Browser::new(&app).get(&place).await.text();
    assert!(stranger.contains("Signed in already?") && !stranger.contains("Your session has ended"), "{stranger}");
}

#[tokio::test]
async fn pages_are_not_kept_by_browsers_and_files_are() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    for path in ["/experiments", "/sign-in", "/nothing", "/workers", "/docs/"] {
        assert_eq!(browser.get(path).await.header("cache-control"), "no-store", "{path}");
    }
    assert!(browser.get("/assets/style.css").await.header("cache-control").contains("immutable"));
    assert_eq!(app.get(ADA, "/v1/experiments").await.header("cache-control"), "private, no-cache");
}

#[tokio::test]
async fn only_pages_of_ours_change_something() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let (place, token) = (format!("/experiments/{id}/cancel"), browser.token("/experiments").await);
    let good = [("token", token.as_str())];
    for headers in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", "http://server"), ("host", "server")],
        &[("origin", "http://evil.example"), ("host", "server")],
        &[("origin", "null"), ("host", "server")],
    ] {
        let answer = browser.post(&place, &good, headers).await;
        assert_eq!(answer.status, 403, "{headers:?}");
        assert!(answer.text().contains("was not sent by a page of this server"), "{}", answer.text());
    }
    for wrong in ["", "x", &Browser::signed_in(&app, BOB).await.token("/experiments").await] {
        assert_eq!(browser.post(&place, &[("token", wrong)], &[OWN]).await.status, 403, "{wrong}");
    }
    let api = [HTML, ("cookie", browser.cookie.as_str()), OWN];
    let answer = app.call(Method::POST, "", &format!("/v1/experiments/{id}/cancel"), &api, Body::empty()).await;
    assert_eq!(answer.status, 401, "the API changes nothing for a cookie");
    let own = [("origin", "http://server:80"), ("host", "server:80")];
    assert_eq!(browser.post(&place, &good, &own).await.status, 303);
}

#[tokio::test]
async fn a_cookie_reads_what_its_key_reads() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let ada = Browser::signed_in(&app, ADA_READS).await;
    assert_eq!(ada.get(&format!("/v1/experiments/{id}?format=junit")).await.status, 200, "downloads");
    let page = ada.get(&format!("/experiments/{id}")).await.text();
    assert!(!page.contains("Run all again") && !page.contains("href=\"/submit\""), "it may only read");
    let token = ada.token("/experiments").await;
    let answer = ada.post(&format!("/experiments/{id}/rerun"), &[("token", &token), ("which", "all")], &[OWN]).await;
    assert_eq!(answer.status, 403);
    assert_eq!(ada.get("/submit").await.status, 403);
    let bob = Browser::signed_in(&app, BOB).await;
    assert_eq!(bob.get(&format!("/experiments/{id}")).await.status, 403);
    assert!(!bob.get("/experiments").await.text().contains(&id));
}

#[tokio::test]
async fn a_server_without_keys_needs_no_signing_in() {
    let app = TestApp::open().await;
    let headers = [HTML, ("host", "localhost:8012")];
    let answer = app.call(Method::GET, "", "/experiments", &headers, Body::empty()).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.text().contains("Sign out"));
    assert_eq!(app.call(Method::GET, "", "/sign-in", &headers, Body::empty()).await.header("location"), "/experiments");
    let stranger = [HTML, ("host", "evil.example")];
    assert_eq!(app.call(Method::GET, "", "/experiments", &stranger, Body::empty()).await.status, 403);
    let cross = [HTML, FORM, ("host", "localhost"), ("sec-fetch-site", "cross-site")];
    let answer = app.call(Method::POST, "", "/sign-out", &cross, "token=x").await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn every_answer_says_what_browsers_must_refuse() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    for path in ["/experiments", "/sign-in", "/nothing", "/v1/experiments", "/assets/style.css", "/health", "/docs/"] {
        let answer = browser.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{path}: {policy}");
        assert_eq!(policy.contains("unsafe-inline"), path == "/docs/", "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
    }
}

#[tokio::test]
async fn refusals_are_pages_for_browsers_and_json_for_programs() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    for (path, status, words) in [
        ("/nothing", 404, "there is nothing here"),
        ("/experiments/x%3Cb%3E", 404, "there is no experiment <code>x&lt;b&gt;</code>"),
        ("/experiments?since=never", 400, "a date is written as"),
        ("/experiments?after=x", 400, "<code>x</code> is no cursor of this list"),
        ("/compare?a=0000&b=0000", 404, "there is no experiment"),
        ("/specs/none", 404, "there is no spec <code>none</code>"),
        ("/assets/none.css", 404, "there is no such file"),
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{path}");
        let text = answer.text();
        assert!(text.contains(words) && text.contains("<h1>") && text.contains("Sign out"), "{path}: {text}");
        assert!(!text.contains("<b>"), "{path}");
    }
    app.get(ADA, "/nothing").await.refused(404);
    assert!(app.get(ADA, "/v1/experiments/none").await.refused(404).contains("no experiment"));
}
