//! The recipes of all images that Touchstone can make itself.

use super::recipe::{File, Foundation, Recipe};

/// All recipes, those that take longest first, so that none is waited for at the end.
pub(super) const ALL: [Recipe; 7] = [POSTGRES, MYSQL, PYTHON, MARIADB, REDIS, DEBIAN, BUSYBOX];

/// Search path of programs.
const PATH: &str = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Entrypoint of a server's container.
const ENTRYPOINT: &str = r#"ENTRYPOINT ["docker-entrypoint.sh"]"#;

const fn entrypoint(content: &'static str) -> File {
    File { path: "/usr/local/bin/docker-entrypoint.sh", mode: "755", content }
}

/// Defaults that recipes have in common.
const BLANK: Recipe = Recipe {
    name: "",
    description: "",
    stands_in_for: &[],
    suite: "bookworm",
    foundation: Foundation::Required,
    packages: &[],
    before: None,
    files: &[],
    inside: None,
    settings: &[],
};

const BUSYBOX: Recipe = Recipe {
    name: "touchstone/busybox:1",
    description: "BusyBox, and the users root and agent",
    stands_in_for: &["busybox:latest", "busybox:1", "busybox:1.36", "busybox:stable", "busybox:musl"],
    foundation: Foundation::Nothing,
    packages: &["busybox-static"],
    before: Some(include_str!("../../images/busybox/before.sh")),
    settings: &[r#"CMD ["sh"]"#, "ENV PATH=/bin:/usr/bin"],
    ..BLANK
};

const DEBIAN: Recipe = Recipe {
    name: "touchstone/debian:bookworm",
    description: "Debian 12",
    stands_in_for: &[
        "debian:bookworm-slim",
        "debian:bookworm",
        "debian:12-slim",
        "debian:12",
        "debian:stable-slim",
        "debian:latest",
        "ubuntu:24.04",
        "ubuntu:22.04",
        "ubuntu:latest",
    ],
    packages: &["bash", "mawk", "diffutils", "perl-base", "libfaketime"],
    settings: &[r#"CMD ["bash"]"#, PATH],
    ..BLANK
};

const PYTHON: Recipe = Recipe {
    name: "touchstone/python:3.11",
    description: "Debian 12 with its Python 3.11 and Perl",
    stands_in_for: &[
        "python:3.11-slim",
        "python:3.11",
        "python:3.11-slim-bookworm",
        "python:3.12-slim",
        "python:3.12",
        "python:3.13-slim",
        "python:3.13",
        "python:3-slim",
        "python:3",
        "python:slim",
        "python:latest",
    ],
    packages: &["python3", "python3-venv", "python3-pip", "perl", "diffutils", "ca-certificates", "libfaketime"],
    inside: Some(include_str!("../../images/python/setup.sh")),
    settings: &[r#"CMD ["python3"]"#, PATH, "ENV LANG=C.UTF-8"],
    ..BLANK
};

const POSTGRES: Recipe = Recipe {
    name: "touchstone/postgres:15",
    description: "PostgreSQL 15, its data directory ready made",
    stands_in_for: &[
        "postgres:15",
        "postgres:15-alpine",
        "postgres:16",
        "postgres:16-alpine",
        "postgres:16-bookworm",
        "postgres:17",
        "postgres:17-alpine",
        "postgres:18",
        "postgres:14",
        "postgres:13",
        "postgres:alpine",
        "postgres:latest",
    ],
    packages: &["postgresql-15", "libfaketime"],
    before: Some(include_str!("../../images/postgres/before.sh")),
    files: &[
        File {
            path: "/usr/local/share/touchstone/postgresql.conf",
            mode: "644",
            content: include_str!("../../images/postgres/postgresql.conf"),
        },
        entrypoint(include_str!("../../images/postgres/entrypoint.sh")),
    ],
    inside: Some(include_str!("../../images/postgres/setup.sh")),
    settings: &[
        "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin",
        "ENV LANG=en_US.utf8",
        "ENV PG_MAJOR=15",
        "ENV PGDATA=/var/lib/postgresql/data",
        "VOLUME /var/lib/postgresql/data",
        "EXPOSE 5432",
        ENTRYPOINT,
        r#"CMD ["postgres"]"#,
    ],
    ..BLANK
};

const MARIADB: Recipe = Recipe {
    name: "touchstone/mariadb:10.11",
    description: "MariaDB 10.11, its data directory ready made",
    stands_in_for: &["mariadb:10.11", "mariadb:10", "mariadb:11", "mariadb:11.4", "mariadb:lts", "mariadb:latest"],
    packages: &["mariadb-server-core", "mariadb-client-core", "libfaketime"],
    files: &[
        File { path: "/etc/mysql/my.cnf", mode: "644", content: include_str!("../../images/mariadb/my.cnf") },
        entrypoint(include_str!("../../images/mysql/entrypoint.sh")),
    ],
    inside: Some(include_str!("../../images/mariadb/setup.sh")),
    settings: &[
        PATH,
        "ENV TOUCHSTONE_SERVER=mariadbd",
        "ENV TOUCHSTONE_CLIENT=mariadb",
        "VOLUME /var/lib/mysql",
        "EXPOSE 3306",
        ENTRYPOINT,
        r#"CMD ["mariadbd"]"#,
    ],
    ..BLANK
};

const MYSQL: Recipe = Recipe {
    name: "touchstone/mysql:9",
    description: "MySQL 9, its data directory ready made",
    stands_in_for: &["mysql:8", "mysql:8.0", "mysql:8.4", "mysql:9", "mysql:lts", "mysql:latest"],
    // Only Debian's unstable suite has MySQL.
    suite: "sid",
    foundation: Foundation::Essential,
    packages: &["mysql-server-core", "mysql-client-core", "bash", "libfaketime"],
    before: Some(include_str!("../../images/mysql/before.sh")),
    files: &[
        File { path: "/etc/mysql/my.cnf", mode: "644", content: include_str!("../../images/mysql/my.cnf") },
        entrypoint(include_str!("../../images/mysql/entrypoint.sh")),
    ],
    inside: Some(include_str!("../../images/mysql/setup.sh")),
    settings: &[
        PATH,
        "ENV TOUCHSTONE_SERVER=mysqld",
        "ENV TOUCHSTONE_CLIENT=mysql",
        "VOLUME /var/lib/mysql",
        "EXPOSE 3306",
        ENTRYPOINT,
        r#"CMD ["mysqld"]"#,
    ],
};

const REDIS: Recipe = Recipe {
    name: "touchstone/redis:7",
    description: "Redis 7",
    stands_in_for: &["redis:7", "redis:7-alpine", "redis:7.2", "redis:8", "redis:alpine", "redis:latest"],
    packages: &["redis-server"],
    files: &[entrypoint(include_str!("../../images/redis/entrypoint.sh"))],
    inside: Some(include_str!("../../images/redis/setup.sh")),
    settings: &[PATH, "VOLUME /data", "WORKDIR /data", "EXPOSE 6379", ENTRYPOINT, r#"CMD ["redis-server"]"#],
    ..BLANK
};
