// SPDX-License-Identifier: GPL-2.0-only
//! From events to what happened to the scheduler: [`Stimulus`], in the order and with the clock in which it saw it.
//!
//! A runqueue's clock is not recorded, but every charge is, in ns, whatever the clock of the timestamps: update_curr()
//! charges what the clock moved since the last charge or since the task was picked. So the clock of a busy CPU is the
//! sum of the charges, exactly, and timestamps serve for idle time and for what a recording lacks only.
//!
//! sched_stat_runtime stands in front of the event it belongs to: a charge between sched_waking and sched_wakeup is the
//! enqueue's, one before sched_switch is the schedule's, one in an interrupt that wakes nobody is the tick's (or the
//! precise timer's). So a charge is held back until the next event of its CPU tells.

use super::hooks::TaskId;
use super::pids::Pids;
use crate::trace::event::{Asked, Context, Event, Kind, PrevState, Subject};
use crate::trace::script::Start;

/// When and where something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// The line of the recording.
    pub line: u64,
    /// The recording's clock: absolute, ns.
    pub ts_ns: u64,
    /// The CPU whose runqueue it is.
    pub cpu: u32,
    /// That runqueue's clock, as far as it can be told: absolute, on an origin of its own; ns.
    pub clock_ns: u64,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stimulus {
    /// A task is seen for the first time, or again after its death.
    Appears {
        /// Its number.
        task: TaskId,
        /// Where it was.
        start: Start,
        /// Its prio (120 + nice), if that is known.
        prio: Option<i32>,
        /// Who forked it.
        parent: Option<TaskId>,
    },
    /// It was woken, on the CPU of [`At`].
    Wake {
        /// Who.
        task: TaskId,
        /// It is new.
        new: bool,
        /// What the running task of that CPU was told by then, if that was recorded.
        asked: Option<Asked>,
    },
    /// A task that waited was moved to another CPU.
    Migrate {
        /// Who.
        task: TaskId,
        /// To where.
        to: u32,
    },
    /// The running task was charged in passing (its CPU time was asked for, or somebody looked at its queue).
    Charge,
    /// The running task was charged in an interrupt that woke nobody: a tick, or the precise timer.
    Tick {
        /// What it was told by then, if that was recorded.
        asked: Option<Asked>,
    },
    /// __schedule() kept the running task.
    Stay,
    /// __schedule() switched.
    Switch {
        /// Who left; none: the idle task.
        prev: Option<TaskId>,
        /// In what state.
        prev_state: PrevState,
        /// Who came; none: the idle task.
        next: Option<TaskId>,
        /// It gave up the CPU by sched_yield().
        yielded: bool,
    },
    /// A task has another prio than before.
    Prio {
        /// Who.
        task: TaskId,
        /// The new one.
        prio: i32,
    },
}

/// Takes what was decoded.
pub trait Sink {
    /// The next.
    fn take(&mut self, at: &At, what: Stimulus);
    /// A task's name, the first time and whenever it changes.
    fn name(&mut self, task: TaskId, pid: u32, comm: &[u8]);
}

/// What a recording lacked, as far as it was seen while following it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Lacks {
    /// Switches before which the task that left was not charged though time had passed.
    pub missing_charges: u64,
    /// Charges of tasks that ran nowhere, as far as was known.
    pub stray_charges: u64,
    /// Events of a CPU that the beginning of the recording did not have.
    pub unknown_cpu: u64,
    /// CPUs that ran another task than the last switch said.
    pub broken_chains: u64,
}

/// A charge whose reason is not known yet, or a new task whose effect is not.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: At,
    what: Held,
}

#[derive(Clone, Copy, Debug)]
enum Held {
    Charge { context: Context },
    New { task: TaskId },
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    known: bool,
    /// Who runs, by pid; 0: the idle task.
    pid: u32,
    task: Option<TaskId>,
    /// The clock at the last charge, switch or wakeup: ns.
    clock_ns: u64,
    /// The timestamp at the same moment: ns.
    ts_ns: u64,
    pending: Option<Pending>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    comm: Vec<u8>,
    prio: Option<i32>,
    cpu: u32,
    alive: bool,
    waking: bool,
}

/// A gap between charges that a schedule cannot explain: ns.
const MISSING_NS: u64 = 100_000;

/// More than this is no charge: ns.
const CHARGE_MAX_NS: u64 = 1_000_000_000_000;

/// Follows the events.
pub struct Decoder<S> {
    /// Where it goes.
    pub sink: S,
    /// What was missing.
    pub lacks: Lacks,
    pids: Pids,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    charges: bool,
    start_ns: u64,
    first_ts_ns: Option<u64>,
}

impl<S: Sink> Decoder<S> {
    /// For a recording of `cpus` CPUs whose clocks begin at `start_ns`; `charges` says whether it has
    /// sched_stat_runtime.
    pub fn new(sink: S, cpus: u32, start_ns: u64, charges: bool) -> Self {
        Decoder {
            sink,
            lacks: Lacks::default(),
            pids: Pids::default(),
            tasks: Vec::new(),
            cpus: vec![Cpu { clock_ns: start_ns, ..Cpu::default() }; cpus as usize],
            charges,
            start_ns,
            first_ts_ns: None,
        }
    }

    /// Makes a task known before the first event.
    pub fn introduce(&mut self, subject: Subject<'_>, cpu: u32, start: Start) {
        let at = At { cpu, clock_ns: self.start_ns, ..At::default() };
        self.task(&at, subject, start, None);
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event<'_>) {
        let cpu = event.cpu as usize;
        if cpu >= self.cpus.len() {
            self.lacks.unknown_cpu += 1;
            return;
        }
        let first_ns = *self.first_ts_ns.get_or_insert(event.ts_ns);
        if self.cpus[cpu].ts_ns == 0 {
            self.cpus[cpu].ts_ns = first_ns;
        }
        let running = match event.kind {
            Kind::Switch { prev, .. } => prev,
            _ => event.current,
        };
        self.now_running(event, running);
        match event.kind {
            Kind::StatRuntime { task, runtime_ns } => self.charge(event, task, runtime_ns),
            Kind::Waking { task, .. } => {
                self.settle(cpu, Some(event.context));
                let at = self.at(event, cpu, false);
                if let Some(id) = self.task(&at, task, Start::Asleep, None) {
                    self.tasks[id as usize].waking = true;
                }
            }
            Kind::Wakeup { task, target_cpu } => self.wakeup(event, task, target_cpu),
            Kind::WakeupNew { task, target_cpu } => self.wakeup_new(event, task, target_cpu),
            Kind::Fork { child } => self.fork(event, child),
            Kind::Exit { .. } => self.settle(cpu, Some(event.context)),
            Kind::Migrate { task, dest_cpu, .. } => self.migrate(event, task, dest_cpu),
            Kind::Switch { prev, prev_state, next } => self.switch(event, prev, prev_state, next),
        }
    }

    /// The end of the recording.
    pub fn finish(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.settle(cpu, None);
        }
    }

    /// How many CPUs are followed.
    pub fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The moment of `event` on the runqueue of `cpu`; by the timestamp if `by_time`, which is right while it idles.
    fn at(&mut self, event: &Event<'_>, cpu: usize, by_time: bool) -> At {
        let known = &mut self.cpus[cpu];
        if by_time {
            let passed_ns = event.ts_ns.saturating_sub(known.ts_ns);
            known.clock_ns = known.clock_ns.saturating_add(passed_ns.min(CHARGE_MAX_NS));
            known.ts_ns = known.ts_ns.max(event.ts_ns);
        }
        At { line: event.line, ts_ns: event.ts_ns, cpu: cpu as u32, clock_ns: known.clock_ns }
    }

    /// The number of the task that an event names; none for an idle task.
    fn task(
        &mut self,
        at: &At,
        subject: Subject<'_>,
        start: Start,
        parent: Option<TaskId>,
    ) -> Option<TaskId> {
        if subject.pid == 0 {
            return None;
        }
        let id = match self.pids.get(subject.pid) {
            Some(id) => id,
            None => {
                let id = self.tasks.len() as TaskId;
                self.pids.set(subject.pid, id);
                self.tasks.push(Task::default());
                self.sink.name(id, subject.pid, subject.comm);
                self.tasks[id as usize].comm = subject.comm.to_vec();
                id
            }
        };
        let task = &mut self.tasks[id as usize];
        if task.comm != subject.comm && !subject.comm.starts_with(b"<") {
            task.comm = subject.comm.to_vec();
            self.sink.name(id, subject.pid, subject.comm);
        }
        if !task.alive {
            task.alive = true;
            task.waking = false;
            task.cpu = at.cpu;
            task.prio = subject.prio;
            let prio = subject.prio;
            self.sink.take(at, Stimulus::Appears { task: id, start, prio, parent });
        } else if let Some(prio) = subject.prio
            && task.prio != Some(prio)
        {
            task.prio = Some(prio);
            self.sink.take(at, Stimulus::Prio { task: id, prio });
        }
        Some(id)
    }

    /// Makes `running` the running task of the event's CPU, if it is not: at the start, and where a switch is missing.
    fn now_running(&mut self, event: &Event<'_>, running: Subject<'_>) {
        let cpu = event.cpu as usize;
        let known = self.cpus[cpu];
        if known.known && known.pid == running.pid {
            return;
        }
        self.settle(cpu, None);
        self.lacks.broken_chains += u64::from(known.known);
        let at = self.at(event, cpu, true);
        let next = self.task(&at, running, Start::Running, None);
        let prev = known.task;
        self.cpus[cpu].known = true;
        self.cpus[cpu].pid = running.pid;
        self.cpus[cpu].task = next;
        if let Some(next) = next {
            self.tasks[next as usize].cpu = event.cpu;
        }
        let prev_state = PrevState::Runnable;
        self.sink.take(&at, Stimulus::Switch { prev, prev_state, next, yielded: false });
    }

    /// The CPU on which the task that was charged runs.
    fn charged_cpu(&self, event: &Event<'_>, task: Subject<'_>) -> Option<usize> {
        let cpu = event.cpu as usize;
        if self.cpus[cpu].pid == task.pid {
            return Some(cpu);
        }
        let id = self.pids.get(task.pid)?;
        let other = self.tasks[id as usize].cpu as usize;
        self.cpus.get(other).is_some_and(|cpu| cpu.known && cpu.pid == task.pid).then_some(other)
    }

    fn charge(&mut self, event: &Event<'_>, task: Subject<'_>, runtime_ns: u64) {
        self.settle(event.cpu as usize, Some(event.context));
        let Some(cpu) = self.charged_cpu(event, task) else {
            self.lacks.stray_charges += 1;
            return;
        };
        let mut context = event.context;
        if cpu != event.cpu as usize {
            self.settle(cpu, None);
            context = Context { asked: Some(Asked::No), ..Context::default() };
        }
        let known = &mut self.cpus[cpu];
        known.clock_ns = known.clock_ns.saturating_add(runtime_ns.min(CHARGE_MAX_NS));
        known.ts_ns = known.ts_ns.max(event.ts_ns);
        let at = self.at(event, cpu, false);
        self.cpus[cpu].pending = Some(Pending { at, what: Held::Charge { context } });
    }

    /// Says what the charge that was held back was, now that it is known not to belong to a wakeup or switch; `after` is
    /// the context of the next event of that CPU, while the same task runs.
    fn settle(&mut self, cpu: usize, after: Option<Context>) {
        let Some(Pending { at, what }) = self.cpus[cpu].pending.take() else { return };
        let asked = after.and_then(|after| after.asked);
        let what = match what {
            Held::New { task } => Stimulus::Wake { task, new: true, asked },
            Held::Charge { context } if context.hard_interrupt || context.asked.is_none() => {
                Stimulus::Tick { asked }
            }
            Held::Charge { context }
                if context.need_resched && !context.interrupt && asked == Some(Asked::No) =>
            {
                Stimulus::Stay
            }
            Held::Charge { .. } => Stimulus::Charge,
        };
        self.sink.take(&at, what);
    }

    /// The moment of a wakeup on `cpu`: that of the charge it begins with, if there is one.
    fn enqueue_at(&mut self, event: &Event<'_>, cpu: usize) -> At {
        let charged =
            self.cpus[cpu].pending.take_if(|held| matches!(held.what, Held::Charge { .. }));
        if charged.is_none() {
            self.settle(cpu, Some(event.context).filter(|_| cpu == event.cpu as usize));
        }
        let by_time = charged.is_none() && (self.cpus[cpu].task.is_none() || !self.charges);
        self.at(event, cpu, by_time)
    }

    fn wakeup(&mut self, event: &Event<'_>, subject: Subject<'_>, target_cpu: u32) {
        let cpu = target_cpu as usize;
        if cpu >= self.cpus.len() {
            self.lacks.unknown_cpu += 1;
            return;
        }
        if target_cpu != event.cpu {
            self.settle(event.cpu as usize, Some(event.context));
        }
        let at = self.enqueue_at(event, cpu);
        let Some(task) = self.task(&at, subject, Start::Asleep, None) else { return };
        self.tasks[task as usize].waking = false;
        self.tasks[task as usize].cpu = target_cpu;
        let asked = event.context.asked.filter(|_| target_cpu == event.cpu);
        self.sink.take(&at, Stimulus::Wake { task, new: false, asked });
    }

    fn wakeup_new(&mut self, event: &Event<'_>, subject: Subject<'_>, target_cpu: u32) {
        let cpu = target_cpu as usize;
        if cpu >= self.cpus.len() {
            self.lacks.unknown_cpu += 1;
            return;
        }
        if target_cpu != event.cpu {
            self.settle(event.cpu as usize, Some(event.context));
        }
        let at = self.enqueue_at(event, cpu);
        let Some(task) = self.task(&at, subject, Start::Forked, None) else { return };
        self.tasks[task as usize].cpu = target_cpu;
        if target_cpu == event.cpu {
            self.cpus[cpu].pending = Some(Pending { at, what: Held::New { task } });
        } else {
            self.sink.take(&at, Stimulus::Wake { task, new: true, asked: None });
        }
    }

    fn fork(&mut self, event: &Event<'_>, child: Subject<'_>) {
        let cpu = event.cpu as usize;
        self.settle(cpu, Some(event.context));
        if let Some(id) = self.pids.get(child.pid) {
            // The pid is used again, or was introduced as one that would be forked.
            self.tasks[id as usize].alive = false;
        }
        let at = self.at(event, cpu, false);
        let parent = self.cpus[cpu].task;
        self.task(&at, child, Start::Forked, parent);
    }

    fn migrate(&mut self, event: &Event<'_>, subject: Subject<'_>, to: u32) {
        self.settle(event.cpu as usize, Some(event.context));
        if to as usize >= self.cpus.len() {
            self.lacks.unknown_cpu += 1;
            return;
        }
        let at = self.at(event, event.cpu as usize, false);
        let Some(task) = self.task(&at, subject, Start::Queued, None) else { return };
        let known = &mut self.tasks[task as usize];
        if known.waking {
            // Part of its wakeup, which says where it ends.
            return;
        }
        let from = known.cpu as usize;
        known.cpu = to;
        self.settle(from.min(self.cpus.len() - 1), None);
        let clock_ns = self.cpus[from.min(self.cpus.len() - 1)].clock_ns;
        self.sink.take(&At { clock_ns, ..at }, Stimulus::Migrate { task, to });
    }

    fn switch(
        &mut self,
        event: &Event<'_>,
        prev: Subject<'_>,
        prev_state: PrevState,
        next: Subject<'_>,
    ) {
        let cpu = event.cpu as usize;
        let mut charge = None;
        if let Some(Pending { what: Held::Charge { context }, .. }) = self.cpus[cpu].pending {
            if context.hard_interrupt {
                // That was no schedule's. Whoever leaves without sleeping was told to.
                let asked = (prev_state == PrevState::Runnable).then_some(Asked::Now);
                self.settle(cpu, asked.map(|_| Context { asked, ..Context::default() }));
            } else {
                charge = Some(context);
                self.cpus[cpu].pending = None;
            }
        } else {
            let told = (prev_state == PrevState::Runnable).then_some(Asked::Lazy);
            self.settle(cpu, told.map(|_| Context { asked: told, ..Context::default() }));
        }
        let at = self.switch_at(event, cpu, charge.is_some());
        let prev_id = self.task(&at, prev, Start::Running, None);
        let next_id = self.task(&at, next, Start::Queued, None);
        let yielded = prev_state == PrevState::Runnable
            && charge.is_some_and(|context| context.asked == Some(Asked::No));
        self.sink.take(&at, Stimulus::Switch { prev: prev_id, prev_state, next: next_id, yielded });
        if prev_state == PrevState::Dead
            && let Some(prev) = prev_id
        {
            self.tasks[prev as usize].alive = false;
        }
        let known = &mut self.cpus[cpu];
        known.pid = next.pid;
        known.task = next_id;
        if let Some(next) = next_id {
            self.tasks[next as usize].cpu = event.cpu;
        }
    }

    /// The moment of a switch: that of the charge it begins with; of the timestamp after idling, or where that charge is
    /// missing.
    fn switch_at(&mut self, event: &Event<'_>, cpu: usize, charged: bool) -> At {
        let known = self.cpus[cpu];
        let idle = known.task.is_none();
        let passed_ns = event.ts_ns.saturating_sub(known.ts_ns);
        let missing = !idle && self.charges && !charged && passed_ns > MISSING_NS;
        self.lacks.missing_charges += u64::from(missing);
        self.at(event, cpu, idle || missing || !self.charges)
    }
}
