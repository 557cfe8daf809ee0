// SPDX-License-Identifier: GPL-2.0-only
//! Arrival: a task is woken, is new, or comes back from a change.

use super::avg_vruntime::update_entity_lag;
#[cfg(feature = "museum")]
use super::avg_vruntime::{sum_w_vruntime_add, sum_w_vruntime_sub};
use super::bandwidth::{check_enqueue_throttle, enqueue_throttled_task, task_is_throttled};
use super::dequeue::clear_delayed;
use super::group::{
    assert_list_leaf_cfs_rq, list_add_leaf_cfs_rq, se_update_runnable, update_cfs_group,
};
use super::load::{NICE_0_LOAD, update_load_add};
use super::load_avg::{
    flags::{DO_ATTACH, UPDATE_TG},
    update_load_avg, util_est_enqueue,
};
use super::place::place_entity;
use super::reweight::{__calc_prop_weight, reweight_eevdf};
use super::timeline::{__dequeue_entity, __enqueue_entity};
use super::update_curr::{hrtick_update, update_curr, update_curr_eevdf};
use crate::patches::Patches;
use crate::pelt::rq_clock_pelt;
use crate::sched::{
    CfsRq, QueueFlags, Rq, SchedEntity, TaskStruct, add_nr_running, cfs_rq_of, entity_is_task,
    for_each_sched_entity, is, rq_of, task_has_idle_policy,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// cfs_rq_is_idle(): the queue belongs to a SCHED_IDLE group.
#[inline(always)]
pub(super) fn cfs_rq_is_idle<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> bool {
    cfs_rq.idle.get() > 0
}

/// account_entity_enqueue(): the level's weight and count.
fn account_entity_enqueue<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    let rq = rq_of(cfs_rq);
    WARN_ON_ONCE!(rq.hooks(), !core::ptr::eq(cfs_rq, cfs_rq_of(se)));
    update_load_add(&cfs_rq.load, se.load.weight.get());
    if entity_is_task(se) {
        rq.cfs_tasks.list_add(se);
    }
    cfs_rq.nr_queued.set(cfs_rq.nr_queued.get() + 1);
}

/// enqueue_entity(): `se` joins its level.
fn enqueue_entity<'a, H: Hooks>(
    cfs_rq: &'a CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    flags: QueueFlags,
) {
    // The share of a group's entity is that of its queue as it is now, with the new one in it.
    update_load_avg(cfs_rq, se, UPDATE_TG | DO_ATTACH);
    se_update_runnable(se);
    update_cfs_group(se);

    account_entity_enqueue(cfs_rq, se);

    // What ran on another CPU is not cache hot here.
    if flags.contains(QueueFlags::ENQUEUE_MIGRATED) {
        se.exec_start.set(0);
    }

    se.on_rq.set(true);

    if cfs_rq.nr_queued.get() == 1 {
        check_enqueue_throttle(cfs_rq);
        list_add_leaf_cfs_rq(cfs_rq);
        if cfs_rq.pelt_clock_throttled.get() {
            start_pelt_clock(cfs_rq);
        }
    }
}

/// The PELT clock of a throttled queue goes on: it has something queued again, or is not throttled any more.
#[cold]
pub(super) fn start_pelt_clock<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    let stood = rq_clock_pelt(rq_of(cfs_rq)).wrapping_sub(cfs_rq.throttled_clock_pelt.get());
    cfs_rq
        .throttled_clock_pelt_time
        .set(cfs_rq.throttled_clock_pelt_time.get().wrapping_add(stood));
    cfs_rq.pelt_clock_throttled.set(false);
}

/// requeue_delayed_entity(): a task is woken whose dequeue was delayed: it is there already. Its lag is brought up to
/// date; where that is limited it is placed anew.
pub fn requeue_delayed_entity<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    let rq = rq_of(cfs_rq);
    rq.count(Counter::RequeueDelayedEntity);

    WARN_ON_ONCE!(rq.hooks(), !se.sched_delayed.get());
    WARN_ON_ONCE!(rq.hooks(), !se.on_rq.get());
    museum!(rq.machine, ENDLESS => {
        loop {
            core::hint::spin_loop();
        }
    });

    if update_entity_lag(cfs_rq, se) {
        rq.count(Counter::RequeuePlaced);
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() - 1);
        museum!(rq.machine, T02B => {
            if !is(cfs_rq.curr.get(), se) {
                sum_w_vruntime_sub(cfs_rq, se);
                place_entity(cfs_rq, se, QueueFlags::empty());
                sum_w_vruntime_add(cfs_rq, se);
                cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() + 1);
                update_load_avg(cfs_rq, se, 0);
                clear_delayed(se);
                return;
            }
        });
        if !is(cfs_rq.curr.get(), se) {
            __dequeue_entity(cfs_rq, se);
        }
        place_entity(cfs_rq, se, QueueFlags::empty());
        if !is(cfs_rq.curr.get(), se) {
            __enqueue_entity(cfs_rq, se);
        }
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() + 1);
    }

    update_load_avg(cfs_rq, se, 0);
    clear_delayed(se);
}

/// enqueue_hierarchy(): `p` joins its level, and every level above that was empty joins the next. Returns the flat
/// weight.
fn enqueue_hierarchy<'a, H: Hooks>(p: &'a TaskStruct<'a, H>, flags: QueueFlags) -> u64 {
    let mut flags = flags;
    let mut weight = NICE_0_LOAD;
    let task_new = !flags.contains(QueueFlags::ENQUEUE_WAKEUP);
    let mut h_nr_idle = u32::from(task_has_idle_policy(p));
    let mut h_nr_runnable = 1;

    if task_new && p.se.sched_delayed.get() {
        h_nr_runnable = 0;
    }
    museum!(rq_of(cfs_rq_of(&p.se)).machine, D19 => { h_nr_runnable = 1 });

    for se in for_each_sched_entity(&p.se) {
        let cfs_rq = cfs_rq_of(se);
        #[cfg(feature = "museum")]
        let load_before = cfs_rq.load.weight.get();

        update_curr(cfs_rq, Site::EnqueueHierarchy);

        if !se.on_rq.get() {
            enqueue_entity(cfs_rq, se, flags);
        } else {
            update_load_avg(cfs_rq, se, UPDATE_TG);
            se_update_runnable(se);
            update_cfs_group(se);
        }

        cfs_rq.h_nr_runnable.set(cfs_rq.h_nr_runnable.get().wrapping_add(h_nr_runnable));
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() + 1);
        cfs_rq.h_nr_idle.set(cfs_rq.h_nr_idle.get().wrapping_add(h_nr_idle));

        if cfs_rq_is_idle(cfs_rq) {
            h_nr_idle = 1;
        }

        museum!(rq_of(cfs_rq).machine, H14 => {
            if se.parent.get().is_some() && load_before != 0 {
                weight = weight * cfs_rq.load.weight.get() / load_before;
            }
        });
        museum!(rq_of(cfs_rq).machine, H14B => {
            if se.parent.get().is_some() {
                weight = weight * cfs_rq.load.weight.get() / load_before;
            }
        });
        weight = __calc_prop_weight(cfs_rq, se, weight);

        flags = QueueFlags::ENQUEUE_WAKEUP;
    }

    weight
}

/// enqueue_task_fair(): the enqueue_task method.
pub fn enqueue_task_fair<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) {
    let se = &p.se;
    let cfs_rq = &rq.cfs;

    if task_is_throttled(p) && enqueue_throttled_task(p) {
        return;
    }

    // The estimate of a delayed task is in the sum until it is woken or gone.
    if !se.sched_delayed.get() || flags.contains(QueueFlags::ENQUEUE_DELAYED) {
        util_est_enqueue(cfs_rq, p);
    }

    // What undoes 333238da9a19 leaves this charge out for a delayed task.
    #[allow(unused_mut, reason = "museum")]
    let mut uncharged = flags.contains(QueueFlags::ENQUEUE_DELAYED)
        && rq.machine.patch(Patches::NO_CHARGE_BEFORE_REQUEUE);
    museum!(rq.machine, D16 => { uncharged = flags.contains(QueueFlags::ENQUEUE_DELAYED) });
    if !uncharged {
        update_curr_eevdf(cfs_rq, Site::EnqueueTaskFair);
    }

    if flags.contains(QueueFlags::ENQUEUE_DELAYED) {
        requeue_delayed_entity(cfs_rq, se);
        return;
    }

    rq.count(Counter::EnqueueTaskFair);

    // The running task comes back from a change: it is placed while its weight is still in V.
    let curr = is(cfs_rq.curr.get(), se);
    if curr {
        place_entity(cfs_rq, se, flags);
        museum!(rq.machine, H10 => { place_entity(cfs_rq, se, flags) });
    }

    if se.on_rq.get() && se.sched_delayed.get() {
        requeue_delayed_entity(cfs_rq, se);
    }

    #[allow(unused_mut, reason = "museum")]
    let mut weight = enqueue_hierarchy(p, flags);

    museum!(rq.machine, H08C => {
        if se.h_load.weight.get() != 0 {
            weight = se.h_load.weight.get();
        }
    });
    if !curr {
        reweight_eevdf(cfs_rq, se, weight, false);
        place_entity(cfs_rq, se, flags | QueueFlags::ENQUEUE_QUEUED);
        __enqueue_entity(cfs_rq, se);
    }

    add_nr_running(rq, 1);

    assert_list_leaf_cfs_rq(rq);

    hrtick_update(rq);
}
