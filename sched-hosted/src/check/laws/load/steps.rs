// SPDX-License-Identifier: GPL-2.0-only
//! What each operation comes to. What only the queue's side can decide is taken from the class: who runs next, whose
//! dequeue is delayed, and which delayed tasks a pick completed.

use super::group::{NICE_0, Then};
use super::levels::{
    DEQUEUE_DELAYED, DEQUEUE_SLEEP, ENQUEUE_DELAYED, ENQUEUE_MIGRATED, ENQUEUE_WAKEUP,
};
use super::model::{Entity, Model, Who};
use crate::ops::{Op, Policy};

/// The weights of nice -20 to 19.
#[rustfmt::skip]
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];
/// The weight of SCHED_IDLE.
const IDLE_WEIGHT: u64 = 3;
/// The bounds of cpu.shares.
const SHARES: (u64, u64) = (2, 1 << 18);

/// What the class decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Seen {
    /// Who runs after a schedule; none: the idle task.
    pub next: Option<usize>,
    /// The one that blocked was delayed.
    pub delayed: bool,
    /// The group above one that is made.
    pub parent: usize,
}

fn weight_of(prio: i32, idle: bool) -> u64 {
    let at = usize::try_from(prio - 100).unwrap_or(0).min(WEIGHTS.len() - 1);
    (if idle { IDLE_WEIGHT } else { WEIGHTS[at] }) << 10
}

impl Model {
    /// Carries out `op`.
    pub fn step(&mut self, op: &Op, seen: Seen) {
        match *op {
            Op::At { ns } => self.now = ns,
            Op::Task { task, cpu, nice, policy, group, .. } => {
                let group = group.0 as usize;
                let queue = self.queue_of(group, cpu as usize);
                self.fork(task.0 as usize, queue, nice + 120, policy == Policy::Idle);
            }
            Op::New { task } => self.wake_new(task.0 as usize),
            Op::Wake { task, cpu, .. } => self.wake(task.0 as usize, cpu.map(|cpu| cpu as usize)),
            Op::Schedule { cpu } => self.schedule(cpu as usize, false, seen),
            Op::Block { cpu } => self.schedule(cpu as usize, true, seen),
            Op::Exit { cpu } => {
                let dead = self.rqs[cpu as usize].curr;
                self.schedule(cpu as usize, true, Seen { delayed: false, ..seen });
                if let Some(dead) = dead {
                    self.remove(Who::Task(dead));
                    self.em(Who::Task(dead)).live = false;
                }
            }
            Op::Tick { cpu } => {
                self.look(cpu as usize);
                if let Some(curr) = self.rqs[cpu as usize].curr {
                    self.tick(curr);
                }
            }
            Op::Yield { cpu } | Op::YieldTo { cpu, .. } => {
                let cpu = cpu as usize;
                if self.q(cpu).h_nr_queued != 1 {
                    self.look(cpu);
                    self.charge_curr(cpu);
                    self.rqs[cpu].skip = true;
                }
            }
            Op::Nice { task, nice } => {
                let task = task.0 as usize;
                let (prio, idle) = (nice + 120, self.tasks[task].idle_policy);
                if self.tasks[task].prio != prio {
                    self.change(task, |model| model.set_parameters(task, prio, idle));
                }
            }
            Op::Param { task, policy, nice, .. } => {
                let (task, idle) = (task.0 as usize, policy == Policy::Idle);
                self.change(task, |model| model.set_parameters(task, nice + 120, idle));
            }
            Op::Move { task, group } => self.change_group(task.0 as usize, group.0 as usize),
            Op::Migrate { task, cpu } => self.migrate(task.0 as usize, cpu as usize),
            Op::UpdateCurr { cpu } => {
                self.look(cpu as usize);
                self.charge_all(cpu as usize);
            }
            Op::UpdateBlocked { cpu } => {
                self.look(cpu as usize);
                self.update_blocked(cpu as usize);
            }
            Op::FinishDelayed { task } => {
                self.look(self.cpu_of(self.tasks[task.0 as usize].queue));
                self.dequeue(task.0 as usize, DEQUEUE_SLEEP | DEQUEUE_DELAYED, false);
            }
            Op::Timers => self.run_timers(),
            Op::UserReturn { cpu } => self.user_return(cpu as usize),
            Op::Group { group, shares } => self.make_group(group.0 as usize, seen.parent, shares),
            Op::Shares { group, shares } => self.write_shares(group.0 as usize, shares),
            Op::GroupIdle { group, idle } => self.set_group_idle(group.0 as usize, idle),
            Op::Quota { group, period_us, quota_us } => {
                self.set_quota(group.0 as usize, period_us, quota_us);
            }
        }
    }

    // ---- tasks -----------------------------------------------------------------------------------------------------

    fn fork(&mut self, task: usize, queue: usize, prio: i32, idle_policy: bool) {
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, Entity::default);
        }
        let weight = weight_of(prio, idle_policy);
        let group = self.group_of(queue);
        let e = self.em(Who::Task(task));
        let fresh = Entity { weight, queue, group, prio, idle_policy, ..Entity::default() };
        *e = Entity { live: true, new: true, stamp: e.stamp, ..fresh };
        self.tasks[task].avg.load_avg = super::group::down(weight);
    }

    /// wake_up_new_task().
    fn wake_new(&mut self, task: usize) {
        let who = Who::Task(task);
        let cpu = self.cpu_of(self.tasks[task].queue);
        let queue = self.queue_of(self.tasks[task].group, cpu);
        self.em(who).queue = queue;
        self.look(cpu);

        // It is assumed to need what others of its weight do, and half of what is left at most.
        let of = self.q(queue).avg;
        let most = 1024u64.wrapping_sub(of.util_avg) as i64 / 2;
        let e = self.em(who);
        if most > 0 {
            e.avg.util_avg = if of.util_avg == 0 {
                most as u64
            } else {
                let weight = super::group::down(e.weight);
                (of.util_avg.wrapping_mul(weight) / (of.load_avg + 1)).min(most as u64)
            };
        }
        e.avg.runnable_avg = e.avg.util_avg;
        e.new = false;
        self.enqueue_task(task, 0);
        self.em(who).p_on_rq = true;
        self.preempt(cpu, task);
    }

    /// try_to_wake_up().
    fn wake(&mut self, task: usize, to: Option<usize>) {
        let who = Who::Task(task);
        let cpu = self.cpu_of(self.tasks[task].queue);
        if self.tasks[task].p_on_rq {
            self.look(cpu);
            self.enqueue_task(task, ENQUEUE_DELAYED);
            if self.rqs[cpu].curr != Some(task) {
                self.preempt(cpu, task);
            }
            return;
        }
        let (to, mut flags) = (to.unwrap_or(cpu), ENQUEUE_WAKEUP);
        if to != cpu {
            self.leave_cpu(who, false);
            self.em(who).queue = self.queue_of(self.tasks[task].group, to);
            flags |= ENQUEUE_MIGRATED;
        }
        self.look(to);
        self.enqueue_task(task, flags);
        self.em(who).p_on_rq = true;
        self.preempt(to, task);
    }

    /// move_queued_task().
    fn migrate(&mut self, task: usize, to: usize) {
        let who = Who::Task(task);
        self.look(self.cpu_of(self.tasks[task].queue));
        self.leave_for(task, 0, true);
        self.leave_cpu(who, true);
        self.em(who).queue = self.queue_of(self.tasks[task].group, to);
        self.look(to);
        self.enqueue_task(task, ENQUEUE_MIGRATED);
        self.preempt(to, task);
    }

    /// __schedule(). The update of the clock is left out if that was asked for.
    fn schedule(&mut self, cpu: usize, blocks: bool, seen: Seen) {
        if !core::mem::take(&mut self.rqs[cpu].skip) {
            self.look(cpu);
        }
        let prev = self.rqs[cpu].curr;
        if let Some(prev) = prev.filter(|_| blocks) {
            if seen.delayed {
                self.delay(prev);
            } else {
                self.dequeue_task(prev, DEQUEUE_SLEEP);
                self.em(Who::Task(prev)).p_on_rq = false;
            }
        }
        let competes = self.rqs[cpu].cfs_curr.is_some_and(|curr| self.tasks[curr].on_rq);
        if competes && self.q(cpu).h_nr_queued != 0 {
            self.charge_curr(cpu);
        }
        self.complete();
        if seen.next != prev {
            self.switch(cpu, seen.next);
            self.rqs[cpu].curr = seen.next;
        }
        self.rqs[cpu].resched = false;
    }

    /// The dequeues that the pick completed.
    fn complete(&mut self) {
        let completed = core::mem::take(&mut self.completed);
        for &task in &completed {
            self.dequeue(task, DEQUEUE_SLEEP | DEQUEUE_DELAYED, false);
        }
        self.completed = completed;
        self.completed.clear();
    }

    /// wakeup_preempt(): all but the question who wins.
    fn preempt(&mut self, cpu: usize, task: usize) {
        let curr = self.rqs[cpu].curr;
        match curr {
            None => self.rqs[cpu].resched = true,
            Some(curr) => self.preempt_fair(cpu, curr, task),
        }
        if self.rqs[cpu].resched && curr.is_none_or(|curr| self.tasks[curr].p_on_rq) {
            self.rqs[cpu].skip = true;
        }
    }

    fn preempt_fair(&mut self, cpu: usize, curr: usize, task: usize) {
        let (donor, p) = (&self.tasks[curr], &self.tasks[task]);
        let asked = !self.set.preempt_short && self.rqs[cpu].resched;
        let lowly = donor.idle_policy && !p.idle_policy;
        if curr == task || p.parked || asked || !self.set.wakeup_preemption || lowly {
            return;
        }
        self.charge_all(cpu);
        self.complete();
    }

    /// sched_change: out of its queue, and off its CPU, and back.
    fn change(&mut self, task: usize, change: impl FnOnce(&mut Model)) -> (bool, bool) {
        let cpu = self.cpu_of(self.tasks[task].queue);
        self.look(cpu);
        let (queued, prio) = (self.tasks[task].p_on_rq, self.tasks[task].prio);
        let running = self.rqs[cpu].curr == Some(task);
        if queued {
            self.dequeue_task(task, 0);
        }
        if running {
            self.put_prev(task, None);
        }
        change(self);
        if queued {
            self.enqueue_task(task, 0);
        }
        if running {
            self.set_next(task, false);
        }
        let new = self.tasks[task].prio;
        if queued && new != prio && self.q(cpu).h_nr_queued != 1 {
            if !running {
                self.preempt(cpu, task);
            } else if new > prio {
                self.rqs[cpu].resched = true;
            }
        }
        (queued, running)
    }

    fn set_parameters(&mut self, task: usize, prio: i32, idle: bool) {
        let e = self.em(Who::Task(task));
        (e.prio, e.idle_policy) = (prio, idle);
        self.reweight_task(task, weight_of(prio, idle));
    }

    /// sched_move_task().
    fn change_group(&mut self, task: usize, group: usize) {
        let who = Who::Task(task);
        let cpu = self.cpu_of(self.tasks[task].queue);
        let (queued, running) = self.change(task, |model| {
            model.em(who).group = group;
            if model.tasks[task].new {
                return;
            }
            model.detach_from_queue(who);
            let queue = model.queue_of(group, cpu);
            let e = model.em(who);
            e.avg.last_update_time = 0;
            e.queue = queue;
            model.attach_to_queue(who);
        });
        if running {
            self.rqs[cpu].resched = true;
        } else if queued {
            self.preempt(cpu, task);
        }
    }

    // ---- groups ----------------------------------------------------------------------------------------------------

    fn make_group(&mut self, group: usize, parent: usize, shares: Option<u64>) {
        self.make_room(group);
        let depth = self.groups[parent].depth + 1;
        self.made += 1;
        let order = self.made;
        let tg = &mut self.groups[group];
        (tg.live, tg.order, tg.parent, tg.depth) = (true, order, Some(parent), depth);
        self.groups[parent].children.insert(0, group);
        for cpu in 0..self.cpus {
            let (queue, above) = (self.queue_of(group, cpu), self.queue_of(parent, cpu));
            let gse = self.em(Who::Gse(queue));
            (gse.weight, gse.queue, gse.live) = (NICE_0, above, true);
        }
        for cpu in 0..self.cpus {
            let queue = self.queue_of(group, cpu);
            self.look(cpu);
            self.attach_to_queue(Who::Gse(queue));
            self.sync_throttle(queue);
        }
        if let Some(shares) = shares.filter(|&shares| shares != 1024) {
            self.write_shares(group, shares);
        }
    }

    fn write_shares(&mut self, group: usize, shares: u64) {
        if !self.groups[group].idle {
            self.set_shares(group, shares);
        }
    }

    /// `shares` in units of cpu.shares.
    fn set_shares(&mut self, group: usize, shares: u64) {
        let shares = shares.clamp(SHARES.0, SHARES.1) << 10;
        if self.groups[group].shares == shares {
            return;
        }
        self.groups[group].shares = shares;
        for cpu in 0..self.cpus {
            self.look(cpu);
            let mut walk = Some(Who::Gse(self.queue_of(group, cpu)));
            while let Some(who) = walk {
                self.update_load(self.e(who).queue, who, Then::tg());
                self.update_share(who);
                walk = self.parent(who);
            }
        }
    }

    fn set_group_idle(&mut self, group: usize, idle: bool) {
        if self.groups[group].idle == idle {
            return;
        }
        self.groups[group].idle = idle;
        for cpu in 0..self.cpus {
            let queue = self.queue_of(group, cpu);
            let q = self.qm(queue);
            q.idle = idle;
            let normal = q.h_nr_queued.wrapping_sub(q.h_nr_idle);
            let more = if idle { normal } else { normal.wrapping_neg() };
            let mut walk = Some(Who::Gse(queue)).filter(|&who| self.e(who).on_rq);
            while let Some(who) = walk {
                let q = self.qm(self.e(who).queue);
                q.h_nr_idle = q.h_nr_idle.wrapping_add(more);
                if q.idle {
                    break;
                }
                walk = self.parent(who).filter(|&who| self.e(who).on_rq);
            }
        }
        self.set_shares(group, if idle { IDLE_WEIGHT } else { 1024 });
    }
}
