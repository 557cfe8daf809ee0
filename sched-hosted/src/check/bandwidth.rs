// SPDX-License-Identifier: GPL-2.0-only
//! I-BW: who is throttled, who is parked, and what runtime there can be.

use super::levels::{Levels, group_of};
use super::{Report, name_of};
use crate::ops::GroupName;
use crate::ops::driver::Driver;
use sched_core::fair::bandwidth::{CfsBandwidth, RUNTIME_INF};
use sched_core::sched::{self, CfsRq, NSEC_PER_MSEC, Rq, TaskGroup, tg_cfs_rq};
use sched_core::trace::Hooks;

/// What a queue holds at most of what it took from its group's pool, ns: sched_cfs_bandwidth_slice().
const SLICE: i64 = 5 * NSEC_PER_MSEC as i64;

/// The groups' queues on one CPU; nothing is walked but the groups.
pub(super) fn of_queues<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    levels: &Levels,
    report: &mut Report<'_>,
) {
    for (name, tg) in driver.task_groups() {
        let cfs_rq = tg_cfs_rq(tg, rq.cpu);
        let mut wrong = |field: &'static str, what: String| {
            report.level("I-BW", rq.cpu, name, field, what);
        };
        counts(rq, tg, cfs_rq, levels, &mut wrong);
        runtime(cfs_rq, &mut wrong);
    }
    if !rq.cfsb_csd_list.list_empty() {
        let what =
            "a queue waits to be unthrottled, which an interrupt would have done".to_string();
        report.rq("I-BW", rq.cpu, "", what);
    }
}

/// Throttled levels, parked tasks, the PELT clock.
fn counts<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    tg: &'a TaskGroup<'a, H>,
    cfs_rq: &CfsRq<'a, H>,
    levels: &Levels,
    wrong: &mut dyn FnMut(&'static str, String),
) {
    let path = std::iter::successors(Some(tg), |tg| tg.parent.get());
    let throttled = path.filter(|tg| tg_cfs_rq(tg, rq.cpu).throttled.get()).count();
    let count = cfs_rq.throttle_count.get();
    if usize::try_from(count) != Ok(throttled) {
        let what = format!(
            "throttle_count is {count}, but {throttled} levels here and above are throttled"
        );
        wrong("throttle_count", what);
    }
    let level = levels.of(tg, rq.cpu);
    if throttled == 0 && level.parked != 0 {
        let what = format!("{} tasks are parked, but no level is throttled", level.parked);
        wrong("throttled", what);
    }
    let stands = throttled != 0 && level.nr_queued == 0;
    if cfs_rq.pelt_clock_throttled.get() != stands {
        let does = if stands { "runs" } else { "stands" };
        let what = format!(
            "the PELT clock {does}, but {throttled} levels are throttled and {} are queued",
            level.nr_queued
        );
        wrong("", what);
    }
}

/// What is left, and what that means.
fn runtime<H: Hooks>(cfs_rq: &CfsRq<'_, H>, wrong: &mut dyn FnMut(&'static str, String)) {
    let (left, throttled) = (cfs_rq.runtime_remaining.get(), cfs_rq.throttled.get());
    if !cfs_rq.runtime_enabled.get() {
        if throttled {
            wrong("throttled", "the queue is throttled without a quota".to_string());
        }
        return;
    }
    if throttled != (left <= 0) {
        let not = if throttled { "" } else { "not " };
        wrong("throttled", format!("runtime_remaining is {left}, but the queue is {not}throttled"));
    }
    if left > SLICE {
        let what =
            format!("runtime_remaining is {left}, more than a slice of {SLICE} from the pool");
        wrong("runtime_remaining", what);
    }
}

/// The groups' pools and timers.
pub(super) fn of_pools<'a, H: Hooks>(driver: &Driver<'a, H>, report: &mut Report<'_>) {
    for (name, tg) in driver.task_groups() {
        let cfs_b = &tg.cfs_bandwidth;
        let queues = || driver.machine().runqueues().iter().map(|rq| tg_cfs_rq(tg, rq.cpu));
        let mut wrong = |field, what| report.group("I-BW", name, field, what);
        timers(cfs_b, queues().any(|cfs_rq| cfs_rq.throttled.get()), &mut wrong);
        if cfs_b.quota.get() == RUNTIME_INF {
            continue;
        }
        let most = u128::from(cfs_b.quota.get()) + u128::from(cfs_b.burst.get());
        if u128::from(cfs_b.runtime_snap.get()) > most {
            let what = format!(
                "the pool was filled up to {} ns, but quota and burst are {most}",
                cfs_b.runtime_snap.get()
            );
            wrong("", what);
        }
        // Between two fills runtime moves between the pool and the queues, and is used, but never made.
        let held: u128 = queues().map(|q| q.runtime_remaining.get().max(0) as u128).sum();
        let most = most + queues().count() as u128 * SLICE as u128;
        let there = u128::from(cfs_b.runtime.get()) + held;
        if there > most {
            let what =
                format!("pool and queues hold {there} ns, but at most {most} were given out");
            wrong("runtime", what);
        }
    }
}

/// A timer that is counted on is armed; while a queue waits the period timer is.
fn timers<H: Hooks>(
    cfs_b: &CfsBandwidth<'_, H>,
    throttled: bool,
    wrong: &mut dyn FnMut(&'static str, String),
) {
    let (active, slack) = (cfs_b.period_active.get(), cfs_b.slack_started.get());
    if throttled && !active {
        wrong("", "a queue is throttled, but the period timer does not run".to_string());
    }
    if active != cfs_b.period_timer.armed.get().is_some() {
        wrong("", format!("period_active is {active}, but the period timer is armed otherwise"));
    }
    if slack != cfs_b.slack_timer.armed.get().is_some() {
        wrong("", format!("slack_started is {slack}, but the slack timer is armed otherwise"));
    }
}

/// The lists: each throttled queue waits in its group's once, each parked task in its queue's limbo once.
pub(super) fn lists<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    levels: &Levels,
    report: &mut Report<'_>,
) {
    let cpus = driver.machine().num_online_cpus();
    let mut parked = vec![false; crate::ops::Class::names(driver).nr_tasks()];
    for (name, tg) in driver.task_groups() {
        throttled_once(tg, name, cpus, report);
        for cpu in 0..cpus {
            let queue = (name, tg_cfs_rq(tg, cpu), cpu);
            let found = limbo(driver, queue, &mut parked, report);
            let counted = levels.of(tg, cpu).parked;
            if found != counted {
                let what = format!("{found} tasks are in limbo, but {counted} are parked here");
                report.level("I-BW", cpu, name, "", what);
            }
        }
    }
}

fn throttled_once<'a, H: Hooks>(
    tg: &'a TaskGroup<'a, H>,
    name: GroupName,
    cpus: u32,
    report: &mut Report<'_>,
) {
    let mut waits = vec![0u32; cpus as usize];
    tg.cfs_bandwidth.throttled_cfs_rq.for_each(|cfs_rq| {
        let cpu = sched::rq_of(cfs_rq).cpu;
        waits[cpu as usize] += 1;
        if !core::ptr::eq(cfs_rq, tg_cfs_rq(tg, cpu)) {
            let what = "the list of queues that wait has another group's".to_string();
            report.level("I-BW", cpu, name, "throttled", what);
        }
    });
    for cpu in 0..cpus {
        let throttled = tg_cfs_rq(tg, cpu).throttled.get();
        let times = waits[cpu as usize];
        if times != u32::from(throttled) {
            let not = if throttled { "" } else { "not " };
            let what = format!("the queue is {not}throttled, but waits for runtime {times} times");
            report.level("I-BW", cpu, name, "throttled", what);
        }
    }
}

/// How many are in the limbo list of a queue.
fn limbo<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    (group, cfs_rq, cpu): (GroupName, &CfsRq<'a, H>, u32),
    parked: &mut [bool],
    report: &mut Report<'_>,
) -> u32 {
    let mut found = 0;
    cfs_rq.throttled_limbo_list.for_each(|p| {
        found += 1;
        let name = name_of(&p.se);
        let live = driver.task_struct(name).is_some_and(|live| core::ptr::eq(live, p));
        let why = if !live {
            "is not alive"
        } else if core::mem::replace(&mut parked[name.0 as usize], true) {
            "is there twice"
        } else if !p.throttled.get() {
            "is not parked"
        } else if p.se.on_rq.get() {
            "is queued"
        } else if sched::task_cpu(p) != cpu || group_of(driver, p).id.get() != group.0 {
            "belongs to another queue"
        } else {
            return;
        };
        let path = report.names.group_text(group);
        let what = format!("it is in the limbo list of {path} on CPU {cpu}, but {why}");
        report.task("I-BW", name, "", what);
    });
    found
}
