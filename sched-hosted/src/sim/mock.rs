// SPDX-License-Identifier: GPL-2.0-only
//! A class for tests of the simulation: first in, first out. A wakeup asks for a lazy reschedule if it is `eager`.

use crate::ops::class::{Depth, Legality, Part, TaskInfo, Violation, Visitor};
use crate::ops::{Class, GroupName, Names, Op, Refusal, Resched, TaskName, TaskState};
use std::collections::VecDeque;

pub(crate) struct Fifo {
    names: Names,
    now_ns: u64,
    states: Vec<Option<TaskState>>,
    queue: VecDeque<TaskName>,
    current: Option<TaskName>,
    resched: Resched,
    eager: bool,
    pub(crate) switches: u64,
}

impl Fifo {
    pub(crate) fn new(names: Names, eager: bool) -> Self {
        let nr_tasks = names.nr_tasks();
        Fifo {
            names,
            now_ns: crate::sim::START_NS,
            states: vec![None; nr_tasks],
            queue: VecDeque::new(),
            current: None,
            resched: Resched::None,
            eager,
            switches: 0,
        }
    }

    fn state(&mut self, task: TaskName) -> &mut Option<TaskState> {
        &mut self.states[task.0 as usize]
    }

    fn enqueue(&mut self, task: TaskName) {
        *self.state(task) = Some(TaskState::Runnable);
        self.queue.push_back(task);
        if self.current.is_none() {
            self.resched = Resched::Now;
        } else if self.eager && self.resched == Resched::None {
            self.resched = Resched::Lazy;
        }
    }

    fn schedule(&mut self) {
        self.resched = Resched::None;
        let next = self.queue.pop_front();
        self.switches += u64::from(next != self.current);
        self.current = next;
    }
}

impl Class for Fifo {
    fn release(&self) -> &'static str {
        "fifo"
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn check(&self, op: &Op) -> Legality {
        let state = |task: TaskName| self.states[task.0 as usize];
        let legal = match *op {
            Op::Task { task, .. } => state(task).is_none(),
            Op::New { task } => state(task) == Some(TaskState::New),
            Op::Wake { task, .. } => state(task) == Some(TaskState::Blocked),
            Op::Block { .. } | Op::Exit { .. } => self.current.is_some(),
            Op::At { .. } | Op::Schedule { .. } | Op::Tick { .. } => true,
            _ => false,
        };
        if legal { Ok(()) } else { Err(Refusal::new("not legal", "leave it out")) }
    }

    fn run(&mut self, op: &Op) {
        self.check(op).expect("only legal operations");
        match *op {
            Op::At { ns } => self.now_ns = ns,
            Op::Task { task, .. } => *self.state(task) = Some(TaskState::New),
            Op::New { task } | Op::Wake { task, .. } => self.enqueue(task),
            Op::Schedule { .. } => {
                self.queue.extend(self.current);
                self.schedule();
            }
            Op::Block { .. } | Op::Exit { .. } => {
                let task = self.current.take().expect("checked");
                let gone = matches!(op, Op::Exit { .. });
                *self.state(task) = (!gone).then_some(TaskState::Blocked);
                self.switches += u64::from(self.queue.is_empty());
                self.schedule();
            }
            Op::Tick { .. } if self.resched == Resched::Lazy => self.resched = Resched::Now,
            _ => {}
        }
    }

    fn now(&self) -> u64 {
        self.now_ns
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
        self.states[name.0 as usize].map(|state| TaskInfo {
            state,
            cpu: 0,
            running: self.current == Some(name),
            throttled: false,
            group: GroupName::ROOT,
        })
    }

    fn tasks(&self) -> Vec<TaskName> {
        (0..self.states.len() as u32)
            .map(TaskName)
            .filter(|&task| self.task(task).is_some())
            .collect()
    }

    fn groups(&self) -> Vec<GroupName> {
        vec![GroupName::ROOT]
    }

    fn visit(&self, _part: Part, _visitor: &mut dyn Visitor) {}

    fn fingerprint(&self) -> u64 {
        self.now_ns
    }

    fn violations(&self, _depth: Depth) -> Vec<Violation> {
        Vec::new()
    }

    fn has_pelt(&self) -> bool {
        false
    }
}
