//! Tables on a terminal, which all look alike.

use comfy_table::{Table, presets};

/// A table with these heads and no rows yet.
pub(crate) fn table<'a>(heads: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(heads);
    table
}
