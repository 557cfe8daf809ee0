// SPDX-License-Identifier: GPL-2.0-only
//! Random legal operations on many machines, looking for what must not be: the engine of `fairlab check`.
//!
//! The work is a row of numbered runs ([`world`] says what each is like), and jobs take numbers from a counter. Once a
//! run has failed, those before it are finished and no later ones begun: the one with the lowest number is what is
//! reported, whatever the number of jobs was. A job whose class hangs is left behind; its operations are made again
//! from the run's number. [`found`] makes the failure small and tells it.

pub mod explain;
pub mod found;
mod job;
mod remote;
pub mod totals;
pub mod watchdog;
pub mod world;

pub use remote::{JudgeArgs, serve};

use crate::compare::Interrupt;
use crate::compare::side::Side;
use crate::error::{Error, Result};
use crate::ops::Program;
use crate::ops::run::Failure;
pub use job::full_every;
use job::{Job, Shared};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use totals::Totals;
use world::Mix;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The class.
    pub side: Side,
    /// The runs.
    pub mix: Mix,
    /// How much of them.
    pub amount: Amount,
    /// Threads; not 0.
    pub jobs: usize,
    /// An operation that takes longer than this does not end.
    pub hung_after: Duration,
}

/// How much is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// So many operations, `at` statements not counted.
    Operations(u64),
    /// As many as come in this time.
    Time(Duration),
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its number.
    pub run: u64,
    /// What it did, up to the failure.
    pub program: Program,
    /// How it failed.
    pub failure: Failure,
    /// When, counted from the start.
    pub after: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was done in the runs up to the one that failed.
    pub totals: Totals,
    /// The lowest run that failed.
    pub hit: Option<Hit>,
    /// Somebody ended it early.
    pub interrupted: bool,
    /// How long it took.
    pub took: Duration,
}

/// How it is going.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Runs that are done.
    pub runs: u64,
    /// Operations that were done.
    pub operations: u64,
    /// The time since the start.
    pub elapsed: Duration,
    /// Something was found; runs before it are being finished.
    pub found: bool,
}

/// How often the main thread looks after its jobs.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Does what `plan` says.
///
/// # Errors
/// A machine cannot be what the plan's features ask for, or threads cannot be had.
pub fn run(
    plan: &Plan,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Status),
) -> Result<Outcome> {
    let start = now();
    let shared = Arc::new(Shared::new(plan.clone(), start));
    for slot in 0..plan.jobs {
        let job = Job::new(Arc::clone(&shared), slot);
        let thread = std::thread::Builder::new().name(format!("job {slot}"));
        thread.spawn(move || job.work()).map_err(|error| {
            Error::not_possible(format!("no thread can be had ({error})"), "use fewer --jobs")
        })?;
    }
    let mut still = vec![(0, 0, 0); plan.jobs];
    while !shared.is_done() {
        std::thread::park_timeout(LOOK_EVERY);
        if interrupt.is_set() {
            shared.halt.store(true, Ordering::Relaxed);
        }
        let elapsed = start.elapsed();
        if matches!(plan.amount, Amount::Time(time) if elapsed >= time) {
            shared.stop.store(true, Ordering::Relaxed);
        }
        for (slot, still) in still.iter_mut().enumerate() {
            if hangs(&shared, slot, still, plan.hung_after) {
                shared.give_up(slot);
            }
        }
        progress(shared.status(elapsed));
    }
    shared.outcome(start.elapsed(), interrupt.is_set())
}

/// Whether a job has stood in one operation for so long. What is counted is looks and not time, so that a program
/// that was stopped for a while is not taken for one that hangs.
fn hangs(shared: &Shared, slot: usize, still: &mut (u64, u64, u128), after: Duration) -> bool {
    let Some((run, begun)) = shared.at_work(slot) else {
        still.2 = 0;
        return false;
    };
    if (still.0, still.1) != (run, begun) {
        *still = (run, begun, 0);
    }
    still.2 += 1;
    still.2 > after.as_millis() / LOOK_EVERY.as_millis()
}

#[allow(clippy::disallowed_methods, reason = "a deadline, and what it took")]
fn now() -> Instant {
    Instant::now()
}
