// SPDX-License-Identifier: GPL-2.0-only
//! Load averages of tasks, queues and groups: kept up to date at every enqueue, dequeue, pick and tick, carried from
//! queue to queue, and summed up the tree of groups.
//!
//! A queue's average is the sum of those of its entities, blocked ones included. A task that leaves for another CPU
//! while it sleeps cannot take the lock of the queue it leaves; what it takes away waits in `cfs_rq->removed`.

use super::group::{
    add_tg_cfs_propagate, assert_list_leaf_cfs_rq, cfs_rq_is_decayed, list_add_leaf_cfs_rq,
    list_del_leaf_cfs_rq, propagate_entity_load_avg, update_tg_load_avg,
};
use super::load::scale_load_down;
use crate::features::SchedFeat;
use crate::pelt::{
    __update_load_avg_blocked_se, __update_load_avg_cfs_rq, __update_load_avg_se, PELT_MIN_DIVIDER,
    SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT, SchedAvg, UTIL_AVG_UNCHANGED, cfs_rq_clock_pelt,
    get_pelt_divider, se_weight, update_idle_cfs_rq_clock_pelt,
};
use crate::sched::*;
use crate::sync::Ordering;
use crate::trace::Hooks;
use crate::{WARN_ON_ONCE, museum};
use core::cell::Cell;

/// What update_load_avg() does besides.
pub mod flags {
    /// The group's sums follow.
    pub const UPDATE_TG: u32 = 0x01;
    /// The entity itself is not aged.
    pub const SKIP_AGE_LOAD: u32 = 0x02;
    /// One that is attached to no queue joins this one.
    pub const DO_ATTACH: u32 = 0x04;
    /// It leaves for another CPU.
    pub const DO_DETACH: u32 = 0x08;
    /// An activation ends: estimate the next one's utilisation.
    pub const UPDATE_UTIL_EST: u32 = 0x10;
}
use flags::*;

/// add_positive(): adds, and stops at 0.
#[inline(always)]
fn add_positive_u64(var: &Cell<u64>, val: i64) {
    let old = var.get();
    let mut res = old.wrapping_add(val as u64);
    if val < 0 && res > old {
        res = 0;
    }
    var.set(res);
}

/// The same in 32 bit.
#[inline(always)]
fn add_positive_u32(var: &Cell<u32>, val: i32) {
    let old = var.get();
    let mut res = old.wrapping_add(val as u32);
    if val < 0 && res > old {
        res = 0;
    }
    var.set(res);
}

/// __update_sa(sa, load, ...): the sum stays what the average needs at least: rounding may have eaten some of it.
#[inline(always)]
pub(super) fn __update_sa_load(sa: &SchedAvg, delta_avg: i64, delta_sum: i64) {
    add_positive_u64(&sa.load_avg, delta_avg);
    add_positive_u64(&sa.load_sum, delta_sum);
    sa.load_sum
        .set(sa.load_sum.get().max(sa.load_avg.get().wrapping_mul(u64::from(PELT_MIN_DIVIDER))));
}

/// __update_sa(sa, runnable, ...).
#[inline(always)]
pub(super) fn __update_sa_runnable(sa: &SchedAvg, delta_avg: i64, delta_sum: i64) {
    add_positive_u64(&sa.runnable_avg, delta_avg);
    add_positive_u64(&sa.runnable_sum, delta_sum);
    sa.runnable_sum.set(
        sa.runnable_sum.get().max(sa.runnable_avg.get().wrapping_mul(u64::from(PELT_MIN_DIVIDER))),
    );
}

/// __update_sa(sa, util, ...): a sum of 32 bit.
#[inline(always)]
pub(super) fn __update_sa_util(sa: &SchedAvg, delta_avg: i64, delta_sum: i64) {
    add_positive_u64(&sa.util_avg, delta_avg);
    add_positive_u32(&sa.util_sum, delta_sum as i32);
    let least = sa.util_avg.get().wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32;
    sa.util_sum.set(sa.util_sum.get().max(least));
}

/// enqueue_load_avg().
#[inline(always)]
pub(super) fn enqueue_load_avg<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let sum = se_weight(se).wrapping_mul(se.avg.load_sum.get());
    __update_sa_load(&cfs_rq.avg, se.avg.load_avg.get() as i64, sum as i64);
}

/// dequeue_load_avg().
#[inline(always)]
pub(super) fn dequeue_load_avg<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let sum = se_weight(se).wrapping_mul(se.avg.load_sum.get().wrapping_neg());
    museum!(rq_of(cfs_rq).machine, K13 => {
        add_positive_u64(&cfs_rq.avg.load_avg, se.avg.load_avg.get().wrapping_neg() as i64);
        add_positive_u64(&cfs_rq.avg.load_sum, sum as i64);
        return;
    });
    __update_sa_load(&cfs_rq.avg, se.avg.load_avg.get().wrapping_neg() as i64, sum as i64);
}

/// init_entity_runnable_average(): a task starts as if it had always been runnable; a group with nothing.
pub fn init_entity_runnable_average<H: Hooks>(se: &SchedEntity<'_, H>) {
    se.avg.clear();

    if entity_is_task(se) {
        se.avg.load_avg.set(scale_load_down(se.load.weight.get()));
    }
}

/// post_init_entity_util_avg(): a new task is assumed to need what tasks of its weight need here, and at most half of
/// what is left of the CPU.
pub fn post_init_entity_util_avg<H: Hooks>(p: &TaskStruct<'_, H>) {
    let se = &p.se;
    let cfs_rq = cfs_rq_of(se);
    let sa = &se.avg;
    let cap = SCHED_CAPACITY_SCALE.wrapping_sub(cfs_rq.avg.util_avg.get()) as i64 / 2;

    if cap > 0 {
        if cfs_rq.avg.util_avg.get() != 0 {
            let util = cfs_rq.avg.util_avg.get().wrapping_mul(se_weight(se))
                / (cfs_rq.avg.load_avg.get() + 1);
            sa.util_avg.set(util.min(cap as u64));
        } else {
            sa.util_avg.set(cap as u64);
        }
    }

    sa.runnable_avg.set(sa.util_avg.get());
}

/// load_avg_is_decayed(): nothing is left of it.
pub(super) fn load_avg_is_decayed<H: Hooks>(hooks: &H, sa: &SchedAvg) -> bool {
    if sa.load_sum.get() != 0 || sa.util_sum.get() != 0 || sa.runnable_sum.get() != 0 {
        return false;
    }

    // An average is its sum by a divider.
    WARN_ON_ONCE!(
        hooks,
        sa.load_avg.get() != 0 || sa.util_avg.get() != 0 || sa.runnable_avg.get() != 0
    );

    true
}

/// update_cfs_rq_load_avg(): brings a queue up to `now` (ns, its PELT clock), and takes off what left it meanwhile.
/// True if its load may have changed.
pub fn update_cfs_rq_load_avg<H: Hooks>(now: u64, cfs_rq: &CfsRq<'_, H>) -> bool {
    let mut decayed = false;

    if cfs_rq.removed.nr.load(Ordering::Relaxed) != 0 {
        remove_removed(cfs_rq);
        decayed = true;
    }

    decayed | __update_load_avg_cfs_rq(now, cfs_rq)
}

/// The part of update_cfs_rq_load_avg() that empties cfs_rq->removed.
#[cold]
fn remove_removed<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    let sa = &cfs_rq.avg;
    let divider = u64::from(get_pelt_divider(sa));

    let guard = cfs_rq.removed.lock.lock();
    let removed_util = cfs_rq.removed.util_avg.replace(0);
    let removed_load = cfs_rq.removed.load_avg.replace(0);
    let removed_runnable = cfs_rq.removed.runnable_avg.replace(0);
    cfs_rq.removed.nr.store(0, Ordering::Relaxed);
    drop(guard);

    let minus = |r: u64| r.wrapping_neg() as i64;
    let minus_sum = |r: u64| r.wrapping_neg().wrapping_mul(divider) as i64;
    __update_sa_load(sa, minus(removed_load), minus_sum(removed_load));
    __update_sa_util(sa, minus(removed_util), minus_sum(removed_util));
    __update_sa_runnable(sa, minus(removed_runnable), minus_sum(removed_runnable));

    // The runnable average is the load average without the weight: it serves as an estimate of the load sum.
    museum!(rq_of(cfs_rq).machine, K19 => { return });
    let sum =
        (removed_runnable.wrapping_mul(divider) as i64).wrapping_neg() >> SCHED_CAPACITY_SHIFT;
    add_tg_cfs_propagate(cfs_rq, sum);
}

/// attach_entity_load_avg(): `se`, which belongs to no queue, joins the averages of `cfs_rq`. Its sums are made anew
/// for the queue's place in the period.
pub fn attach_entity_load_avg<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let divider = u64::from(get_pelt_divider(&cfs_rq.avg));
    let avg = &se.avg;

    avg.set_last_update_time(cfs_rq.avg.last_update_time());
    avg.period_contrib.set(cfs_rq.avg.period_contrib.get());

    avg.util_sum.set(avg.util_avg.get().wrapping_mul(divider) as u32);
    avg.runnable_sum.set(avg.runnable_avg.get().wrapping_mul(divider));

    let load_sum = avg.load_avg.get().wrapping_mul(divider);
    avg.load_sum.set(if se_weight(se) < load_sum { load_sum / se_weight(se) } else { 1 });
    museum!(rq_of(cfs_rq).machine, K12 => { avg.load_sum.set(load_sum / se_weight(se)) });

    enqueue_load_avg(cfs_rq, se);
    let add = |to: &Cell<u64>, what: u64| to.set(to.get().wrapping_add(what));
    add(&cfs_rq.avg.util_avg, avg.util_avg.get());
    cfs_rq.avg.util_sum.set(cfs_rq.avg.util_sum.get().wrapping_add(avg.util_sum.get()));
    add(&cfs_rq.avg.runnable_avg, avg.runnable_avg.get());
    add(&cfs_rq.avg.runnable_sum, avg.runnable_sum.get());

    add_tg_cfs_propagate(cfs_rq, avg.load_sum.get() as i64);
}

/// detach_entity_load_avg(): `se` leaves the averages of `cfs_rq`.
pub fn detach_entity_load_avg<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let avg = &se.avg;
    dequeue_load_avg(cfs_rq, se);
    let minus = |what: u64| what.wrapping_neg() as i64;
    __update_sa_util(&cfs_rq.avg, minus(avg.util_avg.get()), minus(u64::from(avg.util_sum.get())));
    __update_sa_runnable(&cfs_rq.avg, minus(avg.runnable_avg.get()), minus(avg.runnable_sum.get()));

    add_tg_cfs_propagate(cfs_rq, minus(avg.load_sum.get()));
}

/// update_load_avg(): brings `se`, its queue, and what a group below has left to pass on up to now.
#[inline]
pub fn update_load_avg<'a, H: Hooks>(
    cfs_rq: &CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    flags: u32,
) {
    let now = cfs_rq_clock_pelt(cfs_rq);

    if se.avg.last_update_time() != 0 && flags & SKIP_AGE_LOAD == 0 {
        __update_load_avg_se(now, cfs_rq, se);
    }

    let mut decayed = update_cfs_rq_load_avg(now, cfs_rq);
    decayed |= propagate_entity_load_avg(se);

    if flags & DO_ATTACH != 0 && se.avg.last_update_time() == 0 {
        // It came from another CPU: migrate_task_rq_fair() left it without a time.
        attach_entity_load_avg(cfs_rq, se);
        update_tg_load_avg(cfs_rq);
    } else if flags & DO_DETACH != 0 {
        detach_entity_load_avg(cfs_rq, se);
        update_tg_load_avg(cfs_rq);
    } else if decayed && flags & UPDATE_TG != 0 {
        update_tg_load_avg(cfs_rq);
    }

    if flags & UPDATE_UTIL_EST != 0 {
        util_est_update(cfs_rq, se);
    }
}

// ---- estimated utilisation -----------------------------------------------------------------------------------------

/// UTIL_EST_MARGIN: about 1 %.
const UTIL_EST_MARGIN: u32 = SCHED_CAPACITY_SCALE as u32 / 100;
/// UTIL_EST_WEIGHT_SHIFT: a new sample counts a quarter.
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

/// util_est_update(): an activation ends: `ewma = ewma * 3/4 + util / 4`, or at once what it was if that is more.
pub(super) fn util_est_update<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    if !rq_of(cfs_rq).machine.sched_feat(SchedFeat::UTIL_EST) {
        return;
    }

    let mut ewma = se.avg.util_est.get();

    // Nothing has been measured since.
    if ewma & UTIL_AVG_UNCHANGED != 0 {
        return;
    }

    let dequeued = se.avg.util_avg.get() as u32;
    museum!(rq_of(cfs_rq).machine, K05 => { if ewma > dequeued { return } });
    if ewma <= dequeued {
        ewma = dequeued;
    } else {
        let last_ewma_diff = ewma - dequeued;
        // Near enough; or it waited so much that it did not get what it wanted.
        let near = last_ewma_diff < UTIL_EST_MARGIN;
        let starved = u64::from(dequeued + UTIL_EST_MARGIN) < se.avg.runnable_avg.get();
        if !near && !starved {
            ewma <<= UTIL_EST_WEIGHT_SHIFT;
            ewma -= last_ewma_diff;
            ewma >>= UTIL_EST_WEIGHT_SHIFT;
        }
    }

    se.avg.util_est.set(ewma | UTIL_AVG_UNCHANGED);
}

/// _task_util_est().
#[inline(always)]
fn _task_util_est<H: Hooks>(p: &TaskStruct<'_, H>) -> u32 {
    p.se.avg.util_est.get() & !UTIL_AVG_UNCHANGED
}

/// util_est_enqueue(): the root queue's estimate is the sum of its tasks'.
#[inline(always)]
pub(super) fn util_est_enqueue<H: Hooks>(cfs_rq: &CfsRq<'_, H>, p: &TaskStruct<'_, H>) {
    if !rq_of(cfs_rq).machine.sched_feat(SchedFeat::UTIL_EST) {
        return;
    }
    museum!(rq_of(cfs_rq).machine, K14 => {
        let marked = p.se.avg.util_est.get();
        cfs_rq.avg.util_est.set(cfs_rq.avg.util_est.get().wrapping_add(marked));
        return;
    });
    cfs_rq.avg.util_est.set(cfs_rq.avg.util_est.get().wrapping_add(_task_util_est(p)));
}

/// util_est_dequeue().
#[inline(always)]
pub(super) fn util_est_dequeue<H: Hooks>(cfs_rq: &CfsRq<'_, H>, p: &TaskStruct<'_, H>) {
    if !rq_of(cfs_rq).machine.sched_feat(SchedFeat::UTIL_EST) {
        return;
    }
    let enqueued = cfs_rq.avg.util_est.get();
    cfs_rq.avg.util_est.set(enqueued - enqueued.min(_task_util_est(p)));
}

// ---- coming and going ----------------------------------------------------------------------------------------------

/// set_task_rq_fair(): `se` changes queue: it is aged up to where the old one is, and goes on from where the new one
/// is. Up to now would be better, but the clocks cannot be asked without the locks.
pub fn set_task_rq_fair<'a, H: Hooks>(
    se: &SchedEntity<'a, H>,
    prev: Option<&CfsRq<'a, H>>,
    next: &CfsRq<'a, H>,
) {
    if !rq_of(next).machine.sched_feat(SchedFeat::ATTACH_AGE_LOAD) {
        return;
    }

    let Some(prev) = prev.filter(|_| se.avg.last_update_time() != 0) else { return };

    __update_load_avg_blocked_se(prev.avg.last_update_time(), se);
    se.avg.set_last_update_time(next.avg.last_update_time());
}

/// migrate_se_pelt_lag(): a sleeper leaves a CPU that idles: the clock there stood, so the time it slept meanwhile is
/// estimated: `now = rq->clock_pelt_idle - throttled time + (sched_clock_cpu() - rq->clock_idle)`.
fn migrate_se_pelt_lag<H: Hooks>(se: &SchedEntity<'_, H>) {
    let cfs_rq = cfs_rq_of(se);
    let rq = rq_of(cfs_rq);

    if load_avg_is_decayed(rq.hooks(), &se.avg) {
        return;
    }

    if !rq.curr_is_idle() {
        return;
    }

    museum!(rq.machine, K18 => { return });
    let throttled = cfs_rq.throttled_pelt_idle.load(Ordering::Relaxed);
    // The clock stands because of a quota.
    if throttled == u64::MAX {
        return;
    }
    // Pairs with _update_idle_rq_clock_pelt(): too little may come out of it, never too much.
    let mut now = rq.clock_pelt_idle.load(Ordering::Acquire);
    let lut = cfs_rq.avg.last_update_time();

    now = now.wrapping_sub(throttled);
    if now < lut {
        now = lut;
    } else {
        let idle = rq.machine.sched_clock_cpu().wrapping_sub(rq.clock_idle.load(Ordering::Relaxed));
        now = now.wrapping_add(idle);
    }

    __update_load_avg_blocked_se(now, se);
}

/// sync_entity_load_avg(): ages a sleeper up to where its queue is, without its lock.
fn sync_entity_load_avg<H: Hooks>(se: &SchedEntity<'_, H>) {
    __update_load_avg_blocked_se(cfs_rq_of(se).avg.last_update_time(), se);
}

/// remove_entity_load_avg(): a sleeper leaves its queue for good, without its lock.
pub fn remove_entity_load_avg<H: Hooks>(se: &SchedEntity<'_, H>) {
    let removed = &cfs_rq_of(se).removed;

    sync_entity_load_avg(se);

    let _guard = removed.lock.lock();
    removed.nr.fetch_add(1, Ordering::Relaxed);
    removed.util_avg.set(removed.util_avg.get().wrapping_add(se.avg.util_avg.get()));
    removed.load_avg.set(removed.load_avg.get().wrapping_add(se.avg.load_avg.get()));
    removed.runnable_avg.set(removed.runnable_avg.get().wrapping_add(se.avg.runnable_avg.get()));
}

/// migrate_task_rq_fair(): the migrate_task_rq method: `p` is about to leave its CPU.
pub fn migrate_task_rq_fair<H: Hooks>(p: &TaskStruct<'_, H>) {
    let se = &p.se;

    if !task_on_rq_migrating(p) {
        remove_entity_load_avg(se);
        migrate_se_pelt_lag(se);
    }

    // To the new CPU it says: attach me.
    se.avg.set_last_update_time(0);
}

/// task_dead_fair(): the task_dead method.
pub fn task_dead_fair<H: Hooks>(p: &TaskStruct<'_, H>) {
    remove_entity_load_avg(&p.se);
}

/// propagate_entity_cfs_rq(): what `se` brought or took is passed up to the root. Its queue stays on the leaf list, so
/// that what it leaves there decays.
fn propagate_entity_cfs_rq<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    let mut cfs_rq = cfs_rq_of(se);

    if !cfs_rq.pelt_clock_throttled.get() {
        list_add_leaf_cfs_rq(cfs_rq);
    }

    let mut walk = parent_entity(se);
    while let Some(se) = walk {
        cfs_rq = cfs_rq_of(se);

        museum!(rq_of(cfs_rq).machine, B04 => {
            if super::bandwidth::throttled_hierarchy(cfs_rq) {
                if !cfs_rq.pelt_clock_throttled.get() {
                    list_add_leaf_cfs_rq(cfs_rq);
                }
                walk = parent_entity(se);
                continue;
            }
        });
        update_load_avg(cfs_rq, se, UPDATE_TG);

        if !cfs_rq.pelt_clock_throttled.get() {
            list_add_leaf_cfs_rq(cfs_rq);
        }
        walk = parent_entity(se);
    }

    assert_list_leaf_cfs_rq(rq_of(cfs_rq));
}

/// detach_entity_cfs_rq(): unless it never was attached: new, or on its way to a first enqueue.
pub fn detach_entity_cfs_rq<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    let cfs_rq = cfs_rq_of(se);

    if se.avg.last_update_time() == 0 {
        return;
    }

    update_load_avg(cfs_rq, se, 0);
    detach_entity_load_avg(cfs_rq, se);
    update_tg_load_avg(cfs_rq);
    propagate_entity_cfs_rq(se);
}

/// attach_entity_cfs_rq().
pub fn attach_entity_cfs_rq<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    let cfs_rq = cfs_rq_of(se);
    let age = rq_of(cfs_rq).machine.sched_feat(SchedFeat::ATTACH_AGE_LOAD);

    update_load_avg(cfs_rq, se, if age { 0 } else { SKIP_AGE_LOAD });
    attach_entity_load_avg(cfs_rq, se);
    update_tg_load_avg(cfs_rq);
    propagate_entity_cfs_rq(se);
}

// ---- blocked load --------------------------------------------------------------------------------------------------

/// skip_blocked_update(): nothing is left of a group's entity, and nothing is coming.
fn skip_blocked_update<H: Hooks>(se: &SchedEntity<'_, H>) -> bool {
    if se.avg.load_avg.get() != 0 || se.avg.util_avg.get() != 0 {
        return false;
    }
    group_cfs_rq(se).is_none_or(|gcfs_rq| gcfs_rq.propagate.get() == 0)
}

/// __update_blocked_fair(): every queue on the leaf list decays, children before parents; one that has nothing left
/// leaves the list.
pub fn __update_blocked_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let mut pos = rq.leaf_cfs_rq_list.first();
    while let Some(cfs_rq) = pos {
        pos = rq.leaf_cfs_rq_list.next(cfs_rq);

        museum!(rq.machine, K02 => {
            update_cfs_rq_load_avg(crate::pelt::rq_clock_pelt(rq), cfs_rq);
        });
        if update_cfs_rq_load_avg(cfs_rq_clock_pelt(cfs_rq), cfs_rq) {
            update_tg_load_avg(cfs_rq);

            if cfs_rq.nr_queued.get() == 0 {
                update_idle_cfs_rq_clock_pelt(cfs_rq);
            }
        }

        if let Some(se) = cfs_rq_se(cfs_rq)
            && !skip_blocked_update(se)
        {
            update_load_avg(cfs_rq_of(se), se, UPDATE_TG);
        }

        if cfs_rq_is_decayed(cfs_rq) {
            list_del_leaf_cfs_rq(cfs_rq);
        }
    }
}
