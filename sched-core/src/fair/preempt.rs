// SPDX-License-Identifier: GPL-2.0-only
//! Wakeup preemption, the buddy, and yield.

use super::avg_vruntime::entity_eligible;
use super::bandwidth::task_is_throttled;
use super::enqueue::cfs_rq_is_idle;
use super::pick::{cancel_protect_slice, clear_buddies, pick_next_entity, update_protect_slice};
use super::timeline::entity_before;
use super::update_curr::{update_curr_eevdf, update_curr_fair, update_deadline};
use crate::core::{resched_curr_lazy, update_rq_clock};
use crate::features::SchedFeat;
use crate::sched::{
    CfsRq, QueueFlags, Rq, SchedClass, SchedEntity, TaskStruct, WakeFlags, group_cfs_rq,
    normal_policy, rq_clock_skip_update, rq_clock_task, rq_of, task_has_idle_policy, task_of,
    test_tsk_need_resched,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// se_is_idle(): a task of SCHED_IDLE, or a group that is.
#[inline(always)]
fn se_is_idle<H: Hooks>(se: &SchedEntity<'_, H>) -> bool {
    match group_cfs_rq(se) {
        None => task_has_idle_policy(task_of(se)),
        Some(my_q) => cfs_rq_is_idle(my_q),
    }
}

/// set_next_buddy(): the next pick prefers `se`, if it is eligible then.
fn set_next_buddy<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, se: &'a SchedEntity<'a, H>) {
    if WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), !se.on_rq.get() || se.sched_delayed.get()) {
        return;
    }
    if se_is_idle(se) {
        return;
    }
    cfs_rq.next.set(Some(se));
}

/// enum preempt_wakeup_action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreemptWakeup {
    /// No preemption.
    None,
    /// Regardless of slice protection.
    Short,
    /// As the pick decides.
    Pick,
    /// In any case.
    Resched,
}

/// set_preempt_buddy(): `pse` becomes the buddy, unless the present one has the earlier deadline.
fn set_preempt_buddy<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, pse: &'a SchedEntity<'a, H>) -> bool {
    if cfs_rq.next.get().is_some_and(|next| entity_before(next, pse)) {
        return false;
    }
    set_next_buddy(cfs_rq, pse);
    true
}

/// set_short_buddy(): `pse` becomes the buddy, unless the present one has the shorter slice.
fn set_short_buddy<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, pse: &'a SchedEntity<'a, H>) -> bool {
    museum!(rq_of(cfs_rq).machine, S12B => {
        set_next_buddy(cfs_rq, pse);
        return true;
    });
    if cfs_rq.next.get().is_some_and(|next| next.slice.get() < pse.slice.get()) {
        return false;
    }
    set_next_buddy(cfs_rq, pse);
    true
}

/// preempt_sync(): the waker of a sync wakeup says that it will sleep soon. It is preempted only if it did not after
/// having run for as long as a migration costs.
fn preempt_sync<'a, H: Hooks>(
    rq: &Rq<'a, H>,
    wake_flags: WakeFlags,
    pse: &SchedEntity<'a, H>,
    se: &SchedEntity<'a, H>,
) -> PreemptWakeup {
    WARN_ON_ONCE!(rq.hooks(), !wake_flags.contains(WakeFlags::WF_TTWU));

    let mut threshold = u64::from(rq.machine.sysctl_sched_migration_cost.get());
    let mut delta = rq_clock_task(rq).wrapping_sub(se.exec_start.get());
    if (delta as i64) < 0 {
        delta = 0;
    }

    // Tasks that stack on this CPU though they could run elsewhere: less patience.
    if wake_flags.contains(WakeFlags::WF_RQ_SELECTED) {
        threshold >>= 2;
    }

    if entity_before(pse, se) && delta >= threshold {
        return PreemptWakeup::Resched;
    }

    PreemptWakeup::None
}

/// What the branches of wakeup_preempt_fair() end in.
enum Verdict {
    Nothing,
    Update,
    Preempt(PreemptWakeup),
}

/// wakeup_preempt_fair(): the wakeup_preempt method: `p` has been woken; is curr to make room for it?
pub fn wakeup_preempt_fair<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    wake_flags: WakeFlags,
) {
    let donor = rq.donor();
    let se = &donor.se;
    let pse = &p.se;
    let cfs_rq = &rq.cfs;

    rq.count(Counter::WakeupPreemptFair);

    if p.sched_class.get() != SchedClass::Fair || donor.sched_class.get() != SchedClass::Fair {
        return;
    }

    if core::ptr::eq(se, pse) {
        return;
    }

    // Parked at once by its enqueue: nothing to preempt for.
    if task_is_throttled(p) {
        return;
    }

    museum!(rq.machine, S15 => { if test_tsk_need_resched(rq.curr()) { return } });
    museum!(rq.machine, B04C => {
        if crate::fair::bandwidth::throttled_hierarchy(crate::sched::cfs_rq_of(pse)) { return }
    });
    // It may be set already; with PREEMPT_SHORT there is more to decide than that.
    if !rq.machine.sched_feat(SchedFeat::PREEMPT_SHORT) && test_tsk_need_resched(rq.curr()) {
        return;
    }

    if !rq.machine.sched_feat(SchedFeat::WAKEUP_PREEMPTION) {
        return;
    }

    match wakeup_verdict(rq, p, wake_flags) {
        Verdict::Nothing => {}
        Verdict::Update => {
            museum!(rq.machine, S06 => { return });
            if rq.machine.sched_feat(SchedFeat::RUN_TO_PARITY) {
                update_protect_slice(cfs_rq, se);
            }
        }
        #[allow(unused_mut, reason = "museum")]
        Verdict::Preempt(mut preempt_action) => {
            rq.count(Counter::WakeupPreempt);
            cancel_protect_slice(se);

            museum!(rq.machine, S12 => { preempt_action = PreemptWakeup::Pick });
            if preempt_action == PreemptWakeup::Short {
                set_short_buddy(cfs_rq, pse);
            }

            resched_curr_lazy(rq);
        }
    }
}

/// The decision of wakeup_preempt_fair(), between its early exits and its labels `update` and `preempt`.
fn wakeup_verdict<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    wake_flags: WakeFlags,
) -> Verdict {
    let mut preempt_action = PreemptWakeup::Pick;
    let se = &rq.donor().se;
    let pse = &p.se;
    let cfs_rq = &rq.cfs;

    #[allow(unused_mut, reason = "museum")]
    let mut cse_is_idle = se_is_idle(se);
    #[allow(unused_mut, reason = "museum")]
    let mut pse_is_idle = se_is_idle(pse);

    museum!(rq.machine, S03 => {
        cse_is_idle = crate::sched::for_each_sched_entity(se).any(se_is_idle);
        pse_is_idle = crate::sched::for_each_sched_entity(pse).any(se_is_idle);
    });
    museum!(rq.machine, S03B => { cse_is_idle = false });
    // What is not idle preempts what is, never the reverse.
    if cse_is_idle && !pse_is_idle {
        return Verdict::Preempt(preempt_action);
    }

    update_curr_fair(rq, Site::WakeupPreemptFair);

    if cse_is_idle != pse_is_idle {
        museum!(rq.machine, S24B => { return Verdict::Nothing });
        return Verdict::Update;
    }

    // Batch and idle tasks do not preempt.
    if !normal_policy(p.policy.get()) {
        museum!(rq.machine, S24 => { return Verdict::Nothing });
        return Verdict::Update;
    }

    // A delayed task is not eligible; it cannot be the one to run.
    if pse.sched_delayed.get() {
        return Verdict::Update;
    }

    if rq.machine.sched_feat(SchedFeat::PREEMPT_SHORT) && pse.slice.get() < se.slice.get() {
        preempt_action = PreemptWakeup::Short;
        museum!(rq.machine, S08 => { return Verdict::Preempt(preempt_action) });
    } else {
        // A child is likely to exec: nothing is shared that would be hot.
        if wake_flags.contains(WakeFlags::WF_FORK) {
            return Verdict::Update;
        }

        // A hint to sleep soon is honoured for a new buddy only.
        if rq.machine.sched_feat(SchedFeat::NEXT_BUDDY)
            && set_preempt_buddy(cfs_rq, pse)
            && wake_flags.contains(WakeFlags::WF_SYNC)
        {
            preempt_action = preempt_sync(rq, wake_flags, pse, se);
        }

        match preempt_action {
            PreemptWakeup::None => return Verdict::Nothing,
            PreemptWakeup::Resched => return Verdict::Preempt(preempt_action),
            PreemptWakeup::Short | PreemptWakeup::Pick => {}
        }
    }

    // Each turn without a pick has completed the dequeue of one delayed task.
    while cfs_rq.h_nr_queued.get() != 0 {
        let protect = preempt_action != PreemptWakeup::Short;
        let Some(nse) = pick_next_entity(rq, protect, QueueFlags::empty()) else { continue };
        if core::ptr::eq(nse, pse) {
            return Verdict::Preempt(preempt_action);
        }
        break;
    }

    museum!(rq.machine, S10 => { return Verdict::Preempt(preempt_action) });
    museum!(rq.machine, S14 => { return Verdict::Update });
    // Not the next to run, but owed time, and asked for little of it: curr is not protected from it.
    if preempt_action == PreemptWakeup::Short && entity_eligible(cfs_rq, pse) {
        return Verdict::Preempt(preempt_action);
    }

    Verdict::Update
}

/// yield_task_fair(): the yield_task method: curr gives up what is left of its request, if it is eligible.
///
/// Only then: one that is not would be pushed further and further ahead by a task that yields in a loop.
pub fn yield_task_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let se = &rq.donor().se;
    let cfs_rq = &rq.cfs;

    rq.count(Counter::YieldTaskFair);

    // Nobody to yield to.
    if rq.nr_running.get() == 1 {
        return;
    }

    clear_buddies(cfs_rq, se);

    update_rq_clock(rq);
    update_curr_eevdf(cfs_rq, Site::YieldTaskFair);
    // The schedule that follows need not look at the clock again.
    rq_clock_skip_update(rq);

    if entity_eligible(cfs_rq, se) {
        se.vruntime.set(se.deadline.get());
        museum!(rq.machine, A06 => {
            let vslice = super::load::calc_delta_fair(se.slice.get(), se);
            se.deadline.set(se.vruntime.get().wrapping_add(vslice));
            return;
        });
        update_deadline(cfs_rq, se);
    }
}

/// yield_to_task_fair(): the yield_to_task method: curr yields, and `p` becomes the buddy. False if `p` is not queued.
pub fn yield_to_task_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>) -> bool {
    let se = &p.se;

    if !se.on_rq.get() || se.sched_delayed.get() {
        return false;
    }

    set_next_buddy(&crate::sched::task_rq(rq.machine, p).cfs, se);

    yield_task_fair(rq);

    true
}
