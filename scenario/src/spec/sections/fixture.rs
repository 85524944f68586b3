//! `fixtures`: the content of the world before the agent sees it.

use crate::spec::section::{choice, section, tagged};
use crate::spec::types::{BundlePath, Filled, SandboxPath, ServiceName, TableName, Whole};

tagged! {
    /// Something that the world holds before the agent sees it. Fixtures run in order, after services are ready and
    /// before `setup`. One that fails ends the preparation: the scenario is an `error`.
    pub enum Fixture by "type" {
        /// A clone of a repository.
        GitRepo(GitRepo) = "git_repo",
        /// A script for a database.
        Sql(SqlFixture) = "sql",
        /// A copy of a folder.
        Directory(Directory) = "directory",
        /// Seeded damage to seeded rows.
        Drift(Drift) = "drift",
    }
}

section! {
    /// Clones a repository into the sandbox.
    ///
    /// ```yaml
    /// fixtures:
    ///   - { type: git_repo, url: "https://git.example/shop.git", branch: main, depth: 1 }
    /// ```
    pub struct GitRepo {
        /// Where to clone from: https, ssh, or a path in the spec's folder.
        url: Filled,
        /// A branch, tag or commit; the repository's default without it.
        branch: Option<Filled>,
        /// How many commits to fetch; all without it.
        depth: Option<Whole<1, 1_000_000>>,
        /// Where to put it.
        path: SandboxPath = SandboxPath::workspace(),
    }
}

section! {
    /// Runs a script in a database service. Give `sql` or `path`.
    ///
    /// ```yaml
    /// fixtures:
    ///   - type: sql
    ///     service: db
    ///     sql: |
    ///       CREATE TABLE orders (id int primary key, state text);
    ///       INSERT INTO orders VALUES (1, 'paid');
    /// ```
    pub struct SqlFixture {
        /// A Postgres or MySQL service.
        service: ServiceName,
        /// The script itself.
        sql: Option<Filled>,
        /// A file of the spec's folder that holds the script.
        path: Option<BundlePath>,
    }
}

section! {
    /// Copies a folder of the spec's own folder into the sandbox.
    ///
    /// ```yaml
    /// fixtures:
    ///   - { type: directory, path: project }
    /// ```
    pub struct Directory {
        /// The folder, beside `spec.yaml`.
        path: BundlePath,
        /// Where its content goes.
        to: SandboxPath = SandboxPath::workspace(),
    }
}

section! {
    /// Damages rows that earlier fixtures inserted, chosen by the scenario's seed, so that an agent which trusts its
    /// data is caught. The same seed damages the same rows.
    ///
    /// ```yaml
    /// fixtures:
    ///   - { type: drift, service: db, table: customers, key: id, column: email, mode: case, rows: 3 }
    /// ```
    pub struct Drift {
        /// A Postgres or MySQL service.
        service: ServiceName,
        /// The table whose rows are damaged.
        table: TableName,
        /// The column that orders the rows, so that the choice does not depend on the database.
        key: TableName,
        /// The column that is damaged. `duplicate` and `delete` need none.
        column: Option<TableName>,
        /// What is done to a row.
        mode: DriftMode,
        /// How many rows are damaged.
        rows: Whole<1, 100_000> = Whole::new(1),
    }
}

choice! {
    /// What drift does to a row.
    pub enum DriftMode {
        /// Sets the column to NULL.
        SetNull = "set_null",
        /// Adds a blank at the end of the text.
        Whitespace = "whitespace",
        /// Turns the text into upper case.
        Case = "case",
        /// Adds one to the number.
        Offset = "offset",
        /// Exchanges the column between two rows.
        Swap = "swap",
        /// Inserts the row again under the next free key.
        Duplicate = "duplicate",
        /// Deletes the row.
        Delete = "delete",
    }
}
