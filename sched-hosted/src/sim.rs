// SPDX-License-Identifier: GPL-2.0-only
//! The simulation: one CPU with a virtual clock, on which a [`Workload`] runs in a closed loop.
//!
//! The clock is an integer number of ns and moves only by what the workload's steps cost. The scheduler is called at
//! the points where the kernel calls it: when the current task blocks; at once when it was told to reschedule (the
//! kernel is preemptible); on the way back to user mode when it was told so lazily; at the tick, which turns lazy into
//! now; after any interrupt that returns to user mode. An idle CPU jumps to the next event. Everything goes through the
//! operations of [`Class`], so that what was done can be recorded, replayed on another class, and saved as an `.ops`
//! file.
//!
//! [`drive`] says how operations are carried out (plain, recorded, on two sides in lockstep), [`stats`] what is
//! measured, [`prng`] where jitter comes from.

pub mod drive;
#[cfg(test)]
pub(crate) mod mock;
pub mod prng;
pub mod stats;
#[cfg(test)]
mod tests;

pub use crate::ops::START_NS;
use crate::ops::{Class, Op, Resched, TaskName, TaskState};
use crate::workload::{Event, Step, Workload};
pub use drive::{Drive, Plain};
pub use stats::Stats;
use std::ops::ControlFlow;

/// Steps without any progress of the clock that are taken for a workload that runs in a circle.
const IDLE_STEPS: u32 = 100_000;

/// When to stop; whatever comes first. The end is looked at between steps.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many hand-offs.
    pub hand_offs: u64,
    /// So much virtual time, ns, relative to the start.
    pub virtual_ns: u64,
    /// So many operations.
    pub ops: u64,
}

impl Limits {
    /// Stops after `n` hand-offs only.
    pub fn hand_offs(n: u64) -> Self {
        Limits { hand_offs: n, virtual_ns: u64::MAX, ops: u64::MAX }
    }

    /// Stops after `n` operations only.
    pub fn ops(n: u64) -> Self {
        Limits { hand_offs: u64::MAX, virtual_ns: u64::MAX, ops: n }
    }
}

/// Why a simulation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// A limit was reached.
    Limit,
    /// All tasks sleep or are gone, and nothing from outside will come.
    AllAsleep,
    /// The workload took very many steps in no time.
    NoProgress,
    /// The driver of the operations said stop (a difference was found, for example).
    Stopped,
}

/// What is known of a task besides what the class knows.
#[derive(Clone, Copy, Default)]
struct Script {
    /// What is left of its present [`Step::Run`], ns.
    left_ns: u64,
    /// It was preempted and has not run since.
    preempted: bool,
    /// When it was woken, if it has not run since: absolute, ns.
    woken_ns: Option<u64>,
}

/// One simulated CPU.
pub struct Sim<'a, D: Drive, W: Workload + ?Sized> {
    drive: &'a mut D,
    workload: &'a mut W,
    scripts: Vec<Script>,
    now_ns: u64,
    tick_ns: u64,
    next_tick_ns: u64,
    current: Option<TaskName>,
    idle_steps: u32,
    is_set_up: bool,
    /// Where the measured time begins, absolute, ns.
    from_ns: u64,
    stats: Stats,
}

type Flow = ControlFlow<End>;

fn end_of(flow: Flow) -> End {
    match flow {
        ControlFlow::Break(end) => end,
        ControlFlow::Continue(()) => End::Limit,
    }
}

impl<'a, D: Drive, W: Workload + ?Sized> Sim<'a, D, W> {
    /// Sets up `workload` on the fresh machine behind `drive`. The phase of the tick (relative to the start, ns) is
    /// the caller's, so that CPUs need not tick in step.
    pub fn new(drive: &'a mut D, workload: &'a mut W, tick_phase_ns: u64) -> Self {
        let tick_ns = 1_000_000_000 / u64::from(workload.header().hz.max(1));
        let nr_tasks = drive.class().names().nr_tasks();
        Sim {
            drive,
            workload,
            scripts: vec![Script::default(); nr_tasks],
            now_ns: START_NS,
            tick_ns,
            next_tick_ns: START_NS + tick_ns + tick_phase_ns % tick_ns,
            current: None,
            idle_steps: 0,
            is_set_up: false,
            from_ns: START_NS,
            stats: Stats::default(),
        }
    }

    /// Creates the tasks and lets the first of them run; none of it enters into what is measured. [`Sim::run`] does it
    /// if it was not done before.
    pub fn set_up(&mut self) -> End {
        let flow = self.try_set_up();
        self.from_ns = self.now_ns;
        self.stats = Stats::default();
        end_of(flow)
    }

    /// Runs until one of `limits` is reached. May be called again to go on.
    pub fn run(&mut self, limits: Limits) -> End {
        if !self.is_set_up && self.set_up() != End::Limit {
            return End::Stopped;
        }
        let flow = self.try_run(limits);
        self.stats.virtual_ns = self.now_ns - self.from_ns;
        end_of(flow)
    }

    /// The class that is simulated on.
    pub fn class(&self) -> &D::Class {
        self.drive.class()
    }

    /// What was measured so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The same, when nothing more is run.
    pub fn into_stats(self) -> Stats {
        self.stats
    }

    fn try_set_up(&mut self) -> Flow {
        self.is_set_up = true;
        for op in self.workload.setup() {
            self.checked(op)?;
        }
        self.resched(Resched::Lazy)
    }

    fn try_run(&mut self, limits: Limits) -> Flow {
        while self.stats.hand_offs < limits.hand_offs
            && self.stats.ops < limits.ops
            && self.now_ns - self.from_ns < limits.virtual_ns
        {
            match self.current {
                Some(task) => self.step(task)?,
                None => self.idle()?,
            }
        }
        ControlFlow::Continue(())
    }

    /// One step of the current task.
    fn step(&mut self, task: TaskName) -> Flow {
        if self.scripts[task.0 as usize].left_ns > 0 {
            return self.run_task(task);
        }
        self.idle_steps += 1;
        if self.idle_steps > IDLE_STEPS {
            return ControlFlow::Break(End::NoProgress);
        }
        match self.workload.next(task) {
            Step::Run { ns } => self.scripts[task.0 as usize].left_ns = ns,
            Step::HandOff => self.stats.hand_offs += 1,
            Step::UserMode => self.resched(Resched::Lazy)?,
            Step::Block => self.op(Op::Block { cpu: 0 })?,
            Step::Wake { task: wakee, sync } => {
                let told = self.drive.class().resched(0);
                if self.wake(wakee, sync)? {
                    let set_resched = self.drive.class().resched(0) != told;
                    self.add_cost(task, Event::Wakeup { set_resched });
                }
                self.resched(Resched::Now)?;
            }
            Step::Do(op) => {
                self.checked(op)?;
                self.resched(Resched::Now)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Lets the current task run until it is done with its step, or the tick or something from outside comes.
    fn run_task(&mut self, task: TaskName) -> Flow {
        self.idle_steps = 0;
        let script = &mut self.scripts[task.0 as usize];
        let stimulus_ns = self.workload.next_stimulus_ns().unwrap_or(u64::MAX);
        let event_ns = self.next_tick_ns.min(stimulus_ns).max(self.now_ns);
        let done_ns = self.now_ns.saturating_add(script.left_ns);
        if done_ns < event_ns {
            script.left_ns = 0;
            self.now_ns = done_ns;
            return ControlFlow::Continue(());
        }
        script.left_ns -= event_ns - self.now_ns;
        self.now_ns = event_ns;
        if stimulus_ns <= event_ns {
            self.stimulus()?;
        } else {
            self.next_tick_ns += self.tick_ns;
            self.op(Op::Tick { cpu: 0 })?;
        }
        let user_mode = self.workload.in_user_mode(task);
        self.resched(if user_mode { Resched::Lazy } else { Resched::Now })
    }

    /// An idle CPU: the clock jumps to what happens next. The tick is stopped meanwhile, as with NO_HZ_IDLE.
    fn idle(&mut self) -> Flow {
        let Some(at_ns) = self.workload.next_stimulus_ns() else {
            return ControlFlow::Break(End::AllAsleep);
        };
        self.idle_steps += 1;
        if self.idle_steps > IDLE_STEPS {
            return ControlFlow::Break(End::NoProgress);
        }
        if at_ns > self.now_ns {
            self.idle_steps = 0;
            self.now_ns = at_ns;
        }
        if self.next_tick_ns <= self.now_ns {
            let missed = (self.now_ns - self.next_tick_ns) / self.tick_ns + 1;
            self.next_tick_ns += missed * self.tick_ns;
        }
        self.stimulus()?;
        self.resched(Resched::Lazy)
    }

    fn stimulus(&mut self) -> Flow {
        match self.workload.stimulus() {
            Step::Wake { task, sync } => {
                self.wake(task, sync)?;
                ControlFlow::Continue(())
            }
            Step::Do(op) => self.checked(op),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Wakes `task`; says whether it was asleep.
    fn wake(&mut self, task: TaskName, sync: bool) -> ControlFlow<End, bool> {
        let state = self.drive.class().task(task).map(|info| info.state);
        if !matches!(state, Some(TaskState::Blocked | TaskState::Delayed)) {
            self.stats.wakes_awake += 1;
            return ControlFlow::Continue(false);
        }
        self.stats.wakes += 1;
        self.scripts[task.0 as usize].woken_ns = Some(self.now_ns);
        self.op(Op::Wake { task, sync, cpu: None })?;
        ControlFlow::Continue(true)
    }

    /// Schedules if the current task was told so at least as urgently as `least`.
    fn resched(&mut self, least: Resched) -> Flow {
        let told = self.drive.class().resched(0);
        let due = match least {
            Resched::Now => told == Resched::Now,
            _ => told != Resched::None,
        };
        if due || (self.current.is_none() && told != Resched::None) {
            if let Some(task) = self.current {
                self.scripts[task.0 as usize].preempted = true;
            }
            self.op(Op::Schedule { cpu: 0 })?;
        }
        ControlFlow::Continue(())
    }

    /// An operation that the workload asked for: left out if it is not legal here.
    fn checked(&mut self, op: Op) -> Flow {
        if let Op::Task { task, .. } = op {
            self.scripts[task.0 as usize] = Script::default();
        }
        if self.drive.class().check(&op).is_err() {
            self.stats.skipped += 1;
            return ControlFlow::Continue(());
        }
        self.op(op)
    }

    /// Carries out a legal operation at the present time.
    fn op(&mut self, op: Op) -> Flow {
        if self.drive.class().now() != self.now_ns {
            self.carry_out(&Op::At { ns: self.now_ns })?;
        }
        self.carry_out(&op)?;
        self.stats.ops += 1;
        let current = self.drive.class().current(0);
        if current != self.current {
            let prev = std::mem::replace(&mut self.current, current);
            if let Some(task) = current {
                self.switched_in(prev, task);
            }
        } else if let Some(task) = current {
            self.scripts[task.0 as usize].preempted = false;
        }
        ControlFlow::Continue(())
    }

    fn switched_in(&mut self, prev: Option<TaskName>, task: TaskName) {
        if let Some(woken_ns) = self.scripts[task.0 as usize].woken_ns.take() {
            self.stats.latency(self.now_ns - woken_ns);
        }
        let after_preempt = prev.is_some_and(|prev| self.scripts[prev.0 as usize].preempted);
        self.stats.preemptions += u64::from(after_preempt);
        let switch =
            if after_preempt { Event::SwitchAfterPreempt } else { Event::SwitchAfterBlock };
        self.add_cost(task, switch);
        if std::mem::take(&mut self.scripts[task.0 as usize].preempted) {
            self.add_cost(task, Event::Resume);
        }
    }

    fn add_cost(&mut self, task: TaskName, event: Event) {
        let cost_ns = self.workload.cost_ns(event);
        let script = &mut self.scripts[task.0 as usize];
        script.left_ns = script.left_ns.saturating_add(cost_ns);
    }

    fn carry_out(&mut self, op: &Op) -> Flow {
        match self.drive.run(op) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => ControlFlow::Break(End::Stopped),
        }
    }
}
