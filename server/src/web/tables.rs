//! Tables that scroll by themselves on a narrow screen, and can be reached with keys.

use maud::{Markup, html};

/// The head of a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Head<'a> {
    /// Of texts.
    Text(&'a str),
    /// Of numbers, which stand below each other at the right.
    Number(&'a str),
}

/// A table with these columns. `rows` are its rows, each with a head of its own.
pub(super) fn table(name: &str, class: &str, heads: &[Head<'_>], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table class=(class) {
                thead { tr { @for head in heads { @match head {
                    Head::Text(text) => th scope="col" { (text) },
                    Head::Number(text) => th.number scope="col" { (text) },
                } } } }
                tbody { (rows) }
            }
        }
    }
}
