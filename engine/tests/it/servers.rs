//! Real database servers for tests, in containers that go with the test.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::database::{
    CONNECT_LIMIT, Client, Credentials, Database, DatabaseError, Dial, Environment, Readiness, ready,
};
use tokio::net::TcpStream;

/// Time limit for a server to come up on a busy machine.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(120);

/// Kind of server that is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) database: Database,
    pub(crate) image: &'static str,
    pub(crate) port: u16,
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

pub(crate) const POSTGRES: Kind = Kind {
    database: Database::Postgres,
    image: "touchstone/postgres:15",
    port: 5432,
    environment: &[("POSTGRES_USER", "app"), ("POSTGRES_PASSWORD", "p@ss w'ord"), ("POSTGRES_DB", "shop")],
};

pub(crate) const MARIADB: Kind = Kind {
    database: Database::MySql,
    image: "touchstone/mariadb:10.11",
    port: 3306,
    environment: &[("MARIADB_ROOT_PASSWORD", "p@ss w'ord"), ("MARIADB_DATABASE", "shop")],
};

pub(crate) const MYSQL: Kind = Kind {
    database: Database::MySql,
    image: "touchstone/mysql:9",
    port: 3306,
    environment: &[
        ("MYSQL_ROOT_PASSWORD", "p@ss w'ord"),
        ("MYSQL_DATABASE", "shop"),
        ("MYSQL_USER", "app"),
        ("MYSQL_PASSWORD", "app's own"),
    ],
};

/// A running container, removed when dropped.
#[derive(Debug)]
pub(crate) struct Container {
    id: String,
    port: u16,
}

impl Container {
    /// Starts a container whose `port` is published on this machine's loopback.
    pub(crate) fn run(image: &str, port: u16, environment: &[(&str, &str)]) -> Self {
        let mut run = Command::new("docker");
        run.args(["run", "--detach", "--label", "touchstone=test", "--publish", &format!("127.0.0.1::{port}")]);
        for (name, value) in environment {
            run.args(["--env", &format!("{name}={value}")]);
        }
        Self { id: output(run.arg(image)), port }
    }

    /// Reaches the container by its published port, where a sandbox would ask its doorkeeper.
    pub(crate) fn dial(&self) -> Arc<dyn Dial> {
        let address = output(Command::new("docker").args(["port", &self.id, &self.port.to_string()]));
        let published = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a published port");
        Arc::new(Published { port: self.port, published })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", "--volumes", &self.id]).output();
    }
}

/// A running database server.
#[derive(Debug)]
pub(crate) struct Server {
    kind: Kind,
    container: Container,
    dial: Arc<dyn Dial>,
}

impl Server {
    /// Starts a server and waits until it answers a query.
    pub(crate) async fn start(kind: Kind) -> Self {
        let container = Container::run(kind.image, kind.port, kind.environment);
        let server = Self { kind, dial: container.dial(), container };
        let readiness = Readiness::Sql { database: kind.database, credentials: server.credentials() };
        ready(&readiness, &server.dial, START_LIMIT).await.expect("the server comes up");
        server
    }

    /// Returns the credentials in the server's environment.
    pub(crate) fn credentials(&self) -> Credentials {
        let variables = self.kind.environment.iter();
        let environment: Environment =
            variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Credentials::from_environment(self.kind.database, &environment, self.kind.port).expect("a known user")
    }

    /// A client with those credentials.
    pub(crate) async fn client(&self) -> Client {
        self.client_as(self.credentials()).await.expect("a login")
    }

    /// A client with other credentials.
    pub(crate) async fn client_as(&self, credentials: Credentials) -> Result<Client, DatabaseError> {
        Client::connect(self.kind.database, credentials, Arc::clone(&self.dial), CONNECT_LIMIT).await
    }

    /// Stops the server at once.
    pub(crate) fn kill(&self) {
        output(Command::new("docker").args(["kill", &self.container.id]));
    }
}

/// Returns the output of a command. Its failure fails the test.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("docker is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
}

/// A port inside, and where it is published.
#[derive(Debug)]
struct Published {
    port: u16,
    published: u16,
}

#[async_trait]
impl Dial for Published {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        assert_eq!(port, self.port);
        TcpStream::connect(("127.0.0.1", self.published)).await
    }
}
