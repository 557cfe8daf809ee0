// SPDX-License-Identifier: GPL-2.0-only
//! What the benches of the fast paths run on: one CPU with many tasks, brought into a state like that of a busy
//! machine before any time is taken. Hooks are `()`, so that nothing is counted.

use sched_core::core::{
    __schedule, sched_fork, sched_init, sched_tick, set_current_state, try_to_wake_up,
    wake_up_new_task,
};
use sched_core::fair::class::SchedAttr;
use sched_core::sched::{
    Machine, NSEC_PER_MSEC, Policy, Rq, TASK_INTERRUPTIBLE, TaskStruct, WakeFlags, task_cpu,
};

/// The sizes at which everything is measured: how many tasks there are.
pub const SIZES: [usize; 5] = [2, 15, 100, 1_000, 10_000];

/// What lives as long as a [`World`]: sched-core links it and never allocates.
#[derive(Default)]
pub struct Memory<'a> {
    machines: typed_arena::Arena<Machine<'a, ()>>,
    runqueues: typed_arena::Arena<Rq<'a, ()>>,
    tasks: typed_arena::Arena<TaskStruct<'a, ()>>,
}

/// One CPU and its tasks: all are runnable but one, which sleeps until the next hand-off.
pub struct World<'a> {
    machine: &'a Machine<'a, ()>,
    rq: &'a Rq<'a, ()>,
    sleeper: &'a TaskStruct<'a, ()>,
    now_ns: u64,
}

impl<'a> World<'a> {
    /// A world of `tasks` tasks (at least 2) at nice 0 in `memory`, each of which has run for a while.
    pub fn new(memory: &'a Memory<'a>, tasks: usize) -> Self {
        let machine: &'a Machine<'a, ()> = memory.machines.alloc(Machine::new(()));
        let runqueues = memory.runqueues.alloc_extend([Rq::new(machine, 0)]);
        sched_init(machine, runqueues);
        let rq = machine.cpu_rq(0);

        let attr =
            SchedAttr { sched_policy: Policy::SCHED_NORMAL, sched_nice: 0, sched_runtime: 0 };
        machine.set_sched_clock(NSEC_PER_MSEC);
        for _ in 0..tasks.max(2) {
            let p = memory.tasks.alloc(TaskStruct::new());
            sched_fork(machine, p, &attr, &machine.root_task_group, 0);
            wake_up_new_task(machine, p);
        }

        let sleeper = __schedule(rq);
        let mut world = World { machine, rq, sleeper, now_ns: NSEC_PER_MSEC };
        world.spread(2 * tasks);
        world.sleeper = world.block(700);
        world
    }

    /// The runqueue.
    pub fn rq(&self) -> &'a Rq<'a, ()> {
        self.rq
    }

    /// The task that sleeps.
    pub fn sleeper(&self) -> &'a TaskStruct<'a, ()> {
        self.sleeper
    }

    /// Lets the clock go on by `ns`.
    #[inline(always)]
    fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.machine.set_sched_clock(self.now_ns);
    }

    /// `turns` turns of uneven length by the tick, so that vruntimes and deadlines lie apart as in real life.
    pub fn spread(&mut self, turns: usize) {
        for step_ns in steps_ns(0x5eed, turns, 200_000, 1_000_000) {
            self.pass(step_ns);
            sched_tick(self.rq);
            __schedule(self.rq);
        }
    }

    /// The running task sleeps after `ns`, and the next one runs. Returns the one that sleeps now.
    #[inline(always)]
    fn block(&mut self, ns: u64) -> &'a TaskStruct<'a, ()> {
        self.pass(ns);
        let prev = self.rq.curr();
        set_current_state(self.rq, TASK_INTERRUPTIBLE);
        __schedule(self.rq);
        prev
    }

    /// The whole step of a hand-off: after `before_ns` the running task wakes the one that sleeps, and after another
    /// `after_ns` it sleeps itself, so that the CPU switches.
    #[inline(always)]
    pub fn hand_off(&mut self, before_ns: u64, after_ns: u64) {
        self.pass(before_ns);
        let p = self.sleeper;
        let cpu = task_cpu(p);
        try_to_wake_up(self.machine, p, TASK_INTERRUPTIBLE, WakeFlags::WF_SYNC, cpu);
        self.sleeper = self.block(after_ns);
    }
}

/// `count` steps from `low_ns` to below `high_ns`, the same for the same seed.
pub fn steps_ns(seed: u64, count: usize, low_ns: u64, high_ns: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut next = || {
        // xorshift64: good enough to make steps uneven.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        low_ns + state % (high_ns - low_ns)
    };
    (0..count).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_core::sched::is_idle_task;

    /// What is timed must be what it is called.
    #[test]
    fn a_hand_off_switches_and_leaves_one_asleep() {
        for tasks in [2, 15, 100] {
            let memory = Memory::default();
            let mut world = World::new(&memory, tasks);
            let switches = world.rq().nr_switches.get();
            for _ in 0..1_000 {
                world.hand_off(8_000, 4_000);
                assert!(!is_idle_task(world.rq().curr()));
                assert_eq!(world.rq().cfs.h_nr_runnable.get() as usize, tasks - 1);
            }
            assert_eq!(world.rq().nr_switches.get() - switches, 1_000);
        }
    }

    #[test]
    fn the_world_is_spread() {
        let memory = Memory::default();
        let world = World::new(&memory, 100);
        let first = world.rq().cfs.tasks_timeline.first().expect("tasks wait");
        let root = world.rq().cfs.tasks_timeline.root().expect("tasks wait");
        assert_ne!(first.deadline.get(), root.deadline.get());
        assert!(steps_ns(1, 100, 5, 9).iter().all(|step| (5..9).contains(step)));
    }
}
