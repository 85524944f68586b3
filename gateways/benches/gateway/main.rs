//! Measures the time that a gateway adds to a request, beside a plain server that gives the same answer in the same
//! run.
//!
//! `just bench-gateway` runs it; `docs/benchmarks.md` has the figures. Client, gateways and plain servers share this
//! process and its cores, on loopback: the path through a gateway is the one that it has in a sandbox, where only the
//! listener comes from another place.

mod client;
mod direct;
mod egress;
mod memory;
mod mock;
mod model;
mod series;
mod target;
mod tools;

use std::io::{self, Write as _};

use client::Client;
use series::Series;
use target::{Pair, Target};
use tokio::time::Instant;

/// Number of requests for each latency; `BENCH_REQUESTS` chooses another number.
const REQUESTS: usize = 5_000;
/// Number of requests that are sent before anything is measured.
const WARM_UP: usize = 200;
/// Numbers of connections that send at once, one row each.
const WIDTHS: [usize; 4] = [1, 4, 16, 64];
/// After how many requests the memory is looked at.
const LOOKS: [usize; 6] = [1_000, 10_000, 20_000, 40_000, 70_000, 100_000];

fn main() -> io::Result<()> {
    // Under `cargo test --benches` there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let requests = std::env::var("BENCH_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(REQUESTS);
    tokio::runtime::Runtime::new()?.block_on(measure(requests))
}

async fn measure(requests: usize) -> io::Result<()> {
    // First, because memory that was freed before would hide what is taken later.
    memory("mock", mock::small().await).await?;
    memory("tool", tools::mocked().await).await?;
    latency(requests).await?;
    throughput(requests * 4).await
}

/// The memory of this process while one mock or tool gets many requests. A mock keeps the first 10,000 and a tool the first
/// 20,000, and the rest are counted.
async fn memory(what: &str, pair: Pair) -> io::Result<()> {
    say(&format!("\n## Memory (VmRSS, MiB)\n\n| requests of a {what} | of the process |\n|---|---|"))?;
    let mut client = Client::connect(&pair.gateway).await;
    say(&format!("| 0 | {:.1} |", memory::resident_mib()?))?;
    let mut sent = 0;
    for look in LOOKS {
        while sent < look {
            client.ask().await;
            sent += 1;
        }
        say(&format!("| {sent} | {:.1} |", memory::resident_mib()?))?;
    }
    Ok(())
}

/// Measures latency: one request after the other on one connection each. A plain server and a gateway take turns, so
/// that a slow moment hits both.
async fn latency(requests: usize) -> io::Result<()> {
    say("\n## Latency (µs)\n\n| | plain p50 | plain p99 | gateway p50 | gateway p99 | added p50 | added p99 |")?;
    say("|---|---|---|---|---|---|---|")?;
    let pairs = [mock::pairs().await, tools::pairs().await, model::pairs().await, egress::pairs().await];
    for pair in pairs.into_iter().flatten() {
        let (mut plain, mut gateway) = (Client::connect(&pair.plain).await, Client::connect(&pair.gateway).await);
        for _ in 0..WARM_UP {
            plain.ask().await;
            gateway.ask().await;
        }
        let (mut first, mut all) = (Beside::default(), Beside::default());
        for _ in 0..requests {
            let (of_plain, of_gateway) = (plain.ask().await, gateway.ask().await);
            first.add(of_plain.first, of_gateway.first);
            all.add(of_plain.all, of_gateway.all);
        }
        if pair.is_streamed {
            say(&first.row(&format!("{}: first part", pair.name)))?;
        }
        say(&all.row(pair.name))?;
    }
    Ok(())
}

/// Times of a plain server and of a gateway.
#[derive(Debug, Default)]
struct Beside {
    plain: Series,
    gateway: Series,
}

impl Beside {
    fn add(&mut self, plain: std::time::Duration, gateway: std::time::Duration) {
        self.plain.add(plain);
        self.gateway.add(gateway);
    }

    /// A row of a table.
    fn row(&self, name: &str) -> String {
        let micros = |series: &Series, percent| series.quantile(percent).as_secs_f64() * 1e6;
        let [plain, gateway] = [&self.plain, &self.gateway].map(|series| [micros(series, 50), micros(series, 99)]);
        let added = [gateway[0] - plain[0], gateway[1] - plain[1]];
        let cells: Vec<_> = [plain, gateway, added].concat().iter().map(|micros| format!("{micros:.0}")).collect();
        format!("| {name} | {} |", cells.join(" | "))
    }
}

/// Several connections at once: requests a second through one mock.
async fn throughput(requests: usize) -> io::Result<()> {
    say("\n## Requests a second\n\n| connections | plain | one mock | share |\n|---|---|---|---|")?;
    for width in WIDTHS {
        let Pair { plain, gateway, .. } = mock::small().await;
        let plain = rate(&plain, requests, width).await;
        let gateway = rate(&gateway, requests, width).await;
        say(&format!("| {width} | {plain:.0} | {gateway:.0} | {:.0} % |", gateway / plain * 100.0))?;
    }
    Ok(())
}

async fn rate(target: &Target, requests: usize, width: usize) -> f64 {
    let connections = futures::future::join_all((0..width).map(|_| Client::connect(target))).await;
    let started = Instant::now();
    let tasks = connections.into_iter().map(|mut client| {
        tokio::spawn(async move {
            for _ in 0..requests / width {
                client.ask().await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("all requests");
    }
    (requests / width * width) as f64 / started.elapsed().as_secs_f64()
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
