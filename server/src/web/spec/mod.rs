//! Specs: the newest of each, and one with its text, its versions and how it went.

mod changes;
mod flaky;
mod list;
mod outcomes;
mod trends;
mod versions;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use scenario::spec::load;
use scenario::untrusted;
use serde::Deserialize;
use store::{ComparableFilter, ComparableRun, HistoryFilter, Page, SpecContent};

use super::certificate;
use super::error_page::escaped;
use super::layout::{Frame, Tab};
use super::session::Visitor;
use super::untrusted_html;
use super::yaml;
use crate::api::specs::missing;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Finding};
use crate::extract::{At, QueryParams};
use crate::submission::{bundle_of, finding};

/// The most versions that are listed.
const VERSIONS: u64 = 50;
/// The most runs of a trend.
const POINTS: u64 = 60;

/// Which version, and whose.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecQuery {
    version: Option<u32>,
    /// The version to which the shown one is compared.
    against: Option<u32>,
    owner: Option<String>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/specs", get(list::list))
        .route("/specs/{id}", get(one))
        .route("/specs/{id}/flaky", get(flaky::board))
}

async fn one(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<SpecQuery>,
) -> Result<Markup, ApiError> {
    let owner = owner_of(&app, &visitor.caller, &id, query.owner.as_deref()).await?;
    let versions = app.store.versions_of(&owner, &id, VERSIONS).await?;
    let numbered = |number: u32| versions.iter().find(|stored| stored.version.version == number);
    let shown = query.version.map_or_else(|| versions.first(), numbered).ok_or_else(|| missing(&id))?;
    let content = app.store.spec(&shown.version.digest).await?;
    let changes = match query.against {
        Some(number) => {
            let before = numbered(number).ok_or_else(|| missing(&id))?;
            let earlier = app.store.spec(&before.version.digest).await?;
            changes::section((before.version.version, &earlier), (shown.version.version, &content))
        }
        None => html! {},
    };
    let loaded = load(&content.text, bundle_of(&content).as_ref());
    let findings: Vec<Finding> = loaded.diagnostics.iter().map(finding).collect();
    let runs = comparable_runs(&app, &visitor, &id).await?;
    let unsure = trends::flakiest(&app, &runs).await?;
    let certificate = certificate::line(&app, &owner, &shown.version).await?;
    let description = loaded.spec.as_ref().map(|spec| spec.description.clone()).unwrap_or_default();
    let body = html! {
        nav.crumbs aria-label="Where this is" { a href="/specs" { "Specs" } " / " span { (untrusted_html::line(&id, 100)) } }
        div.head { h1 { (untrusted_html::line(&id, 120)) } span.tag { "v" (shown.version.version) } }
        @if !description.is_empty() { p.lead { (untrusted_html::line(&description, 500)) } }
        p.facts {
            a href={ "/experiments?spec=" (escaped(&id)) } { "All experiments of it" }
            a href={ "/specs/" (escaped(&id)) "/flaky" } { "What is flaky" }
            a href={ "/v1/specs/" (escaped(&id)) "?owner=" (escaped(&owner)) } { "As JSON" }
            span.quiet.digest { (shown.version.digest) }
        }
        (certificate)
        (changes)
        (trends::section(&runs))
        (unsure)
        (source(&content, &findings))
        (versions::section(app.clock.now(), &versions, shown, query.against))
    };
    let title = format!("{id} · spec");
    Ok(Frame { title: &title, tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

/// Whose spec is meant: the one that is named, the caller's own, or for who sees all the owner of its newest
/// experiment.
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

/// The comparable runs of the spec, oldest first.
async fn comparable_runs(app: &App, visitor: &Visitor, id: &str) -> Result<Vec<ComparableRun>, ApiError> {
    let owner = visitor.caller.sees();
    let filter = ComparableFilter { owner, spec_id: id, before: None, since: None, most: POINTS };
    let mut runs = app.store.comparable_runs(filter).await?;
    runs.reverse();
    Ok(runs)
}

fn source(content: &SpecContent, findings: &[Finding]) -> Markup {
    // A folder that was submitted has the spec in it, too.
    let beside = content.files.iter().filter(|file| file.content != content.text.as_bytes());
    let files: Vec<_> = beside.map(|file| file.path.as_str()).collect();
    html! {
        section aria-labelledby="source" {
            h2 #source { "Source" }
            @if findings.is_empty() { p.notice.good { "Valid, without remarks." } } @else {
                ul.findings { @for finding in findings { li {
                    a href={ "#L" (finding.line) } { "line " (finding.line) } " "
                    strong { (finding.severity) } " " (untrusted_html::short_prose(&finding.message, 300))
                } } }
            }
            (yaml::source(&content.text, findings))
            @if !files.is_empty() { p.quiet { "Files beside it: " (untrusted::line(&files.join(", "), 1000)) } }
        }
    }
}
