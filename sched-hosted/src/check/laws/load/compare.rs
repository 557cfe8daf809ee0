// SPDX-License-Identifier: GPL-2.0-only
//! The class against what it should be, field by field, and the sentence that says what is wrong.

use super::model::{Cpu, Entity, Group, Model, Queue};
use super::pelt::{Avg, Note};
use crate::check::Report;
use crate::ops::class::Object;
use crate::ops::driver::Driver;
use crate::ops::{GroupName, TaskName};
use sched_core::pelt::SchedAvg;
use sched_core::sched::{
    self, CfsRq, Rq, RqClockFlags, SchedEntity, TaskGroup, TaskStruct, tg_cfs_rq, tg_se,
};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// A field: the invariant that it belongs to, its name where digests have it, and what it is in words.
type Field = (&'static str, &'static str, &'static str);

/// In so many operations everything is compared once; what an operation touches at once.
const ROUND: u64 = 8;
/// So many operations of a run are compared in whole, so that a short program tells at once.
const WHOLE: u64 = 100;

const AVG: [Field; 9] = [
    ("I-PELT", "last_update_time", "last_update_time"),
    ("I-PELT", "load_sum", "load_sum"),
    ("I-PELT", "runnable_sum", "runnable_sum"),
    ("I-PELT", "util_sum", "util_sum"),
    ("I-PELT", "period_contrib", "period_contrib"),
    ("I-PELT", "load_avg", "load_avg"),
    ("I-PELT", "runnable_avg", "runnable_avg"),
    ("I-PELT", "util_avg", "util_avg"),
    ("I-UEST", "util_est", "util_est"),
];
const TASK: [Field; 7] = [
    ("I-WGT", "load", "load"),
    ("I-WGT", "h_load", "the flat weight"),
    ("I-CLK", "exec_start", "exec_start"),
    ("I-STATE", "se.on_rq", "se.on_rq"),
    ("I-STATE", "sched_delayed", "sched_delayed"),
    ("I-BW", "", "throttled (it is parked)"),
    ("I-BW", "", "sched_throttle_work (it is to park itself)"),
];
const GSE: [Field; 4] = [
    ("I-WGT", "se.load", "the group's share"),
    ("I-PELT", "runnable_weight", "runnable_weight"),
    ("I-CLK", "", "exec_start of the group's entity"),
    ("I-CNT", "se.on_rq", "se.on_rq"),
];
const QUEUE: [Field; 27] = [
    ("I-CNT", "load", "load"),
    ("I-CNT", "nr_queued", "nr_queued"),
    ("I-CNT", "h_nr_queued", "h_nr_queued"),
    ("I-CNT", "h_nr_runnable", "h_nr_runnable"),
    ("I-CNT", "h_nr_idle", "h_nr_idle"),
    ("I-PELT", "removed.nr", "removed.nr"),
    ("I-PELT", "removed.load_avg", "removed.load_avg"),
    ("I-PELT", "removed.util_avg", "removed.util_avg"),
    ("I-PELT", "removed.runnable_avg", "removed.runnable_avg"),
    ("I-PELT", "tg_load_avg_contrib", "tg_load_avg_contrib"),
    ("I-PELT", "tg_runnable_avg_contrib", "tg_runnable_avg_contrib"),
    ("I-PELT", "", "last_update_tg_load_avg"),
    ("I-PELT", "propagate", "propagate"),
    ("I-PELT", "prop_runnable_sum", "prop_runnable_sum"),
    ("I-LEAF", "on_list", "on_list"),
    ("I-BW", "runtime_remaining", "runtime_remaining"),
    ("I-BW", "throttled", "throttled"),
    ("I-BW", "throttle_count", "throttle_count"),
    ("I-BW", "", "runtime_enabled"),
    ("I-BW", "", "throttled_clock"),
    ("I-BW", "", "throttled_clock_self"),
    ("I-BW", "", "throttled_clock_self_time"),
    ("I-CLK", "", "pelt_clock_throttled"),
    ("I-CLK", "", "throttled_clock_pelt"),
    ("I-CLK", "", "throttled_clock_pelt_time"),
    ("I-CLK", "", "throttled_pelt_idle"),
    ("I-CNT", "idle", "idle"),
];
const GROUP: [Field; 15] = [
    ("I-PELT", "tg.load_avg", "tg.load_avg"),
    ("I-PELT", "tg.runnable_avg", "tg.runnable_avg"),
    ("I-WGT", "", "shares"),
    ("I-BW", "", "the pool"),
    ("I-BW", "", "the pool after its last fill"),
    ("I-BW", "", "the quota"),
    ("I-BW", "", "the period"),
    ("I-BW", "", "period_active"),
    ("I-BW", "", "slack_started"),
    ("I-BW", "", "the end of the period"),
    ("I-BW", "", "the slack timer's time"),
    ("I-BW", "", "cfs_b->idle"),
    ("I-BW", "", "throttled_time"),
    ("I-BW", "", "nr_periods"),
    ("I-BW", "", "nr_throttled"),
];
const CPU: [Field; 7] = [
    ("I-CLK", "clock", "clock"),
    ("I-CLK", "clock_task", "clock_task"),
    ("I-CLK", "clock_pelt", "clock_pelt"),
    ("I-CLK", "lost_idle_time", "lost_idle_time"),
    ("I-CLK", "", "clock_idle"),
    ("I-CLK", "", "clock_pelt_idle"),
    ("I-CLK", "", "RQCF_REQ_SKIP"),
];

fn avg_of(avg: &SchedAvg) -> [u64; AVG.len()] {
    [
        avg.last_update_time(),
        avg.load_sum.get(),
        avg.runnable_sum.get(),
        avg.util_sum.get().into(),
        avg.period_contrib.get().into(),
        avg.load_avg.get(),
        avg.runnable_avg.get(),
        avg.util_avg.get(),
        avg.util_est.get().into(),
    ]
}

fn avg_wanted(avg: &Avg) -> [u64; AVG.len()] {
    [
        avg.last_update_time,
        avg.load_sum,
        avg.runnable_sum,
        avg.util_sum.into(),
        avg.period_contrib.into(),
        avg.load_avg,
        avg.runnable_avg,
        avg.util_avg,
        avg.util_est.into(),
    ]
}

fn task_of<H: Hooks>(p: &TaskStruct<'_, H>) -> [u64; TASK.len()] {
    let se = &p.se;
    [
        se.load.weight.get(),
        se.h_load.weight.get(),
        se.exec_start.get(),
        se.on_rq.get().into(),
        se.sched_delayed.get().into(),
        p.throttled.get().into(),
        p.sched_throttle_work.load(Ordering::Relaxed).into(),
    ]
}

fn task_wanted(e: &Entity) -> [u64; TASK.len()] {
    [
        e.weight,
        e.h_load,
        e.exec_start,
        e.on_rq.into(),
        e.delayed.into(),
        e.parked.into(),
        e.work.into(),
    ]
}

fn gse_of<H: Hooks>(se: &SchedEntity<'_, H>) -> [u64; GSE.len()] {
    let weight = se.load.weight.get();
    [weight, se.runnable_weight.get(), se.exec_start.get(), se.on_rq.get().into()]
}

fn gse_wanted(e: &Entity) -> [u64; GSE.len()] {
    [e.weight, e.runnable_weight, e.exec_start, e.on_rq.into()]
}

fn queue_of<H: Hooks>(q: &CfsRq<'_, H>) -> [u64; QUEUE.len()] {
    [
        q.load.weight.get(),
        q.nr_queued.get().into(),
        q.h_nr_queued.get().into(),
        q.h_nr_runnable.get().into(),
        q.h_nr_idle.get().into(),
        q.removed.nr.load(Ordering::Relaxed).into(),
        q.removed.load_avg.get(),
        q.removed.util_avg.get(),
        q.removed.runnable_avg.get(),
        q.tg_load_avg_contrib.get(),
        q.tg_runnable_avg_contrib.get(),
        q.last_update_tg_load_avg.get(),
        q.propagate.get() as u64,
        q.prop_runnable_sum.get() as u64,
        q.on_list.get().into(),
        q.runtime_remaining.get() as u64,
        q.throttled.get().into(),
        q.throttle_count.get() as u64,
        q.runtime_enabled.get().into(),
        q.throttled_clock.get(),
        q.throttled_clock_self.get(),
        q.throttled_clock_self_time.get(),
        q.pelt_clock_throttled.get().into(),
        q.throttled_clock_pelt.get(),
        q.throttled_clock_pelt_time.get(),
        q.throttled_pelt_idle.load(Ordering::Relaxed),
        u64::from(q.idle.get() > 0),
    ]
}

fn queue_wanted(q: &Queue) -> [u64; QUEUE.len()] {
    [
        q.load,
        q.nr_queued.into(),
        q.h_nr_queued.into(),
        q.h_nr_runnable.into(),
        q.h_nr_idle.into(),
        q.removed.nr.into(),
        q.removed.load,
        q.removed.util,
        q.removed.runnable,
        q.load_contrib,
        q.runnable_contrib,
        q.last_update_tg,
        q.propagate.into(),
        q.prop_runnable_sum as u64,
        q.on_list.into(),
        q.runtime_remaining as u64,
        q.throttled.into(),
        q.throttle_count as u64,
        q.runtime_enabled.into(),
        q.throttled_clock,
        q.throttled_clock_self,
        q.throttled_clock_self_time,
        q.pelt_stands.into(),
        q.throttled_clock_pelt,
        q.throttled_clock_pelt_time,
        q.throttled_pelt_idle,
        q.idle.into(),
    ]
}

fn group_of<H: Hooks>(tg: &TaskGroup<'_, H>) -> [u64; GROUP.len()] {
    let cfs_b = &tg.cfs_bandwidth;
    [
        tg.load_avg.load(Ordering::Relaxed) as u64,
        tg.runnable_avg.load(Ordering::Relaxed) as u64,
        tg.shares.load(Ordering::Relaxed),
        cfs_b.runtime.get(),
        cfs_b.runtime_snap.get(),
        cfs_b.quota.get(),
        cfs_b.period.get(),
        cfs_b.period_active.get().into(),
        cfs_b.slack_started.get().into(),
        cfs_b.period_timer.expires.get(),
        cfs_b.slack_timer.expires.get(),
        cfs_b.idle.get().into(),
        cfs_b.throttled_time.get(),
        cfs_b.nr_periods.get(),
        cfs_b.nr_throttled.get(),
    ]
}

fn group_wanted(tg: &Group) -> [u64; GROUP.len()] {
    [
        tg.load_avg as u64,
        tg.runnable_avg as u64,
        tg.shares,
        tg.runtime,
        tg.runtime_snap,
        tg.quota,
        tg.period,
        tg.period_active.into(),
        tg.slack_started.into(),
        tg.period_timer.expires,
        tg.slack_timer.expires,
        tg.pool_idle.into(),
        tg.throttled_time,
        tg.nr_periods,
        tg.nr_throttled,
    ]
}

fn cpu_of<H: Hooks>(rq: &Rq<'_, H>) -> [u64; CPU.len()] {
    [
        rq.clock.get(),
        rq.clock_task.get(),
        rq.clock_pelt.get(),
        rq.lost_idle_time.get(),
        rq.clock_idle.load(Ordering::Relaxed),
        rq.clock_pelt_idle.load(Ordering::Relaxed),
        rq.clock_update_flags.get().contains(RqClockFlags::RQCF_REQ_SKIP).into(),
    ]
}

fn cpu_wanted(rq: &Cpu) -> [u64; CPU.len()] {
    [
        rq.clock,
        rq.clock_task,
        rq.clock_pelt,
        rq.lost_idle_time,
        rq.clock_idle,
        rq.clock_pelt_idle,
        rq.skip.into(),
    ]
}

impl Model {
    /// What differs is reported. False: nothing.
    pub fn compare<H: Hooks>(&self, driver: &Driver<'_, H>, report: &mut Report<'_>) -> bool {
        let before = report.found.len();
        for rq in driver.machine().runqueues() {
            let cpu = rq.cpu as usize;
            each(&CPU, cpu_of(rq), cpu_wanted(&self.rqs[cpu]), |field, what| {
                report.rq(field.0, rq.cpu, field.1, what);
            });
        }
        for (name, p) in driver.task_structs() {
            self.compare_task(name, p, report);
        }
        for (name, tg) in driver.task_groups() {
            self.compare_group(name, tg, report);
        }
        report.found.len() != before
    }

    /// Whether it is this one's turn.
    fn due(&self, stamp: u64, index: usize) -> bool {
        stamp == self.op || self.op < WHOLE || index as u64 % ROUND == self.op % ROUND
    }

    fn compare_task<H: Hooks>(
        &self,
        name: TaskName,
        p: &TaskStruct<'_, H>,
        report: &mut Report<'_>,
    ) {
        let Some(e) = self.tasks.get(name.0 as usize) else { return };
        if !self.due(e.stamp, name.0 as usize) {
            return;
        }
        each(&AVG, avg_of(&p.se.avg), avg_wanted(&e.avg), |field, what| {
            report.task(field.0, name, field.1, what + &self.story(&e.avg.note, false));
        });
        each(&TASK, task_of(p), task_wanted(e), |field, what| {
            report.task(field.0, name, field.1, what);
        });
    }

    fn compare_group<H: Hooks>(
        &self,
        name: GroupName,
        tg: &TaskGroup<'_, H>,
        report: &mut Report<'_>,
    ) {
        let group = name.0 as usize;
        for cpu in 0..self.cpus {
            let queue = self.queue_of(group, cpu);
            let Some(q) = self.queues.get(queue).filter(|q| self.due(q.stamp, queue)) else {
                continue;
            };
            let cfs_rq = tg_cfs_rq(tg, cpu as u32);
            let at = Object::Cfs(cpu as u32, name);
            each(&AVG, avg_of(&cfs_rq.avg), avg_wanted(&q.avg), |field, what| {
                report.object(field.0, at, field.1, what + &self.story(&q.avg.note, true));
            });
            each(&QUEUE, queue_of(cfs_rq), queue_wanted(q), |field, what| {
                report.object(field.0, at, field.1, what);
            });
        }
        if name == GroupName::ROOT {
            return;
        }
        for cpu in 0..self.cpus {
            let queue = self.queue_of(group, cpu);
            let (Some(e), Some(se)) = (self.gses.get(queue), tg_se(tg, cpu as u32)) else {
                continue;
            };
            if !self.due(e.stamp, queue) {
                continue;
            }
            let at = Object::Gse(cpu as u32, name);
            each(&AVG, avg_of(&se.avg), avg_wanted(&e.avg), |field, what| {
                report.object(field.0, at, field.1, what + &self.story(&e.avg.note, false));
            });
            each(&GSE, gse_of(se), gse_wanted(e), |field, what| match field.1 {
                "runnable_weight" => report.object(field.0, at, field.1, what),
                _ => report.level(field.0, cpu as u32, name, field.1, what),
            });
        }
        let Some(wanted) = self.groups.get(group) else { return };
        each(&GROUP, group_of(tg), group_wanted(wanted), |field, what| {
            report.group(field.0, name, field.1, what);
        });
        self.compare_limbo(name, tg, report);
    }

    /// Who is parked where, in order.
    fn compare_limbo<H: Hooks>(
        &self,
        name: GroupName,
        tg: &TaskGroup<'_, H>,
        report: &mut Report<'_>,
    ) {
        for cpu in 0..self.cpus {
            let limbo = &self.queues[self.queue_of(name.0 as usize, cpu)].limbo;
            let cfs_rq = tg_cfs_rq(tg, cpu as u32);
            let (mut at, mut same) = (0, true);
            cfs_rq.throttled_limbo_list.for_each(|p| {
                same &= limbo.get(at) == Some(&(p.pid.get() as usize));
                at += 1;
            });
            if !same || at != limbo.len() {
                let parked: Vec<&str> =
                    limbo.iter().map(|&task| report.text(TaskName(task as u32))).collect();
                let what = format!(
                    "{at} tasks are in limbo here, in this order they should be: {}",
                    parked.join(" ")
                );
                report.level("I-BW", cpu as u32, name, "", what);
            }
        }
    }

    /// What the numbers are made from.
    fn story(&self, note: &Note, queue: bool) -> String {
        if note.op != self.op {
            return "; no time passed for it".to_string();
        }
        let was = note.was;
        let time = format!("; {} us (of 1024 ns) passed in which it ", note.elapsed);
        let runs = if was.running { "ran" } else { "did not run" };
        time + &if queue {
            format!("had weight {}, {} runnable, and {runs}", was.load, was.runnable)
        } else if was.load == 0 {
            "was not queued".to_string()
        } else {
            format!("was queued with {} runnable and {runs}", was.runnable)
        }
    }

    /// What the queue's side decided, before it is needed again: who is to be rescheduled.
    pub fn follow_resched<H: Hooks>(&mut self, driver: &Driver<'_, H>) {
        for rq in driver.machine().runqueues() {
            self.rqs[rq.cpu as usize].resched = sched::test_tsk_need_resched(rq.curr());
        }
    }
}

/// Tells `wrong` of each field that is not as it should be.
fn each<const N: usize>(
    fields: &'static [Field; N],
    is: [u64; N],
    wanted: [u64; N],
    mut wrong: impl FnMut(&'static Field, String),
) {
    if is == wanted {
        return;
    }
    for ((field, is), wanted) in fields.iter().zip(is).zip(wanted) {
        if is != wanted {
            // Some are signed; none of the others comes near.
            let (is, wanted) = (is as i64, wanted as i64);
            wrong(field, format!("{} is {is}, and should be {wanted}", field.2));
        }
    }
}
