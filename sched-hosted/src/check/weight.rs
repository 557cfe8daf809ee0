// SPDX-License-Identifier: GPL-2.0-only
//! I-WGT: a weight is that of the task's parameters, and never small enough to divide by nothing.

use super::{Report, Task};
use sched_core::fair::load::{MIN_SHARES, SCHED_PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO, scale_load};
use sched_core::sched::{MAX_RT_PRIO, task_has_idle_policy};
use sched_core::trace::Hooks;

/// `load` is the weight of nice value or policy. The flat weight of a task that is queued is the product of the shares
/// on its path, which at the root is `load` itself; of one that is not it is what it was when it left.
#[inline(always)]
pub(super) fn is_that_of_its_parameters<'a, H: Hooks>(task: &Task<'a, H>, report: &mut Report<'_>) {
    let (p, se) = (task.p, &task.p.se);
    let load = se.load.weight.get();
    let expected = if task_has_idle_policy(p) {
        Some(scale_load(WEIGHT_IDLEPRIO))
    } else {
        let prio = usize::try_from(p.static_prio.get() - MAX_RT_PRIO).unwrap_or(usize::MAX);
        SCHED_PRIO_TO_WEIGHT.get(prio).map(|&weight| scale_load(u64::from(weight)))
    };
    if expected != Some(load) {
        let ought =
            expected.map_or("that of no nice value".to_string(), |weight| weight.to_string());
        let what = format!(
            "load is {load}, but the weight of policy {:?} and static_prio {} is {ought}",
            p.policy.get(),
            p.static_prio.get()
        );
        report.task("I-WGT", task.name, "load", what);
    }
    if p.prio.get() != p.static_prio.get() || p.normal_prio.get() != p.static_prio.get() {
        let what = format!(
            "prio is {} and normal_prio {}, but static_prio is {}",
            p.prio.get(),
            p.normal_prio.get(),
            p.static_prio.get()
        );
        report.task("I-WGT", task.name, "", what);
    }
    let h_load = se.h_load.weight.get();
    if se.on_rq.get() && h_load != load.max(MIN_SHARES) {
        let what =
            format!("h_load is {h_load}, but the share of a queued task at the root is {load}");
        report.task("I-WGT", task.name, "h_load", what);
    }
}
