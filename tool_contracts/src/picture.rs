//! Phases and tools as a picture: Mermaid text, or a simple SVG.

use std::fmt::Write as _;

use crate::compile::Compiled;
use crate::compile::graph::Graph;

/// Width of the column of phases and of that of tools, in pixels.
const COLUMN: usize = 260;
/// Height of a row, in pixels.
const ROW: usize = 46;

/// A line from one phase to another, with the tools that go along it.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    tools: Vec<&'a str>,
}

/// The state diagram of a set as Mermaid text.
#[must_use]
pub fn mermaid(set: &Compiled) -> String {
    let phases = &set.session.phases;
    let mut text = "stateDiagram-v2\n".to_owned();
    if let Some(initial) = phases.initial() {
        let _ = writeln!(text, "    [*] --> {}", word(initial));
    }
    for edge in edges(set) {
        let tools = if edge.tools.is_empty() { "no tool".to_owned() } else { edge.tools.join(", ") };
        let _ = writeln!(text, "    {} --> {}: {}", word(edge.from), word(edge.to), word(&tools));
    }
    for phase in phases.list.iter().filter(|phase| phase.is_terminal) {
        let _ = writeln!(text, "    {} --> [*]", word(&phase.name.name));
    }
    for (tool, place) in staying(set) {
        let _ = writeln!(text, "    %% {}: {}", word(tool), word(&place));
    }
    text
}

/// Names without the signs that mean something in Mermaid.
fn word(name: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | ',' | ' ' | '.');
    name.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).collect()
}

fn edges(set: &Compiled) -> Vec<Edge<'_>> {
    let performs = |tool: &str, from: &str, to: &str| {
        let transitions = set.tools.get(tool).and_then(|tool| tool.transitions.as_ref());
        transitions.is_some_and(|transitions| {
            let valid = transitions.valid_in_phases.as_ref();
            valid.is_none_or(|valid| valid.iter().any(|one| one.name == from))
                && transitions.advances_to.as_ref().is_some_and(|target| target.name == to)
        })
    };
    let declared = set.session.phases.transitions.iter();
    let declared = declared.flat_map(|(from, targets)| targets.iter().map(move |to| (from.as_str(), to.name.as_str())));
    let edge =
        |(from, to)| Edge { from, to, tools: set.tool_names().filter(|tool| performs(tool, from, to)).collect() };
    declared.map(edge).collect()
}

/// The tools that change no phase, each with where it may be called.
fn staying(set: &Compiled) -> Vec<(&str, String)> {
    let live = Graph::new(set).live;
    let stays = set
        .tools
        .values()
        .filter(|tool| tool.transitions.as_ref().is_none_or(|transitions| transitions.advances_to.is_none()));
    let place = |tool: &crate::read::tool::Tool| {
        let valid = tool.transitions.as_ref().and_then(|transitions| transitions.valid_in_phases.as_ref());
        let valid = valid.map(|valid| valid.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "));
        match valid {
            _ if !live.contains(tool.name.as_str()) => "never".to_owned(),
            Some(valid) => format!("in {valid}"),
            None => "in every phase".to_owned(),
        }
    };
    stays.map(|tool| (tool.name.as_str(), place(tool))).collect()
}

/// The same as an SVG: phases one below the other, and beside each the tools that leave it.
#[must_use]
pub fn svg(set: &Compiled) -> String {
    let edges = edges(set);
    let mut body = String::new();
    let mut row = 0;
    for phase in &set.session.phases.list {
        let name = &phase.name.name;
        let mark = match (phase.is_initial, phase.is_terminal) {
            (true, _) => " (initial)",
            (_, true) => " (terminal)",
            _ => "",
        };
        let y = 20 + row * ROW;
        let _ = write!(
            body,
            "<rect x=\"20\" y=\"{y}\" width=\"{}\" height=\"32\" rx=\"6\" fill=\"#eef3fb\" stroke=\"#35507a\"/>\
             <text x=\"32\" y=\"{}\">{}{mark}</text>",
            COLUMN - 40,
            y + 21,
            escaped(name)
        );
        let leaving: Vec<_> = edges.iter().filter(|edge| edge.from == name).collect();
        for edge in &leaving {
            let y = 20 + row * ROW;
            let tools = if edge.tools.is_empty() { "no tool".to_owned() } else { edge.tools.join(", ") };
            let _ = write!(
                body,
                "<text x=\"{COLUMN}\" y=\"{}\">→ {}: {}</text>",
                y + 21,
                escaped(edge.to),
                escaped(&tools)
            );
            row += 1;
        }
        row += usize::from(leaving.is_empty());
    }
    for (tool, place) in staying(set) {
        let _ = write!(body, "<text x=\"20\" y=\"{}\">{}: {}</text>", 41 + row * ROW, escaped(tool), escaped(&place));
        row += 1;
    }
    let height = 40 + row * ROW;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"14\">{body}</svg>\n",
        COLUMN * 3
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
