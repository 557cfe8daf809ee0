// SPDX-License-Identifier: GPL-2.0-only
//! A change of weight keeps V, and everybody's lag, request and protection in real time; and back again it is as if
//! nothing had been.

mod common;

use common::{Entity, Entry, Memory, World, cases, entry};
use proptest::prelude::*;
use sched_core::fair::avg_vruntime::{avg_vruntime, entity_lag};
use sched_core::fair::reweight::reweight_eevdf;
use sched_core::features::SchedFeat;

fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![2u64..100, 3072u64..90_000_000, Just(1 << 20)]
}

/// A queue with `entries`, the first of which is to be changed: it is curr, or not.
fn stand<'a>(memory: &'a Memory<'a>, entries: &[Entry], curr: bool) -> (World<'a>, Entity<'a>) {
    let world = World::new(memory, SchedFeat::DEFAULT);
    let all: Vec<Entity<'a>> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| world.stands(entry, curr && at == 0))
        .collect();
    (world, all[0])
}

/// V of the exact sums relative to `base`, times the weight, and the weight.
fn exact_from(world: &World<'_>, base: u64) -> (i128, i128) {
    let (sum, weight) = world.exact();
    (sum - i128::from(world.key(base)) * weight, weight)
}

/// Whether the lag of `se` is short of the limit that entity_lag() sets, which is where the laws end.
fn is_unlimited(world: &World<'_>, se: Entity<'_>) -> bool {
    let v = avg_vruntime(world.cfs());
    entity_lag(world.cfs(), se, v) == v.wrapping_sub(se.vruntime.get()) as i64
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..cases(4096) })]

    /// With `A = V0 - f` the rounded average (`0 <= f < 1`), `w` and `w'` the weights, and W, W' the sums with either:
    ///
    /// * `lag' = trunc(lag * w / w')`, so `w' * lag' = w * lag - r` with `|r| < w'`; the same for the distances of
    ///   deadline and protection from A.
    /// * The others keep their places: `W' * (V1 - A) = W * f + w * lag - w' * lag' = W * f + r`, and so
    ///   `W' * (V1 - V0) = W * f + r - W' * f = (w - w') * f + r`, less than `|w - w'| + w'` either way.
    #[test]
    fn v_lag_and_deadline_are_kept(
        entries in prop::collection::vec(entry(20_000), 1..6),
        new_weight in weight(),
        curr in any::<bool>(),
        protection in 1u64..1_000_000,
    ) {
        let memory = Memory::default();
        let (world, se) = stand(&memory, &entries, curr);
        let ahead = protection % 2 == 0;
        let protected = curr && ahead; // the stamp of one that does not run means nothing
        se.vprot.set(if ahead { se.vruntime.get().wrapping_add(protection) } else { se.vruntime.get() });
        prop_assume!(is_unlimited(&world, se));
        let base = avg_vruntime(world.cfs());
        let from_base = |vruntime: u64| i128::from(vruntime.wrapping_sub(base) as i64);
        let old = i128::from(se.h_load.weight.get());
        let new = i128::from(new_weight);
        let (sum0, weight0) = exact_from(&world, base);
        let before = [se.vruntime.get(), se.deadline.get(), se.vprot.get()].map(from_base);
        let queued = world.cfs().h_nr_queued.get();

        reweight_eevdf(world.cfs(), se, new_weight, true);

        let after = [se.vruntime.get(), se.deadline.get(), se.vprot.get()].map(from_base);
        for at in 0..if protected { 3 } else { 2 } {
            let error = after[at] * new - before[at] * old;
            prop_assert!(error.abs() < new.max(1), "field {at}: {error} of {new}");
        }
        if !protected && new != old {
            prop_assert_eq!(after[2], before[2], "a stamp that has expired is left alone");
        }
        let (sum1, weight1) = exact_from(&world, base);
        prop_assert_eq!(weight1, weight0 - old + new);
        // (V1 - V0) * W' * W
        let error = sum1 * weight0 - sum0 * weight1;
        prop_assert!(error.abs() < ((old - new).abs() + new) * weight0, "V moved by {error}");
        prop_assert_eq!(world.cfs().h_nr_queued.get(), queued);
        prop_assert!(!se.rel_deadline.get());
    }

    /// `w -> w' -> w`. By the law above `w' * lag' = w * lag - r1`. V, as rounded, has then moved by a whole number d,
    /// so the second change starts from `lag' + d` and ends with `w * lag'' = w * lag - r1 + w' * d - r2`. The place
    /// relative to the first V is `d - lag''`, which is `-lag + d * (1 - w' / w) + (r1 + r2) / w`: up to the known
    /// d, off by less than `(w' + w) / w`.
    #[test]
    fn there_and_back(
        entries in prop::collection::vec(entry(20_000), 2..6),
        new_weight in weight(),
        curr in any::<bool>(),
    ) {
        let memory = Memory::default();
        let (world, se) = stand(&memory, &entries, curr);
        prop_assume!(is_unlimited(&world, se));
        let weight = se.h_load.weight.get();
        let (before, v) = (se.vruntime.get(), avg_vruntime(world.cfs()));

        reweight_eevdf(world.cfs(), se, new_weight, true);
        prop_assume!(is_unlimited(&world, se));
        let d = i128::from(avg_vruntime(world.cfs()).wrapping_sub(v) as i64);
        reweight_eevdf(world.cfs(), se, weight, true);

        let (w, other) = (i128::from(weight), i128::from(new_weight));
        let moved = i128::from(se.vruntime.get().wrapping_sub(before) as i64);
        let error = moved * w - d * (w - other);
        prop_assert!(error.abs() < w + other, "moved by {moved}, V by {d}");
    }

    /// One that does not compete only has its own distances scaled.
    #[test]
    fn off_the_queue_lag_scales(
        entries in prop::collection::vec(entry(20_000), 1..4),
        old in weight(),
        new in weight(),
        lag in -1_000_000_000i64..1_000_000_000,
    ) {
        let memory = Memory::default();
        let (world, _) = stand(&memory, &entries, false);
        let before = world.exact();
        let se = &world.fork(0, sched_core::sched::Policy::SCHED_NORMAL, 0).se;
        se.h_load.weight.set(old);
        se.vlag.set(lag);
        reweight_eevdf(world.cfs(), se, new, false);
        let error = i128::from(se.vlag.get()) * i128::from(new) - i128::from(lag) * i128::from(old);
        prop_assert!(error.abs() < i128::from(new).max(1));
        prop_assert_eq!(world.exact(), before);
    }
}

/// Weights that are cut short in the sums only would let V jump here by more than a million, and leave a lag of
/// -574416 behind.
#[test]
fn a_tiny_weight_in_between_leaves_nothing() {
    let memory = Memory::default();
    let entries =
        [1123, -1123].map(|key| Entry { weight: 1 << 20, key, request: 700_000, slice: 700_000 });
    let (world, se) = stand(&memory, &entries, false);
    let before = se.vruntime.get();
    for weight in [2, 1 << 20] {
        reweight_eevdf(world.cfs(), se, weight, true);
        assert_eq!(world.exact().1, (1 << 20) + i128::from(weight));
    }
    assert_eq!(se.vruntime.get(), before);
}
