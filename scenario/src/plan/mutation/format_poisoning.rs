//! `format_poisoning`: the prompt inside JSON, XML, Markdown or code, and beside unfilled pieces of templates.

use serde_json::json;

use crate::plan::Chance;

/// Pieces of formats that end or begin where they should not.
const PIECES: [&str; 8] = [
    "</instructions>",
    "```",
    "{{ user.name }}",
    "${INPUT}",
    "<|end|>",
    "{\"answer\": ",
    "<!-- end of request -->",
    "%s %d {0}",
];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way {
        0 => json!({ "role": "user", "content": prompt, "format": null }).to_string(),
        1 => format!("<request><text>{prompt}</text><reply format=\"xml\">"),
        2 => format!("# Request\n\n| field | value |\n|---|---|\n| text | {prompt} |\n\n---"),
        3 => format!("```python\nrequest = \"\"\"{prompt}\"\"\"\n"),
        4 => format!("---\ntitle: null\n---\n> {prompt}\n\n- [ ] done"),
        _ => beside_pieces(prompt, chance),
    }
}

fn beside_pieces(prompt: &str, chance: &mut Chance) -> String {
    let mut piece = || chance.pick(&PIECES).copied().unwrap_or_default();
    let (before, after) = (piece(), piece());
    format!("{before} {prompt} {after}")
}
