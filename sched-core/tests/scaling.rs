// SPDX-License-Identifier: GPL-2.0-only
//! All weights doubled. Virtual time is time by weight, so with every span of time doubled as well (run times, slices,
//! the tick) each quotient is the same to the bit: who runs, at what virtual time, with what deadline and lag. With the
//! times left alone virtual time goes at half the pace, and who runs when stays the same where nothing has to be
//! rounded: powers of two as weights, and spans that they divide.

mod common;

use common::{Memory, Task, World, cases, length};
use proptest::prelude::*;
use sched_core::core::*;
use sched_core::fair::load::NICE_0_LOAD;
use sched_core::features::SchedFeat;
use sched_core::sched::{Policy, TASK_INTERRUPTIBLE, WakeFlags, is_idle_task};

/// A task: its weight, and its slice, ns.
#[derive(Clone, Debug)]
struct Born {
    weight: u64,
    slice: u64,
}

/// A step. Tasks are taken by number.
#[derive(Clone, Debug)]
enum Step {
    Run(u64),
    Wake(usize),
    Schedule,
    Block,
    Tick,
    Yield,
}

/// What is compared after a step.
#[derive(PartialEq, Eq, Debug)]
struct Shown {
    curr: u32,
    /// Of each task: queued, delayed, vruntime, deadline, lag.
    tasks: Vec<(bool, bool, u64, u64, i64)>,
}

/// A world in which weights are `weights` times, and spans of time `times` times what the steps say.
struct Scaled<'a> {
    world: World<'a>,
    times: u64,
}

impl<'a> Scaled<'a> {
    fn new(memory: &'a Memory<'a>, born: &[Born], weights: u64, times: u64) -> Self {
        let world = World::new(memory, SchedFeat::DEFAULT);
        let machine = world.machine;
        machine.tick_nsec.set(machine.tick_nsec.get() * times);
        machine.sysctl_sched_base_slice.set(700_000 * times as u32);
        for born in born {
            let p = world.fork(0, Policy::SCHED_NORMAL, born.slice * times);
            p.se.load.weight.set(born.weight * weights);
            wake_up_new_task(machine, p);
        }
        Scaled { world, times }
    }

    fn task(&self, at: usize) -> Task<'a> {
        let tasks = self.world.tasks.borrow();
        tasks[at % tasks.len()]
    }

    fn step(&self, step: &Step) {
        let (machine, rq) = (self.world.machine, self.world.rq);
        let idle = is_idle_task(rq.curr());
        match *step {
            Step::Run(ns) => machine.set_sched_clock(machine.sched_clock_cpu() + ns * self.times),
            Step::Wake(at) => {
                let p = self.task(at);
                try_to_wake_up(machine, p, TASK_INTERRUPTIBLE, WakeFlags::empty(), 0);
            }
            Step::Schedule => {
                __schedule(rq);
            }
            Step::Block if !idle => {
                set_current_state(rq, TASK_INTERRUPTIBLE);
                __schedule(rq);
            }
            Step::Tick => sched_tick(rq),
            Step::Yield if !idle => do_sched_yield(rq),
            Step::Block | Step::Yield => {}
        }
    }

    fn shown(&self) -> Shown {
        let curr = self.world.rq.curr();
        let curr = if is_idle_task(curr) { u32::MAX } else { curr.pid.get() };
        let tasks = self.world.tasks.borrow();
        let of = |p: &Task<'a>| {
            let se = &p.se;
            let (vruntime, deadline) = (se.vruntime.get(), se.deadline.get());
            (se.on_rq.get(), se.sched_delayed.get(), vruntime, deadline, se.vlag.get())
        };
        Shown { curr, tasks: tasks.iter().map(of).collect() }
    }
}

fn born() -> impl Strategy<Value = Vec<Born>> {
    // Slices that are within the limits of a custom slice, doubled and not.
    let one = (3_072u64..90_000_000, 100_000u64..=40_000_000);
    prop::collection::vec(one.prop_map(|(weight, slice)| Born { weight, slice }), 1..8)
}

fn steps(run: impl Strategy<Value = u64>, sleeps: bool) -> impl Strategy<Value = Vec<Step>> {
    let rest = u32::from(sleeps);
    let step = prop_oneof![
        8 => run.prop_map(Step::Run),
        6 => Just(Step::Schedule),
        6 => Just(Step::Tick),
        1 + 4 * rest => if sleeps { Just(Step::Block) } else { Just(Step::Schedule) },
        1 + 5 * rest => (0usize..8).prop_map(Step::Wake),
        1 => if sleeps { Just(Step::Yield) } else { Just(Step::Tick) },
    ];
    prop::collection::vec(step, 1..length(300))
}

proptest! {
    #![proptest_config(cases(512))]

    /// Exact, whatever the weights.
    #[test]
    fn weights_and_times_doubled_change_nothing(
        born in born(),
        steps in steps(0u64..4_000_000, true),
    ) {
        let memories = (Memory::default(), Memory::default());
        let once = Scaled::new(&memories.0, &born, 1, 1);
        let twice = Scaled::new(&memories.1, &born, 2, 2);
        for (at, step) in steps.iter().enumerate() {
            once.step(step);
            twice.step(step);
            prop_assert_eq!(once.shown(), twice.shown(), "after step {} {:?}", at, step);
        }
    }

    /// The same tasks run at the same times. Of tasks that never sleep, so that nobody is placed at a rounded V.
    #[test]
    fn weights_doubled_leave_the_order_of_picks(
        born in prop::collection::vec((0u32..6, 1u64..40), 2..8),
        steps in steps((0u64..4_000).prop_map(|n| n << 10), false),
    ) {
        let born: Vec<Born> = born
            .into_iter()
            .map(|(shift, slice)| Born { weight: NICE_0_LOAD << shift, slice: slice << 20 })
            .collect();
        let memories = (Memory::default(), Memory::default());
        let once = Scaled::new(&memories.0, &born, 1, 1);
        let twice = Scaled::new(&memories.1, &born, 2, 1);
        for (at, step) in steps.iter().enumerate() {
            once.step(step);
            twice.step(step);
            let (once, twice) = (once.shown(), twice.shown());
            prop_assert_eq!(once.curr, twice.curr, "after step {} {:?}", at, step);
        }
    }
}

/// The comparison goes red: doubled weights alone do change virtual times.
#[test]
fn doubled_weights_alone_are_seen() {
    let born = [Born { weight: NICE_0_LOAD, slice: 1 << 20 }];
    let memories = (Memory::default(), Memory::default());
    let once = Scaled::new(&memories.0, &born, 1, 1);
    let twice = Scaled::new(&memories.1, &born, 2, 1);
    for step in [Step::Schedule, Step::Run(1 << 20), Step::Tick] {
        once.step(&step);
        twice.step(&step);
    }
    assert_ne!(once.shown(), twice.shown());
}
