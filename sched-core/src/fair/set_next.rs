// SPDX-License-Identifier: GPL-2.0-only
//! Putting what ran back into the tree, and taking what runs next out of it.

use super::bandwidth::{account_cfs_rq_runtime, task_throttle_setup_work};
use super::load::NICE_0_LOAD;
use super::load_avg::{flags::UPDATE_TG, update_load_avg};
use super::pick::{clear_buddies, set_protect_slice};
use super::reweight::{__calc_prop_weight, reweight_eevdf};
use super::timeline::{__dequeue_entity, __enqueue_entity};
use super::update_curr::{hrtick_start_fair, update_curr};
use crate::sched::{
    CfsRq, Rq, SchedClass, SchedEntity, TaskStruct, cfs_rq_of, for_each_sched_entity,
    hrtick_enabled_fair, is, parent_entity, rq_clock_task, rq_of, task_on_rq_queued,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// set_next_entity(): `se` is what runs on its level.
fn set_next_entity<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    if se.on_rq.get() {
        update_load_avg(cfs_rq, se, UPDATE_TG);
    }

    // update_stats_curr_start(): it is charged from now on.
    se.exec_start.set(rq_clock_task(rq_of(cfs_rq)));
    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), cfs_rq.h_curr.get().is_some());
    cfs_rq.h_curr.set(Some(se));

    se.prev_sum_exec_runtime.set(se.sum_exec_runtime.get());
}

/// put_prev_entity(): nothing runs on the level any more. If `prev` did not leave it is charged up to now.
fn put_prev_entity<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, prev: &'a SchedEntity<'a, H>) {
    if prev.on_rq.get() {
        update_curr(cfs_rq, Site::PutPrevEntity);
        // One that left was brought up to date by its dequeue.
        update_load_avg(cfs_rq, prev, 0);
    }

    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), !is(cfs_rq.h_curr.get(), prev));
    cfs_rq.h_curr.set(None);
}

/// is_same_group(): whether two entities are on one queue.
#[inline(always)]
fn is_same_group<'a, H: Hooks>(se: &SchedEntity<'a, H>, pse: &SchedEntity<'a, H>) -> bool {
    core::ptr::eq(cfs_rq_of(se), cfs_rq_of(pse))
}

/// put_prev_task_fair(): the put_prev_task method. Levels that `next` shares keep their h_curr: both paths are
/// followed up to where they meet.
pub fn put_prev_task_fair<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    prev: &'a TaskStruct<'a, H>,
    next: Option<&'a TaskStruct<'a, H>>,
) {
    rq.count(Counter::PutPrevTaskFair);

    let mut nse =
        next.filter(|next| next.sched_class.get() == SchedClass::Fair).map(|next| &next.se);
    let mut walk = Some(&prev.se);

    while let Some(se) = walk {
        let cfs_rq = cfs_rq_of(se);
        if nse.is_none() || cfs_rq.h_curr.get().is_some() {
            put_prev_entity(cfs_rq, se);
        }
        if let Some(ne) = nse {
            if is_same_group(se, ne) {
                break;
            }

            let d = ne.depth.get() - se.depth.get();
            if d >= 0 {
                // The other path goes up: it is as deep, or deeper.
                nse = parent_entity(ne);
                if d > 0 {
                    continue;
                }
            }
        }
        walk = parent_entity(se);
    }

    let cfs_rq = &rq.cfs;
    let se = &prev.se;
    WARN_ON_ONCE!(rq.hooks(), !is(cfs_rq.curr.get(), se));
    cfs_rq.curr.set(None);
    if se.on_rq.get() {
        __enqueue_entity(cfs_rq, se);
    }
}

/// set_next_task_fair(): the set_next_task method. `first` says that `p` was picked to run; else it is the running
/// task that comes back from a change.
pub fn set_next_task_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, first: bool) {
    let se = &p.se;
    let mut throttled = false;
    let mut weight = NICE_0_LOAD;
    let on_rq = se.on_rq.get();
    let cfs_rq = &rq.cfs;

    rq.count(Counter::SetNextTaskFair);

    clear_buddies(cfs_rq, se);

    if on_rq {
        __dequeue_entity(cfs_rq, se);
    }

    for se in for_each_sched_entity(se) {
        let cfs_rq = cfs_rq_of(se);

        if !first || cfs_rq.h_curr.get().is_none() {
            set_next_entity(cfs_rq, se);
        }

        // The new queue may have no runtime left.
        throttled |= account_cfs_rq_runtime(cfs_rq, 0);

        if on_rq {
            weight = __calc_prop_weight(cfs_rq, se, weight);
        }
    }

    museum!(rq.machine, B06 => { throttled = cfs_rq_of(se).throttled.get() });
    if throttled {
        task_throttle_setup_work(p);
    }

    cfs_rq.curr.set(Some(se));
    museum!(rq.machine, H06 => {
        if se.depth.get() >= 2 {
            cfs_rq.curr.set(None);
            cfs_rq_of(se).curr.set(Some(se));
        }
    });

    museum!(rq.machine, H08B => { weight = se.h_load.weight.get() });
    if on_rq {
        reweight_eevdf(cfs_rq, se, weight, se.on_rq.get());
        if first {
            set_protect_slice(cfs_rq, se);
        }
    }

    if task_on_rq_queued(p) {
        // The list has the task that ran last in front.
        rq.cfs_tasks.list_move(se);
    }
    if !first {
        return;
    }

    WARN_ON_ONCE!(rq.hooks(), se.sched_delayed.get());

    if hrtick_enabled_fair(rq) {
        hrtick_start_fair(rq, p);
    }
}
