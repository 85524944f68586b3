//! Errors that faults give, in the words of the database.

use scenario::spec::sections::ServiceMode;

use super::super::super::Database;

/// The words of Postgres for its usual errors.
const POSTGRES: [(&str, &str); 9] = [
    ("40001", "could not serialize access due to concurrent update"),
    ("40P01", "deadlock detected"),
    ("53100", "could not extend file: No space left on device"),
    ("53200", "out of memory"),
    ("53300", "sorry, too many clients already"),
    ("55P03", "could not obtain lock on row"),
    ("57014", "canceling statement due to statement timeout"),
    ("57P03", "the database system is starting up"),
    ("23505", "duplicate key value violates unique constraint"),
];
/// The numbers and words of MySQL for the same, and for codes of its own.
const MYSQL: [(&str, u16, &str); 12] = [
    ("40001", UNDOES, "Deadlock found when trying to get lock; try restarting transaction"),
    ("40P01", UNDOES, "Deadlock found when trying to get lock; try restarting transaction"),
    ("53100", 1021, "Disk full; waiting for someone to free some space..."),
    ("53200", 1037, "Out of memory; restart server and try again"),
    ("53300", 1040, "Too many connections"),
    ("08004", 1040, "Too many connections"),
    ("55P03", 1205, "Lock wait timeout exceeded; try restarting transaction"),
    ("57014", 1317, "Query execution was interrupted"),
    ("70100", 1317, "Query execution was interrupted"),
    ("23000", 1062, "Duplicate entry for key 'PRIMARY'"),
    ("23505", 1062, "Duplicate entry for key 'PRIMARY'"),
    ("42S02", 1146, "Table doesn't exist"),
];
/// A deadlock: MySQL undoes the whole transaction.
const UNDOES: u16 = 1213;
/// Any other error of MySQL.
const UNKNOWN: u16 = 1105;
/// A server that takes no writes.
const READ_ONLY: u16 = 1290;
/// The words for codes that have none of their own.
const NO_WORDS: &str = "the statement failed";

/// An error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Failure {
    /// Its code.
    pub(in super::super) sqlstate: String,
    /// MySQL's number of it.
    pub(in super::super) number: u16,
    /// Its words.
    pub(in super::super) message: String,
}

impl Failure {
    /// The error that a fault gives at a database.
    pub(in super::super) fn of(mode: &ServiceMode, database: Database) -> Self {
        match (mode, database) {
            (ServiceMode::Error(error), _) => {
                let mut failure = Self::coded(error.sqlstate.as_str(), database);
                failure.message = error.message.clone().unwrap_or(failure.message);
                failure
            }
            (_, Database::Postgres) => {
                let message = "cannot execute statement in a read-only transaction".to_owned();
                Self { sqlstate: "25006".to_owned(), number: READ_ONLY, message }
            }
            (_, Database::MySql) => {
                let message =
                    "The MySQL server is running with the --read-only option so it cannot execute this statement";
                Self { sqlstate: "HY000".to_owned(), number: READ_ONLY, message: message.to_owned() }
            }
        }
    }

    fn coded(sqlstate: &str, database: Database) -> Self {
        let (number, message) = match database {
            Database::Postgres => (0, POSTGRES.iter().find(|(code, _)| *code == sqlstate).map(|(_, words)| *words)),
            Database::MySql => {
                let known = MYSQL.iter().find(|(code, ..)| *code == sqlstate);
                known.map_or((UNKNOWN, None), |(_, number, words)| (*number, Some(*words)))
            }
        };
        Self { sqlstate: sqlstate.to_owned(), number, message: message.unwrap_or(NO_WORDS).to_owned() }
    }

    /// Returns true if MySQL undoes the whole transaction with it.
    pub(in super::super) fn undoes_transaction(&self) -> bool {
        self.number == UNDOES
    }

    /// Postgres's message of it, with a severity.
    pub(in super::super) fn postgres(&self, severity: &str) -> Vec<u8> {
        let Self { sqlstate, message, .. } = self;
        let message = message.replace('\0', " ");
        let body = format!("S{severity}\0V{severity}\0C{sqlstate}\0M{message}\0\0");
        let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
        [b"E".as_slice(), &length.to_be_bytes(), body.as_bytes()].concat()
    }

    /// MySQL's packet of it, the first of an answer.
    pub(in super::super) fn mysql(&self) -> Vec<u8> {
        let Self { sqlstate, number, message } = self;
        // Servers end their messages there, too.
        let message: String = message.chars().take(500).collect();
        let text = format!("#{sqlstate}{message}");
        let length = u32::try_from(text.len() + 3).unwrap_or(u32::MAX).to_le_bytes();
        [&length[..3], &[1, 0xff], &number.to_le_bytes(), text.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use scenario::spec::load;
    use scenario::spec::sections::ServiceMode;

    use super::super::super::super::Database;
    use super::Failure;

    fn mode(text: &str) -> ServiceMode {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             services: [{{name: db, image: 'postgres:16'}}]\nchaos: {{service_faults: [{{service: db, {text}}}]}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        load(&text, None).spec.expect("a spec").chaos.service_faults[0].mode.clone()
    }

    #[test]
    fn errors_have_the_shape_of_each_protocol() {
        let mode = mode("mode: error, sqlstate: '40001', message: again");
        let postgres = Failure::of(&mode, Database::Postgres).postgres("ERROR");
        assert_eq!(postgres, b"E\0\0\0\x21SERROR\0VERROR\0C40001\0Magain\0\0");
        let mysql = Failure::of(&mode, Database::MySql);
        assert!(mysql.undoes_transaction());
        assert_eq!(mysql.mysql(), b"\x0e\0\0\x01\xff\xbd\x04#40001again");
    }

    #[test]
    fn usual_errors_have_the_words_of_the_database() {
        let error = mode("mode: error, sqlstate: '53300'");
        assert_eq!(Failure::of(&error, Database::Postgres).message, "sorry, too many clients already");
        let mysql = Failure::of(&error, Database::MySql);
        assert_eq!((mysql.number, mysql.message.as_str()), (1040, "Too many connections"));
        let unknown = Failure::of(&mode("mode: error, sqlstate: 'XX000'"), Database::MySql);
        assert_eq!((unknown.number, unknown.sqlstate.as_str()), (1105, "XX000"));
        let read_only = mode("mode: read_only");
        assert_eq!(Failure::of(&read_only, Database::Postgres).sqlstate, "25006");
        assert_eq!(Failure::of(&read_only, Database::MySql).number, 1290);
    }
}
