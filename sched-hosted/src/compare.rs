// SPDX-License-Identifier: GPL-2.0-only
//! The main job: base, patch, base. Is a patch idea safe, does it change anything, how often does it matter, what
//! does it cost, what does it do to time, and is it worth it?
//!
//! Both sides run in one process, as machines with other patch bits. [`same`] answers part 1, [`counted`] parts 2 and
//! 4, [`cost`] part 3, and [`verdict`] puts it in words. [`crate::report`] shows it.

pub mod cost;
pub mod counted;
pub mod guard;
pub mod same;
pub mod side;
pub(crate) mod spread;
pub mod verdict;

use crate::error::{Error, Result, quote};
use crate::sim::Limits;
use crate::workload::kind::{Kind, Source};
use sched_core::patches::{Patches, TABLE};
use serde::Serialize;
use side::Side;
pub use spread::{Mean, Median};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A comparison to be made.
pub struct Plan {
    /// The side without the patches.
    pub base: Side,
    /// The side with them.
    pub patch: Side,
    /// The workload of both.
    pub source: Source,
    /// How many random operations part 1 runs.
    pub ops: u64,
    /// How many runs parts 2 to 4 make.
    pub runs: u32,
    /// The directory in which files that replay a finding are written.
    pub out_dir: PathBuf,
}

/// Hand-offs in one counted run, of all its CPUs together, and the least and most of one CPU.
const COUNTED_HAND_OFFS: u64 = 150_000;
const COUNTED_OF_A_CPU: (u64, u64) = (1_000, 100_000);
/// Hand-offs in the recording that is replayed to take time.
const TIMED_HAND_OFFS: u64 = 50_000;
/// Operations that each CPU of a file or a recording runs in lockstep, at most.
const LOCKSTEP_OPS_FILE: u64 = 2_000_000;
/// The same for the other workloads, where there are few tasks; each comparison looks at all of them.
const LOCKSTEP_OPS: u64 = 20_000;

impl Plan {
    fn counted_limits(&self) -> Limits {
        if matches!(self.source.kind, Kind::File { .. } | Kind::Trace(_)) {
            return Limits::hand_offs(u64::MAX);
        }
        let (least, most) = COUNTED_OF_A_CPU;
        Limits::hand_offs((COUNTED_HAND_OFFS / self.source.cpus()).clamp(least, most))
    }

    fn lockstep_limits(&self) -> Limits {
        match self.source.kind {
            Kind::File { .. } | Kind::Trace(_) => Limits::ops(LOCKSTEP_OPS_FILE),
            Kind::PipeHandoff { .. } => Limits::ops(LOCKSTEP_OPS),
            Kind::PipeRing { tasks, .. } => {
                Limits::ops((LOCKSTEP_OPS * 32 / u64::from(tasks)).clamp(200, LOCKSTEP_OPS))
            }
        }
    }

    fn timed_hand_offs(&self) -> u64 {
        TIMED_HAND_OFFS
    }

    /// A file has no seed: one run says all.
    fn counted_runs(&self) -> u32 {
        if self.source.kind.is_closed_loop() { self.runs } else { 1 }
    }
}

/// Set by Ctrl-C: what is under way ends soon, with what it has.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks for the end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The patches that a comma-separated list names.
///
/// Errors: an unknown name, an empty list.
pub fn parse_patches(list: &str) -> Result<Patches> {
    let mut patches = Patches::empty();
    for name in list.split(',').map(str::trim) {
        patches |= Patches::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
            Error::bad_argument(
                format!("there is no patch {}", quote(name)),
                format!("the patches are {}", known.join(", ")),
            )
        })?;
    }
    Ok(patches)
}

/// What was compared: enough to do it again.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// fairlab's own version.
    pub fairlab: &'static str,
    /// The kernel release of the class.
    pub release: &'static str,
    /// The seed of everything random.
    pub seed: u64,
    /// Changes to the features of both sides; empty for the release's defaults.
    pub features: Vec<String>,
    /// The patches of the patched side.
    pub patches: Vec<PatchSetting>,
    /// The workload in words.
    pub workload: String,
    /// What is to be said about the workload: of a recording, what is lost and what was wrong with it.
    pub notes: Vec<String>,
    /// hz of the simulated machine.
    pub hz: u32,
    /// Its base slice, ns.
    pub base_slice_ns: u32,
    /// Random operations asked for in part 1.
    pub ops: u64,
    /// Runs asked for in parts 2 to 4.
    pub runs: u32,
}

/// A patch in a [`Setting`].
#[derive(Debug, Serialize)]
pub struct PatchSetting {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Where the idea comes from.
    pub origin: &'static str,
}

/// The whole answer.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was compared.
    pub setting: Setting,
    /// Part 1.
    pub same: same::Same,
    /// Part 2.
    pub often: Option<counted::Often>,
    /// Part 3.
    pub cost: Option<cost::Cost>,
    /// Part 4.
    pub time: Option<counted::Time>,
    /// Part 5.
    pub verdict: verdict::Verdict,
    /// It was ended early.
    pub interrupted: bool,
}

impl Report {
    /// The program's exit code: 0 if the patch is the same and safe, else 1.
    pub fn exit_code(&self) -> u8 {
        u8::from(!(self.same.is_same() && self.same.is_safe()))
    }
}

/// Makes the comparison. `progress` is told the part (1 to 4), how far it is and where it will end.
///
/// Errors: those of the drivers, and of writing files.
pub fn run(plan: &Plan, interrupt: &Interrupt, progress: &dyn Fn(u8, u64, u64)) -> Result<Report> {
    let runs = u64::from(plan.runs);
    let same = same::run(plan, interrupt, &|done| progress(1, done, plan.ops))?;
    // What breaks down in a simulation cannot be counted or timed; the verdict stands already.
    let broken = same.violation.as_ref().is_some_and(|violation| violation.kind == "panic");
    let (mut often, mut cost, mut time) = (None, None, None);
    let guarded = guard::quietly(|| -> Result<()> {
        let counted = counted::run(plan, interrupt, &|done| progress(2, done, runs))?;
        (often, time) = (Some(counted.0), Some(counted.1));
        if !interrupt.is_set() {
            cost = Some(cost::run(plan, interrupt, &|done| progress(3, done, runs))?);
        }
        Ok(())
    });
    match guarded {
        Ok(result) => result?,
        Err(_) if broken => {}
        Err(what) => return Ok(broke_down(plan, same, &what, interrupt)),
    }
    let verdict = verdict::verdict(plan, &same, often.as_ref(), cost.as_ref(), time.as_ref());
    let interrupted = interrupt.is_set();
    Ok(Report { setting: setting(plan), same, often, cost, time, verdict, interrupted })
}

/// The report on a patch that panicked only in the simulations of parts 2 to 4.
fn broke_down(plan: &Plan, same: same::Same, what: &str, interrupt: &Interrupt) -> Report {
    let mut same = same;
    same.violation.get_or_insert_with(|| same::Violation::in_simulation(what));
    let verdict = verdict::verdict(plan, &same, None, None, None);
    let interrupted = interrupt.is_set();
    Report {
        setting: setting(plan),
        same,
        often: None,
        cost: None,
        time: None,
        verdict,
        interrupted,
    }
}

fn setting(plan: &Plan) -> Setting {
    let header = plan.source.script(0, 0).header();
    let patches = TABLE
        .iter()
        .filter(|row| plan.patch.patches.contains(row.bit))
        .map(|row| PatchSetting { name: row.name, what: row.what, origin: row.origin });
    Setting {
        fairlab: crate::REVISION,
        release: "7.3",
        seed: plan.source.seed,
        features: header.features.clone(),
        patches: patches.collect(),
        workload: plan.source.kind.to_string(),
        notes: plan.source.kind.notes(),
        hz: header.hz,
        base_slice_ns: header
            .base_slice_ns
            .unwrap_or_else(|| crate::workload::pipe::base_slice_ns(header.cpus)),
        ops: plan.ops,
        runs: plan.runs,
    }
}
