// SPDX-License-Identifier: GPL-2.0-only
//! Where a machine, its runqueues and its tasks live. sched-core never allocates: it links what stands here.

use sched_core::fair::group::GroupParts;
use sched_core::sched::{CfsRq, Machine, Rq, SchedEntity, TaskGroup, TaskStruct};
use sched_core::trace::Hooks;
use std::cell::RefCell;

/// The memory of one machine. Whatever is in it lives until the arena is dropped; tasks are recycled.
pub struct Arena<'a, H: Hooks + 'a> {
    machines: typed_arena::Arena<Machine<'a, H>>,
    runqueues: typed_arena::Arena<Rq<'a, H>>,
    tasks: typed_arena::Arena<TaskStruct<'a, H>>,
    groups: typed_arena::Arena<TaskGroup<'a, H>>,
    cfs_rqs: typed_arena::Arena<CfsRq<'a, H>>,
    entities: typed_arena::Arena<SchedEntity<'a, H>>,
    exited: RefCell<Vec<&'a TaskStruct<'a, H>>>,
}

impl<'a, H: Hooks + 'a> Default for Arena<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, H: Hooks + 'a> Arena<'a, H> {
    /// An empty arena.
    pub fn new() -> Self {
        Arena {
            machines: typed_arena::Arena::with_capacity(1),
            runqueues: typed_arena::Arena::with_capacity(1),
            tasks: typed_arena::Arena::new(),
            groups: typed_arena::Arena::with_capacity(1),
            cfs_rqs: typed_arena::Arena::with_capacity(1),
            entities: typed_arena::Arena::with_capacity(1),
            exited: RefCell::new(Vec::new()),
        }
    }

    /// A machine that reports to `hooks`, with `cpus` runqueues, not yet initialised.
    pub fn machine(&'a self, hooks: H, cpus: u32) -> (&'a Machine<'a, H>, &'a [Rq<'a, H>]) {
        let machine: &'a Machine<'a, H> = self.machines.alloc(Machine::new(hooks));
        let runqueues = self.runqueues.alloc_extend((0..cpus).map(|cpu| Rq::new(machine, cpu)));
        (machine, runqueues)
    }

    /// What a task group on `cpus` CPUs is made of.
    pub fn group(&'a self, cpus: u32) -> GroupParts<'a, H> {
        GroupParts {
            tg: self.groups.alloc(TaskGroup::new()),
            cfs_rq: self.cfs_rqs.alloc_extend((0..cpus).map(|_| CfsRq::new())),
            se: self.entities.alloc_extend((0..cpus).map(|_| SchedEntity::new())),
        }
    }

    /// A task that nobody uses, recycled if there is one.
    pub fn task(&'a self) -> &'a TaskStruct<'a, H> {
        match self.exited.borrow_mut().pop() {
            Some(task) => task,
            None => self.tasks.alloc(TaskStruct::new()),
        }
    }

    /// `task` has exited and nothing refers to it any longer.
    pub fn recycle(&self, task: &'a TaskStruct<'a, H>) {
        self.exited.borrow_mut().push(task);
    }
}
