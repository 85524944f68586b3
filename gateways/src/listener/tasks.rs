//! Tasks that end together.

use hyper::rt::Executor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that end together.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    end: CancellationToken,
}

impl Tasks {
    /// Runs a task until it ends or all are ended.
    pub(super) fn spawn<Task>(&self, task: Task)
    where
        Task: Future + Send + 'static,
        Task::Output: Send,
    {
        let end = self.end.clone();
        self.tracker.spawn(async move {
            end.run_until_cancelled_owned(task).await;
        });
    }

    /// Ends all tasks.
    pub(super) fn end(&self) {
        self.end.cancel();
        self.tracker.close();
    }

    /// Waits until all tasks have ended, after they were told to.
    pub(super) async fn ended(&self) {
        self.tracker.wait().await;
    }

    /// The number of tasks that have not ended.
    pub(super) fn len(&self) -> usize {
        self.tracker.len()
    }
}

impl<Task> Executor<Task> for Tasks
where
    Task: Future + Send + 'static,
    Task::Output: Send,
{
    fn execute(&self, task: Task) {
        self.spawn(task);
    }
}
