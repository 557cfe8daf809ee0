// SPDX-License-Identifier: GPL-2.0-only
//! What the property tests share: a machine of one CPU whose warnings are fatal, queues made by hand or by a history,
//! and exact arithmetic to compare with.

#![allow(dead_code, reason = "each test uses its part")]

use proptest::prelude::*;
use sched_core::bug::Warn;
use sched_core::core::*;
use sched_core::fair::class::SchedAttr;
use sched_core::fair::load::NICE_0_LOAD;
use sched_core::fair::timeline::__enqueue_entity;
use sched_core::features::SchedFeat;
use sched_core::sched::{
    CfsRq, Machine, Policy, Rq, SchedEntity, TASK_INTERRUPTIBLE, TaskStruct, WakeFlags, is,
    is_idle_task,
};
use sched_core::trace::Hooks;
use std::cell::RefCell;
use typed_arena::Arena;

/// Hooks to which every WARN_ON_ONCE() is a failure.
pub struct Strict;

impl Hooks for Strict {
    fn warn(&self, warn: &Warn) {
        panic!("{warn}");
    }
}

pub type Task<'a> = &'a TaskStruct<'a, Strict>;
pub type Entity<'a> = &'a SchedEntity<'a, Strict>;

/// The memory of one world.
#[derive(Default)]
pub struct Memory<'a> {
    machine: Arena<Machine<'a, Strict>>,
    runqueues: Arena<Rq<'a, Strict>>,
    tasks: Arena<TaskStruct<'a, Strict>>,
}

/// A machine of one CPU and its tasks.
pub struct World<'a> {
    memory: &'a Memory<'a>,
    pub machine: &'a Machine<'a, Strict>,
    pub rq: &'a Rq<'a, Strict>,
    pub tasks: RefCell<Vec<Task<'a>>>,
}

/// How many cases a property gets: few under Miri, which is slow; no files of failures there or anywhere, since Miri
/// has no file system and a failure prints its input.
pub fn cases(many: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { 3 } else { many };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// How long a history or queue gets.
pub const fn length(long: usize) -> usize {
    if cfg!(miri) { 24 } else { long }
}

impl<'a> World<'a> {
    /// An idle machine with these features, its clock at 1 ms.
    pub fn new(memory: &'a Memory<'a>, features: SchedFeat) -> Self {
        let machine: &'a Machine<'a, Strict> = memory.machine.alloc(Machine::new(Strict));
        let runqueues = memory.runqueues.alloc_extend([Rq::new(machine, 0)]);
        machine.set_features(features);
        sched_init(machine, runqueues);
        machine.set_sched_clock(1_000_000);
        World { memory, machine, rq: machine.cpu_rq(0), tasks: RefCell::new(Vec::new()) }
    }

    pub fn cfs(&self) -> &'a CfsRq<'a, Strict> {
        &self.rq.cfs
    }

    /// sched_fork() only.
    pub fn fork(&self, nice: i32, policy: Policy, slice: u64) -> Task<'a> {
        let p: Task<'a> = self.memory.tasks.alloc(TaskStruct::new());
        p.pid.set(self.tasks.borrow().len() as u32);
        let attr = SchedAttr { sched_policy: policy, sched_nice: nice, sched_runtime: slice };
        sched_fork(self.machine, p, &attr, &self.machine.root_task_group, 0);
        self.tasks.borrow_mut().push(p);
        p
    }

    /// An entity that is in the tree, or curr, without a history: `key` is its vruntime relative to zero_vruntime,
    /// `request` the distance from there to its deadline (virtual ns).
    pub fn stands(&self, entry: &Entry, curr: bool) -> Entity<'a> {
        let se = &self.fork(0, Policy::SCHED_NORMAL, entry.slice).se;
        let cfs_rq = self.cfs();
        se.load.weight.set(entry.weight);
        se.h_load.weight.set(entry.weight);
        se.vruntime.set(cfs_rq.zero_vruntime.get().wrapping_add(entry.key as u64));
        se.deadline.set(se.vruntime.get().wrapping_add(entry.request));
        se.on_rq.set(true);
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() + 1);
        cfs_rq.nr_queued.set(cfs_rq.nr_queued.get() + 1);
        if curr {
            cfs_rq.curr.set(Some(se));
        } else {
            __enqueue_entity(cfs_rq, se);
        }
        se
    }

    /// The entities of all tasks that compete.
    pub fn queued(&self) -> Vec<Entity<'a>> {
        self.tasks.borrow().iter().map(|p| &p.se).filter(|se| se.on_rq.get()).collect()
    }

    /// V of all that compete, relative to zero_vruntime, as (sum of weight * key, sum of weight).
    pub fn exact(&self) -> (i128, i128) {
        self.queued().iter().fold((0, 0), |(sum, weight), se| {
            let w = i128::from(se.h_load.weight.get());
            (sum + w * i128::from(self.key(se.vruntime.get())), weight + w)
        })
    }

    /// A virtual time relative to zero_vruntime.
    pub fn key(&self, vruntime: u64) -> i64 {
        vruntime.wrapping_sub(self.cfs().zero_vruntime.get()) as i64
    }

    pub fn is_curr(&self, se: Entity<'a>) -> bool {
        is(self.cfs().curr.get(), se)
    }

    /// Carries out one step of a history; what makes no sense is left out.
    pub fn step(&self, step: &Step) {
        let now = self.machine.sched_clock_cpu();
        let idle = is_idle_task(self.rq.curr());
        let task = |n: usize| {
            let tasks = self.tasks.borrow();
            (!tasks.is_empty()).then(|| tasks[n % tasks.len()])
        };
        match *step {
            Step::Run(ns) => self.machine.set_sched_clock(now + ns),
            Step::Fork(nice, policy, slice) => {
                if self.tasks.borrow().len() < 24 {
                    wake_up_new_task(self.machine, self.fork(nice, policy, slice));
                }
            }
            Step::Wake(n, sync) => {
                let flags = if sync { WakeFlags::WF_SYNC } else { WakeFlags::empty() };
                if let Some(p) = task(n) {
                    try_to_wake_up(self.machine, p, TASK_INTERRUPTIBLE, flags, 0);
                }
            }
            Step::Schedule => {
                __schedule(self.rq);
            }
            Step::Block if !idle => {
                set_current_state(self.rq, TASK_INTERRUPTIBLE);
                __schedule(self.rq);
            }
            Step::Tick => sched_tick(self.rq),
            Step::Yield if !idle => do_sched_yield(self.rq),
            Step::Nice(n, nice) => {
                if let Some(p) = task(n) {
                    set_user_nice(self.machine, p, nice);
                }
            }
            Step::Param(n, policy, nice, slice) => {
                if let Some(p) = task(n) {
                    let attr =
                        SchedAttr { sched_policy: policy, sched_nice: nice, sched_runtime: slice };
                    sched_setattr(self.machine, p, &attr);
                }
            }
            Step::Block | Step::Yield => {}
        }
    }
}

/// An entity as [`World::stands`] makes it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its flat weight.
    pub weight: u64,
    /// vruntime - zero_vruntime.
    pub key: i64,
    /// deadline - vruntime.
    pub request: u64,
    /// ns.
    pub slice: u64,
}

/// Entities of any weight that there can be, with keys up to `key` either way.
pub fn entry(key: i64) -> impl Strategy<Value = Entry> {
    let weight = prop_oneof![2u64..100, 3072u64..90_000_000, Just(NICE_0_LOAD)];
    (weight, -key..=key, 1u64..10_000_000, 100_000u64..=100_000_000)
        .prop_map(|(weight, key, request, slice)| Entry { weight, key, request, slice })
}

/// A step of a history. Tasks are taken by number, modulo how many there are.
#[derive(Clone, Debug)]
pub enum Step {
    /// Time passes, ns.
    Run(u64),
    Fork(i32, Policy, u64),
    Wake(usize, bool),
    Schedule,
    Block,
    Tick,
    Yield,
    Nice(usize, i32),
    Param(usize, Policy, i32, u64),
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        4 => Just(Policy::SCHED_NORMAL),
        1 => Just(Policy::SCHED_BATCH),
        1 => Just(Policy::SCHED_IDLE)
    ]
}

fn slice() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0u64), 2 => 100_000u64..20_000_000]
}

fn one_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..3_000_000).prop_map(Step::Run),
        1 => (10_000_000u64..100_000_000).prop_map(Step::Run),
        4 => (-20i32..=19, policy(), slice()).prop_map(|(n, p, s)| Step::Fork(n, p, s)),
        6 => (0usize..24, any::<bool>()).prop_map(|(n, sync)| Step::Wake(n, sync)),
        6 => Just(Step::Schedule),
        5 => Just(Step::Block),
        6 => Just(Step::Tick),
        2 => Just(Step::Yield),
        2 => (0usize..24, -20i32..=19).prop_map(|(n, nice)| Step::Nice(n, nice)),
        2 => (0usize..24, policy(), -20i32..=19, slice())
            .prop_map(|(n, p, nice, s)| Step::Param(n, p, nice, s)),
    ]
}

/// A history, which begins with some tasks.
pub fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let forks = prop::collection::vec(
        (-20i32..=19, slice()).prop_map(|(n, s)| Step::Fork(n, Policy::SCHED_NORMAL, s)),
        1..8,
    );
    (forks, prop::collection::vec(one_step(), 1..length(steps)))
        .prop_map(|(forks, steps)| forks.into_iter().chain(steps).collect())
}

/// The defaults, and each switch that changes what a flat queue does, by itself.
pub fn features() -> impl Strategy<Value = SchedFeat> {
    let words = [
        "PLACE_LAG",
        "NEXT_BUDDY",
        "PARANOID_AVG",
        "NO_RUN_TO_PARITY",
        "NO_PREEMPT_SHORT",
        "NO_DELAY_DEQUEUE",
        "NO_DELAY_ZERO",
        "NO_PLACE_REL_DEADLINE",
        "NO_PLACE_LAG",
    ];
    prop::sample::select(words.to_vec())
        .prop_map(|word| SchedFeat::DEFAULT.change(word).expect("a feature's name"))
}
