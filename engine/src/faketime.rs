//! A clock of the sandbox's own: libfaketime, where images have it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use scenario::evidence::SqlAnswer;
use scenario::spec::Spec;
use scenario::spec::sections::Clock;

use crate::backend::Shim;
use crate::database::{CONNECT_LIMIT, Client, Database};
use crate::door::{Door, DoorError};
use crate::environment::Environment;
use crate::error::EngineError;
use crate::services::LiveService;

/// The folders in which it is looked for.
const FOLDERS: [&str; 5] = [
    "usr/lib/x86_64-linux-gnu/faketime",
    "usr/lib/aarch64-linux-gnu/faketime",
    "usr/lib64/faketime",
    "usr/lib/faketime",
    "usr/local/lib/faketime",
];
/// The name of the library.
const LIBRARY: &str = "libfaketime.so.1";
/// How far the clock of a database may be from what it was set to, in seconds.
const NEAR: u64 = 600;
/// Starts a database with the library. Before, its container changes its user, and then the library could not open what it
/// had made as root.
pub(crate) const SHIM: Shim =
    Shim { programs: &["postgres", "mysqld", "mariadbd"], script: include_str!("faketime.sh") };

/// Where it is on this machine.
pub(crate) fn on_this_machine() -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(LIBRARY)).find(|library| library.exists())
}

/// What the clocks of a sandbox and its databases show: so much more or less than the real ones. It is one number for all
/// processes, so that they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeClock {
    offset: String,
    epoch: i64,
}

impl FakeClock {
    /// The clock that the spec wants to show its moment now; `None` when it wants the real one.
    pub(crate) fn of(spec: &Spec, now: Timestamp) -> Option<Self> {
        let Clock::At(moment) = &spec.determinism.clock else { return None };
        let moment: Timestamp = moment.as_str().parse().ok()?;
        let milliseconds = moment.as_millisecond() - now.as_millisecond();
        let sign = if milliseconds < 0 { '-' } else { '+' };
        let (seconds, rest) = (milliseconds.unsigned_abs() / 1000, milliseconds.unsigned_abs() % 1000);
        Some(Self { offset: format!("{sign}{seconds}.{rest:03}"), epoch: moment.as_second() })
    }

    /// The variables for commands of the sandbox.
    pub(crate) async fn of_sandbox(&self, door: &Door) -> Result<Environment, EngineError> {
        for folder in FOLDERS {
            match door.walk("/", format!("{folder}/{LIBRARY}").as_bytes(), 1, false).await {
                Ok(listing) if !listing.entries.is_empty() => {
                    let mut variables = self.variables(format!("/{folder}/{LIBRARY}"));
                    variables.insert("SOURCE_DATE_EPOCH".to_owned(), self.epoch.to_string());
                    return Ok(variables);
                }
                Ok(_) | Err(DoorError::Failed(_)) => {}
                Err(error) => return Err(EngineError::door("look for libfaketime")(error)),
            }
        }
        Err(missing("the sandbox's image"))
    }

    /// The variables for a database, which its shim reads.
    pub(crate) fn of_service(&self) -> Environment {
        Environment::from([("TOUCHSTONE_FAKETIME".to_owned(), self.offset.clone())])
    }

    /// Finds out whether a database has the clock that it was given: without the library it starts all the same.
    pub(crate) async fn verify(&self, name: &str, service: &LiveService) -> Result<(), EngineError> {
        let Some((database, credentials)) = &service.database else { return Ok(()) };
        let query = match database {
            Database::Postgres => "SELECT extract(epoch FROM now())::bigint",
            Database::MySql => "SELECT UNIX_TIMESTAMP()",
        };
        let unknown = |reason: String| EngineError::ServiceNotReady {
            service: name.to_owned(),
            reason: format!("its clock is not known: {reason}"),
            output: String::new(),
        };
        let connected = Client::connect(*database, credentials.clone(), service.dial(), CONNECT_LIMIT).await;
        let mut client = connected.map_err(|error| unknown(error.to_string()))?;
        match client.query_first(query).await.map_err(|error| unknown(error.to_string()))? {
            SqlAnswer::Value(datum) => {
                let shown: i64 = datum.text().parse().unwrap_or(0);
                let is_near = shown.abs_diff(self.epoch) < NEAR;
                if is_near { Ok(()) } else { Err(missing(&format!("the image of the service `{name}`"))) }
            }
            other => Err(unknown(format!("{other:?}"))),
        }
    }

    fn variables(&self, library: String) -> Environment {
        Environment::from([
            ("LD_PRELOAD".to_owned(), library),
            ("FAKETIME".to_owned(), self.offset.clone()),
            // Time limits go by this clock, and no limit is to fire because of another date.
            ("FAKETIME_DONT_FAKE_MONOTONIC".to_owned(), "1".to_owned()),
        ])
    }
}

fn missing(whose: &str) -> EngineError {
    let what = format!(
        "`determinism.clock` needs libfaketime, which {whose} does not have; add it there, by `setup.packages: [libfaketime]` where it is the sandbox's, or use `clock: real`"
    );
    EngineError::Unsupported { what }
}

#[cfg(test)]
mod tests {
    use scenario::spec::{Spec, load};

    use super::FakeClock;

    fn spec(clock: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\ndeterminism: {{clock: {clock}}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        load(&text, None).spec.expect("a spec")
    }

    #[test]
    fn the_clock_is_ahead_or_behind_by_one_number() {
        let now = "2026-02-01T00:00:00.250Z".parse().expect("a time");
        let offset = |clock: &str| FakeClock::of(&spec(clock), now).map(|clock| clock.offset);
        assert_eq!(offset("'2026-01-31T00:00:00Z'").as_deref(), Some("-86400.250"));
        assert_eq!(offset("'2026-02-01T00:00:01Z'").as_deref(), Some("+0.750"));
        assert_eq!(offset("real"), None);
    }
}
