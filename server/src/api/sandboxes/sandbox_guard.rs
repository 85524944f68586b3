//! A sandbox that is wanted only as long as somebody waits for it.

use crate::app::App;

/// Says that nobody wants a sandbox any more, unless it was given to whoever asked for it.
#[derive(Debug)]
pub(super) struct UseOrLose {
    app: App,
    id: Option<String>,
}

impl UseOrLose {
    pub(super) fn new(app: &App, id: &str) -> Self {
        Self { app: app.clone(), id: Some(id.to_owned()) }
    }

    /// Whoever asked for it has it now.
    pub(super) fn given(mut self) {
        self.id = None;
    }
}

impl Drop for UseOrLose {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let app = self.app.clone();
        tokio::spawn(async move {
            if let Err(error) = app.store.unwant_sandbox(&id, app.clock.now()).await {
                tracing::warn!(%error, "nobody waits for sandbox {id}, and it was not given up");
            }
        });
    }
}
