//! Ends sandboxes whose workers were not heard of in time.

use std::time::Duration;

use store::StoreError;

use super::repeat::Next;
use crate::app::App;

/// The interval between searches.
const OFTEN: Duration = Duration::from_secs(2);

/// Looks once.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    for sandbox in app.store.lose_sandboxes(app.clock.now()).await? {
        tracing::warn!("sandbox {sandbox} was lost");
    }
    Ok(Next::After(OFTEN.min(app.config.look * 8)))
}
