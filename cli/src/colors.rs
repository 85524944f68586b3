//! Colours for the words that say how something ended.
//!
//! Only words at the beginning of our own lines are coloured. Foreign text never begins a line, so it cannot pretend.

use console::Style;

/// Lists the words with their colours, each with the text after it. A `pass` has two blanks, unlike a pass rate.
fn words() -> [(&'static str, Style); 12] {
    let (good, bad, unclear) = (Style::new().green(), Style::new().red().bold(), Style::new().yellow());
    [
        ("pass  ", good.clone()),
        ("FAIL ", bad.clone()),
        ("FLAKY ", unclear.clone()),
        ("ERROR ", unclear.clone()),
        ("regressed ", bad.clone()),
        ("insufficient evidence ", unclear.clone()),
        ("improved ", good),
        ("miss  ", unclear.clone()),
        ("CAVEAT ", unclear.clone()),
        ("REMOVED ", bad.clone()),
        ("different world ", unclear.clone()),
        ("retry ", unclear),
    ]
}

/// A text with its words coloured.
pub(crate) fn painted(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn line(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    let indent = &line[..line.len() - rest.len()];
    // Deeper lines are no verdicts of ours.
    if indent.len() > 2 {
        return line.to_owned();
    }
    match words().iter().find(|(word, _)| rest.starts_with(word)) {
        Some((word, style)) => {
            let shown = style.clone().force_styling(true).apply_to(word.trim_end());
            format!("{indent}{shown}{}", &rest[word.trim_end().len()..])
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn only_our_own_words_at_the_beginning_are_coloured() {
        let text = "FAIL x/y: score 0\n  pass  there (1.00)\n        | FAIL said the agent\npass rate 0.5\npassable";
        let shown = painted(text);
        assert_eq!(shown.matches('\u{1b}').count(), 5, "{shown:?}");
        assert!(
            shown.starts_with("\u{1b}[31m\u{1b}[1mFAIL\u{1b}[0m x/y")
                && shown.ends_with("| FAIL said the agent\npass rate 0.5\npassable"),
            "{shown:?}"
        );
    }
}
