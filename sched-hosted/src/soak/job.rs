// SPDX-License-Identifier: GPL-2.0-only
//! A job: takes the next run, does it, hands in what came of it.

use super::totals::Totals;
use super::world::Course;
use super::{Amount, Hit, Outcome, Plan, Status};
use crate::check::known;
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch};
use crate::error::Result;
use crate::ops::class::{Class, Depth};
use crate::ops::driver::Driver;
use crate::ops::generate::{Generator, Kind};
use crate::ops::run::Failure;
use crate::ops::{Op, Program, START_NS, Statement};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After every so many operations, and at the end of each run, all invariants are checked by brute force. That is
/// what takes most of the time when the laws are left out, which is done for speed.
pub const fn full_every(laws: bool) -> u64 {
    if laws { 16 } else { 64 }
}
/// Every so many operations a job looks whether it is to end.
const LOOK_EVERY: u64 = 128;

/// What the jobs have in common.
pub(super) struct Shared {
    plan: Plan,
    start: Instant,
    next: Mutex<Next>,
    /// The lowest run that failed.
    lowest: AtomicU64,
    /// The time is up: no new runs, and those under way end unless they stand before one that failed.
    pub stop: AtomicBool,
    /// Everything ends at once.
    pub halt: AtomicBool,
    slots: Vec<Slot>,
    done: Mutex<Done>,
}

/// Which run is the next.
#[derive(Default)]
struct Next {
    run: u64,
    planned: u64,
}

/// A job as the others see it.
#[derive(Default)]
struct Slot {
    /// The number of its run.
    run: AtomicU64,
    /// Statements of that run that it has begun; 0 while it is between runs.
    begun: AtomicU64,
    /// Operations of that run.
    operations: AtomicU64,
    /// It has ended, or hangs and is no longer waited for.
    gone: AtomicBool,
}

#[derive(Default)]
struct Done {
    /// The runs up to this one are in the totals.
    folded: u64,
    totals: Totals,
    /// Later ones.
    runs: BTreeMap<u64, Totals>,
    hits: BTreeMap<u64, Hit>,
    failed: Option<crate::error::Error>,
}

impl Done {
    /// Runs after one that failed do not count, so that the sums are the same whatever the number of jobs was.
    fn put(&mut self, run: u64, totals: Totals) {
        self.runs.insert(run, totals);
        let lowest = self.hits.first_key_value().map_or(u64::MAX, |(&run, _)| run);
        while self.folded <= lowest
            && let Some(totals) = self.runs.remove(&self.folded)
        {
            self.totals.add(&totals);
            self.folded += 1;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(plan: Plan, start: Instant) -> Self {
        let slots = (0..plan.jobs).map(|_| Slot::default()).collect();
        Shared {
            plan,
            start,
            next: Mutex::default(),
            lowest: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            halt: AtomicBool::new(false),
            slots,
            done: Mutex::default(),
        }
    }

    /// The next run; none if there is nothing more to do.
    fn take(&self) -> Option<(u64, Course)> {
        let mut next = lock(&self.next);
        if self.halt.load(Relaxed) || next.run > self.lowest.load(Relaxed) {
            return None;
        }
        if self.stop.load(Relaxed) {
            return None;
        }
        let mut course = Course::of(&self.plan.mix, next.run);
        if let Amount::Operations(operations) = self.plan.amount {
            course.operations = course.operations.min(operations - next.planned);
        }
        if course.operations == 0 {
            return None;
        }
        next.planned += course.operations;
        next.run += 1;
        Some((next.run - 1, course))
    }

    /// Whether run `run` is no longer of interest.
    fn is_moot(&self, run: u64) -> bool {
        let lowest = self.lowest.load(Relaxed);
        let wanted = lowest != u64::MAX && run < lowest;
        self.halt.load(Relaxed) || run > lowest || (self.stop.load(Relaxed) && !wanted)
    }

    fn hit(&self, hit: Hit) {
        self.lowest.fetch_min(hit.run, Relaxed);
        lock(&self.done).hits.insert(hit.run, hit);
    }

    /// All jobs have ended or hang.
    pub fn is_done(&self) -> bool {
        self.slots.iter().all(|slot| slot.gone.load(Relaxed))
    }

    /// The run that a job is in, and its statement; none if it is in none.
    pub fn at_work(&self, slot: usize) -> Option<(u64, u64)> {
        let slot = &self.slots[slot];
        let begun = slot.begun.load(Relaxed);
        let busy = begun != 0 && !slot.gone.load(Relaxed);
        busy.then(|| (slot.run.load(Relaxed), begun))
    }

    /// The job hangs: what it was doing is made again from the number of its run.
    pub fn give_up(&self, slot: usize) {
        let Some((run, begun)) = self.at_work(slot) else { return };
        self.slots[slot].gone.store(true, Relaxed);
        let after = self.start.elapsed();
        let course = Course::of(&self.plan.mix, run);
        let made = again(&self.plan.side, &course, begun);
        let seconds = self.plan.hung_after.as_secs_f32();
        let failure = Failure::hang(format!("it has not ended after {seconds:.1} s"));
        match made {
            Ok(program) => self.hit(Hit { run, program, failure, after }),
            Err(error) => lock(&self.done).failed = Some(error),
        }
    }

    pub fn status(&self, elapsed: Duration) -> Status {
        let under_way = self.slots.iter().map(|slot| slot.operations.load(Relaxed)).sum::<u64>();
        let done = lock(&self.done);
        let later = done.runs.values().map(|totals| totals.operations).sum::<u64>();
        Status {
            runs: done.folded + done.runs.len() as u64,
            operations: done.totals.operations + later + under_way,
            elapsed,
            found: self.lowest.load(Relaxed) != u64::MAX,
        }
    }

    /// What came of it, once all is done.
    pub fn outcome(&self, took: Duration, interrupted: bool) -> Result<Outcome> {
        let mut done = lock(&self.done);
        if let Some(error) = done.failed.take() {
            return Err(error);
        }
        let hit = done.hits.first_key_value().map(|(_, hit)| hit.clone());
        let last = hit.as_ref().map_or(u64::MAX, |hit| hit.run);
        let mut totals = done.totals.clone();
        for (_, later) in done.runs.iter().filter(|&(&run, _)| run <= last) {
            totals.add(later);
        }
        Ok(Outcome { totals, hit, interrupted, took })
    }
}

/// A thread that does runs.
pub(super) struct Job {
    shared: Arc<Shared>,
    slot: usize,
    log: Vec<Statement>,
}

impl Job {
    pub fn new(shared: Arc<Shared>, slot: usize) -> Self {
        Job { shared, slot, log: Vec::new() }
    }

    /// Runs until there is nothing more to do.
    pub fn work(mut self) {
        let shared = Arc::clone(&self.shared);
        while let Some((run, course)) = shared.take() {
            self.log.clear();
            let slot = &shared.slots[self.slot];
            slot.run.store(run, Relaxed);
            let mut totals = Totals { runs: 1, ..Totals::default() };
            totals.worlds[course.world as usize] = 1;
            let failure = self.run(run, &course, &mut totals);
            if slot.gone.load(Relaxed) {
                return; // it was given up, and the run told without it
            }
            slot.begun.store(0, Relaxed);
            slot.operations.store(0, Relaxed);
            self.count(&mut totals);
            match failure {
                Ok(failure) => self.hand_in(run, &course, totals, failure),
                Err(error) => {
                    lock(&shared.done).failed.get_or_insert(error);
                    shared.halt.store(true, Relaxed);
                }
            }
        }
        shared.slots[self.slot].gone.store(true, Relaxed);
    }

    fn hand_in(&mut self, run: u64, course: &Course, totals: Totals, failure: Option<Failure>) {
        if let Some(failure) = failure {
            let statements = std::mem::take(&mut self.log);
            let (header, names) = (course.header.clone(), course.names());
            let program = Program { header, names, statements };
            let after = self.shared.start.elapsed();
            self.shared.hit(Hit { run, program, failure, after });
        }
        lock(&self.shared.done).put(run, totals);
    }

    /// One run; how it failed.
    fn run(&mut self, run: u64, course: &Course, totals: &mut Totals) -> Result<Option<Failure>> {
        let Job { shared, slot, log } = self;
        let mut generator = course.generator();
        let ended = quietly(|| {
            let side = shared.plan.side;
            side.with(&course.header, &course.names(), Watch::default(), |class| {
                let mut play = Play { shared, slot: &shared.slots[*slot], run, log, totals };
                play.all(class, &mut generator, course.operations)
            })
        });
        match ended {
            Ok(failure) => failure,
            Err(what) => Ok(Some(Failure::panic(what))),
        }
    }

    /// What the statements of the run add to the totals.
    fn count(&self, totals: &mut Totals) {
        let mut now = START_NS;
        for statement in &self.log {
            totals.kinds[Kind::of(&statement.op) as usize] += 1;
            if let Op::At { ns } = statement.op {
                now = ns;
            }
        }
        totals.virtual_ns = u128::from(now - START_NS);
        totals.operations = self.log.len() as u64 - totals.kinds[Kind::At as usize];
    }
}

/// A run under way.
struct Play<'a> {
    shared: &'a Shared,
    slot: &'a Slot,
    run: u64,
    log: &'a mut Vec<Statement>,
    totals: &'a mut Totals,
}

impl Play<'_> {
    fn all(
        &mut self,
        class: &mut Driver<'_, Watch>,
        generator: &mut Generator,
        operations: u64,
    ) -> Option<Failure> {
        let full_every = full_every(self.shared.plan.side.laws);
        let mut done = 0;
        while done < operations {
            let op = generator.next(class);
            self.log.push(Statement { op, line: 0 });
            self.slot.begun.store(self.log.len() as u64, Relaxed);
            class.run(&op);
            if !op.is_operation() {
                continue;
            }
            done += 1;
            let full = done.is_multiple_of(full_every) || done == operations;
            if full {
                self.totals.full_checks += 1;
                self.totals.known |= known::met(class);
            }
            let failure = Failure::seen(class, if full { Depth::Full } else { Depth::Cheap });
            if failure.is_some() {
                return failure;
            }
            if done.is_multiple_of(LOOK_EVERY) {
                self.slot.operations.store(done, Relaxed);
                if self.shared.is_moot(self.run) {
                    return None;
                }
            }
        }
        None
    }
}

/// The first `begun` statements of a run, all but the last of them carried out again.
///
/// # Errors
/// Those of the driver.
fn again(side: &Side, course: &Course, begun: u64) -> Result<Program> {
    let mut generator = course.generator();
    let (header, names) = (course.header.clone(), course.names());
    let mut statements = Vec::new();
    side.with(&header, &names, Watch::default(), |class| {
        loop {
            let op = generator.next(class);
            statements.push(Statement { op, line: 0 });
            if statements.len() as u64 >= begun {
                return;
            }
            class.run(&op);
        }
    })?;
    Ok(Program { header, names, statements })
}
