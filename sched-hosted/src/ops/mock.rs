// SPDX-License-Identifier: GPL-2.0-only
//! A toy class for the tests of what drives classes: one CPU, first come first served. It
//! refuses what it does not have (groups, quotas, other CPUs), as a class may.

use super::class::{Depth, Object, Part, Refusal, TaskInfo, Value, Violation, Visitor};
use super::{Class, GroupName, Legality, Names, Op, Resched, START_NS, TaskName, TaskState};

/// A task of the toy class.
#[derive(Clone, Copy, Debug)]
struct Task {
    name: TaskName,
    state: TaskState,
    nice: i32,
    /// ns of the clock that it was current for.
    ran: u64,
}

/// The class; `bug` makes a deliberate mistake so that two instances differ.
#[derive(Clone, Debug)]
pub(crate) struct Mock {
    names: Names,
    now: u64,
    charged: u64,
    tasks: Vec<Task>,
    queue: Vec<TaskName>,
    current: Option<TaskName>,
    resched: Resched,
    /// Wakeups put the task at the head of the queue if its nice value is below zero.
    pub bug: bool,
}

impl Mock {
    pub fn new(names: &Names) -> Self {
        Mock {
            names: names.clone(),
            now: START_NS,
            charged: START_NS,
            tasks: Vec::new(),
            queue: Vec::new(),
            current: None,
            resched: Resched::None,
            bug: false,
        }
    }

    fn find(&mut self, name: TaskName) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.name == name).expect("checked")
    }

    fn charge(&mut self) {
        let ran = self.now - self.charged;
        self.charged = self.now;
        if let Some(current) = self.current {
            self.find(current).ran += ran;
        }
    }

    fn enqueue(&mut self, name: TaskName) {
        let bug = self.bug;
        let task = self.find(name);
        let jump = bug && task.state == TaskState::Blocked && task.nice < 0;
        task.state = TaskState::Runnable;
        self.queue.insert(if jump { 0 } else { self.queue.len() }, name);
        if self.current.is_none() {
            self.resched = Resched::Now;
        }
    }

    fn schedule(&mut self) {
        self.charge();
        if let Some(current) = self.current.take() {
            self.queue.push(current);
        }
        self.current = (!self.queue.is_empty()).then(|| self.queue.remove(0));
        self.resched = Resched::None;
    }

    fn leave(&mut self) -> TaskName {
        self.charge();
        let gone = self.current.take().expect("checked");
        self.schedule();
        gone
    }
}

fn need(condition: bool, what: &str) -> Legality {
    if condition { Ok(()) } else { Err(Refusal::new(what, "look at the state")) }
}

impl Class for Mock {
    fn release(&self) -> &'static str {
        "mock"
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn check(&self, op: &Op) -> Legality {
        let state = |name| self.task(name).map(|task| task.state);
        match *op {
            Op::At { ns } => need(ns >= self.now, "time goes back"),
            Op::Task { task, group, cpu, .. } => {
                need(group == GroupName::ROOT && cpu == 0, "there are no groups")?;
                need(state(task).is_none(), "the task exists")
            }
            Op::New { task } => need(state(task) == Some(TaskState::New), "the task is not new"),
            Op::Wake { task, .. } => {
                need(state(task) == Some(TaskState::Blocked), "the task is not asleep")
            }
            Op::Nice { task, .. } | Op::Param { task, .. } => {
                need(state(task).is_some(), "there is no such task")
            }
            Op::Block { .. } | Op::Exit { .. } | Op::Yield { .. } => {
                need(self.current.is_some(), "the CPU is idle")
            }
            Op::YieldTo { task, .. } => need(self.queue.contains(&task), "it is not queued"),
            Op::Schedule { .. } | Op::Tick { .. } => Ok(()),
            Op::UpdateCurr { .. } | Op::UpdateBlocked { .. } => Ok(()),
            _ => need(false, "the toy class does not know that"),
        }
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::At { ns } => self.now = ns,
            Op::Task { task, nice, .. } => {
                self.tasks.push(Task { name: task, state: TaskState::New, nice, ran: 0 });
            }
            Op::New { task } | Op::Wake { task, .. } => self.enqueue(task),
            Op::Schedule { .. } => self.schedule(),
            Op::Block { .. } => {
                let gone = self.leave();
                self.find(gone).state = TaskState::Blocked;
            }
            Op::Exit { .. } => {
                let gone = self.leave();
                self.tasks.retain(|task| task.name != gone);
            }
            Op::Tick { .. } => {
                self.charge();
                self.resched = Resched::Now;
            }
            Op::Nice { task, nice } | Op::Param { task, nice, .. } => self.find(task).nice = nice,
            _ => self.charge(),
        }
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn nr_cpus(&self) -> u32 {
        1
    }

    fn current(&self, _cpu: u32) -> Option<TaskName> {
        self.current
    }

    fn resched(&self, _cpu: u32) -> Resched {
        self.resched
    }

    fn task(&self, name: TaskName) -> Option<TaskInfo> {
        let task = self.tasks.iter().find(|task| task.name == name)?;
        Some(TaskInfo {
            state: task.state,
            cpu: 0,
            running: self.current == Some(name),
            throttled: false,
            group: GroupName::ROOT,
        })
    }

    fn tasks(&self) -> Vec<TaskName> {
        self.tasks.iter().map(|task| task.name).collect()
    }

    fn groups(&self) -> Vec<GroupName> {
        vec![GroupName::ROOT]
    }

    fn visit(&self, part: Part, visitor: &mut dyn Visitor) {
        visitor.object(Object::Rq(0));
        visitor.field("clock", Value::U64(self.now));
        if part == Part::Core {
            visitor.field(
                "resched",
                Value::Word(["none", "now"][usize::from(self.resched == Resched::Now)]),
            );
            visitor.field("curr", Value::Current(self.current));
        }
        visitor.end();
        if part == Part::Core {
            visitor.object(Object::Cfs(0, GroupName::ROOT));
            visitor.field("first", Value::Task(self.queue.first().copied()));
            visitor.field("h_curr", Value::Group(GroupName::ROOT));
            visitor.end();
        }
        for task in &self.tasks {
            visitor.object(Object::Task(task.name));
            visitor.field("on_rq", Value::Bool(task.state == TaskState::Runnable));
            visitor.field("nice", Value::I64(i64::from(task.nice)));
            visitor.field("ran", Value::U64(task.ran));
            visitor.end();
        }
    }

    fn fingerprint(&self) -> u64 {
        super::digest::Digester::new().digest(self).core
    }

    fn violations(&self, _depth: Depth) -> Vec<Violation> {
        Vec::new()
    }

    fn has_pelt(&self) -> bool {
        self.now > START_NS
    }
}
