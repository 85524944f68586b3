//! Mutations. Those that a model writes need the name of one.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::fields::Fields;
use crate::spec::sections::MutationKind;

/// The alias of the model that writes mutations.
const WRITER: &str = "mutations";

pub(super) fn mutations(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let mutations = file.section("mutations")?;
    mutations.note_unknown(&["count", "types", "weights", "custom_templates"], import);
    if mutations.get("weights").is_some() {
        import.note(
            &mutations.place("weights"),
            "left out: every kind has the weight that Flakestorm gives it by default",
        );
    }
    if mutations.get("custom_templates").is_some() {
        import.note(&mutations.place("custom_templates"), "left out: Flakestorm gives them to a model; write texts with `{{ task.prompt }}` into `mutations.templates`");
    }
    let mut written: Map<String, Json> = mutations.only(&["count"]);
    let asked = mutations.texts("types", import);
    let types = types(&asked, &mutations, import);
    match (asked.is_empty(), types.is_empty()) {
        (true, _) => {}
        (false, true) => {
            import.note("mutations", "left out: none of its types is there");
            return None;
        }
        (false, false) => drop(written.insert("types".to_owned(), json!(types))),
    }
    if MutationKind::WITH_MODEL.iter().any(|kind| types.contains(&kind.word())) {
        written.insert("model".to_owned(), json!(WRITER));
        let what = format!("new: configure the provider `{WRITER}` on this machine for the kinds that a model writes");
        import.note(&mutations.place("model"), what);
    }
    Some(Json::Object(written))
}

/// Every kind.
fn all() -> impl Iterator<Item = MutationKind> {
    MutationKind::WITHOUT_MODEL.into_iter().chain(MutationKind::WITH_MODEL)
}

/// Converts the words to known kinds, in their order, each once.
fn types(asked: &[&str], mutations: &Fields<'_>, import: &mut Import) -> Vec<&'static str> {
    let mut types: Vec<&'static str> = Vec::new();
    for word in asked {
        let kinds: Vec<_> = match *word {
            "token_manipulation" => vec![MutationKind::Homoglyphs, MutationKind::Whitespace],
            other => all().filter(|kind| kind.word() == other).collect(),
        };
        if kinds.is_empty() {
            import.note(&mutations.place("types"), format!("`{word}` is left out: there is no such kind"));
        }
        types.extend(kinds.into_iter().map(MutationKind::word));
    }
    let mut seen = std::collections::BTreeSet::new();
    types.retain(|kind| seen.insert(*kind));
    types
}
