// SPDX-License-Identifier: GPL-2.0-only
//! v7.3's class behind the [`Class`] trait: sched-core, driven as system calls and interrupts drive it, refusing what
//! makes no sense in the state.

mod visit;

use super::arena::Arena;
use super::class::{
    Class, Depth, Legality, Part, Resched, TaskInfo, TaskState, Value, Violation, Visitor,
};
use super::{CgroupMode, GroupName, Header, Names, Op, Policy, START_NS, TaskName, legal};
use crate::check::laws::Laws;
use crate::error::Error;
use sched_core::core;
use sched_core::fair::bandwidth::{Visit, run_hrtimers, tg_set_cfs_bandwidth};
use sched_core::fair::class::SchedAttr;
use sched_core::fair::group::{sched_create_group, sched_group_set_idle, sched_group_set_shares};
use sched_core::features::SchedFeat;
use sched_core::museum::Bug;
use sched_core::patches::Patches;
use sched_core::sched::{
    self, Machine, Rq, SchedEntity, TASK_DEAD, TASK_INTERRUPTIBLE, TASK_NEW, TaskGroup, TaskStruct,
    Tif, WakeFlags,
};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// What is switched on beyond the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Features before those of the header are applied.
    pub features: SchedFeat,
    /// Patch ideas under trial.
    pub patches: Patches,
    /// The bug of the museum that is put back.
    pub bug: Option<Bug>,
    /// What changes from one state to the next is checked, too: [`crate::check::laws`].
    pub laws: bool,
}

/// A machine with v7.3's class, and what the operations' names stand for.
pub struct Driver<'a, H: Hooks + 'a> {
    arena: &'a Arena<'a, H>,
    machine: &'a Machine<'a, H>,
    names: Names,
    /// By TaskName: the live task of that name.
    tasks: Vec<Option<&'a TaskStruct<'a, H>>>,
    /// Live tasks in order of creation.
    order: Vec<TaskName>,
    /// By GroupName: the group of that path.
    groups: Vec<Option<&'a TaskGroup<'a, H>>>,
    /// Groups in order of creation, the root group first.
    group_order: Vec<(GroupName, &'a TaskGroup<'a, H>)>,
    /// Looks at each operation's before and after; none if that was not asked for.
    laws: Option<Box<Laws>>,
}

impl<'a, H: Hooks + 'a> Driver<'a, H> {
    /// A machine as `header` describes it, in `arena`, with every CPU idle at [`START_NS`].
    ///
    /// # Errors
    /// The header names a feature that there is not.
    pub fn new(
        arena: &'a Arena<'a, H>,
        header: &Header,
        names: &Names,
        options: &Options,
        hooks: H,
    ) -> Result<Self, Error> {
        let mut features = options.features;
        for word in &header.features {
            features = features.change(word).ok_or_else(|| Error::BadArgument {
                what: format!("there is no scheduler feature '{word}'"),
                remedy: "use a name of /sys/kernel/debug/sched/features, or NO_ and that name"
                    .to_string(),
            })?;
        }

        let (machine, runqueues) = arena.machine(hooks, header.cpus);
        machine.set_features(features);
        machine.set_patches(options.patches);
        machine.set_bug(options.bug);
        machine.tick_nsec.set(sched::NSEC_PER_SEC / u64::from(header.hz));
        machine.set_sched_clock(START_NS);
        core::sched_init(machine, runqueues);
        machine.cgroup_mode.set(match header.cgroup_mode {
            CgroupMode::Up => sched::CgroupMode::Up,
            CgroupMode::Smp => sched::CgroupMode::Smp,
            CgroupMode::Concur => sched::CgroupMode::Concur,
            CgroupMode::Max => sched::CgroupMode::Max,
            CgroupMode::Tasks => sched::CgroupMode::Tasks,
        });
        if let Some(base_slice_ns) = header.base_slice_ns {
            machine.sysctl_sched_base_slice.set(base_slice_ns);
        }

        let root = &machine.root_task_group;
        let mut groups = vec![None; names.nr_groups()];
        groups[0] = Some(root);
        Ok(Driver {
            arena,
            machine,
            names: names.clone(),
            tasks: vec![None; names.nr_tasks()],
            order: Vec::new(),
            groups,
            group_order: vec![(GroupName::ROOT, root)],
            laws: options.laws.then(Box::default),
        })
    }

    /// What the machine reports to.
    pub fn hooks(&self) -> &'a H {
        &self.machine.hooks
    }

    /// The machine itself, for checks that look inside.
    pub fn machine(&self) -> &'a Machine<'a, H> {
        self.machine
    }

    /// The live task called `name`, for checks that look inside.
    pub fn task_struct(&self, name: TaskName) -> Option<&'a TaskStruct<'a, H>> {
        self.tasks.get(name.0 as usize).copied().flatten()
    }

    /// The group of that path, for checks that look inside.
    pub fn group(&self, path: &str) -> Option<&'a TaskGroup<'a, H>> {
        let known = |&&(name, _): &&(GroupName, _)| self.names.group_text(name) == path;
        self.group_order.iter().find(known).map(|&(_, tg)| tg)
    }

    /// The groups in order of creation, the root group first, for checks that look inside.
    pub fn task_groups(&self) -> impl Iterator<Item = (GroupName, &'a TaskGroup<'a, H>)> {
        self.group_order.iter().copied()
    }

    /// The live tasks in order of creation.
    pub fn task_structs(&self) -> impl Iterator<Item = (TaskName, &'a TaskStruct<'a, H>)> {
        self.order.iter().filter_map(|&name| Some((name, self.task_struct(name)?)))
    }

    /// The index of task `name`, added if it is new: for hosts whose tasks are not known beforehand.
    pub fn name_task(&mut self, name: &str) -> TaskName {
        let known = self.names.task(name);
        self.tasks.resize(self.names.nr_tasks(), None);
        known
    }

    /// A new task that has not run is asleep from now on, as if it had been for long. Others stay as they are.
    pub fn falls_asleep(&mut self, name: TaskName) {
        if let Some(p) = self.task_struct(name).filter(|p| Self::state_of(p) == TaskState::New) {
            p.__state.store(TASK_INTERRUPTIBLE, Ordering::Relaxed);
        }
    }

    /// A new task that has not run will do so on `cpu`, which must exist. Others stay where they are.
    pub fn sits_on(&mut self, name: TaskName, cpu: u32) {
        if let Some(p) = self.task_struct(name).filter(|p| Self::state_of(p) == TaskState::New) {
            p.cpu.store(cpu, Ordering::Relaxed);
        }
    }

    /// try_to_wake_up() of a task that was about to sleep, but was preempted before: it waits, and may preempt.
    pub fn wakes_awake(&mut self, name: TaskName) {
        if let Some(p) = self.task_struct(name).filter(|p| Self::state_of(p) == TaskState::Runnable)
        {
            p.__state.store(TASK_INTERRUPTIBLE, Ordering::Relaxed);
            let cpu = sched::task_cpu(p);
            core::try_to_wake_up(self.machine, p, TASK_INTERRUPTIBLE, WakeFlags::empty(), cpu);
        }
    }

    /// The precise timer of `cpu` fires (HRTICK).
    pub fn hrtick(&mut self, cpu: u32) {
        core::hrtick(self.rq(cpu));
    }

    /// Whose entity `se` is, by its name.
    pub fn name_of(&self, se: &SchedEntity<'a, H>) -> Value {
        Value::Task(Some(TaskName(sched::task_of(se).pid.get())))
    }

    /// The operation itself.
    fn carry_out(&mut self, op: &Op) {
        match *op {
            Op::At { ns } => self.machine.set_sched_clock(ns),
            Op::Task { task, cpu, nice, policy, slice_ns, group } => {
                let tg = self.live_group(group);
                self.make_task(task, cpu, &Self::attr(policy, nice, slice_ns), tg);
            }
            Op::New { task } => core::wake_up_new_task(self.machine, self.live(task)),
            Op::Wake { task, sync, cpu } => {
                let p = self.live(task);
                let flags = if sync { WakeFlags::WF_SYNC } else { WakeFlags::empty() };
                let cpu = cpu.unwrap_or_else(|| sched::task_cpu(p));
                core::try_to_wake_up(self.machine, p, TASK_INTERRUPTIBLE, flags, cpu);
            }
            Op::Schedule { cpu } => {
                core::__schedule(self.rq(cpu));
            }
            Op::Block { cpu } => {
                core::set_current_state(self.rq(cpu), TASK_INTERRUPTIBLE);
                core::__schedule(self.rq(cpu));
            }
            Op::Exit { cpu } => self.exit(cpu),
            Op::Tick { cpu } => core::sched_tick(self.rq(cpu)),
            Op::Yield { cpu } => core::do_sched_yield(self.rq(cpu)),
            Op::YieldTo { cpu, task } => {
                core::yield_to(self.rq(cpu), self.live(task));
            }
            Op::Nice { task, nice } => core::set_user_nice(self.machine, self.live(task), nice),
            Op::Param { task, policy, nice, slice_ns } => {
                core::sched_setattr(
                    self.machine,
                    self.live(task),
                    &Self::attr(policy, nice, slice_ns),
                );
            }
            Op::Migrate { task, cpu } => {
                core::move_queued_task(self.machine, self.live(task), cpu);
            }
            Op::UpdateCurr { cpu } => core::update_curr(self.rq(cpu)),
            Op::UpdateBlocked { cpu } => core::sched_balance_update_blocked_averages(self.rq(cpu)),
            Op::FinishDelayed { task } => core::wait_task_inactive(self.machine, self.live(task)),
            Op::Timers => {
                let groups = |visit: Visit<'_, 'a, H>| {
                    self.group_order.iter().for_each(|&(_, tg)| visit(tg));
                };
                run_hrtimers(self.machine, &groups, self.rq(0));
            }
            Op::UserReturn { cpu } => {
                core::task_work_run(self.rq(cpu));
            }
            Op::Move { task, group } => {
                core::sched_move_task(self.machine, self.live(task), self.live_group(group));
            }
            Op::Group { group, shares } => self.make_group(group, shares),
            Op::Shares { group, shares } => {
                sched_group_set_shares(self.machine, self.live_group(group), shares);
            }
            Op::GroupIdle { group, idle } => {
                sched_group_set_idle(self.machine, self.live_group(group), idle);
            }
            Op::Quota { group, period_us, quota_us } => {
                tg_set_cfs_bandwidth(self.machine, self.live_group(group), period_us, quota_us);
            }
        }
    }

    fn live(&self, name: TaskName) -> &'a TaskStruct<'a, H> {
        self.task_struct(name).expect("the operation was checked: the task is live")
    }

    fn rq(&self, cpu: u32) -> &'a Rq<'a, H> {
        self.machine.cpu_rq(cpu)
    }

    fn state_of(p: &TaskStruct<'a, H>) -> TaskState {
        if p.se.sched_delayed.get() {
            TaskState::Delayed
        } else if p.on_rq.load(Ordering::Relaxed) != 0 {
            TaskState::Runnable
        } else if p.__state.load(Ordering::Relaxed) == TASK_NEW {
            TaskState::New
        } else {
            TaskState::Blocked
        }
    }

    // ---- what is done ----------------------------------------------------------------------------------------------

    fn attr(policy: Policy, nice: i32, slice_ns: u64) -> SchedAttr {
        let sched_policy = match policy {
            Policy::Normal => sched::Policy::SCHED_NORMAL,
            Policy::Batch => sched::Policy::SCHED_BATCH,
            Policy::Idle => sched::Policy::SCHED_IDLE,
        };
        SchedAttr { sched_policy, sched_nice: nice, sched_runtime: slice_ns }
    }

    fn make_task(&mut self, name: TaskName, cpu: u32, attr: &SchedAttr, tg: &'a TaskGroup<'a, H>) {
        let p = self.arena.task();
        p.pid.set(name.0);
        core::sched_fork(self.machine, p, attr, tg, cpu);
        self.tasks[name.0 as usize] = Some(p);
        self.order.push(name);
    }

    fn live_group(&self, name: GroupName) -> &'a TaskGroup<'a, H> {
        self.groups[name.0 as usize].expect("the operation was checked: the group is there")
    }

    fn make_group(&mut self, name: GroupName, shares: Option<u64>) {
        let parts = self.arena.group(self.nr_cpus());
        let parent = legal::parent_of(self, name).map(|above| self.live_group(above));
        let parent = parent.expect("the operation was checked: the group above is there");
        parts.tg.id.set(name.0);
        sched_create_group(self.machine, &parts, parent);
        self.groups[name.0 as usize] = Some(parts.tg);
        self.group_order.push((name, parts.tg));
        if let Some(shares) = shares.filter(|&shares| shares != 1024) {
            sched_group_set_shares(self.machine, parts.tg, shares);
        }
    }

    fn exit(&mut self, cpu: u32) {
        let rq = self.rq(cpu);
        let p = rq.curr();
        let name = TaskName(p.pid.get());
        core::set_current_state(rq, TASK_DEAD);
        core::__schedule(rq);
        self.tasks[name.0 as usize] = None;
        self.order.retain(|&other| other != name);
        self.arena.recycle(p);
    }
}

impl<'a, H: Hooks + 'a> Class for Driver<'a, H> {
    fn release(&self) -> &'static str {
        "7.3"
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn check(&self, op: &Op) -> Legality {
        legal::check(self, op)
    }

    fn run(&mut self, op: &Op) {
        let Some(mut laws) = self.laws.take() else { return self.carry_out(op) };
        laws.before(self, op);
        self.carry_out(op);
        laws.after(self, op);
        self.laws = Some(laws);
    }

    fn now(&self) -> u64 {
        self.machine.sched_clock_cpu()
    }

    fn nr_cpus(&self) -> u32 {
        self.machine.num_online_cpus()
    }

    fn current(&self, cpu: u32) -> Option<TaskName> {
        let curr = self.rq(cpu).curr();
        (!sched::is_idle_task(curr)).then(|| TaskName(curr.pid.get()))
    }

    fn resched(&self, cpu: u32) -> Resched {
        let flags = self.rq(cpu).curr().thread_info_flags.load(Ordering::Relaxed);
        let flags = Tif::from_bits_retain(flags);
        if flags.contains(Tif::NEED_RESCHED) {
            Resched::Now
        } else if flags.contains(Tif::NEED_RESCHED_LAZY) {
            Resched::Lazy
        } else {
            Resched::None
        }
    }

    fn task(&self, name: TaskName) -> Option<TaskInfo> {
        let p = self.task_struct(name)?;
        Some(TaskInfo {
            state: Self::state_of(p),
            cpu: sched::task_cpu(p),
            running: sched::task_on_cpu(p),
            throttled: p.throttled.get(),
            group: p.sched_task_group.get().map_or(GroupName::ROOT, |tg| GroupName(tg.id.get())),
        })
    }

    fn tasks(&self) -> Vec<TaskName> {
        self.order.clone()
    }

    fn groups(&self) -> Vec<GroupName> {
        self.group_order.iter().map(|&(name, _)| name).collect()
    }

    fn has_group(&self, name: GroupName) -> bool {
        self.groups.get(name.0 as usize).is_some_and(Option::is_some)
    }

    fn visit(&self, part: Part, visitor: &mut dyn Visitor) {
        match part {
            Part::Core => self.visit_core(visitor),
            Part::Pelt => self.visit_pelt(visitor),
        }
    }

    fn fingerprint(&self) -> u64 {
        self.fold_all()
    }

    fn violations(&self, depth: Depth) -> Vec<Violation> {
        let mut found = crate::check::violations(self, depth);
        found.extend(self.laws.iter().flat_map(|laws| laws.found().iter().cloned()));
        found
    }

    fn has_pelt(&self) -> bool {
        true
    }
}
