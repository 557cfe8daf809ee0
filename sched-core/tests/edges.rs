// SPDX-License-Identifier: GPL-2.0-only
//! Corners that random operations do not reach, each found by a mutant that lived (Documentation/mutants.rst).

mod common;

use common::{Entry, Memory, World};
use sched_core::core::*;
use sched_core::fair::preempt::yield_to_task_fair;
use sched_core::features::SchedFeat;
use sched_core::pelt::update_idle_rq_clock_pelt;
use sched_core::sched::{Policy, RqClockFlags, TASK_INTERRUPTIBLE};

/// Only to who is queued and awake can be yielded; the operation language refuses anything else before the class is
/// asked.
#[test]
fn nobody_yields_to_a_sleeper() {
    let memory = Memory::default();
    let world = World::new(&memory, SchedFeat::DEFAULT);
    let [a, b, asleep] = [0; 3].map(|nice| world.fork(nice, Policy::SCHED_NORMAL, 0));
    for p in [a, b, asleep] {
        wake_up_new_task(world.machine, p);
    }
    // Let whoever runs sleep at once: its lag is not 0, so it stays queued, or it is gone.
    __schedule(world.rq);
    let delayed = world.rq.curr();
    world.machine.set_sched_clock(3_000_000);
    set_current_state(world.rq, TASK_INTERRUPTIBLE);
    __schedule(world.rq);
    assert!(
        delayed.se.sched_delayed.get() && delayed.se.on_rq.get(),
        "it used more than its share"
    );
    assert!(!yield_to_task_fair(world.rq, delayed), "delayed: asleep, but queued");

    // For good: neither queued nor delayed.
    wait_task_inactive(world.machine, delayed);
    assert!(!delayed.se.sched_delayed.get() && !delayed.se.on_rq.get());
    assert!(!yield_to_task_fair(world.rq, delayed), "not queued");

    let waits = world.queued().into_iter().find(|se| !world.is_curr(se)).expect("one waits");
    let waits = sched_core::sched::task_of(waits);
    assert!(yield_to_task_fair(world.rq, waits), "queued and awake");
}

/// A CPU that was busy all the time loses what its PELT clock is behind when it becomes idle; one that was not, does
/// not. Busy is: the sum is what an endless run comes to, up to the part of a period that is still open.
#[test]
fn idle_time_is_lost_by_a_cpu_that_was_always_busy() {
    const LOAD_AVG_MAX: u32 = 47_742; // the series of 1024 * y^n in 1024 us: y^32 is a half
    let busy = ((LOAD_AVG_MAX - 1024) << 10) - LOAD_AVG_MAX;
    for (util_sum, lost) in [(busy, 500), (busy - 1, 0), (0, 0)] {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        world.rq.clock_update_flags.set(RqClockFlags::RQCF_UPDATED);
        world.rq.clock_task.set(10_000);
        world.rq.clock_pelt.set(9_500);
        world.rq.cfs.avg.util_sum.set(util_sum);
        update_idle_rq_clock_pelt(world.rq);
        assert_eq!(world.rq.lost_idle_time.get(), lost, "with a sum of {util_sum}");
        assert_eq!(world.rq.clock_pelt.get(), 10_000, "it has caught up");
    }
}

/// PARANOID_AVG: where the sums would need more than 63 bits, weights give up bits, each term for itself and none below
/// 2; an enqueue makes the sums anew, a dequeue takes away what the enqueue added.
#[test]
fn paranoid_sums_give_up_bits_of_the_weights() {
    let memory = Memory::default();
    let world = World::new(&memory, SchedFeat::DEFAULT | SchedFeat::PARANOID_AVG);
    let cfs_rq = world.cfs();
    let entries = [(3u64, -7i64), (88_761 << 10, 1 << 36), (88_761 << 10, 1 << 36), (1 << 20, 5)];
    let mut queued = Vec::new();
    for (weight, key) in entries {
        let entry = Entry { weight, key, request: 1_000, slice: 700_000 };
        queued.push(world.stands(&entry, false));
        let shift = cfs_rq.sum_shift.get();
        let of = |se: &common::Entity<'_>| {
            let weight = se.h_load.weight.get();
            if shift == 0 { weight } else { (weight >> shift).max(2) }
        };
        let weight: u64 = queued.iter().map(of).sum();
        let product =
            |se: &common::Entity<'_>| i128::from(of(se)) * i128::from(world.key(se.vruntime.get()));
        let sum: i128 = queued.iter().map(product).sum();
        assert_eq!(cfs_rq.sum_weight.get(), weight, "shift {shift}");
        assert_eq!(i128::from(cfs_rq.sum_w_vruntime.get()), sum, "shift {shift}");
    }
    assert_eq!(cfs_rq.sum_shift.get(), 1, "2^27 * 2^36 twice is one bit too much");
}

/// The root group has no share of anything: its sums over the CPUs are not kept.
#[test]
fn the_root_group_keeps_no_sums() {
    let memory = Memory::default();
    let world = World::new(&memory, SchedFeat::DEFAULT);
    wake_up_new_task(world.machine, world.fork(0, Policy::SCHED_NORMAL, 0));
    __schedule(world.rq);
    for tick in 2..200 {
        world.machine.set_sched_clock(tick * 1_000_000);
        sched_tick(world.rq);
    }
    assert_ne!(world.cfs().avg.load_avg.get(), 0, "the queue's own is kept");
    let root = &world.machine.root_task_group;
    assert_eq!(root.load_avg.load(sched_core::sync::Ordering::Relaxed), 0);
}
