//! The names of tools: those of operations, made fit and unique.

use std::collections::HashSet;

use super::Notes;
use super::operation::Operation;

/// Maximum length of the name of a tool.
const LONGEST: usize = 64;

/// The names that are taken.
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// No name but that of the service, which no tool can have.
    pub(super) fn with(service: &str) -> Self {
        Self { taken: HashSet::from([service.to_owned()]) }
    }

    /// A name for the tool of an operation.
    pub(super) fn name(&mut self, operation: &Operation<'_>, notes: &mut Notes) -> String {
        let from_place = || operation.place().replace(['{', '}'], "");
        let wanted = operation.id().map_or_else(|| fit(&from_place().to_lowercase()), fit);
        let wanted = if wanted.is_empty() { fit(&from_place().to_lowercase()) } else { wanted };
        let name = self.unique(&wanted);
        match operation.id() {
            Some(id) if id != name => notes.add(&operation.place(), format!("`{id}` becomes the tool `{name}`")),
            None => notes.add(&operation.place(), format!("it has no `operationId`; the tool is `{name}`")),
            Some(_) => {}
        }
        name
    }

    fn unique(&mut self, wanted: &str) -> String {
        let numbered = |number: usize| {
            let suffix = format!("_{number}");
            format!("{}{suffix}", &wanted[..wanted.len().min(LONGEST - suffix.len())])
        };
        let mut name = wanted.to_owned();
        let mut number = 2;
        while self.taken.contains(&name) {
            name = numbered(number);
            number += 1;
        }
        self.taken.insert(name.clone());
        name
    }
}

/// A text with the characters that names of tools may have.
pub(super) fn fit(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars() {
        match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => name.push(character),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_matches('_');
    name[..name.len().min(LONGEST)].to_owned()
}
