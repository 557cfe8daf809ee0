// SPDX-License-Identifier: GPL-2.0-only
//! A task joins and leaves the levels of its path, begins and stops to run on them.

use super::group::{NICE_0, Then};
use super::model::{Model, Who};

pub(super) const DEQUEUE_SLEEP: u32 = 0x1;
pub(super) const DEQUEUE_DELAYED: u32 = 0x20;
pub(super) const DEQUEUE_THROTTLE: u32 = 0x2_0000;
pub(super) const ENQUEUE_WAKEUP: u32 = 0x1;
pub(super) const ENQUEUE_DELAYED: u32 = 0x20;
pub(super) const ENQUEUE_MIGRATED: u32 = 0x4_0000;

impl Model {
    /// update_rq_clock().
    pub fn look(&mut self, cpu: usize) {
        let now = self.now;
        let rq = &mut self.rqs[cpu];
        let delta = now.wrapping_sub(rq.clock);
        if (delta as i64) < 0 {
            return;
        }
        rq.clock = now;
        rq.clock_task = rq.clock_task.wrapping_add(delta);
        if rq.curr.is_none() {
            self.pelt_catches_up(cpu);
        } else {
            // By a capacity of 1024: only the wrap of the product is left of it.
            let scaled = delta.wrapping_mul(1024) >> 10;
            rq.clock_pelt = rq.clock_pelt.wrapping_add(scaled);
        }
    }

    fn pelt_catches_up(&mut self, cpu: usize) {
        let rq = &mut self.rqs[cpu];
        rq.clock_pelt = rq.clock_task;
        rq.clock_idle = rq.clock;
        rq.clock_pelt_idle = rq.clock_pelt.wrapping_sub(rq.lost_idle_time);
    }

    /// The CPU becomes idle: what a fully busy one is behind is lost.
    fn pelt_idles(&mut self, cpu: usize) {
        let full = ((super::pelt::MAX - 1024) << 10) - super::pelt::MAX;
        if self.q(cpu).avg.util_sum >= full {
            let rq = &mut self.rqs[cpu];
            let lost = rq.clock_task.wrapping_sub(rq.clock_pelt);
            rq.lost_idle_time = rq.lost_idle_time.wrapping_add(lost);
        }
        self.pelt_catches_up(cpu);
    }

    // ---- arrival ---------------------------------------------------------------------------------------------------

    /// enqueue_task_fair().
    pub fn enqueue_task(&mut self, task: usize, flags: u32) {
        let who = Who::Task(task);
        let cpu = self.cpu_of(self.tasks[task].queue);
        if self.tasks[task].parked && self.enqueue_parked(task) {
            return;
        }
        let woken_delayed = flags & ENQUEUE_DELAYED != 0;
        if (!self.tasks[task].delayed || woken_delayed) && self.set.util_est {
            let est = self.tasks[task].avg.util_est & !super::pelt::UNCHANGED;
            let sum = &mut self.qm(cpu).avg.util_est;
            *sum = sum.wrapping_add(est);
        }
        if !(woken_delayed && self.set.uncharged_requeue) {
            self.charge_curr(cpu);
        }
        if woken_delayed {
            self.requeue(task);
            return;
        }
        let runs = self.rqs[cpu].cfs_curr == Some(task);
        let weight = self.join_levels(who, flags);
        if !runs {
            self.em(who).h_load = weight;
        }
    }

    /// requeue_delayed_entity(): the update is of the root queue, also for a task of a group.
    fn requeue(&mut self, task: usize) {
        let cpu = self.cpu_of(self.tasks[task].queue);
        self.update_load(cpu, Who::Task(task), Then::default());
        self.set_delayed(task, false);
    }

    /// set_delayed() and clear_delayed().
    fn set_delayed(&mut self, task: usize, delayed: bool) {
        self.em(Who::Task(task)).delayed = delayed;
        let mut walk = Some(Who::Task(task));
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            let nr = &mut self.qm(queue).h_nr_runnable;
            *nr = if delayed { nr.wrapping_sub(1) } else { nr.wrapping_add(1) };
            walk = self.parent(who);
        }
    }

    /// enqueue_hierarchy(): the flat weight.
    fn join_levels(&mut self, task: Who, flags: u32) -> u64 {
        let mut weight = NICE_0;
        let e = self.e(task);
        let runnable = u32::from(flags & ENQUEUE_WAKEUP != 0 || !e.delayed);
        let mut idle = u32::from(e.idle_policy);
        let mut migrated = flags & ENQUEUE_MIGRATED != 0;
        let mut walk = Some(task);
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            self.charge(queue);
            if self.e(who).on_rq {
                self.follow(queue, who);
            } else {
                self.join(queue, who, migrated);
            }
            let q = self.qm(queue);
            q.h_nr_runnable = q.h_nr_runnable.wrapping_add(runnable);
            q.h_nr_queued = q.h_nr_queued.wrapping_add(1);
            q.h_nr_idle = q.h_nr_idle.wrapping_add(idle);
            if q.idle {
                idle = 1;
            }
            weight = self.prop(who, weight);
            migrated = false;
            walk = self.parent(who);
        }
        weight
    }

    /// A level that the task is on already, or still: its entity follows.
    fn follow(&mut self, queue: usize, who: Who) {
        self.update_load(queue, who, Then::tg());
        self.update_runnable(who);
        self.update_share(who);
    }

    /// enqueue_entity().
    fn join(&mut self, queue: usize, who: Who, migrated: bool) {
        self.update_load(queue, who, Then { attach: true, ..Then::tg() });
        self.update_runnable(who);
        self.update_share(who);
        let e = self.em(who);
        e.on_rq = true;
        if migrated {
            e.exec_start = 0;
        }
        let weight = e.weight;
        let q = self.qm(queue);
        q.load = q.load.wrapping_add(weight);
        q.nr_queued = q.nr_queued.wrapping_add(1);
        if q.nr_queued == 1 {
            self.check_enqueue(queue);
            self.add_leaf(queue);
            if self.q(queue).pelt_stands {
                self.start_pelt(queue);
            }
        }
    }

    // ---- departure -------------------------------------------------------------------------------------------------

    /// dequeue_task_fair(), of a task that is not delayed by it.
    pub fn dequeue_task(&mut self, task: usize, flags: u32) {
        self.leave_for(task, flags, false);
    }

    /// The same; `migrating` says that it goes to another CPU.
    pub fn leave_for(&mut self, task: usize, flags: u32, migrating: bool) {
        if self.tasks[task].parked {
            self.dequeue_parked(task, flags, migrating);
            return;
        }
        self.drop_estimate(task);
        self.dequeue(task, flags, migrating);
    }

    /// dequeue_task_fair() of one that goes to sleep and is delayed.
    pub fn delay(&mut self, task: usize) {
        let who = Who::Task(task);
        let queue = self.tasks[task].queue;
        self.drop_estimate(task);
        self.charge_curr(self.cpu_of(queue));
        self.update_load(queue, who, Then { estimate: true, ..Then::default() });
        self.set_delayed(task, true);
    }

    fn drop_estimate(&mut self, task: usize) {
        let e = &self.tasks[task];
        if !e.delayed && self.set.util_est {
            let est = e.avg.util_est & !super::pelt::UNCHANGED;
            let cpu = self.cpu_of(e.queue);
            let sum = &mut self.qm(cpu).avg.util_est;
            *sum = sum.saturating_sub(est);
        }
    }

    /// __dequeue_task(), of one that is not delayed by it.
    pub fn dequeue(&mut self, task: usize, flags: u32, migrating: bool) {
        self.charge_curr(self.cpu_of(self.tasks[task].queue));
        self.leave_levels(Who::Task(task), flags, migrating);
        if flags & DEQUEUE_DELAYED != 0 {
            self.set_delayed(task, false);
            self.em(Who::Task(task)).p_on_rq = false;
        }
    }

    /// dequeue_hierarchy().
    fn leave_levels(&mut self, task: Who, flags: u32, migrating: bool) {
        let sleep = flags & DEQUEUE_SLEEP != 0;
        let delayed = flags & DEQUEUE_DELAYED != 0;
        let e = self.e(task);
        let runnable = u32::from(sleep || delayed || !e.delayed);
        let mut idle = u32::from(e.idle_policy);
        let mut leaves = true;
        let mut then = Then { detach: migrating, estimate: sleep && !delayed, ..Then::tg() };
        let mut walk = Some(task);
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            self.charge(queue);
            if leaves {
                self.leave(queue, who, then);
                leaves = self.q(queue).load == 0;
            } else {
                self.follow(queue, who);
            }
            let q = self.qm(queue);
            q.h_nr_runnable = q.h_nr_runnable.wrapping_sub(runnable);
            q.h_nr_queued = q.h_nr_queued.wrapping_sub(1);
            q.h_nr_idle = q.h_nr_idle.wrapping_sub(idle);
            if q.idle {
                idle = 1;
            }
            if flags & DEQUEUE_THROTTLE != 0 && q.throttle_count != 0 {
                self.record_throttle(queue);
            }
            then = Then::tg();
            walk = self.parent(who);
        }
    }

    /// dequeue_entity().
    fn leave(&mut self, queue: usize, who: Who, then: Then) {
        self.update_load(queue, who, then);
        self.update_runnable(who);
        let e = self.em(who);
        e.on_rq = false;
        let weight = e.weight;
        let q = self.qm(queue);
        q.load = q.load.wrapping_sub(weight);
        q.nr_queued = q.nr_queued.wrapping_sub(1);
        self.give_back(queue);
        self.update_share(who);
        if self.q(queue).nr_queued == 0 {
            self.note_idle(queue);
            if self.q(queue).throttle_count != 0 {
                self.stop_pelt(queue);
            }
        }
    }

    // ---- running ---------------------------------------------------------------------------------------------------

    /// put_prev_task_fair(): levels that `next` shares stay.
    pub fn put_prev(&mut self, prev: usize, next: Option<usize>) {
        let cpu = self.cpu_of(self.tasks[prev].queue);
        let mut other = next.map(Who::Task);
        let mut walk = Some(Who::Task(prev));
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            if other.is_none() || self.q(queue).h_curr.is_some() {
                if self.e(who).on_rq {
                    self.charge(queue);
                    self.update_load(queue, who, Then::default());
                }
                self.qm(queue).h_curr = None;
            }
            if let Some(next) = other {
                if self.e(next).queue == queue {
                    break;
                }
                let (theirs, ours) = (self.depth(next), self.depth(who));
                if theirs >= ours {
                    other = self.parent(next);
                    if theirs > ours {
                        continue;
                    }
                }
            }
            walk = self.parent(who);
        }
        self.rqs[cpu].cfs_curr = None;
    }

    /// set_next_task_fair().
    pub fn set_next(&mut self, task: usize, first: bool) {
        let on_rq = self.tasks[task].on_rq;
        let cpu = self.cpu_of(self.tasks[task].queue);
        let (mut throttled, mut weight) = (false, NICE_0);
        let mut walk = Some(Who::Task(task));
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            if !first || self.q(queue).h_curr.is_none() {
                if self.e(who).on_rq {
                    self.update_load(queue, who, Then::tg());
                }
                self.em(who).exec_start = self.rqs[cpu].clock_task;
                self.qm(queue).h_curr = Some(who);
            }
            throttled |= self.account(queue, 0);
            if on_rq {
                weight = self.prop(who, weight);
            }
            walk = self.parent(who);
        }
        let e = self.em(Who::Task(task));
        e.work |= throttled;
        if on_rq {
            e.h_load = weight;
        }
        self.rqs[cpu].cfs_curr = Some(task);
    }

    /// put_prev_set_next_task(), of two different ones; none is the idle task.
    pub fn switch(&mut self, cpu: usize, next: Option<usize>) {
        if let Some(prev) = self.rqs[cpu].curr {
            self.put_prev(prev, next);
        }
        match next {
            Some(next) => self.set_next(next, true),
            None => self.pelt_idles(cpu),
        }
    }

    /// task_tick_fair().
    pub fn tick(&mut self, task: usize) {
        if !self.tasks[task].on_rq {
            return;
        }
        let mut weight = NICE_0;
        let mut walk = Some(Who::Task(task));
        while let Some(who) = walk {
            let queue = self.e(who).queue;
            self.charge(queue);
            self.update_load(queue, who, Then::tg());
            self.update_share(who);
            weight = self.prop(who, weight);
            walk = self.parent(who);
        }
        self.em(Who::Task(task)).h_load = weight;
    }

    /// reweight_task_fair().
    pub fn reweight_task(&mut self, task: usize, weight: u64) {
        let who = Who::Task(task);
        if self.tasks[task].on_rq {
            self.charge_all(self.cpu_of(self.tasks[task].queue));
        }
        self.reweight(who, weight);
        if self.tasks[task].on_rq {
            let mut weight = NICE_0;
            let mut walk = Some(who);
            while let Some(who) = walk {
                weight = self.prop(who, weight);
                walk = self.parent(who);
            }
            self.em(who).h_load = weight;
        }
    }
}
