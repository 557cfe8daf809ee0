// SPDX-License-Identifier: GPL-2.0-only
//! Follows a recording event by event: who runs, for how long, who sleeps, who wakes whom.
//!
//! Run times are taken from sched_stat_runtime where it was recorded: those are the very numbers that update_curr()
//! charged, in ns even where the clock shows us, and cut where the scheduler read its clock. Otherwise the times of the
//! events serve. What switching and waking took in a stretch is noted beside it (`overhead_ns`, on the machine of the
//! cost model, with the events that are recorded there); [`super::resolve`] takes it out.

use super::event::{Event, Kind, PrevState, Subject};
use super::script::{Counts, Start};
use crate::workload::costs::{Costs, TRACED_EVENT_NS};
use std::collections::BTreeMap;

/// A task's number here, in the order in which tasks were seen.
pub type TaskId = usize;

/// What a task did, not yet resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raw {
    /// Ran; in that time was what the model says of switches and wakeups.
    Run {
        /// Relative, ns.
        ns: u64,
        /// Relative, ns on the machine of the cost model.
        overhead_ns: u64,
    },
    /// Woke a sleeping task, or started a new one.
    Wake {
        /// Whom.
        task: TaskId,
        /// When: absolute, ns.
        ts_ns: u64,
        /// It was new.
        new: bool,
    },
    /// Got another nice value.
    Nice(i32),
    /// Went to sleep.
    Sleep,
    /// Died.
    Exit,
}

/// How far a task is, as far as was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    New,
    Asleep,
    Runnable,
    Dead,
}

/// One task of the recording.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its pid.
    pub pid: u32,
    /// Its comm when it was seen last.
    pub comm: Vec<u8>,
    /// Its first nice value, if its prio was ever recorded in the fair class.
    pub nice: Option<i32>,
    /// Its prio was recorded, and outside the fair class.
    pub other_class: bool,
    /// Where it was at the start.
    pub start: Start,
    /// What it did.
    pub raw: Vec<Raw>,
    /// On which CPUs it ran, and for how long (ns).
    pub ran_on: Vec<(u32, u64)>,
    /// The CPU on which it was seen first.
    pub first_cpu: u32,
    state: State,
    preempted: bool,
    last_nice: Option<i32>,
}

/// A wakeup by no task that was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawStimulus {
    /// When: absolute, ns.
    pub ts_ns: u64,
    /// Who is woken.
    pub task: TaskId,
    /// It is a new task that starts.
    pub new: bool,
}

/// What [`Extract`] found.
#[derive(Clone, Debug, Default)]
pub struct Extracted {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// What came from outside, in order of time.
    pub stimuli: Vec<RawStimulus>,
    /// What was counted on the way.
    pub counts: Counts,
    /// How long wakeups by tasks took from sched_waking to sched_wakeup, where they preempted nobody, ns: what the
    /// machine's speed is told by.
    pub wakeups_ns: Vec<u32>,
    /// sched_stat_runtime was recorded.
    pub charges: bool,
}

/// A sched_waking whose wakeup is not done yet.
#[derive(Clone, Copy)]
struct Open {
    task: TaskId,
    ts_ns: u64,
    charged: bool,
    need_resched: bool,
}

/// The stint of a CPU's current task.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// Its pid and number; no number for the idle task. Unknown before the first event.
    current: Option<(u32, Option<TaskId>)>,
    /// What it was charged in this stint, ns, and when that was known: absolute, ns.
    charged_ns: u64,
    known_at_ns: u64,
    /// It was charged at all.
    charged: bool,
    /// How much of its time is already in its script, ns.
    cut_ns: u64,
    /// Overhead from the last cut to the last charge, and since then: ns.
    overhead_ns: u64,
    pending_ns: u64,
    open: Option<Open>,
}

impl Cpu {
    /// How long the current task has run in this stint at time `ts_ns`: ns.
    fn ran_ns(&self, ts_ns: u64) -> u64 {
        self.charged_ns.saturating_add(ts_ns.saturating_sub(self.known_at_ns))
    }
}

/// The state of following a recording.
#[derive(Default)]
pub struct Extract {
    out: Extracted,
    by_pid: BTreeMap<u32, TaskId>,
    cpus: Vec<Cpu>,
    model: Costs,
    last_ns: u64,
}

/// So much may be charged for the time before the recording began: ns.
const CHARGE_SLACK_NS: u64 = 1_000_000_000;

/// At most so many wakeups are timed.
const WAKEUPS_TIMED: usize = 1 << 16;

impl Extract {
    /// Takes the next event, in the order of the file.
    pub fn event(&mut self, event: &Event<'_>) {
        let cpu = event.cpu as usize;
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, Cpu::default());
        }
        self.last_ns = self.last_ns.max(event.ts_ns);
        let running = match event.kind {
            Kind::Switch { prev, .. } => prev,
            _ => event.current,
        };
        self.now_running(event, running);
        if !matches!(event.kind, Kind::StatRuntime { .. }) {
            self.settle(cpu, event);
        }
        match event.kind {
            Kind::StatRuntime { task, runtime_ns } => {
                self.charge(cpu, task.pid, runtime_ns, event.ts_ns)
            }
            Kind::Waking { task, .. } => self.waking(event, task),
            Kind::Wakeup { task, .. } => self.wakeup(event, task),
            Kind::WakeupNew { task, .. } => self.wakeup_new(event, task),
            Kind::Fork { child } => {
                self.by_pid.remove(&child.pid);
                self.task(event, child, Start::Forked);
            }
            Kind::Exit { .. } => {}
            Kind::Migrate { .. } => self.out.counts.migrations += 1,
            Kind::Switch { prev, prev_state, next } => self.switch(event, prev, prev_state, next),
        }
        // What is recorded with each switch and each wakeup; the rest comes in any order of running alike.
        let with_the_scheduler = match event.kind {
            Kind::Switch { .. } | Kind::Wakeup { .. } | Kind::WakeupNew { .. } => true,
            Kind::StatRuntime { .. } => !event.context.interrupt,
            _ => false,
        };
        if with_the_scheduler {
            self.cpus[cpu].pending_ns += TRACED_EVENT_NS;
        }
    }

    /// What was found, at the end of the recording.
    pub fn finish(mut self) -> Extracted {
        for cpu in 0..self.cpus.len() {
            self.close_wakeup(cpu);
            self.end_stint(cpu as u32, self.last_ns);
        }
        self.out.stimuli.sort_by_key(|stimulus| stimulus.ts_ns);
        self.out
    }

    /// The task that an event names; `start` is where it was if it was never seen before.
    fn task(&mut self, event: &Event<'_>, subject: Subject<'_>, start: Start) -> TaskId {
        let id = match self.by_pid.get(&subject.pid) {
            Some(id) => *id,
            None => self.new_task(event, subject.pid, start),
        };
        let task = &mut self.out.tasks[id];
        if task.comm != subject.comm && !subject.comm.starts_with(b"<") {
            task.comm = subject.comm.to_vec();
        }
        match subject.prio.map(|prio| prio.saturating_sub(120)) {
            Some(nice) if (-20..20).contains(&nice) => {
                task.nice.get_or_insert(nice);
                if task.last_nice.replace(nice).is_some_and(|last| last != nice) {
                    task.raw.push(Raw::Nice(nice));
                }
            }
            Some(_) => task.other_class = true,
            None => {}
        }
        id
    }

    fn new_task(&mut self, event: &Event<'_>, pid: u32, start: Start) -> TaskId {
        let state = match start {
            Start::Running | Start::Queued => State::Runnable,
            Start::Asleep => State::Asleep,
            Start::Forked => State::New,
        };
        let id = self.out.tasks.len();
        self.out.tasks.push(Task {
            pid,
            comm: Vec::new(),
            nice: None,
            other_class: false,
            start,
            raw: Vec::new(),
            ran_on: Vec::new(),
            first_cpu: event.cpu,
            state,
            preempted: false,
            last_nice: None,
        });
        self.by_pid.insert(pid, id);
        id
    }

    /// Makes `running` the current task of the event's CPU if it is not (at the start, or where a switch is missing).
    fn now_running(&mut self, event: &Event<'_>, running: Subject<'_>) {
        let cpu = event.cpu as usize;
        let known = self.cpus[cpu].current;
        if known.is_some_and(|(pid, _)| pid == running.pid) {
            return;
        }
        self.close_wakeup(cpu);
        self.end_stint(event.cpu, event.ts_ns);
        let id = self.known_task(event, running, Start::Running);
        if known.is_some() {
            self.must_be_awake(event, id);
        }
        self.begin_stint(cpu, running.pid, id, event.ts_ns, 0);
    }

    /// As [`Extract::task`]; none for the idle task.
    fn known_task(
        &mut self,
        event: &Event<'_>,
        subject: Subject<'_>,
        start: Start,
    ) -> Option<TaskId> {
        (subject.pid != 0).then(|| self.task(event, subject, start))
    }

    fn begin_stint(
        &mut self,
        cpu: usize,
        pid: u32,
        id: Option<TaskId>,
        ts_ns: u64,
        pending_ns: u64,
    ) {
        self.cpus[cpu] =
            Cpu { current: Some((pid, id)), known_at_ns: ts_ns, pending_ns, ..Cpu::default() };
    }

    /// The current task leaves the CPU: the rest of its stint goes to its script. Says how much overhead came after its
    /// last charge, and so belongs to whoever runs next: ns.
    fn end_stint(&mut self, cpu: u32, ts_ns: u64) -> u64 {
        let stint = self.cpus[cpu as usize];
        let end_ns = if stint.charged { stint.charged_ns } else { stint.ran_ns(ts_ns) };
        let rest_ns = self.cut(cpu as usize, end_ns, stint.charged);
        if let Some((_, Some(id))) = stint.current {
            let task = &mut self.out.tasks[id];
            match task.ran_on.iter_mut().find(|(on, _)| *on == cpu) {
                Some((_, ns)) => *ns = ns.saturating_add(end_ns),
                None => task.ran_on.push((cpu, end_ns)),
            }
        }
        rest_ns
    }

    /// Writes what the current task ran since the last cut to its script, up to `at_ns` of its stint. Overhead after
    /// the last charge goes with it unless the cut lies at that charge. Gives what of it is left, ns.
    fn cut(&mut self, cpu: usize, at_ns: u64, at_charge: bool) -> u64 {
        let stint = &mut self.cpus[cpu];
        let ns = at_ns.saturating_sub(stint.cut_ns);
        stint.cut_ns = stint.cut_ns.max(at_ns);
        let mut overhead_ns = std::mem::take(&mut stint.overhead_ns);
        if !at_charge {
            overhead_ns += std::mem::take(&mut stint.pending_ns);
        }
        let left_ns = stint.pending_ns;
        if let Some((_, Some(id))) = stint.current
            && ns > 0
        {
            self.out.tasks[id].raw.push(Raw::Run { ns, overhead_ns });
        }
        left_ns
    }

    /// update_curr() charged the task with `pid`, which runs on this CPU or, if a wakeup there did it, on another.
    fn charge(&mut self, cpu: usize, pid: u32, runtime_ns: u64, ts_ns: u64) {
        let runs = |cpu: &Cpu| cpu.current.is_some_and(|(current, _)| current == pid && pid != 0);
        let here = if runs(&self.cpus[cpu]) { Some(cpu) } else { self.cpus.iter().position(runs) };
        let Some(here) = here else {
            return;
        };
        let stint = &mut self.cpus[here];
        // No charge is much longer than the time since the last one, unless the line is damaged.
        let most_ns = ts_ns.saturating_sub(stint.known_at_ns).saturating_add(CHARGE_SLACK_NS);
        stint.charged_ns = stint.charged_ns.saturating_add(runtime_ns.min(most_ns));
        stint.known_at_ns = ts_ns;
        stint.charged = true;
        self.out.charges = true;
        stint.overhead_ns += std::mem::take(&mut stint.pending_ns);
        if let Some(open) = &mut stint.open {
            open.charged = true;
        }
    }

    /// Finishes the wakeup that is open on `cpu`, now that another event has come there.
    fn settle(&mut self, cpu: usize, event: &Event<'_>) {
        let Some(open) = self.cpus[cpu].open else {
            return;
        };
        self.close_wakeup(cpu);
        if let Kind::Wakeup { task, .. } = event.kind
            && self.out.tasks[open.task].pid == task.pid
            && !event.context.interrupt
        {
            let took_ns = event.ts_ns.saturating_sub(open.ts_ns).min(u64::from(u32::MAX));
            let set_resched = event.context.need_resched && !open.need_resched;
            if self.out.wakeups_ns.len() < WAKEUPS_TIMED && !set_resched {
                self.out.wakeups_ns.push(took_ns as u32);
            }
            let stint = &mut self.cpus[cpu];
            stint.pending_ns += self.model.wakeup_ns;
            stint.pending_ns += if set_resched { self.model.set_resched_ns } else { 0 };
        }
    }

    fn close_wakeup(&mut self, cpu: usize) {
        let Some(open) = self.cpus[cpu].open.take() else {
            return;
        };
        let stint = self.cpus[cpu];
        let at_ns = if open.charged { stint.charged_ns } else { stint.ran_ns(open.ts_ns) };
        self.wake_by_current(cpu, open.task, open.ts_ns, at_ns, open.charged);
    }

    /// The current task of `cpu` wakes `task`, `at_ns` into its stint.
    fn wake_by_current(
        &mut self,
        cpu: usize,
        task: TaskId,
        ts_ns: u64,
        at_ns: u64,
        at_charge: bool,
    ) {
        let Some((_, Some(waker))) = self.cpus[cpu].current else {
            return self.wake_from_outside(task, ts_ns);
        };
        if let Some(new) = self.becomes_runnable(task) {
            self.cut(cpu, at_ns, at_charge);
            self.out.tasks[waker].raw.push(Raw::Wake { task, ts_ns, new });
        }
    }

    fn wake_from_outside(&mut self, task: TaskId, ts_ns: u64) {
        if let Some(new) = self.becomes_runnable(task) {
            self.out.stimuli.push(RawStimulus { ts_ns, task, new });
        }
    }

    /// `task` is woken: says whether it was new; nothing if it was awake, so that there was no need.
    fn becomes_runnable(&mut self, task: TaskId) -> Option<bool> {
        match std::mem::replace(&mut self.out.tasks[task].state, State::Runnable) {
            State::Asleep => Some(false),
            State::New => Some(true),
            State::Runnable => {
                self.out.counts.needless += 1;
                None
            }
            State::Dead => {
                self.out.tasks[task].state = State::Dead;
                self.out.counts.needless += 1;
                None
            }
        }
    }

    fn waking(&mut self, event: &Event<'_>, task: Subject<'_>) {
        if task.pid == 0 {
            return;
        }
        let id = self.task(event, task, Start::Asleep);
        if event.context.interrupt || event.current.pid == 0 {
            // A task that is about to sleep may be woken by an interrupt: then it never sleeps. One that still leaves
            // another CPU is found asleep by the sched_wakeup that follows.
            if self.out.tasks[id].state == State::Asleep {
                self.wake_from_outside(id, event.ts_ns);
            }
            return;
        }
        self.cpus[event.cpu as usize].open = Some(Open {
            task: id,
            ts_ns: event.ts_ns,
            charged: false,
            need_resched: event.context.need_resched,
        });
    }

    fn wakeup(&mut self, event: &Event<'_>, task: Subject<'_>) {
        if task.pid == 0 {
            return;
        }
        let id = self.task(event, task, Start::Asleep);
        // The waking may have been recorded on another CPU, which sent an interrupt to this one.
        let open = self.cpus.iter().position(|cpu| cpu.open.is_some_and(|open| open.task == id));
        if let Some(waker) = open {
            self.close_wakeup(waker);
        }
        if self.out.tasks[id].state != State::Asleep {
            return;
        }
        self.wake_now(event, id);
    }

    fn wakeup_new(&mut self, event: &Event<'_>, task: Subject<'_>) {
        let id = self.task(event, task, Start::Forked);
        if self.out.tasks[id].state == State::New {
            self.wake_now(event, id);
        }
    }

    /// The event is itself the wakeup: by the current task, or by an interrupt in its context.
    fn wake_now(&mut self, event: &Event<'_>, id: TaskId) {
        if event.context.interrupt || event.current.pid == 0 {
            return self.wake_from_outside(id, event.ts_ns);
        }
        let cpu = event.cpu as usize;
        let stint = self.cpus[cpu];
        // Enqueueing charged the current task just before, if charges are recorded.
        let (at_ns, at_charge) = if stint.charged {
            (stint.charged_ns, true)
        } else {
            (stint.ran_ns(event.ts_ns), false)
        };
        self.wake_by_current(cpu, id, event.ts_ns, at_ns, at_charge);
        self.cpus[cpu].pending_ns += self.model.wakeup_ns;
    }

    /// `id` runs: if it was last seen asleep, its wakeup was not recorded.
    fn must_be_awake(&mut self, event: &Event<'_>, id: Option<TaskId>) {
        let Some(id) = id else {
            return;
        };
        if matches!(self.out.tasks[id].state, State::Asleep | State::New) {
            self.out.counts.unseen += 1;
            self.wake_from_outside(id, event.ts_ns);
        }
    }

    fn switch(
        &mut self,
        event: &Event<'_>,
        prev: Subject<'_>,
        prev_state: PrevState,
        next: Subject<'_>,
    ) {
        let cpu = event.cpu as usize;
        // It is known already, but not with its prio.
        self.known_task(event, prev, Start::Running);
        let left_ns = self.end_stint(event.cpu, event.ts_ns);
        if let Some((pid, Some(id))) = self.cpus[cpu].current {
            let task = &mut self.out.tasks[id];
            task.preempted = prev_state == PrevState::Runnable;
            match prev_state {
                PrevState::Runnable => {}
                PrevState::Asleep => {
                    task.state = State::Asleep;
                    task.raw.push(Raw::Sleep);
                }
                PrevState::Dead => {
                    task.state = State::Dead;
                    task.raw.push(Raw::Exit);
                    self.by_pid.remove(&pid);
                }
            }
        }
        let id = self.known_task(event, next, Start::Queued);
        self.must_be_awake(event, id);
        let preempted = id.is_some_and(|id| std::mem::take(&mut self.out.tasks[id].preempted));
        // The idle task, always runnable, counts as one that blocked, as in the simulation.
        let switch_ns = if prev_state == PrevState::Runnable && prev.pid != 0 {
            self.model.switch_after_preempt_ns
        } else {
            self.model.switch_after_block_ns
        };
        let resume_ns = if preempted { self.model.resume_ns } else { 0 };
        self.begin_stint(cpu, next.pid, id, event.ts_ns, left_ns + switch_ns + resume_ns);
    }
}
