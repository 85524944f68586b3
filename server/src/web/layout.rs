//! The layout of every page: its head, the navigation, and the visitor.

use maud::{DOCTYPE, Markup, html};
use store::Scope;

use super::assets::address;
use super::session::Visitor;

/// Where a page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    /// The history.
    Experiments,
    /// Specs.
    Specs,
    /// Two side by side.
    Compare,
    /// Something new.
    Submit,
    /// Calls that wait for a person.
    Approvals,
    /// The workers.
    Workers,
    /// Nowhere.
    None,
}

/// Where each tab leads, and what it is called.
const TABS: [(Tab, &str, &str); 6] = [
    (Tab::Experiments, "/experiments", "Experiments"),
    (Tab::Specs, "/specs", "Specs"),
    (Tab::Compare, "/compare", "Compare"),
    (Tab::Submit, "/submit", "Submit"),
    (Tab::Approvals, "/approvals", "Approvals"),
    (Tab::Workers, "/workers", "Workers"),
];

/// A page without its content.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// Its title in the browser.
    pub(super) title: &'a str,
    /// Where it belongs.
    pub(super) tab: Tab,
    /// The visitor.
    pub(super) visitor: Option<&'a Visitor>,
}

impl Frame<'_> {
    /// The page around this content.
    pub(super) fn around(&self, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (super::untrusted_html::line(self.title, 120)) " · Touchstone" }
                    link rel="icon" type="image/svg+xml" href=(address("icon.svg"));
                    link rel="stylesheet" href=(address("style.css"));
                    script src=(address("page.js")) defer {}
                }
                body {
                    a.skip href="#content" { "Skip to content" }
                    header.top {
                        a.brand href="/experiments" { (super::assets::stone()) "Touchstone" }
                        @if let Some(visitor) = self.visitor { (self.ways(visitor)) }
                    }
                    main #content tabindex="-1" { (content) }
                    footer.bottom {
                        span { "Touchstone " (env!("CARGO_PKG_VERSION")) }
                        a href="/docs" { "API" }
                        a href="/openapi.json" { "OpenAPI" }
                    }
                }
            }
        }
    }

    fn ways(&self, visitor: &Visitor) -> Markup {
        html! {
            nav.tabs aria-label="Pages" {
                @for (tab, place, name) in TABS {
                    @if tab != Tab::Submit || visitor.may_submit() {
                        a href=(place) aria-current=[(tab == self.tab).then_some("page")] {
                            (name) @if tab == Tab::Approvals { (number_waiting(visitor.waiting)) }
                        }
                    }
                }
                a href="/docs" { "API" }
            }
            @if visitor.signed_in {
                form.who method="post" action="/sign-out" {
                    input type="hidden" name="token" value=(visitor.token);
                    span.quiet { (super::untrusted_html::line(&visitor.caller.owner, 64)) " (" (scope(visitor.caller.scope)) ")" }
                    button type="submit" { "Sign out" }
                }
            }
        }
    }
}

/// The number of calls that wait for a person, beside the name of their page; nothing when none does.
pub(super) fn number_waiting(waiting: u64) -> Markup {
    html! { span #held { @if waiting > 0 { " (" (super::numbers::count(waiting)) span.visually-hidden { " to decide" } ")" } } }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Admin => "admin",
        Scope::Submit => "submits",
        Scope::Read => "reads",
        Scope::Sandbox => "sandbox",
    }
}
