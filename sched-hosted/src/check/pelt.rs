// SPDX-License-Identifier: GPL-2.0-only
//! I-PELT: no average without its sum, nothing above what a whole CPU comes to, and what groups and queues add up is
//! the sum of its parts, where v7.3 keeps that exactly.

use super::{Report, Task};
use crate::ops::class::Object;
use crate::ops::driver::Driver;
use sched_core::features::SchedFeat;
use sched_core::pelt::{
    LOAD_AVG_MAX, PELT_MIN_DIVIDER, SCHED_CAPACITY_SCALE, SchedAvg, UTIL_AVG_UNCHANGED, se_weight,
};
use sched_core::sched::{self, CfsRq, tg_cfs_rq, tg_se};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// From this utilisation on v7.3's util_sum, of 32 bits, may wrap: some 88 tasks' that never slept, on one CPU.
const UTIL_OF_WIDE_SUM: u64 = (1 << 32) / LOAD_AVG_MAX as u64;

/// What `wrong(field, what)` is told.
type Wrong<'w> = &'w mut dyn FnMut(&'static str, String);

/// A task's averages; those of one that is attached to no queue are on their way to another.
pub(super) fn of_task<'a, H: Hooks>(task: &Task<'a, H>, report: &mut Report<'_>) {
    let (se, name) = (&task.p.se, task.name);
    let mut wrong = |field, what| report.task("I-PELT", name, field, what);
    if se.avg.last_update_time() == 0 {
        return;
    }
    of_entity(&se.avg, se_weight(se), &mut wrong);

    let whole = SCHED_CAPACITY_SCALE;
    for (field, avg, most) in [
        ("load_avg", se.avg.load_avg.get(), se_weight(se)),
        ("runnable_avg", se.avg.runnable_avg.get(), whole),
        ("util_avg", se.avg.util_avg.get(), whole),
        ("load_sum", se.avg.load_sum.get(), u64::from(LOAD_AVG_MAX)),
    ] {
        if avg > most {
            wrong(field, format!("{field} is {avg}; one that always ran has {most}"));
        }
    }
}

/// What holds of every entity, group or task: `weight` is unscaled.
fn of_entity(avg: &SchedAvg, weight: u64, wrong: Wrong<'_>) {
    // An attach rounds the sum down, so one unit of it is missing at most.
    let sum = u128::from(weight) * (u128::from(avg.load_sum.get()) + 1);
    of_average(avg, sum, wrong);
}

/// An average is its sum by a divider that is at least PELT_MIN_DIVIDER, or was, and the sum has only grown since.
/// `load_sum` is the weighted one.
fn of_average(avg: &SchedAvg, load_sum: u128, wrong: Wrong<'_>) {
    let util = avg.util_avg.get();
    for (field, value, sum) in [
        ("load_avg", avg.load_avg.get(), load_sum),
        ("runnable_avg", avg.runnable_avg.get(), u128::from(avg.runnable_sum.get())),
        ("util_avg", util, u128::from(avg.util_sum.get())),
    ] {
        let least = u128::from(value) * u128::from(PELT_MIN_DIVIDER);
        let wraps = field == "util_avg" && util >= UTIL_OF_WIDE_SUM;
        if sum < least && !wraps {
            wrong(field, format!("{field} is {value}, but its sum is {sum}, less than {least}"));
        }
    }
    let contrib = avg.period_contrib.get();
    if contrib >= 1024 {
        wrong("period_contrib", format!("period_contrib is {contrib}; a period has 1024"));
    }
}

/// The queues, the groups' entities, and the groups' sums.
pub(super) fn of_groups<'a, H: Hooks>(driver: &Driver<'a, H>, report: &mut Report<'_>) {
    for (name, tg) in driver.task_groups() {
        let (mut load, mut runnable) = (0i128, 0i128);
        for rq in driver.machine().runqueues() {
            let cfs_rq = tg_cfs_rq(tg, rq.cpu);
            load += i128::from(cfs_rq.tg_load_avg_contrib.get());
            runnable += i128::from(cfs_rq.tg_runnable_avg_contrib.get());
            let mut wrong = |field, what| report.level("I-PELT", rq.cpu, name, field, what);
            of_average(&cfs_rq.avg, u128::from(cfs_rq.avg.load_sum.get()), &mut wrong);
            removed(cfs_rq, &mut wrong);
            if let Some(se) = tg_se(tg, rq.cpu) {
                let object = Object::Gse(rq.cpu, name);
                let mut wrong = |field, what| report.object("I-PELT", object, field, what);
                of_entity(&se.avg, se_weight(se), &mut wrong);
            }
        }
        for (field, is, sum) in [
            ("tg.load_avg", tg.load_avg.load(Ordering::Relaxed), load),
            ("tg.runnable_avg", tg.runnable_avg.load(Ordering::Relaxed), runnable),
        ] {
            if i128::from(is) != sum {
                let what = format!("{field} is {is}, but the CPUs contributed {sum}");
                report.group("I-PELT", name, field, what);
            }
        }
    }
}

/// Nothing was removed by nobody.
fn removed<H: Hooks>(cfs_rq: &CfsRq<'_, H>, wrong: Wrong<'_>) {
    let removed = &cfs_rq.removed;
    let some = removed.load_avg.get() | removed.util_avg.get() | removed.runnable_avg.get();
    if removed.nr.load(Ordering::Relaxed) == 0 && some != 0 {
        wrong("removed.nr", "there are removed averages of nobody".to_string());
    }
}

/// The root queue's estimate is the sum of those of its awake tasks.
pub(super) fn estimates<'a, H: Hooks>(driver: &Driver<'a, H>, report: &mut Report<'_>) {
    let mut sums = vec![0u64; driver.machine().num_online_cpus() as usize];
    if driver.machine().sched_feat(SchedFeat::UTIL_EST) {
        for (_, p) in driver.task_structs() {
            if p.se.on_rq.get() && !p.se.sched_delayed.get() {
                let estimate = p.se.avg.util_est.get() & !UTIL_AVG_UNCHANGED;
                sums[sched::task_cpu(p) as usize] += u64::from(estimate);
            }
        }
    }
    for (rq, sum) in driver.machine().runqueues().iter().zip(sums) {
        let is = rq.cfs.avg.util_est.get();
        if u64::from(is) != sum {
            let what = format!("util_est is {is}, but those of the tasks awake add up to {sum}");
            report.cfs("I-PELT", rq.cpu, "util_est", what);
        }
    }
}
