// SPDX-License-Identifier: GPL-2.0-only
//! pick_eevdf() against a scan over all tasks in 128 bit, on queues that a random history has left.

mod common;

use common::{Entity, Memory, Step, World, cases, entry, features, history};
use proptest::prelude::*;
use sched_core::fair::pick::pick_eevdf;
use sched_core::features::SchedFeat;
use sched_core::sched::vruntime_before;
use std::ptr;

/// Whom pick_eevdf() has to find. Entities that share the earliest deadline are all returned; curr only if nobody in
/// the tree shares it.
fn scan<'a>(world: &World<'a>, protect: bool) -> Vec<Entity<'a>> {
    let queued = world.queued();
    if queued.len() == 1 {
        return queued;
    }
    let (sum, weight) = world.exact();
    let owed = |se: &Entity<'a>| sum >= i128::from(world.key(se.vruntime.get())) * weight;

    let next = world.cfs().next.get();
    if protect && let Some(next) = next.filter(|next| owed(next)) {
        return vec![next];
    }
    let mut owed: Vec<Entity<'a>> = queued.into_iter().filter(owed).collect();
    if protect
        && let Some(curr) = owed.iter().find(|se| world.is_curr(se))
        && vruntime_before(curr.vruntime.get(), curr.vprot.get())
    {
        return vec![curr];
    }
    let earliest = owed.iter().map(|se| world.key(se.deadline.get())).min();
    owed.retain(|se| Some(world.key(se.deadline.get())) == earliest);
    if owed.len() > 1 {
        owed.retain(|se| !world.is_curr(se));
    }
    owed
}

fn compare(world: &World<'_>) -> Result<(), TestCaseError> {
    if world.queued().is_empty() || world.cfs().sum_shift.get() != 0 {
        return Ok(());
    }
    for protect in [true, false] {
        let picked = pick_eevdf(world.cfs(), protect);
        let ought = scan(world, protect);
        prop_assert!(!ought.is_empty(), "somebody is always at or before the average");
        let right = picked.is_some_and(|picked| ought.iter().any(|se| ptr::eq(*se, picked)));
        prop_assert!(
            right,
            "protect {protect}: {:?}",
            picked.map(|se| world.key(se.deadline.get()))
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn after_any_history(features in features(), steps in history(120)) {
        let memory = Memory::default();
        let world = World::new(&memory, features);
        for step in &steps {
            world.step(step);
            compare(&world)?;
        }
    }

    /// Keys, deadlines and weights as no history would leave them, with and without curr.
    #[test]
    fn of_any_queue(
        entries in prop::collection::vec(entry(1 << 31), 1..24),
        curr in any::<bool>(),
        protected in -1_000_000i64..1_000_000,
    ) {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        for (at, entry) in entries.iter().enumerate() {
            let se = world.stands(entry, curr && at == 0);
            se.vprot.set(se.vruntime.get().wrapping_add(protected as u64));
        }
        compare(&world)?;
    }

    /// Few different deadlines: among equals whoever came first, and the tree before curr.
    #[test]
    fn ties_go_to_who_came_first(keys in prop::collection::vec((0i64..3, 1u64..4), 2..16)) {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        let entries: Vec<Entity<'_>> = keys
            .iter()
            .map(|&(key, request)| {
                let entry = common::Entry { weight: 1 << 20, key, request, slice: 700_000 };
                world.stands(&entry, false)
            })
            .collect();
        let ought = scan(&world, true);
        let first = entries.iter().find(|se| ought.iter().any(|other| ptr::eq(**se, *other)));
        let picked = pick_eevdf(world.cfs(), true);
        prop_assert_eq!(picked.map(ptr::from_ref), first.map(|se| ptr::from_ref(*se)));
    }
}

/// The histories above reach what they are to reach.
#[test]
fn histories_are_not_trivial() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut searched, mut delayed) = (0, 0);
    for _ in 0..if cfg!(miri) { 2 } else { 40 } {
        let steps: Vec<Step> = history(120).new_tree(&mut runner).expect("a history").current();
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        for step in &steps {
            world.step(step);
            let queued = world.queued();
            searched += u32::from(queued.len() > 3);
            delayed += u32::from(queued.iter().any(|se| se.sched_delayed.get()));
        }
    }
    assert!(cfg!(miri) || (searched > 100 && delayed > 100), "{searched} {delayed}");
}
