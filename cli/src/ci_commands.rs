//! Text that a CI system would take for a command.
//!
//! Runners read what a step prints. GitHub's takes a line that begins with `::` for a command, and `##[` anywhere in one;
//! Azure's `##vso[`, `TeamCity`'s `##teamcity[`. An agent's output could so mask words of the log, end the annotations that
//! follow it, or set variables of later steps. Where a CI system listens, such beginnings are broken up.

use std::borrow::Cow;
use std::env;

/// Variables that CI systems set.
const LISTENERS: [&str; 4] = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];
/// Words that make a command of the rest of a line when they follow `##`, anywhere in the line.
const BEHIND_HASHES: [&str; 3] = ["[", "vso[", "teamcity["];
/// Prefix that makes a command of a line.
const AT_BEGINNING: &str = "::";

/// The output format of a text, which determines how a character is escaped in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// JSON, or lines of it.
    Json,
    /// XML.
    Xml,
    /// Commands of ours, with untrusted text escaped in them.
    Commands,
}

impl Form {
    /// A character that is not there as itself.
    fn otherwise(self, character: char) -> String {
        let code = u32::from(character);
        match self {
            Self::Text => format!("<U+{code:04X}>"),
            // Between a key and its value, a colon is no part of a text; it begins no line.
            Self::Json if character == ':' => ":".to_owned(),
            Self::Json => format!("\\u{code:04x}"),
            Self::Xml => format!("&#{code};"),
            Self::Commands => character.to_string(),
        }
    }
}

/// Returns true if a CI system reads the output.
pub(crate) fn is_listening() -> bool {
    LISTENERS.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false"))
}

/// Returns the text without anything that a CI system takes for a command. JSON and XML keep the same values.
pub(crate) fn harmless(text: &str, form: Form) -> Cow<'_, str> {
    if form == Form::Commands || !text.contains(['#', ':']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(|one| line(one, form)).collect::<Vec<_>>().join("\n"))
}

fn line(line: &str, form: Form) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut before = ' ';
    for (at, character) in line.char_indices() {
        let after = &line[at + character.len_utf8()..];
        let is_command = before == '#' && character == '#' && is_behind_hashes(after);
        if is_command || (is_overlooked(character) && (matches!(before, '#' | ':') || before.is_whitespace())) {
            safe.push_str(&form.otherwise(character));
        } else {
            safe.push(character);
        }
        before = character;
    }
    match safe.trim_start().strip_prefix(AT_BEGINNING) {
        Some(rest) => {
            format!("{}{}:{rest}", &safe[..safe.len() - rest.len() - AT_BEGINNING.len()], form.otherwise(':'))
        }
        None => safe,
    }
}

/// Returns true if a text that follows `##` makes a command of it.
fn is_behind_hashes(text: &str) -> bool {
    let seen = || text.chars().filter(|character| !is_overlooked(*character));
    BEHIND_HASHES.iter().any(|word| seen().take(word.len()).eq(word.chars()))
}

/// Joiners and variation selectors, which comparisons of texts may pass over: `#` and `#` with one between them can be `##`.
fn is_overlooked(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Form, harmless};

    /// Returns true if the runner of GitHub, Azure or `TeamCity` would find a command in a line.
    fn is_command(line: &str) -> bool {
        let line = line.replace(['\u{200d}', '\u{fe0f}'], "");
        line.trim_start().starts_with("::") || ["##[", "##vso[", "##teamcity["].iter().any(|word| line.contains(word))
    }

    #[test]
    fn commands_are_broken_up_and_everything_else_stays() {
        let shown = harmless("a ::b::\n  ::add-mask::x\n| ##[stop-commands]y\n###vso[z]", Form::Text);
        assert_eq!(shown, "a ::b::\n  <U+003A>:add-mask::x\n| #<U+0023>[stop-commands]y\n##<U+0023>vso[z]");
        assert_eq!(harmless("## A heading: 🏴‍☠️ a::b", Form::Text), "## A heading: 🏴‍☠️ a::b");
        assert_eq!(harmless("::error::ours", Form::Commands), "::error::ours");
    }

    proptest! {
        #[test]
        fn no_line_is_a_command_and_no_value_is_lost(text in "(#|\\[|:|vso|\n| |\\\\|x|teamcity|\u{200d}|\u{fe0f}){0,20}") {
            prop_assert!(!harmless(&text, Form::Text).lines().any(is_command));
            let value = json!([text]);
            let written = value.to_string();
            let safe = harmless(&written, Form::Json);
            prop_assert!(!safe.lines().any(is_command));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), value);
            let safe = harmless(&text, Form::Xml).into_owned();
            prop_assert!(!safe.lines().any(is_command));
            prop_assert_eq!(safe.replace("&#35;", "#").replace("&#58;", ":").replace("&#8205;", "\u{200d}").replace("&#65039;", "\u{fe0f}"), text);
        }
    }
}
