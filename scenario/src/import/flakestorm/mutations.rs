//! Mutations: kinds that need no model.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::fields::Fields;
use crate::spec::sections::MutationKind;

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
        import.note(&mutations.place("custom_templates"), "left out: write such prompts into `task.prompts`");
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
    Some(Json::Object(written))
}

/// The kinds that are there, in their order, each once.
fn types(asked: &[&str], mutations: &Fields<'_>, import: &mut Import) -> Vec<&'static str> {
    let mut types: Vec<&'static str> = Vec::new();
    for word in asked {
        let kinds: Vec<_> = match *word {
            "token_manipulation" => vec![MutationKind::Homoglyphs, MutationKind::Whitespace],
            other => MutationKind::WITHOUT_MODEL.into_iter().filter(|kind| kind.word() == other).collect(),
        };
        if kinds.is_empty() {
            import.note(
                &mutations.place("types"),
                format!("`{word}` is left out: there is no such kind without a model"),
            );
        }
        types.extend(kinds.into_iter().map(MutationKind::word));
    }
    let mut seen = std::collections::BTreeSet::new();
    types.retain(|kind| seen.insert(*kind));
    types
}
