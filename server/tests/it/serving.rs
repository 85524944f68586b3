//! A server with all that it does beside answering, on the store of a [`TestApp`].

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use server::{Config, Parts, Workers};
use store::Clock;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::test_app::{CountedIds, FakeAdmission, TestApp};

/// Timeout of waiting for a condition.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that serves until it is ended.
pub(crate) struct Serving {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    task: JoinHandle<std::io::Result<()>>,
    ended: oneshot::Sender<()>,
}

impl Serving {
    /// Starts one.
    pub(crate) async fn start(app: &TestApp, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config { look: Duration::from_millis(5), ..Config::default() };
        change(&mut config);
        let parts = Parts {
            config,
            store: app.store.clone(),
            master_key: app.master_key.clone(),
            clock: Arc::clone(&app.clock) as Arc<dyn Clock>,
            ids: Arc::new(CountedIds::from(1_000_000)),
            admission: Arc::new(FakeAdmission),
            workers: Arc::clone(&app.workers) as Arc<dyn Workers>,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (ended, end) = oneshot::channel::<()>();
        let task = tokio::spawn(server::serve(listener, parts, async move {
            let _ = end.await;
        }));
        Self { address, task, ended }
    }

    /// The status and the body of an answer.
    pub(crate) async fn get(&self, key: &str, path: &str) -> (u16, String) {
        // Whoever was first has chosen it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let request = reqwest::Client::new().get(format!("http://{}{path}", self.address)).bearer_auth(key);
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a body"))
    }

    /// Ends it, and waits for that.
    pub(crate) async fn end(self) {
        let _ = self.ended.send(());
        let ended = tokio::time::timeout(PATIENCE, self.task).await.expect("it ends promptly");
        ended.expect("no panic").expect("no error");
    }
}

/// Waits until there is something.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
