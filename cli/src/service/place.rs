//! The storage, described in words that may be public.

use engine::data_dir::DataDir;

/// The database that a URL leads to, without the password in it; that of the data directory without a URL.
pub(crate) fn database(url: Option<&str>, data_dir: &DataDir) -> String {
    match url {
        None => format!("SQLite in {}", data_dir.path().display()),
        Some(url) => match url.split_once("://") {
            Some(("postgres" | "postgresql", rest)) => {
                let rest = rest.split('?').next().unwrap_or_default();
                format!("Postgres at {}", rest.rsplit_once('@').map_or(rest, |(_, place)| place))
            }
            _ => format!("SQLite in {}", url.strip_prefix("sqlite:").unwrap_or(url).trim_start_matches("//")),
        },
    }
}

/// Returns true if a URL names a database that other machines can reach.
pub(crate) fn is_shared(url: Option<&str>) -> bool {
    url.is_some_and(|url| url.starts_with("postgres://") || url.starts_with("postgresql://"))
}

#[cfg(test)]
mod tests {
    use engine::data_dir::DataDir;

    use super::database;

    #[test]
    fn a_database_is_named_without_its_password() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        let name = |url| database(Some(url), &data_dir);
        assert_eq!(name("postgres://anna:s3c@ret@db:5432/ts?sslmode=require&password=x"), "Postgres at db:5432/ts");
        assert_eq!(name("postgresql://db/ts"), "Postgres at db/ts");
        assert_eq!(name("sqlite:///srv/ts.db"), "SQLite in /srv/ts.db");
        assert_eq!(name("/srv/ts.db"), "SQLite in /srv/ts.db");
        assert_eq!(database(None, &data_dir), format!("SQLite in {}", data_dir.path().display()));
    }
}
