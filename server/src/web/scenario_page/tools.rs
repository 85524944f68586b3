//! The tools of a scenario: what was offered to the agent, by which servers and to which clients. Calls are in the story.

use maud::{Markup, html};
use scenario::evidence::{DefinitionChange, Evidence, ToolDefinition, ToolRecord, ToolServerRecord};
use scenario::untrusted;

use super::Shown;
use crate::web::numbers::{count, count_noun, duration};
use crate::web::tables::{Head, table};

/// The most tools that a page shows.
const MOST: usize = 200;

const TOOLS: [Head<'_>; 4] =
    [Head::Text("Tool"), Head::Text("From"), Head::Number("Calls"), Head::Text("Definition (SHA-256)")];

const SERVERS: [Head<'_>; 5] = [
    Head::Text("Server"),
    Head::Text("Program"),
    Head::Text("Protocol"),
    Head::Number("Ready after"),
    Head::Text("Hidden tools"),
];

/// The tools that the gateway offered; nothing for a spec without any.
pub(super) fn section(shown: &Shown) -> Markup {
    let evidence = shown.evidence.as_ref();
    let known = evidence.and_then(|evidence| Some((evidence, evidence.tools.as_ref()?)));
    html! { @if let Some((evidence, tools)) = known {
        section aria-labelledby="tools" {
            h2 #tools { "Tools" }
            p.quiet {
                (count_noun(tools.calls, "call")) ", " (count_noun(tools.lists, "list")) " of tools"
                @for client in &tools.clients {
                    ", client " (untrusted::line(&client.name, 60)) " " (untrusted::line(&client.version, 30)) " (MCP " (client.protocol) ")"
                }
            }
            (offered(evidence, tools))
            @for change in &tools.changes { (changed(change)) }
            @if !tools.servers.is_empty() { (servers(&tools.servers)) }
        }
    } }
}

fn offered(evidence: &Evidence, tools: &ToolRecord) -> Markup {
    let calls = evidence.calls();
    let calls_of =
        |tool: &str| calls.iter().filter(|call| call.execution.is_some() && call.seen.tool == tool).count() as u64;
    let row = |tool: &ToolDefinition| {
        html! {
            tr {
                th scope="row" { code { (untrusted::line(&tool.name, 100)) } }
                td { @match &tool.server { Some(server) => (untrusted::line(server, 60)), None => "the spec" } }
                td.number { (count(calls_of(&tool.name))) }
                td { code title=(tool.sha256) { (tool.sha256.get(..12).unwrap_or_default()) } }
            }
        }
    };
    html! {
        (table("Offered", "", &TOOLS, &html! { @for tool in tools.definitions.iter().take(MOST) { (row(tool)) } }))
        @if tools.definitions.len() > MOST { p.quiet { "The first " (MOST) " tools are shown." } }
    }
}

fn changed(change: &DefinitionChange) -> Markup {
    let what = if change.sha256.is_some() { "has another definition" } else { "is gone" };
    let class = if change.injected { "notice" } else { "notice bad" };
    html! {
        p class=(class) {
            code { (untrusted::line(&change.tool, 100)) } " " (what) " since " (duration(change.at_ms))
            @if change.injected { ": a fault of the spec" }
        }
    }
}

fn servers(servers: &[ToolServerRecord]) -> Markup {
    let row = |server: &ToolServerRecord| {
        html! {
            tr {
                th scope="row" { (untrusted::line(&server.name, 60)) }
                td { (untrusted::line(server.program.as_deref().unwrap_or("–"), 100)) }
                td { (untrusted::line(server.protocol.as_deref().unwrap_or("–"), 40)) }
                td.number { (duration(server.ready_ms)) }
                td { (untrusted::line(&server.hidden.join(", "), 300)) }
            }
        }
    };
    html! {
        h3 { "MCP servers" }
        (table("MCP servers", "", &SERVERS, &html! { @for server in servers { (row(server)) } }))
        @for server in servers {
            @if let Some(why) = &server.ended {
                p.notice.bad { (untrusted::line(&server.name, 60)) " ended: " (untrusted::line(why, 300)) }
            }
            @if !server.stderr.is_empty() {
                details { summary { "Errors of " (untrusted::line(&server.name, 60)) } pre { (untrusted::visible(&server.stderr)) } }
            }
        }
    }
}
