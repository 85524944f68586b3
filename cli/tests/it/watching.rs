//! A user who watches a run that does not begin is told the reason.

use std::fs;

use crate::place::{Place, THERE, local_spec};
use crate::serving::Served;

/// The scenario that takes the only slot runs for longer than the test.
const LONG: &str = "sleep 120; touch out";

#[test]
fn why_nothing_happens_is_told_and_again_when_the_reason_changes() {
    let place = Place::new(&local_spec("touch out", THERE));
    let served = Served::start(&place, &["--no-worker"]);
    let long = place.path().join("long.yaml");
    fs::write(&long, local_spec(LONG, THERE)).expect("a spec");
    let first = place.watch(&served, &["submit", &long.display().to_string()]).end();
    assert_eq!(first.0.code(), Some(0), "{}", first.1);

    let mut watching = place.watch(&served, &["submit", &place.spec().display().to_string(), "--watch"]);
    assert!(watching.wait_for("waiting: 2 scenarios wait: no worker is there; start one"), "{}", watching.told);

    // A worker that is there, and takes nothing.
    let mut full = place.begin(&["worker", "--backend", "local", "--free-disk", "900000Gi"]);
    assert!(full.wait_for("touchstone: working with "), "{}", full.told);
    assert!(watching.wait_for("of disk are free"), "{}", watching.told);
    assert!(watching.told.contains("no worker takes anything ("), "{}", watching.told);
    full.signal("TERM");
    full.end();

    // A worker that has its only slot taken.
    let mut busy = place.begin(&["worker", "--backend", "local", "--max-concurrent", "1", "--drain-for", "1s"]);
    assert!(busy.wait_for("touchstone: working with "), "{}", busy.told);
    assert!(watching.wait_for("--max-concurrent"), "{}", watching.told);
    watching.signal("INT");
    let (status, told) = watching.end();
    assert_eq!(status.code(), Some(130), "{told}");
    assert_eq!(told.matches("of disk are free").count(), 1, "told once while it does not change: {told}");
    busy.signal("TERM");
    busy.end();
}
