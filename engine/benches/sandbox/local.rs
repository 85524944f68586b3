//! Sandboxes without an engine, beside bubblewrap, which makes namespaces and nothing else.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use engine::backend::local::{LocalBackend, LocalSettings};
use engine::data_dir::DataDir;
use engine::owner::Owner;
use tokio::process::Command;
use tokio::time::Instant;

use crate::ours::{Ours, TRIVIAL};
use crate::phases::{KINDS, Phases, cycle};
use crate::table::{Series, per_minute};
use crate::{WIDTHS, say};

/// Every cycle is a few milliseconds, so there are more of them.
const MORE: usize = 5;

/// Measures everything without an engine.
pub(crate) async fn measure(cycles: usize) -> io::Result<()> {
    let (ours, cycles) = (connect().await, cycles * MORE);
    for (_, yaml) in KINDS {
        // The first cycle of each pays for caches, and for what a database begins with.
        cycle(&ours, yaml).await;
    }
    let mut bare = Series::new("bwrap --unshare-all true");
    let mut kinds: Vec<_> = KINDS.iter().map(|(name, yaml)| (Phases::new(name), *yaml)).collect();
    for _ in 0..cycles {
        bare.add(bubblewrap().await);
        for (phases, yaml) in &mut kinds {
            phases.add(&cycle(&ours, yaml).await);
        }
    }
    say("\n## Without an engine, one after the other (ms)\n\n| | p50 | p95 | min |\n|---|---|---|---|")?;
    say(&bare.row())?;
    for (phases, _) in &kinds {
        for series in phases.series() {
            say(&series.row())?;
        }
    }
    say("\n## Without an engine, side by side (cycles a minute)\n\n| at once | bwrap | trivial |\n|---|---|---|")?;
    for width in WIDTHS {
        let total = cycles.max(width * 40);
        let bare = per_minute(total, width, bubblewrap).await;
        let rate = per_minute(total, width, || cycle(&ours, TRIVIAL)).await;
        say(&format!("| {width} | {bare:.0} | {rate:.0} |"))?;
    }
    ours.finish().await;
    Ok(())
}

/// The engine without an engine.
async fn connect() -> Ours {
    let folder = tempfile::tempdir().expect("a folder");
    let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
    let owner = Owner::register(data_dir).expect("an owner");
    let backend = LocalBackend::connect(owner, &LocalSettings::default()).await.expect("namespaces");
    Ours { backend: Arc::new(backend), folder }
}

/// Makes namespaces, runs `true` in them, and is done.
async fn bubblewrap() -> Duration {
    let started = Instant::now();
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]);
    let status = command.stdin(Stdio::null()).status().await.expect("bubblewrap: install the package `bubblewrap`");
    assert!(status.success(), "{status}");
    started.elapsed()
}
