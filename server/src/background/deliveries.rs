//! Sends messages, each until it arrives or is given up.

use std::time::Duration;

use jiff::Timestamp;
use store::{Delivery, StoreError};

use super::repeat::Next;
use crate::app::App;
use crate::webhooks::{Failed, Message, SystemNames, send, sign, target};

/// Lease on a message while it is being sent: longer than sending takes.
const LEASE: Duration = Duration::from_secs(60);
/// The most tries of a message.
const TRIES: u32 = 10;
/// The wait after the first try, and the longest wait. It doubles each time.
const WAITS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60 * 60));

/// Sends a message, if one is due.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    let now = app.clock.now();
    let Some(delivery) = app.store.claim_delivery(now, now + LEASE).await? else { return Ok(Next::soon(&app)) };
    let sent = deliver(&app, &delivery, now).await?;
    let now = app.clock.now();
    let id = &delivery.new.id;
    match sent {
        Ok(()) => app.store.delivery_arrived(&delivery, now).await?,
        Err(Failed::Later(reason)) if delivery.attempts < TRIES => {
            app.retries.observe("sending a message").failed(format_args!("{id}: {reason}"));
            app.store.retry_delivery(&delivery, &reason, now + pause(delivery.attempts)).await?
        }
        Err(Failed::Later(reason) | Failed::Never(reason)) => {
            tracing::warn!("message {id} of alert {} is given up: {reason}", delivery.alert);
            app.store.give_up_delivery(&delivery, &reason, now).await?
        }
    };
    Ok(Next::AtOnce)
}

async fn deliver(app: &App, delivery: &Delivery, now: Timestamp) -> Result<Result<(), Failed>, StoreError> {
    if delivery.attempts > TRIES {
        return Ok(Err(Failed::Never("it was tried often enough".to_owned())));
    }
    if app.store.alert(&delivery.alert).await?.is_none() {
        return Ok(Err(Failed::Never("its alert was removed".to_owned())));
    }
    let target = match target(&delivery.new.url, app.config.private_webhooks) {
        Ok(target) => target,
        Err(error) => return Ok(Err(Failed::Never(error.to_string()))),
    };
    let secret = app.master_key.webhook_secret(&delivery.alert);
    let signature = sign(&secret, now.as_second(), &delivery.new.body);
    let message = Message { id: &delivery.new.id, body: &delivery.new.body, signature: &signature };
    Ok(send(&target, &SystemNames, message).await)
}

/// Computes the wait after so many tries.
fn pause(attempts: u32) -> Duration {
    let (first, most) = WAITS;
    first.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(most)
}

#[cfg(test)]
mod tests {
    use super::pause;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 1000].into_iter().map(|attempts| pause(attempts).as_secs()).collect();
        assert_eq!(seconds, [10, 20, 40, 2560, 3600, 3600]);
    }
}
