//! Background tasks of a server.
//!
//! Each task takes one thing at a time under a lease, so that several servers on one database do not do the same twice.
//! A task survives a database that is away, and ends promptly with the server: what it was doing then is taken up again
//! when the lease has ended.
//!
//! To add one: write its `turn` in a file of its own, and start it here.

mod alerts;
mod approvals;
mod artifact_place;
mod deliveries;
mod repeat;
mod retention;
mod sandboxes;

use store::PROBING;
use tokio::task::JoinSet;

use crate::app::App;
use repeat::repeat;

/// The number of concurrent senders: a message that nobody takes does not stop the others.
const SENDERS: usize = 4;

/// Tasks that go on while the server serves.
#[derive(Debug)]
pub(crate) struct Background(JoinSet<()>);

/// Starts what goes on beside answering. The tasks end when the server does.
pub(crate) fn start(app: &App) -> Background {
    let mut tasks = JoinSet::new();
    tasks.spawn(repeat(app.clone(), "looking at alerts", alerts::turn));
    tasks.spawn(repeat(app.clone(), "telling of approvals", approvals::turn));
    for _ in 0..SENDERS {
        tasks.spawn(repeat(app.clone(), "sending messages", deliveries::turn));
    }
    tasks.spawn(repeat(app.clone(), "looking for lost sandboxes", sandboxes::turn));
    tasks.spawn(repeat(app.clone(), "removing what is old", retention::turn));
    tasks.spawn(repeat(app.clone(), PROBING, artifact_place::turn));
    Background(tasks)
}

impl Background {
    /// Waits for all of them.
    pub(crate) async fn end(mut self) {
        while let Some(ended) = self.0.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a task of the server panicked");
            }
        }
    }
}
