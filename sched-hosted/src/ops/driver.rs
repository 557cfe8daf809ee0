// SPDX-License-Identifier: GPL-2.0-only
//! v7.3's class behind the [`Class`] trait: sched-core, driven as system calls and interrupts drive it, refusing what
//! makes no sense in the state.

use super::arena::Arena;
use super::class::{
    Class, Depth, Legality, Object, Part, Refusal, Resched, TaskInfo, TaskState, Value, Violation,
    Visitor,
};
use super::{GroupName, Header, Names, Op, Policy, TaskName};
use crate::error::Error;
use sched_core::core;
use sched_core::fair::class::SchedAttr;
use sched_core::features::SchedFeat;
use sched_core::patches::Patches;
use sched_core::pelt::SchedAvg;
use sched_core::sched::{
    self, CfsRq, Machine, Rq, SchedEntity, TASK_DEAD, TASK_INTERRUPTIBLE, TASK_NEW, TaskStruct,
    Tif, WakeFlags,
};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// The first instant: last_update_time 0 means "not attached", so clocks start above it. ns.
pub const START_NS: u64 = 1_000_000;

/// What is switched on beyond the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Features before those of the header are applied.
    pub features: SchedFeat,
    /// Patch ideas under trial.
    pub patches: Patches,
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
        machine.tick_nsec.set(sched::NSEC_PER_SEC / u64::from(header.hz));
        machine.set_sched_clock(START_NS);
        core::sched_init(machine, runqueues);
        if let Some(base_slice_ns) = header.base_slice_ns {
            machine.sysctl_sched_base_slice.set(base_slice_ns);
        }

        Ok(Driver {
            arena,
            machine,
            names: names.clone(),
            tasks: vec![None; names.nr_tasks()],
            order: Vec::new(),
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

    /// The live tasks in order of creation.
    pub fn task_structs(&self) -> impl Iterator<Item = (TaskName, &'a TaskStruct<'a, H>)> {
        self.order.iter().filter_map(|&name| Some((name, self.task_struct(name)?)))
    }

    /// Whose entity `se` is, by its name.
    pub fn name_of(&self, se: &SchedEntity<'a, H>) -> Value {
        Value::Task(Some(TaskName(sched::task_of(se).pid.get())))
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

    // ---- what is legal ---------------------------------------------------------------------------------------------

    fn need_task(&self, name: TaskName) -> Result<&'a TaskStruct<'a, H>, Refusal> {
        self.task_struct(name).ok_or_else(|| {
            Refusal::new(
                format!("there is no task '{}'", self.names.task_text(name)),
                format!("make it first: task {}", self.names.task_text(name)),
            )
        })
    }

    fn need_cpu(&self, cpu: u32) -> Legality {
        let cpus = self.nr_cpus();
        if cpu < cpus {
            return Ok(());
        }
        Err(Refusal::new(
            format!("there is no CPU {cpu}"),
            format!(
                "CPUs are numbered 0 to {}; the header's 'cpus' says how many there are",
                cpus - 1
            ),
        ))
    }

    fn need_busy(&self, cpu: u32, verb: &str) -> Legality {
        self.need_cpu(cpu)?;
        if self.current(cpu).is_some() {
            return Ok(());
        }
        Err(Refusal::new(
            format!("CPU {cpu} idles: it has no task that could {verb}"),
            format!("wake a task there and 'schedule {cpu}' first"),
        ))
    }

    fn need_root(&self, group: GroupName) -> Legality {
        if group == GroupName::ROOT {
            return Ok(());
        }
        Err(Refusal::new(
            format!("group '{}': task groups are not built yet", self.names.group_text(group)),
            "leave groups out, or use the root group /",
        ))
    }

    fn check_wake(&self, task: TaskName, cpu: Option<u32>) -> Legality {
        let p = self.need_task(task)?;
        if let Some(cpu) = cpu {
            self.need_cpu(cpu)?;
        }
        let name = self.names.task_text(task);
        match Self::state_of(p) {
            TaskState::Delayed | TaskState::Blocked => Ok(()),
            TaskState::New => Err(Refusal::new(
                format!("task '{name}' is new: it never slept"),
                format!("use: new {name}"),
            )),
            TaskState::Runnable => Err(Refusal::new(
                format!("task '{name}' is awake already"),
                "only a task that sleeps (after block) can be woken",
            )),
        }
    }

    fn check_yield_to(&self, cpu: u32, task: TaskName) -> Legality {
        self.need_busy(cpu, "yield")?;
        let p = self.need_task(task)?;
        let name = self.names.task_text(task);
        let refuse = |what: String| {
            Err(Refusal::new(what, format!("yield to a task that waits on CPU {cpu}")))
        };
        if sched::task_cpu(p) != cpu {
            return refuse(format!("task '{name}' is on CPU {}", sched::task_cpu(p)));
        }
        match Self::state_of(p) {
            TaskState::Runnable if self.current(cpu) == Some(task) => {
                refuse(format!("task '{name}' is the one that runs"))
            }
            TaskState::Runnable => Ok(()),
            _ => refuse(format!("task '{name}' is not runnable")),
        }
    }

    fn check_migrate(&self, task: TaskName, cpu: u32) -> Legality {
        self.need_cpu(cpu)?;
        let p = self.need_task(task)?;
        let name = self.names.task_text(task);
        let refuse = |what: String| {
            Err(Refusal::new(what, "migrate a task that waits in a queue of another CPU"))
        };
        match Self::state_of(p) {
            TaskState::New | TaskState::Blocked => refuse(format!("task '{name}' is in no queue")),
            _ if sched::task_on_cpu(p) => refuse(format!("task '{name}' is running")),
            _ if sched::task_cpu(p) == cpu => {
                refuse(format!("task '{name}' is on CPU {cpu} already"))
            }
            _ => Ok(()),
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

    fn make_task(&mut self, name: TaskName, cpu: u32, attr: &SchedAttr) {
        let p = self.arena.task();
        p.pid.set(name.0);
        core::sched_fork(self.machine, p, attr, &self.machine.root_task_group, cpu);
        self.tasks[name.0 as usize] = Some(p);
        self.order.push(name);
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

    // ---- what is seen ----------------------------------------------------------------------------------------------

    fn name_of_opt(se: Option<&SchedEntity<'a, H>>) -> Value {
        Value::Task(se.map(|se| TaskName(sched::task_of(se).pid.get())))
    }

    fn h_curr_of(cfs_rq: &CfsRq<'a, H>) -> Value {
        match cfs_rq.h_curr.get() {
            Some(se) if !sched::entity_is_task(se) => {
                let tg = sched::group_cfs_rq(se).and_then(|my_q| my_q.tg.get());
                Value::Group(GroupName(tg.map_or(0, |tg| tg.id.get())))
            }
            se => Self::name_of_opt(se),
        }
    }

    fn visit_rq<V: Visitor + ?Sized>(&self, rq: &Rq<'a, H>, v: &mut V) {
        let resched = match self.resched(rq.cpu) {
            Resched::None => "none",
            Resched::Lazy => "lazy",
            Resched::Now => "now",
        };
        v.object(Object::Rq(rq.cpu));
        v.field("clock", Value::U64(rq.clock.get()));
        v.field("clock_task", Value::U64(rq.clock_task.get()));
        v.field("nr_running", Value::U64(u64::from(rq.nr_running.get())));
        v.field("nr_switches", Value::U64(rq.nr_switches.get()));
        v.field("resched", Value::Word(resched));
        v.field("curr", Value::Current(self.current(rq.cpu)));
        v.end();
    }

    fn visit_root_cfs<V: Visitor + ?Sized>(&self, cpu: u32, cfs_rq: &CfsRq<'a, H>, v: &mut V) {
        v.object(Object::Cfs(cpu, GroupName::ROOT));
        v.field("load", Value::U64(cfs_rq.load.weight.get()));
        v.field("nr_queued", Value::U64(u64::from(cfs_rq.nr_queued.get())));
        v.field("h_nr_queued", Value::U64(u64::from(cfs_rq.h_nr_queued.get())));
        v.field("h_nr_runnable", Value::U64(u64::from(cfs_rq.h_nr_runnable.get())));
        v.field("h_nr_idle", Value::U64(u64::from(cfs_rq.h_nr_idle.get())));
        v.field("h_curr", Self::h_curr_of(cfs_rq));
        v.field("sum_w_vruntime", Value::I64(cfs_rq.sum_w_vruntime.get()));
        v.field("sum_weight", Value::U64(cfs_rq.sum_weight.get()));
        v.field("sum_shift", Value::U64(u64::from(cfs_rq.sum_shift.get())));
        v.field("zero_vruntime", Value::U64(cfs_rq.zero_vruntime.get()));
        v.field("curr", Self::name_of_opt(cfs_rq.curr.get()));
        v.field("next", Self::name_of_opt(cfs_rq.next.get()));
        v.end();
    }

    fn visit_task<V: Visitor + ?Sized>(&self, name: TaskName, p: &TaskStruct<'a, H>, v: &mut V) {
        let se = &p.se;
        let cpu = sched::task_cpu(p);
        v.object(Object::Task(name));
        v.field("cpu", Value::U64(u64::from(cpu)));
        v.field("on_rq", Value::I64(i64::from(p.on_rq.load(Ordering::Relaxed))));
        v.field("se.on_rq", Value::Bool(se.on_rq.get()));
        v.field("sched_delayed", Value::Bool(se.sched_delayed.get()));
        v.field("rel_deadline", Value::Bool(se.rel_deadline.get()));
        v.field("custom_slice", Value::Bool(se.custom_slice.get()));
        v.field("load", Value::U64(se.load.weight.get()));
        v.field("h_load", Value::U64(se.h_load.weight.get()));
        v.field("vruntime", Value::U64(se.vruntime.get()));
        v.field("deadline", Value::U64(se.deadline.get()));
        v.field("vlag", Value::I64(se.vlag.get()));
        v.field("slice", Value::U64(se.slice.get()));
        v.field("vprot", Value::U64(se.vprot.get()));
        v.field("exec_start", Value::U64(se.exec_start.get()));
        v.field("sum_exec_runtime", Value::U64(se.sum_exec_runtime.get()));
        v.field("prev_sum_exec_runtime", Value::U64(se.prev_sum_exec_runtime.get()));
        if se.on_rq.get() && !sched::is(self.rq(cpu).cfs.curr.get(), se) {
            v.field("min_vruntime", Value::U64(se.min_vruntime.get()));
            v.field("min_slice", Value::U64(se.min_slice.get()));
            v.field("max_slice", Value::U64(se.max_slice.get()));
        }
        v.end();
    }

    fn visit_avg<V: Visitor + ?Sized>(avg: &SchedAvg, v: &mut V) {
        v.field("last_update_time", Value::U64(avg.last_update_time()));
        v.field("load_sum", Value::U64(avg.load_sum.get()));
        v.field("runnable_sum", Value::U64(avg.runnable_sum.get()));
        v.field("util_sum", Value::U64(u64::from(avg.util_sum.get())));
        v.field("period_contrib", Value::U64(u64::from(avg.period_contrib.get())));
        v.field("load_avg", Value::U64(avg.load_avg.get()));
        v.field("runnable_avg", Value::U64(avg.runnable_avg.get()));
        v.field("util_avg", Value::U64(avg.util_avg.get()));
        v.field("util_est", Value::U64(u64::from(avg.util_est.get())));
    }

    fn visit_pelt_cfs<V: Visitor + ?Sized>(
        cpu: u32,
        group: GroupName,
        cfs_rq: &CfsRq<'a, H>,
        v: &mut V,
    ) {
        v.object(Object::Cfs(cpu, group));
        Self::visit_avg(&cfs_rq.avg, v);
        v.field("on_list", Value::Bool(cfs_rq.on_list.get()));
        v.field("removed.nr", Value::U64(u64::from(cfs_rq.removed.nr.load(Ordering::Relaxed))));
        v.field("removed.load_avg", Value::U64(cfs_rq.removed.load_avg.get()));
        v.field("removed.util_avg", Value::U64(cfs_rq.removed.util_avg.get()));
        v.field("removed.runnable_avg", Value::U64(cfs_rq.removed.runnable_avg.get()));
        v.end();
    }

    fn visit_pelt<V: Visitor + ?Sized>(&self, v: &mut V) {
        for rq in self.machine.runqueues() {
            v.object(Object::Rq(rq.cpu));
            v.field("clock_pelt", Value::U64(rq.clock_pelt.get()));
            v.field("lost_idle_time", Value::U64(rq.lost_idle_time.get()));
            v.end();
            Self::visit_pelt_cfs(rq.cpu, GroupName::ROOT, &rq.cfs, v);
        }
        for (name, p) in self.task_structs() {
            v.object(Object::Task(name));
            Self::visit_avg(&p.se.avg, v);
            v.end();
        }
    }

    fn visit_core<V: Visitor + ?Sized>(&self, v: &mut V) {
        for rq in self.machine.runqueues() {
            self.visit_rq(rq, v);
            self.visit_root_cfs(rq.cpu, &rq.cfs, v);
        }
        for (name, p) in self.task_structs() {
            self.visit_task(name, p, v);
        }
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
        match *op {
            Op::At { ns } if ns < self.now() => Err(Refusal::new(
                format!("time goes back: it is {} ns already", self.now()),
                "times never go back; they start at 1000000",
            )),
            Op::At { .. } | Op::Timers => Ok(()),
            Op::Task { task, cpu, group, .. } => {
                self.need_cpu(cpu)?;
                self.need_root(group)?;
                if self.task_struct(task).is_none() {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("there is a task '{}' already", self.names.task_text(task)),
                    "a name is free again after its task's exit",
                ))
            }
            Op::New { task } => {
                let p = self.need_task(task)?;
                if Self::state_of(p) == TaskState::New {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("task '{}' is not new", self.names.task_text(task)),
                    "a sleeping task is woken with wake",
                ))
            }
            Op::Wake { task, cpu, .. } => self.check_wake(task, cpu),
            Op::Block { cpu } => self.need_busy(cpu, "block"),
            Op::Exit { cpu } => self.need_busy(cpu, "exit"),
            Op::Yield { cpu } => self.need_busy(cpu, "yield"),
            Op::YieldTo { cpu, task } => self.check_yield_to(cpu, task),
            Op::Schedule { cpu }
            | Op::Tick { cpu }
            | Op::UserReturn { cpu }
            | Op::UpdateCurr { cpu }
            | Op::UpdateBlocked { cpu } => self.need_cpu(cpu),
            Op::Nice { task, .. } | Op::Param { task, .. } => self.need_task(task).map(|_| ()),
            Op::Migrate { task, cpu } => self.check_migrate(task, cpu),
            Op::FinishDelayed { task } => {
                let p = self.need_task(task)?;
                if p.se.sched_delayed.get() {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("task '{}' is not delayed", self.names.task_text(task)),
                    "only a sleeper whose dequeue was delayed can be finished",
                ))
            }
            Op::Move { task, group } => {
                self.need_task(task)?;
                self.need_root(group)
            }
            Op::Group { group, .. }
            | Op::Shares { group, .. }
            | Op::GroupIdle { group, .. }
            | Op::Quota { group, .. } => match self.need_root(group) {
                Ok(()) => {
                    Err(Refusal::new("the root group cannot be changed", "name another group"))
                }
                refused => refused,
            },
        }
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::At { ns } => self.machine.set_sched_clock(ns),
            Op::Task { task, cpu, nice, policy, slice_ns, .. } => {
                self.make_task(task, cpu, &Self::attr(policy, nice, slice_ns));
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
            Op::Migrate { task, cpu } => core::move_queued_task(self.machine, self.live(task), cpu),
            Op::UpdateCurr { cpu } => core::update_curr(self.rq(cpu)),
            Op::UpdateBlocked { cpu } => core::sched_balance_update_blocked_averages(self.rq(cpu)),
            Op::FinishDelayed { task } => core::wait_task_inactive(self.machine, self.live(task)),
            // Without groups there is nothing that they could do, and check() refuses all but these.
            Op::Timers
            | Op::UserReturn { .. }
            | Op::Move { .. }
            | Op::Group { .. }
            | Op::Shares { .. }
            | Op::GroupIdle { .. }
            | Op::Quota { .. } => {}
        }
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
            throttled: false,
            group: GroupName::ROOT,
        })
    }

    fn tasks(&self) -> Vec<TaskName> {
        self.order.clone()
    }

    fn groups(&self) -> Vec<GroupName> {
        vec![GroupName::ROOT]
    }

    fn visit(&self, part: Part, visitor: &mut dyn Visitor) {
        match part {
            Part::Core => self.visit_core(visitor),
            Part::Pelt => self.visit_pelt(visitor),
        }
    }

    fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint(0);
        self.visit_core(&mut fingerprint);
        self.visit_pelt(&mut fingerprint);
        fingerprint.0
    }

    fn violations(&self, depth: Depth) -> Vec<Violation> {
        crate::check::violations(self, depth)
    }

    fn has_pelt(&self) -> bool {
        true
    }
}

/// Folds every value into 64 bits. Each step is a bijection of the hash for a given value, so a difference in one
/// field is never lost.
struct Fingerprint(u64);

impl Fingerprint {
    #[inline(always)]
    fn fold(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
    }
}

impl Visitor for Fingerprint {
    #[inline(always)]
    fn object(&mut self, object: Object) {
        self.fold(match object {
            Object::Rq(cpu) => u64::from(cpu),
            Object::Cfs(cpu, group) => 1 << 60 | u64::from(cpu) << 32 | u64::from(group.0),
            Object::Gse(cpu, group) => 2 << 60 | u64::from(cpu) << 32 | u64::from(group.0),
            Object::Task(name) => 3 << 60 | u64::from(name.0),
        });
    }

    #[inline(always)]
    fn field(&mut self, _name: &'static str, value: Value) {
        self.fold(match value {
            Value::U64(number) => number,
            Value::I64(number) => number as u64,
            Value::Bool(flag) => u64::from(flag),
            Value::Task(None) | Value::Current(None) => u64::MAX,
            Value::Task(Some(name)) | Value::Current(Some(name)) => u64::from(name.0),
            Value::Group(name) => 1 << 32 | u64::from(name.0),
            Value::Word(word) => word.bytes().fold(0, |sum, byte| sum << 8 | u64::from(byte)),
        });
    }
}
