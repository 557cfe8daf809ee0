// SPDX-License-Identifier: GPL-2.0-only
//! Task groups: the share that a group's entity has on a CPU, what the groups' queues pass up, and the leaf list.
//!
//! In the flat design a group's entity is never in the tree. It carries a weight (its share), and load averages; the
//! product of the shares on a task's path is the task's flat weight.

use super::bandwidth::sync_throttle;
use super::load::{
    MAX_SHARES, MIN_SHARES, NICE_0_LOAD, SCHED_PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO, scale_load,
    scale_load_down, update_load_set,
};
use super::load_avg::{
    __update_sa_load, __update_sa_runnable, __update_sa_util, attach_entity_cfs_rq,
    detach_entity_cfs_rq, flags::UPDATE_TG, init_entity_runnable_average, load_avg_is_decayed,
    update_load_avg,
};
use super::reweight::reweight_entity;
use crate::core::{set_task_rq, update_rq_clock};
use crate::pelt::{SCHED_CAPACITY_SHIFT, get_pelt_divider, se_weight};
use crate::sched::*;
use crate::sync::Ordering;
use crate::trace::Hooks;
use crate::{WARN_ON_ONCE, museum};
use core::ptr;

// ---- the leaf list -------------------------------------------------------------------------------------------------
//
// All queues of a CPU that have something to decay, each before its parent. An enqueue goes bottom up, so a branch may
// hang in the air for a while: its topmost queue so far is rq->tmp_alone_branch, and the parent will go right after it.

/// list_add_leaf_cfs_rq(): true if the branch is connected to the tree.
pub fn list_add_leaf_cfs_rq<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) -> bool {
    let rq = rq_of(cfs_rq);

    if cfs_rq.on_list.get() {
        return rq.tmp_alone_branch.get().is_none();
    }

    cfs_rq.on_list.set(true);

    let Some(parent) = cfs_rq.tg.get().and_then(|tg| tg.parent.get()) else {
        // The root queue is last.
        rq.leaf_cfs_rq_list.list_add_tail(cfs_rq);
        rq.tmp_alone_branch.set(None);
        return true;
    };

    let parent = tg_cfs_rq(parent, rq.cpu);
    if parent.on_list.get() {
        rq.leaf_cfs_rq_list.list_add_before(parent, cfs_rq);
        rq.tmp_alone_branch.set(None);
        return true;
    }

    // The parent will follow.
    match rq.tmp_alone_branch.get() {
        Some(branch) => rq.leaf_cfs_rq_list.list_add_after(branch, cfs_rq),
        None => rq.leaf_cfs_rq_list.list_add(cfs_rq),
    }
    rq.tmp_alone_branch.set(Some(cfs_rq));
    false
}

/// list_del_leaf_cfs_rq(). The end of a branch that is being added moves back.
pub fn list_del_leaf_cfs_rq<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) {
    if cfs_rq.on_list.get() {
        let rq = rq_of(cfs_rq);

        if is(rq.tmp_alone_branch.get(), cfs_rq) {
            rq.tmp_alone_branch.set(rq.leaf_cfs_rq_list.prev(cfs_rq));
        }

        rq.leaf_cfs_rq_list.list_del_init(cfs_rq);
        cfs_rq.on_list.set(false);
    }
}

/// assert_list_leaf_cfs_rq(): no branch hangs in the air.
pub fn assert_list_leaf_cfs_rq<H: Hooks>(rq: &Rq<'_, H>) {
    WARN_ON_ONCE!(rq.hooks(), rq.tmp_alone_branch.get().is_some());
}

/// child_cfs_rq_on_list(): whether the one before it, or before where it would go, is a child of it.
fn child_cfs_rq_on_list<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) -> bool {
    let rq = rq_of(cfs_rq);
    museum!(rq.machine, K04B => { return false });
    let prev = if cfs_rq.on_list.get() {
        rq.leaf_cfs_rq_list.prev(cfs_rq)
    } else {
        rq.tmp_alone_branch.get()
    };

    let Some(prev) = prev else {
        museum!(rq.machine, C08 => { return true });
        return false;
    };
    let parent = prev.tg.get().and_then(|tg| tg.parent.get());
    match (parent, cfs_rq.tg.get()) {
        (Some(parent), Some(tg)) => ptr::eq(parent, tg),
        _ => false,
    }
}

/// cfs_rq_is_decayed(): it may leave the list.
pub fn cfs_rq_is_decayed<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) -> bool {
    if cfs_rq.load.weight.get() != 0 {
        return false;
    }

    museum!(rq_of(cfs_rq).machine, K04 => { return true });
    if !load_avg_is_decayed(rq_of(cfs_rq).hooks(), &cfs_rq.avg) {
        return false;
    }

    if child_cfs_rq_on_list(cfs_rq) {
        return false;
    }

    museum!(rq_of(cfs_rq).machine, C05 => { return true });
    cfs_rq.tg_load_avg_contrib.get() == 0
}

// ---- sums of a group -----------------------------------------------------------------------------------------------

/// is_root_task_group().
#[inline(always)]
fn is_root<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> bool {
    ptr::eq(cfs_rq, &rq_of(cfs_rq).cfs)
}

/// update_tg_load_avg(): adds to the group's sums what has changed here: at most once a ms, and only if it is more than
/// 1/64.
#[inline]
pub fn update_tg_load_avg<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) {
    if is_root(cfs_rq) {
        return;
    }
    let Some(tg) = cfs_rq.tg.get() else { return };

    let now = rq_of(cfs_rq).clock.get();
    if now.wrapping_sub(cfs_rq.last_update_tg_load_avg.get()) < NSEC_PER_MSEC {
        return;
    }

    let dl = cfs_rq.avg.load_avg.get().wrapping_sub(cfs_rq.tg_load_avg_contrib.get()) as i64;
    let dr =
        cfs_rq.avg.runnable_avg.get().wrapping_sub(cfs_rq.tg_runnable_avg_contrib.get()) as i64;
    if dl.unsigned_abs() > cfs_rq.tg_load_avg_contrib.get() / 64
        || dr.unsigned_abs() > cfs_rq.tg_runnable_avg_contrib.get() / 64
    {
        tg.load_avg.fetch_add(dl, Ordering::Relaxed);
        tg.runnable_avg.fetch_add(dr, Ordering::Relaxed);
        cfs_rq.tg_load_avg_contrib.set(cfs_rq.avg.load_avg.get());
        cfs_rq.tg_runnable_avg_contrib.set(cfs_rq.avg.runnable_avg.get());
        cfs_rq.last_update_tg_load_avg.set(now);
    }
}

/// add_tg_cfs_propagate(): a change for the level above to take over; signed, unweighted.
#[inline(always)]
pub fn add_tg_cfs_propagate<H: Hooks>(cfs_rq: &CfsRq<'_, H>, runnable_sum: i64) {
    cfs_rq.propagate.set(1);
    cfs_rq.prop_runnable_sum.set(cfs_rq.prop_runnable_sum.get().wrapping_add(runnable_sum));
}

/// update_tg_cfs_util(): the entity's utilisation becomes that of its queue; the queue above takes the difference.
fn update_tg_cfs_util<H: Hooks>(
    cfs_rq: &CfsRq<'_, H>,
    se: &SchedEntity<'_, H>,
    gcfs_rq: &CfsRq<'_, H>,
) {
    let delta_avg = gcfs_rq.avg.util_avg.get().wrapping_sub(se.avg.util_avg.get()) as i64;
    if delta_avg == 0 {
        return;
    }

    #[allow(unused_mut, reason = "museum")]
    let mut divider = u64::from(get_pelt_divider(&cfs_rq.avg));
    museum!(rq_of(cfs_rq).machine, K16 => { divider = u64::from(crate::pelt::LOAD_AVG_MAX) });

    se.avg.util_avg.set(gcfs_rq.avg.util_avg.get());
    let new_sum = se.avg.util_avg.get().wrapping_mul(divider) as u32;
    let delta_sum = i64::from(new_sum) - i64::from(se.avg.util_sum.get());
    se.avg.util_sum.set(new_sum);

    __update_sa_util(&cfs_rq.avg, delta_avg, delta_sum);
}

/// update_tg_cfs_runnable(): the same for runnable.
fn update_tg_cfs_runnable<H: Hooks>(
    cfs_rq: &CfsRq<'_, H>,
    se: &SchedEntity<'_, H>,
    gcfs_rq: &CfsRq<'_, H>,
) {
    let delta_avg = gcfs_rq.avg.runnable_avg.get().wrapping_sub(se.avg.runnable_avg.get()) as i64;
    if delta_avg == 0 {
        return;
    }

    let divider = u64::from(get_pelt_divider(&cfs_rq.avg));

    se.avg.runnable_avg.set(gcfs_rq.avg.runnable_avg.get());
    #[allow(unused_mut, reason = "museum")]
    let mut new_sum = se.avg.runnable_avg.get().wrapping_mul(divider);
    museum!(rq_of(cfs_rq).machine, A14 => { new_sum = u64::from(new_sum as u32) });
    let delta_sum = new_sum.wrapping_sub(se.avg.runnable_sum.get()) as i64;
    se.avg.runnable_sum.set(new_sum);

    __update_sa_runnable(&cfs_rq.avg, delta_avg, delta_sum);
}

/// update_tg_cfs_load(): load is not a plain sum, since the entity has a weight of its own: the change of the queue's
/// unweighted sum is taken over, kept between what ran and a whole CPU.
fn update_tg_cfs_load<H: Hooks>(
    cfs_rq: &CfsRq<'_, H>,
    se: &SchedEntity<'_, H>,
    gcfs_rq: &CfsRq<'_, H>,
) {
    let mut runnable_sum = gcfs_rq.prop_runnable_sum.get();
    if runnable_sum == 0 {
        return;
    }

    gcfs_rq.prop_runnable_sum.set(0);

    let divider = get_pelt_divider(&cfs_rq.avg);

    if runnable_sum >= 0 {
        // Until the CPU is saturated, what is runnable runs.
        runnable_sum = runnable_sum.wrapping_add(se.avg.load_sum.get() as i64);
        #[cfg(feature = "museum")]
        let unbounded = runnable_sum;
        runnable_sum = runnable_sum.min(i64::from(divider));
        museum!(rq_of(cfs_rq).machine, K20 => { runnable_sum = unbounded });
    } else {
        // What is left is estimated as if all tasks were equally runnable; it never grows by that.
        let mut load_sum = 0;
        let weight = scale_load_down(gcfs_rq.load.weight.get());
        if weight != 0 {
            load_sum = gcfs_rq.avg.load_sum.get() / u64::from(weight as u32);
        }
        runnable_sum = se.avg.load_sum.get().min(load_sum) as i64;
    }

    let running_sum = i64::from(se.avg.util_sum.get() >> SCHED_CAPACITY_SHIFT);
    runnable_sum = runnable_sum.max(running_sum);

    let load_sum = se_weight(se).wrapping_mul(runnable_sum as u64);
    let load_avg = load_sum / u64::from(divider);

    let delta_avg = load_avg.wrapping_sub(se.avg.load_avg.get()) as i64;
    if delta_avg == 0 {
        return;
    }

    let delta_sum = load_sum.wrapping_sub(se_weight(se).wrapping_mul(se.avg.load_sum.get())) as i64;

    se.avg.load_sum.set(runnable_sum as u64);
    se.avg.load_avg.set(load_avg);
    __update_sa_load(&cfs_rq.avg, delta_avg, delta_sum);
}

/// propagate_entity_load_avg(): takes over what the group's queue has to pass on; true if there was something.
#[inline(always)]
pub fn propagate_entity_load_avg<H: Hooks>(se: &SchedEntity<'_, H>) -> bool {
    let Some(gcfs_rq) = group_cfs_rq(se) else { return false };
    if gcfs_rq.propagate.get() == 0 {
        return false;
    }

    gcfs_rq.propagate.set(0);

    let cfs_rq = cfs_rq_of(se);

    add_tg_cfs_propagate(cfs_rq, gcfs_rq.prop_runnable_sum.get());

    update_tg_cfs_util(cfs_rq, se, gcfs_rq);
    update_tg_cfs_runnable(cfs_rq, se, gcfs_rq);
    update_tg_cfs_load(cfs_rq, se, gcfs_rq);

    true
}

// ---- shares --------------------------------------------------------------------------------------------------------

/// __calc_smp_shares(): the part of `tg_shares` that the group has on this CPU, by load:
///
/// ```text
/// shares = tg_shares * load / (tg->load_avg - contribution of this CPU + load)
/// ```
///
/// where load is the queue's weight now or its average, whichever is more: the average alone would follow too slowly
/// when a group wakes up, and the weight alone drops to 0 when it sleeps.
fn __calc_smp_shares<H: Hooks>(
    cfs_rq: &CfsRq<'_, H>,
    tg: &TaskGroup<'_, H>,
    tg_shares: i64,
    shares_max: i64,
) -> i64 {
    #[allow(unused_mut, reason = "museum")]
    let mut load = scale_load_down(cfs_rq.load.weight.get()).max(cfs_rq.avg.load_avg.get()) as i64;
    museum!(rq_of(cfs_rq).machine, C11 => {
        load = cfs_rq.load.weight.get().max(cfs_rq.avg.load_avg.get()) as i64;
    });
    museum!(rq_of(cfs_rq).machine, C12 => { load = cfs_rq.avg.load_avg.get() as i64 });

    let tg_weight = tg
        .load_avg
        .load(Ordering::Relaxed)
        .wrapping_sub(cfs_rq.tg_load_avg_contrib.get() as i64)
        .wrapping_add(load);

    let mut shares = tg_shares.wrapping_mul(load);
    if tg_weight != 0 {
        shares = shares.wrapping_div(tg_weight);
    }

    museum!(rq_of(cfs_rq).machine, H11B => {
        shares = shares.max(scale_load(MIN_SHARES) as i64);
    });
    // The least is not scaled: a share of a small group on one of many CPUs needs the bits.
    if shares >= shares_max {
        shares_max
    } else if shares <= MIN_SHARES as i64 {
        MIN_SHARES as i64
    } else {
        shares
    }
}

/// tg_cpus(): on how many CPUs the group may run.
fn tg_cpus<H: Hooks>(machine: &Machine<'_, H>) -> i64 {
    i64::from(machine.num_online_cpus()).max(1)
}

/// tg_tasks(): how many tasks of the group are runnable, on average; at least 1.
fn tg_tasks<H: Hooks>(tg: &TaskGroup<'_, H>) -> i64 {
    let nr = (tg.runnable_avg.load(Ordering::Relaxed) >> SCHED_CAPACITY_SHIFT).max(1);
    // An int in C.
    i64::from(nr as i32)
}

/// calc_group_shares(): calc_up_shares() to calc_tasks_shares(), as cgroup_mode says.
fn calc_group_shares<H: Hooks>(cfs_rq: &CfsRq<'_, H>, tg: &TaskGroup<'_, H>) -> i64 {
    let machine = rq_of(cfs_rq).machine;
    let tg_shares = tg.shares.load(Ordering::Relaxed) as i64;

    match machine.cgroup_mode.get() {
        // As if there were one CPU.
        CgroupMode::Up => tg_shares,
        // A fraction of the shares.
        CgroupMode::Smp => __calc_smp_shares(cfs_rq, tg, tg_shares, tg_shares),
        // The shares count for as many CPUs as the group can use: min(tasks, CPUs).
        CgroupMode::Concur => {
            #[allow(unused_mut, reason = "museum")]
            let mut shares = tg_tasks(tg).min(tg_cpus(machine)).wrapping_mul(tg_shares);
            museum!(machine, H12 => { shares = tg_tasks(tg).wrapping_mul(tg_shares) });
            __calc_smp_shares(cfs_rq, tg, shares, shares)
        }
        // The shares count for each CPU, up to nice -20.
        CgroupMode::Max => {
            #[allow(unused_mut, reason = "museum")]
            let mut most = scale_load(u64::from(SCHED_PRIO_TO_WEIGHT[0])) as i64;
            museum!(machine, H12B => { most = i64::MAX });
            __calc_smp_shares(cfs_rq, tg, tg_shares.wrapping_mul(tg_cpus(machine)), most)
        }
        // The shares count for each task.
        CgroupMode::Tasks => {
            let shares = tg_tasks(tg).wrapping_mul(tg_shares);
            __calc_smp_shares(cfs_rq, tg, shares, shares)
        }
    }
}

/// update_cfs_group(): the share of a group's entity follows its queue. An empty group keeps its share.
#[inline(always)]
pub fn update_cfs_group<'a, H: Hooks>(se: &'a SchedEntity<'a, H>) {
    museum!(rq_of(cfs_rq_of(se)).machine, L07 => {
        if let Some(gcfs_rq) = group_cfs_rq(se)
            && gcfs_rq.load.weight.get() == 0
        {
            reweight_entity(cfs_rq_of(se), se, MIN_SHARES);
        }
    });
    let Some(gcfs_rq) = group_cfs_rq(se).filter(|gcfs_rq| gcfs_rq.load.weight.get() != 0) else {
        return;
    };
    let Some(tg) = gcfs_rq.tg.get() else { return };

    museum!(rq_of(gcfs_rq).machine, B04B => {
        if super::bandwidth::throttled_hierarchy(gcfs_rq) { return }
    });
    let shares = calc_group_shares(gcfs_rq, tg);
    reweight_entity(cfs_rq_of(se), se, shares as u64);
}

/// se_update_runnable(): how many below a group's entity want to run.
#[inline(always)]
pub fn se_update_runnable<H: Hooks>(se: &SchedEntity<'_, H>) {
    if let Some(my_q) = group_cfs_rq(se) {
        se.runnable_weight.set(u64::from(my_q.h_nr_runnable.get()));
    }
}

// ---- making and changing groups ------------------------------------------------------------------------------------

/// What sched_create_group() allocates: the host hands it in, `cfs_rq` and `se` one a CPU.
pub struct GroupParts<'a, H: Hooks + 'a> {
    /// The group.
    pub tg: &'a TaskGroup<'a, H>,
    /// Its queues.
    pub cfs_rq: &'a [CfsRq<'a, H>],
    /// Its entities.
    pub se: &'a [SchedEntity<'a, H>],
}

/// sched_create_group() and sched_online_group(): a new group below `parent`.
pub fn sched_create_group<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    parts: &GroupParts<'a, H>,
    parent: &'a TaskGroup<'a, H>,
) {
    let tg = parts.tg;

    // alloc_fair_sched_group()
    tg.cfs_rq.set(parts.cfs_rq);
    tg.se.set(parts.se);
    tg.shares.store(NICE_0_LOAD, Ordering::Relaxed);
    for rq in machine.runqueues() {
        let cpu = rq.cpu as usize;
        init_tg_cfs_entry(tg, &parts.cfs_rq[cpu], &parts.se[cpu], rq, tg_se(parent, rq.cpu));
        init_entity_runnable_average(&parts.se[cpu]);
    }

    // sched_online_group(): siblings are kept newest first.
    tg.parent.set(Some(parent));
    parent.children.list_add(tg);

    // online_fair_sched_group()
    for rq in machine.runqueues() {
        let _guard = rq_lock(rq);
        update_rq_clock(rq);
        attach_entity_cfs_rq(&parts.se[rq.cpu as usize]);
        sync_throttle(tg, rq);
    }
}

/// init_tg_cfs_entry(): connects a group's queue and entity of one CPU.
fn init_tg_cfs_entry<'a, H: Hooks>(
    tg: &'a TaskGroup<'a, H>,
    cfs_rq: &'a CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    rq: &'a Rq<'a, H>,
    parent: Option<&'a SchedEntity<'a, H>>,
) {
    cfs_rq.tg.set(Some(tg));
    cfs_rq.rq.set(Some(rq));

    match parent {
        None => {
            se.cfs_rq.set(Some(&rq.cfs));
            se.depth.set(0);
        }
        Some(parent) => {
            se.cfs_rq.set(parent.my_q.get());
            se.depth.set(parent.depth.get() + 1);
        }
    }

    se.my_q.set(Some(cfs_rq));
    update_load_set(&se.load, NICE_0_LOAD);
    se.parent.set(parent);
}

/// __sched_group_set_shares(): `shares` scaled.
fn __sched_group_set_shares<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    tg: &'a TaskGroup<'a, H>,
    shares: u64,
) {
    let shares = shares.clamp(scale_load(MIN_SHARES), scale_load(MAX_SHARES));

    if tg.shares.load(Ordering::Relaxed) == shares {
        return;
    }

    tg.shares.store(shares, Ordering::Relaxed);
    for rq in machine.runqueues() {
        let _guard = rq_lock(rq);
        update_rq_clock(rq);
        let mut walk = tg_se(tg, rq.cpu);
        while let Some(se) = walk {
            update_load_avg(cfs_rq_of(se), se, UPDATE_TG);
            update_cfs_group(se);
            walk = parent_entity(se);
        }
    }
}

/// cpu_shares_write_u64() and sched_group_set_shares(): `shares` in units of cpu.shares, 2 to 2^18. Nothing happens to
/// an idle group.
pub fn sched_group_set_shares<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    tg: &'a TaskGroup<'a, H>,
    shares: u64,
) {
    if tg.idle.get() > 0 {
        return;
    }
    let shares = if shares > scale_load_down(u64::MAX) { MAX_SHARES } else { shares };
    __sched_group_set_shares(machine, tg, scale_load(shares));
}

/// sched_group_set_idle(): the group becomes SCHED_IDLE, with the least weight, or normal again.
pub fn sched_group_set_idle<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    tg: &'a TaskGroup<'a, H>,
    idle: bool,
) {
    let idle = i32::from(idle);
    if tg.idle.get() == idle {
        return;
    }

    tg.idle.set(idle);

    for rq in machine.runqueues() {
        let grp_cfs_rq = tg_cfs_rq(tg, rq.cpu);
        let was_idle = grp_cfs_rq.idle.get() > 0;
        let _guard = rq_lock(rq);

        grp_cfs_rq.idle.set(idle);
        if WARN_ON_ONCE!(rq.hooks(), was_idle == (grp_cfs_rq.idle.get() > 0)) {
            continue;
        }

        let mut idle_task_delta =
            grp_cfs_rq.h_nr_queued.get().wrapping_sub(grp_cfs_rq.h_nr_idle.get());
        if idle == 0 {
            idle_task_delta = idle_task_delta.wrapping_neg();
        }

        let mut walk = tg_se(tg, rq.cpu);
        while let Some(se) = walk {
            let cfs_rq = cfs_rq_of(se);

            if !se.on_rq.get() {
                break;
            }

            cfs_rq.h_nr_idle.set(cfs_rq.h_nr_idle.get().wrapping_add(idle_task_delta));

            // Counted from there on up already.
            if cfs_rq.idle.get() > 0 {
                break;
            }
            walk = parent_entity(se);
        }
    }

    let shares = if idle > 0 { scale_load(WEIGHT_IDLEPRIO) } else { NICE_0_LOAD };
    __sched_group_set_shares(machine, tg, shares);
}

/// task_change_group_fair(): the task_change_group method. A new task is attached to nothing yet.
pub fn task_change_group_fair<'a, H: Hooks>(p: &'a TaskStruct<'a, H>) {
    museum!(rq_of(cfs_rq_of(&p.se)).machine, K15 => {
        if p.__state.load(Ordering::Relaxed) == TASK_NEW {
            set_task_rq(p, task_cpu(p));
            attach_entity_cfs_rq(&p.se);
            return;
        }
    });
    if p.__state.load(Ordering::Relaxed) == TASK_NEW {
        return;
    }

    detach_entity_cfs_rq(&p.se);

    // As if it came from another CPU.
    p.se.avg.set_last_update_time(0);
    set_task_rq(p, task_cpu(p));
    attach_entity_cfs_rq(&p.se);
}
