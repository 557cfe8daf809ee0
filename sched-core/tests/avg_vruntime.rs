// SPDX-License-Identifier: GPL-2.0-only
//! V, the average: rounded down, never unfair to who is placed at it, and independent of the reference it is kept
//! relative to.

mod common;

use common::{Entry, Memory, World, cases, entry, features, history};
use proptest::prelude::*;
use sched_core::fair::avg_vruntime::{
    avg_vruntime, entity_eligible, update_zero_vruntime, vruntime_eligible,
};
use sched_core::fair::pick::pick_eevdf;
use sched_core::features::SchedFeat;
use std::ptr;

/// V, rounded down, of the exact sums; absolute. With nobody there it is zero_vruntime.
fn floor(world: &World<'_>) -> u64 {
    let (sum, weight) = world.exact();
    let v = if weight == 0 { 0 } else { sum.div_euclid(weight) };
    world.cfs().zero_vruntime.get().wrapping_add(v as u64)
}

/// What holds of V in any state in which no weight bit was given up.
fn laws(world: &World<'_>) -> Result<(), TestCaseError> {
    let cfs_rq = world.cfs();
    if cfs_rq.sum_shift.get() != 0 {
        return Ok(());
    }
    let queued = world.queued();
    let exact = floor(world);
    let (sum, weight) = world.exact();
    let owed: Vec<bool> = queued.iter().map(|se| entity_eligible(cfs_rq, se)).collect();
    for (se, owed) in queued.iter().zip(&owed) {
        let exact = sum >= i128::from(world.key(se.vruntime.get())) * weight;
        prop_assert_eq!(*owed, exact, "eligible, in exact arithmetic");
    }
    prop_assert!(queued.is_empty() || owed.contains(&true), "somebody is at or before V");

    let v = avg_vruntime(cfs_rq);
    prop_assert_eq!(v, exact, "V is the floor of the exact average");
    prop_assert_eq!(cfs_rq.zero_vruntime.get(), v, "zero_vruntime goes to V");
    if !queued.is_empty() {
        prop_assert!(vruntime_eligible(cfs_rq, v), "whoever is placed at V is eligible");
        prop_assert!(!vruntime_eligible(cfs_rq, v.wrapping_add(1)), "and nobody behind it");
    }
    prop_assert_eq!(avg_vruntime(cfs_rq), v, "asked again, V is the same");
    let after: Vec<bool> = queued.iter().map(|se| entity_eligible(cfs_rq, se)).collect();
    prop_assert_eq!(after, owed, "the question changes nobody's answer");
    Ok(())
}

fn stand<'a>(memory: &'a Memory<'a>, entries: &[Entry], curr: bool) -> World<'a> {
    let world = World::new(memory, SchedFeat::DEFAULT);
    for (at, entry) in entries.iter().enumerate() {
        world.stands(entry, curr && at == 0);
    }
    world
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn after_any_history(features in features(), steps in history(100)) {
        let memory = Memory::default();
        let world = World::new(&memory, features);
        for step in &steps {
            world.step(step);
        }
        laws(&world)?;
    }

    // 24 keys of 31 bits and weights of 27: the sums stay within their 63 bits.
    #[test]
    fn of_any_queue(entries in prop::collection::vec(entry(1 << 31), 1..24), curr in any::<bool>()) {
        let memory = Memory::default();
        laws(&stand(&memory, &entries, curr))?;
    }

    /// Wherever zero_vruntime is, near V, the sums say the same.
    #[test]
    fn the_reference_does_not_matter(
        entries in prop::collection::vec(entry(1 << 29), 1..24),
        curr in any::<bool>(),
        deltas in prop::collection::vec(-(1i64 << 29)..1 << 29, 1..4),
    ) {
        let memory = Memory::default();
        let world = stand(&memory, &entries, curr);
        let cfs_rq = world.cfs();
        let ask = || {
            let owed: Vec<bool> =
                world.queued().iter().map(|se| entity_eligible(cfs_rq, se)).collect();
            (owed, [true, false].map(|protect| pick_eevdf(cfs_rq, protect).map(ptr::from_ref)))
        };
        let v = floor(&world);
        let before = ask();
        for delta in deltas {
            update_zero_vruntime(cfs_rq, delta);
            prop_assert_eq!(ask(), before.clone());
            prop_assert_eq!(floor(&world), v);
        }
        prop_assert_eq!(avg_vruntime(cfs_rq), v);
        prop_assert_eq!(ask(), before);
    }
}

/// A division that truncates would give V = 0 here, and whoever is placed there would not be eligible.
#[test]
fn v_leans_to_the_left() {
    let memory = Memory::default();
    let entries = [(1024, -1), (2048, 0)].map(|(weight, key)| Entry {
        weight,
        key,
        request: 1000,
        slice: 700_000,
    });
    let world = stand(&memory, &entries, false);
    let zero = world.cfs().zero_vruntime.get();
    assert_eq!(avg_vruntime(world.cfs()), zero.wrapping_sub(1));
}

/// The product of a key and all weights needs more than 64 bits: the least weight at the limit of its debt, among five
/// of nice 0. In 64 bits it wraps, and the debtor is taken for eligible.
#[test]
fn eligibility_is_decided_in_128_bit() {
    let memory = Memory::default();
    let stands = |weight, key| Entry { weight, key, request: 1000, slice: 700_000 };
    let mut entries = vec![stands(2, 1_992_294_400_000)];
    entries.extend((0..5).map(|_| stands(1 << 20, 0)));
    let world = stand(&memory, &entries, false);
    assert!(!entity_eligible(world.cfs(), world.queued()[0]));
    assert!(entity_eligible(world.cfs(), world.queued()[1]));
}
