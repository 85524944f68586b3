//! Placeholders of Flakestorm, and texts in which ours must mean nothing.

use super::Import;

/// A text in which no template of ours is read.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "\\{{")
}

/// A text in which `${NAME}` becomes a secret of that name.
pub(super) fn with_secrets(text: &str, import: &mut Import) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        written.push_str(&literal(before));
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, behind)) => {
                import.secrets.insert(name.to_owned());
                written.push_str(&format!("{{{{ secrets.{name} }}}}"));
                rest = behind;
            }
            None => {
                written.push_str("${");
                rest = after;
            }
        }
    }
    written + &literal(rest)
}

/// A text in which `{prompt}` becomes the task's prompt.
pub(super) fn with_prompt(text: &str) -> String {
    text.split("{prompt}").map(literal).collect::<Vec<_>>().join("{{ task.prompt }}")
}

fn is_name(text: &str) -> bool {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    text.starts_with(is_first) && text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
}

/// The parts of a text that have only such characters.
pub(super) fn words(text: &str, is_kept: impl Fn(char) -> bool) -> Vec<&str> {
    text.split(|one| !is_kept(one)).filter(|word| !word.is_empty()).collect()
}

/// Returns a name of at most `most` characters, with dashes for characters that such names cannot have.
pub(super) fn name(text: &str, most: usize) -> String {
    let joined = words(text, |one| one.is_ascii_alphanumeric() || one == '_').join("-");
    let cut: String = joined.chars().take(most).collect();
    cut.trim_matches(['-', '_']).to_owned()
}
