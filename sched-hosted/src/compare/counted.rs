// SPDX-License-Identifier: GPL-2.0-only
//! Parts 2 and 4: each side driven by the workload's own closed loop, with counters on.
//!
//! One set of simulations answers both: how often the touched paths run, and what happens to virtual time. Base and
//! patch get the same seeds, so a difference is the patch's. The runs differ in the seeds of jitter and tick phase.

use super::guard::quietly;
use super::side::{Side, Tally};
use super::spread::{Mean, mean};
use super::{Interrupt, Plan};
use crate::error::Result;
use crate::sim::{Plain, Stats};
use rayon::prelude::*;
use sched_core::trace::{Counter, Counters, Site};
use serde::Serialize;

/// The counters of part 2, in the order in which they are shown, with the words for them.
const WANTED: &[(Counter, &str)] = &[
    (Counter::ContextSwitch, "context switches"),
    (Counter::Preemption, "preemptions"),
    (Counter::EnqueueTaskFair, "full enqueues"),
    (Counter::RequeueDelayedEntity, "delayed requeues"),
    (Counter::DelayedPick, "delayed picks"),
    (Counter::SetDelayed, "set_delayed"),
    (Counter::PlaceEntity, "place_entity"),
    (Counter::EnqueueEntity, "tree insertions"),
    (Counter::DequeueChargeSkipped, "leading charges skipped"),
];

/// The row of hand-offs that needed no wakeup, since whom it was for was awake.
pub const FOUND_AWAKE: &str = "peer found awake";

/// Rows that are shown only if they are not 0 on both sides.
const IF_ANY: &[Counter] = &[Counter::DequeueChargeSkipped];

/// One side's simulations, added up.
struct Driven {
    /// Of each run, all CPUs together.
    runs: Vec<Stats>,
    total: Stats,
    tally: Tally,
}

/// The answer of part 2.
#[derive(Debug, Serialize)]
pub struct Often {
    /// What is counted as a hand-off: `hand-off`, or `operation` for a file.
    pub unit: &'static str,
    /// Hand-offs simulated, base and patch.
    pub hand_offs: [u64; 2],
    /// How often something happened.
    pub rows: Vec<Row>,
    /// Calls of update_curr() by the function they stand in.
    pub update_curr: Vec<Call>,
    /// Statements that were not legal and were left out, base and patch.
    pub skipped: [u64; 2],
    /// The first of those, base and patch: its line and why.
    pub first_skipped: [Option<String>; 2],
}

/// How often something happened, base and patch.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What.
    pub what: &'static str,
    /// How often in all.
    pub count: [u64; 2],
    /// For each hand-off.
    pub per_hand_off: [f64; 2],
    /// For each million hand-offs.
    pub per_million: [f64; 2],
}

/// Calls of update_curr() from one place, base and patch.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// The function.
    pub site: &'static str,
    /// Calls for each million hand-offs.
    pub per_million: [f64; 2],
    /// The share of them that had nothing to charge, 0 to 1.
    pub nothing_share: [f64; 2],
}

/// The answer of part 4.
#[derive(Debug, Serialize)]
pub struct Time {
    /// What is counted: as in part 2.
    pub unit: &'static str,
    /// Runs, each with a seed of its own.
    pub runs: usize,
    /// Hand-offs per virtual second, all CPUs together, over the runs: base and patch.
    pub per_second: [Mean; 2],
    /// Patch against base, run by run, in percent.
    pub change_percent: Mean,
    /// Wakeup latency percentiles.
    pub latency: Vec<Latency>,
    /// Wakeups measured, base and patch.
    pub wakeups: [u64; 2],
}

/// A percentile of the wakeup latency, from the wakeup to the moment when the task runs.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// `p50` and so on, or `max`.
    pub what: &'static str,
    /// Base and patch, ns.
    pub ns: [u64; 2],
}

/// Simulates both sides; done early if interrupted.
///
/// Errors: those of the drivers.
pub fn run(plan: &Plan, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<(Often, Time)> {
    let base = drive(plan, plan.base, interrupt, progress)?;
    let patch = drive(plan, plan.patch, interrupt, progress)?;
    let sides = [&base, &patch];
    let cpus = plan.source.cpus();
    Ok((often(plan, sides), time(plan.source.kind.unit(), sides, cpus)))
}

fn drive(plan: &Plan, side: Side, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<Driven> {
    let mut driven = Driven { runs: Vec::new(), total: Stats::default(), tally: Tally::default() };
    for run in 0..u64::from(plan.counted_runs()) {
        if run > 0 && interrupt.is_set() {
            break;
        }
        let machines: Vec<Result<(Stats, Tally)>> = (0..plan.source.cpus())
            .into_par_iter()
            .map(|cpu| match quietly(|| machine(plan, side, cpu, run)) {
                Ok(result) => result,
                // Taken up again on the thread that knows what to do about it, without a word from this one.
                Err(what) => std::panic::resume_unwind(Box::new(what)),
            })
            .collect();
        let mut stats = Stats::default();
        for machine in machines {
            let (of_cpu, tally) = machine?;
            stats.add(&of_cpu);
            driven.tally.add(&tally);
        }
        driven.total.add(&stats);
        driven.runs.push(stats);
        progress(run + 1);
    }
    Ok(driven)
}

fn machine(plan: &Plan, side: Side, cpu: u64, run: u64) -> Result<(Stats, Tally)> {
    let script = plan.source.script(cpu, run);
    let (header, names) = (script.header(), script.names());
    side.with(&header, &names, Counters::default(), |driver| {
        let hooks = driver.hooks();
        let count = || Tally::of(hooks, WANTED.iter().map(|&(counter, _)| counter));
        let mut of_setup = Tally::default();
        let mut plain = Plain(driver);
        let ready = |_: &_| of_setup = count();
        let (stats, _) = script.play_after_setup(&mut plain, plan.counted_limits(), ready);
        (stats, count().less(&of_setup))
    })
}

fn ratio(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

fn both<T, R>(sides: [&T; 2], f: impl Fn(&T) -> R) -> [R; 2] {
    sides.map(f)
}

fn often(plan: &Plan, sides: [&Driven; 2]) -> Often {
    let hand_offs = both(sides, |side| side.total.hand_offs);
    let row = |what, count: [u64; 2]| {
        let per_hand_off = [ratio(count[0], hand_offs[0]), ratio(count[1], hand_offs[1])];
        Row { what, count, per_hand_off, per_million: per_hand_off.map(|rate| rate * 1e6) }
    };
    let mut rows: Vec<Row> = Vec::new();
    for &(counter, what) in WANTED {
        let count = both(sides, |side| side.tally.get(counter));
        if count != [0, 0] || !IF_ANY.contains(&counter) {
            rows.push(row(what, count));
        }
    }
    if plan.source.kind.is_closed_loop() {
        let awake = both(sides, |side| side.total.hand_offs.saturating_sub(side.total.wakes));
        rows.insert(2, row(FOUND_AWAKE, awake));
    }
    let calls = |site| both(sides, |side: &Driven| side.tally.calls(site));
    let update_curr = Site::ALL.into_iter().filter(|&site| calls(site) != [0, 0]).map(|site| {
        let calls = calls(site);
        let nothing = both(sides, |side| side.tally.nothing(site));
        Call {
            site: site.name(),
            per_million: [0, 1].map(|side| ratio(calls[side], hand_offs[side]) * 1e6),
            nothing_share: [0, 1].map(|side| ratio(nothing[side], calls[side])),
        }
    });
    let update_curr = update_curr.collect();
    let skipped = both(sides, |side| side.total.skipped);
    let first_skipped = both(sides, |side| side.total.first_skipped.clone());
    let unit = plan.source.kind.unit();
    Often { unit, hand_offs, rows, update_curr, skipped, first_skipped }
}

fn time(unit: &'static str, sides: [&Driven; 2], cpus: u64) -> Time {
    // A run's virtual time is that of all its CPUs added up, and they ran side by side.
    let rates = |side: &Driven| -> Vec<f64> {
        let rate = |run: &Stats| ratio(run.hand_offs, run.virtual_ns) * 1e9 * cpus as f64;
        side.runs.iter().map(rate).collect()
    };
    let [base, patch] = both(sides, rates);
    let change =
        |(base, patch): (&f64, &f64)| if *base > 0.0 { (patch / base - 1.0) * 100.0 } else { 0.0 };
    let changes: Vec<f64> = base.iter().zip(&patch).map(change).collect();
    let latency =
        [("p50", 50_000), ("p90", 90_000), ("p99", 99_000), ("p99.9", 99_900), ("max", 100_000)]
            .into_iter()
            .map(|(what, at)| Latency {
                what,
                ns: both(sides, |side| side.total.latency_percentile_ns(at)),
            })
            .collect();
    Time {
        unit,
        runs: changes.len(),
        per_second: [mean(&base), mean(&patch)],
        change_percent: mean(&changes),
        latency,
        wakeups: both(sides, |side| side.total.wakeup_latency_ns.len()),
    }
}
