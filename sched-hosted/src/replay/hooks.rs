// SPDX-License-Identifier: GPL-2.0-only
//! Where the class is held to the recording: [`Hooks::picked`] compares what it picked with what the recorded kernel
//! picked, notes how it stands with the candidates if they differ, and lets the kernel's task run.

use super::belief::{Beliefs, KNOWN_NS, Known};
use sched_core::bug::Warn;
use sched_core::fair::avg_vruntime::{avg_vruntime_weight, entity_eligible, entity_key};
use sched_core::fair::pick::protect_slice;
use sched_core::rbtree::rb_next;
use sched_core::sched::{self, CfsRq, Rq, SchedEntity, TaskStruct, is_idle_task, vruntime_sub};
use sched_core::trace::{Counter, Hooks, LOOP_LIMIT};
use serde::Serialize;
use std::cell::{Cell, RefCell};

/// A task of a replay, in the order in which tasks were seen; also its `TaskName` in the class.
pub type TaskId = u32;

/// More candidates than this are not looked at one by one.
const CANDIDATES_MAX: usize = 256;

/// What the recorded kernel did at the schedule that comes.
#[derive(Clone, Copy, Default)]
enum Expect {
    /// Nothing is known: the class decides.
    #[default]
    Free,
    /// It ran this task.
    Task(TaskId),
    /// It ran its idle task, or one of another class.
    Idle,
}

/// Since when a task is what it is; on the clock of the model, absolute, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    woken_ns: u64,
    waiting_ns: u64,
}

/// A candidate at the moment of a disagreement.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Who.
    #[serde(skip)]
    pub task: TaskId,
    /// `V - vruntime`, virtual ns: what it is owed; negative: it ran ahead.
    pub lag_ns: i64,
    /// `deadline - V`, virtual ns.
    pub deadline_ns: i64,
    /// Whether its lag is not negative, by the class's own test.
    pub eligible: bool,
    /// It was running.
    pub current: bool,
    /// How much further it was protected from preemption, virtual ns; none if it was not.
    pub protected_ns: Option<i64>,
    /// Its request, ns.
    pub slice_ns: u64,
    /// Its flat weight (1048576 is nice 0).
    pub weight: u64,
    /// Its lag rests on an assumption about the start.
    pub unsettled: bool,
}

/// What a schedule came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Whom the class picked; none: its idle task.
    pub model: Option<TaskId>,
    /// How many were awake.
    pub candidates: u32,
    /// Whom the two null models would have picked: the last woken, the longest waiting.
    pub nulls: [Option<TaskId>; 2],
    /// V, absolute, wraps; virtual ns. Only on a disagreement.
    pub avg_vruntime: u64,
    /// Who was there; only on a disagreement, and while it is asked for.
    pub who: Vec<Candidate>,
}

/// The hooks of a machine that follows a recording.
pub struct Recorded {
    expect: Cell<Expect>,
    outcome: RefCell<Option<Outcome>>,
    times: RefCell<Vec<Times>>,
    now_ns: Cell<u64>,
    details: Cell<bool>,
    moved: Cell<u64>,
    beliefs: RefCell<Beliefs>,
    counts: [Cell<u64>; Counter::NR],
    warns: Cell<u64>,
    first_warn: Cell<Option<Warn>>,
    turns: Cell<u32>,
}

impl Default for Recorded {
    fn default() -> Self {
        Recorded {
            expect: Cell::default(),
            outcome: RefCell::default(),
            times: RefCell::default(),
            now_ns: Cell::new(0),
            details: Cell::new(false),
            moved: Cell::new(0),
            beliefs: RefCell::default(),
            counts: [const { Cell::new(0) }; Counter::NR],
            warns: Cell::new(0),
            first_warn: Cell::new(None),
            turns: Cell::new(0),
        }
    }
}

impl Recorded {
    /// The next schedule is known to have run `p`.
    pub fn expect_task(&self, task: TaskId) {
        self.expect.set(Expect::Task(task));
    }

    /// The next schedule is known to have run no task of the fair class.
    pub fn expect_idle(&self) {
        self.expect.set(Expect::Idle);
    }

    /// What the last schedule came to.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow_mut().take()
    }

    /// Whether candidates are noted at a disagreement.
    pub fn note_details(&self, on: bool) {
        self.details.set(on);
    }

    /// The clock that the following is by, ns.
    pub fn set_now(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
    }

    /// How often an unknown start was moved to fit what the kernel did.
    pub fn moved(&self) -> u64 {
        self.moved.get()
    }

    /// How often `counter` happened.
    pub fn count_of(&self, counter: Counter) -> u64 {
        self.counts[counter as usize].get()
    }

    /// Warnings, and the first.
    pub fn warnings(&self) -> (u64, Option<Warn>) {
        (self.warns.get(), self.first_warn.get())
    }

    fn with_times<R>(&self, task: TaskId, f: impl FnOnce(&mut Times) -> R) -> R {
        let mut times = self.times.borrow_mut();
        let at = task as usize;
        if at >= times.len() {
            times.resize(at + 1, Times::default());
        }
        f(&mut times[at])
    }

    /// `task` was woken now.
    pub fn woken(&self, task: TaskId) {
        let now_ns = self.now_ns.get();
        self.with_times(task, |times| {
            times.woken_ns = now_ns;
            times.waiting_ns = now_ns;
        });
    }

    /// `task` waits from now on, though it was not woken: it was preempted.
    pub fn waits(&self, task: TaskId) {
        let now_ns = self.now_ns.get();
        self.with_times(task, |times| times.waiting_ns = now_ns);
    }

    /// When `task` was woken last, and since when it has waited: ns.
    pub fn times(&self, task: TaskId) -> (u64, u64) {
        self.with_times(task, |times| (times.woken_ns, times.waiting_ns))
    }

    fn unsettled(&self, task: TaskId) -> bool {
        self.beliefs.borrow().sigma_ns(task) > KNOWN_NS
    }

    /// Whom the null models would pick: the last woken, the longest waiting.
    pub fn null_picks<'a>(&self, rq: &Rq<'a, Self>) -> [Option<TaskId>; 2] {
        let times = self.times.borrow();
        let of = |task: TaskId| times.get(task as usize).copied().unwrap_or_default();
        let mut last: Option<(u64, TaskId)> = None;
        let mut longest: Option<(u64, TaskId)> = None;
        for se in awake(rq) {
            let task = id(se);
            let Times { woken_ns, waiting_ns, .. } = of(task);
            if last.is_none_or(|(at, _)| woken_ns > at) {
                last = Some((woken_ns, task));
            }
            let running = rq.cfs.curr.get().is_some_and(|curr| std::ptr::eq(curr, se));
            let since = if running { u64::MAX } else { waiting_ns };
            if longest.is_none_or(|(at, _)| since < at) {
                longest = Some((since, task));
            }
        }
        [last.map(|(_, task)| task), longest.map(|(_, task)| task)]
    }

    /// The candidates, those of interest first: `first` and `second`, then by deadline.
    pub fn candidates<'a>(&self, rq: &Rq<'a, Self>) -> (u64, Vec<Candidate>) {
        let v = average(&rq.cfs);
        let one = |se: &'a SchedEntity<'a, Self>| {
            let current = rq.cfs.curr.get().is_some_and(|curr| std::ptr::eq(curr, se));
            Candidate {
                task: id(se),
                lag_ns: vruntime_sub(v, se.vruntime.get()),
                deadline_ns: vruntime_sub(se.deadline.get(), v),
                eligible: entity_eligible(&rq.cfs, se),
                current,
                protected_ns: (current && protect_slice(se))
                    .then(|| vruntime_sub(se.vprot.get(), se.vruntime.get())),
                slice_ns: se.slice.get(),
                weight: se.h_load.weight.get(),
                unsettled: self.unsettled(id(se)),
            }
        };
        (v, awake(rq).map(one).collect())
    }

    /// The kernel ran `x`: what that says of lags that are not known.
    fn learn<'a>(&self, rq: &'a Rq<'a, Self>, x: TaskId) {
        let mut beliefs = self.beliefs.borrow_mut();
        if !beliefs.is_active() {
            return;
        }
        let prev = rq.curr();
        if !is_idle_task(prev) && !prev.se.on_rq.get() {
            beliefs.dequeued(prev.pid.get(), rq.cpu, total(rq) + prev.se.h_load.weight.get());
        }
        let v = average(&rq.cfs);
        let known: Vec<Known> = awake(rq).map(|se| known(rq, v, se, &mut beliefs)).collect();
        beliefs.picked(&known, x, rq.cpu, total(rq));
    }

    /// The kernel did or did not tell curr to reschedule though it was protected: it was eligible, or not.
    pub fn learn_protected<'a>(&self, rq: &'a Rq<'a, Self>, eligible: bool) {
        let Some(curr) = rq.cfs.curr.get().filter(|curr| curr.on_rq.get()) else { return };
        let mut beliefs = self.beliefs.borrow_mut();
        if beliefs.is_active() {
            let one = known(rq, average(&rq.cfs), curr, &mut beliefs);
            beliefs.eligible(&one, rq.cpu, total(rq), eligible);
        }
    }

    /// The beliefs about lags.
    pub fn beliefs(&self) -> &RefCell<Beliefs> {
        &self.beliefs
    }

    /// An assumed lag is moved.
    pub fn count_move(&self) {
        self.moved.set(self.moved.get() + 1);
    }
}

fn id<'a>(se: &SchedEntity<'a, Recorded>) -> TaskId {
    sched::task_of(se).pid.get()
}

/// All that want to run on `rq`: the running task, if it still does, then those in the tree that are not delayed.
fn awake<'a>(rq: &Rq<'a, Recorded>) -> impl Iterator<Item = &'a SchedEntity<'a, Recorded>> {
    let curr = rq.cfs.curr.get().filter(|curr| curr.on_rq.get());
    let queued = std::iter::successors(rq.cfs.tasks_timeline.first(), |se| rb_next(*se));
    curr.into_iter().chain(queued).filter(|se| !se.sched_delayed.get()).take(CANDIDATES_MAX)
}

fn known<'a>(
    rq: &Rq<'a, Recorded>,
    v: u64,
    se: &'a SchedEntity<'a, Recorded>,
    beliefs: &mut Beliefs,
) -> Known {
    let current = rq.cfs.curr.get().is_some_and(|curr| std::ptr::eq(curr, se));
    Known {
        task: id(se),
        lag_ns: vruntime_sub(v, se.vruntime.get()),
        deadline_ns: vruntime_sub(se.deadline.get(), v),
        protected: current && protect_slice(se),
        stale: beliefs.is_guess(id(se), se.deadline.get()),
    }
}

/// The weight of all that compete on `rq`.
pub fn total(rq: &Rq<'_, Recorded>) -> u64 {
    let curr = rq.cfs.curr.get().filter(|curr| curr.on_rq.get());
    rq.cfs.sum_weight.get() + curr.map_or(0, |curr| curr.h_load.weight.get())
}

/// V as avg_vruntime() has it, without moving zero_vruntime.
fn average<'a>(cfs_rq: &CfsRq<'a, Recorded>) -> u64 {
    let curr = cfs_rq.curr.get().filter(|curr| curr.on_rq.get());
    mean(cfs_rq, curr.map(|curr| (curr, 1)))
}

fn mean<'a>(
    cfs_rq: &CfsRq<'a, Recorded>,
    more: impl IntoIterator<Item = (&'a SchedEntity<'a, Recorded>, i128)>,
) -> u64 {
    let mut sum = i128::from(cfs_rq.sum_w_vruntime.get());
    let mut weight = i128::from(cfs_rq.sum_weight.get());
    for (se, sign) in more {
        let w = sign * i128::from(avg_vruntime_weight(cfs_rq, se.h_load.weight.get()));
        sum += i128::from(entity_key(cfs_rq, se)) * w;
        weight += w;
    }
    let delta = if weight > 0 { sum.div_euclid(weight) } else { 0 };
    cfs_rq.zero_vruntime.get().wrapping_add(delta as u64)
}

impl Hooks for Recorded {
    fn count(&self, counter: Counter) {
        let cell = &self.counts[counter as usize];
        cell.set(cell.get().wrapping_add(1));
    }

    fn warn(&self, warn: &Warn) {
        self.warns.set(self.warns.get() + 1);
        if self.first_warn.get().is_none() {
            self.first_warn.set(Some(*warn));
        }
    }

    fn loop_guard(&self) {
        self.turns.set(self.turns.get() + 1);
        assert!(self.turns.get() < LOOP_LIMIT, "endless loop: {LOOP_LIMIT} turns in one operation");
    }

    fn operation(&self) {
        self.turns.set(0);
    }

    fn picked<'a>(
        &self,
        rq: &'a Rq<'a, Self>,
        p: &'a TaskStruct<'a, Self>,
    ) -> &'a TaskStruct<'a, Self>
    where
        Self: 'a,
    {
        let expect = self.expect.take();
        let model = (!is_idle_task(p)).then(|| p.pid.get());
        let mut outcome =
            Outcome { model, candidates: rq.cfs.h_nr_runnable.get(), ..Outcome::default() };
        if outcome.candidates > 1 {
            outcome.nulls = self.null_picks(rq);
        }
        let wanted = match expect {
            Expect::Free => model,
            Expect::Task(task) => Some(task),
            Expect::Idle => None,
        };
        let mut next = p;
        if wanted != model {
            if self.details.get() {
                (outcome.avg_vruntime, outcome.who) = self.candidates(rq);
            }
            match wanted {
                None => next = &rq.idle_task,
                Some(task) => {
                    if let Some(x) = awake(rq).find(|se| id(se) == task) {
                        next = sched::task_of(x);
                    }
                }
            }
        }
        if outcome.candidates > 1 && wanted == Some(next.pid.get()) {
            self.learn(rq, next.pid.get());
        }
        *self.outcome.borrow_mut() = Some(outcome);
        next
    }
}
