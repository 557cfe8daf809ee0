// SPDX-License-Identifier: GPL-2.0-only
//! Departure: a task sleeps, dies, or is taken out for a change. A sleeper that owes time may stay queued until the
//! others have caught up (DELAY_DEQUEUE): then its dequeue is completed by the pick that falls on it.

use super::avg_vruntime::{entity_eligible, update_entity_lag};
use super::bandwidth::{
    dequeue_throttled_task, record_throttle_clock, return_cfs_rq_runtime, stop_pelt_clock,
    task_is_throttled, throttled_hierarchy,
};
use super::enqueue::cfs_rq_is_idle;
use super::group::{se_update_runnable, update_cfs_group};
use super::load::update_load_sub;
#[cfg(feature = "museum")]
use super::load_avg::util_est_update;
use super::load_avg::{
    flags::{DO_DETACH, UPDATE_TG, UPDATE_UTIL_EST},
    update_load_avg, util_est_dequeue,
};
use super::pick::clear_buddies;
use super::timeline::__dequeue_entity;
use super::update_curr::{update_curr, update_curr_eevdf};
use crate::core::__block_task;
use crate::features::SchedFeat;
use crate::pelt::update_idle_cfs_rq_clock_pelt;
use crate::sched::task_on_rq_migrating;
use crate::sched::{
    CfsRq, QueueFlags, Rq, SchedEntity, TASK_ON_RQ_QUEUED, TaskStruct, cfs_rq_of, entity_is_task,
    for_each_sched_entity, is, rq_of, sub_nr_running, task_has_idle_policy, task_of,
};
use crate::sync::Ordering;
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// set_delayed(): `se` sleeps but stays; on no level does it count as runnable any longer.
fn set_delayed<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    se.sched_delayed.set(true);

    if !entity_is_task(se) {
        return;
    }
    rq_of(cfs_rq_of(se)).count(Counter::SetDelayed);

    museum!(rq_of(cfs_rq_of(se)).machine, D14B => { return });
    for se in for_each_sched_entity(se) {
        let cfs_rq = cfs_rq_of(se);
        cfs_rq.h_nr_runnable.set(cfs_rq.h_nr_runnable.get().wrapping_sub(1));
    }
}

/// clear_delayed(): it was woken, or is gone for good.
pub(super) fn clear_delayed<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    se.sched_delayed.set(false);

    if !entity_is_task(se) {
        return;
    }
    rq_of(cfs_rq_of(se)).count(Counter::ClearDelayed);

    for se in for_each_sched_entity(se) {
        let cfs_rq = cfs_rq_of(se);
        cfs_rq.h_nr_runnable.set(cfs_rq.h_nr_runnable.get().wrapping_add(1));
    }
}

/// account_entity_dequeue(): the level's weight and count.
fn account_entity_dequeue<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    let rq = rq_of(cfs_rq);
    WARN_ON_ONCE!(rq.hooks(), !core::ptr::eq(cfs_rq, cfs_rq_of(se)));
    update_load_sub(&cfs_rq.load, se.load.weight.get());
    if entity_is_task(se) {
        rq.cfs_tasks.list_del_init(se);
    }
    cfs_rq.nr_queued.set(cfs_rq.nr_queued.get().wrapping_sub(1));
}

/// dequeue_entity(): `se` leaves its level.
fn dequeue_entity<'a, H: Hooks>(
    cfs_rq: &'a CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    flags: QueueFlags,
) {
    let mut action = UPDATE_TG;

    if entity_is_task(se) {
        if task_on_rq_migrating(task_of(se)) {
            action |= DO_DETACH;
            museum!(rq_of(cfs_rq).machine, K17 => { action &= !DO_DETACH });
        }

        if flags.contains(QueueFlags::DEQUEUE_SLEEP) && !flags.contains(QueueFlags::DEQUEUE_DELAYED)
        {
            action |= UPDATE_UTIL_EST;
        }
    }

    // The share of a group's entity is that of its queue as it is now, without the one that left.
    update_load_avg(cfs_rq, se, action);
    se_update_runnable(se);

    se.on_rq.set(false);
    account_entity_dequeue(cfs_rq, se);

    // The last one out gives back what runtime is left.
    return_cfs_rq_runtime(cfs_rq);

    update_cfs_group(se);

    if cfs_rq.nr_queued.get() == 0 {
        update_idle_cfs_rq_clock_pelt(cfs_rq);
        if throttled_hierarchy(cfs_rq) {
            stop_pelt_clock(cfs_rq);
        }
    }
}

/// dequeue_hierarchy(): `p` leaves its level, and every level above that is empty then leaves the next.
fn dequeue_hierarchy<'a, H: Hooks>(p: &'a TaskStruct<'a, H>, flags: QueueFlags) {
    let mut flags = flags;
    let task_sleep = flags.contains(QueueFlags::DEQUEUE_SLEEP);
    let task_delayed = flags.contains(QueueFlags::DEQUEUE_DELAYED);
    let task_throttled = flags.contains(QueueFlags::DEQUEUE_THROTTLE);
    let mut h_nr_runnable = 0;
    let mut h_nr_idle = u32::from(task_has_idle_policy(p));
    let mut dequeue = true;

    if task_sleep || task_delayed || !p.se.sched_delayed.get() {
        h_nr_runnable = 1;
    }
    museum!(rq_of(cfs_rq_of(&p.se)).machine, D19B => { h_nr_runnable = 1 });

    for se in for_each_sched_entity(&p.se) {
        let cfs_rq = cfs_rq_of(se);

        update_curr(cfs_rq, Site::DequeueHierarchy);

        if dequeue {
            dequeue_entity(cfs_rq, se, flags);
            // The parent stays if it has others.
            if cfs_rq.load.weight.get() != 0 {
                dequeue = false;
            }
        } else {
            update_load_avg(cfs_rq, se, UPDATE_TG);
            se_update_runnable(se);
            update_cfs_group(se);
        }

        cfs_rq.h_nr_runnable.set(cfs_rq.h_nr_runnable.get().wrapping_sub(h_nr_runnable));
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get().wrapping_sub(1));
        cfs_rq.h_nr_idle.set(cfs_rq.h_nr_idle.get().wrapping_sub(h_nr_idle));

        if cfs_rq_is_idle(cfs_rq) {
            h_nr_idle = 1;
        }

        if task_throttled && throttled_hierarchy(cfs_rq) {
            record_throttle_clock(cfs_rq);
        }

        flags |= QueueFlags::DEQUEUE_SLEEP;
        flags &= !(QueueFlags::DEQUEUE_DELAYED | QueueFlags::DEQUEUE_SPECIAL);
    }
}

/// __dequeue_task(): what completing a delayed dequeue needs, too. False: delayed, the task is still queued. After a
/// completed delayed dequeue the task may belong to another CPU: it must not be looked at again.
pub fn __dequeue_task<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) -> bool {
    let se = &p.se;
    let cfs_rq = &rq.cfs;
    let task_sleep = flags.contains(QueueFlags::DEQUEUE_SLEEP);
    let task_delayed = flags.contains(QueueFlags::DEQUEUE_DELAYED);

    rq.count(Counter::DequeueTask);

    #[cfg(feature = "museum")]
    let next = cfs_rq.next.get();
    clear_buddies(cfs_rq, se);
    museum!(rq.machine, C09 => { if task_on_rq_migrating(p) { cfs_rq.next.set(next) } });

    if flags.contains(QueueFlags::DEQUEUE_CHARGED) {
        rq.count(Counter::DequeueChargeSkipped);
    } else {
        update_curr_eevdf(
            cfs_rq,
            if task_delayed { Site::DequeueTaskPick } else { Site::DequeueTask },
        );
    }
    update_entity_lag(cfs_rq, se);
    museum!(rq.machine, L04B => {
        if !is(cfs_rq.curr.get(), se) && !se.sched_delayed.get() {
            __dequeue_entity(cfs_rq, se);
            update_entity_lag(cfs_rq, se);
            super::timeline::__enqueue_entity(cfs_rq, se);
        }
    });

    if task_delayed {
        WARN_ON_ONCE!(rq.hooks(), !se.sched_delayed.get());
    } else {
        let mut delay = task_sleep;
        // A delayed sleeper may be woken for nothing; special states must not be, nor may one that is throttled stay.
        if flags.intersects(QueueFlags::DEQUEUE_SPECIAL | QueueFlags::DEQUEUE_THROTTLE) {
            delay = false;
            museum!(rq.machine, B22 => {
                delay = !flags.contains(QueueFlags::DEQUEUE_SPECIAL) && !se.sched_delayed.get();
            });
        }

        WARN_ON_ONCE!(rq.hooks(), delay && se.sched_delayed.get());

        if rq.machine.sched_feat(SchedFeat::DELAY_DEQUEUE) && delay && !entity_eligible(cfs_rq, se)
        {
            #[allow(unused_mut, reason = "museum")]
            let mut action = UPDATE_UTIL_EST;
            museum!(rq.machine, D15 => {
                util_est_update(cfs_rq_of(se), se);
                action = 0;
            });
            museum!(rq.machine, D15B => { action = 0 });
            update_load_avg(cfs_rq_of(se), se, action);
            set_delayed(se);
            museum!(rq.machine, C04 => { sub_nr_running(rq, 1) });
            return false;
        }
    }

    dequeue_hierarchy(p, flags);

    museum!(rq.machine, A03 => {
        if cfs_rq.tasks_timeline.root().is_none() {
            se.slice.set(super::avg_vruntime::cfs_rq_min_slice(cfs_rq));
        }
    });
    museum!(rq.machine, L11B => {
        if task_sleep {
            se.deadline.set(se.deadline.get().wrapping_sub(se.vruntime.get()));
            se.rel_deadline.set(true);
        }
    });
    if rq.machine.sched_feat(SchedFeat::PLACE_REL_DEADLINE) && !task_sleep {
        se.deadline.set(se.deadline.get().wrapping_sub(se.vruntime.get()));
        se.rel_deadline.set(true);
    }
    if !is(cfs_rq.curr.get(), se) {
        __dequeue_entity(cfs_rq, se);
    }

    sub_nr_running(rq, 1);

    if task_delayed {
        clear_delayed(se);

        WARN_ON_ONCE!(rq.hooks(), !task_sleep);
        WARN_ON_ONCE!(rq.hooks(), task_of(se).on_rq.load(Ordering::Relaxed) != TASK_ON_RQ_QUEUED);

        museum!(rq.machine, D04 => {
            if throttled_hierarchy(cfs_rq_of(se)) { return true }
        });
        museum!(rq.machine, D04B => { return true });
        // What block_task() left out. The last: p may be gone afterwards.
        __block_task(rq, p);
    }

    true
}

/// dequeue_task_fair(): the dequeue_task method. False: delayed.
pub fn dequeue_task_fair<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) -> bool {
    rq.count(Counter::DequeueTaskFair);

    if task_is_throttled(p) {
        museum!(rq.machine, C04B => { sub_nr_running(rq, 1) });
        dequeue_throttled_task(p, flags);
        return true;
    }

    if !p.se.sched_delayed.get() {
        util_est_dequeue(&rq.cfs, p);
    }

    __dequeue_task(rq, p, flags)
}
