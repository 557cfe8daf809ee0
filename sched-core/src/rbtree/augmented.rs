// SPDX-License-Identifier: GPL-2.0-only
//! rbtree_augmented.h: trees whose nodes keep a value over their subtree.

use super::{
    __rb_change_child, __rb_erase_color, __rb_insert, RB_BLACK, RB_RED, RbEntry, RbRootCached,
    rb_next, same,
};

/// struct rb_augment_callbacks: how a value over a subtree follows the tree's changes.
pub trait RbAugmentCallbacks<'a, T> {
    /// Recomputes from `node` upwards, until `stop` or until nothing changes.
    fn propagate(&self, node: Option<&'a T>, stop: Option<&'a T>);
    /// `new` takes the place of `old` and so its value.
    fn copy(&self, old: &'a T, new: &'a T);
    /// `new` was rotated above `old`: it takes the value, and that of `old` is computed anew.
    fn rotate(&self, old: &'a T, new: &'a T);
}

/// rb_add_augmented_cached(): links `node` in the order of `less`, after its equals. The caller has set the node's
/// own value.
#[inline(always)]
pub fn rb_add_augmented_cached<'a, T: RbEntry<'a>>(
    node: &'a T,
    tree: &RbRootCached<'a, T>,
    less: impl Fn(&'a T, &'a T) -> bool,
    augment: &impl RbAugmentCallbacks<'a, T>,
) {
    let mut link = &tree.rb_node;
    let mut parent = None;
    let mut leftmost = true;

    while let Some(entry) = link.get() {
        parent = Some(entry);
        if less(node, entry) {
            link = &entry.rb_node().rb_left;
        } else {
            link = &entry.rb_node().rb_right;
            leftmost = false;
        }
    }

    // rb_link_node()
    let n = node.rb_node();
    n.set_parent_color(parent, RB_RED);
    n.rb_left.set(None);
    n.rb_right.set(None);
    link.set(Some(node));

    augment.propagate(parent, None);
    if leftmost {
        tree.rb_leftmost.set(Some(node));
    }
    __rb_insert(node, tree, |old, new| augment.rotate(old, new));
}

/// __rb_erase_augmented(): unlinks `node`; returns where to rebalance, if that is needed.
#[inline(always)]
fn __rb_erase_augmented<'a, T: RbEntry<'a>>(
    node: &'a T,
    root: &RbRootCached<'a, T>,
    augment: &impl RbAugmentCallbacks<'a, T>,
) -> Option<&'a T> {
    let n = node.rb_node();
    let (left, right) = (n.left(), n.right());
    let parent = n.parent();
    let rebalance;
    let from;

    match (left, right) {
        (None, child) => {
            // At most one child. If there is one it is red and node black: the child takes node's colour.
            __rb_change_child(node, child, parent, root);
            rebalance = match child {
                Some(child) => {
                    child.rb_node().__rb_parent_color.set(n.__rb_parent_color.get());
                    None
                }
                None if n.is_black() => parent,
                None => None,
            };
            from = parent;
        }
        (Some(child), None) => {
            child.rb_node().__rb_parent_color.set(n.__rb_parent_color.get());
            __rb_change_child(node, Some(child), parent, root);
            rebalance = None;
            from = parent;
        }
        (Some(left), Some(right)) => {
            // Two children: the successor takes node's place.
            let mut successor = right;
            let below;
            let child2;
            match right.rb_node().left() {
                None => {
                    // It is the right child itself, and keeps its own right subtree.
                    below = successor;
                    child2 = successor.rb_node().right();
                    augment.copy(node, successor);
                }
                Some(mut next) => {
                    // It is leftmost below the right child: its right subtree moves up to its parent.
                    let mut up;
                    loop {
                        up = successor;
                        successor = next;
                        match next.rb_node().left() {
                            Some(left) => next = left,
                            None => break,
                        }
                    }
                    below = up;
                    child2 = successor.rb_node().right();
                    below.rb_node().rb_left.set(child2);
                    successor.rb_node().rb_right.set(Some(right));
                    right.rb_node().set_parent(successor);
                    augment.copy(node, successor);
                    augment.propagate(Some(below), Some(successor));
                }
            }

            successor.rb_node().rb_left.set(Some(left));
            left.rb_node().set_parent(successor);
            __rb_change_child(node, Some(successor), parent, root);

            rebalance = match child2 {
                Some(child2) => {
                    child2.rb_node().set_parent_color(Some(below), RB_BLACK);
                    None
                }
                None if successor.rb_node().is_black() => Some(below),
                None => None,
            };
            successor.rb_node().__rb_parent_color.set(n.__rb_parent_color.get());
            from = Some(successor);
        }
    }

    augment.propagate(from, None);
    rebalance
}

/// rb_erase_augmented(): unlinks `node` and rebalances.
#[inline(always)]
pub fn rb_erase_augmented<'a, T: RbEntry<'a>>(
    node: &'a T,
    root: &RbRootCached<'a, T>,
    augment: &impl RbAugmentCallbacks<'a, T>,
) {
    if let Some(rebalance) = __rb_erase_augmented(node, root, augment) {
        __rb_erase_color(rebalance, root, |old, new| augment.rotate(old, new));
    }
}

/// rb_erase_augmented_cached(): the same, and keeps the leftmost.
#[inline(always)]
pub fn rb_erase_augmented_cached<'a, T: RbEntry<'a>>(
    node: &'a T,
    root: &RbRootCached<'a, T>,
    augment: &impl RbAugmentCallbacks<'a, T>,
) {
    if same(root.rb_leftmost.get(), Some(node)) {
        root.rb_leftmost.set(rb_next(node));
    }
    rb_erase_augmented(node, root, augment);
}
