// SPDX-License-Identifier: GPL-2.0-only
//! Placement: whoever joins has the lag that it left with, and V moves by what that costs.

mod common;

use common::{Memory, World, cases, entry};
use proptest::prelude::*;
use sched_core::fair::load::calc_delta_fair;
use sched_core::fair::place::place_entity;
use sched_core::fair::timeline::__enqueue_entity;
use sched_core::features::SchedFeat;
use sched_core::sched::{Policy, QueueFlags};

proptest! {
    #![proptest_config(cases(4096))]

    /// The lag measured right after placement is the lag asked for, up to rounding.
    ///
    /// Let `V0` be the exact average of those who are there, of weight `W`, and `w`, `lag` those of the newcomer.
    /// avg_vruntime() is `V0 - f` with `0 <= f < 1`. The newcomer is put at `v = V0 - f - l`, with
    /// `l = lag + trunc(w * lag / W) = lag * (W + w) / W - t`, where `|t| < 1` and t has the sign of lag. Then
    /// `V1 = V0 - w * (f + l) / (W + w)`, so that
    ///
    /// ```text
    /// V1 - v  = (f + l) * W / (W + w) = lag + (f - t) * W / (W + w)
    /// V1 - V0 = -w * lag / W - (f - t) * w / (W + w)
    /// ```
    ///
    /// With `-1 < f - t < 2` both errors are known to less than two units, whatever the weights are.
    #[test]
    fn lag_is_what_was_asked_for(
        there in prop::collection::vec(entry(1 << 30), 1..7),
        curr in any::<bool>(),
        newcomer in entry(1 << 30),
    ) {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        for (at, entry) in there.iter().enumerate() {
            world.stands(entry, curr && at == 0);
        }
        let (sum0, weight0) = world.exact();
        let zero0 = world.cfs().zero_vruntime.get();

        let se = &world.fork(0, Policy::SCHED_NORMAL, newcomer.slice).se;
        let (w, lag) = (i128::from(newcomer.weight), newcomer.key);
        se.load.weight.set(newcomer.weight);
        se.h_load.weight.set(newcomer.weight);
        se.vlag.set(lag);
        place_entity(world.cfs(), se, QueueFlags::empty());
        prop_assert_eq!(se.vlag.get(), lag);
        prop_assert_eq!(
            se.deadline.get(),
            se.vruntime.get().wrapping_add(calc_delta_fair(newcomer.slice, se)),
            "a full request from where it stands"
        );
        __enqueue_entity(world.cfs(), se);
        se.on_rq.set(true);

        let (sum1, weight1) = world.exact();
        prop_assert_eq!(weight1, weight0 + w);
        // (V1 - v - lag) * (W + w), which has to be more than -W and less than 2 W.
        let error = sum1 - i128::from(world.key(se.vruntime.get()) + lag) * weight1;
        prop_assert!(-weight0 < error && error < 2 * weight0, "{error} of {weight0}");

        // (V1 - V0 + w * lag / W) * W * (W + w), which has to be more than -2 w W and less than w W.
        let moved = i128::from(world.cfs().zero_vruntime.get().wrapping_sub(zero0) as i64);
        let error =
            (sum1 + moved * weight1) * weight0 - sum0 * weight1 + w * i128::from(lag) * weight1;
        prop_assert!(-2 * w * weight0 < error && error < w * weight0, "{error} of {w} * {weight0}");
    }

    /// Without PLACE_LAG, without lag, or into an empty queue: at V, as it was asked for last.
    #[test]
    fn without_lag_it_stands_at_v(
        there in prop::collection::vec(entry(1 << 30), 0..4),
        place_lag in any::<bool>(),
        lag in -1000i64..1000,
    ) {
        let memory = Memory::default();
        let features = if place_lag { SchedFeat::DEFAULT } else { SchedFeat::DEFAULT - SchedFeat::PLACE_LAG };
        let world = World::new(&memory, features);
        for entry in &there {
            world.stands(entry, false);
        }
        let (sum, weight) = world.exact();
        let v = if weight == 0 { 0 } else { sum.div_euclid(weight) as u64 };
        let v = v.wrapping_add(world.cfs().zero_vruntime.get());

        let se = &world.fork(0, Policy::SCHED_NORMAL, 0).se;
        se.h_load.weight.set(1 << 20);
        se.vlag.set(if place_lag && !there.is_empty() { 0 } else { lag });
        place_entity(world.cfs(), se, QueueFlags::empty());
        prop_assert_eq!(se.vruntime.get(), v);
    }

    /// A deadline that is relative stays as far away as it was: a move gives no new request.
    #[test]
    fn a_relative_deadline_keeps_its_distance(
        there in prop::collection::vec(entry(1 << 30), 0..4),
        newcomer in entry(1 << 30),
    ) {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        for entry in &there {
            world.stands(entry, false);
        }
        let se = &world.fork(0, Policy::SCHED_NORMAL, newcomer.slice).se;
        se.h_load.weight.set(newcomer.weight);
        se.vlag.set(newcomer.key);
        se.deadline.set(newcomer.request);
        se.rel_deadline.set(true);
        place_entity(world.cfs(), se, QueueFlags::empty());
        prop_assert!(!se.rel_deadline.get());
        prop_assert_eq!(se.deadline.get().wrapping_sub(se.vruntime.get()), newcomer.request);
    }
}

/// One that is heavier than all the rest moves V far; zero_vruntime goes along, so that its own key stays small.
#[test]
fn the_reference_follows_a_heavy_newcomer() {
    let memory = Memory::default();
    let world = World::new(&memory, SchedFeat::DEFAULT);
    let light = common::Entry { weight: 3072, key: 0, request: 1000, slice: 700_000 };
    world.stands(&light, false);
    let se = &world.fork(-20, Policy::SCHED_NORMAL, 0).se;
    se.h_load.weight.set(se.load.weight.get());
    se.vlag.set(20_000);
    place_entity(world.cfs(), se, QueueFlags::empty());
    assert_eq!(world.key(se.vruntime.get()), 0);
}
