// SPDX-License-Identifier: GPL-2.0-only
//! The pick: of those who are owed service, the one with the earliest virtual deadline; and how long it is left alone.

use super::avg_vruntime::{
    avg_vruntime, cfs_rq_min_slice, curr_on_rq, entity_eligible, ineligible_vruntime,
    vruntime_eligible,
};
use super::dequeue::__dequeue_task;
use super::load::calc_delta_fair;
use super::timeline::{__pick_first_entity, entity_before};
use super::update_curr::update_curr_eevdf;
use crate::bug::bug;
use crate::features::SchedFeat;
use crate::patches::Patches;
use crate::sched::{
    CfsRq, QueueFlags, Rq, SchedEntity, TaskStruct, is, min_vruntime, rq_of, task_of,
    vruntime_before,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// clear_buddies(): `se` is not preferred any longer.
#[inline(always)]
pub fn clear_buddies<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, se: &SchedEntity<'a, H>) {
    if is(cfs_rq.next.get(), se) {
        cfs_rq.next.set(None);
    }
}

/// set_protect_slice(): how far `se`, just picked, may run before another is looked for: its own request, or less if
/// someone asked for a shorter one. With PREEMPT_SHORT that is the point where it stops being eligible.
pub fn set_protect_slice<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let machine = rq_of(cfs_rq).machine;
    let mut slice = u64::from(machine.normalized_sysctl_sched_base_slice.get());
    let mut vprot = se.deadline.get();

    museum!(machine, S04 => {
        if !machine.sched_feat(SchedFeat::RUN_TO_PARITY) {
            se.vprot.set(se.vruntime.get());
            return;
        }
    });
    if machine.sched_feat(SchedFeat::RUN_TO_PARITY) {
        slice = cfs_rq_min_slice(cfs_rq);
    }

    slice = slice.min(se.slice.get());

    if slice != se.slice.get() {
        let shorter = if machine.sched_feat(SchedFeat::PREEMPT_SHORT) {
            ineligible_vruntime(cfs_rq)
        } else {
            se.vruntime.get().wrapping_add(calc_delta_fair(slice, se))
        };
        vprot = min_vruntime(vprot, shorter);
        museum!(machine, S16 => { vprot = shorter });
    }

    museum!(machine, S01 => { vprot = se.vruntime.get() });
    se.vprot.set(vprot);
}

/// update_protect_slice(): someone joined: if that is the shortest request now, the protection ends earlier.
pub fn update_protect_slice<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let slice = cfs_rq_min_slice(cfs_rq);
    #[allow(unused_mut, reason = "museum")]
    let mut vruntime = min_vruntime(se.vruntime.get(), avg_vruntime(cfs_rq));

    museum!(rq_of(cfs_rq).machine, S13 => { vruntime = se.vruntime.get() });
    museum!(rq_of(cfs_rq).machine, S16B => {
        se.vprot.set(vruntime.wrapping_add(calc_delta_fair(slice, se)));
        return;
    });
    se.vprot.set(min_vruntime(se.vprot.get(), vruntime.wrapping_add(calc_delta_fair(slice, se))));
}

/// protect_slice(): whether `se` is still protected.
#[inline(always)]
pub fn protect_slice<H: Hooks>(se: &SchedEntity<'_, H>) -> bool {
    vruntime_before(se.vruntime.get(), se.vprot.get())
}

/// cancel_protect_slice().
#[inline(always)]
pub fn cancel_protect_slice<H: Hooks>(se: &SchedEntity<'_, H>) {
    if protect_slice(se) {
        se.vprot.set(se.vruntime.get());
    }
}

/// Who was nominated: cfs_rq->next.
#[inline(always)]
fn buddy<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    museum!(rq_of(cfs_rq).machine, D07 => {
        if !rq_of(cfs_rq).machine.sched_feat(SchedFeat::NEXT_BUDDY) { return None }
    });
    cfs_rq.next.get()
}

/// pick_eevdf(): the eligible entity with the earliest deadline, curr included; with `protect`, curr or the buddy
/// before that.
///
/// The tree is ordered by deadline and is a heap by vruntime, so that a subtree without anyone eligible is seen at its
/// root. None only if the sums are corrupt, since someone is always at or below the average.
pub fn pick_eevdf<'a, H: Hooks>(
    cfs_rq: &CfsRq<'a, H>,
    protect: bool,
) -> Option<&'a SchedEntity<'a, H>> {
    let rq = rq_of(cfs_rq);
    let mut node = cfs_rq.tasks_timeline.root();
    let se = __pick_first_entity(cfs_rq);
    let mut curr = curr_on_rq(cfs_rq);
    let mut best = None;

    rq.count(Counter::PickEevdf);

    museum!(rq.machine, C02B => { if cfs_rq.nr_queued.get() == 1 { return curr.or(se) } });
    // Alone, it need not be eligible.
    if cfs_rq.h_nr_queued.get() == 1 {
        return curr.or(se);
    }

    // The buddy costs the others latency, not their share.
    if protect
        && rq.machine.sched_feat(SchedFeat::PICK_BUDDY)
        && let Some(next) = buddy(cfs_rq)
        && entity_eligible(cfs_rq, next)
    {
        WARN_ON_ONCE!(rq.hooks(), next.sched_delayed.get());
        rq.count(Counter::PickBuddy);
        return Some(next);
    }

    if curr.is_some_and(|curr| !entity_eligible(cfs_rq, curr)) {
        curr = None;
    }

    if protect && curr.is_some_and(|curr| protect_slice(curr)) {
        rq.count(Counter::PickProtected);
        return curr;
    }

    if let Some(se) = se.filter(|se| entity_eligible(cfs_rq, se)) {
        best = Some(se);
    } else {
        rq.count(Counter::PickSearch);
        while let Some(se) = node {
            // Whoever is eligible on the left has an earlier deadline than all that is here and on the right.
            if let Some(left) = se.run_node.left()
                && vruntime_eligible(cfs_rq, left.min_vruntime.get())
            {
                node = Some(left);
                continue;
            }

            if entity_eligible(cfs_rq, se) {
                best = Some(se);
                break;
            }

            node = se.run_node.right();
        }
    }

    match (best, curr) {
        (None, curr) => curr,
        (Some(best), Some(curr)) if entity_before(curr, best) => Some(curr),
        (best, _) => best,
    }
}

/// pick_next_entity(): the pick; if it falls on a delayed task, that one's dequeue is completed instead, and nobody
/// was picked. The task may be gone then.
///
/// `flags` is DEQUEUE_CHARGED if the caller has just charged curr (patch skip-dequeue-charge), else empty.
pub fn pick_next_entity<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    protect: bool,
    flags: QueueFlags,
) -> Option<&'a SchedEntity<'a, H>> {
    let Some(se) = pick_eevdf(&rq.cfs, protect) else {
        bug("pick_eevdf() found nobody eligible: V, a weight or a lag is corrupt")
    };
    if se.sched_delayed.get() {
        rq.count(Counter::DelayedPick);
        rq.hooks().loop_guard();
        __dequeue_task(
            rq,
            task_of(se),
            QueueFlags::DEQUEUE_SLEEP | QueueFlags::DEQUEUE_DELAYED | flags,
        );
        return None;
    }
    Some(se)
}

/// pick_task_fair(): the pick_task method. None: nothing to run (there is no balancing here).
pub fn pick_task_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>) -> Option<&'a TaskStruct<'a, H>> {
    let cfs_rq = &rq.cfs;

    rq.count(Counter::PickTaskFair);

    loop {
        if cfs_rq.h_nr_queued.get() == 0 {
            return None;
        }

        museum!(rq.machine, K10 => { if cfs_rq.h_nr_runnable.get() == 0 { return None } });
        // put_prev_entity() may be yet to come.
        let mut flags = QueueFlags::empty();
        if curr_on_rq(cfs_rq).is_some() {
            update_curr_eevdf(cfs_rq, Site::PickTaskFair);
            if rq.machine.patch(Patches::SKIP_DEQUEUE_CHARGE) {
                flags = QueueFlags::DEQUEUE_CHARGED;
            }
        }

        if let Some(se) = pick_next_entity(rq, true, flags) {
            return Some(task_of(se));
        }
        museum!(rq.machine, K10B => { return None });
    }
}
