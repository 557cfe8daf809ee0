// SPDX-License-Identifier: GPL-2.0-only
//! Who is next, how long it is left alone, and the switch to it.

use super::leave::Leaving;
use super::model::{Model, Task, Why, World, before, earlier};
use sched_core::features::SchedFeat;
use sched_core::sched::{Policy, TASK_RUNNING};

impl Model {
    /// The earliest deadline in the tree among those up to key `limit`; of equals who joined first.
    fn first_up_to(&self, cpu: u32, limit: i128) -> Option<u32> {
        let mut best: Option<(u32, &Task)> = None;
        for (name, t) in self.tree(cpu) {
            if limit != i128::MAX && self.key(cpu, t.vruntime) > limit {
                continue;
            }
            let better = best.is_none_or(|(_, b)| {
                before(t.deadline, b.deadline) || t.deadline == b.deadline && t.joined < b.joined
            });
            if better {
                best = Some((name, t));
            }
        }
        best.map(|(name, _)| name)
    }

    /// Of those owed service the earliest deadline, curr if it is strictly earlier; before that, with `protect`, the
    /// buddy, and curr while it is protected. One that is alone need not be owed anything.
    pub fn pick(&mut self, cpu: u32, protect: bool) -> Option<u32> {
        let curr = self.competing_curr(cpu);
        if self.cpu(cpu).nr_queued == 1 {
            return curr.or_else(|| self.first_up_to(cpu, i128::MAX));
        }
        let limit = self.owed_up_to(cpu);
        let owed = |m: &Model, task: u32| m.key(cpu, m.task(task).vruntime) <= limit;
        if protect
            && self.on(SchedFeat::PICK_BUDDY)
            && let Some(next) = self.cpu(cpu).next
            && owed(self, next)
        {
            return Some(next);
        }
        let curr = curr.filter(|&curr| owed(self, curr));
        if protect && let Some(curr) = curr.filter(|&curr| self.is_protected(curr)) {
            return Some(curr);
        }
        match (self.first_up_to(cpu, limit), curr) {
            (Some(best), Some(curr))
                if !before(self.task(curr).deadline, self.task(best).deadline) =>
            {
                Some(best)
            }
            (best, curr) => curr.or(best),
        }
    }

    /// The pick; a delayed task that it falls on leaves for good instead: nobody then.
    pub fn pick_awake(&mut self, cpu: u32, protect: bool) -> Option<u32> {
        let Some(task) = self.pick(cpu, protect) else {
            self.lost = true;
            return None;
        };
        if !self.task(task).delayed {
            return Some(task);
        }
        self.dequeue(cpu, task, Leaving { sleep: true, completed: true, ..Leaving::default() });
        None
    }

    /// Who runs next; none to idle.
    fn pick_task(&mut self, cpu: u32) -> Option<u32> {
        while self.cpu(cpu).nr_queued != 0 && !self.lost {
            if self.competing_curr(cpu).is_some() {
                self.charge(cpu);
            }
            if let Some(task) = self.pick_awake(cpu, true) {
                return Some(task);
            }
        }
        None
    }

    /// The schedule: who runs sleeps first if its state says so; then the pick, and the switch if it falls on another.
    pub fn schedule(&mut self, cpu: u32, special: bool, world: &dyn World) {
        self.schedule_clock(cpu);
        let prev = self.cpu(cpu).running;
        if let Some(prev) = prev
            && self.task(prev).state != TASK_RUNNING
        {
            let leaving = Leaving { sleep: true, special, ..Leaving::default() };
            if self.dequeue_task(cpu, prev, leaving) {
                self.t(prev).on_rq = 0;
            }
        }

        let next = self.pick_task(cpu);
        if next != prev {
            if let Some(prev) = prev {
                self.put_prev(cpu, prev);
            }
            if let Some(next) = next {
                self.set_next(cpu, next, true, world);
            }
            self.c(cpu).nr_switches += 1;
        }
        let c = self.c(cpu);
        c.running = next;
        c.fair_next = next.is_some();
        c.tif = 0;
    }

    /// `prev` runs no more: it waits in the tree, if it did not leave.
    pub fn put_prev(&mut self, cpu: u32, prev: u32) {
        if self.task(prev).queued {
            self.charge(cpu);
        }
        self.c(cpu).curr = None;
        if self.task(prev).queued {
            self.join(cpu, prev);
        }
    }

    /// `next` is to run: `picked`, or back from a change.
    pub fn set_next(&mut self, cpu: u32, next: u32, picked: bool, world: &dyn World) {
        self.forget_buddy(cpu, next);
        let queued = self.task(next).queued;
        if queued {
            self.leave(cpu, next);
        }
        let clock = self.cpu(cpu).clock;
        let t = self.t(next);
        t.exec_start = clock;
        t.prev_sum_exec = t.sum_exec;
        self.c(cpu).curr = Some(next);
        if queued {
            let weight = self.weigh(cpu, next, world);
            self.reweight(cpu, next, weight);
            if picked {
                self.protect(cpu, next);
            }
        }
    }

    /// How far a picked task may run undisturbed: to the end of its request, or less if there is a shorter one: to
    /// where it is not owed service any more, or by the shorter one's length. Without RUN_TO_PARITY the base slice
    /// counts.
    fn protect(&mut self, cpu: u32, task: u32) {
        let shortest = if self.on(SchedFeat::RUN_TO_PARITY) {
            self.shortest(cpu)
        } else {
            self.set.normalized_base_slice
        };
        let t = *self.task(task);
        let mut vprot = t.deadline;
        if shortest < t.slice {
            let shorter = if self.on(SchedFeat::PREEMPT_SHORT) {
                self.not_owed_from(cpu)
            } else {
                t.vruntime.wrapping_add(self.virtual_time(shortest, t.weight))
            };
            vprot = earlier(vprot, shorter);
        }
        let t = self.t(task);
        t.vprot = vprot;
        t.why.vprot = Why::Picked;
    }

    /// `task` is SCHED_IDLE.
    pub fn is_idle_policy(&self, task: u32) -> bool {
        self.task(task).policy == Policy::SCHED_IDLE
    }
}
