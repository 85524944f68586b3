//! Measures the cost of a sandbox beside the Docker calls that it is made of, in one run on one machine.
//!
//! `just bench-sandbox` runs it; `docs/benchmarks.md` has the figures. Every figure stands beside a raw loop of the same
//! Docker calls from the same run, because the engine's own speed is not ours and changes with the machine's mood.

mod local;
mod ours;
mod phases;
mod raw;
mod side_by_side;
mod table;

use std::io::{self, Write as _};
use std::time::Duration;

use engine::backend::docker::DockerSettings;
use ours::{Ours, TRIVIAL};
use phases::{KINDS, Phases, cycle};
use raw::Raw;
use table::{Series, per_minute};

/// Number of cycles in each series; `BENCH_CYCLES` chooses another number.
const CYCLES: usize = 20;
/// Numbers of cycles side by side, one row each.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];

fn main() -> io::Result<()> {
    // Under `cargo test --benches` there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let cycles = std::env::var("BENCH_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(CYCLES);
    let runtime = tokio::runtime::Runtime::new()?;
    // Either is measured alone with `BENCH_BACKEND`.
    let only = std::env::var("BENCH_BACKEND").unwrap_or_default();
    if only != "local" {
        runtime.block_on(measure(cycles))?;
    }
    if only != "docker" {
        runtime.block_on(local::measure(cycles))?;
    }
    Ok(())
}

async fn measure(cycles: usize) -> io::Result<()> {
    let raw = Raw::connect().await;
    let ours = Ours::connect(DockerSettings { creating: 8, destroying: 8, ..DockerSettings::default() }).await;
    // The first cycle of each pays for caches.
    raw.cycle().await;
    cycle(&ours, TRIVIAL).await;
    phases(&raw, &ours, cycles).await?;
    throughput(&raw, &ours, cycles).await?;
    probes(&ours).await?;
    ours.finish().await;
    Ok(())
}

/// Measures phases one after the other: the raw calls and each kind of scenario take turns, so that a slow moment hits
/// all of them.
async fn phases(raw: &Raw, ours: &Ours, cycles: usize) -> io::Result<()> {
    let mut raw_series = Series::new("raw: create, start, remove");
    let mut kinds: Vec<_> = KINDS.iter().map(|(name, yaml)| (Phases::new(name), *yaml)).collect();
    for _ in 0..cycles {
        raw_series.add(raw.cycle().await);
        for (phases, yaml) in &mut kinds {
            phases.add(&cycle(ours, yaml).await);
        }
    }
    say("\n## One after the other (ms)\n\n| | p50 | p95 | min |\n|---|---|---|---|")?;
    say(&raw_series.row())?;
    for (phases, _) in &kinds {
        for series in phases.series() {
            say(&series.row())?;
        }
    }
    let raw_median = raw_series.median();
    for (phases, _) in &kinds {
        let added = phases.total.median().as_secs_f64() / raw_median.as_secs_f64() - 1.0;
        say(&format!("\nadded over raw, {}: {:+.1} % (medians)", phases.name, added * 100.0))?;
    }
    Ok(())
}

/// Side by side: cycles a minute.
async fn throughput(raw: &Raw, ours: &Ours, cycles: usize) -> io::Result<()> {
    say("\n## Side by side (cycles a minute)\n\n| at once | raw | trivial | share of raw |\n|---|---|---|---|")?;
    for width in WIDTHS {
        let total = cycles.max(width * 4);
        let raw_rate = per_minute(total, width, || raw.cycle()).await;
        let our_rate = per_minute(total, width, || cycle(ours, TRIVIAL)).await;
        say(&format!("| {width} | {raw_rate:.0} | {our_rate:.0} | {:.0} % |", our_rate / raw_rate * 100.0))?;
    }
    Ok(())
}

/// Measures the duration of one probe: many of a kind in one sandbox.
async fn probes(ours: &Ours) -> io::Result<()> {
    say("\n## Probes (ms each, in one sandbox)\n\n| | p50 | p95 | min |\n|---|---|---|---|")?;
    for (name, check) in [
        ("a file probe", "{type: file_content, path: out.txt, contains: x}"),
        ("a command probe", "{type: command_exit, command: 'true'}"),
    ] {
        let mut series = Series::new(name);
        for took in phases::probes(ours, check).await {
            series.add(took);
        }
        say(&series.row())?;
    }
    Ok(())
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// Milliseconds with one digit.
fn milliseconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1000.0)
}
