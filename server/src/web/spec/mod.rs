//! Specs: the newest of each, and one with its text, its versions and how it went.

mod trends;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use jiff::Timestamp;
use maud::{Markup, html};
use scenario::spec::load;
use scenario::untrusted;
use serde::Deserialize;
use store::{HistoryFilter, Page, Past, StoredSpecVersion};

use super::foreign;
use super::layout::{Frame, Tab};
use super::numbers::ago;
use super::refusal::escaped;
use super::session::Visitor;
use super::tables::{Head, table};
use super::whole::whole_runs;
use super::{history, yaml};
use crate::api::specs::missing;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Finding};
use crate::extract::{Asked, At};
use crate::submission::{bundle_of, finding};

/// How many specs a page has.
const PART: u64 = 100;
/// How many versions are listed.
const VERSIONS: u64 = 50;
/// How many runs a trend has.
const POINTS: u64 = 60;

/// The columns of specs.
const SPECS: [Head<'_>; 5] =
    [Head::Text("Spec"), Head::Text("Owner"), Head::Number("Version"), Head::Number("Kept"), Head::Text("Experiments")];
/// The columns of versions.
const VERSIONED: [Head<'_>; 3] = [Head::Text("Version"), Head::Number("Kept"), Head::Text("SHA-256")];

/// Which part.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecsQuery {
    after: Option<String>,
}

/// Which version, and whose.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecQuery {
    version: Option<u32>,
    owner: Option<String>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/specs", get(list)).route("/specs/{id}", get(one))
}

async fn list(State(app): State<App>, visitor: Visitor, Asked(query): Asked<SpecsQuery>) -> Result<Markup, ApiError> {
    let after = query.after.as_deref().filter(|after| !after.is_empty());
    let listed = app.store.spec_versions(visitor.caller.sees(), Page { after, most: PART }).await?;
    let now = app.clock.now();
    let body = html! {
        h1 { "Specs" }
        @if listed.items.is_empty() { div.empty { p { "No spec was submitted yet." } } } @else {
            (table("Specs", "", &SPECS, &html! { @for stored in &listed.items { (row(stored, now)) } }))
            @if let Some(next) = &listed.next {
                nav.pager aria-label="Parts of the list" { a rel="next" href={ "/specs?after=" (next) } { "Next →" } }
            }
        }
    };
    Ok(Frame { title: "Specs", tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

fn row(stored: &StoredSpecVersion, now: Timestamp) -> Markup {
    let id = escaped(&stored.version.spec_id);
    html! {
        tr {
            th scope="row" {
                a href={ "/specs/" (id) "?owner=" (escaped(&stored.owner)) } { (foreign::line(&stored.version.spec_id, 100)) }
            }
            td { (history::owner(&stored.owner)) }
            td.number { (stored.version.version) }
            td.number { (ago(stored.created_at, now)) }
            td { a href={ "/experiments?spec=" (id) } { "history" } }
        }
    }
}

async fn one(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Asked(query): Asked<SpecQuery>,
) -> Result<Markup, ApiError> {
    let owner = owner_of(&app, &visitor.caller, &id, query.owner.as_deref()).await?;
    let versions = app.store.versions_of(&owner, &id, VERSIONS).await?;
    let shown = match query.version {
        Some(number) => versions.iter().find(|stored| stored.version.version == number),
        None => versions.first(),
    };
    let shown = shown.ok_or_else(|| missing(&id))?;
    let content = app.store.spec(&shown.version.digest).await?;
    let loaded = load(&content.text, bundle_of(&content).as_ref());
    let findings: Vec<Finding> = loaded.diagnostics.iter().map(finding).collect();
    let past = past(&app, &visitor, &id).await?;
    let flaky = trends::flakiest(&app, &past).await?;
    let description = loaded.spec.as_ref().map(|spec| spec.description.clone()).unwrap_or_default();
    let body = html! {
        nav.crumbs aria-label="Where this is" { a href="/specs" { "Specs" } " / " span { (foreign::line(&id, 100)) } }
        div.head { h1 { (foreign::line(&id, 120)) } span.tag { "v" (shown.version.version) } }
        @if !description.is_empty() { p.lead { (foreign::line(&description, 500)) } }
        p.facts {
            a href={ "/experiments?spec=" (escaped(&id)) } { "All experiments of it" }
            a href={ "/v1/specs/" (escaped(&id)) "?owner=" (escaped(&owner)) } { "As JSON" }
            span.quiet.digest { (shown.version.digest) }
        }
        (trends::section(&past))
        (flaky)
        (source(&content.text, &findings, content.files.iter().map(|file| file.path.as_str())))
        (self::versions(app.clock.now(), &versions, shown))
    };
    let title = format!("{id} · spec");
    Ok(Frame { title: &title, tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

/// Whose spec is meant: the one that is named, the caller's own, or for who sees all the owner of its newest experiment.
async fn owner_of(app: &App, caller: &Caller, id: &str, named: Option<&str>) -> Result<String, ApiError> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return caller.acts_for(Some(named));
    }
    if caller.sees().is_some() || app.store.spec_version(&caller.owner, id).await?.is_some() {
        return Ok(caller.owner.clone());
    }
    let filter = HistoryFilter { spec_id: Some(id), ..HistoryFilter::default() };
    let newest = app.store.history(filter, Page { after: None, most: 1 }).await?.items.pop();
    Ok(newest.map_or_else(|| caller.owner.clone(), |past| past.experiment.owner))
}

/// Experiments of the spec that have ended and ran all of its plan, oldest first.
async fn past(app: &App, visitor: &Visitor, id: &str) -> Result<Vec<Past>, ApiError> {
    let filter = HistoryFilter { owner: visitor.caller.sees(), spec_id: Some(id), ..HistoryFilter::default() };
    let mut past = whole_runs(app, filter, POINTS).await?;
    past.reverse();
    Ok(past)
}

fn source<'a>(text: &str, findings: &[Finding], files: impl Iterator<Item = &'a str>) -> Markup {
    let files: Vec<_> = files.collect();
    html! {
        section aria-labelledby="source" {
            h2 #source { "Source" }
            @if findings.is_empty() { p.notice.good { "Valid, without remarks." } } @else {
                ul.findings { @for finding in findings { li {
                    a href={ "#L" (finding.line) } { "line " (finding.line) } " "
                    strong { (finding.severity) } " " (foreign::short_prose(&finding.message, 300))
                } } }
            }
            (yaml::source(text, findings))
            @if !files.is_empty() { p.quiet { "Files beside it: " (untrusted::line(&files.join(", "), 1000)) } }
        }
    }
}

fn versions(now: Timestamp, versions: &[StoredSpecVersion], shown: &StoredSpecVersion) -> Markup {
    let place = |stored: &StoredSpecVersion| {
        let StoredSpecVersion { owner, version, .. } = stored;
        format!("/specs/{}?version={}&owner={}", escaped(&version.spec_id), version.version, escaped(owner))
    };
    let rows = html! {
        @for stored in versions { tr {
            th scope="row" {
                a href=(place(stored)) aria-current=[(stored == shown).then_some("true")] { "v" (stored.version.version) }
            }
            td.number { (ago(stored.created_at, now)) }
            td.digest { (stored.version.digest) }
        } }
    };
    html! {
        section aria-labelledby="versions" {
            h2 #versions { "Versions" }
            (table("Versions", "", &VERSIONED, &rows))
        }
    }
}
