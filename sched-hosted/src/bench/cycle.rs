// SPDX-License-Identifier: GPL-2.0-only
//! Cycles: from a state between operations to the path that is timed, and back to a state like the first.

use super::rows::Path;
use super::side::{Bench, BenchItem, Side};
use super::station::Station;
use crate::ops::{TaskName, TaskState};
use crate::sim::prng::{Purpose, Stream};
use std::time::Instant;

/// How long tasks run between two batches, ns: most of them turn over, as on a busy machine.
const RUN_NS: u64 = 1_000_000;
/// More than a slice: the next pick falls on another task.
const TURN_NS: u64 = 4_000_000;
/// How long the wakeups of a batch take together, ns.
const WAKE_NS: u64 = RUN_NS / 8;
/// What there is to charge each time, ns.
const CHARGE_NS: u64 = 100;
/// From the switch to the wakeup of the other task; half as long again to the sleep. ns.
const HAND_OFF_NS: u64 = 8_000;
/// How often batches are repeated that leave the state as it was, or nearly.
const REPEAT: u32 = 16;
/// Hand-offs on one CPU after the other.
const HAND_OFFS: u32 = 8;

/// What was timed in a cycle: how long so many operations took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timed {
    /// All of it, ns.
    pub ns: u64,
    /// Operations.
    pub ops: u64,
}

/// Runs a batch; how long it took, ns.
#[allow(clippy::disallowed_methods, reason = "a bench measures cost")]
fn timed_batch(side: &mut dyn Side, bench: Bench, repeat: u32) -> u64 {
    let start = Instant::now();
    side.run(bench, repeat);
    start.elapsed().as_nanos() as u64
}

/// Runs a batch whose instructions are counted: valgrind knows it by its name ([`super::count`]).
#[inline(never)]
fn counted_batch(side: &mut dyn Side, bench: Bench, repeat: u32) {
    side.run(bench, repeat);
}

/// Plays cycles on one side.
pub struct Player<'s> {
    side: Box<dyn Side + 's>,
    station: &'s Station,
    stream: Stream,
    /// Who sleeps between two cycles of hand-offs, one a CPU.
    sleepers: Vec<BenchItem>,
    /// Instructions are counted, not time.
    counting: bool,
}

impl<'s> Player<'s> {
    /// A player on `side`, a machine that was just made; it is brought into the station's situation.
    pub fn new(mut side: Box<dyn Side + 's>, station: &'s Station) -> Self {
        station.set_up(&mut *side);
        let stream = Stream::new(2, Purpose::Jitter, 0);
        Player { side, station, stream, sleepers: Vec::new(), counting: false }
    }

    /// The side.
    pub fn side(&self) -> &dyn Side {
        &*self.side
    }

    /// From now on instructions are counted in what would be timed.
    pub fn count(&mut self) {
        self.counting = true;
    }

    /// What taking the time itself costs, ns.
    pub fn overhead_ns(&mut self) -> u64 {
        let mut all: Vec<u64> =
            (0..201).map(|_| timed_batch(&mut *self.side, Bench::Nothing, 1)).collect();
        all.sort_unstable();
        all[all.len() / 2]
    }

    /// Wakes whoever the last path left asleep: to be called after the last cycle of a path.
    pub fn finish(&mut self) {
        let sleepers = std::mem::take(&mut self.sleepers);
        self.wake(&sleepers);
    }

    /// One cycle of `path`.
    pub fn cycle(&mut self, path: Path) -> Timed {
        match path {
            Path::Enqueue => {
                let items = self.sleep();
                let items = self.stepping(items, WAKE_NS);
                self.timed(Bench::Enqueue, 1, &items)
            }
            Path::Dequeue => {
                let items = self.current(RUN_NS);
                let timed = self.timed(Bench::Dequeue, 1, &items);
                self.batch(Bench::Switch, &items);
                let items = self.stepping(items, WAKE_NS);
                self.batch(Bench::Enqueue, &items);
                timed
            }
            Path::Delay => {
                let items = self.current(RUN_NS);
                let timed = self.timed(Bench::Delay, 1, &items);
                self.batch(Bench::Switch, &items);
                self.wake(&items);
                timed
            }
            Path::Requeue => {
                let items = self.current(RUN_NS);
                self.batch(Bench::Delay, &items);
                self.batch(Bench::Switch, &items);
                self.wake(&items)
            }
            Path::Complete => self.complete(),
            Path::Switch => {
                let items = self.current(TURN_NS);
                self.batch(Bench::Clock, &items);
                self.timed(Bench::Switch, 1, &items)
            }
            Path::UpdateCurr => {
                let mut items = self.current(0);
                items.iter_mut().for_each(|item| item.step_ns = CHARGE_NS);
                let timed = self.timed(Bench::UpdateCurr, REPEAT, &items);
                self.turn();
                timed
            }
            Path::Tick => {
                let items = self.current(RUN_NS);
                let timed = self.timed(Bench::Tick, 1, &items);
                self.turn();
                timed
            }
            Path::Place => {
                let items = self.sleep();
                let timed = self.timed(Bench::Place, REPEAT, &items);
                self.batch(Bench::Enqueue, &items);
                timed
            }
            Path::Pick => {
                self.turn();
                let items = self.current(0);
                self.timed(Bench::Pick, REPEAT, &items)
            }
            Path::Erase => {
                self.turn();
                let items = self.queued();
                let timed = self.timed(Bench::Erase, 1, &items);
                self.batch(Bench::Insert, &items);
                timed
            }
            Path::Insert => {
                self.turn();
                let items = self.queued();
                self.batch(Bench::Erase, &items);
                self.timed(Bench::Insert, 1, &items)
            }
            Path::HandOff => self.hand_off(),
        }
    }

    /// The running tasks sleep, and others run.
    fn sleep(&mut self) -> Vec<BenchItem> {
        let items = self.current(RUN_NS);
        self.batch(Bench::Dequeue, &items);
        self.batch(Bench::Switch, &items);
        items
    }

    /// The running tasks sleep. Delayed ones stay until a pick falls on them, which is what is timed; those that were
    /// dequeued are woken.
    fn complete(&mut self) -> Timed {
        let items = self.current(RUN_NS);
        self.batch(Bench::Delay, &items);
        self.sleepers.extend(&items);
        let queued: Vec<BenchItem> =
            items.into_iter().filter(|item| self.is_queued(item.cpu)).collect();
        self.batch(Bench::Peek, &queued);
        let state_of = |at: usize| self.state(self.side.task_of(at));
        let delayed: Vec<bool> =
            (0..queued.len()).map(|at| state_of(at) == Some(TaskState::Delayed)).collect();
        let with = |wanted: bool| -> Vec<BenchItem> {
            let pairs = queued.iter().zip(&delayed);
            pairs.filter(|(_, delayed)| **delayed == wanted).map(|(item, _)| *item).collect()
        };
        let (hit, other) = (with(true), with(false));
        let before = self.asleep(TaskState::Blocked).len();
        let mut timed = self.timed(Bench::Switch, 1, &hit);
        timed.ops = (self.asleep(TaskState::Blocked).len() - before) as u64;
        self.batch(Bench::Switch, &other);
        let empty = (0..self.station.cpus()).filter(|&cpu| !self.is_queued(cpu));
        let empty: Vec<BenchItem> = empty
            .map(|cpu| BenchItem { task: self.station.tasks_of(cpu).start, cpu, step_ns: 0 })
            .collect();
        self.wake_blocked(&empty);
        timed
    }

    /// Whether something is queued on `cpu`: with two or more tasks, unless all of them sleep.
    fn is_queued(&self, cpu: u32) -> bool {
        let asleep = self.asleep(TaskState::Blocked);
        let here = asleep.iter().filter(|item| item.cpu == cpu).count();
        here < self.station.situation.tasks as usize
    }

    fn hand_off(&mut self) -> Timed {
        if self.sleepers.is_empty() {
            let items = self.current(RUN_NS);
            self.batch(Bench::Delay, &items);
            self.batch(Bench::Switch, &items);
            self.sleepers = items;
        }
        let mut items = std::mem::take(&mut self.sleepers);
        for item in &mut items {
            item.step_ns = self.stream.around(HAND_OFF_NS, 100);
        }
        let timed = self.timed(Bench::HandOff, HAND_OFFS, &items);
        for (at, item) in items.iter_mut().enumerate() {
            item.task = self.side.task_of(at);
        }
        self.sleepers = items;
        timed
    }

    /// Prepares `items`, and does `bench` with them.
    fn batch(&mut self, bench: Bench, items: &[BenchItem]) {
        if !items.is_empty() {
            self.side.prepare(items);
            self.side.run(bench, 1);
        }
    }

    /// The same, timed.
    fn timed(&mut self, bench: Bench, repeat: u32, items: &[BenchItem]) -> Timed {
        if items.is_empty() {
            return Timed::default();
        }
        self.side.prepare(items);
        let ns = if self.counting {
            counted_batch(&mut *self.side, bench, repeat);
            0
        } else {
            timed_batch(&mut *self.side, bench, repeat)
        };
        Timed { ns, ops: items.len() as u64 * u64::from(repeat) }
    }

    /// Another task's turn on each CPU.
    fn turn(&mut self) {
        let items = self.current(TURN_NS);
        self.batch(Bench::Clock, &items);
        self.batch(Bench::Switch, &items);
    }

    fn state(&self, task: u32) -> Option<TaskState> {
        self.side.class().task(TaskName(task)).map(|info| info.state)
    }

    /// The running tasks. While all of them are done with once, the clock goes on by about `total_ns`.
    fn current(&mut self, total_ns: u64) -> Vec<BenchItem> {
        let class = self.side.class();
        let items = (0..self.station.cpus()).filter_map(|cpu| {
            let task = class.current(cpu)?;
            Some(BenchItem { task: task.0, cpu, step_ns: 0 })
        });
        let items = items.collect();
        self.stepping(items, total_ns)
    }

    /// `items`, with other steps: while all of them are done with once, the clock goes on by about `total_ns`.
    fn stepping(&mut self, mut items: Vec<BenchItem>, total_ns: u64) -> Vec<BenchItem> {
        let each_ns = total_ns / items.len().max(1) as u64;
        for item in &mut items {
            item.step_ns = self.stream.around(each_ns, 250);
        }
        items
    }

    /// Some tasks of each CPU that wait, in the tree.
    fn queued(&mut self) -> Vec<BenchItem> {
        let wanted = (self.station.situation.tasks / 20).clamp(1, 8);
        let mut items: Vec<BenchItem> = Vec::new();
        for cpu in 0..self.station.cpus() {
            let tasks = self.station.tasks_of(cpu);
            let before = items.len();
            while items.len() - before < wanted as usize {
                let task =
                    tasks.start + self.stream.below(u64::from(tasks.end - tasks.start)) as u32;
                let info = self.side.class().task(TaskName(task));
                let waits = info.is_some_and(|info| {
                    !info.running && matches!(info.state, TaskState::Runnable | TaskState::Delayed)
                });
                if waits && items[before..].iter().all(|item| item.task != task) {
                    items.push(BenchItem { task, cpu, step_ns: 0 });
                }
            }
        }
        items
    }

    /// The sleepers that are in `state`.
    fn asleep(&self, state: TaskState) -> Vec<BenchItem> {
        let hit = |item: &&BenchItem| self.state(item.task) == Some(state);
        self.sleepers.iter().filter(hit).copied().collect()
    }

    /// Wakes those of `items` that sleep: the delayed ones, which is what is timed, then the others.
    fn wake(&mut self, items: &[BenchItem]) -> Timed {
        let of = |player: &Self, wanted: TaskState| -> Vec<BenchItem> {
            let hit = |item: &&BenchItem| player.state(item.task) == Some(wanted);
            items.iter().filter(hit).copied().collect()
        };
        let delayed = of(self, TaskState::Delayed);
        let delayed = self.stepping(delayed, WAKE_NS);
        let timed = self.timed(Bench::Requeue, 1, &delayed);
        let blocked = of(self, TaskState::Blocked);
        let blocked = self.stepping(blocked, WAKE_NS);
        self.batch(Bench::Enqueue, &blocked);
        timed
    }

    /// Wakes the sleepers that are dequeued, then lets the CPUs of `idle` run one of them.
    fn wake_blocked(&mut self, idle: &[BenchItem]) {
        let blocked = self.asleep(TaskState::Blocked);
        let blocked = self.stepping(blocked, WAKE_NS);
        self.batch(Bench::Enqueue, &blocked);
        self.sleepers = self.asleep(TaskState::Delayed);
        self.batch(Bench::Clock, idle);
        self.batch(Bench::Switch, idle);
    }
}
