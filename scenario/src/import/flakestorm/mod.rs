//! A `flakestorm.yaml` as a spec: what it asks for, in our language, with a note about everything that is not the same.
//!
//! Flakestorm ignores keys that it does not know, here they are noted. Environment variables stay outside: `${NAME}` becomes a
//! secret. Tools that faults or sessions name become mocks, whose answers somebody has to fill in.

mod agent;
mod chaos;
mod checks;
mod error;
mod fields;
mod mutations;
mod placeholders;
mod replays;
mod scoring;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

pub use error::ImportError;
use fields::Fields;

/// The default image that the agent's command runs in.
pub const BASE: &str = "python:3.11-slim";
/// The keys at the top of the file.
const KEYS: [&str; 13] = [
    "version",
    "agent",
    "model",
    "mutations",
    "golden_prompts",
    "invariants",
    "output",
    "advanced",
    "chaos",
    "contract",
    "chaos_matrix",
    "replays",
    "scoring",
];

/// The options for everything that the file does not say.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// A command that does the agent's work.
    pub agent_command: Option<String>,
    /// The image of the agent's server.
    pub agent_image: Option<String>,
    /// The image that a command runs in.
    pub base: Option<String>,
}

/// A spec that was made from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The id of the spec.
    pub id: String,
    /// The text of the spec.
    pub spec: String,
    /// Files beside it, by their paths.
    pub files: Vec<(String, String)>,
    /// Notes about everything that is not the same, or was left out.
    pub notes: Vec<String>,
}

/// The state of a conversion.
#[derive(Debug, Default)]
struct Import {
    notes: Vec<String>,
    secrets: BTreeSet<String>,
    /// The services that faults and sessions name.
    tools: BTreeSet<String>,
    /// True when there are faults or attacks that need some service.
    needs_service: bool,
    /// True when there are faults of the model.
    needs_model: bool,
    files: Vec<(String, String)>,
}

impl Import {
    fn note(&mut self, place: &str, text: impl AsRef<str>) {
        self.notes.push(format!("`{place}`: {}", text.as_ref()));
    }
}

/// Builds a spec from the text of a `flakestorm.yaml`.
///
/// # Errors
///
/// It is no such file, or has something without a counterpart here.
pub fn import(text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    let document: Json = serde_yaml::from_str(text).map_err(ImportError::Yaml)?;
    let mut import = Import::default();
    let file = Fields::new(&document, "").ok_or(ImportError::NoMap)?;
    file.note_unknown(&KEYS, &mut import);
    let agent = agent::agent(&file, options, &mut import)?;
    let task = task(&file, &mut import)?;
    let mut spec = Map::new();
    let id = id(&file);
    spec.insert("version".to_owned(), json!(1));
    spec.insert("id".to_owned(), json!(id));
    if agent["type"] == "http" {
        // Only an engine can start the image of a server.
        spec.insert("needs".to_owned(), json!(["docker"]));
    }
    spec.insert("base".to_owned(), json!(options.base.as_deref().unwrap_or(BASE)));
    spec.insert("task".to_owned(), task);
    spec.insert("agent".to_owned(), agent);
    let rest = rest(&file, &mut import);
    add_world(&mut spec, &mut import);
    spec.extend(rest);
    if !spec.contains_key("invariants") && !spec.contains_key("contract") {
        return Err(ImportError::NothingToJudge);
    }
    let spec = written(&Json::Object(spec), &import.notes)?;
    Ok(Imported { id, spec, files: import.files, notes: import.notes })
}

/// The parts that need nothing of each other, in the order in which they are written.
fn rest(file: &Fields<'_>, import: &mut Import) -> Vec<(String, Json)> {
    let world = chaos::worlds(file, import);
    let parts = [
        ("invariants", checks::invariants(file, import)),
        ("contract", checks::contract(file, import)),
        ("mutations", mutations::mutations(file, import)),
        ("replays", replays::replays(file, import)),
        ("scoring", scoring::scoring(file, import)),
        ("determinism", determinism(file, import)),
    ];
    for (key, why) in [
        ("output", "reports are chosen on the command line: `touchstone run --help`"),
        ("model", "the model that writes mutations is configured on this machine"),
    ] {
        if file.get(key).is_some() {
            import.note(key, format!("left out: {why}"));
        }
    }
    let parts = parts.into_iter().filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)));
    world.into_iter().chain(parts).collect()
}

/// The prompts.
fn task(file: &Fields<'_>, import: &mut Import) -> Result<Json, ImportError> {
    let prompts = file.texts("golden_prompts", import);
    let prompts: Vec<_> = prompts.iter().map(|prompt| placeholders::literal(prompt)).collect();
    match prompts.as_slice() {
        [] => Err(ImportError::NoPrompts),
        [only] => Ok(json!({ "prompt": only })),
        several => Ok(json!({ "prompts": several })),
    }
}

/// Services, secrets and the model that the rest of the spec names.
fn add_world(spec: &mut Map<String, Json>, import: &mut Import) {
    if import.needs_service && import.tools.is_empty() {
        import.tools.insert("tools".to_owned());
    }
    if !import.tools.is_empty() {
        let mock = |name: &String| {
            json!({ "name": name, "type": "http_mock", "record": true, "ports": [80],
                "routes": [{ "path": "/*", "response": {} }] })
        };
        spec.insert("services".to_owned(), import.tools.iter().map(mock).collect());
        let names = import.tools.iter().cloned().collect::<Vec<_>>().join(", ");
        import.note(
            "services",
            format!("new: mocks of the tools ({names}), which answer `{{}}`: write what they should answer"),
        );
    }
    if import.needs_model {
        spec.insert("model".to_owned(), json!({ "mode": "proxy", "upstream": { "alias": "agent" } }));
        import.note(
            "model",
            "new, since faults of the model happen between it and the agent: configure the provider `agent` on this machine, \
             or write a script (`touchstone explain model`)",
        );
    }
    if !import.secrets.is_empty() {
        spec.insert("secrets".to_owned(), import.secrets.iter().cloned().collect());
    }
}

fn determinism(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let advanced = file.section("advanced")?;
    advanced.note_unknown(&["concurrency", "retries", "seed"], import);
    for (key, why) in
        [("concurrency", "use `touchstone run --parallel`"), ("retries", "the agent's own retries are put to the test")]
    {
        if advanced.get(key).is_some() {
            import.note(&advanced.place(key), format!("left out: {why}"));
        }
    }
    let seed = advanced.get("seed").filter(|seed| seed.is_u64())?;
    Some(json!({ "seed": seed }))
}

/// An id: that of the contract, in small letters.
fn id(file: &Fields<'_>) -> String {
    let name = file.section("contract").and_then(|contract| contract.text("name").map(ToOwned::to_owned));
    let words = placeholders::words(name.as_deref().unwrap_or_default(), |one| one.is_ascii_alphanumeric());
    let id: Vec<_> =
        words.iter().map(|word| word.to_ascii_lowercase()).filter(|word| word.len() <= 64).take(8).collect();
    if id.is_empty() { "flakestorm".to_owned() } else { id.join("-") }
}

/// The spec as YAML, with the notes at its top.
fn written(spec: &Json, notes: &[String]) -> Result<String, ImportError> {
    let mut text = "# Made from a flakestorm.yaml by `touchstone import flakestorm`.\n".to_owned();
    for note in notes {
        // A line break would end the comment.
        let _ = writeln!(text, "# {}", note.replace(['\n', '\r'], " "));
    }
    text.push_str(&serde_yaml::to_string(spec).map_err(ImportError::Write)?);
    Ok(text)
}
