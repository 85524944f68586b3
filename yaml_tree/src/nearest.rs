//! The known word that is nearest to a misspelt one, and lists of known words for messages.

/// Returns a sentence with the closest of `known` to the written word: did you mean …?
#[must_use]
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(written, known).map(|name| format!("did you mean `{name}`?"))
}

/// Returns the closest of `known` to the written word, when it is close enough to be a slip.
#[must_use]
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE_ENOUGH: f64 = 0.8;
    let lower = written.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// `a`, `a or b`, `a, b or c`, each in backticks.
#[must_use]
pub fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{alternatives, did_you_mean};

    #[test]
    fn a_slip_is_told_apart_from_another_word() {
        assert_eq!(did_you_mean("side_efect", ["tool", "side_effect"]).as_deref(), Some("did you mean `side_effect`?"));
        assert_eq!(did_you_mean("colour", ["tool", "side_effect"]), None);
        assert_eq!(alternatives(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
