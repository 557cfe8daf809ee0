// SPDX-License-Identifier: GPL-2.0-only
//! The intrusive lists: struct list_head's users, on top of intrusive-collections.
//!
//! A list is behind a shared reference like everything else here, so that adding and removing work through `&self`.

#![expect(
    unsafe_code,
    reason = "removal from the middle by reference, and interior mutability of the list head"
)]

use crate::sched::{CfsRq, SchedEntity, TaskGroup, TaskStruct};
use crate::trace::Hooks;
use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use intrusive_collections::{Adapter, LinkedList, LinkedListLink, PointerOps, intrusive_adapter};

mod adapters {
    #![allow(missing_docs, reason = "the macro makes public items and documents none")]

    use super::*;

    intrusive_adapter!(
        /// Tasks of a runqueue, by `group_node`.
        pub GroupNode<'a, H> =
            &'a SchedEntity<'a, H>: SchedEntity<'a, H> { group_node: LinkedListLink } where H: Hooks + 'a
    );
    intrusive_adapter!(
        /// Queues of a CPU with something to decay, by `leaf_cfs_rq_list`.
        pub LeafCfsRqList<'a, H> =
            &'a CfsRq<'a, H>: CfsRq<'a, H> { leaf_cfs_rq_list: LinkedListLink } where H: Hooks + 'a
    );
    intrusive_adapter!(
        /// Queues of a group that are throttled, by `throttled_list`.
        pub ThrottledNode<'a, H> =
            &'a CfsRq<'a, H>: CfsRq<'a, H> { throttled_list: LinkedListLink } where H: Hooks + 'a
    );
    intrusive_adapter!(
        /// Queues of a CPU that it is to unthrottle, by `throttled_csd_list`.
        pub CsdNode<'a, H> =
            &'a CfsRq<'a, H>: CfsRq<'a, H> { throttled_csd_list: LinkedListLink } where H: Hooks + 'a
    );
    intrusive_adapter!(
        /// Tasks that are parked in a throttled queue, by `throttle_node`.
        pub LimboNode<'a, H> =
            &'a TaskStruct<'a, H>: TaskStruct<'a, H> { throttle_node: LinkedListLink } where H: Hooks + 'a
    );
    intrusive_adapter!(
        /// Groups below one, by `siblings`.
        pub Siblings<'a, H> =
            &'a TaskGroup<'a, H>: TaskGroup<'a, H> { siblings: LinkedListLink } where H: Hooks + 'a
    );
}

pub use adapters::{CsdNode, GroupNode, LeafCfsRqList, LimboNode, Siblings, ThrottledNode};

/// A list of entries that outlive it, linked by a field of theirs.
///
/// # Invariants
///
/// No reference into the list is kept beyond a method of this type, so that each may have the list to itself. As with
/// every field of a runqueue, the caller holds its lock.
pub struct List<A: Adapter<LinkOps = intrusive_collections::linked_list::LinkOps>> {
    // Entries are references: nothing is to be freed, and without drop glue a list may link what borrows its own arena.
    head: UnsafeCell<ManuallyDrop<LinkedList<A>>>,
}

impl<'a, A, T> List<A>
where
    T: 'a,
    A: Adapter<LinkOps = intrusive_collections::linked_list::LinkOps> + Copy + Default,
    A::PointerOps: PointerOps<Value = T, Pointer = &'a T>,
{
    /// INIT_LIST_HEAD().
    pub fn new() -> Self {
        List { head: UnsafeCell::new(ManuallyDrop::new(LinkedList::new(A::default()))) }
    }

    #[expect(clippy::mut_from_ref, reason = "see the type's invariant")]
    fn head(&self) -> &mut LinkedList<A> {
        // SAFETY: by the type's invariant no other reference into the list exists now.
        unsafe { &mut *self.head.get() }
    }

    /// list_add(): `entry`, which is in no list, becomes the first.
    #[inline(always)]
    pub fn list_add(&self, entry: &'a T) {
        self.head().push_front(entry);
    }

    /// list_add_tail(): `entry`, which is in no list, becomes the last.
    #[inline(always)]
    pub fn list_add_tail(&self, entry: &'a T) {
        self.head().push_back(entry);
    }

    /// list_add_tail() at a member: `entry`, which is in no list, goes right before `at`, which is in this one.
    pub fn list_add_before(&self, at: &'a T, entry: &'a T) {
        // SAFETY: `at` is in this list.
        unsafe { self.head().cursor_mut_from_ptr(at) }.insert_before(entry);
    }

    /// list_add() at a member: `entry`, which is in no list, goes right after `at`, which is in this one.
    pub fn list_add_after(&self, at: &'a T, entry: &'a T) {
        // SAFETY: `at` is in this list.
        unsafe { self.head().cursor_mut_from_ptr(at) }.insert_after(entry);
    }

    /// The first entry.
    pub fn first(&self) -> Option<&'a T> {
        self.head().front().clone_pointer()
    }

    /// The entry after `entry`, which is in this list.
    pub fn next(&self, entry: &'a T) -> Option<&'a T> {
        // SAFETY: `entry` is in this list.
        let mut cursor = unsafe { self.head().cursor_from_ptr(entry) };
        cursor.move_next();
        cursor.clone_pointer()
    }

    /// The entry before `entry`, which is in this list.
    pub fn prev(&self, entry: &'a T) -> Option<&'a T> {
        // SAFETY: `entry` is in this list.
        let mut cursor = unsafe { self.head().cursor_from_ptr(entry) };
        cursor.move_prev();
        cursor.clone_pointer()
    }

    /// list_del_init(): `entry`, which is in this list, leaves it.
    #[inline(always)]
    pub fn list_del_init(&self, entry: &'a T) {
        // SAFETY: `entry` is in this list, by the contract that it shares with list_del_init().
        unsafe { self.head().cursor_mut_from_ptr(entry) }.remove();
    }

    /// list_move(): `entry`, which is in this list, becomes the first.
    #[inline(always)]
    pub fn list_move(&self, entry: &'a T) {
        self.list_del_init(entry);
        self.list_add(entry);
    }

    /// list_splice_init(): all entries of this list, in their order, become a list of its own.
    pub fn list_splice_init(&self) -> Self {
        let all = self.head().take();
        List { head: UnsafeCell::new(ManuallyDrop::new(all)) }
    }

    /// list_splice(): all entries of `list`, in their order, become the first of this one.
    pub fn list_splice(&self, list: Self) {
        let list = ManuallyDrop::into_inner(list.head.into_inner());
        self.head().front_mut().splice_before(list);
    }

    /// list_empty().
    pub fn list_empty(&self) -> bool {
        self.head().is_empty()
    }

    /// The entries, first to last, each shown to `visit`, which must not change the list.
    pub fn for_each(&self, mut visit: impl FnMut(&'a T)) {
        // SAFETY: by the type's invariant nobody changes the list now.
        let head = unsafe { &*self.head.get() };
        let mut cursor = head.front();
        while let Some(entry) = cursor.clone_pointer() {
            visit(entry);
            cursor.move_next();
        }
    }
}

impl<'a, A, T> Default for List<A>
where
    T: 'a,
    A: Adapter<LinkOps = intrusive_collections::linked_list::LinkOps> + Copy + Default,
    A::PointerOps: PointerOps<Value = T, Pointer = &'a T>,
{
    fn default() -> Self {
        Self::new()
    }
}
