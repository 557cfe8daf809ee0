// SPDX-License-Identifier: GPL-2.0-only
//! The augmented tree against intrusive-collections' RBTree, a recomputed augmentation and the red-black rules, after
//! every step.

mod common;

use common::{cases, length};
use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, intrusive_adapter};
use proptest::prelude::*;
use sched_core::rbtree::{
    RbAugmentCallbacks, RbEntry, RbNode, RbRootCached, rb_add_augmented_cached,
    rb_erase_augmented_cached, rb_last, rb_next,
};
use std::cell::Cell;
use std::ptr;

/// An entry of both trees.
struct Entry<'a> {
    node: RbNode<'a, Entry<'a>>,
    link: RBTreeLink,
    /// Order; equals stand in the order of their insertion.
    key: u64,
    /// When it was inserted: the model's tie breaker.
    inserted: Cell<u64>,
    value: u64,
    /// The least and the greatest value of the subtree.
    least: Cell<u64>,
    greatest: Cell<u64>,
}

impl<'a> RbEntry<'a> for Entry<'a> {
    fn rb_node(&self) -> &RbNode<'a, Self> {
        &self.node
    }
}

intrusive_adapter!(ByKey<'a> = &'a Entry<'a>: Entry<'a> { link: RBTreeLink });

impl<'k, 'a> KeyAdapter<'k> for ByKey<'a> {
    type Key = (u64, u64);
    fn get_key(&self, entry: &'k Entry<'a>) -> (u64, u64) {
        (entry.key, entry.inserted.get())
    }
}

/// Keeps both, and stops where neither changes: the values often stay the same, so that a lost copy is seen.
struct LeastAndGreatest;

impl LeastAndGreatest {
    fn of(entry: &Entry<'_>) -> (u64, u64) {
        let children = [entry.node.left(), entry.node.right()];
        children.into_iter().flatten().fold(
            (entry.value, entry.value),
            |(least, greatest), child| {
                (least.min(child.least.get()), greatest.max(child.greatest.get()))
            },
        )
    }

    /// True if nothing changed.
    fn update(entry: &Entry<'_>) -> bool {
        let (least, greatest) = Self::of(entry);
        let before = (entry.least.replace(least), entry.greatest.replace(greatest));
        before == (least, greatest)
    }
}

impl<'a> RbAugmentCallbacks<'a, Entry<'a>> for LeastAndGreatest {
    fn propagate(&self, node: Option<&'a Entry<'a>>, stop: Option<&'a Entry<'a>>) {
        let mut node = node;
        while let Some(entry) = node {
            if stop.is_some_and(|stop| ptr::eq(stop, entry)) || Self::update(entry) {
                return;
            }
            node = entry.node.parent();
        }
    }

    fn copy(&self, old: &'a Entry<'a>, new: &'a Entry<'a>) {
        new.least.set(old.least.get());
        new.greatest.set(old.greatest.get());
    }

    fn rotate(&self, old: &'a Entry<'a>, new: &'a Entry<'a>) {
        self.copy(old, new);
        Self::update(old);
    }
}

/// Both trees, with the same entries in them.
struct Pair<'a> {
    tree: RbRootCached<'a, Entry<'a>>,
    model: RBTree<ByKey<'a>>,
    inserted: u64,
}

impl<'a> Pair<'a> {
    fn new() -> Self {
        Pair { tree: RbRootCached::new(), model: RBTree::new(ByKey::new()), inserted: 0 }
    }

    fn insert(&mut self, entry: &'a Entry<'a>) {
        entry.inserted.set(self.inserted);
        self.inserted += 1;
        entry.least.set(entry.value);
        entry.greatest.set(entry.value);
        rb_add_augmented_cached(entry, &self.tree, |a, b| a.key < b.key, &LeastAndGreatest);
        self.model.insert(entry);
    }

    fn erase(&mut self, entry: &'a Entry<'a>) {
        rb_erase_augmented_cached(entry, &self.tree, &LeastAndGreatest);
        let found = self.model.find_mut(&(entry.key, entry.inserted.get())).remove();
        assert!(found.is_some_and(|found| ptr::eq(found, entry)));
    }

    /// Everything that must be so.
    fn check(&self) {
        let root = self.tree.root();
        if let Some(root) = root {
            assert!(root.node.parent().is_none(), "the root has no parent");
            assert!(root.node.is_black(), "the root is black");
            subtree(root);
        }
        let mut entry = self.tree.first();
        for expected in self.model.iter() {
            let found = entry.expect("the tree ends too early");
            assert!(ptr::eq(found, expected), "{} where {} stands", found.key, expected.key);
            entry = rb_next(found);
        }
        assert!(entry.is_none(), "the tree goes on after its end");
        let last = self.model.back().get();
        assert_eq!(rb_last(&self.tree).map(ptr::from_ref), last.map(ptr::from_ref));
    }
}

/// Checks links, colours and augmentation of a subtree; returns how many black nodes each of its paths has.
fn subtree(entry: &Entry<'_>) -> u32 {
    let blacks = [entry.node.left(), entry.node.right()].map(|child| {
        let Some(child) = child else { return 1 };
        assert!(child.node.parent().is_some_and(|parent| ptr::eq(parent, entry)), "parent link");
        assert!(entry.node.is_black() || child.node.is_black(), "a red node has black children");
        subtree(child)
    });
    assert_eq!(blacks[0], blacks[1], "all paths have as many black nodes");
    assert_eq!(
        (entry.least.get(), entry.greatest.get()),
        LeastAndGreatest::of(entry),
        "augmentation"
    );
    blacks[0] + u32::from(entry.node.is_black())
}

fn entries<'a>(
    arena: &'a typed_arena::Arena<Entry<'a>>,
    keys: &[(u64, u64)],
) -> Vec<&'a Entry<'a>> {
    let entry = |&(key, value): &(u64, u64)| Entry {
        node: RbNode::new(),
        link: RBTreeLink::new(),
        key,
        inserted: Cell::new(0),
        value,
        least: Cell::new(0),
        greatest: Cell::new(0),
    };
    keys.iter().map(|key| &*arena.alloc(entry(key))).collect()
}

/// Goes through `toggles`: an entry that is not in the tree is inserted, one that is in it is erased.
fn toggle(keys: &[(u64, u64)], toggles: &[usize], check_each: bool) {
    let arena = typed_arena::Arena::new();
    let entries = entries(&arena, keys);
    let mut pair = Pair::new();
    let mut is_in = vec![false; keys.len()];
    for &at in toggles {
        let at = at % keys.len();
        if is_in[at] {
            pair.erase(entries[at]);
        } else {
            pair.insert(entries[at]);
        }
        is_in[at] = !is_in[at];
        if check_each {
            pair.check();
        }
    }
    pair.check();
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn random_insertions_and_erasures(
        keys in prop::collection::vec((0u64..60, 0u64..20), 1..length(80)),
        toggles in prop::collection::vec(0usize..80, 1..length(300)),
    ) {
        toggle(&keys, &toggles, true);
    }

    #[test]
    fn equal_keys_are_first_in_first_out(
        values in prop::collection::vec(0u64..1000, 1..length(40)),
        toggles in prop::collection::vec(0usize..40, 1..length(120)),
    ) {
        let keys: Vec<_> = values.into_iter().map(|value| (7, value)).collect();
        toggle(&keys, &toggles, true);
    }
}

/// All in, and all out again from the left, from the right, and all over the place.
fn in_and_out(keys: &[(u64, u64)]) {
    let nr = keys.len();
    let forwards: Vec<usize> = (0..nr).collect();
    let backwards: Vec<usize> = (0..nr).rev().collect();
    // A prime that is larger than nr: a permutation.
    let scattered: Vec<usize> = (0..nr).map(|i| i * 7919 % nr).collect();
    for out in [&forwards, &backwards, &scattered] {
        let toggles: Vec<usize> = forwards.iter().chain(out).copied().collect();
        toggle(keys, &toggles, nr <= 100);
    }
}

#[test]
fn ascending_descending_and_equal_keys() {
    let nr = length(64) as u64;
    in_and_out(&(0..nr).map(|i| (i, i * 37 % 101)).collect::<Vec<_>>());
    in_and_out(&(0..nr).map(|i| (nr - i, i * 37 % 101)).collect::<Vec<_>>());
    in_and_out(&(0..nr).map(|i| (5, i * 37 % 101)).collect::<Vec<_>>());
}

#[test]
fn large_trees() {
    for nr in [length(500) as u64, length(2000) as u64] {
        in_and_out(&(0..nr).map(|i| (i * 7919 % 2003, i * 37 % 101)).collect::<Vec<_>>());
    }
}

#[test]
#[should_panic(expected = "augmentation")]
fn a_stale_value_is_seen() {
    let arena = typed_arena::Arena::new();
    let entries = entries(&arena, &[(1, 5), (2, 6), (3, 7)]);
    let mut pair = Pair::new();
    entries.iter().for_each(|entry| pair.insert(entry));
    entries[1].least.set(6);
    pair.check();
}
