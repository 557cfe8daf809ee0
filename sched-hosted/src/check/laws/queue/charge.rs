// SPDX-License-Identifier: GPL-2.0-only
//! Clocks, what running costs, the end of a request, and requests to reschedule.

use super::model::{Model, Why, before};

/// The bits of rq->clock_update_flags.
pub(super) const REQ_SKIP: u32 = 1;
const ACT_SKIP: u32 = 2;
const UPDATED: u32 = 4;
/// The thread flags: schedule at once; schedule before long.
pub(super) const NOW: u32 = 1;
pub(super) const LAZY: u32 = 2;

impl Model {
    /// A section under rq->__lock begins: the clock was not looked at in it.
    pub fn lock(&mut self, cpu: u32) {
        self.c(cpu).clock_flags &= REQ_SKIP | ACT_SKIP;
    }

    /// The clock is looked at.
    pub fn update_clock(&mut self, cpu: u32) {
        let now = self.now;
        let c = self.c(cpu);
        if c.clock_flags & ACT_SKIP != 0 {
            return;
        }
        c.clock_flags |= UPDATED;
        c.clock = c.clock.max(now);
    }

    /// The clock as the schedule looks at it: not, if a yield asked for that.
    pub fn schedule_clock(&mut self, cpu: u32) {
        self.lock(cpu);
        self.c(cpu).clock_flags <<= 1;
        self.update_clock(cpu);
        self.c(cpu).clock_flags = UPDATED;
    }

    /// The schedule that comes need not look at the clock.
    pub fn skip_clock(&mut self, cpu: u32) {
        self.c(cpu).clock_flags |= REQ_SKIP;
    }

    /// Who runs is told to schedule; an idle CPU never lazily.
    pub fn resched(&mut self, cpu: u32, how: u32) {
        let c = self.c(cpu);
        let how = if c.running.is_none() { NOW } else { how };
        if c.tif & (how | NOW) == 0 {
            c.tif |= how;
        }
    }

    /// curr pays for the time since it was last charged: once, by its weight. That may end its request; when its
    /// turn is over, and it is not alone, it is told so, and is not preferred any longer.
    pub fn charge(&mut self, cpu: u32) {
        let Some(curr) = self.cpu(cpu).curr else { return };
        let now = self.cpu(cpu).clock;
        let delta = now.wrapping_sub(self.task(curr).exec_start);
        if delta as i64 <= 0 {
            return;
        }
        let cost = self.virtual_time(delta, self.task(curr).weight);
        let t = self.t(curr);
        t.exec_start = now;
        t.sum_exec = t.sum_exec.wrapping_add(delta);
        t.vruntime = t.vruntime.wrapping_add(cost);
        t.why.vruntime = Why::Charged;

        let ended = self.renew(cpu, curr);
        if self.cpu(cpu).nr_queued == 1 {
            return;
        }
        if ended || !self.is_protected(curr) {
            self.resched(cpu, LAZY);
            self.forget_buddy(cpu, curr);
        }
    }

    /// If the request of `task` is used up the next begins where it is: true then.
    pub fn renew(&mut self, cpu: u32, task: u32) -> bool {
        let base_slice = self.set.base_slice;
        let t = self.t(task);
        if before(t.vruntime, t.deadline) {
            return false;
        }
        if !t.custom {
            t.slice = base_slice;
        }
        let (slice, weight) = (t.slice, t.weight);
        let request = self.virtual_time(slice, weight);
        let t = self.t(task);
        t.deadline = t.vruntime.wrapping_add(request);
        t.why.deadline = Why::Renewed;
        self.average(cpu);
        true
    }

    /// Before its protection ends.
    pub fn is_protected(&self, task: u32) -> bool {
        let t = self.task(task);
        before(t.vruntime, t.vprot)
    }

    /// `task` is not preferred any longer.
    pub fn forget_buddy(&mut self, cpu: u32, task: u32) {
        if self.cpu(cpu).next == Some(task) {
            self.c(cpu).next = None;
        }
    }
}
