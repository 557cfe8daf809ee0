// SPDX-License-Identifier: GPL-2.0-only
//! The intrusive list against a Vec.

mod common;

use common::{Entity, Memory, Strict, World, cases, length};
use proptest::prelude::*;
use sched_core::features::SchedFeat;
use sched_core::list::{GroupNode, List};
use sched_core::sched::Policy;
use std::ptr;

fn contents<'a>(list: &List<GroupNode<'a, Strict>>) -> Vec<*const u8> {
    let mut found = Vec::new();
    list.for_each(|se| found.push(ptr::from_ref(se).cast()));
    found
}

proptest! {
    #![proptest_config(cases(256))]

    /// list_add, list_del_init and list_move, each where it is allowed.
    #[test]
    fn behaves_like_a_vec(steps in prop::collection::vec((0usize..12, any::<bool>()), 1..length(200))) {
        let memory = Memory::default();
        let world = World::new(&memory, SchedFeat::DEFAULT);
        let entries: Vec<Entity<'_>> =
            (0..12).map(|_| &world.fork(0, Policy::SCHED_NORMAL, 0).se).collect();
        let list = List::<GroupNode<'_, Strict>>::new();
        let mut model: Vec<usize> = Vec::new();

        for (at, moves) in steps {
            match model.iter().position(|&there| there == at) {
                None => {
                    list.list_add(entries[at]);
                    model.insert(0, at);
                }
                Some(position) if moves => {
                    list.list_move(entries[at]);
                    let moved = model.remove(position);
                    model.insert(0, moved);
                }
                Some(position) => {
                    list.list_del_init(entries[at]);
                    model.remove(position);
                }
            }
            let expected: Vec<*const u8> =
                model.iter().map(|&at| ptr::from_ref(entries[at]).cast()).collect();
            prop_assert_eq!(contents(&list), expected);
            prop_assert_eq!(list.list_empty(), model.is_empty());
        }
        // An entry that stays linked may outlive its list, but not be added to another one.
        model.iter().for_each(|&at| list.list_del_init(entries[at]));
    }
}
