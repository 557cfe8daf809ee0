// SPDX-License-Identifier: GPL-2.0-only
//! The class against what it should be, field by field, and the sentence that says what is wrong.

use super::model::{Cpu, Entity, Group, Model, Queue};
use super::pelt::{Avg, EVENTS, Note};
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

/// A field: the invariant that it belongs to, its name where digests have it, its name in the text, and its rule.
type Field = (&'static str, &'static str, &'static str, &'static str);

/// In so many operations everything is compared once; what an operation touches at once.
const ROUND: usize = 16;
/// So many operations of a run are compared in whole, so that a short program tells at once.
const WHOLE: u64 = 100;

#[rustfmt::skip]
const AVG: [Field; 9] = [
    ("I-PELT", "last_update_time", "last_update_time", "its queue's PELT clock at its last update, in whole 1024 ns"),
    ("I-PELT", "load_avg", "load_avg", ""),
    ("I-PELT", "runnable_avg", "runnable_avg", ""),
    ("I-PELT", "util_avg", "util_avg", ""),
    ("I-UEST", "util_est", "util_est", "made at a dequeue to sleep; of the root queue the sum of its tasks awake"),
    ("I-PELT", "load_sum", "load_sum", ""),
    ("I-PELT", "runnable_sum", "runnable_sum", ""),
    ("I-PELT", "util_sum", "util_sum", ""),
    ("I-PELT", "period_contrib", "period_contrib", ""),
];
#[rustfmt::skip]
const TASK: [Field; 7] = [
    ("I-WGT", "load", "load", "of nice value or policy"),
    ("I-WGT", "h_load", "the flat weight", "the product of the shares on its path at its last enqueue, pick or tick"),
    ("I-CLK", "exec_start", "exec_start", "what runs is charged up to clock_task at each charge"),
    ("I-STATE", "se.on_rq", "se.on_rq", ""),
    ("I-STATE", "sched_delayed", "sched_delayed", ""),
    ("I-BW", "", "throttled (it is parked)", "in limbo while its hierarchy is throttled"),
    ("I-BW", "", "sched_throttle_work (it is to park itself)", "asked of what runs when a level has no runtime left"),
];
#[rustfmt::skip]
const GSE: [Field; 4] = [
    ("I-WGT", "se.load", "the group's share", "made anew at each change below it, unless empty"),
    ("I-PELT", "runnable_weight", "runnable_weight", "h_nr_runnable of its queue at its last update"),
    ("I-CLK", "", "exec_start of the group's entity", "charged with what runs below it"),
    ("I-CNT", "se.on_rq", "se.on_rq", ""),
];
#[rustfmt::skip]
const QUEUE: [Field; 27] = [
    ("I-CNT", "load", "load", "the shares of what is queued here"),
    ("I-CNT", "nr_queued", "nr_queued", "what is queued right here"),
    ("I-CNT", "h_nr_queued", "h_nr_queued", "tasks queued here and below"),
    ("I-CNT", "h_nr_runnable", "h_nr_runnable", "those of them not delayed"),
    ("I-CNT", "h_nr_idle", "h_nr_idle", "those of them of SCHED_IDLE or in an idle group below"),
    ("I-PELT", "removed.nr", "removed.nr", ""),
    ("I-PELT", "removed.load_avg", "removed.load_avg", ""),
    ("I-PELT", "removed.util_avg", "removed.util_avg", ""),
    ("I-PELT", "removed.runnable_avg", "removed.runnable_avg", ""),
    ("I-PELT", "tg_load_avg_contrib", "tg_load_avg_contrib", "load_avg, once a ms, if off by more than 1/64"),
    ("I-PELT", "tg_runnable_avg_contrib", "tg_runnable_avg_contrib", "as that of load, of runnable_avg"),
    ("I-PELT", "", "last_update_tg_load_avg", "the clock at the last contribution"),
    ("I-PELT", "propagate", "propagate", "set until the level above takes over"),
    ("I-PELT", "prop_runnable_sum", "prop_runnable_sum", "what the level above is to take over"),
    ("I-LEAF", "on_list", "on_list", ""),
    ("I-BW", "runtime_remaining", "runtime_remaining", "less each charge, more what the pool gave, ns"),
    ("I-BW", "throttled", "throttled", "nothing remains, and the pool has none"),
    ("I-BW", "throttle_count", "throttle_count", "throttled levels here and above"),
    ("I-BW", "", "runtime_enabled", ""),
    ("I-BW", "", "throttled_clock", "since when tasks are parked"),
    ("I-BW", "", "throttled_clock_self", "since when tasks are parked"),
    ("I-BW", "", "throttled_clock_self_time", ""),
    ("I-CLK", "", "pelt_clock_throttled", "it stands while throttled and empty"),
    ("I-CLK", "", "throttled_clock_pelt", "the PELT clock when it was stopped"),
    ("I-CLK", "", "throttled_clock_pelt_time", "all that it stood"),
    ("I-CLK", "", "throttled_pelt_idle", "that, when the queue became empty"),
    ("I-CNT", "idle", "idle", ""),
];
#[rustfmt::skip]
const GROUP: [Field; 15] = [
    ("I-PELT", "tg.load_avg", "tg.load_avg", "the sum of the contributions"),
    ("I-PELT", "tg.runnable_avg", "tg.runnable_avg", "the sum of the contributions"),
    ("I-WGT", "", "shares", "as written"),
    ("I-BW", "", "the pool", "filled by the period timer, less what queues took, more what they gave back, ns"),
    ("I-BW", "", "the pool after its last fill", "at most the quota, ns"),
    ("I-BW", "", "the quota", ""),
    ("I-BW", "", "the period", ""),
    ("I-BW", "", "period_active", "from the first need until a period without"),
    ("I-BW", "", "slack_started", ""),
    ("I-BW", "", "the end of the period", "moved by whole periods"),
    ("I-BW", "", "the slack timer's time", "5 ms after something came back"),
    ("I-BW", "", "cfs_b->idle", "nothing was taken since the last fill"),
    ("I-BW", "", "throttled_time", ""),
    ("I-BW", "", "nr_periods", ""),
    ("I-BW", "", "nr_throttled", ""),
];
#[rustfmt::skip]
const CPU: [Field; 7] = [
    ("I-CLK", "clock", "clock", "looked at by each operation on the CPU, unless that was to be skipped"),
    ("I-CLK", "clock_task", "clock_task", "no irq and steal time"),
    ("I-CLK", "clock_pelt", "clock_pelt", "a whole CPU of 1024"),
    ("I-CLK", "lost_idle_time", "lost_idle_time", ""),
    ("I-CLK", "", "clock_idle", ""),
    ("I-CLK", "", "clock_pelt_idle", ""),
    ("I-CLK", "", "RQCF_REQ_SKIP", "of a yield, or a wakeup that preempts at once; used up by the schedule"),
];

#[inline(always)]
fn avg_of(avg: &SchedAvg) -> [u64; AVG.len()] {
    [
        avg.last_update_time(),
        avg.load_avg.get(),
        avg.runnable_avg.get(),
        avg.util_avg.get(),
        avg.util_est.get().into(),
        avg.load_sum.get(),
        avg.runnable_sum.get(),
        avg.util_sum.get().into(),
        avg.period_contrib.get().into(),
    ]
}

#[inline(always)]
fn avg_wanted(avg: &Avg) -> [u64; AVG.len()] {
    [
        avg.last_update_time,
        avg.load_avg,
        avg.runnable_avg,
        avg.util_avg,
        avg.util_est.into(),
        avg.load_sum,
        avg.runnable_sum,
        avg.util_sum.into(),
        avg.period_contrib.into(),
    ]
}

#[inline(always)]
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

#[inline(always)]
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

#[inline(always)]
fn gse_of<H: Hooks>(se: &SchedEntity<'_, H>) -> [u64; GSE.len()] {
    let weight = se.load.weight.get();
    [weight, se.runnable_weight.get(), se.exec_start.get(), se.on_rq.get().into()]
}

#[inline(always)]
fn gse_wanted(e: &Entity) -> [u64; GSE.len()] {
    [e.weight, e.runnable_weight, e.exec_start, e.on_rq.into()]
}

#[inline(always)]
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

#[inline(always)]
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
    /// What differs is reported, causes before what follows from them. False: nothing.
    pub fn compare<H: Hooks>(&self, driver: &Driver<'_, H>, report: &mut Report<'_>) -> bool {
        let before = report.found.len();
        for rq in driver.machine().runqueues() {
            let cpu = rq.cpu as usize;
            each(&CPU, &cpu_of(rq), &cpu_wanted(&self.rqs[cpu]), |field, what| {
                report.rq(field.0, rq.cpu, field.1, what);
            });
        }
        for group in self.groups_due() {
            if let Some((name, tg)) = self.known(driver, group) {
                self.compare_group(name, tg, &self.groups[group], report);
            }
        }
        for at in self.due(&self.touched.gses, &self.gses, |e| e.stamp) {
            self.compare_share(driver, at, report);
        }
        for at in self.due(&self.touched.queues, &self.queues, |q| q.stamp) {
            self.compare_counts(driver, at, report);
        }
        for at in self.due(&self.touched.tasks, &self.tasks, |e| e.stamp) {
            let name = TaskName(at as u32);
            if let Some(p) = driver.task_struct(name) {
                self.compare_task(name, p, &self.tasks[at], report);
            }
        }
        for at in self.due(&self.touched.gses, &self.gses, |e| e.stamp) {
            self.compare_entity_load(driver, at, report);
        }
        for at in self.due(&self.touched.queues, &self.queues, |q| q.stamp) {
            self.compare_queue_load(driver, at, report);
        }
        report.found.len() != before
    }

    /// What is compared after this operation: what it touched, and whose turn it is.
    fn due<'m, T>(
        &'m self,
        touched: &'m [usize],
        all: &'m [T],
        stamp: fn(&T) -> u64,
    ) -> impl Iterator<Item = usize> + 'm {
        let (first, step) = self.turn();
        let others = (first..all.len()).step_by(step);
        let others = others.filter(move |&at| stamp(&all[at]) != self.op);
        touched.iter().copied().chain(others)
    }

    fn turn(&self) -> (usize, usize) {
        if self.op < WHOLE { (0, 1) } else { ((self.op % ROUND as u64) as usize, ROUND) }
    }

    /// The same of groups: those of the queues that it touched.
    fn groups_due(&self) -> impl Iterator<Item = usize> + '_ {
        let (first, step) = self.turn();
        let turn = move |group: usize| group >= first && (group - first).is_multiple_of(step);
        let touched = self.touched.queues.iter().enumerate().filter_map(move |(at, &queue)| {
            let group = self.group_of(queue);
            let seen = |&other: &usize| self.group_of(other) == group;
            let again = self.touched.queues[..at].iter().any(seen);
            (group != 0 && !again && !turn(group)).then_some(group)
        });
        touched.chain((first..self.groups.len()).step_by(step).filter(|&group| group != 0))
    }

    /// The class's group.
    fn known<'a, H: Hooks>(
        &self,
        driver: &Driver<'a, H>,
        group: usize,
    ) -> Option<(GroupName, &'a TaskGroup<'a, H>)> {
        let tg = self.groups.get(group).filter(|tg| tg.live)?;
        driver.task_groups().nth(tg.order)
    }

    /// The class's entity of a group's queue.
    fn entity<'a, H: Hooks>(
        &self,
        driver: &Driver<'a, H>,
        queue: usize,
    ) -> Option<(u32, GroupName, &'a SchedEntity<'a, H>)> {
        let (name, tg) = self.known(driver, self.group_of(queue))?;
        let cpu = self.cpu_of(queue) as u32;
        Some((cpu, name, tg_se(tg, cpu)?))
    }

    /// The class's queue.
    fn queue<'a, H: Hooks>(
        &self,
        driver: &Driver<'a, H>,
        queue: usize,
    ) -> Option<(u32, GroupName, &'a CfsRq<'a, H>)> {
        let (name, tg) = self.known(driver, self.group_of(queue))?;
        let cpu = self.cpu_of(queue) as u32;
        Some((cpu, name, tg_cfs_rq(tg, cpu)))
    }

    fn compare_task<H: Hooks>(
        &self,
        name: TaskName,
        p: &TaskStruct<'_, H>,
        e: &Entity,
        report: &mut Report<'_>,
    ) {
        each(&TASK, &task_of(p), &task_wanted(e), |field, what| {
            report.task(field.0, name, field.1, what);
        });
        each(&AVG, &avg_of(&p.se.avg), &avg_wanted(&e.avg), |field, what| {
            report.task(field.0, name, field.1, what + &self.story(&e.avg.note, false));
        });
    }

    /// Of a group what is not of its queues.
    fn compare_group<H: Hooks>(
        &self,
        name: GroupName,
        tg: &TaskGroup<'_, H>,
        wanted: &Group,
        report: &mut Report<'_>,
    ) {
        each(&GROUP, &group_of(tg), &group_wanted(wanted), |field, what| {
            report.group(field.0, name, field.1, what);
        });
        self.compare_limbo(name, tg, report);
    }

    /// A group's entity but its averages.
    fn compare_share<H: Hooks>(&self, driver: &Driver<'_, H>, at: usize, report: &mut Report<'_>) {
        let Some((cpu, name, se)) = self.entity(driver, at) else { return };
        each(&GSE, &gse_of(se), &gse_wanted(&self.gses[at]), |field, what| match field.1 {
            "runnable_weight" => report.object(field.0, Object::Gse(cpu, name), field.1, what),
            _ => report.level(field.0, cpu, name, field.1, what),
        });
    }

    /// A queue but its averages.
    fn compare_counts<H: Hooks>(&self, driver: &Driver<'_, H>, at: usize, report: &mut Report<'_>) {
        let Some((cpu, name, cfs_rq)) = self.queue(driver, at) else { return };
        each(&QUEUE, &queue_of(cfs_rq), &queue_wanted(&self.queues[at]), |field, what| {
            report.level(field.0, cpu, name, field.1, what);
        });
    }

    fn compare_entity_load<H: Hooks>(
        &self,
        driver: &Driver<'_, H>,
        at: usize,
        report: &mut Report<'_>,
    ) {
        let Some((cpu, name, se)) = self.entity(driver, at) else { return };
        let avg = &self.gses[at].avg;
        each(&AVG, &avg_of(&se.avg), &avg_wanted(avg), |field, what| {
            let what = what + &self.story(&avg.note, false);
            report.object(field.0, Object::Gse(cpu, name), field.1, what);
        });
    }

    fn compare_queue_load<H: Hooks>(
        &self,
        driver: &Driver<'_, H>,
        at: usize,
        report: &mut Report<'_>,
    ) {
        let Some((cpu, name, cfs_rq)) = self.queue(driver, at) else { return };
        let avg = &self.queues[at].avg;
        each(&AVG, &avg_of(&cfs_rq.avg), &avg_wanted(avg), |field, what| {
            report.level(field.0, cpu, name, field.1, what + &self.story(&avg.note, true));
        });
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
            return "; nothing happened to it".to_string();
        }
        let was = note.was;
        let mut text = String::new();
        if note.elapsed != 0 {
            let runs = if was.running { "ran" } else { "did not run" };
            text = format!("; {} us (of 1024 ns) passed in which it ", note.elapsed);
            text += &if queue {
                format!("had weight {} and {} runnable, and {runs}", was.load, was.runnable)
            } else if was.load == 0 {
                "was not queued".to_string()
            } else {
                format!("was queued with {} runnable, and {runs}", was.runnable)
            };
        }
        for &(_, entity, of_queue) in EVENTS.iter().filter(|event| note.events & event.0 != 0) {
            text += "; ";
            text += if queue { of_queue } else { entity };
        }
        text
    }

    /// What the queue's side decided, before it is needed again: who is to be rescheduled.
    pub fn follow_resched<H: Hooks>(&mut self, driver: &Driver<'_, H>) {
        for rq in driver.machine().runqueues() {
            self.rqs[rq.cpu as usize].resched = sched::test_tsk_need_resched(rq.curr());
        }
    }
}

/// Tells `wrong` of each field that is not as it should be.
#[inline(always)]
fn each<const N: usize>(
    fields: &'static [Field; N],
    is: &[u64; N],
    wanted: &[u64; N],
    wrong: impl FnMut(&'static Field, String),
) {
    // Without a branch a field: nearly always all are the same.
    if is.iter().zip(wanted).fold(0, |differ, (is, wanted)| differ | (is ^ wanted)) != 0 {
        tell(fields, is, wanted, wrong);
    }
}

#[cold]
#[inline(never)]
fn tell(
    fields: &'static [Field],
    is: &[u64],
    wanted: &[u64],
    mut wrong: impl FnMut(&'static Field, String),
) {
    for ((field, &is), &wanted) in fields.iter().zip(is).zip(wanted) {
        if is != wanted {
            // Some are signed; none of the others comes near.
            let (is, wanted) = (is as i64, wanted as i64);
            let rule = if field.3.is_empty() { String::new() } else { format!(" ({})", field.3) };
            wrong(field, format!("{} is {is}, and should be {wanted}{rule}", field.2));
        }
    }
}
