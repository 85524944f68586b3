//! `services`: the servers that the agent reaches by name.

use serde::Serialize;

use super::mock::HttpMock;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section, tagged};
use crate::spec::shape::Shape;
use crate::spec::template::Text;
use crate::spec::types::{Command, EnvName, Filled, ServiceName, Table, Timespan, Whole};
use crate::spec::yaml::Node;

/// A server that the agent reaches by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    /// The settings that every kind has.
    pub common: ServiceCommon,
    /// The kind, with its own settings.
    pub kind: ServiceKind,
}

section! {
    /// What every service has.
    pub struct ServiceCommon {
        /// The name under which the agent reaches it: `name` and `name.services.internal`.
        name: ServiceName,
        /// The ports it listens on, inside the sandbox only; nothing is published on the host. Services may share a port,
        /// because each has an address of its own; the agent itself cannot listen on a port that a service declares. An
        /// `http_mock` without ports listens on 80.
        ports: Vec<Whole<1, 65535>> = Vec::new(),
        /// Environment variables of the container; an `http_mock` has none.
        env: Table<EnvName, Text> = Table::default(),
    }
}

tagged! {
    /// Something that the agent reaches by name. Its address is also in `<NAME>_HOST`, `<NAME>_PORT` and `<NAME>_URL`.
    pub enum ServiceKind by "type" or "image" {
        /// A container.
        Container(Container) = "image",
        /// A recording HTTP server of ours.
        HttpMock(HttpMock) = "http_mock",
    }
}

section! {
    /// Runs an image beside the agent. This is the kind of a service without `type`.
    ///
    /// ```yaml
    /// services:
    ///   - name: db
    ///     image: postgres:16
    ///     env: { POSTGRES_PASSWORD: "{{ secrets.DB_PASSWORD }}" }
    ///     ports: [5432]
    /// ```
    pub struct Container {
        /// The image. Names that contain `postgres`, `postgis`, `pgvector`, `timescale`, `mysql`, `mariadb`, `percona` or
        /// `redis` are recognised: they get a real readiness check, and all but the last can be asked by `sql` checks.
        image: Filled,
        /// Replaces the image's command.
        command: Option<Command>,
        /// Which database the image is, when its name does not tell.
        database: Option<Database>,
        /// A command inside the service's container that succeeds once the service is ready. Without it: a real query for
        /// a recognised database, else a connection to each port.
        wait_for: Option<Filled>,
        /// How long the service may take to become ready.
        wait_timeout: Timespan = Timespan::from_secs(60),
    }
}

choice! {
    /// A database that can be asked with SQL.
    pub enum Database {
        /// Postgres, and what is made from it.
        Postgres = "postgres",
        /// MySQL and MariaDB.
        MySql = "mysql",
    }
}

/// Words in the names of images that tell which database they are.
const IMAGES: [(&str, Database); 7] = [
    ("postgres", Database::Postgres),
    ("postgis", Database::Postgres),
    ("pgvector", Database::Postgres),
    ("timescale", Database::Postgres),
    ("mysql", Database::MySql),
    ("mariadb", Database::MySql),
    ("percona", Database::MySql),
];

impl Container {
    /// Returns the database of the image: as stated, or by its name.
    #[must_use]
    pub fn database(&self) -> Option<Database> {
        self.database.or_else(|| {
            let image = self.image.as_literal()?.to_lowercase();
            IMAGES.into_iter().find(|(word, _)| image.contains(word)).map(|(_, database)| database)
        })
    }

    fn default_port(&self) -> Option<i64> {
        match self.database() {
            Some(Database::Postgres) => Some(5432),
            Some(Database::MySql) => Some(3306),
            None => self.image.source().to_lowercase().contains("redis").then_some(6379),
        }
    }
}

impl Service {
    /// The name under which it is reached.
    #[must_use]
    pub fn name(&self) -> &ServiceName {
        &self.common.name
    }

    /// The mock, when it is one.
    #[must_use]
    pub fn mock(&self) -> Option<&HttpMock> {
        match &self.kind {
            ServiceKind::HttpMock(mock) => Some(mock),
            ServiceKind::Container(_) => None,
        }
    }

    /// The database, when it is one that can be asked with SQL.
    #[must_use]
    pub fn database(&self) -> Option<Database> {
        match &self.kind {
            ServiceKind::Container(container) => container.database(),
            ServiceKind::HttpMock(_) => None,
        }
    }

    /// Returns true if the service may answer SQL, as far as can be told: an image that a parameter names may be any.
    #[must_use]
    pub fn may_be_database(&self) -> bool {
        match &self.kind {
            ServiceKind::Container(container) => {
                container.image.as_literal().is_none() || container.database().is_some()
            }
            ServiceKind::HttpMock(_) => false,
        }
    }

    /// The ports it listens on: those declared, or the usual one of its kind.
    #[must_use]
    pub fn ports(&self) -> Vec<i64> {
        if !self.common.ports.is_empty() {
            return self.common.ports.iter().map(|port| port.get()).collect();
        }
        match &self.kind {
            ServiceKind::HttpMock(_) => vec![80],
            ServiceKind::Container(container) => container.default_port().into_iter().collect(),
        }
    }

    /// True for a container that may speak HTTP at ports that are declared: nothing tells that it speaks something else.
    #[must_use]
    pub fn may_speak_http(&self) -> bool {
        match &self.kind {
            ServiceKind::Container(container) => container.default_port().is_none() && !self.common.ports.is_empty(),
            ServiceKind::HttpMock(_) => false,
        }
    }

    /// True when its connections can pass through a gateway, because its ports are known.
    #[must_use]
    pub fn can_be_cut_off(&self) -> bool {
        !self.ports().is_empty()
    }
}

impl Readable for Service {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let common = ServiceCommon::read_fields(&mut map, reader);
        let kind = ServiceKind::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "type", ServiceKind::variants());
        Some(Self { common: common?, kind: kind? })
    }

    fn shape() -> Shape {
        ServiceKind::tagged_shape(ServiceCommon::section().fields)
    }
}
