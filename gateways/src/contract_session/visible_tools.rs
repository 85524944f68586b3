//! The tools that the agent is shown in lists.

use tokio::sync::watch;

use super::ContractSession;

/// Follows changes of the tools that are shown.
#[derive(Debug)]
pub struct VisibleTools {
    version: watch::Receiver<u64>,
    /// The tools of each session of the workflow; of the only one without a workflow.
    shown: Vec<Vec<String>>,
}

impl ContractSession {
    /// The tools of a list that the agent is shown.
    #[must_use]
    pub fn shown(&self, offered: &[String]) -> Vec<String> {
        let hidden = self.inner.live().hidden(offered);
        let is_hidden = |name: &String| hidden.iter().any(|removed| removed.tool == *name);
        offered.iter().filter(|name| !is_hidden(name)).cloned().collect()
    }

    /// Follows changes of the tools that are shown.
    #[must_use]
    pub fn follow_shown(&self, offered: &[String]) -> VisibleTools {
        VisibleTools { version: self.inner.visible.subscribe(), shown: self.shown_everywhere(offered) }
    }
}

impl VisibleTools {
    /// Waits until other tools are shown than before; for ever when the session is gone.
    pub async fn changed(&mut self, session: &ContractSession, offered: impl Fn() -> Vec<String>) {
        loop {
            if self.version.changed().await.is_err() {
                return std::future::pending().await;
            }
            let shown = session.shown_everywhere(&offered());
            if shown != self.shown {
                self.shown = shown;
                return;
            }
        }
    }
}
