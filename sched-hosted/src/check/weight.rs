// SPDX-License-Identifier: GPL-2.0-only
//! I-WGT: a weight is that of the task's parameters, and never small enough to divide by nothing.

use super::{Limits, Report, Task};
use crate::ops::driver::Driver;
use sched_core::fair::load::{
    MAX_SHARES, MIN_SHARES, SCHED_PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO, scale_load,
};
use sched_core::sched::{CgroupMode, MAX_RT_PRIO, Rq, task_has_idle_policy, tg_cfs_rq, tg_se};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// `load` is the weight of nice value or policy. The flat weight of a task that is queued is the product of the shares
/// on its path, which at the root is `load` itself; of one that is not it is what it was when it left. In a group it is
/// what the product was at the task's last enqueue, pick or tick: within bounds then, and so now.
#[inline(always)]
pub(super) fn is_that_of_its_parameters<'a, H: Hooks>(
    task: &Task<'a, H>,
    limits: &Limits,
    report: &mut Report<'_>,
) {
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
        in_a_group(task, limits, report);
    }
}

/// The flat weight of a queued task that is not just its nice weight: no factor but the share of the topmost group is
/// above 1, and each step ends at MIN_SHARES at least.
#[cold]
fn in_a_group<'a, H: Hooks>(task: &Task<'a, H>, limits: &Limits, report: &mut Report<'_>) {
    let se = &task.p.se;
    let (h_load, load) = (se.h_load.weight.get(), se.load.weight.get());
    if se.parent.get().is_none() {
        let what =
            format!("h_load is {h_load}, but the share of a queued task at the root is {load}");
        return report.task("I-WGT", task.name, "h_load", what);
    }
    // The group's shares may have been lowered since.
    let most = largest_share(scale_load(MAX_SHARES), limits);
    if h_load < MIN_SHARES || h_load > most {
        let what = format!("h_load is {h_load}; a task in a group has from {MIN_SHARES} to {most}");
        report.task("I-WGT", task.name, "h_load", what);
    }
}

/// What a group with `shares` (scaled) can get on one CPU at most, in the mode.
fn largest_share(shares: u64, limits: &Limits) -> u64 {
    match limits.cgroup_mode {
        CgroupMode::Up | CgroupMode::Smp => shares,
        CgroupMode::Concur => shares * limits.cpus,
        CgroupMode::Max => scale_load(u64::from(SCHED_PRIO_TO_WEIGHT[0])),
        // By an average of the tasks that want to run, which has no bound.
        CgroupMode::Tasks => u64::MAX,
    }
}

/// The share of each group that has anything queued on the CPU of `rq`, within what its mode allows. An empty group
/// keeps the share that it had.
pub(super) fn of_groups<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    limits: &Limits,
    report: &mut Report<'_>,
) {
    for (name, tg) in driver.task_groups() {
        let Some(se) = tg_se(tg, rq.cpu) else { continue };
        let (load, shares) = (se.load.weight.get(), tg.shares.load(Ordering::Relaxed));
        let most = match tg_cfs_rq(tg, rq.cpu).load.weight.get() {
            0 => u64::MAX,
            _ => largest_share(shares, limits),
        };
        if load < MIN_SHARES || load > most {
            let what = format!(
                "se.load is {load}; in mode {:?} a group with shares {shares} has from {MIN_SHARES} to {most}",
                limits.cgroup_mode
            );
            report.level("I-WGT", rq.cpu, name, "se.load", what);
        }
    }
}
