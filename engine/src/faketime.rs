//! A clock of the sandbox's own: libfaketime, where images have it.

use std::path::{Path, PathBuf};

use doorkeeper::protocol::{EntryKind, WriteFile};
use jiff::Timestamp;
use scenario::evidence::SqlAnswer;
use scenario::spec::Spec;
use scenario::spec::sections::{Chaos, Clock};

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
/// Largest difference, in seconds, between the clock of a database and the time that it was set to.
const NEAR: u64 = 600;
/// Starts a database with the library. Before, its container changes its user, and then the library could not open what it
/// had made as root.
pub(crate) const SHIM: Shim =
    Shim { programs: &["postgres", "mysqld", "mariadbd"], script: include_str!("faketime.sh") };

/// Returns the path of the library on this machine.
pub(crate) fn on_this_machine() -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(LIBRARY)).find(|library| library.exists())
}

/// The file that the clock of a sandbox is read from, where faults change it.
const FILE: &str = "/run/touchstone/clock";

/// Shifted clock of a sandbox and its databases: one difference to the real time for all processes, so that they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeClock {
    /// The difference to the real time, in milliseconds.
    offset_ms: i64,
    /// The time that the spec wants, in seconds.
    epoch: Option<i64>,
    /// True when faults change it while the agent acts.
    changes: bool,
}

impl FakeClock {
    /// The clock that the spec wants to show its moment now, or that faults change; `None` when it is the real one.
    pub(crate) fn of(spec: &Spec, chaos: &Chaos, now: Timestamp) -> Option<Self> {
        let changes = !chaos.clock_faults.is_empty();
        let moment: Option<Timestamp> = match &spec.determinism.clock {
            Clock::At(moment) => moment.as_str().parse().ok(),
            Clock::Real => None,
        };
        let offset_ms = moment.map_or(0, |moment| moment.as_millisecond() - now.as_millisecond());
        let clock = Self { offset_ms, epoch: moment.map(Timestamp::as_second), changes };
        (changes || moment.is_some()).then_some(clock)
    }

    /// The same for databases, whose clocks no fault changes; `None` when theirs is the real one.
    pub(crate) fn of_databases(&self) -> Option<&Self> {
        self.epoch.map(|_| self)
    }

    /// Sets the clock of a sandbox so much ahead of what it shows without faults.
    pub(crate) async fn set(&self, door: &Door, shift_ms: i64) -> Result<(), DoorError> {
        let content = format!("{}\n", offset(self.offset_ms.saturating_add(shift_ms))).into_bytes();
        let path = FILE.into();
        let kind = EntryKind::File;
        door.write(WriteFile { path, kind, uid: 0, gid: 0, mode: 0o644, content, append: false }).await
    }

    /// The variables for commands of the sandbox.
    pub(crate) async fn of_sandbox(&self, door: &Door) -> Result<Environment, EngineError> {
        for folder in FOLDERS {
            match door.walk("/", format!("{folder}/{LIBRARY}").as_bytes(), 1, false).await {
                Ok(listing) if !listing.entries.is_empty() => {
                    let mut variables = self.variables(format!("/{folder}/{LIBRARY}"));
                    let epoch = self.epoch.map(|epoch| ("SOURCE_DATE_EPOCH".to_owned(), epoch.to_string()));
                    variables.extend(epoch);
                    if self.changes {
                        self.set(door, 0).await.map_err(EngineError::door("set the clock of the sandbox"))?;
                    }
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
        Environment::from([("TOUCHSTONE_FAKETIME".to_owned(), offset(self.offset_ms))])
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
                let is_near = self.epoch.is_none_or(|epoch| shown.abs_diff(epoch) < NEAR);
                if is_near { Ok(()) } else { Err(missing(&format!("the image of the service `{name}`"))) }
            }
            other => Err(unknown(format!("{other:?}"))),
        }
    }

    fn variables(&self, library: String) -> Environment {
        let mut variables = Environment::from([
            ("LD_PRELOAD".to_owned(), library),
            // Time limits go by this clock, and no limit is to fire because of another date.
            ("FAKETIME_DONT_FAKE_MONOTONIC".to_owned(), "1".to_owned()),
        ]);
        let time = match self.changes {
            true => vec![("FAKETIME_TIMESTAMP_FILE", FILE.to_owned()), ("FAKETIME_NO_CACHE", "1".to_owned())],
            false => vec![("FAKETIME", offset(self.offset_ms))],
        };
        variables.extend(time.into_iter().map(|(name, value)| (name.to_owned(), value)));
        variables
    }
}

/// A difference to the real time, as the library reads it.
fn offset(milliseconds: i64) -> String {
    let sign = if milliseconds < 0 { '-' } else { '+' };
    format!("{sign}{}.{:03}", milliseconds.unsigned_abs() / 1000, milliseconds.unsigned_abs() % 1000)
}

fn missing(whose: &str) -> EngineError {
    let what = format!(
        "`determinism.clock` and `clock_faults` need libfaketime, which {whose} does not have; add it there, by `setup.packages: [libfaketime]` where it is the sandbox's, or use the real clock"
    );
    EngineError::Unsupported { what }
}

#[cfg(test)]
mod tests {
    use scenario::spec::sections::Chaos;
    use scenario::spec::{Spec, load};

    use super::{FakeClock, offset};

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
        let offset =
            |clock: &str| FakeClock::of(&spec(clock), &Chaos::none(), now).map(|clock| offset(clock.offset_ms));
        assert_eq!(offset("'2026-01-31T00:00:00Z'").as_deref(), Some("-86400.250"));
        assert_eq!(offset("'2026-02-01T00:00:01Z'").as_deref(), Some("+0.750"));
        assert_eq!(offset("real"), None);
    }
}
