//! Probes the artifact place now and then, so that the server says when evidence cannot be read or agents cannot be
//! uploaded.

use std::time::Duration;

use store::StoreError;

use super::repeat::Next;
use crate::app::App;

/// The interval between probes of the place.
const OFTEN: Duration = Duration::from_secs(30);

/// Probes once.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    app.store.probe_artifacts(&format!("server-{}", app.ids.hex(16))).await?;
    Ok(Next::After(OFTEN))
}
