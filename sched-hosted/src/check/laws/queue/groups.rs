// SPDX-License-Identifier: GPL-2.0-only
//! Operations on groups: what they leave alone, and how tasks park and come back.

use super::charge::NOW;
use super::leave::{Joining, Leaving};
use super::model::{Model, World};
use crate::ops::Op;
use crate::ops::driver::Driver;
use sched_core::fair::load::scale_load;
use sched_core::list::{LimboNode, List};
use sched_core::sched::{self, TaskGroup, TaskStruct, tg_cfs_rq};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// What is remembered of the groups from before an operation that may change one.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Of a group whose shares or idleness is set: what they are.
    idle: bool,
    shares: u64,
    /// Of what returns to user mode: it has work to do.
    work: bool,
    /// The task that the operation names has to park (again): its queue is throttled.
    pub must_park: bool,
    /// Which queues are throttled by themselves: CPU and group.
    throttled: Vec<(u32, u32)>,
    /// The parked tasks, CPU by CPU in the order in which they would come back.
    parked: Vec<u32>,
    /// On which CPUs more than one queue waits for runtime by itself: in which order they get it is not known.
    waiting: Vec<u32>,
}

impl Before {
    pub fn remember<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        self.must_park = false;
        match *op {
            Op::Shares { group, .. } | Op::GroupIdle { group, .. } => {
                if let Some((_, tg)) = driver.task_groups().find(|&(name, _)| name == group) {
                    self.idle = tg.idle.get() > 0;
                    self.shares = tg.shares.load(Ordering::Relaxed);
                }
            }
            Op::UserReturn { cpu } => {
                let curr = driver.machine().cpu_rq(cpu).curr();
                self.work = curr.sched_throttle_work.load(Ordering::Relaxed);
                self.must_park = self.work && sched::cfs_rq_of(&curr.se).throttle_count.get() != 0;
            }
            Op::Nice { task, .. } | Op::Param { task, .. } => {
                let p = driver.task_struct(task).filter(|p| p.throttled.get());
                self.must_park =
                    p.is_some_and(|p| sched::cfs_rq_of(&p.se).throttle_count.get() != 0);
            }
            Op::Move { task, group } => {
                let p = driver.task_struct(task).filter(|p| p.throttled.get());
                let tg = driver.task_groups().find(|&(name, _)| name == group);
                self.must_park = p.zip(tg).is_some_and(|(p, (_, tg))| {
                    tg_cfs_rq(tg, sched::task_cpu(p)).throttle_count.get() != 0
                });
            }
            Op::Quota { .. } | Op::Timers => self.remember_parked(driver),
            _ => {}
        }
    }

    fn remember_parked<H: Hooks>(&mut self, driver: &Driver<'_, H>) {
        self.parked.clear();
        self.waiting.clear();
        self.throttled.clear();
        let Some((_, root)) = driver.task_groups().next() else { return };
        for rq in driver.machine().runqueues() {
            let waiting = self.throttled.len();
            let waits =
                driver.task_groups().filter(|(_, tg)| tg_cfs_rq(tg, rq.cpu).throttled.get());
            self.throttled.extend(waits.map(|(name, _)| (rq.cpu, name.0)));
            self.waiting.push((self.throttled.len() - waiting) as u32);
            self.walk(root, rq.cpu);
        }
    }

    /// Groups below first, newest first; in a queue who parked last comes back first.
    fn walk<H: Hooks>(&mut self, tg: &TaskGroup<'_, H>, cpu: u32) {
        tg.children.for_each(|child| self.walk(child, cpu));
        let limbo = &tg_cfs_rq(tg, cpu).throttled_limbo_list;
        self.add(limbo);
    }

    /// Whether the queue of `p`, or one above it, was throttled and is not any more.
    fn has_runtime_again<'a, H: Hooks>(&self, p: &'a TaskStruct<'a, H>) -> bool {
        sched::for_each_sched_entity(&p.se).map(sched::cfs_rq_of).any(|cfs_rq| {
            let group = cfs_rq.tg.get().map_or(0, |tg| tg.id.get());
            let here = (sched::rq_of(cfs_rq).cpu, group);
            !cfs_rq.throttled.get() && self.throttled.contains(&here)
        })
    }

    fn add<'a, H: Hooks>(&mut self, limbo: &List<LimboNode<'a, H>>) {
        limbo.for_each(|p| self.parked.push(p.pid.get()));
    }
}

impl Model {
    /// The step of an operation on groups. False: it cannot be said what exactly it does, since several queues came
    /// back in an order that does not show.
    pub fn group_step<H: Hooks>(
        &mut self,
        op: &Op,
        before: &Before,
        driver: &Driver<'_, H>,
        world: &dyn World,
    ) -> bool {
        match *op {
            Op::Group { .. } => self.look_everywhere(),
            Op::Shares { shares, .. } => {
                let shares =
                    scale_load(shares.min(1 << 18)).clamp(scale_load(2), scale_load(1 << 18));
                if !before.idle && shares != before.shares {
                    self.look_everywhere();
                }
            }
            Op::GroupIdle { idle, .. } if idle != before.idle => {
                (0..self.cpus.len()).for_each(|cpu| self.lock(cpu as u32));
                let shares = scale_load(if idle { 3 } else { 1024 });
                if shares != before.shares {
                    self.look_everywhere();
                }
            }
            Op::UserReturn { cpu } if before.work => self.park(cpu),
            Op::Quota { .. } | Op::Timers => return self.come_back(before, driver, world),
            _ => {}
        }
        true
    }

    /// Every CPU's clock is looked at.
    fn look_everywhere(&mut self) {
        for cpu in 0..self.cpus.len() as u32 {
            self.lock(cpu);
            self.update_clock(cpu);
        }
    }

    /// Who runs has work to do on its way to user mode: it parks, if its group's runtime is still used up.
    fn park(&mut self, cpu: u32) {
        let Some(task) = self.cpu(cpu).running else { return };
        self.lock(cpu);
        if !self.must_park {
            return;
        }
        self.update_clock(cpu);
        self.dequeue_task(cpu, task, Leaving { sleep: true, throttle: true, ..Leaving::default() });
        self.t(task).parked = true;
        self.resched(cpu, NOW);
    }

    /// Queues that have runtime again: what runs may have been charged, and parked tasks join as if they were woken.
    /// Which queues those are is a question of quotas, so it is taken from the result.
    fn come_back<H: Hooks>(
        &mut self,
        before: &Before,
        driver: &Driver<'_, H>,
        world: &dyn World,
    ) -> bool {
        let mut known = true;
        for rq in driver.machine().runqueues() {
            let cpu = rq.cpu;
            let now = self.now;
            let c = self.c(cpu);
            c.clock_flags = rq.clock_update_flags.get().bits();
            if rq.clock.get() != c.clock {
                c.clock = now;
            }
            if let Some(curr) = self.cpu(cpu).curr
                && let Some(p) = driver.task_struct(crate::ops::TaskName(curr))
                && (before.has_runtime_again(p)
                    || p.se.exec_start.get() != self.task(curr).exec_start)
            {
                self.c(cpu).clock = self.now;
                self.charge(cpu);
            }
            let mut back = 0;
            for &task in &before.parked {
                let here = self.tasks[task as usize].is_some_and(|t| t.parked && t.cpu == cpu);
                if here && !world.is_parked(task) {
                    self.t(task).parked = false;
                    let joining = Joining { woken: true, ..Joining::default() };
                    self.enqueue(cpu, task, joining, world);
                    back += 1;
                }
            }
            let waited = before.waiting.get(cpu as usize).copied().unwrap_or(0);
            known &= back < 2 || waited < 2;
            if self.cpu(cpu).running.is_none() && self.cpu(cpu).nr_queued != 0 {
                self.resched(cpu, NOW);
            }
        }
        // Shares go on changing while the next queue comes back.
        self.weighed.clear();
        known
    }
}

/// The shares' part of what a step is told.
pub(super) struct Actual<'d, 'a, H: Hooks + 'a>(pub &'d Driver<'a, H>);

impl<'a, H: Hooks> World for Actual<'_, 'a, H> {
    fn product_of_shares(&self, task: u32) -> Option<u64> {
        let p = self.0.task_struct(crate::ops::TaskName(task))?;
        let mut weight = u128::from(super::model::N0);
        for se in sched::for_each_sched_entity(&p.se) {
            let above = match sched::parent_entity(se) {
                Some(_) => sched::cfs_rq_of(se).load.weight.get(),
                None => super::model::N0,
            };
            let share = weight * u128::from(se.load.weight.get());
            weight = share.checked_div(u128::from(above))?.max(2);
        }
        u64::try_from(weight).ok()
    }

    fn flat_weight(&self, task: u32) -> u64 {
        let p = self.0.task_struct(crate::ops::TaskName(task));
        p.map_or(0, |p| p.se.h_load.weight.get())
    }

    fn is_parked(&self, task: u32) -> bool {
        self.0.task_struct(crate::ops::TaskName(task)).is_some_and(|p| p.throttled.get())
    }
}
