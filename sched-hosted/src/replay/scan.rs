// SPDX-License-Identifier: GPL-2.0-only
//! The first look: which events, columns and tasks a recording has, and where each task was when it was first seen.
//!
//! A replay looks so at the beginning of a recording before it follows it, since a task that is queued at the start
//! shows only when it is picked, but competes from the first decision on.

use super::pids::Pids;
use crate::trace::event::{Event, Kind, PrevState, Subject};
use crate::trace::script::Start;

/// A task at first sight.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Its pid.
    pub pid: u32,
    /// Its comm then.
    pub comm: Vec<u8>,
    /// Its prio, where one was recorded: 120 + nice.
    pub prio: Option<i32>,
    /// The CPU on which it was.
    pub cpu: u32,
    /// Where it was when the recording began.
    pub start: Start,
}

/// How often each kind of event was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// sched_switch.
    pub switch: u64,
    /// sched_waking.
    pub waking: u64,
    /// sched_wakeup.
    pub wakeup: u64,
    /// sched_wakeup_new.
    pub wakeup_new: u64,
    /// sched_process_fork.
    pub fork: u64,
    /// sched_process_exit.
    pub exit: u64,
    /// sched_stat_runtime.
    pub stat_runtime: u64,
    /// sched_migrate_task.
    pub migrate: u64,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The tasks, in the order in which they were seen.
    pub tasks: Vec<Sight>,
    /// The events.
    pub kinds: Kinds,
    /// Events in which the latency-flags column was there.
    pub with_flags: u64,
    /// Events in a hard interrupt.
    pub in_interrupt: u64,
    /// Switches away from a task that died.
    pub deaths: u64,
    /// The highest CPU number of an event, plus 1.
    pub nr_cpus: u32,
    /// Timestamps that were no multiple of 1 us.
    pub below_us: u64,
    /// The first and the last timestamp: absolute, ns.
    pub span_ns: Option<(u64, u64)>,
    /// Charges added up, and by the idle tasks' absence the time that was covered: ns.
    pub charged_ns: u64,
    /// By CPU: what ran there for how long, without its idle task: ns.
    pub busy_ns: u64,
    by_pid: Pids,
    cpus: Vec<CpuSeen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuSeen {
    since_ns: u64,
    busy: Option<bool>,
}

impl Scan {
    /// Takes the next event.
    pub fn event(&mut self, event: &Event<'_>) {
        let (first_ns, _) = self.span_ns.unwrap_or((event.ts_ns, event.ts_ns));
        self.span_ns = Some((first_ns, event.ts_ns));
        self.nr_cpus = self.nr_cpus.max(event.cpu + 1);
        self.with_flags += u64::from(event.context.asked.is_some());
        self.in_interrupt += u64::from(event.context.hard_interrupt);
        self.below_us += u64::from(!event.ts_ns.is_multiple_of(1000));
        match event.kind {
            Kind::Switch { prev, .. } => self.sight(event, prev, Start::Running),
            _ => self.sight(event, event.current, Start::Running),
        }
        match event.kind {
            Kind::Switch { prev_state, next, .. } => {
                self.kinds.switch += 1;
                self.deaths += u64::from(prev_state == PrevState::Dead);
                self.sight(event, next, Start::Queued);
                self.busy(event, next.pid != 0);
            }
            Kind::Waking { task, .. } => {
                self.kinds.waking += 1;
                self.sight(event, task, Start::Asleep);
            }
            Kind::Wakeup { task, .. } => {
                self.kinds.wakeup += 1;
                self.sight(event, task, Start::Asleep);
            }
            Kind::WakeupNew { task, .. } => {
                self.kinds.wakeup_new += 1;
                self.sight(event, task, Start::Forked);
            }
            Kind::Fork { child } => {
                self.kinds.fork += 1;
                self.sight(event, child, Start::Forked);
            }
            Kind::Exit { .. } => self.kinds.exit += 1,
            Kind::StatRuntime { task, runtime_ns } => {
                self.kinds.stat_runtime += 1;
                self.charged_ns = self.charged_ns.saturating_add(runtime_ns);
                self.sight(event, task, Start::Running);
            }
            Kind::Migrate { task, .. } => {
                self.kinds.migrate += 1;
                self.sight(event, task, Start::Queued);
            }
        }
    }

    /// Where the task with this pid was at the start, if it was seen.
    pub fn start(&self, pid: u32) -> Option<&Sight> {
        self.tasks.get(self.by_pid.get(pid)? as usize)
    }

    fn sight(&mut self, event: &Event<'_>, subject: Subject<'_>, start: Start) {
        if subject.pid == 0 {
            return;
        }
        if let Some(known) = self.by_pid.get(subject.pid) {
            let known = &mut self.tasks[known as usize];
            known.prio = known.prio.or(subject.prio);
            return;
        }
        self.by_pid.set(subject.pid, self.tasks.len() as u32);
        self.tasks.push(Sight {
            pid: subject.pid,
            comm: subject.comm.to_vec(),
            prio: subject.prio,
            cpu: event.cpu,
            start,
        });
    }

    fn busy(&mut self, event: &Event<'_>, next_busy: bool) {
        let at = event.cpu as usize;
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, CpuSeen::default());
        }
        let seen = &mut self.cpus[at];
        if seen.busy == Some(true) {
            self.busy_ns = self.busy_ns.saturating_add(event.ts_ns.saturating_sub(seen.since_ns));
        }
        *seen = CpuSeen { since_ns: event.ts_ns, busy: Some(next_busy) };
    }
}
