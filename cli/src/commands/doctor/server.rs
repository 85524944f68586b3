//! The server, when one is named: whether it answers, takes the key, has workers, and has the same time.

use jiff::Timestamp;
use scenario::count_noun;
use store::Clock as _;

use super::Finding;
use crate::client::{Server, ServerOptions};
use crate::clock::SystemClock;

/// Maximum difference between two clocks, in seconds. Leases and signatures of messages live for minutes.
const APART: i64 = 30;
/// A clock that says less than this was never set.
const FIRST_YEAR: i16 = 2025;

/// Looks at the server and the clock.
pub(super) async fn look(options: &ServerOptions) -> Vec<Finding> {
    let now = SystemClock.now();
    let server = match options.named() {
        Ok(Some(server)) => server,
        Ok(None) => return vec![alone(now)],
        Err(error) => return vec![Finding::fail("server", error.to_string(), "look at `--url` or TOUCHSTONE_URL")],
    };
    let date = match server.ask("/healthz").await {
        Ok(answer) => {
            let date = answer.headers().get("date").and_then(|date| date.to_str().ok());
            date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()).map(|date| date.timestamp())
        }
        Err(error) => {
            return vec![Finding::fail("server", error.to_string(), "start it, or look at `--url`"), alone(now)];
        }
    };
    let mut findings = vec![Finding::ok("server", format!("{} answers", server.place()))];
    findings.push(workers(&server).await);
    findings.push(date.map_or_else(|| alone(now), |date| skew(now, date)));
    findings
}

/// Checks that the server accepts the key, and counts its workers.
async fn workers(server: &Server) -> Finding {
    let capacity = match server.get("/v1/capacity").await {
        Ok(capacity) => capacity,
        Err(error) => return Finding::fail("key", error.to_string(), "set TOUCHSTONE_API_KEY"),
    };
    let workers = capacity["workers"].as_array().map_or(0, Vec::len);
    let explanation = capacity["explanation"].as_str().unwrap_or_default();
    if workers == 0 {
        let fix = "start one with `touchstone worker`, or let `touchstone serve` work itself";
        return Finding::warn("key", "is taken, but no worker is there: nothing that is submitted will be run", fix);
    }
    let workers = count_noun(workers, "worker");
    let slots = count_noun(capacity["slots"].as_u64().unwrap_or(0), "slot");
    Finding::ok("key", format!("is taken; {workers} with {slots}; {explanation}"))
}

fn skew(now: Timestamp, there: Timestamp) -> Finding {
    let apart = now.duration_since(there).as_secs();
    if apart.abs() <= APART {
        return Finding::ok("clock", "the same as the server's");
    }
    let word = if apart > 0 { "ahead of" } else { "behind" };
    Finding::warn(
        "clock",
        format!("{} s {word} the server's", apart.abs()),
        "set both by NTP: `timedatectl set-ntp true`",
    )
}

fn alone(now: Timestamp) -> Finding {
    let year = now.to_zoned(jiff::tz::TimeZone::UTC).year();
    if year < FIRST_YEAR {
        return Finding::warn("clock", format!("it says {year}"), "set it: `timedatectl set-ntp true`");
    }
    Finding::ok("clock", format!("it is {}; with `--url` it is compared with a server's", crate::times::second(now)))
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::{Timestamp, alone, skew};

    #[test]
    fn clocks_that_are_apart_are_told() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        assert_eq!(skew(at(1_000), at(1_010)).state, State::Ok);
        assert!(skew(at(1_000), at(2_000)).line().contains("1000 s behind the server's"));
        assert!(skew(at(2_000), at(1_000)).line().contains("1000 s ahead of the server's"));
        assert_eq!(alone(at(0)).state, State::Warn);
    }
}
