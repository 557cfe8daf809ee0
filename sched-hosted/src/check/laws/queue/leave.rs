// SPDX-License-Identifier: GPL-2.0-only
//! Joining and leaving: wakeups, sleeps that are delayed or not, and what is taken out for a change.

use super::model::{Model, Why, World};
use sched_core::features::SchedFeat;

/// How a task leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaving {
    /// It sleeps.
    pub sleep: bool,
    /// It slept already: the rest of a delayed dequeue.
    pub completed: bool,
    /// In a state that must not be delayed.
    pub special: bool,
    /// Its group's quota is used up.
    pub throttle: bool,
}

/// How a task joins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Joining {
    /// It is queued still, and was woken.
    pub delayed: bool,
    /// It is new.
    pub initial: bool,
    /// It was elsewhere.
    pub migrated: bool,
    /// It was asleep or parked: it is not delayed, whatever it was.
    pub woken: bool,
}

impl Model {
    /// The dequeue of a task that may be parked. False: delayed.
    pub fn dequeue_task(&mut self, cpu: u32, task: u32, leaving: Leaving) -> bool {
        if self.task(task).parked {
            if leaving.sleep {
                self.t(task).parked = false;
            }
            return true;
        }
        self.dequeue(cpu, task, leaving)
    }

    /// Its lag is stored once curr has paid. A sleeper that owes time stays, delayed, with DELAY_DEQUEUE. False then.
    pub fn dequeue(&mut self, cpu: u32, task: u32, leaving: Leaving) -> bool {
        self.forget_buddy(cpu, task);
        self.charge(cpu);
        self.store_lag(cpu, task, Why::Left);

        if !leaving.completed {
            let may_stay = leaving.sleep && !leaving.special && !leaving.throttle;
            let vruntime = self.task(task).vruntime;
            if self.on(SchedFeat::DELAY_DEQUEUE) && may_stay && !self.is_owed(cpu, vruntime) {
                self.t(task).delayed = true;
                self.c(cpu).nr_runnable = self.cpu(cpu).nr_runnable.wrapping_sub(1);
                return false;
            }
        }

        let counted = leaving.sleep || !self.task(task).delayed;
        self.t(task).queued = false;
        let c = self.c(cpu);
        c.nr_queued = c.nr_queued.wrapping_sub(1);
        c.nr_runnable = c.nr_runnable.wrapping_sub(u32::from(counted));
        c.nr_running = c.nr_running.wrapping_sub(1);
        c.changes += 1;

        if self.on(SchedFeat::PLACE_REL_DEADLINE) && !leaving.sleep {
            let t = self.t(task);
            t.deadline = t.deadline.wrapping_sub(t.vruntime);
            t.relative = true;
            t.why.deadline = Why::Taken;
        }
        if self.cpu(cpu).curr != Some(task) {
            self.leave(cpu, task);
        }
        if leaving.completed {
            let t = self.t(task);
            t.delayed = false;
            t.on_rq = 0;
            let c = self.c(cpu);
            c.nr_runnable = c.nr_runnable.wrapping_add(1);
        }
        true
    }

    /// The enqueue: a parked task parks again if it must; a delayed one that was woken is there already; all others are
    /// weighed, placed, and join.
    pub fn enqueue(&mut self, cpu: u32, task: u32, joining: Joining, world: &dyn World) {
        if self.task(task).parked {
            if self.cpu(cpu).running != Some(task) && (self.must_park || world.is_parked(task)) {
                return;
            }
            self.t(task).parked = false;
        }
        self.charge(cpu);
        if joining.delayed {
            return self.requeue(cpu, task);
        }

        // One that parked comes back before the schedule took it off the CPU: it is in its place, and not in the tree.
        let back = self.cpu(cpu).curr == Some(task);
        if back {
            self.place(cpu, task, joining.initial, false);
        }
        let stays_delayed = !joining.woken && self.task(task).delayed;
        let c = self.c(cpu);
        c.nr_queued = c.nr_queued.wrapping_add(1);
        c.nr_runnable = c.nr_runnable.wrapping_add(u32::from(!stays_delayed));
        c.changes += 1;
        let t = self.t(task);
        if joining.migrated {
            t.exec_start = 0;
        }
        t.queued = true;

        if !back {
            let weight = self.weigh(cpu, task, world);
            self.reweight(cpu, task, weight);
            self.place(cpu, task, joining.initial, true);
            self.join(cpu, task);
        }
        let c = self.c(cpu);
        c.nr_running = c.nr_running.wrapping_add(1);
    }

    /// A delayed task was woken: its debt is what it is now; if that is limited, it is placed anew.
    fn requeue(&mut self, cpu: u32, task: u32) {
        if self.store_lag(cpu, task, Why::Requeued) {
            self.c(cpu).nr_queued = self.cpu(cpu).nr_queued.wrapping_sub(1);
            let in_tree = self.task(task).in_tree;
            if in_tree {
                self.leave(cpu, task);
            }
            self.place(cpu, task, false, false);
            if in_tree {
                self.join(cpu, task);
            }
            self.c(cpu).nr_queued = self.cpu(cpu).nr_queued.wrapping_add(1);
        }
        self.t(task).delayed = false;
        self.c(cpu).nr_runnable = self.cpu(cpu).nr_runnable.wrapping_add(1);
    }
}
