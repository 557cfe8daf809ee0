// SPDX-License-Identifier: GPL-2.0-only
//! lib/rbtree.c: the intrusive red-black tree, with the rebalancing that calls back at each rotation.
//!
//! A node is a field of its entry, as in C, but links name the entry and not the node inside it: nothing has to be
//! computed back from the field to its container, and all but the parent link, which carries the colour in its low
//! bit, are plain references. Entries live in an arena for `'a`, longer than any tree that they are linked into.
//!
//! The rules are the usual ones: a root is black, a red node has black children, and every path from a node down to
//! a leaf passes as many black nodes. In the pictures capitals are black, small letters red, parentheses either.

#![expect(unsafe_code, reason = "the parent link is a tagged pointer")]

mod augmented;

pub use augmented::{
    RbAugmentCallbacks, rb_add_augmented_cached, rb_erase_augmented, rb_erase_augmented_cached,
};

use core::cell::Cell;
use core::ptr;

/// The colour bit of a red node.
pub const RB_RED: usize = 0;
/// The colour bit of a black node.
pub const RB_BLACK: usize = 1;

/// An entry that has a tree node as a field.
pub trait RbEntry<'a>: Sized + 'a {
    /// The node.
    fn rb_node(&self) -> &RbNode<'a, Self>;
}

/// struct rb_node, as a field of its entry `T`.
///
/// # Invariants
///
/// `__rb_parent_color` without its low bit is null, or was made from an `&'a T`. The low bit is the colour; it is
/// free, since `T` is aligned to at least 2.
pub struct RbNode<'a, T> {
    __rb_parent_color: Cell<*const T>,
    rb_right: Cell<Option<&'a T>>,
    rb_left: Cell<Option<&'a T>>,
}

impl<'a, T> RbNode<'a, T> {
    const ALIGNED: () =
        assert!(align_of::<T>() >= 2, "the low bit of a pointer to an entry must be free");

    /// A node that is in no tree.
    pub const fn new() -> Self {
        RbNode {
            __rb_parent_color: Cell::new(ptr::null()),
            rb_right: Cell::new(None),
            rb_left: Cell::new(None),
        }
    }

    /// The left child.
    #[inline(always)]
    pub fn left(&self) -> Option<&'a T> {
        self.rb_left.get()
    }

    /// The right child.
    #[inline(always)]
    pub fn right(&self) -> Option<&'a T> {
        self.rb_right.get()
    }

    /// Whether the node is black.
    #[inline(always)]
    pub fn is_black(&self) -> bool {
        self.__rb_parent_color.get().addr() & 1 == RB_BLACK
    }

    #[inline(always)]
    fn is_red(&self) -> bool {
        !self.is_black()
    }

    /// rb_parent(): the parent; none at the root.
    #[inline(always)]
    pub fn parent(&self) -> Option<&'a T> {
        let () = Self::ALIGNED;
        let parent = self.__rb_parent_color.get().map_addr(|addr| addr & !1);
        // SAFETY: by the type's invariant this is null or was made from an `&'a T`.
        unsafe { parent.as_ref() }
    }

    /// rb_set_parent_color().
    #[inline(always)]
    fn set_parent_color(&self, parent: Option<&'a T>, color: usize) {
        let parent = parent.map_or(ptr::null(), ptr::from_ref);
        // INVARIANT: made from an `&'a T`, or null; the low bit is the colour.
        self.__rb_parent_color.set(parent.map_addr(|addr| addr | color));
    }

    /// rb_set_parent(): the colour stays.
    #[inline(always)]
    fn set_parent(&self, parent: &'a T) {
        let color = self.__rb_parent_color.get().addr() & 1;
        self.set_parent_color(Some(parent), color);
    }

    /// rb_set_black().
    #[inline(always)]
    fn set_black(&self) {
        let parent = self.__rb_parent_color.get();
        // INVARIANT: only the colour changes.
        self.__rb_parent_color.set(parent.map_addr(|addr| addr | RB_BLACK));
    }
}

impl<T> Default for RbNode<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// struct rb_root_cached: the root of a tree, and its leftmost entry.
pub struct RbRootCached<'a, T> {
    rb_node: Cell<Option<&'a T>>,
    rb_leftmost: Cell<Option<&'a T>>,
}

impl<'a, T> RbRootCached<'a, T> {
    /// RB_ROOT_CACHED: an empty tree.
    pub const fn new() -> Self {
        RbRootCached { rb_node: Cell::new(None), rb_leftmost: Cell::new(None) }
    }

    /// The entry at the root.
    #[inline(always)]
    pub fn root(&self) -> Option<&'a T> {
        self.rb_node.get()
    }

    /// rb_first_cached(): the leftmost entry.
    #[inline(always)]
    pub fn first(&self) -> Option<&'a T> {
        self.rb_leftmost.get()
    }
}

impl<T> Default for RbRootCached<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether two links name the same entry.
#[inline(always)]
fn same<T>(a: Option<&T>, b: Option<&T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// __rb_change_child(): puts `new` where `old` hangs below `parent`, or at the root.
#[inline(always)]
fn __rb_change_child<'a, T: RbEntry<'a>>(
    old: &'a T,
    new: Option<&'a T>,
    parent: Option<&'a T>,
    root: &RbRootCached<'a, T>,
) {
    match parent {
        Some(parent) => {
            let parent = parent.rb_node();
            if same(parent.rb_left.get(), Some(old)) {
                parent.rb_left.set(new);
            } else {
                parent.rb_right.set(new);
            }
        }
        None => root.rb_node.set(new),
    }
}

/// __rb_rotate_set_parents(): `new` takes the place and colour of `old`, which becomes its child with `color`.
#[inline(always)]
fn __rb_rotate_set_parents<'a, T: RbEntry<'a>>(
    old: &'a T,
    new: &'a T,
    root: &RbRootCached<'a, T>,
    color: usize,
) {
    let parent = old.rb_node().parent();
    new.rb_node().__rb_parent_color.set(old.rb_node().__rb_parent_color.get());
    old.rb_node().set_parent_color(Some(new), color);
    __rb_change_child(old, Some(new), parent, root);
}

/// __rb_insert(): rebalances after `node` was linked as a red leaf.
#[inline(always)]
fn __rb_insert<'a, T: RbEntry<'a>>(
    mut node: &'a T,
    root: &RbRootCached<'a, T>,
    augment_rotate: impl Fn(&'a T, &'a T),
) {
    let mut parent = node.rb_node().parent();

    // At the top of each turn `node` is red.
    loop {
        let Some(mut p) = parent else {
            node.rb_node().set_parent_color(None, RB_BLACK);
            return;
        };
        if p.rb_node().is_black() {
            return;
        }
        // A red node is not the root, so there is a grandparent.
        let Some(gparent) = p.rb_node().parent() else { return };
        let g = gparent.rb_node();

        if !same(g.rb_right.get(), Some(p)) {
            // The parent is a left child.
            if let Some(uncle) = g.rb_right.get().filter(|uncle| uncle.rb_node().is_red()) {
                // Red uncle: push the blackness down from G, go on there.
                uncle.rb_node().set_parent_color(Some(gparent), RB_BLACK);
                p.rb_node().set_parent_color(Some(gparent), RB_BLACK);
                node = gparent;
                parent = g.parent();
                g.set_parent_color(parent, RB_RED);
                continue;
            }

            let mut tmp = p.rb_node().rb_right.get();
            if same(tmp, Some(node)) {
                // An inner grandchild: rotate left at p, so that it becomes an outer one.
                tmp = node.rb_node().rb_left.get();
                p.rb_node().rb_right.set(tmp);
                node.rb_node().rb_left.set(Some(p));
                if let Some(tmp) = tmp {
                    tmp.rb_node().set_parent_color(Some(p), RB_BLACK);
                }
                p.rb_node().set_parent_color(Some(node), RB_RED);
                augment_rotate(p, node);
                p = node;
                tmp = node.rb_node().rb_right.get();
            }

            // Rotate right at G: p takes its place, G becomes red.
            g.rb_left.set(tmp);
            p.rb_node().rb_right.set(Some(gparent));
            if let Some(tmp) = tmp {
                tmp.rb_node().set_parent_color(Some(gparent), RB_BLACK);
            }
            __rb_rotate_set_parents(gparent, p, root, RB_RED);
            augment_rotate(gparent, p);
            return;
        }

        // The mirror image.
        if let Some(uncle) = g.rb_left.get().filter(|uncle| uncle.rb_node().is_red()) {
            uncle.rb_node().set_parent_color(Some(gparent), RB_BLACK);
            p.rb_node().set_parent_color(Some(gparent), RB_BLACK);
            node = gparent;
            parent = g.parent();
            g.set_parent_color(parent, RB_RED);
            continue;
        }

        let mut tmp = p.rb_node().rb_left.get();
        if same(tmp, Some(node)) {
            tmp = node.rb_node().rb_right.get();
            p.rb_node().rb_left.set(tmp);
            node.rb_node().rb_right.set(Some(p));
            if let Some(tmp) = tmp {
                tmp.rb_node().set_parent_color(Some(p), RB_BLACK);
            }
            p.rb_node().set_parent_color(Some(node), RB_RED);
            augment_rotate(p, node);
            p = node;
            tmp = node.rb_node().rb_left.get();
        }

        g.rb_right.set(tmp);
        p.rb_node().rb_left.set(Some(gparent));
        if let Some(tmp) = tmp {
            tmp.rb_node().set_parent_color(Some(gparent), RB_BLACK);
        }
        __rb_rotate_set_parents(gparent, p, root, RB_RED);
        augment_rotate(gparent, p);
        return;
    }
}

/// A link that the tree's rules say is there.
#[inline(always)]
fn must<T>(link: Option<&T>) -> &T {
    match link {
        Some(entry) => entry,
        None => crate::bug::bug("the tree lacks a node that its colours promise"),
    }
}

#[inline(always)]
fn red<'a, T: RbEntry<'a>>(link: Option<&'a T>) -> bool {
    link.is_some_and(|entry| entry.rb_node().is_red())
}

/// ____rb_erase_color(): rebalances after a black node went from below `parent`, where the paths are now one short.
fn __rb_erase_color<'a, T: RbEntry<'a>>(
    parent: &'a T,
    root: &RbRootCached<'a, T>,
    augment_rotate: impl Fn(&'a T, &'a T),
) {
    let mut parent = parent;
    let mut node: Option<&'a T> = None;

    // At the top of each turn `node` is black or nothing, is not the root, and its paths are one black node short.
    loop {
        let p = parent.rb_node();
        if !same(p.rb_right.get(), node) {
            // node is the left child.
            let mut sibling = must(p.rb_right.get());
            if sibling.rb_node().is_red() {
                // Rotate left at P: the new sibling is black.
                let tmp1 = must(sibling.rb_node().rb_left.get());
                p.rb_right.set(Some(tmp1));
                sibling.rb_node().rb_left.set(Some(parent));
                tmp1.rb_node().set_parent_color(Some(parent), RB_BLACK);
                __rb_rotate_set_parents(parent, sibling, root, RB_RED);
                augment_rotate(parent, sibling);
                sibling = tmp1;
            }
            let mut tmp1 = sibling.rb_node().rb_right.get();
            if !red(tmp1) {
                let inner = sibling.rb_node().rb_left.get();
                if !red(inner) {
                    // Both nephews black: make the sibling red; the shortage moves up, or ends in a red parent.
                    sibling.rb_node().set_parent_color(Some(parent), RB_RED);
                    if p.is_red() {
                        p.set_black();
                        return;
                    }
                    node = Some(parent);
                    match p.parent() {
                        Some(up) => {
                            parent = up;
                            continue;
                        }
                        None => return,
                    }
                }
                // The inner nephew is red: rotate right at the sibling. p and the nephew may both be red for the
                // moment; the last rotation gives the nephew p's colour.
                let tmp2 = must(inner);
                tmp1 = tmp2.rb_node().rb_right.get();
                sibling.rb_node().rb_left.set(tmp1);
                tmp2.rb_node().rb_right.set(Some(sibling));
                p.rb_right.set(Some(tmp2));
                if let Some(tmp1) = tmp1 {
                    tmp1.rb_node().set_parent_color(Some(sibling), RB_BLACK);
                }
                augment_rotate(sibling, tmp2);
                tmp1 = Some(sibling);
                sibling = tmp2;
            }
            // The outer nephew is red: rotate left at P, recolour, done.
            let tmp2 = sibling.rb_node().rb_left.get();
            p.rb_right.set(tmp2);
            sibling.rb_node().rb_left.set(Some(parent));
            must(tmp1).rb_node().set_parent_color(Some(sibling), RB_BLACK);
            if let Some(tmp2) = tmp2 {
                tmp2.rb_node().set_parent(parent);
            }
            __rb_rotate_set_parents(parent, sibling, root, RB_BLACK);
            augment_rotate(parent, sibling);
            return;
        }

        // The mirror image.
        let mut sibling = must(p.rb_left.get());
        if sibling.rb_node().is_red() {
            let tmp1 = must(sibling.rb_node().rb_right.get());
            p.rb_left.set(Some(tmp1));
            sibling.rb_node().rb_right.set(Some(parent));
            tmp1.rb_node().set_parent_color(Some(parent), RB_BLACK);
            __rb_rotate_set_parents(parent, sibling, root, RB_RED);
            augment_rotate(parent, sibling);
            sibling = tmp1;
        }
        let mut tmp1 = sibling.rb_node().rb_left.get();
        if !red(tmp1) {
            let inner = sibling.rb_node().rb_right.get();
            if !red(inner) {
                sibling.rb_node().set_parent_color(Some(parent), RB_RED);
                if p.is_red() {
                    p.set_black();
                    return;
                }
                node = Some(parent);
                match p.parent() {
                    Some(up) => {
                        parent = up;
                        continue;
                    }
                    None => return,
                }
            }
            let tmp2 = must(inner);
            tmp1 = tmp2.rb_node().rb_left.get();
            sibling.rb_node().rb_right.set(tmp1);
            tmp2.rb_node().rb_left.set(Some(sibling));
            p.rb_left.set(Some(tmp2));
            if let Some(tmp1) = tmp1 {
                tmp1.rb_node().set_parent_color(Some(sibling), RB_BLACK);
            }
            augment_rotate(sibling, tmp2);
            tmp1 = Some(sibling);
            sibling = tmp2;
        }
        let tmp2 = sibling.rb_node().rb_right.get();
        p.rb_left.set(tmp2);
        sibling.rb_node().rb_right.set(Some(parent));
        must(tmp1).rb_node().set_parent_color(Some(sibling), RB_BLACK);
        if let Some(tmp2) = tmp2 {
            tmp2.rb_node().set_parent(parent);
        }
        __rb_rotate_set_parents(parent, sibling, root, RB_BLACK);
        augment_rotate(parent, sibling);
        return;
    }
}

/// rb_next(): the entry after `entry` in order.
pub fn rb_next<'a, T: RbEntry<'a>>(entry: &'a T) -> Option<&'a T> {
    if let Some(mut next) = entry.rb_node().right() {
        while let Some(left) = next.rb_node().left() {
            next = left;
        }
        return Some(next);
    }
    let mut entry = entry;
    while let Some(parent) = entry.rb_node().parent() {
        if !same(parent.rb_node().right(), Some(entry)) {
            return Some(parent);
        }
        entry = parent;
    }
    None
}

/// rb_last(): the rightmost entry.
pub fn rb_last<'a, T: RbEntry<'a>>(root: &RbRootCached<'a, T>) -> Option<&'a T> {
    let mut last = root.root()?;
    while let Some(right) = last.rb_node().right() {
        last = right;
    }
    Some(last)
}
