// SPDX-License-Identifier: GPL-2.0-only
//! Virtual time wraps. Where it starts, near the wrap or far from it, must not matter to any decision.

mod common;

use common::{Memory, Step, World, cases, features, history};
use proptest::prelude::*;
use sched_core::features::SchedFeat;
use sched_core::sched::{Tif, is_idle_task};
use sched_core::sync::Ordering;

/// All that a history decides and measures, with virtual times relative to `origin`.
fn trail(features: SchedFeat, origin: u64, steps: &[Step]) -> Vec<[u64; 8]> {
    let memory = Memory::default();
    let world = World::new(&memory, features);
    world.cfs().zero_vruntime.set(origin);
    let mut trail = Vec::new();
    for step in steps {
        world.step(step);
        let curr = world.rq.curr();
        let who = if is_idle_task(curr) { u64::MAX } else { u64::from(curr.pid.get()) };
        let asked = curr.thread_info_flags.load(Ordering::Relaxed) & Tif::all().bits();
        let cfs_rq = world.cfs();
        trail.push([
            who,
            u64::from(asked),
            world.rq.nr_switches.get(),
            cfs_rq.zero_vruntime.get().wrapping_sub(origin),
            cfs_rq.sum_w_vruntime.get() as u64,
            cfs_rq.sum_weight.get(),
            u64::from(cfs_rq.h_nr_queued.get()),
            u64::from(cfs_rq.h_nr_runnable.get()),
        ]);
        for se in world.queued() {
            trail.push([
                se.vruntime.get().wrapping_sub(origin),
                se.deadline.get().wrapping_sub(origin),
                se.vlag.get() as u64,
                se.slice.get(),
                se.sum_exec_runtime.get(),
                u64::from(se.sched_delayed.get()),
                se.h_load.weight.get(),
                0,
            ]);
        }
    }
    trail
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn the_origin_does_not_matter(
        features in features(),
        steps in history(120),
        origin in any::<u64>(),
        short_of_the_wrap in 0u64..5_000_000,
    ) {
        let expected = trail(features, 1 << 40, &steps);
        for origin in [
            origin,
            0,
            short_of_the_wrap.wrapping_neg(),
            (1 << 63) - short_of_the_wrap,
            (1u64 << 20).wrapping_neg(),
        ] {
            prop_assert_eq!(trail(features, origin, &steps), expected.clone(), "origin {}", origin);
        }
    }
}
