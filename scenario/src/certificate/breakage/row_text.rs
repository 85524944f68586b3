//! Rows as databases write them, taken apart into values.

/// The values of a row: of Postgres `(1,"a, b",)`, of MySQL and MariaDB `'1', 'a, b', NULL`. `None` is no value.
pub(super) fn values(row: &str) -> Vec<Option<String>> {
    match row.strip_prefix('(').and_then(|row| row.strip_suffix(')')) {
        Some(record) => of_record(record),
        None => of_list(row),
    }
}

/// The values of a record of Postgres, without its brackets.
fn of_record(record: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut value: Option<String> = None;
    let mut quoted = false;
    let mut characters = record.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                value.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                value.get_or_insert_default();
            }
            '\\' => value.get_or_insert_default().extend(characters.next()),
            ',' if !quoted => values.push(value.take()),
            other => value.get_or_insert_default().push(other),
        }
    }
    values.push(value);
    values
}

/// The values of a list of quoted values.
fn of_list(list: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut value = String::new();
    let (mut quoted, mut was_quoted) = (false, false);
    let mut characters = list.chars();
    let finish = |value: &mut String, was_quoted: bool| {
        let text = std::mem::take(value);
        (was_quoted || text != "NULL").then_some(text)
    };
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                quoted = !quoted;
                was_quoted = true;
            }
            '\\' if quoted => value.extend(characters.next()),
            ',' if !quoted => values.push(finish(&mut value, std::mem::take(&mut was_quoted))),
            ' ' if !quoted => {}
            other => value.push(other),
        }
    }
    values.push(finish(&mut value, was_quoted));
    values
}
