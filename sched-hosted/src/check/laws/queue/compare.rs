// SPDX-License-Identifier: GPL-2.0-only
//! The state after an operation against what the rules make of the state before it, field by field.

use super::explain;
use super::model::{Model, Task, Whys};
use crate::check::Report;
use crate::ops::driver::Driver;
use crate::ops::{Op, TaskName};
use sched_core::sched::{self, Rq, SchedClass, TaskStruct};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

impl Model {
    /// Reports what differs, of each runqueue and task the first thing only: the others follow from it. True if all is
    /// as it has to be.
    pub fn compare<H: Hooks>(
        &mut self,
        driver: &Driver<'_, H>,
        op: &Op,
        report: &mut Report<'_>,
    ) -> bool {
        self.turn = self.turn.wrapping_add(1);
        let mut same = true;
        for rq in driver.machine().runqueues() {
            same &= self.same_runqueue(rq);
        }
        for (name, p) in driver.task_structs() {
            same &= self.same_task(name, p);
        }
        if same && self.weighed.is_empty() {
            return true;
        }
        let found = report.found.len();
        self.tell(driver, op, report);
        report.found.len() == found && same
    }

    #[inline(always)]
    fn same_runqueue<'a, H: Hooks>(&self, rq: &'a Rq<'a, H>) -> bool {
        let c = self.cpu(rq.cpu);
        let cfs_rq = &rq.cfs;
        let curr = rq.curr();
        let running = if sched::is_idle_task(curr) { u32::MAX } else { curr.pid.get() };
        let name = |se: Option<&sched::SchedEntity<'a, H>>| {
            se.map_or(u32::MAX, |se| sched::task_of(se).pid.get())
        };
        let differs = u64::from(running ^ c.running.unwrap_or(u32::MAX))
            | u64::from(name(cfs_rq.curr.get()) ^ c.curr.unwrap_or(u32::MAX))
            | u64::from(name(cfs_rq.next.get()) ^ c.next.unwrap_or(u32::MAX))
            | (rq.clock.get() ^ c.clock)
            | (rq.clock_task.get() ^ c.clock)
            | u64::from(rq.clock_update_flags.get().bits() ^ c.clock_flags)
            | u64::from(curr.thread_info_flags.load(Ordering::Relaxed) ^ c.tif)
            | u64::from((rq.next_class.get() == SchedClass::Fair) != c.fair_next)
            | u64::from(rq.nr_running.get() ^ c.nr_running)
            | (rq.nr_switches.get() ^ c.nr_switches)
            | (cfs_rq.zero_vruntime.get() ^ c.zero)
            | u64::from(cfs_rq.sum_shift.get() ^ c.shift)
            | u64::from(cfs_rq.h_nr_queued.get() ^ c.nr_queued)
            | u64::from(cfs_rq.h_nr_runnable.get() ^ c.nr_runnable);
        differs == 0
    }

    /// Of a task that the operation does not concern, virtual time, service and protection are looked at after every
    /// operation while it is queued; the rest, and sleepers, after every eighth.
    #[inline(always)]
    fn same_task<'a, H: Hooks>(&mut self, name: TaskName, p: &'a TaskStruct<'a, H>) -> bool {
        let Some(Some(t)) = self.tasks.get_mut(name.0 as usize) else { return false };
        let closely = t.touched || name.0.wrapping_sub(self.turn) & 7 == 0;
        if !closely && !t.queued {
            return true;
        }
        let se = &p.se;
        let differs = (se.vruntime.get() ^ t.vruntime)
            | (se.deadline.get() ^ t.deadline)
            | (se.vlag.get() ^ t.vlag) as u64
            | (se.vprot.get() ^ t.vprot)
            | (se.slice.get() ^ t.slice)
            | (se.h_load.weight.get() ^ t.weight)
            | (se.exec_start.get() ^ t.exec_start)
            | (se.sum_exec_runtime.get() ^ t.sum_exec);
        let flags = (se.on_rq.get() ^ t.queued)
            | (se.sched_delayed.get() ^ t.delayed)
            | (se.rel_deadline.get() ^ t.relative)
            | (se.custom_slice.get() ^ t.custom);
        if differs != 0 || flags {
            return false;
        }
        if !closely {
            return true;
        }
        let same = same_rest(t, p);
        if same {
            t.why = Whys::default();
            t.touched = false;
        }
        same
    }

    /// Who runs first, then clocks and tasks; requests to reschedule, the buddy and what is counted follow from those,
    /// as a rule, so they are told if nothing else is.
    #[cold]
    fn tell<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op, report: &mut Report<'_>) {
        let runqueues = driver.machine().runqueues();
        let found = report.found.len();
        for rq in runqueues {
            if !self.same_runqueue(rq) {
                explain::who_runs(self, rq, report);
            }
        }
        if report.found.len() != found {
            return;
        }
        for (name, p) in driver.task_structs() {
            if !self.same_task(name, p) {
                match self.tasks.get(name.0 as usize) {
                    Some(Some(t)) => explain::task(self, t, name, p, op, report),
                    _ => report.task("I-ONLY", name, "", "is there, but was not made".to_string()),
                }
            }
        }
        for at in 0..self.weighed.len() {
            let (task, changes) = self.weighed[at];
            let Some(Some(t)) = self.tasks.get(task as usize) else { continue };
            if changes == self.cpu(t.cpu).changes {
                explain::weight(driver, t, TaskName(task), report);
            }
        }
        if report.found.len() == found {
            for rq in runqueues {
                if !self.same_runqueue(rq) {
                    explain::runqueue(self, rq, report);
                }
            }
        }
    }
}

/// Parameters, states, and the like.
fn same_rest<'a, H: Hooks>(t: &Task, p: &'a TaskStruct<'a, H>) -> bool {
    let se = &p.se;
    p.throttled.get() == t.parked
        && se.load.weight.get() == t.load
        && se.prev_sum_exec_runtime.get() == t.prev_sum_exec
        && se.nr_migrations.get() == t.migrations
        && sched::task_cpu(p) == t.cpu
        && p.sched_task_group.get().map_or(0, |tg| tg.id.get()) == t.group
        && p.__state.load(Ordering::Relaxed) == t.state
        && p.on_rq.load(Ordering::Relaxed) == t.on_rq
        && p.static_prio.get() == t.static_prio
        && p.prio.get() == t.static_prio
        && p.policy.get() == t.policy
}
