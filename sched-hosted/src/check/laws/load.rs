// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking, estimates, the groups' shares and quotas.
//!
//! All of it is exact in v7.3: integer arithmetic on clocks, counts and weights. So it is kept here a second time, by
//! own rules and in plain numbers, operation by operation, and compared: a step that is left out, done twice or in the
//! wrong order shows as a number that is not what it should be. What the queue's side decides (who runs, whose dequeue
//! is delayed, which one a pick completed) is taken from the class: it is not judged here.

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

/// So many orders of the dequeues that one pick completed are tried, the likeliest first; a state that none of so many
/// explains is not judged if there are more.
const MOST_ORDERS: usize = 120;

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
        if let Op::At { ns } = *op {
            // Nothing looks at the clock before the next operation.
            model.now = ns;
            return;
        }
        model.begin();
        let cpu = cpu_of(op);
        let seen = Seen {
            next: cpu.and_then(|cpu| running(driver.machine().cpu_rq(cpu))),
            delayed: false,
            parent: parent_of(driver, op),
        };
        self.gone.clear();
        let model = &mut **model;
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
            self.lost = judge_orders(
                model,
                driver,
                op,
                Seen { delayed, ..seen },
                &self.gone,
                blocked,
                report,
            );
        }
        model.follow_resched(driver);
    }
}

/// Several dequeues were completed, and their order does not show: one of all orders must explain the state. One that
/// blocked may have been delayed first, and completed with the others. True if none does.
fn judge_orders<H: Hooks>(
    model: &mut Model,
    driver: &Driver<'_, H>,
    op: &Op,
    seen: Seen,
    gone: &[usize],
    blocked: Option<usize>,
    report: &mut Report<'_>,
) -> bool {
    let known = report.found.len();
    let mut first = None;
    let mut all_tried = true;
    let ways = [None, blocked];
    for delayed in &ways[..1 + usize::from(blocked.is_some())] {
        let mut gone = gone.to_vec();
        gone.extend(delayed);
        sort_by_deadline(driver, &mut gone);
        // Tasks of the root group leave nothing behind that would tell who was first.
        let flat = gone.iter().all(|&task| model.is_root(model.tasks[task].queue));
        let mut order: Vec<usize> = (0..gone.len()).collect();
        for _ in 0..if flat { 1 } else { MOST_ORDERS } {
            let mut tried = model.clone();
            tried.completed = order.iter().map(|&at| gone[at]).collect();
            tried.step(op, Seen { delayed: seen.delayed || delayed.is_some(), ..seen });
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
        all_tried &= flat || order.len() <= 5;
    }
    if all_tried {
        report.found.extend(first.into_iter().flatten());
    }
    true
}

/// The pick prefers the earliest.
fn sort_by_deadline<H: Hooks>(driver: &Driver<'_, H>, tasks: &mut [usize]) {
    let deadline = |task: usize| {
        let p = driver.task_struct(crate::ops::TaskName(task as u32));
        p.map_or(0, |p| p.se.deadline.get())
    };
    tasks.sort_by(|&a, &b| (deadline(a).wrapping_sub(deadline(b)) as i64).cmp(&0));
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
