// SPDX-License-Identifier: GPL-2.0-only
//! What the criterion benches of the fast paths share: which rows of `fairlab bench` they have, and how a row becomes
//! an iteration of criterion's.

use sched_hosted::bench::cycle::Player;
use sched_hosted::bench::rows::{Path, Row, select};
use std::time::Duration;

/// The rows: every number of tasks without groups and with equal weights, and 15 tasks in all other situations.
pub const ROWS: &str = "*/*/0/equal,*/15";

/// The rows of `path`, grouped by nothing: each needs a station of its own.
///
/// # Panics
/// Never: [`ROWS`] names rows.
pub fn rows_of(path: Path) -> Vec<Row> {
    let mut rows = select(ROWS).expect("they are rows");
    rows.retain(|row| row.path == path);
    rows
}

/// The time of `iterations` operations of `path`: of as many cycles as have so many, scaled.
pub fn time(player: &mut Player<'_>, path: Path, iterations: u64, overhead_ns: u64) -> Duration {
    let (mut ns, mut ops) = (0, 0);
    // A path that is hardly ever met must not run for ever.
    for _ in 0..iterations.max(64) {
        let timed = player.cycle(path);
        if timed.ops > 0 {
            ns += timed.ns.saturating_sub(overhead_ns);
            ops += timed.ops;
        }
        if ops >= iterations {
            break;
        }
    }
    Duration::from_nanos((ns as f64 * iterations as f64 / ops.max(1) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_rows() {
        for path in Path::ALL {
            assert_eq!(rows_of(path).len(), 5 + 8, "{}", path.name());
        }
    }
}
