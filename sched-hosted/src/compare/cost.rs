// SPDX-License-Identifier: GPL-2.0-only
//! Part 3: what the scheduler's own work costs, in ns of this machine's time.
//!
//! The operations that a side's own closed loop does on one CPU are recorded first, and then carried out at full
//! speed on fresh machines: no counters, no digests, no check whether they are legal, no simulation. What is left
//! besides the class is a match on the operation and the list of operations itself. Base, patch and base again
//! take turns; base against base again shows what this machine's noise is.

use super::side::Side;
use super::spread::{Median, median};
use super::{Interrupt, Plan};
use crate::error::Result;
use crate::ops::driver::Driver;
use crate::ops::{Class, Header, Names, Op};
use crate::sim::Limits;
use crate::sim::drive::Recorder;
use crate::workload::kind::Kind;
use serde::Serialize;
use std::time::Instant;

/// A sample is the sum over chunks of the fastest of so many replays: what disturbs a replay only ever makes it slower,
/// and a chunk is short against the time slices of the machine that runs this.
const REPLAYS: u32 = 5;
/// Statements of a chunk; reading the clock once a chunk does not show.
const CHUNK: usize = 2048;
/// Operations that are recorded at most: what the memory holds without harm.
const OPS_MAX: u64 = 2_000_000;

/// The answer of part 3.
#[derive(Debug, Serialize)]
pub struct Cost {
    /// What the time is given for: a hand-off, a wakeup of a recording, or an operation where there are none.
    pub unit: &'static str,
    /// Hand-offs in a replay, base and patch.
    pub hand_offs: [u64; 2],
    /// Operations in a replay, base and patch.
    pub ops: [u64; 2],
    /// Runs that were measured.
    pub runs: u32,
    /// ns per unit: base, patch, base again.
    pub ns: [Median; 3],
    /// Patch against the mean of the two bases, percent, run by run.
    pub change_percent: Median,
    /// How far base again lies from base, run by run, percent: the median and half the distance of the quartiles.
    pub noise_percent: f64,
    /// The change is more than twice that, and more than the distance of its own quartiles.
    pub exceeds_spread: bool,
}

/// A side's operations, ready to be replayed: of one CPU, or of each CPU of a real recording.
struct Recording {
    side: Side,
    cpus: Vec<Cpu>,
    hand_offs: u64,
    ops: u64,
}

struct Cpu {
    header: Header,
    names: Names,
    ops: Vec<Op>,
}

/// Measures both sides.
///
/// Errors: those of the drivers.
pub fn run(plan: &Plan, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<Cost> {
    let base = record(plan, plan.base)?;
    let patch = record(plan, plan.patch)?;
    let in_hand_offs = base.hand_offs > 0 && patch.hand_offs > 0;
    for warm_up in [&base, &patch] {
        warm_up.sample(in_hand_offs)?;
    }
    let mut samples: [Vec<f64>; 3] = Default::default();
    for run in 0..plan.runs {
        if run > 0 && interrupt.is_set() {
            break;
        }
        for (side, samples) in [&base, &patch, &base].into_iter().zip(&mut samples) {
            samples.push(side.sample(in_hand_offs)?);
        }
        progress(u64::from(run) + 1);
    }
    let unit = if in_hand_offs { plan.source.kind.unit() } else { "operation" };
    Ok(judge(unit, &base, &patch, &samples))
}

fn judge(unit: &'static str, base: &Recording, patch: &Recording, samples: &[Vec<f64>; 3]) -> Cost {
    let [first, patched, again] = samples;
    let percent = |a: f64, b: f64| if b > 0.0 { (a / b - 1.0) * 100.0 } else { 0.0 };
    let runs = first.len();
    let changes: Vec<f64> =
        (0..runs).map(|run| percent(patched[run], (first[run] + again[run]) / 2.0)).collect();
    let drifts: Vec<f64> = (0..runs).map(|run| percent(again[run], first[run])).collect();
    let change_percent = median(&changes);
    let drift = median(&drifts);
    let noise_percent = drift.median.abs() + drift.half_iqr;
    let spread = 2.0 * noise_percent.max(change_percent.half_iqr);
    Cost {
        unit,
        hand_offs: [base.hand_offs, patch.hand_offs],
        ops: [base.ops, patch.ops],
        runs: runs as u32,
        ns: [median(first), median(patched), median(again)],
        change_percent,
        noise_percent,
        exceeds_spread: change_percent.median.abs() > spread,
    }
}

fn record(plan: &Plan, side: Side) -> Result<Recording> {
    let cpus = match plan.source.kind {
        Kind::Trace(_) => plan.source.cpus(),
        _ => 1,
    };
    let limits = Limits { hand_offs: plan.timed_hand_offs(), ..Limits::ops(OPS_MAX / cpus.max(1)) };
    let mut recording = Recording { side, cpus: Vec::new(), hand_offs: 0, ops: 0 };
    for cpu in 0..cpus {
        let script = plan.source.script(cpu, 0);
        let (header, names) = (script.header(), script.names());
        let (ops, stats) = side.with(&header, &names, (), |driver| {
            let mut recorder = Recorder { class: driver, ops: Vec::new() };
            let (stats, _) = script.play(&mut recorder, limits);
            (recorder.ops, stats)
        })?;
        recording.hand_offs += stats.hand_offs;
        recording.ops += stats.ops;
        recording.cpus.push(Cpu { header, names, ops });
    }
    Ok(recording)
}

impl Recording {
    /// ns per hand-off, or per operation: of some replays, each chunk's fastest.
    fn sample(&self, in_hand_offs: bool) -> Result<f64> {
        let mut total_ns = 0;
        for cpu in &self.cpus {
            let mut fastest_ns = vec![u64::MAX; cpu.ops.len().div_ceil(CHUNK)];
            for _ in 0..REPLAYS {
                let replay =
                    |driver: &mut Driver<'_, ()>| replay(driver, &cpu.ops, &mut fastest_ns);
                self.side.with(&cpu.header, &cpu.names, (), replay)?;
            }
            total_ns += fastest_ns.iter().sum::<u64>();
        }
        let units = if in_hand_offs { self.hand_offs } else { self.ops };
        Ok(total_ns as f64 / units.max(1) as f64)
    }
}

/// Carries out `ops`, chunk by chunk; `fastest_ns` keeps what each took at least so far.
// The one thing that is measured here is what the machine's clock says; it decides nothing that is simulated.
#[allow(clippy::disallowed_methods)]
fn replay(class: &mut impl Class, ops: &[Op], fastest_ns: &mut [u64]) {
    let mut start = Instant::now();
    for (chunk, fastest_ns) in ops.chunks(CHUNK).zip(fastest_ns) {
        for op in chunk {
            class.run(op);
        }
        let end = Instant::now();
        *fastest_ns = (*fastest_ns).min((end - start).as_nanos() as u64);
        start = end;
    }
}
