//! Looks at alerts when a run has ended: once for each rule and run.

mod earlier;
pub(super) mod message;

use std::time::Duration;

use scenario::alert::{Condition, Facts, Window};
use scenario::regression::RunComparison;
use store::{
    Alert, Experiment, NewDelivery, NewFiring, Page, Run, RunEnd, RunKind, RunState, StoreError, report_without_output,
};

use super::repeat::Next;
use crate::app::App;
use message::Fired;

/// Lease on the end of a run while its alerts are evaluated.
const LEASE: Duration = Duration::from_secs(60);

/// Looks at the alerts of a run, if one has ended.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    let now = app.clock.now();
    let Some(end) = app.store.claim_run_end(now, now + LEASE).await? else { return Ok(Next::soon(&app)) };
    match look(&app, end).await {
        // It was removed meanwhile.
        Ok(()) | Err(StoreError::NotFound(_)) => {}
        // Tried again when the lease has ended.
        Err(error) => return Err(error),
    }
    app.store.run_end_handled(end.run).await?;
    Ok(Next::AtOnce)
}

async fn look(app: &App, end: RunEnd) -> Result<(), StoreError> {
    let run = app.store.run(end.run).await?;
    // Who ends a run knows that it is not whole; what is judged again was looked at before.
    if run.state != RunState::Finished || run.kind != RunKind::Acted {
        return Ok(());
    }
    let experiment = app.store.experiment(end.run.experiment).await?;
    let alerts = app.store.alerts(Some(&experiment.owner), Page::ALL).await?.items;
    for alert in alerts.iter().filter(|alert| concerns(alert, &experiment)) {
        look_at(app, alert, &experiment, &run).await?;
    }
    Ok(())
}

fn concerns(alert: &Alert, experiment: &Experiment) -> bool {
    alert.new.events.is_empty() && alert.new.eval_id.as_ref().is_none_or(|id| *id == experiment.spec.spec_id)
}

/// Fires an alert if its condition is true of a run.
async fn look_at(app: &App, alert: &Alert, experiment: &Experiment, run: &Run) -> Result<(), StoreError> {
    let Some(now) = &run.score else { return Ok(()) };
    let condition = match Condition::parse(&alert.new.condition) {
        Ok(condition) => condition,
        Err(mistake) => {
            tracing::warn!("alert {} has a condition that cannot be read: {mistake}", alert.new.id);
            return Ok(());
        }
    };
    let window = alert.new.window.as_deref().and_then(|window| window.parse::<Window>().ok());
    let earlier = match condition.looks_back() {
        true => earlier::find(app, experiment, run, window).await?,
        false => None,
    };
    let before = match earlier {
        Some(earlier) => Some((app.store.run(earlier.run.id).await?, earlier.experiment)),
        None => None,
    };
    let comparison = match &before {
        Some(before) if condition.compares() => Some(compare(app, before, (run, experiment)).await?),
        _ => None,
    };
    let before = before.and_then(|(before, _)| before.score);
    match condition.reason(&Facts { now, before: before.as_ref(), comparison: comparison.as_ref() }) {
        Some(reason) => {
            fire(app, &Fired { alert, experiment, run, score: now, reason: &reason, at: app.clock.now() }).await
        }
        None => Ok(()),
    }
}

/// Compares two runs of one spec, scenario by scenario, as everybody else does.
async fn compare(
    app: &App,
    (before, earlier): &(Run, Experiment),
    (now, experiment): (&Run, &Experiment),
) -> Result<RunComparison, StoreError> {
    let baseline = report_without_output(&app.store, earlier, before).await?;
    let candidate = report_without_output(&app.store, experiment, now).await?;
    Ok(RunComparison::of(&before.id.to_string(), &[baseline], &[candidate]))
}

/// Writes down that an alert fired, together with its message.
async fn fire(app: &App, fired: &Fired<'_>) -> Result<(), StoreError> {
    let Fired { alert, run, reason, at, .. } = *fired;
    let delivery = alert.new.webhook_url.clone().map(|url| NewDelivery {
        id: format!("msg_{}", app.ids.hex(24)),
        url,
        body: message::body(fired).to_string(),
    });
    let firing = NewFiring { alert: alert.new.id.clone(), run: run.id, reason: reason.to_owned() };
    if app.store.fire_alert(&firing, delivery.as_ref(), at).await? {
        tracing::warn!("alert {} ({}) fired for {}: {reason}", alert.new.id, alert.new.name, run.id);
    }
    Ok(())
}
