// SPDX-License-Identifier: GPL-2.0-only
//! Workloads: what the tasks of a simulated CPU do, each as a little program in a closed loop.
//!
//! A workload names its tasks, creates them with operations, and then says step by step what the current task does
//! next. It never looks into the scheduler: who runs is decided by the class, which the simulation
//! ([`crate::sim`]) drives. So the same workload runs on any release and on any patch, and goes another way where the
//! scheduler decides otherwise.

pub mod costs;
pub mod file;
pub mod kind;
pub mod pipe;
pub mod ring;
pub mod trace;

use crate::ops::{Header, Names, Op, TaskName};

/// What a task does next, once its last step is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// Runs for `ns` of CPU time. Ticks and wakeups from outside interrupt it; what is left is run later.
    Run {
        /// Relative, ns; 0 is allowed.
        ns: u64,
    },
    /// Wakes `task`. If it is not asleep nothing happens, as in try_to_wake_up(), and it is counted.
    Wake {
        /// Who is woken.
        task: TaskName,
        /// WF_SYNC: the waker says that it is about to sleep.
        sync: bool,
    },
    /// The way back to user mode: a pending reschedule, also a lazy one, takes effect here.
    UserMode,
    /// Goes to sleep until somebody wakes it. The next step is asked for when it runs again.
    Block,
    /// A hand-off is done. Takes no time; only counted.
    HandOff,
    /// Any other operation (`exit`, `task` and `new` for a fork, `yield`, `nice`, ...). One that is not legal is left
    /// out and counted.
    Do(Op),
}

/// Something that the scheduler did and that takes CPU time, seen from the task that runs after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Switched in after a task that blocked or died, or after the idle task.
    SwitchAfterBlock,
    /// Switched in after a task that was preempted and stays queued.
    SwitchAfterPreempt,
    /// The task that was switched in had been preempted itself: what is left of the way on which that happened.
    /// Comes after one of the above.
    Resume,
    /// The current task woke another.
    Wakeup {
        /// The wakeup set need-resched, lazy or not.
        set_resched: bool,
    },
}

/// The tasks of one CPU and what they do. The CPU is always number 0.
///
/// All methods are called in the order of virtual time, so a workload may keep state of its own (bytes in a pipe, who
/// waits); a step takes effect in the scheduler before the next call.
pub trait Workload {
    /// The machine that the workload wants.
    fn header(&self) -> Header;

    /// All names that its operations will ever use.
    fn names(&self) -> Names;

    /// The operations that create the tasks and start them, at the start of the clock. All must be legal in this
    /// order on a fresh machine.
    fn setup(&mut self) -> Vec<Op>;

    /// What the current task `task` does next.
    fn next(&mut self, task: TaskName) -> Step;

    /// What `event` costs: ns of CPU time that the task which then runs needs on top of its own steps.
    fn cost_ns(&mut self, event: Event) -> u64 {
        let _ = event;
        0
    }

    /// Whether the current task `task` is in user mode, so that an interrupt which returns to it (the tick, a
    /// stimulus) lets a lazy reschedule take effect. In kernel mode only an urgent one does.
    fn in_user_mode(&self, task: TaskName) -> bool {
        let _ = task;
        false
    }

    /// When the next thing happens that no task of this CPU causes (a timer, another CPU): absolute, ns. In the past
    /// means at once.
    fn next_stimulus_ns(&self) -> Option<u64> {
        None
    }

    /// That thing happens now: [`Step::Wake`] or [`Step::Do`]; others are ignored. Called once for each time that
    /// [`Workload::next_stimulus_ns`] told, which must then tell the one after it.
    fn stimulus(&mut self) -> Step {
        Step::Run { ns: 0 }
    }
}
