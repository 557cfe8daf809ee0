// SPDX-License-Identifier: GPL-2.0-only
//! What can be known of the class without virtual time: the rules of the operation language, and what each operation
//! does to tasks and CPUs as seen from the outside.

use sched_hosted::ops::class::{Class, Object, Part, TaskInfo, TaskState, Value};
use sched_hosted::ops::digest::State;
use sched_hosted::ops::{GroupName, Names, Op, Policy, START_NS, TaskName};
use std::collections::BTreeMap;

/// The weight of nice 0, and that of SCHED_IDLE.
const NICE_0: u64 = 1024 << 10;
const IDLE: u64 = 3 << 10;

/// A live task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Task {
    state: TaskState,
    cpu: u32,
    throttled: bool,
    group: GroupName,
    nice: i32,
    policy: Policy,
    /// As asked for, ns; 0 is the default.
    slice_ns: u64,
}

impl Task {
    fn is_asleep(&self) -> bool {
        matches!(self.state, TaskState::Blocked | TaskState::Delayed)
    }

    /// Whether it may be picked.
    fn competes(&self) -> bool {
        self.state == TaskState::Runnable && !self.throttled
    }
}

/// A group, as far as its knobs go.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    idle: bool,
    limited: bool,
}

/// The choices of the class itself, as they are seen after an operation.
pub struct Seen {
    current: Vec<Option<TaskName>>,
    delayed: Vec<TaskName>,
    throttled: Vec<TaskName>,
}

impl Seen {
    pub fn of(class: &dyn Class) -> Self {
        let with = |wanted: &dyn Fn(&TaskInfo) -> bool| {
            let tasks = class.tasks().into_iter();
            tasks.filter(|&name| class.task(name).is_some_and(|info| wanted(&info))).collect()
        };
        Seen {
            current: (0..class.nr_cpus()).map(|cpu| class.current(cpu)).collect(),
            delayed: with(&|info| info.state == TaskState::Delayed),
            throttled: with(&|info| info.throttled),
        }
    }
}

pub struct Model {
    names: Names,
    now_ns: u64,
    /// Live tasks in order of creation.
    order: Vec<TaskName>,
    tasks: BTreeMap<TaskName, Task>,
    groups: Vec<GroupName>,
    knobs: BTreeMap<GroupName, Group>,
    current: Vec<Option<TaskName>>,
    switches: Vec<u64>,
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

impl Model {
    pub fn new(cpus: u32, names: Names) -> Self {
        Model {
            names,
            now_ns: START_NS,
            order: Vec::new(),
            tasks: BTreeMap::new(),
            groups: vec![GroupName::ROOT],
            knobs: BTreeMap::from([(GroupName::ROOT, Group::default())]),
            current: vec![None; cpus as usize],
            switches: vec![0; cpus as usize],
        }
    }

    // ---- what is legal ---------------------------------------------------------------------------------------------

    fn is_cpu(&self, cpu: u32) -> bool {
        (cpu as usize) < self.current.len()
    }

    fn runs(&self, name: TaskName) -> bool {
        self.current.contains(&Some(name))
    }

    /// The CPU is there, and what it runs, if anything, has not just parked itself.
    fn is_open(&self, cpu: u32) -> bool {
        self.is_cpu(cpu)
            && self.current[cpu as usize].is_none_or(|name| !self.tasks[&name].throttled)
    }

    fn is_busy(&self, cpu: u32) -> bool {
        self.is_open(cpu) && self.current[cpu as usize].is_some()
    }

    fn parent(&self, group: GroupName) -> Option<GroupName> {
        let (above, _) = self.names.group_text(group).rsplit_once('/')?;
        let above = if above.is_empty() { "/" } else { above };
        (0..self.names.nr_groups() as u32)
            .map(GroupName)
            .find(|&g| self.names.group_text(g) == above)
    }

    fn has(&self, group: GroupName) -> bool {
        self.knobs.contains_key(&group)
    }

    /// Whether the language allows `op` now.
    pub fn allows(&self, op: &Op) -> bool {
        let is = |name: TaskName, wanted: &dyn Fn(&Task) -> bool| {
            self.tasks.get(&name).is_some_and(wanted)
        };
        match *op {
            Op::At { ns } => ns >= self.now_ns,
            Op::Timers => true,
            Op::Schedule { cpu } => self.is_cpu(cpu),
            Op::Tick { cpu }
            | Op::UserReturn { cpu }
            | Op::UpdateCurr { cpu }
            | Op::UpdateBlocked { cpu } => self.is_open(cpu),
            Op::Block { cpu } | Op::Exit { cpu } | Op::Yield { cpu } => self.is_busy(cpu),
            Op::Task { task, cpu, group, .. } => {
                self.is_cpu(cpu) && self.has(group) && !self.tasks.contains_key(&task)
            }
            Op::New { task } => is(task, &|t| t.state == TaskState::New),
            Op::Wake { task, cpu, .. } => {
                cpu.is_none_or(|cpu| self.is_cpu(cpu)) && is(task, &Task::is_asleep)
            }
            Op::YieldTo { cpu, task } => {
                self.is_busy(cpu) && !self.runs(task) && is(task, &|t| t.competes() && t.cpu == cpu)
            }
            Op::Nice { task, .. } | Op::Param { task, .. } => self.tasks.contains_key(&task),
            Op::Migrate { task, cpu } => {
                let queued =
                    |t: &Task| t.competes() || (t.state == TaskState::Delayed && !t.throttled);
                self.is_cpu(cpu) && !self.runs(task) && is(task, &|t| queued(t) && t.cpu != cpu)
            }
            Op::FinishDelayed { task } => is(task, &|t| t.state == TaskState::Delayed),
            Op::Move { task, group } => self.tasks.contains_key(&task) && self.has(group),
            Op::Group { group, .. } => {
                !self.has(group) && self.parent(group).is_some_and(|above| self.has(above))
            }
            Op::Shares { group, .. } | Op::GroupIdle { group, .. } | Op::Quota { group, .. } => {
                self.has(group) && group != GroupName::ROOT
            }
        }
    }

    // ---- what is done ----------------------------------------------------------------------------------------------

    /// Carries out `op`, which is legal, with the choices that the class made.
    pub fn apply(&mut self, op: &Op, seen: &Seen) -> Result<(), String> {
        let mut switched = None;
        match *op {
            Op::At { ns } => self.now_ns = ns,
            Op::Task { task, cpu, nice, policy, slice_ns, group } => {
                self.order.push(task);
                let state = TaskState::New;
                let throttled = false;
                self.tasks
                    .insert(task, Task { state, cpu, throttled, group, nice, policy, slice_ns });
            }
            Op::New { task } => self.task(task).state = TaskState::Runnable,
            Op::Wake { task, cpu, .. } => {
                let t = self.task(task);
                // One that is still queued wakes where it is.
                if t.state == TaskState::Blocked {
                    t.cpu = cpu.unwrap_or(t.cpu);
                }
                t.state = TaskState::Runnable;
            }
            Op::Block { cpu } => {
                let name = self.running(cpu);
                self.task(name).state = if seen.delayed.contains(&name) {
                    TaskState::Delayed
                } else {
                    TaskState::Blocked
                };
                switched = Some(cpu);
            }
            Op::Exit { cpu } => {
                let name = self.running(cpu);
                self.tasks.remove(&name);
                self.order.retain(|&other| other != name);
                switched = Some(cpu);
            }
            Op::Schedule { cpu } => switched = Some(cpu),
            Op::Nice { task, nice } => self.task(task).nice = nice,
            Op::Param { task, policy, nice, slice_ns } => {
                let t = self.task(task);
                (t.policy, t.nice, t.slice_ns) = (policy, nice, slice_ns);
            }
            Op::Move { task, group } => self.task(task).group = group,
            Op::Migrate { task, cpu } => self.task(task).cpu = cpu,
            Op::FinishDelayed { task } => self.task(task).state = TaskState::Blocked,
            Op::Group { group, .. } => {
                self.groups.push(group);
                self.knobs.insert(group, Group::default());
            }
            Op::GroupIdle { group, idle } => self.group(group).idle = idle,
            Op::Quota { group, quota_us, .. } => self.group(group).limited = quota_us.is_some(),
            Op::Tick { .. }
            | Op::Yield { .. }
            | Op::YieldTo { .. }
            | Op::UpdateCurr { .. }
            | Op::UpdateBlocked { .. }
            | Op::Shares { .. }
            | Op::Timers
            | Op::UserReturn { .. } => {}
        }
        self.take_over(seen)?;
        self.switch(switched, seen)
    }

    fn task(&mut self, name: TaskName) -> &mut Task {
        self.tasks.get_mut(&name).expect("the operation is legal: the task is there")
    }

    fn group(&mut self, name: GroupName) -> &mut Group {
        self.knobs.get_mut(&name).expect("the operation is legal: the group is there")
    }

    fn running(&self, cpu: u32) -> TaskName {
        self.current[cpu as usize].expect("the operation is legal: the CPU runs a task")
    }

    /// A delayed sleeper may be dequeued for good at any time, a limit may park a task or let it go.
    fn take_over(&mut self, seen: &Seen) -> Result<(), String> {
        for (&name, task) in &mut self.tasks {
            if task.state == TaskState::Delayed && !seen.delayed.contains(&name) {
                task.state = TaskState::Blocked;
            }
            task.throttled = seen.throttled.contains(&name);
        }
        let wrong =
            self.tasks.iter().find(|(_, task)| task.throttled && !self.is_limited(task.group));
        ensure(wrong.is_none(), || {
            format!("parked, but no group on its path has a quota: {wrong:?}")
        })
    }

    fn is_limited(&self, group: GroupName) -> bool {
        self.knobs[&group].limited
            || self.parent(group).is_some_and(|above| above != group && self.is_limited(above))
    }

    /// Only a schedule changes who runs, and only on its CPU. A CPU with somebody to run does not idle.
    fn switch(&mut self, switched: Option<u32>, seen: &Seen) -> Result<(), String> {
        for cpu in 0..self.current.len() {
            let (before, after) = (self.current[cpu], seen.current[cpu]);
            if switched != Some(cpu as u32) {
                ensure(before == after, || {
                    format!("CPU {cpu} switched from {before:?} to {after:?}")
                })?;
                continue;
            }
            self.current[cpu] = after;
            self.switches[cpu] += u64::from(before != after);
            let here = |task: &&Task| task.cpu as usize == cpu && task.competes();
            match after {
                None => ensure(!self.tasks.values().any(|task| here(&task)), || {
                    format!("CPU {cpu} idles while somebody waits: {:?}", self.tasks)
                })?,
                Some(name) => {
                    ensure(self.tasks.get(&name).is_some_and(|task| here(&task)), || {
                        format!("CPU {cpu} runs {name:?}, which is {:?}", self.tasks.get(&name))
                    })?
                }
            }
        }
        Ok(())
    }

    // ---- what is seen ----------------------------------------------------------------------------------------------

    /// Says what of the class is not as it is here.
    pub fn compare(&self, class: &dyn Class) -> Result<(), String> {
        ensure(class.now() == self.now_ns, || format!("the clock is {}", class.now()))?;
        ensure(class.tasks() == self.order, || {
            format!("live are {:?}, not {:?}", class.tasks(), self.order)
        })?;
        ensure(class.groups() == self.groups, || format!("groups are {:?}", class.groups()))?;
        for (&name, task) in &self.tasks {
            let info = TaskInfo {
                state: task.state,
                cpu: task.cpu,
                running: self.runs(name),
                throttled: task.throttled,
                group: task.group,
            };
            ensure(class.task(name) == Some(info), || {
                format!("{name:?} is {:?}, not {info:?}", class.task(name))
            })?;
        }
        let state = State::of_part(class, Part::Core);
        for (object, field, value) in state.fields() {
            if let Some(expected) = self.expected(object, field) {
                ensure(expected.is(value), || {
                    format!("{field} of {object:?} is {value:?}, expected {expected:?}")
                })?;
            }
        }
        Ok(())
    }

    /// What a field must be, if it can be known.
    fn expected(&self, object: Object, field: &str) -> Option<Expected> {
        let number = |number: u64| Expected::Is(Value::U64(number));
        Some(match (object, field) {
            (Object::Rq(cpu), "nr_switches") => number(self.switches[cpu as usize]),
            (Object::Rq(cpu), "nr_running") => {
                let here = |task: &&Task| {
                    task.cpu == cpu
                        && !task.throttled
                        && matches!(task.state, TaskState::Runnable | TaskState::Delayed)
                };
                number(self.tasks.values().filter(here).count() as u64)
            }
            (Object::Cfs(_, group), "idle") => {
                Expected::Is(Value::I64(i64::from(self.knobs[&group].idle)))
            }
            (Object::Cfs(_, group), "throttled") if !self.knobs[&group].limited => {
                Expected::Is(Value::Bool(false))
            }
            (Object::Task(name), "load") => weight(&self.tasks[&name]),
            (Object::Task(name), "slice") => number(self.slice(&self.tasks[&name])),
            (Object::Task(name), "custom_slice") => {
                Expected::Is(Value::Bool(self.tasks[&name].slice_ns != 0))
            }
            _ => return None,
        })
    }

    fn slice(&self, task: &Task) -> u64 {
        match task.slice_ns {
            0 => 700_000 * u64::from(1 + self.current.len().min(8).ilog2()),
            ns => ns.clamp(100_000, 100_000_000),
        }
    }
}

/// What a field must be.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Is(Value),
    Between(u64, u64),
}

impl Expected {
    fn is(self, value: Value) -> bool {
        match (self, value) {
            (Expected::Is(expected), value) => expected == value,
            (Expected::Between(low, high), Value::U64(value)) => (low..=high).contains(&value),
            (Expected::Between(..), _) => false,
        }
    }
}

/// Each step of nice is a factor of 1.25 in weight; the kernel's small integers are off by up to 3 %, or one unit.
fn weight(task: &Task) -> Expected {
    if task.policy == Policy::Idle {
        return Expected::Is(Value::U64(IDLE));
    }
    if task.nice == 0 {
        return Expected::Is(Value::U64(NICE_0));
    }
    let ideal = (NICE_0 as f64 * 1.25f64.powi(-task.nice)) as u64;
    let slack = ideal * 3 / 100 + 1024;
    Expected::Between(ideal - slack, ideal + slack)
}
