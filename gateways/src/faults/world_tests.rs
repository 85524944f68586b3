//! Tests of faults of the sandbox itself: their beginnings and ends, and their records.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use scenario::evidence::Evidence;

use super::testing::engine_at;
use super::{ChangeError, FaultEngine, ToolRequest, WorldChanger, WorldMode};
use crate::Gateway as _;
use crate::clock::Clock;

/// Changer that records its calls, and refuses to replace files.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<String>>);

#[async_trait]
impl WorldChanger for Told {
    async fn begin(&self, rule: usize, mode: &WorldMode) -> Result<(), ChangeError> {
        self.0.lock().expect("nobody panics").push(format!("begin {rule}"));
        match mode {
            WorldMode::File(scenario::spec::sections::FileFaultMode::ChangedUnderneath(_)) => {
                Err(ChangeError::OutsideWorkspace)
            }
            _ => Ok(()),
        }
    }

    async fn end(&self, rule: usize, _: &WorldMode) {
        self.0.lock().expect("nobody panics").push(format!("end {rule}"));
    }
}

impl Told {
    fn all(&self) -> String {
        self.0.lock().expect("nobody panics").join(", ")
    }
}

async fn engine(faults: &str) -> (FaultEngine, Arc<Told>, Arc<Clock>) {
    let (told, clock) = (Arc::new(Told::default()), Arc::new(Clock::default()));
    let engine = engine_at(faults, 1, Arc::clone(&clock)).changing(Arc::<Told>::clone(&told));
    engine.begin().await;
    clock.start();
    (engine, told, clock)
}

async fn call(engine: &FaultEngine, service: &str) {
    engine.before_tool(ToolRequest { service, method: "GET", path: "/orders", url: "http://x/orders" }).await;
}

#[tokio::test]
async fn a_fault_without_a_beginning_holds_from_the_agents_start_to_its_end() {
    let (engine, told, _) = engine("file_faults: [{mode: disk_full}, {mode: read_only, path: a}]").await;
    assert_eq!(told.all(), "begin 0, begin 1");
    engine.release().await;
    engine.release().await;
    assert_eq!(told.all(), "begin 0, begin 1, end 1, end 0", "what began last ends first, and once");
}

#[tokio::test]
async fn a_fault_begins_at_the_calls_that_its_trigger_picks() {
    let faults = "file_faults: [{mode: disk_full, calls_of: shop, on_calls: [2, 3]}], \
                  clock_faults: [{mode: jump, by: 1h, calls_of: model}]";
    let (engine, told, _) = engine(faults).await;
    call(&engine, "mail").await;
    call(&engine, "shop").await;
    assert_eq!(told.all(), "");
    call(&engine, "shop").await;
    assert_eq!(told.all(), "begin 0");
    call(&engine, "shop").await;
    engine.before_model().await;
    engine.before_model().await;
    assert_eq!(told.all(), "begin 0, begin 1, begin 1", "a full disk cannot be filled again, and a clock jumps again");
    engine.release().await;
    call(&engine, "shop").await;
    let record = engine.record();
    let counts: Vec<_> = record.rules.iter().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(counts, [(3, 1), (2, 2)]);
    assert_eq!(record.firings.len(), 3);
}

#[tokio::test]
async fn a_fault_begins_at_its_time_and_ends_after_it() {
    let faults = "file_faults: [{mode: disk_full, at: 100ms, for: 100ms}, \
                  {mode: read_only, path: a, between: [20ms, 600ms]}]";
    let (engine, told, clock) = engine(faults).await;
    assert_eq!(told.all(), "");
    while told.all() != "begin 1, begin 0, end 0, end 1" {
        assert!(clock.elapsed_ms() < 30_000, "only {}", told.all());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let firings = engine.record().firings;
    assert_eq!(
        firings.iter().map(|firing| firing.rule.as_str()).collect::<Vec<_>>(),
        ["file_faults[1]", "file_faults[0]"]
    );
    assert!(firings[0].at_ms >= 20 && firings[1].at_ms >= 100 && clock.elapsed_ms() >= 600);
    engine.release().await;
    assert_eq!(told.all(), "begin 1, begin 0, end 0, end 1", "what has ended does not end again");
}

#[tokio::test]
async fn a_fault_that_changes_nothing_is_none_and_says_why() {
    let (engine, told, _) = engine("file_faults: [{mode: changed_underneath, path: a, content: x}]").await;
    engine.seal().await;
    assert_eq!(told.all(), "begin 0");
    let mut evidence = Evidence::default();
    crate::Gateway::record(&engine, &mut evidence);
    assert_eq!(evidence.notes, ["file_faults[0] changed nothing: its path leaves the workspace"]);
    assert!(evidence.faults.is_some_and(|faults| faults.is_vacuous()));
}
