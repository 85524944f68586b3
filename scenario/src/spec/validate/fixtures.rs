//! Checks that the files that `fixtures` and `setup.files` name exist.

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{Drift, DriftMode, Fixture};
use crate::spec::types::ServiceName;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut fixtures = rules.at("fixtures");
    for (index, fixture) in spec.fixtures.iter().enumerate() {
        let mut rules = fixtures.index(index);
        match fixture {
            Fixture::GitRepo(_) => {}
            Fixture::Sql(sql) => {
                check_database(&mut rules, &sql.service);
                rules.one_of(&["sql", "path"]);
                if let Some(path) = &sql.path {
                    rules.at("path").needs_file(path.as_str());
                }
            }
            Fixture::Directory(directory) => rules.at("path").needs_file(directory.path.as_str()),
            Fixture::Drift(drift) => {
                check_database(&mut rules, &drift.service);
                check_drift(&mut rules, drift);
            }
        }
    }
    let mut setup = rules.at("setup");
    let mut files = setup.at("files");
    for (index, file) in spec.setup.files.iter().enumerate() {
        let mut rules = files.index(index);
        rules.one_of(&["content", "from"]);
        if let Some(from) = &file.from {
            rules.at("from").needs_file(from.as_str());
        }
    }
}

fn check_database(rules: &mut Rules<'_>, name: &ServiceName) {
    let mut rules = rules.at("service");
    if rules.service(name).is_some_and(|service| !service.may_be_database()) {
        let message = format!("the service `{name}` is not a database that can be asked with SQL");
        rules.report(
            Code::WrongServiceKind,
            message,
            Some("when the image's name does not tell, add `database: postgres` or `database: mysql` to the service"),
        );
    }
}

fn check_drift(rules: &mut Rules<'_>, drift: &Drift) {
    let whole_row = matches!(drift.mode, DriftMode::Duplicate | DriftMode::Delete);
    match (&drift.column, whole_row) {
        (None, false) => rules.report(
            Code::MissingKey,
            format!("the key `column` is missing: `{}` damages one column", drift.mode),
            None,
        ),
        (Some(_), true) => rules.at("column").report_key(
            Code::NoEffect,
            format!("`{}` takes whole rows; `column` changes nothing", drift.mode),
            None,
        ),
        _ => {}
    }
}
