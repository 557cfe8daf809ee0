// SPDX-License-Identifier: GPL-2.0-only
//! A machine that follows a recording: it is given what happened, takes its decisions, and is put where the recorded
//! kernel was if that took others.

use super::decode::{At, Stimulus};
use super::hooks::{Candidate, Outcome, Recorded, TaskId, total};
use super::setup::{Params, Setup};
use super::state::State;
use crate::error::Result;
use crate::ops::arena::Arena;
use crate::ops::class::{Class, Resched, TaskState};
use crate::ops::driver::{Driver, Options};
use crate::ops::{GroupName, Header, Names, Op, TaskName};
use crate::trace::event::{Asked, PrevState};
use crate::trace::script::Start;
use sched_core::fair::load::calc_delta_fair;
use sched_core::fair::pick::{cancel_protect_slice, update_protect_slice};
use sched_core::fair::timeline::{__dequeue_entity, __enqueue_entity};
use sched_core::features::SchedFeat;
use sched_core::sched::{self, TaskStruct, Tif};
use sched_core::sync::Ordering;
use serde::Serialize;

/// The kinds of decision that are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Which task a schedule ran.
    Pick,
    /// Whether a wakeup told the running task to reschedule.
    Wakeup,
    /// Whether a tick, or the precise timer, did.
    Tick,
}

impl Kind {
    /// All, in the order of the reports.
    pub const ALL: [Kind; 3] = [Kind::Pick, Kind::Wakeup, Kind::Tick];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Pick => "pick",
            Kind::Wakeup => "need-resched at a wakeup",
            Kind::Tick => "need-resched at a tick",
        }
    }
}

/// What was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// This task runs; none: the idle task.
    Run(Option<TaskId>),
    /// The running task is told so.
    Ask(Asked),
}

impl Choice {
    /// Whether two decisions are the same; how strongly a reschedule is asked for is not the question here.
    pub fn same(self, other: Choice) -> bool {
        match (self, other) {
            (Choice::Ask(a), Choice::Ask(b)) => (a == Asked::No) == (b == Asked::No),
            _ => self == other,
        }
    }
}

/// One decision, by the recorded kernel and by the model.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Of what kind.
    pub kind: Kind,
    /// Whom it is about: who was picked, who was woken, who ran at the tick.
    pub task: Option<TaskId>,
    /// There was a choice: two or more were awake, and nothing had been decided before.
    pub contested: bool,
    /// What the kernel did.
    pub recorded: Choice,
    /// What the model would have done.
    pub model: Choice,
    /// Whether the null models agree with the kernel: last woken, longest waiting.
    pub nulls: [bool; 2],
    /// How many were awake.
    pub candidates: u32,
    /// V, absolute, virtual ns, and the candidates: on a disagreement only, if they were asked for.
    pub details: Option<(u64, Vec<Candidate>)>,
}

impl Decision {
    /// Whether the model agrees with the kernel.
    pub fn agrees(&self) -> bool {
        self.model.same(self.recorded)
    }
}

/// What could not be followed as it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Repairs {
    /// Tasks that ran though they were asleep as far as was known: woken at that moment.
    pub unseen_wakeups: u64,
    /// Wakeups of tasks that were awake.
    pub needless_wakeups: u64,
    /// CPUs on which the model had to be put on another task before a switch.
    pub resyncs: u64,
    /// Tasks that ran on a CPU other than the one they were known to wait on: moved at that moment.
    pub unseen_migrations: u64,
    /// What made no sense in the state and was left out.
    pub refused: u64,
    /// Switches to a task that the model could not run.
    pub not_forced: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    params: Params,
    /// It is in another class than fair: the model's idle task stands for it.
    other: bool,
    nice: i32,
    pid: u32,
}

/// The machine and what is known of the tasks.
pub struct Follower<'a> {
    driver: Driver<'a, Recorded>,
    setup: &'a Setup,
    groups: Vec<GroupName>,
    tasks: Vec<Known>,
    comms: Vec<Vec<u8>>,
    /// What was put right on the way.
    pub repairs: Repairs,
    quota: bool,
    /// Tasks whose dequeue is delayed, while that matters.
    delayed: Vec<TaskId>,
    /// Where tasks are at the start, if that is known.
    state: Option<&'a State>,
}

impl<'a> Follower<'a> {
    /// A machine like `header` with the groups of `setup`.
    ///
    /// # Errors
    /// The header names a feature that there is not.
    pub fn new(
        arena: &'a Arena<'a, Recorded>,
        header: &Header,
        options: &Options,
        setup: &'a Setup,
    ) -> Result<Self> {
        let mut names = Names::default();
        let groups: Vec<GroupName> =
            setup.groups.iter().map(|group| names.group(&group.path)).collect();
        let driver = Driver::new(arena, header, &names, options, Recorded::default())?;
        let mut follower = Follower {
            driver,
            setup,
            groups: std::iter::once(GroupName::ROOT).chain(groups).collect(),
            tasks: Vec::new(),
            comms: Vec::new(),
            repairs: Repairs::default(),
            quota: setup.has_quota(),
            delayed: Vec::new(),
            state: None,
        };
        for (at, group) in setup.groups.iter().enumerate() {
            let name = follower.groups[at + 1];
            follower.apply(Op::Group { group: name, shares: group.shares() });
            if group.idle {
                follower.apply(Op::GroupIdle { group: name, idle: true });
            }
            if let Some(Some((quota, period_us))) = group.quota_us() {
                follower.apply(Op::Quota { group: name, period_us, quota_us: Some(quota) });
            }
        }
        Ok(follower)
    }

    /// What the machine reports to.
    pub fn hooks(&self) -> &'a Recorded {
        self.driver.hooks()
    }

    /// Tasks are where `state` says, at the start.
    pub fn begin_with(&mut self, state: Option<&'a State>) {
        self.state = state;
    }

    /// The default request, ns.
    pub fn base_slice_ns(&self) -> u64 {
        u64::from(self.driver.machine().sysctl_sched_base_slice.get())
    }

    /// A task's comm, the first time and whenever it changes.
    pub fn name(&mut self, task: TaskId, pid: u32, comm: &[u8]) {
        let at = task as usize;
        if at >= self.tasks.len() {
            self.tasks.resize(at + 1, Known::default());
            self.comms.resize(at + 1, Vec::new());
            // Its name in the class never matters: pids are told apart by the decoder.
            let name = self.driver.name_task(&format!("p{pid}"));
            debug_assert_eq!(name, TaskName(task));
        }
        self.tasks[at].pid = pid;
        self.comms[at] = comm.to_vec();
    }

    /// Does what happened; a decision of the class, if there was one in it.
    pub fn take(&mut self, at: &At, what: Stimulus, details: bool) -> Option<Decision> {
        self.driver.run(&Op::At { ns: at.clock_ns });
        let hooks = self.hooks();
        hooks.set_now(at.ts_ns);
        hooks.note_details(details);
        if self.quota {
            self.driver.run(&Op::Timers);
        }
        let touched = match what {
            Stimulus::Wake { task, .. } | Stimulus::Migrate { task, .. } => [Some(task), None],
            Stimulus::Switch { prev, next, .. } => [prev, next],
            _ => [None, None],
        };
        let decision = self.happens(at, what, details);
        self.settle_lags(touched);
        decision
    }

    fn happens(&mut self, at: &At, what: Stimulus, details: bool) -> Option<Decision> {
        match what {
            Stimulus::Appears { task, start, prio, parent } => {
                self.appears(at.cpu, task, start, prio, parent);
                None
            }
            Stimulus::Wake { task, asked, .. } => self.wake(at.cpu, task, asked, details),
            Stimulus::Migrate { task, to } => {
                self.migrate(task, to);
                None
            }
            Stimulus::Charge => {
                self.apply(Op::UpdateCurr { cpu: at.cpu });
                None
            }
            Stimulus::Tick { asked } => self.tick(at, asked, details),
            Stimulus::Stay => self.stay(at.cpu),
            Stimulus::Switch { prev, prev_state, next, yielded } => {
                self.switch(at.cpu, prev, prev_state, next, yielded)
            }
            Stimulus::Prio { task, prio } => {
                self.prio(at.cpu, task, prio);
                None
            }
        }
    }

    fn apply(&mut self, op: Op) {
        if self.driver.apply(&op).is_err() {
            self.repairs.refused += 1;
        }
    }

    fn other(&self, task: TaskId) -> bool {
        self.tasks[task as usize].other
    }

    fn state(&self, task: TaskId) -> Option<TaskState> {
        self.driver.task(TaskName(task)).map(|info| info.state)
    }

    fn current(&self, cpu: u32) -> Option<TaskId> {
        self.driver.current(cpu).map(|name| name.0)
    }

    fn curr(&self, cpu: u32) -> &'a TaskStruct<'a, Recorded> {
        self.driver.machine().cpu_rq(cpu).curr()
    }

    fn asked(&self, cpu: u32) -> Asked {
        match self.driver.resched(cpu) {
            Resched::None => Asked::No,
            Resched::Lazy => Asked::Lazy,
            Resched::Now => Asked::Now,
        }
    }

    /// The running task of `cpu` is told what the kernel's was.
    fn set_asked(&self, cpu: u32, asked: Asked) {
        let bits = match asked {
            Asked::No => Tif::empty(),
            Asked::Lazy => Tif::NEED_RESCHED_LAZY,
            Asked::Now => Tif::NEED_RESCHED,
        };
        self.curr(cpu).thread_info_flags.store(bits.bits(), Ordering::Relaxed);
    }

    // ---- tasks come ------------------------------------------------------------------------------------------------

    fn appears(
        &mut self,
        cpu: u32,
        task: TaskId,
        start: Start,
        prio: Option<i32>,
        parent: Option<TaskId>,
    ) {
        let inherited = parent.map(|parent| self.tasks[parent as usize]).unwrap_or_default();
        let at = task as usize;
        let prio = prio.or(parent.map(|_| inherited.nice + 120)).unwrap_or(120);
        let known = &mut self.tasks[at];
        known.params = self.setup.params(known.pid, &self.comms[at], inherited.params);
        known.other = prio < 100;
        known.nice = (prio - 120).clamp(-20, 19);
        if known.other || self.state(task).is_some() {
            return;
        }
        if start == Start::Forked {
            self.make(cpu, task);
            return;
        }
        self.adopt(cpu, task);
        let pid = self.tasks[at].pid;
        let seen = self.state.and_then(|state| state.get(&pid)).copied();
        if let Some(seen) = seen {
            self.hooks().beliefs().borrow_mut().settle(task);
            self.move_task(task, false, seen.lag_ns, 0);
        }
        if matches!(start, Start::Running | Start::Queued) {
            self.apply(Op::Wake { task: TaskName(task), sync: false, cpu: Some(cpu) });
            self.hooks().woken(task);
            let slice_ns = f64::from(self.driver.machine().sysctl_sched_base_slice.get());
            let weight = self.weight(task);
            if let Some(seen) = seen {
                let by_ns = seen.lag_ns.saturating_neg();
                let late_ns = seen.request_ns.saturating_sub(seen.slice_ns as i64);
                self.move_task(task, true, by_ns, by_ns.saturating_add(late_ns));
                self.hooks().beliefs().borrow_mut().add(task, cpu, true, weight, 0.0);
                return;
            }
            let mut beliefs = self.hooks().beliefs().borrow_mut();
            beliefs.add(task, cpu, true, weight, slice_ns / 2.0);
            if let Some(p) = self.driver.task_struct(TaskName(task)) {
                beliefs.guess_deadline(task, p.se.deadline.get());
            }
        }
    }

    fn make(&mut self, cpu: u32, task: TaskId) {
        let Known { params, nice, .. } = self.tasks[task as usize];
        let group = self.groups[params.group];
        let Params { policy, slice_ns, .. } = params;
        self.apply(Op::Task { task: TaskName(task), cpu, nice, policy, slice_ns, group });
    }

    /// A task that has been there for long, asleep.
    fn adopt(&mut self, cpu: u32, task: TaskId) {
        self.make(cpu, task);
        self.driver.falls_asleep(TaskName(task));
        let slice_ns = f64::from(self.driver.machine().sysctl_sched_base_slice.get());
        self.hooks().beliefs().borrow_mut().add(task, cpu, false, 0, slice_ns / 4.0);
    }

    fn prio(&mut self, cpu: u32, task: TaskId, prio: i32) {
        let at = task as usize;
        let other = prio < 100;
        let was_other = std::mem::replace(&mut self.tasks[at].other, other);
        if other {
            // It leaves for another class for a while (as a rule: boosted by a lock); its place is kept.
            return;
        }
        let nice = (prio - 120).clamp(-20, 19);
        self.tasks[at].nice = nice;
        if was_other && self.state(task).is_none() {
            self.adopt(cpu, task);
        } else if self.state(task).is_some() {
            self.apply(Op::Nice { task: TaskName(task), nice });
        }
    }

    // ---- wakeups and ticks -----------------------------------------------------------------------------------------

    fn wake(
        &mut self,
        cpu: u32,
        task: TaskId,
        recorded: Option<Asked>,
        details: bool,
    ) -> Option<Decision> {
        if self.other(task) {
            return None;
        }
        let running = self.current(cpu);
        let before = self.asked(cpu);
        let vprot = self.curr(cpu).se.vprot.get();
        self.wake_up(cpu, task);
        self.hooks().woken(task);
        let model = self.asked(cpu);
        let recorded = recorded?;
        let running = running?;
        if running == task {
            return None;
        }
        let rq = self.driver.machine().cpu_rq(cpu);
        let decision = Decision {
            kind: Kind::Wakeup,
            task: Some(task),
            contested: before == Asked::No,
            recorded: Choice::Ask(recorded),
            model: Choice::Ask(model),
            nulls: [recorded != Asked::No, recorded == Asked::No],
            candidates: rq.cfs.h_nr_runnable.get(),
            details: None,
        };
        self.compared(cpu, decision, details, Some(vprot))
    }

    /// Wakes `task`, whatever state it is in.
    fn wake_up(&mut self, cpu: u32, task: TaskId) {
        let name = TaskName(task);
        let Some(info) = self.driver.task(name) else {
            self.adopt(cpu, task);
            self.apply(Op::Wake { task: name, sync: false, cpu: Some(cpu) });
            return;
        };
        match info.state {
            TaskState::New => {
                self.driver.sits_on(name, cpu);
                self.apply(Op::New { task: name });
            }
            TaskState::Blocked => {
                self.apply(Op::Wake { task: name, sync: false, cpu: Some(cpu) });
            }
            TaskState::Delayed if info.cpu != cpu => {
                // Its dequeue was complete there: it could not have come here otherwise.
                self.apply(Op::FinishDelayed { task: name });
                self.apply(Op::Wake { task: name, sync: false, cpu: Some(cpu) });
            }
            TaskState::Delayed => self.apply(Op::Wake { task: name, sync: false, cpu: None }),
            TaskState::Runnable => {
                self.repairs.needless_wakeups += 1;
                if !info.running {
                    self.driver.wakes_awake(name);
                }
            }
        }
    }

    fn weight(&self, task: TaskId) -> u64 {
        self.driver.task_struct(TaskName(task)).map_or(0, |p| p.se.h_load.weight.get())
    }

    /// Keeps the beliefs about lags up to date: `task` may have joined or left a queue.
    fn follow_lag(&mut self, task: TaskId) {
        let mut beliefs = self.hooks().beliefs().borrow_mut();
        let Some(p) = self.driver.task_struct(TaskName(task)) else { return beliefs.remove(task) };
        let cpu = sched::task_cpu(p);
        let rq = self.driver.machine().cpu_rq(cpu);
        let weight = p.se.h_load.weight.get();
        if p.se.on_rq.get() {
            beliefs.enqueued(task, cpu, total(rq).saturating_sub(weight), weight);
        } else {
            beliefs.dequeued(task, cpu, total(rq) + weight);
            if p.se.vlag.get() == 0 {
                beliefs.settle(task);
            }
        }
    }

    /// After an operation in which `tasks` may have joined or left a queue: what is believed of lags, and what was
    /// learned of them, takes effect.
    fn settle_lags(&mut self, tasks: [Option<TaskId>; 2]) {
        if !self.hooks().beliefs().borrow().is_active() {
            self.delayed.clear();
            return;
        }
        for task in tasks.into_iter().flatten() {
            self.follow_lag(task);
            let delayed = |p: &TaskStruct<'_, Recorded>| p.se.sched_delayed.get();
            if self.driver.task_struct(TaskName(task)).is_some_and(delayed) {
                self.delayed.push(task);
            }
        }
        for task in std::mem::take(&mut self.delayed) {
            self.follow_lag(task);
            let delayed = |p: &TaskStruct<'_, Recorded>| p.se.sched_delayed.get();
            if self.driver.task_struct(TaskName(task)).is_some_and(delayed) {
                self.delayed.push(task);
            }
        }
        let mut moves = Vec::new();
        let mut beliefs = self.hooks().beliefs().borrow_mut();
        beliefs.take_shifts(|task, queued, by_ns| moves.push((task, queued, by_ns, by_ns)));
        for (task, by_ns) in beliefs.take_deadlines() {
            beliefs.guess_moved(task, by_ns);
            moves.push((task, true, 0, by_ns));
        }
        for &(task, queued, by_ns, deadline_ns) in &moves {
            if queued && by_ns == deadline_ns {
                beliefs.guess_moved(task, by_ns);
            }
        }
        drop(beliefs);
        for (task, queued, by_ns, deadline_ns) in moves {
            self.hooks().count_move();
            self.move_task(task, queued, by_ns, deadline_ns);
        }
    }

    /// Moves what is only assumed of a task: of one that is queued its vruntime and deadline, else its lag.
    fn move_task(&self, task: TaskId, queued: bool, by_ns: i64, deadline_ns: i64) {
        let Some(p) = self.driver.task_struct(TaskName(task)) else { return };
        let se = &p.se;
        let slice_ns = se.slice.get() as i64;
        if !queued || !se.on_rq.get() {
            // One that owed something would have stayed until it did not (DELAY_DEQUEUE).
            se.vlag.set(se.vlag.get().saturating_add(by_ns).clamp(0, slice_ns));
            return;
        }
        let by_ns = by_ns.clamp(-slice_ns, slice_ns);
        let deadline_ns = deadline_ns.clamp(-slice_ns, slice_ns);
        let cfs_rq = &self.driver.machine().cpu_rq(sched::task_cpu(p)).cfs;
        let running = cfs_rq.curr.get().is_some_and(|curr| std::ptr::eq(curr, se));
        if !running {
            __dequeue_entity(cfs_rq, se);
        }
        se.vruntime.set(se.vruntime.get().wrapping_add(by_ns as u64));
        se.deadline.set(se.deadline.get().wrapping_add(deadline_ns as u64));
        se.vprot.set(se.vprot.get().wrapping_add(by_ns as u64));
        if !running {
            __enqueue_entity(cfs_rq, se);
        }
    }

    fn tick(&mut self, at: &At, recorded: Option<Asked>, details: bool) -> Option<Decision> {
        let cpu = at.cpu;
        let running = self.current(cpu)?;
        let before = self.asked(cpu);
        let rq = self.driver.machine().cpu_rq(cpu);
        let due = rq.hrtick_timer.get().is_some_and(|expires| expires <= at.clock_ns);
        if due {
            self.driver.hrtick(cpu);
        } else {
            self.apply(Op::Tick { cpu });
        }
        let model = self.asked(cpu);
        let candidates = rq.cfs.h_nr_runnable.get();
        let recorded = recorded?;
        let contested = candidates > 1 && before == Asked::No;
        let asked = recorded != Asked::No;
        let nulls = match contested {
            true => {
                let [last, _] = self.hooks().null_picks(rq);
                [(last != Some(running)) == asked, asked]
            }
            false => [true, true],
        };
        if asked && model == Asked::No && contested {
            // Its request was done: the next one begins here.
            let se = &rq.curr().se;
            se.deadline.set(se.vruntime.get().wrapping_add(calc_delta_fair(se.slice.get(), se)));
        }
        let decision = Decision {
            kind: Kind::Tick,
            task: Some(running),
            contested,
            recorded: Choice::Ask(recorded),
            model: Choice::Ask(model),
            nulls,
            candidates,
            details: None,
        };
        self.compared(cpu, decision, details, None)
    }

    /// Puts the model where the kernel was after it was or was not told to reschedule. `vprot`: the protection before a
    /// wakeup that may have ended it.
    fn compared(
        &mut self,
        cpu: u32,
        mut decision: Decision,
        details: bool,
        vprot: Option<u64>,
    ) -> Option<Decision> {
        let Choice::Ask(recorded) = decision.recorded else { return Some(decision) };
        let rq = self.driver.machine().cpu_rq(cpu);
        if !decision.agrees() {
            if details {
                decision.details = Some(self.hooks().candidates(rq));
            }
            let se = &rq.curr().se;
            if let Some(vprot) = vprot {
                if sched::vruntime_before(se.vruntime.get(), vprot) {
                    self.hooks().learn_protected(rq, recorded == Asked::No);
                }
                if recorded != Asked::No {
                    cancel_protect_slice(se);
                } else {
                    se.vprot.set(vprot);
                    if rq.machine.sched_feat(SchedFeat::RUN_TO_PARITY) {
                        update_protect_slice(&rq.cfs, se);
                    }
                }
            }
        }
        self.set_asked(cpu, recorded);
        Some(decision)
    }

    // ---- schedules -------------------------------------------------------------------------------------------------

    fn stay(&mut self, cpu: u32) -> Option<Decision> {
        let running = self.current(cpu)?;
        self.hooks().expect_task(running);
        self.apply(Op::Schedule { cpu });
        let outcome = self.hooks().outcome()?;
        Some(Self::pick(Some(running), outcome))
    }

    fn pick(next: Option<TaskId>, outcome: Outcome) -> Decision {
        let Outcome { model, candidates, nulls, avg_vruntime, who } = outcome;
        Decision {
            kind: Kind::Pick,
            task: next,
            contested: candidates > 1 || (candidates == 1 && next.is_none()),
            recorded: Choice::Run(next),
            model: Choice::Run(model),
            nulls: nulls.map(|null| null == next),
            candidates,
            details: (!who.is_empty()).then_some((avg_vruntime, who)),
        }
    }

    fn switch(
        &mut self,
        cpu: u32,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
        yielded: bool,
    ) -> Option<Decision> {
        let fair = |task: Option<TaskId>| task.filter(|&task| !self.other(task));
        let (prev_fair, next_fair) = (fair(prev), fair(next));
        if let Some(next) = next_fair {
            self.make_waiting(cpu, next);
        }
        if self.current(cpu) != prev_fair {
            self.resync(cpu, prev_fair);
        }
        match next_fair {
            Some(next) => self.hooks().expect_task(next),
            None => self.hooks().expect_idle(),
        }
        let op = match prev_state {
            _ if self.current(cpu) != prev_fair || prev_fair.is_none() => Op::Schedule { cpu },
            PrevState::Asleep => Op::Block { cpu },
            PrevState::Dead => Op::Exit { cpu },
            PrevState::Runnable => {
                if yielded {
                    self.apply(Op::Yield { cpu });
                } else if self.quota {
                    self.apply(Op::UserReturn { cpu });
                }
                Op::Schedule { cpu }
            }
        };
        self.apply(op);
        let outcome = self.hooks().outcome();
        if prev_state == PrevState::Runnable
            && let Some(prev) = prev_fair
        {
            self.hooks().waits(prev);
        }
        self.repairs.not_forced += u64::from(self.current(cpu) != next_fair);
        if next.is_some() && next_fair.is_none() {
            // Another class was asked first.
            return None;
        }
        Some(Self::pick(next_fair, outcome?))
    }

    /// `next` is awake and waits on `cpu`, as it must, since it was picked there.
    fn make_waiting(&mut self, cpu: u32, next: TaskId) {
        let name = TaskName(next);
        match self.driver.task(name) {
            Some(info) if info.state == TaskState::Runnable => {
                if info.cpu != cpu && !info.running {
                    self.repairs.unseen_migrations += 1;
                    self.apply(Op::Migrate { task: name, cpu });
                }
            }
            Some(info) if info.running => {}
            _ => {
                self.repairs.unseen_wakeups += 1;
                self.wake_up(cpu, next);
                self.hooks().woken(next);
            }
        }
    }

    /// Another task runs than is known to: as at the start, or after lost events.
    fn resync(&mut self, cpu: u32, running: Option<TaskId>) {
        self.repairs.resyncs += 1;
        match running {
            Some(task) => {
                self.make_waiting(cpu, task);
                self.hooks().expect_task(task);
            }
            None => self.hooks().expect_idle(),
        }
        self.apply(Op::Schedule { cpu });
        let _ = self.hooks().outcome();
    }

    fn migrate(&mut self, task: TaskId, to: u32) {
        if self.other(task) {
            return;
        }
        let name = TaskName(task);
        let Some(info) = self.driver.task(name) else { return };
        match info.state {
            TaskState::Runnable | TaskState::Delayed if !info.running && info.cpu != to => {
                self.apply(Op::Migrate { task: name, cpu: to });
            }
            _ => {}
        }
    }
}
