//! Lookups of names, in words.

/// Formats a lookup and its answer on one line.
///
/// Names of a sandbox lead to addresses of IPv4 and to nothing else. So a name that is there has none of any other kind of
/// record, whatever address it leads to.
#[must_use]
pub fn lookup(name: &str, kind: &str, leads_to: Option<&str>) -> String {
    let answered = match (leads_to, kind) {
        (None, _) => "there is no such name",
        (Some(address), "A" | "ANY") => address,
        (Some(_), _) => "it has none",
    };
    format!("asked for {kind} of {name}: {answered}")
}

#[cfg(test)]
mod tests {
    use super::lookup;

    #[test]
    fn what_was_answered_is_what_is_told() {
        for (kind, leads_to, expected) in [
            ("A", Some("127.10.0.1"), "asked for A of db: 127.10.0.1"),
            ("ANY", Some("127.10.0.1"), "asked for ANY of db: 127.10.0.1"),
            ("AAAA", Some("127.10.0.1"), "asked for AAAA of db: it has none"),
            ("MX", Some("127.10.0.1"), "asked for MX of db: it has none"),
            ("AAAA", None, "asked for AAAA of db: there is no such name"),
        ] {
            assert_eq!(lookup("db", kind, leads_to), expected);
        }
    }
}
