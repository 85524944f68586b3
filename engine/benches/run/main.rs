//! Measures the cost of `touchstone run` from its start to its report, beside the Docker calls and the engine that it
//! is made of.
//!
//! `just bench-run` runs it; `docs/benchmarks.md` has the figures. Three ways do the same number of trivial scenarios in
//! turns, so that a slow moment of the machine hits all of them: a raw loop of the Docker calls, the engine alone (in this
//! process, judged, nothing kept), and the release binary as a process of its own, with its store, progress and report.
//!
//! `BENCH_CYCLES` chooses how many scenarios a turn has, `BENCH_ROUNDS` how often each way has its turn.

#[path = "../sandbox/ours.rs"]
mod ours;
mod process;
#[path = "../sandbox/raw.rs"]
mod raw;
#[path = "../sandbox/side_by_side.rs"]
mod side_by_side;
mod turns;

use std::io::{self, Write as _};

use engine::backend::docker::DockerSettings;
use engine::event::Events;
use ours::{Ours, TRIVIAL};
use process::{Process, Waited, cpu};
use raw::Raw;
use side_by_side::side_by_side;
use turns::{Turn, Turns};

/// Number of scenarios in a turn.
const CYCLES: usize = 24;
/// Number of turns of each way.
const ROUNDS: usize = 5;
/// Numbers of scenarios side by side, one row each.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];
/// Numbers of scenarios that a process runs, one row each, and the number of them at once.
const GROWING: [usize; 4] = [1, 10, 50, 200];
const GROWING_WIDTH: usize = 4;

/// The backends and counts of the benchmark.
struct Bench {
    raw: Raw,
    ours: Ours,
    process: Process,
    cycles: usize,
    rounds: usize,
}

/// A way to run scenarios.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// The Docker calls.
    Raw,
    /// The engine, in this process.
    Engine,
    /// The binary.
    Process,
}

fn main() -> io::Result<()> {
    // Under `cargo test --benches` there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (cycles, rounds) = (number("BENCH_CYCLES", CYCLES), number("BENCH_ROUNDS", ROUNDS));
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let raw = Raw::connect().await;
        let ours = Ours::connect(DockerSettings::default()).await;
        let bench = Bench { raw, ours, process: Process::find(), cycles, rounds };
        bench.measure().await?;
        bench.ours.finish().await;
        Ok(())
    })
}

impl Bench {
    async fn measure(&self) -> io::Result<()> {
        // The first of each pays for caches.
        for way in [Way::Raw, Way::Engine, Way::Process] {
            self.turn(way, 1, 1).await;
        }
        let mut widths = Vec::new();
        for width in WIDTHS {
            widths.push((width, self.rounds(width).await));
        }
        throughput(&widths)?;
        added(&widths)?;
        self.growing()
    }

    /// Runs the turns of each way, the first one of a round being another one in each.
    async fn rounds(&self, width: usize) -> [Turns; 3] {
        let mut turns: [Turns; 3] = Default::default();
        for round in 0..self.rounds {
            for step in 0..3 {
                let which = (round + step) % 3;
                let way = [Way::Raw, Way::Engine, Way::Process][which];
                turns[which].add(self.turn(way, self.cycles, width).await);
            }
        }
        turns
    }

    async fn turn(&self, way: Way, count: usize, width: usize) -> Turn {
        let events = Events::nowhere();
        let before = cpu(Waited::No);
        let wall = match way {
            Way::Raw => side_by_side(count, width, || self.raw.cycle()).await,
            Way::Engine => side_by_side(count, width, || self.ours.run(TRIVIAL, &events)).await,
            Way::Process => return self.process.run(count, width),
        };
        Turn { count, wall, cpu: cpu(Waited::No) - before }
    }

    /// Measures the cost of a scenario in processes with more and more of them.
    fn growing(&self) -> io::Result<()> {
        say(&format!(
            "\n## One process, {GROWING_WIDTH} at once, more and more scenarios\n\n\
             | scenarios | all, s | each, ms | processor time each, ms |\n|---|---|---|---|"
        ))?;
        for count in GROWING {
            let mut turns = Turns::default();
            // Many scenarios are a series by themselves.
            for _ in 0..self.rounds.min(if count < 50 { self.rounds } else { 2 }) {
                turns.add(self.process.run(count, GROWING_WIDTH));
            }
            let (wall, cpu) = (turns.wall_each(), turns.cpu_each());
            say(&format!("| {count} | {:.2} | {wall:.1} | {cpu:.1} |", wall * count as f64 / 1000.0))?;
        }
        Ok(())
    }
}

fn throughput(widths: &[(usize, [Turns; 3])]) -> io::Result<()> {
    say("\n## Side by side (scenarios a minute, medians)\n\n\
         | at once | raw | engine | `touchstone run` | share of raw | in single rounds |\n|---|---|---|---|---|---|")?;
    for (width, [raw, engine, process]) in widths {
        let share = process.per_minute() / raw.per_minute() * 100.0;
        let (low, high) = process.shares_of(raw);
        say(&format!(
            "| {width} | {:.0} | {:.0} | {:.0} | {share:.0} % | {:.0} to {:.0} % |",
            raw.per_minute(),
            engine.per_minute(),
            process.per_minute(),
            low * 100.0,
            high * 100.0
        ))?;
    }
    Ok(())
}

fn added(widths: &[(usize, [Turns; 3])]) -> io::Result<()> {
    say("\n## What the process, its worker and its store add to the engine (ms a scenario, medians)\n\n\
         | at once | engine | `touchstone run` | added | processor time: engine | `touchstone run` | added |\n\
         |---|---|---|---|---|---|---|")?;
    for (width, [_, engine, process]) in widths {
        let (wall, cpu) = (process.wall_each() - engine.wall_each(), process.cpu_each() - engine.cpu_each());
        say(&format!(
            "| {width} | {:.1} | {:.1} | {wall:+.1} | {:.1} | {:.1} | {cpu:+.1} |",
            engine.wall_each(),
            process.wall_each(),
            engine.cpu_each(),
            process.cpu_each()
        ))?;
    }
    Ok(())
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
