//! The calls that a fault of a container is about.

use globset::{GlobBuilder, GlobMatcher};

use crate::plan::glob_of_wildcards;
use crate::spec::sections::{ServiceTarget, StatementKind};

/// The services and statements that a rule is about, ready to be matched.
#[derive(Debug, Clone)]
pub struct ServiceMatcher {
    service: GlobMatcher,
    statement: Option<Vec<StatementKind>>,
    table: Option<String>,
}

/// Statements that a client sends at once, as one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementCall {
    /// The statements, in their order.
    pub parts: Vec<StatementPart>,
    /// True when they commit something.
    pub commits: bool,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementPart {
    /// Its kind.
    pub kind: StatementKind,
    /// The tables that it names, with their schema where it names one; for a commit, those that were written to.
    pub tables: Vec<String>,
}

impl ServiceMatcher {
    /// The calls that a target is about; `None` when its glob cannot be compiled, which validation has refused.
    #[must_use]
    pub fn new(target: &ServiceTarget) -> Option<Self> {
        let glob = GlobBuilder::new(&glob_of_wildcards(target.service.as_str())).backslash_escape(true).build();
        Some(Self {
            service: glob.ok()?.compile_matcher(),
            statement: target.statement.as_ref().map(|kinds| kinds.iter().copied().collect()),
            table: target.table.as_ref().map(|table| table.to_lowercase()),
        })
    }

    /// Matches a service.
    #[must_use]
    pub fn is_about(&self, service: &str) -> bool {
        self.service.is_match(service)
    }

    /// Matches a statement.
    #[must_use]
    pub fn takes(&self, part: &StatementPart) -> bool {
        let is_kind = self.statement.as_ref().is_none_or(|kinds| kinds.contains(&part.kind));
        is_kind && self.table.as_ref().is_none_or(|table| part.tables.iter().any(|named| is_table(named, table)))
    }
}

/// Returns true if a statement that names `named` means the table `wanted`: a schema counts where both have one.
fn is_table(named: &str, wanted: &str) -> bool {
    let named = named.to_lowercase();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    named == wanted || (!(named.contains('.') && wanted.contains('.')) && last(&named) == last(wanted))
}

impl StatementCall {
    /// The call in words: `update orders`.
    #[must_use]
    pub fn words(&self) -> String {
        let Some(part) = self.parts.iter().find(|part| part.kind.is_write()).or(self.parts.first()) else {
            return StatementKind::Other.to_string();
        };
        match part.tables.first().filter(|_| part.kind != StatementKind::Commit) {
            Some(table) => format!("{} {table}", part.kind),
            None => part.kind.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ServiceMatcher, StatementCall, StatementPart};
    use crate::checks::testing::read;
    use crate::spec::sections::{ServiceTarget, StatementKind};

    fn takes(target: &str, kind: StatementKind, tables: &[&str]) -> bool {
        let target: ServiceTarget = read(&format!("{{service: db, {target}}}"));
        let part = StatementPart { kind, tables: tables.iter().map(|table| (*table).to_owned()).collect() };
        ServiceMatcher::new(&target).expect("a matcher").takes(&part)
    }

    #[test]
    fn a_statement_is_matched_by_kind_and_table() {
        let update = StatementKind::Update;
        for all in ["statement: [update]", "statement: [insert, update]", "table: Orders", "table: shop.orders"] {
            assert!(takes(all, update, &["customers", "orders"]), "{all}");
        }
        for none in ["statement: [select]", "table: order", "table: orders, statement: [delete]"] {
            assert!(!takes(none, update, &["orders"]), "{none}");
        }
        assert!(takes("table: orders", update, &["shop.orders"]) && !takes("table: a.orders", update, &["b.orders"]));
    }

    #[test]
    fn a_service_is_a_name_or_a_glob() {
        let is_about = |glob: &str| {
            let target: ServiceTarget = read(&format!("{{service: '{glob}'}}"));
            ServiceMatcher::new(&target).expect("a matcher").is_about("db-main")
        };
        assert!(is_about("db-main") && is_about("*") && is_about("db-*") && !is_about("db"));
    }

    #[test]
    fn a_call_is_named_by_its_first_write() {
        let part =
            |kind, table: &str| StatementPart { kind, tables: table.split_whitespace().map(str::to_owned).collect() };
        let call = |parts: Vec<StatementPart>| StatementCall { parts, commits: false }.words();
        assert_eq!(call(vec![part(StatementKind::Begin, ""), part(StatementKind::Update, "a b")]), "update a");
        assert_eq!(call(vec![part(StatementKind::Commit, "a")]), "commit");
        assert_eq!(call(Vec::new()), "other");
    }
}
