//! `sql`: does a query return the expected value?

use super::compare::{Comparison, Mismatch};
use super::{Case, unanswered};
use crate::evidence::{Answer, Probe, SqlAnswer};
use crate::plan::Values;
use crate::spec::code::Code;
use crate::spec::section::{Joined, section};
use crate::spec::types::{Filled, ServiceName};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Runs a query in a Postgres or MySQL service, in a transaction that cannot write, and compares the first column
    /// of the first row. A query that returns no row fails; so does one that the database refuses, because the agent may
    /// have dropped the table. Values are compared as the database writes them: see `comparison`.
    ///
    /// ```yaml
    /// check:
    ///   type: sql
    ///   service: db
    ///   query: SELECT count(*) FROM orders WHERE state = 'refunded'
    ///   equals: 1
    /// ```
    pub struct SqlQuery {
        /// A Postgres or MySQL service.
        service: ServiceName,
        /// The query.
        query: Filled,
    }
}

/// A query, and what its first value must be.
pub type Sql = Joined<SqlQuery, Comparison>;

pub(super) fn validate(check: &Sql, rules: &mut Rules<'_>) {
    let name = &check.own.service;
    if rules.at("service").service(name).is_some_and(|service| !service.may_be_database()) {
        let message = format!("the service `{name}` is not a database that can be asked with SQL");
        let help = "use an image of Postgres, MySQL or MariaDB; when its name does not tell, add `database: postgres` or `database: mysql`";
        rules.at("service").report(Code::WrongServiceKind, message, Some(help));
    }
    check.shared.validate(rules, "a `sql` check");
}

pub(super) fn probes(check: &Sql, values: &Values<'_>) -> Vec<Probe> {
    vec![Probe::Sql { service: check.own.service.to_string(), query: check.own.query.render(values) }]
}

pub(super) fn judge(check: &Sql, case: &Case<'_>) -> Verdict {
    let [Answer::Sql(answer)] = case.answers else {
        return unanswered();
    };
    let service = &check.own.service;
    match answer {
        SqlAnswer::NoRow => Verdict::failed(format!("expected a value from `{service}`, found no row")),
        SqlAnswer::Refused(message) => Verdict::failed(format!("`{service}` refused the query: {message}")),
        SqlAnswer::Value(found) => match check.shared.holds(found, case.values) {
            Ok(()) => Verdict::passed(),
            Err(Mismatch::Found(message)) => Verdict::failed(format!("{message} in `{service}`")),
            Err(Mismatch::Broken(message)) => Verdict::errored(ErrorCause::UnusableCheck, message),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, failure, sql};
    use crate::evidence::{Answer, Datum, SqlAnswer};
    use crate::number::Number;

    const SPEC: &str = "{type: sql, service: db, query: SELECT 1, equals: 0}";

    #[test]
    fn the_first_value_is_compared() {
        assert!(check(SPEC, [sql(Datum::Number(Number::parse("0").expect("a number")))]).is_passed());
        insta::assert_snapshot!(failure(SPEC, [sql(Datum::Number(Number::parse("2").expect("a number")))]), @"expected 0, found 2 in `db`");
        insta::assert_snapshot!(failure(SPEC, [sql(Datum::Null)]), @"expected 0, found NULL in `db`");
    }

    #[test]
    fn no_row_is_not_null() {
        let spec = "{type: sql, service: db, query: SELECT 1, equals: null}";
        assert!(check(spec, [sql(Datum::Null)]).is_passed());
        insta::assert_snapshot!(failure(spec, [Answer::Sql(SqlAnswer::NoRow)]), @"expected a value from `db`, found no row");
    }

    #[test]
    fn a_dropped_table_is_the_agents_failure() {
        let refused = Answer::Sql(SqlAnswer::Refused("relation \"orders\" does not exist".to_owned()));
        insta::assert_snapshot!(failure(SPEC, [refused]), @r#"`db` refused the query: relation "orders" does not exist"#);
        let dead = Answer::Unavailable {
            reason: "the database `db` was ready before the agent started and does not answer now".to_owned(),
            limit: None,
        };
        insta::assert_snapshot!(failure(SPEC, [dead]), @"the database `db` was ready before the agent started and does not answer now");
    }
}
