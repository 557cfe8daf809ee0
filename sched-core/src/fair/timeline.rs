// SPDX-License-Identifier: GPL-2.0-only
//! The tree: all that is queued at the root but curr, by deadline, first in first out among equals. Each node keeps
//! the least vruntime (so that the pick can skip subtrees in which nobody is eligible) and the shortest and longest
//! slice of its subtree.

use super::avg_vruntime::{sum_w_vruntime_add, sum_w_vruntime_sub};
use crate::patches::Patches;
use crate::rbtree::{
    RbAugmentCallbacks, RbEntry, rb_add_augmented_cached, rb_erase_augmented_cached, rb_last,
};
#[cfg(feature = "museum")]
use crate::sched::cfs_rq_of;
use crate::sched::{CfsRq, SchedEntity, entity_is_task, is, rq_of, vruntime_before};
use crate::trace::{Counter, Hooks};
use crate::{WARN_ON_ONCE, museum};

/// entity_before(): by deadline.
#[inline(always)]
pub fn entity_before<H: Hooks>(a: &SchedEntity<'_, H>, b: &SchedEntity<'_, H>) -> bool {
    vruntime_before(a.deadline.get(), b.deadline.get())
}

/// __min_vruntime_update(), __min_slice_update() and __max_slice_update() of one child.
#[inline(always)]
fn child_update<H: Hooks>(se: &SchedEntity<'_, H>, child: Option<&SchedEntity<'_, H>>) {
    let Some(rse) = child else { return };
    if vruntime_before(rse.min_vruntime.get(), se.min_vruntime.get()) {
        se.min_vruntime.set(rse.min_vruntime.get());
    }
    if rse.min_slice.get() < se.min_slice.get() {
        se.min_slice.set(rse.min_slice.get());
    }
    if rse.max_slice.get() > se.max_slice.get() {
        se.max_slice.set(rse.max_slice.get());
    }
}

/// min_vruntime_update(): recomputes the three values of `se` from its own and its children's; true if none changed.
#[inline(always)]
fn min_vruntime_update<H: Hooks>(se: &SchedEntity<'_, H>) -> bool {
    let old = (se.min_vruntime.get(), se.min_slice.get(), se.max_slice.get());

    se.min_vruntime.set(se.vruntime.get());
    se.min_slice.set(se.slice.get());
    se.max_slice.set(se.slice.get());
    child_update(se, se.run_node.right());
    child_update(se, se.run_node.left());

    museum!(rq_of(cfs_rq_of(se)).machine, T04C => { return old.0 == se.min_vruntime.get() });
    old == (se.min_vruntime.get(), se.min_slice.get(), se.max_slice.get())
}

/// min_vruntime_cb: RB_DECLARE_CALLBACKS_MULTI over the three values.
struct MinVruntimeCb {
    /// The patch stale-augment-copy.
    stale: bool,
}

impl MinVruntimeCb {
    #[inline(always)]
    fn of<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> Self {
        MinVruntimeCb { stale: rq_of(cfs_rq).machine.patch(Patches::STALE_AUGMENT_COPY) }
    }
}

impl<'a, H: Hooks + 'a> RbAugmentCallbacks<'a, SchedEntity<'a, H>> for MinVruntimeCb {
    #[inline(always)]
    fn propagate(
        &self,
        node: Option<&'a SchedEntity<'a, H>>,
        stop: Option<&'a SchedEntity<'a, H>>,
    ) {
        let mut node = node;
        while let Some(se) = node {
            if is(stop, se) || min_vruntime_update(se) {
                return;
            }
            node = se.rb_node().parent();
        }
    }

    /// min_vruntime_copy().
    #[inline(always)]
    fn copy(&self, old: &'a SchedEntity<'a, H>, new: &'a SchedEntity<'a, H>) {
        new.min_vruntime.set(old.min_vruntime.get());
        museum!(rq_of(cfs_rq_of(old)).machine, T04 => { return });
        if self.stale {
            return;
        }
        new.min_slice.set(old.min_slice.get());
        new.max_slice.set(old.max_slice.get());
    }

    #[inline(always)]
    fn rotate(&self, old: &'a SchedEntity<'a, H>, new: &'a SchedEntity<'a, H>) {
        self.copy(old, new);
        museum!(rq_of(cfs_rq_of(old)).machine, T04B => { return });
        min_vruntime_update(old);
    }
}

/// __enqueue_entity(): into the tree and the sums.
pub fn __enqueue_entity<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    let rq = rq_of(cfs_rq);
    WARN_ON_ONCE!(rq.hooks(), !core::ptr::eq(&rq.cfs, cfs_rq));
    WARN_ON_ONCE!(rq.hooks(), !entity_is_task(se));
    rq.count(Counter::EnqueueEntity);

    sum_w_vruntime_add(cfs_rq, se);
    se.min_vruntime.set(se.vruntime.get());
    #[cfg(feature = "museum")]
    let min_slice = se.min_slice.get();
    se.min_slice.set(se.slice.get());
    museum!(rq.machine, T06 => { se.min_slice.set(min_slice) });
    se.max_slice.set(se.slice.get());

    rb_add_augmented_cached(
        se,
        &cfs_rq.tasks_timeline,
        |a, b| entity_before(a, b),
        &MinVruntimeCb::of(cfs_rq),
    );
}

/// __dequeue_entity(): out of the tree and the sums.
pub fn __dequeue_entity<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    let rq = rq_of(cfs_rq);
    WARN_ON_ONCE!(rq.hooks(), !core::ptr::eq(&rq.cfs, cfs_rq));
    WARN_ON_ONCE!(rq.hooks(), !entity_is_task(se));
    rq.count(Counter::DequeueEntity);

    rb_erase_augmented_cached(se, &cfs_rq.tasks_timeline, &MinVruntimeCb::of(cfs_rq));
    sum_w_vruntime_sub(cfs_rq, se);
}

/// __pick_root_entity().
#[inline(always)]
pub fn __pick_root_entity<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    cfs_rq.tasks_timeline.root()
}

/// __pick_first_entity(): the earliest deadline in the tree.
#[inline(always)]
pub fn __pick_first_entity<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    cfs_rq.tasks_timeline.first()
}

/// __pick_last_entity(): the latest deadline in the tree.
pub fn __pick_last_entity<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    rb_last(&cfs_rq.tasks_timeline)
}
