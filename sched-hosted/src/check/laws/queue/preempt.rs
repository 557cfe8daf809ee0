// SPDX-License-Identifier: GPL-2.0-only
//! Whether who was woken preempts who runs, the buddy, and yields.

use super::charge::{LAZY, NOW};
use super::model::{Model, Why, before, earlier};
use sched_core::features::SchedFeat;
use sched_core::sched::{Policy, TASK_ON_RQ_QUEUED};

/// How a task was woken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waking {
    /// By fork.
    pub fork: bool,
    /// The waker sleeps soon.
    pub sync: bool,
}

/// What becomes of who runs.
enum Verdict {
    /// Nothing.
    Leave,
    /// Its protection ends earlier if the shortest request says so.
    Shorten,
    /// It is to make room; `short` for a shorter request, which is preferred in the pick.
    Preempt { short: bool },
}

impl Model {
    /// `task` is queued: is who runs to make room?
    pub fn wakeup_preempt(&mut self, cpu: u32, task: u32, waking: Waking) {
        if self.cpu(cpu).fair_next {
            self.preempt_fair(cpu, task, waking);
        } else {
            self.resched(cpu, NOW);
            self.c(cpu).fair_next = true;
        }
        let c = self.cpu(cpu);
        let on_rq = c.running.map_or(TASK_ON_RQ_QUEUED, |running| self.task(running).on_rq);
        if on_rq == TASK_ON_RQ_QUEUED && self.cpu(cpu).tif & NOW != 0 {
            self.skip_clock(cpu);
        }
    }

    fn preempt_fair(&mut self, cpu: u32, task: u32, waking: Waking) {
        let Some(running) = self.cpu(cpu).running.filter(|&running| running != task) else {
            return;
        };
        let told = self.cpu(cpu).tif & NOW != 0;
        if self.task(task).parked
            || told && !self.on(SchedFeat::PREEMPT_SHORT)
            || !self.on(SchedFeat::WAKEUP_PREEMPTION)
        {
            return;
        }
        match self.verdict(cpu, running, task, waking) {
            Verdict::Leave => {}
            Verdict::Shorten => {
                if self.on(SchedFeat::RUN_TO_PARITY) {
                    self.shorten(cpu, running);
                }
            }
            Verdict::Preempt { short } => {
                if self.is_protected(running) {
                    let t = self.t(running);
                    t.vprot = t.vruntime;
                    t.why.vprot = Why::Preempted;
                }
                let shorter = |m: &Model, next: u32| m.task(next).slice < m.task(task).slice;
                if short && !self.cpu(cpu).next.is_some_and(|next| shorter(self, next)) {
                    self.prefer(cpu, task);
                }
                self.resched(cpu, LAZY);
            }
        }
    }

    fn verdict(&mut self, cpu: u32, running: u32, task: u32, waking: Waking) -> Verdict {
        let (running_idle, task_idle) = (self.is_idle_policy(running), self.is_idle_policy(task));
        if running_idle && !task_idle {
            return Verdict::Preempt { short: false };
        }
        self.charge(cpu);
        let (r, t) = (*self.task(running), *self.task(task));
        if running_idle != task_idle || t.policy != Policy::SCHED_NORMAL || t.delayed {
            return Verdict::Shorten;
        }

        let short = self.on(SchedFeat::PREEMPT_SHORT) && t.slice < r.slice;
        if !short {
            if waking.fork {
                return Verdict::Shorten;
            }
            if self.on(SchedFeat::NEXT_BUDDY) && self.prefer_earlier(cpu, task) && waking.sync {
                // The waker promised to sleep: it has as long as a migration costs.
                let ran = (self.cpu(cpu).clock.wrapping_sub(r.exec_start) as i64).max(0) as u64;
                let over = before(t.deadline, r.deadline) && ran >= self.set.migration_cost;
                return if over { Verdict::Preempt { short: false } } else { Verdict::Leave };
            }
        }

        while self.cpu(cpu).nr_queued != 0 && !self.lost {
            match self.pick_awake(cpu, !short) {
                Some(next) if next == task => return Verdict::Preempt { short },
                Some(_) => break,
                None => {}
            }
        }
        if short && self.is_owed(cpu, self.task(task).vruntime) {
            return Verdict::Preempt { short };
        }
        Verdict::Shorten
    }

    /// `task` becomes the buddy unless the present one's deadline is earlier: false then.
    fn prefer_earlier(&mut self, cpu: u32, task: u32) -> bool {
        let deadline = self.task(task).deadline;
        let next = self.cpu(cpu).next;
        if next.is_some_and(|next| before(self.task(next).deadline, deadline)) {
            return false;
        }
        self.prefer(cpu, task);
        true
    }

    /// `task` is the buddy. None is of SCHED_IDLE.
    pub fn prefer(&mut self, cpu: u32, task: u32) {
        let t = self.task(task);
        if t.queued && !t.delayed && !self.is_idle_policy(task) {
            self.c(cpu).next = Some(task);
        }
    }

    /// The protection of `task` ends, at the latest, one shortest request from itself or V, whichever is earlier.
    fn shorten(&mut self, cpu: u32, task: u32) {
        let shortest = self.shortest(cpu);
        let from = earlier(self.task(task).vruntime, self.average(cpu));
        let end = from.wrapping_add(self.virtual_time(shortest, self.task(task).weight));
        let t = self.t(task);
        if before(end, t.vprot) {
            t.vprot = end;
            t.why.vprot = Why::Shortened;
        }
    }

    /// Who runs gives up the rest of its request, if it is owed service and not alone.
    pub fn give_way(&mut self, cpu: u32) {
        let Some(curr) = self.cpu(cpu).running else { return };
        if self.cpu(cpu).nr_running == 1 {
            return;
        }
        self.forget_buddy(cpu, curr);
        self.update_clock(cpu);
        self.charge(cpu);
        self.skip_clock(cpu);
        if self.is_owed(cpu, self.task(curr).vruntime) {
            let t = self.t(curr);
            t.vruntime = t.deadline;
            t.why.vruntime = Why::Yielded;
            self.renew(cpu, curr);
        }
    }
}
