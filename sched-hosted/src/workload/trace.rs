// SPDX-License-Identifier: GPL-2.0-only
//! A recording ([`crate::trace`]) as a workload: one of its CPUs, played in a closed loop.
//!
//! Each task does what it did in the recording, after as much CPU time of its own; when it gets that time is up to the
//! scheduler. A wakeup by a task comes when that task has run so far, one from outside at its recorded time. A wakeup
//! that comes before its sleeper sleeps is kept for it, as a byte in a pipe is: that sleep does not happen. At the end
//! of its script a task sleeps for good, so a recording plays once.

use super::costs::Costs;
use super::{Event, Step, Workload};
use crate::ops::{GroupName, Header, Names, Op, Policy, TaskName};
use crate::sim::START_NS;
use crate::trace::script::{Act, CpuScript, Recording, Start};

/// Where a task is.
#[derive(Clone, Default)]
struct At {
    /// The next act of its script.
    act: usize,
    /// It sleeps, or is about to: the step was given out.
    asleep: bool,
    /// Wakeups that came before their sleep.
    kept: u32,
    /// The last step woke somebody: a hand-off is to be counted.
    handed_off: bool,
    /// It has woken somebody and is not back from that system call.
    in_kernel: bool,
}

/// One CPU of a recording, being played.
pub struct Played<'a> {
    header: Header,
    names: Names,
    script: &'a CpuScript,
    costs: Costs,
    at: Vec<At>,
    next_stimulus: usize,
    /// The setup is over: from here on switches cost something.
    started: bool,
}

impl<'a> Played<'a> {
    /// Plays [`Recording::cpus`]`[index]` on a machine like `machine`. The base slice, where `machine` gives none, is
    /// that of as many CPUs as the recording has.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn new(recording: &'a Recording, index: usize, machine: &Header) -> Self {
        let script = &recording.cpus[index];
        let mut header = machine.clone();
        header.cpus = 1;
        let nr_cpus = recording.summary.nr_cpus.clamp(1, 8);
        header.base_slice_ns.get_or_insert(700_000 * (1 + nr_cpus.ilog2()));
        let mut names = Names::default();
        for task in &script.tasks {
            names.task(&task.name);
        }
        Played {
            header,
            names,
            script,
            costs: recording.costs,
            at: vec![At::default(); script.tasks.len()],
            next_stimulus: 0,
            started: false,
        }
    }

    /// Somebody wakes task `index`: it will be awake, or is spared its next sleep.
    fn woken(&mut self, index: usize) {
        let at = &mut self.at[index];
        if !std::mem::take(&mut at.asleep) {
            at.kept += 1;
        }
    }
}

fn name(index: usize) -> TaskName {
    TaskName(index as u32)
}

impl Workload for Played<'_> {
    fn header(&self) -> Header {
        self.header.clone()
    }

    fn names(&self) -> Names {
        self.names.clone()
    }

    /// All tasks exist from the start. Those that slept run for no time and go to sleep; then the one that ran when
    /// the recording began and those that were queued start, in this order.
    fn setup(&mut self) -> Vec<Op> {
        let mut ops = Vec::new();
        for (index, task) in self.script.tasks.iter().enumerate() {
            ops.push(Op::Task {
                task: name(index),
                cpu: 0,
                nice: task.nice,
                policy: Policy::Normal,
                slice_ns: 0,
                group: GroupName::ROOT,
            });
        }
        for (index, task) in self.script.tasks.iter().enumerate() {
            if task.start == Start::Asleep {
                ops.extend([
                    Op::New { task: name(index) },
                    Op::Schedule { cpu: 0 },
                    Op::Block { cpu: 0 },
                ]);
                self.at[index] = At { act: 1, asleep: true, ..At::default() };
            }
        }
        for start in [Start::Running, Start::Queued] {
            for (index, task) in self.script.tasks.iter().enumerate() {
                if task.start == start {
                    ops.push(Op::New { task: name(index) });
                }
            }
        }
        ops
    }

    fn next(&mut self, task: TaskName) -> Step {
        self.started = true;
        let index = task.0 as usize;
        let script = &self.script.tasks[index].acts;
        loop {
            let at = &mut self.at[index];
            if std::mem::take(&mut at.handed_off) {
                return Step::HandOff;
            }
            let act = script.get(at.act);
            at.act = (at.act + 1).min(script.len());
            match act {
                Some(Act::Run { ns }) => return Step::Run { ns: *ns },
                Some(Act::UserMode) => {
                    at.in_kernel = false;
                    return Step::UserMode;
                }
                Some(Act::Nice { nice }) => return Step::Do(Op::Nice { task, nice: *nice }),
                Some(Act::New { task }) => return Step::Do(Op::New { task: name(*task) }),
                Some(Act::Exit) => return Step::Do(Op::Exit { cpu: 0 }),
                Some(Act::Wake { task: other, sync }) => {
                    at.handed_off = true;
                    at.in_kernel = true;
                    self.woken(*other);
                    return Step::Wake { task: name(*other), sync: *sync };
                }
                Some(Act::Sleep) if at.kept > 0 => at.kept -= 1,
                Some(Act::Sleep) | None => {
                    at.asleep = true;
                    at.in_kernel = false;
                    return Step::Block;
                }
            }
        }
    }

    fn cost_ns(&mut self, event: Event) -> u64 {
        match event {
            _ if !self.started => 0,
            Event::SwitchAfterBlock => self.costs.switch_after_block_ns,
            Event::SwitchAfterPreempt => self.costs.switch_after_preempt_ns,
            Event::Resume => self.costs.resume_ns,
            Event::Wakeup { set_resched: false } => self.costs.wakeup_ns,
            Event::Wakeup { set_resched: true } => self.costs.wakeup_ns + self.costs.set_resched_ns,
        }
    }

    /// In a system call it is from a wakeup to the way back from that.
    fn in_user_mode(&self, task: TaskName) -> bool {
        !self.at[task.0 as usize].in_kernel
    }

    fn next_stimulus_ns(&self) -> Option<u64> {
        let stimulus = self.script.stimuli.get(self.next_stimulus)?;
        Some(START_NS.saturating_add(stimulus.at_ns))
    }

    fn stimulus(&mut self) -> Step {
        self.started = true;
        let stimulus = self.script.stimuli[self.next_stimulus];
        self.next_stimulus += 1;
        if stimulus.new {
            return Step::Do(Op::New { task: name(stimulus.task) });
        }
        self.woken(stimulus.task);
        Step::Wake { task: name(stimulus.task), sync: false }
    }
}
