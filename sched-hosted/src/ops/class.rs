// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler class must offer so that everything in this crate can drive it: operations, a visitor of its
//! fields, counters. v7.3's class is one implementation ([`super::driver::Driver`]); other releases and the kernel's
//! own C code are others. Nothing else in this crate knows a class from the inside.

use super::{GroupName, Names, Op, TaskName};
use std::fmt;

/// How far a task has come, as an outsider sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// After `task`, before `new`.
    New,
    /// Queued or running.
    Runnable,
    /// Asleep, but still queued until it is picked or woken: DELAY_DEQUEUE.
    Delayed,
    /// Asleep and dequeued.
    Blocked,
}

/// What is known of a live task from the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskInfo {
    /// How far it has come.
    pub state: TaskState,
    /// The CPU that it is on, or was on last.
    pub cpu: u32,
    /// It is the current task of that CPU.
    pub running: bool,
    /// It is parked because its group's quota is used up.
    pub throttled: bool,
    /// Its group.
    pub group: GroupName,
}

/// What the current task of a CPU was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resched {
    /// Nothing.
    None,
    /// TIF_NEED_RESCHED_LAZY: to schedule on the way back to user mode, or at the next tick.
    Lazy,
    /// TIF_NEED_RESCHED: to schedule at once.
    Now,
}

/// Why an operation makes no sense in the present state, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What is wrong, naming the task, group or CPU.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Refusal {
    /// A refusal of those two parts.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Refusal { what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// Legal, or why not.
pub type Legality = Result<(), Refusal>;

/// The two halves of a state (OPS.md, "State after an operation").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Runqueues, groups, tasks.
    Core,
    /// Load tracking.
    Pelt,
}

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A flag, printed as 0 or 1.
    Bool(bool),
    /// A task, or `-`.
    Task(Option<TaskName>),
    /// A task, or `idle`.
    Current(Option<TaskName>),
    /// A group.
    Group(GroupName),
    /// A fixed word.
    Word(&'static str),
}

/// An object whose fields are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// `rq C`.
    Rq(u32),
    /// `cfs C PATH`.
    Cfs(u32, GroupName),
    /// `gse C PATH`: a group's entity (load tracking only).
    Gse(u32, GroupName),
    /// `task NAME`.
    Task(TaskName),
}

/// Receives the fields of a state, in the order in which OPS.md prints them.
pub trait Visitor {
    /// A new object begins.
    fn object(&mut self, object: Object);
    /// A field of the object that began last.
    fn field(&mut self, name: &'static str, value: Value);
    /// The object that began last has no more fields.
    fn end(&mut self) {}
}

/// How thoroughly invariants are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Depth {
    /// What costs a fixed time or little more: fit for every operation.
    Cheap,
    /// Everything, by brute force over all tasks.
    Full,
}

/// An invariant of the class that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Its name, like `I-AUG` (Documentation/invariants.rst).
    pub invariant: &'static str,
    /// Where it does not hold.
    pub object: Object,
    /// The field that is wrong; empty if it is not one field.
    pub field: &'static str,
    /// What is, what ought to be and why, in the terms of the class; one line.
    pub what: String,
}

/// A scheduler class with its runqueues and tasks, driven from outside.
///
/// The clock only moves by `at` operations; two instances given the same operations are in the same state.
pub trait Class {
    /// The kernel release whose class this is, like `7.3`.
    fn release(&self) -> &'static str;

    /// The names that the operations' indices stand for.
    fn names(&self) -> &Names;

    /// Says whether `op` is legal in the present state; changes nothing.
    fn check(&self, op: &Op) -> Legality;

    /// Carries out `op`, which must be legal: what an illegal one does is not defined (it may panic).
    fn run(&mut self, op: &Op);

    /// Carries out `op` if it is legal; otherwise nothing changes.
    fn apply(&mut self, op: &Op) -> Legality {
        self.check(op)?;
        self.run(op);
        Ok(())
    }

    /// The `at` clock, ns.
    fn now(&self) -> u64;

    /// How many CPUs there are.
    fn nr_cpus(&self) -> u32;

    /// The current task of `cpu`; none if it idles.
    fn current(&self, cpu: u32) -> Option<TaskName>;

    /// What the current task of `cpu` was told.
    fn resched(&self, cpu: u32) -> Resched;

    /// What is known of task `name`; none if there is no such live task.
    fn task(&self, name: TaskName) -> Option<TaskInfo>;

    /// The live tasks in order of creation.
    fn tasks(&self) -> Vec<TaskName>;

    /// The groups in order of creation, the root group first.
    fn groups(&self) -> Vec<GroupName>;

    /// Whether group `name` has been made; the root group always has.
    fn has_group(&self, name: GroupName) -> bool {
        self.groups().contains(&name)
    }

    /// Shows every field of one half of the state to `visitor`.
    fn visit(&self, part: Part, visitor: &mut dyn Visitor);

    /// A fast hash of all that [`Class::visit`] shows: equal states have equal hashes. Only to be compared with that
    /// of another instance in this process; what is printed is the digest of the texts.
    fn fingerprint(&self) -> u64;

    /// The invariants that do not hold between two operations; none as a rule. Changes nothing.
    fn violations(&self, depth: Depth) -> Vec<Violation>;

    /// Whether load tracking is there, so that [`Part::Pelt`] means something.
    fn has_pelt(&self) -> bool;
}
