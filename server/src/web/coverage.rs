//! The capabilities that specs name, by group, and whether the newest runs show them.

use std::collections::HashMap;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use scenario::coverage::{CapabilityCoverage, CapabilityMatrix, CapabilityState, Coverage, Exercised};
use scenario::score::ExperimentVerdict;
use scenario::spec::load;
use store::{Page, StoredSpecVersion};

use super::error_page::escaped;
use super::layout::{Frame, Tab};
use super::session::Visitor;
use super::untrusted_html;
use crate::app::App;
use crate::error::ApiError;
use crate::submission::bundle_of;

/// How many specs are looked at.
const SPECS: u64 = 200;

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/coverage", get(coverage))
}

/// What a spec names, and whether its newest run passed.
struct Named {
    spec: String,
    tags: Vec<String>,
    passed: bool,
}

async fn coverage(State(app): State<App>, visitor: Visitor) -> Result<Markup, ApiError> {
    let named = named(&app, &visitor).await?;
    let matrix = CapabilityMatrix::of_tags(named.iter().flat_map(|one| one.tags.iter().map(String::as_str)));
    let exercised: Vec<_> =
        named.iter().map(|one| Exercised { spec: &one.spec, tags: &one.tags, passed: one.passed }).collect();
    let coverage = Coverage::of(&matrix, &exercised);
    let body = html! {
        nav.crumbs aria-label="Where this is" { a href="/specs" { "Specs" } " / " span { "Coverage" } }
        h1 { "Coverage" }
        @if coverage.total == 0 {
            div.empty { p { "No spec names a capability. " code { "capabilities: [refund.once]" } " in a spec does." } }
        } @else {
            p.lead { (coverage.summary()) " are shown by the newest run of a spec." }
            @for (group, capabilities) in coverage.groups() { (section(group, &capabilities)) }
        }
    };
    Ok(Frame { title: "Coverage", tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

/// The specs that the visitor sees, with the capabilities of their newest version.
async fn named(app: &App, visitor: &Visitor) -> Result<Vec<Named>, ApiError> {
    let listed = app.store.spec_versions(visitor.caller.sees(), Page { after: None, most: SPECS }).await?;
    let names: Vec<_> = listed.items.iter().map(name).collect();
    let newest = app.store.newest_of_specs(&names).await?;
    let verdicts: HashMap<(&str, &str), _> = newest
        .iter()
        .filter_map(|past| {
            let experiment = &past.experiment;
            Some(((experiment.owner.as_str(), experiment.spec.spec_id.as_str()), past.run.as_ref()?.verdict))
        })
        .collect();
    let mut named = Vec::new();
    for stored in &listed.items {
        let content = app.store.spec(&stored.version.digest).await?;
        let Some(spec) = load(&content.text, bundle_of(&content).as_ref()).spec else { continue };
        let passed = verdicts.get(&name(stored)).copied().flatten() == Some(ExperimentVerdict::Pass);
        let tags = spec.capabilities.iter().map(ToString::to_string).collect();
        named.push(Named { spec: stored.version.spec_id.clone(), tags, passed });
    }
    Ok(named)
}

/// What a spec is called: whose it is, and its id.
fn name(stored: &StoredSpecVersion) -> (&str, &str) {
    (&stored.owner, &stored.version.spec_id)
}

/// A group, with a tile for each of its capabilities.
fn section(group: &str, capabilities: &[&CapabilityCoverage]) -> Markup {
    let covered = capabilities.iter().filter(|one| one.state == CapabilityState::Covered).count();
    html! {
        section {
            h2 {
                @if group.is_empty() { "Others" } @else { (untrusted_html::line(group, 60)) }
                " " span.quiet { (covered) " of " (capabilities.len()) }
            }
            ul.capabilities { @for one in capabilities { (tile(one)) } }
        }
    }
}

fn tile(one: &CapabilityCoverage) -> Markup {
    let (class, sign) = match one.state {
        CapabilityState::Covered => ("pass", "✓"),
        CapabilityState::Failing => ("fail", "✗"),
        CapabilityState::Untested => ("waiting", "–"),
    };
    let specs = one.passed_in.iter().chain(&one.failed_in);
    html! {
        li.(class) {
            p { span.sign.(class) aria-hidden="true" { (sign) } " " strong { (untrusted_html::line(&one.id, 100)) } }
            p.quiet {
                (one.state.word()) ": "
                @for (index, spec) in specs.take(5).enumerate() {
                    @if index > 0 { ", " }
                    a href={ "/specs/" (escaped(spec)) } { (untrusted_html::line(spec, 60)) }
                }
            }
        }
    }
}
