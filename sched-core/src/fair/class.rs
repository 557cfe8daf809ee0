// SPDX-License-Identifier: GPL-2.0-only
//! What remains of the class: parameters, priority changes, initialisation.

use crate::core::{resched_curr, wakeup_preempt};
use crate::museum;
use crate::sched::{
    CfsRq, Machine, NSEC_PER_MSEC, Rq, TaskStruct, WakeFlags, nice_to_prio, task_current_donor,
    task_on_rq_queued,
};
use crate::trace::Hooks;

/// The part of struct sched_attr that concerns the fair class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedAttr {
    /// The policy.
    pub sched_policy: crate::sched::Policy,
    /// -20 to 19.
    pub sched_nice: i32,
    /// The custom slice, ns; 0 for the default. Limited to 0.1 to 100 ms.
    pub sched_runtime: u64,
}

/// __setparam_fair(): nice and slice of a task that is not queued now.
pub fn __setparam_fair<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &TaskStruct<'a, H>,
    attr: &SchedAttr,
) {
    let se = &p.se;

    p.static_prio.set(nice_to_prio(attr.sched_nice));
    if attr.sched_runtime != 0 {
        se.custom_slice.set(true);
        se.slice.set(attr.sched_runtime.clamp(NSEC_PER_MSEC / 10, NSEC_PER_MSEC * 100));
    } else {
        se.custom_slice.set(false);
        museum!(machine, L10B => { return });
        se.slice.set(u64::from(machine.sysctl_sched_base_slice.get()));
    }
}

/// prio_changed_fair(): the prio_changed method, after a change within the class.
pub fn prio_changed_fair<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, oldprio: i32) {
    if !task_on_rq_queued(p) {
        return;
    }

    if p.prio.get() == oldprio {
        return;
    }

    if rq.cfs.h_nr_queued.get() == 1 {
        return;
    }

    // The running task became less important, or another one may be more important than it now.
    if task_current_donor(rq, p) {
        if p.prio.get() > oldprio {
            resched_curr(rq);
        }
    } else {
        wakeup_preempt(rq, p, WakeFlags::empty());
    }
}

/// init_cfs_rq(): zero_vruntime starts short of the wrap, so that wrapping is met early.
pub fn init_cfs_rq<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    cfs_rq.zero_vruntime.set((1u64 << 20).wrapping_neg());
}
