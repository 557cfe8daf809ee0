// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking, estimates, the groups' shares and quotas.
//!
//! All of it is exact in v7.3: integer arithmetic on clocks, counts and weights. So it is kept here a second time, by own
//! rules and in plain numbers, operation by operation, and compared: a step that is left out, done twice or in the wrong
//! order shows as a number that is not what it should be. What the queue's side decides (who runs, whose dequeue is
//! delayed, which one a pick completed) is taken from the class: it is not judged here.

mod compare;
mod group;
mod levels;
mod model;
mod pelt;
mod quota;
mod steps;

use crate::check::Report;
use crate::ops::Op;
use crate::ops::driver::Driver;
use model::{Cpu, Group, Model, Switches};
use sched_core::features::SchedFeat;
use sched_core::patches::Patches;
use sched_core::sched::{self, Rq};
use sched_core::trace::Hooks;
use steps::Seen;

/// Of more dequeues that one pick completed not all orders are tried: then it is not judged.
const MOST_COMPLETED: usize = 5;

/// What is remembered from before an operation.
#[derive(Debug, Default)]
pub(super) struct Laws {
    model: Option<Box<Model>>,
    /// Something was wrong, and what follows from it would be, too.
    lost: bool,
    /// Delayed tasks that an operation completed.
    gone: Vec<usize>,
}

impl Laws {
    pub(super) fn before<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        let _ = op;
        if self.model.is_none() {
            self.model = Some(Box::new(Model::of(driver)));
        }
    }

    pub(super) fn after<H: Hooks>(
        &mut self,
        driver: &Driver<'_, H>,
        op: &Op,
        report: &mut Report<'_>,
    ) {
        let Some(model) = self.model.as_mut().filter(|_| !self.lost) else { return };
        model.op += 1;
        let cpu = cpu_of(op);
        let seen = Seen {
            next: cpu.and_then(|cpu| running(driver.machine().cpu_rq(cpu))),
            delayed: false,
            parent: parent_of(driver, op),
        };
        self.gone.clear();
        let named = match *op {
            Op::FinishDelayed { task } => Some(task.0 as usize),
            _ => None,
        };
        for (task, e) in model.tasks.iter().enumerate() {
            if e.delayed && e.live && Some(task) != named && is_gone(driver, task) {
                self.gone.push(task);
            }
        }
        let blocked = match *op {
            Op::Block { cpu } => model.rqs[cpu as usize].curr,
            _ => None,
        };
        let delayed = blocked.is_some_and(|task| !is_gone(driver, task));
        if self.gone.len() <= 1 && (blocked.is_none() || delayed || self.gone.is_empty()) {
            model.completed.clone_from(&self.gone);
            model.step(op, Seen { delayed, ..seen });
            self.lost = model.compare(driver, report);
        } else {
            let blocked = blocked.filter(|_| !delayed && model.set.delay_dequeue);
            self.lost = judge_orders(model, driver, op, Seen { delayed, ..seen }, &self.gone, blocked, report);
        }
        model.follow_resched(driver);
    }
}

/// Several dequeues were completed, and their order does not show: one of all orders must explain the state. One that
/// blocked may have been delayed first, and completed with the others.
fn judge_orders<H: Hooks>(
    model: &mut Model,
    driver: &Driver<'_, H>,
    op: &Op,
    seen: Seen,
    gone: &[usize],
    blocked: Option<usize>,
    report: &mut Report<'_>,
) -> bool {
    if gone.len() > MOST_COMPLETED {
        return true;
    }
    let known = report.found.len();
    let mut first = None;
    for delayed in [false, true] {
        let mut order = gone.to_vec();
        let mut seen = seen;
        match blocked {
            Some(task) if delayed => {
                order.push(task);
                seen.delayed = true;
            }
            _ if delayed => continue,
            _ => {}
        }
        order.sort_unstable();
        loop {
            let mut tried = model.clone();
            tried.completed.clone_from(&order);
            tried.step(op, seen);
            if !tried.compare(driver, report) {
                *model = tried;
                return false;
            }
            let found = report.found.split_off(known);
            first.get_or_insert(found);
            if !next_permutation(&mut order) {
                break;
            }
        }
    }
    report.found.extend(first.into_iter().flatten());
    true
}

/// The next order, by the alphabet; false after the last.
fn next_permutation(order: &mut [usize]) -> bool {
    let Some(pivot) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let above = order.iter().rposition(|&other| other > order[pivot]).unwrap_or(pivot);
    order.swap(pivot, above);
    order[pivot + 1..].reverse();
    true
}

/// The CPU that an operation schedules on.
fn cpu_of(op: &Op) -> Option<u32> {
    match *op {
        Op::Schedule { cpu } | Op::Block { cpu } | Op::Exit { cpu } => Some(cpu),
        _ => None,
    }
}

/// The task that runs; none: the idle task.
fn running<H: Hooks>(rq: &Rq<'_, H>) -> Option<usize> {
    let curr = rq.curr();
    (!sched::is_idle_task(curr)).then(|| curr.pid.get() as usize)
}

/// Whether a task is queued no longer.
fn is_gone<H: Hooks>(driver: &Driver<'_, H>, task: usize) -> bool {
    driver.task_struct(crate::ops::TaskName(task as u32)).is_some_and(|p| !p.se.on_rq.get())
}

/// The group above one that was made.
fn parent_of<H: Hooks>(driver: &Driver<'_, H>, op: &Op) -> usize {
    let Op::Group { group, .. } = *op else { return 0 };
    let made = driver.task_groups().find(|&(name, _)| name == group);
    made.and_then(|(_, tg)| tg.parent.get()).map_or(0, |parent| parent.id.get() as usize)
}

impl Model {
    /// That of a machine on which nothing has happened yet.
    fn of<H: Hooks>(driver: &Driver<'_, H>) -> Self {
        let machine = driver.machine();
        let cpus = machine.num_online_cpus() as usize;
        let mut model = Model {
            cpus,
            now: machine.sched_clock_cpu(),
            set: Switches {
                util_est: machine.sched_feat(SchedFeat::UTIL_EST),
                attach_age_load: machine.sched_feat(SchedFeat::ATTACH_AGE_LOAD),
                preempt_short: machine.sched_feat(SchedFeat::PREEMPT_SHORT),
                wakeup_preemption: machine.sched_feat(SchedFeat::WAKEUP_PREEMPTION),
                delay_dequeue: machine.sched_feat(SchedFeat::DELAY_DEQUEUE),
                uncharged_requeue: machine.patch(Patches::NO_CHARGE_BEFORE_REQUEUE),
                mode: machine.cgroup_mode.get(),
            },
            rqs: vec![Cpu::default(); cpus],
            ..Model::default()
        };
        model.make_room(0);
        model.groups[0] = Group { live: true, ..Group::default() };
        model
    }
}
