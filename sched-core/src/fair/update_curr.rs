// SPDX-License-Identifier: GPL-2.0-only
//! Charging what runs, ending its request, and the tick.

use super::avg_vruntime::avg_vruntime;
use super::bandwidth::account_cfs_rq_runtime;
use super::group::update_cfs_group;
use super::load::{NICE_0_LOAD, calc_delta_fair};
use super::load_avg::{flags::UPDATE_TG, update_load_avg};
use super::pick::{clear_buddies, protect_slice};
use super::reweight::{__calc_prop_weight, reweight_eevdf};
use crate::core::{hrtick_start, resched_curr, resched_curr_lazy};
use crate::sched::{
    CfsRq, Rq, SchedClass, SchedEntity, TaskStruct, cfs_rq_of, entity_is_task,
    for_each_sched_entity, hrtick_enabled_fair, rq_clock_task, rq_of, task_current_donor, task_rq,
    vruntime_before,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// update_deadline(): if `se` has used up its request it gets the next one. True if so: somebody else's turn.
///
/// `vd_i = ve_i + r_i / w_i`. The deadline moves on from where the entity is, not from the old deadline.
pub fn update_deadline<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) -> bool {
    if vruntime_before(se.vruntime.get(), se.deadline.get()) {
        return false;
    }
    rq_of(cfs_rq).count(Counter::DeadlineReached);

    if !se.custom_slice.get() {
        se.slice.set(u64::from(rq_of(cfs_rq).machine.sysctl_sched_base_slice.get()));
    }

    se.deadline.set(se.vruntime.get().wrapping_add(calc_delta_fair(se.slice.get(), se)));
    // For its effect: zero_vruntime follows.
    avg_vruntime(cfs_rq);

    true
}

/// update_se(): what `se` ran since it was last charged, ns; not positive if nothing.
fn update_se<'a, H: Hooks>(rq: &Rq<'a, H>, se: &SchedEntity<'a, H>) -> i64 {
    let now = rq_clock_task(rq);

    let delta_exec = now.wrapping_sub(se.exec_start.get()) as i64;
    if delta_exec <= 0 {
        return delta_exec;
    }

    se.exec_start.set(now);
    // A task's time goes to what really runs, which with proxy execution need not be the same.
    let running = if entity_is_task(se) { &rq.curr().se } else { se };
    running.exec_start.set(now);
    running.sum_exec_runtime.set(running.sum_exec_runtime.get().wrapping_add(delta_exec as u64));

    delta_exec
}

/// update_curr(): charges the running entity of a level up to now. On the task's own level that moves its vruntime,
/// may end its request, and asks for a reschedule when its turn is over.
pub fn update_curr<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, site: Site) {
    let Some(curr) = cfs_rq.h_curr.get() else { return };
    let rq = rq_of(cfs_rq);

    museum!(rq.machine, B07 => { if site == Site::DistributeCfsRuntime { return } });
    museum!(rq.machine, B07B => {
        if matches!(site, Site::UnthrottleCfsRq | Site::TgUnthrottleUp) { return }
    });
    museum!(rq.machine, H01 => { if site == Site::EnqueueTaskFair { return } });
    museum!(rq.machine, H01B => { if site == Site::DequeueTask { return } });
    let delta_exec = update_se(rq, curr);
    rq.hooks().update_curr(site, delta_exec > 0);
    if delta_exec <= 0 {
        return;
    }

    account_cfs_rq_runtime(cfs_rq, delta_exec as u64);

    if !entity_is_task(curr) {
        return;
    }

    let cfs_rq = &rq.cfs;

    curr.vruntime.set(curr.vruntime.get().wrapping_add(calc_delta_fair(delta_exec as u64, curr)));
    let resched = update_deadline(cfs_rq, curr);

    museum!(rq.machine, C02 => { if cfs_rq.nr_queued.get() == 1 { return } });
    museum!(rq.machine, C03 => {
        if rq.nr_running.get() > 1 && (resched || !protect_slice(curr)) {
            resched_curr_lazy(rq);
            clear_buddies(cfs_rq, curr);
        }
        return;
    });
    museum!(rq.machine, C03B => {
        if resched || !protect_slice(curr) {
            resched_curr_lazy(rq);
        }
    });
    if cfs_rq.h_nr_queued.get() == 1 {
        return;
    }

    museum!(rq.machine, S07 => { if !resched { return } });
    if resched || !protect_slice(curr) {
        resched_curr_lazy(rq);
        clear_buddies(cfs_rq, curr);
    }
}

/// update_curr_eevdf(): the same for the queue that curr is on, before V or a lag is looked at.
#[inline(always)]
pub fn update_curr_eevdf<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, site: Site) {
    if let Some(curr) = cfs_rq.curr.get() {
        update_curr(cfs_rq_of(curr), site);
    }
}

/// update_curr_fair(): the update_curr method: every level of the running task.
pub fn update_curr_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, site: Site) {
    for se in for_each_sched_entity(&rq.donor().se) {
        update_curr(cfs_rq_of(se), site);
    }
}

/// entity_tick(): one level of the tick. `queued` is the precise timer's tick, which came for this request's end.
fn entity_tick<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, curr: &'a SchedEntity<'a, H>, queued: bool) {
    rq_of(cfs_rq).count(Counter::EntityTick);

    update_curr(cfs_rq, Site::EntityTick);

    update_load_avg(cfs_rq, curr, UPDATE_TG);
    update_cfs_group(curr);

    if queued {
        resched_curr(rq_of(cfs_rq));
    }
}

/// task_tick_fair(): the task_tick method. The flat weight follows what the shares on the path have become.
pub fn task_tick_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, curr: &'a TaskStruct<'a, H>, queued: bool) {
    let se = &curr.se;

    museum!(rq.machine, B14 => { if rq.nr_running.get() == 1 { return } });
    if se.on_rq.get() {
        let mut weight = NICE_0_LOAD;

        for se in for_each_sched_entity(se) {
            let cfs_rq = cfs_rq_of(se);
            entity_tick(cfs_rq, se, queued);

            weight = __calc_prop_weight(cfs_rq, se, weight);
        }

        museum!(rq.machine, H08 => { return });
        reweight_eevdf(&rq.cfs, se, weight, se.on_rq.get());
    }
}

/// hrtick_start_fair(): the precise timer is to fire when `p`, which runs now or is about to, reaches its deadline.
pub fn hrtick_start_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>) {
    let se = &p.se;

    WARN_ON_ONCE!(rq.hooks(), !core::ptr::eq(task_rq(rq.machine, p), rq));

    if rq.cfs.h_nr_queued.get() <= 1 {
        return;
    }

    let vdelta = se.deadline.get().wrapping_sub(se.vruntime.get());
    if (vdelta as i64) < 0 {
        if task_current_donor(rq, p) {
            resched_curr(rq);
        }
        return;
    }
    let delta = se.h_load.weight.get().wrapping_mul(vdelta) / NICE_0_LOAD;

    // No interrupts take time here: nothing to make up for.
    hrtick_start(rq, delta);
}

/// hrtick_update(): somebody joined: curr, which may have been alone until now, needs the timer.
pub(super) fn hrtick_update<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let donor = rq.donor();

    if !hrtick_enabled_fair(rq) || donor.sched_class.get() != SchedClass::Fair {
        return;
    }

    if rq.hrtick_timer.get().is_some() {
        return;
    }

    hrtick_start_fair(rq, donor);
}
