// SPDX-License-Identifier: GPL-2.0-only
//! The augmented tree against a sorted map: order, links, colours and the values over the subtrees after each step.

use sched_core::rbtree::{
    RbAugmentCallbacks, RbEntry, RbNode, RbRootCached, rb_add_augmented_cached,
    rb_erase_augmented_cached, rb_last, rb_next,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr;

/// So many entries there are: some levels, and few enough that a fuzzer comes back to each.
const ENTRIES: usize = 32;
/// Longer histories repeat what shorter ones show.
const STEPS_MAX: usize = 1_024;

/// An entry of the tree.
struct Entry<'a> {
    node: RbNode<'a, Entry<'a>>,
    /// Order; equals stand in the order of their insertion.
    key: Cell<u8>,
    value: Cell<u8>,
    /// The least value of the subtree.
    least: Cell<u8>,
}

impl<'a> RbEntry<'a> for Entry<'a> {
    fn rb_node(&self) -> &RbNode<'a, Self> {
        &self.node
    }
}

/// Keeps the least value, and stops going up where it does not change.
struct Least;

impl Least {
    fn of(entry: &Entry<'_>) -> u8 {
        let children = [entry.node.left(), entry.node.right()].into_iter().flatten();
        children.map(|child| child.least.get()).fold(entry.value.get(), u8::min)
    }
}

impl<'a> RbAugmentCallbacks<'a, Entry<'a>> for Least {
    fn propagate(&self, node: Option<&'a Entry<'a>>, stop: Option<&'a Entry<'a>>) {
        let mut node = node;
        while let Some(entry) = node {
            if stop.is_some_and(|stop| ptr::eq(stop, entry)) {
                return;
            }
            let least = Least::of(entry);
            if entry.least.replace(least) == least {
                return;
            }
            node = entry.node.parent();
        }
    }

    fn copy(&self, old: &'a Entry<'a>, new: &'a Entry<'a>) {
        new.least.set(old.least.get());
    }

    fn rotate(&self, old: &'a Entry<'a>, new: &'a Entry<'a>) {
        self.copy(old, new);
        old.least.set(Least::of(old));
    }
}

/// Three bytes are a step: an entry, which is taken out if it is in; otherwise it is put in with a key and a value.
pub fn tree(bytes: &[u8]) {
    let entries: Vec<Entry<'_>> = (0..ENTRIES)
        .map(|_| Entry {
            node: RbNode::new(),
            key: Cell::new(0),
            value: Cell::new(0),
            least: Cell::new(0),
        })
        .collect();
    let root = RbRootCached::new();
    // By key and time of insertion: which entry.
    let mut model: BTreeMap<(u8, usize), usize> = BTreeMap::new();
    let mut inserted = [None; ENTRIES];
    for (at, step) in bytes.chunks_exact(3).take(STEPS_MAX).enumerate() {
        let index = usize::from(step[0]) % ENTRIES;
        let entry = &entries[index];
        match inserted[index].take() {
            Some(key) => {
                rb_erase_augmented_cached(entry, &root, &Least);
                model.remove(&key);
            }
            None => {
                entry.key.set(step[1]);
                entry.value.set(step[2]);
                entry.least.set(step[2]);
                rb_add_augmented_cached(entry, &root, |a, b| a.key < b.key, &Least);
                model.insert((step[1], at), index);
                inserted[index] = Some((step[1], at));
            }
        }
        check(&root, &entries, &model);
    }
}

fn check<'a>(
    root: &RbRootCached<'a, Entry<'a>>,
    entries: &[Entry<'a>],
    model: &BTreeMap<(u8, usize), usize>,
) {
    if let Some(top) = root.root() {
        assert!(top.node.parent().is_none() && top.node.is_black(), "the root is black and on top");
        subtree(top);
    }
    let mut next = root.first();
    for &index in model.values() {
        let entry = next.expect("the tree has all that the model has");
        assert!(ptr::eq(entry, &entries[index]), "entry {index} is in its place");
        next = rb_next(entry);
    }
    assert!(next.is_none(), "the tree has no more than the model");
    let last = model.values().next_back().map(|&index| ptr::from_ref(&entries[index]));
    assert_eq!(rb_last(root).map(ptr::from_ref), last, "the last");
}

/// How many black nodes each path of the subtree has.
fn subtree(entry: &Entry<'_>) -> u32 {
    let blacks = [entry.node.left(), entry.node.right()].map(|child| {
        let Some(child) = child else { return 1 };
        assert!(child.node.parent().is_some_and(|parent| ptr::eq(parent, entry)), "parent link");
        assert!(entry.node.is_black() || child.node.is_black(), "a red node has black children");
        subtree(child)
    });
    assert_eq!(blacks[0], blacks[1], "all paths have as many black nodes");
    assert_eq!(entry.least.get(), Least::of(entry), "the least value of the subtree");
    blacks[0] + u32::from(entry.node.is_black())
}
