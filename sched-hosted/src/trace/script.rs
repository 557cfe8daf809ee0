// SPDX-License-Identifier: GPL-2.0-only
//! A recording as a workload: per CPU its tasks, and what each of them does.
//!
//! A task's script is a sequence of bursts. In a burst it needs so much CPU time, wakes others after so much of it, and
//! then sleeps or exits. Preemptions are not in it: they are the scheduler's doing, and will come where the scheduler
//! that plays it decides so. What the tasks of a CPU do to each other follows from how far they have run; only what
//! came from outside (interrupts, the idle task, other CPUs) stands at its time.
//!
//! Each CPU is a machine of its own. A task belongs to the CPU on which it ran longest, all its bursts with it.

use super::reader::Summary;
use crate::workload::costs::Costs;

/// What a recording does not say and has to be assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Assume {
    /// Which wakeups were sync.
    pub sync: SyncWakeups,
    /// What a switch and a wakeup cost, in proportion; scaled to the machine of the recording by how long its
    /// wakeups took. That much is taken out of the recorded run times, and put back where the played run
    /// switches and wakes. The cost of tracing is part of both: what is played is the machine while it was
    /// recorded, at its speed.
    pub costs: Costs,
}

/// Which wakeups carried WF_SYNC (the waker says that it is about to sleep). It is not recorded. A pipe and a socket
/// say so always, a futex and a timer never.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SyncWakeups {
    /// Those after which the waker did nothing else before it slept, and slept within 20 us of its own CPU time (on the
    /// machine of the cost model).
    #[default]
    BeforeSleep,
    /// All that a task did.
    Always,
    /// None.
    Never,
}

/// What a recording turned into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// The file, as it was named.
    pub name: String,
    /// What was read.
    pub summary: Summary,
    /// The CPUs on which tasks of the fair class ran.
    pub cpus: Vec<CpuScript>,
    /// What could not be taken over as it was.
    pub counts: Counts,
    /// [`Assume::costs`] with the cost of tracing, scaled to the machine of the recording.
    pub costs: Costs,
    /// That scale, in thousandths.
    pub scale_permille: u64,
}

/// One CPU's tasks and what comes from outside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuScript {
    /// The CPU's number in the recording.
    pub cpu: u32,
    /// Its tasks, in the order in which they were seen.
    pub tasks: Vec<TaskScript>,
    /// What comes from outside, in order of time.
    pub stimuli: Vec<Stimulus>,
}

/// One task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskScript {
    /// Its comm and pid, as a name of the operation language: no two of a CPU are equal.
    pub name: String,
    /// Its pid in the recording.
    pub pid: u32,
    /// Its nice value at the start.
    pub nice: i32,
    /// Where it was when the recording began.
    pub start: Start,
    /// What it does, in order. Starts with a sleep if it was asleep.
    pub acts: Vec<Act>,
}

/// Where a task was when the recording began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// On the CPU.
    Running,
    /// Runnable.
    Queued,
    /// Asleep.
    Asleep,
    /// It did not exist yet.
    Forked,
}

/// What a task does. Other tasks are given as indices into [`CpuScript::tasks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Needs CPU time.
    Run {
        /// Relative, ns.
        ns: u64,
    },
    /// Is back in user mode after a system call in which it woke somebody.
    UserMode,
    /// Wakes another task, which was asleep in the recording.
    Wake {
        /// Who is woken.
        task: usize,
        /// As [`SyncWakeups`] assumes.
        sync: bool,
    },
    /// Forks.
    New {
        /// The child.
        task: usize,
    },
    /// Has another nice value from here on.
    Nice {
        /// The new value.
        nice: i32,
    },
    /// Sleeps until it is woken once.
    Sleep,
    /// Dies.
    Exit,
}

/// Something that comes from outside the tasks of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stimulus {
    /// When, from the first event of the recording on: relative, ns.
    pub at_ns: u64,
    /// To whom.
    pub task: usize,
    /// It is a new task that starts, not a sleeping one that is woken.
    pub new: bool,
}

/// What could not be taken over as it was, and how much of it there was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Wakeups of sleeping tasks, by whomever.
    pub wakeups: u64,
    /// Those by interrupts, idle CPUs and unknown wakers: they keep their time.
    pub by_interrupt: u64,
    /// Those by a task of another CPU (or of another class): they keep their time, too.
    pub from_other_cpu: u64,
    /// Tasks that ran though no wakeup of them was recorded: they are woken at that time.
    pub unseen: u64,
    /// Wakeups of tasks that were not asleep: left out.
    pub needless: u64,
    /// sched_migrate_task events.
    pub migrations: u64,
    /// CPU time that tasks had on other CPUs than their own, and that moved there: ns.
    pub moved_ns: u64,
    /// Tasks that were never seen in the fair class (prio below 100): left out.
    pub other_class_tasks: u64,
    /// Their CPU time, ns.
    pub other_class_ns: u64,
}

impl Recording {
    /// Lines for people: what was read, what was assumed and what is lost, without the problems of the file.
    pub fn describe(&self) -> Vec<String> {
        let Counts { wakeups, by_interrupt, from_other_cpu, .. } = self.counts;
        let tasks: usize = self.cpus.iter().map(|cpu| cpu.tasks.len()).sum();
        let span_us = (self.summary.last_ns - self.summary.first_ns) / 1000;
        let mut lines = vec![
            format!(
                "{} events in {span_us} us, fair tasks on {} of {} CPUs: {tasks}, switches: {}",
                self.summary.events,
                self.cpus.len(),
                self.summary.nr_cpus,
                self.summary.switches,
            ),
            format!(
                "{wakeups} wakeups: {} by tasks of the same CPU follow the waker; {by_interrupt} by interrupts and \
                 {from_other_cpu} from other CPUs keep their time",
                wakeups - by_interrupt - from_other_cpu,
            ),
        ];
        lines.extend(self.counts.losses());
        lines
    }
}

impl Counts {
    /// One line for each thing that was lost, if any.
    fn losses(&self) -> Vec<String> {
        let all = [
            ("tasks that ran without a recorded wakeup, woken at that time", self.unseen),
            ("wakeups of tasks that were awake, left out", self.needless),
            ("migrations, not played (each CPU is a machine of its own)", self.migrations),
            ("CPU time moved to the task's own CPU, us", self.moved_ns / 1000),
            ("tasks of other classes (prio below 100), left out", self.other_class_tasks),
        ];
        let some = all.iter().filter(|(_, count)| *count > 0);
        some.map(|(what, count)| format!("{what}: {count}")).collect()
    }
}
