//! A Postgres database for each test: made from one that was brought up to date once, and removed afterwards.
//!
//! `TOUCHSTONE_TEST_DATABASE_URL` says where the server is and who may make databases in it; `scripts/test-postgres` starts
//! one.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicU64, Ordering};

use scenario::hex;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

use crate::db::Db;
use crate::migrate;

/// Where the server is.
const VARIABLE: &str = "TOUCHSTONE_TEST_DATABASE_URL";
/// The prefix of the names of test databases; the process id and a number follow.
const PREFIX: &str = "touchstone_test_";

/// A database that nobody else uses. It is removed when this is dropped, also by a test that failed.
#[derive(Debug)]
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
}

impl TestDatabase {
    /// A new database with our tables and nothing in them; `None` when there is no server.
    ///
    /// # Panics
    /// When there should be a server (`TOUCHSTONE_REQUIRE_TOOLS`), or it does not do what it is asked for.
    pub async fn new() -> Option<Self> {
        Self::make(true).await
    }

    /// A new database without any tables; `None` when there is no server.
    ///
    /// # Panics
    /// When there should be a server (`TOUCHSTONE_REQUIRE_TOOLS`), or it does not do what it is asked for.
    pub async fn empty() -> Option<Self> {
        Self::make(false).await
    }

    async fn make(with_tables: bool) -> Option<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let Ok(url) = std::env::var(VARIABLE) else {
            let required = std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_some();
            assert!(!required, "a Postgres is needed: set {VARIABLE} to what `scripts/test-postgres` prints");
            return None;
        };
        let server = PgConnectOptions::from_str(&url).expect("a URL of a server");
        let name = format!("{PREFIX}{}_{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        let mut admin = PgConnection::connect_with(&server).await.expect("a server");
        remove_what_others_left(&mut admin).await;
        let template = if with_tables { template(&mut admin, &server).await } else { "template0".to_owned() };
        say(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        say(&mut admin, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        admin.close().await.expect("closed");
        Some(Self { server, name })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        url(&self.server, &self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, drop) = (self.server.clone(), format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        let remove = async move {
            let mut admin = PgConnection::connect_with(&server).await?;
            admin.execute(AssertSqlSafe(drop)).await?;
            admin.close().await
        };
        // The test's own runtime may be the one that is dropping this.
        let removing = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(remove))
        });
        // What is not removed now is removed by the next test.
        let _ = removing.join();
    }
}

async fn say(admin: &mut PgConnection, sql: &str) {
    admin.execute(AssertSqlSafe(sql.to_owned())).await.expect("the server does what it is asked for");
}

async fn exists(admin: &mut PgConnection, name: &str) -> bool {
    let found = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM pg_database WHERE datname = $1").bind(name);
    found.fetch_one(admin).await.expect("a count") > 0
}

fn url(server: &PgConnectOptions, name: &str) -> String {
    server.clone().database(name).to_url_lossy().to_string()
}

/// Databases of processes that are gone.
async fn remove_what_others_left(admin: &mut PgConnection) {
    let select = sqlx::query_scalar::<_, String>("SELECT datname FROM pg_database WHERE starts_with(datname, $1)");
    for name in select.bind(PREFIX).fetch_all(&mut *admin).await.expect("names") {
        let process = name[PREFIX.len()..].split('_').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            // Somebody else may be faster.
            let _ = admin.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))).await;
        }
    }
}

/// The database that all others are copies of. The first of all processes makes it.
async fn template(admin: &mut PgConnection, server: &PgConnectOptions) -> String {
    let texts: String = migrate::POSTGRES.iter().map(|(_, _, text)| *text).collect();
    let name = format!("touchstone_template_{}", &hex(Sha256::digest(texts))[..16]);
    if exists(admin, &name).await {
        return name;
    }
    say(admin, "SELECT pg_advisory_lock(hashtextextended('touchstone template', 0))").await;
    if !exists(admin, &name).await {
        let unfinished = format!("{name}_unfinished");
        say(admin, &format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
        say(admin, &format!("CREATE DATABASE {unfinished}")).await;
        Db::postgres(&url(server, &unfinished)).await.expect("migrated").close().await;
        say(admin, &format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
    }
    say(admin, "SELECT pg_advisory_unlock(hashtextextended('touchstone template', 0))").await;
    name
}
