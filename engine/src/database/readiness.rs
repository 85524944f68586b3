//! Readiness of services: each is asked in its own language, until it answers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use super::{CONNECT_LIMIT, Client, Credentials, Database, DatabaseError, Dial};

/// The pause after the first try; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause between tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(40);

/// Time that a connection has to stay open before it counts. Forwarders accept at once and hang up when they find
/// nobody behind the door.
const OPEN_FOR: Duration = Duration::from_millis(50);

/// The longest reply of Redis that is read.
const MAX_REPLY_BYTES: u64 = 1024;

/// Condition for a service to be ready.
#[derive(Debug, Clone)]
pub enum Readiness {
    /// A query as the declared user.
    Sql {
        /// The database.
        database: Database,
        /// User that logs in.
        credentials: Credentials,
    },
    /// Redis's `PING`.
    Redis {
        /// The port inside the sandbox.
        port: u16,
    },
    /// A connection that stays open.
    Tcp {
        /// The port inside the sandbox.
        port: u16,
    },
}

/// A service that did not become ready.
#[derive(Debug, thiserror::Error)]
#[error("not ready after {:.1} s: {reason}", waited.as_secs_f64())]
pub struct NotReady {
    /// Time spent waiting.
    pub waited: Duration,
    /// Reason why the last try failed.
    #[source]
    pub reason: ReadinessError,
}

/// The reason why a try to reach a service failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// The service said nothing.
    #[error("it did not answer")]
    Silence,
    /// The database refused, or did something else.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The connection was not made, or broke.
    #[error(transparent)]
    Connection(#[from] io::Error),
    /// Redis did not say anything in time.
    #[error("PING had no reply")]
    NoReply,
    /// Redis hung up.
    #[error("the connection was closed")]
    Closed,
    /// Redis said something else.
    #[error("PING had the reply `{}`", .0.escape_debug())]
    Reply(String),
}

/// Tries until the service answers, and says how long that took.
///
/// # Errors
/// When it does not answer before `limit` is over.
pub async fn ready(readiness: &Readiness, dial: &Arc<dyn Dial>, limit: Duration) -> Result<Duration, NotReady> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut reason = ReadinessError::Silence;
    loop {
        let left = limit.saturating_sub(start.elapsed());
        match timeout(left, attempt(readiness, dial)).await {
            Ok(Ok(())) => return Ok(start.elapsed()),
            Ok(Err(failed)) => reason = failed,
            // A server that says nothing is told by its silence, unless an earlier try had a better reason.
            Err(_) => {}
        }
        if start.elapsed() >= limit {
            return Err(NotReady { waited: start.elapsed(), reason });
        }
        sleep(pause.min(limit.saturating_sub(start.elapsed()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn attempt(readiness: &Readiness, dial: &Arc<dyn Dial>) -> Result<(), ReadinessError> {
    match readiness {
        Readiness::Sql { database, credentials } => {
            let client = Client::connect(*database, credentials.clone(), Arc::clone(dial), CONNECT_LIMIT).await;
            Ok(client?.ping().await?)
        }
        Readiness::Redis { port } => ping_redis(&**dial, *port).await,
        Readiness::Tcp { port } => Ok(stays_open(&**dial, *port).await?),
    }
}

async fn ping_redis(dial: &dyn Dial, port: u16) -> Result<(), ReadinessError> {
    let reply = timeout(CONNECT_LIMIT, ask_redis(dial, port)).await;
    let reply = reply.map_err(|_| ReadinessError::NoReply)??;
    match reply.trim_end() {
        "+PONG" => Ok(()),
        // It is up, and wants a password for anything else.
        other if other.starts_with("-NOAUTH") => Ok(()),
        "" => Err(ReadinessError::Closed),
        other => Err(ReadinessError::Reply(other.to_owned())),
    }
}

/// The first line that Redis says to `PING`.
async fn ask_redis(dial: &dyn Dial, port: u16) -> io::Result<String> {
    let mut stream = dial.dial(port).await?;
    stream.write_all(b"*1\r\n$4\r\nPING\r\n").await?;
    let mut reply = Vec::new();
    let mut stream = stream.take(MAX_REPLY_BYTES);
    while !reply.ends_with(b"\n") && stream.read_buf(&mut reply).await? > 0 {}
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

async fn stays_open(dial: &dyn Dial, port: u16) -> io::Result<()> {
    let mut stream = dial.dial(port).await?;
    match timeout(OPEN_FOR, stream.read(&mut [0; 1])).await {
        // Nothing was said, or the service speaks first.
        Err(_) | Ok(Ok(1..)) => Ok(()),
        Ok(Ok(0)) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was closed at once")),
        Ok(Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Ports are those of this machine.
    #[derive(Debug)]
    struct Here;

    #[async_trait]
    impl Dial for Here {
        async fn dial(&self, port: u16) -> io::Result<TcpStream> {
            TcpStream::connect(("127.0.0.1", port)).await
        }
    }

    /// A server that gives each connection the next of `replies`, and the last one for ever; `None` hangs up.
    async fn server(replies: Vec<Option<&'static str>>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut open = Vec::new();
            for turn in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                if let Some(reply) = replies[turn.min(replies.len() - 1)] {
                    stream.write_all(reply.as_bytes()).await.unwrap();
                    open.push(stream);
                }
            }
        });
        port
    }

    /// Returns the result of `ready` for a server with these replies.
    async fn check(
        make: fn(u16) -> Readiness,
        replies: Vec<Option<&'static str>>,
        limit: Duration,
    ) -> Result<Duration, NotReady> {
        let port = server(replies).await;
        ready(&make(port), &(Arc::new(Here) as Arc<dyn Dial>), limit).await
    }

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(300);

    #[tokio::test]
    async fn redis_is_ready_once_it_answers_even_if_it_wants_a_password() {
        let redis = |port| Readiness::Redis { port };
        check(redis, vec![Some("+PONG\r\n")], LONG).await.unwrap();
        check(redis, vec![Some("-NOAUTH Authentication required.\r\n")], LONG).await.unwrap();
        let loading = "-LOADING Redis is loading the dataset in memory\r\n";
        check(redis, vec![None, Some(loading), Some("+PONG\r\n")], LONG).await.unwrap();
        let error = check(redis, vec![Some(loading)], SHORT).await.unwrap_err();
        assert!(error.to_string().contains("LOADING"), "{error}");
    }

    #[tokio::test]
    async fn a_port_is_ready_when_a_connection_stays_open() {
        let tcp = |port| Readiness::Tcp { port };
        check(tcp, vec![Some("220 hello\r\n")], LONG).await.unwrap();
        check(tcp, vec![None, None, Some("")], LONG).await.unwrap();
        let error = check(tcp, vec![None], SHORT).await.unwrap_err();
        assert!(error.to_string().contains("closed"), "{error}");
    }

    #[tokio::test]
    async fn nobody_listening_is_told_with_the_last_reason() {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap().port()
        };
        let credentials = Credentials { user: "a".to_owned(), password: None, database: None, port };
        let readiness = Readiness::Sql { database: Database::Postgres, credentials };
        let error = ready(&readiness, &(Arc::new(Here) as Arc<dyn Dial>), SHORT).await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
        assert!(error.waited >= SHORT);
    }

    #[tokio::test]
    async fn a_server_that_is_no_database_is_an_error_and_no_panic() {
        for database in [Database::Postgres, Database::MySql] {
            for reply in ["HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0", "\u{1}\0\0\0\n", "R\0\0\0\u{4}"] {
                let port = server(vec![Some(reply)]).await;
                let credentials = Credentials { user: "a".to_owned(), password: None, database: None, port };
                let found = Client::connect(database, credentials, Arc::new(Here), SHORT).await;
                found.expect_err(reply);
            }
        }
    }
}
