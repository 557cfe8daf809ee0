// SPDX-License-Identifier: GPL-2.0-only
//! `pipe-ring`: N tasks on one CPU pass T tokens (one byte each) round by pipes.
//!
//! Each task reads a byte from its own pipe and writes one into that of the next task that waits for one, so that T
//! tasks are runnable at once (with pipes in a plain ring all tokens would end up behind each other, and be passed on
//! in one go). A write whose reader waits wakes it (sync); where all are awake it only leaves the byte there. With two
//! tasks and one token it is the pair of `pipe-handoff` ([`super::pipe`]). A hand-off is one write.

use super::costs::Costs;
use super::{Event, Step, Workload};
use crate::ops::{GroupName, Header, Names, Op, Policy, TaskName};
use crate::sim::prng::{Purpose, Stream};

/// Where a task is in its loop.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In user space, before a read.
    Loop,
    /// In a read; whether there is a byte is looked at now.
    Read,
    /// In a read that found the pipe empty; about to block, unless a byte has come.
    ToBlock,
    /// In a read that had blocked, and runs again.
    Woken,
    /// A read that found its byte is done.
    Found,
    /// In a write; whether the reader waits is looked at now.
    Write,
    /// In a write, at its wakeup.
    Wake,
    /// In a write, after its wakeup.
    Woke,
    /// At the end of a write that found its reader awake: the byte is there.
    Awake,
    /// At the end of any write: the hand-off is done.
    Written,
    /// On the way back to user mode, after a read (true) or a write.
    UserMode(bool),
}

/// One task and its pipe, of which it is the reader.
struct Worker {
    at: At,
    bytes: u32,
    waits: bool,
}

/// The tasks of one CPU, in a ring.
pub struct Ring {
    header: Header,
    costs: Costs,
    jitter: Stream,
    workers: Vec<Worker>,
}

impl Ring {
    /// A ring of `tasks` tasks (at least 2) with `tokens` tokens (at least 1, at most one a task), on a machine as
    /// `header` says. `seed` and `index` choose the stream of the jitter.
    pub fn new(
        header: Header,
        tasks: u32,
        tokens: u32,
        costs: Costs,
        seed: u64,
        index: u64,
    ) -> Self {
        let workers = (0..tasks.max(2))
            .map(|_| Worker { at: At::Loop, bytes: 0, waits: false })
            .collect::<Vec<_>>();
        let jitter = Stream::new(seed, Purpose::Jitter, index);
        let mut ring = Ring { header, costs, jitter, workers };
        let nr_workers = ring.workers.len();
        let tokens = (tokens.max(1) as usize).min(nr_workers);
        for token in 0..tokens {
            ring.workers[token * nr_workers / tokens].bytes += 1;
        }
        ring
    }

    fn run(&mut self, ns: u64) -> Step {
        Step::Run { ns: self.jitter.around(ns, u64::from(self.costs.jitter_permille)) }
    }

    /// For whom the token of worker `me` is: the next one that waits for one; if all are awake, the next.
    fn receiver(&self, me: usize) -> usize {
        let nr_workers = self.workers.len();
        let others = (me + 1..me + nr_workers).map(|worker| worker % nr_workers);
        let mut waiting = others.filter(|&worker| self.workers[worker].waits);
        waiting.next().unwrap_or((me + 1) % nr_workers)
    }

    /// The step of worker `me` that begins where it stands, and where it stands after it.
    fn advance(&mut self, me: usize) -> (Step, At) {
        let costs = self.costs;
        let at = self.workers[me].at;
        let writes = matches!(at, At::Write | At::Wake | At::Awake);
        let next = if writes { self.receiver(me) } else { me };
        match at {
            At::Loop => (self.run(costs.loop_ns), At::Read),
            At::Read if self.workers[me].bytes > 0 => (self.run(costs.read_finds_ns), At::Found),
            At::Read => (self.run(costs.read_to_block_ns), At::ToBlock),
            At::ToBlock if self.workers[me].bytes == 0 => {
                self.workers[me].waits = true;
                (Step::Block, At::Woken)
            }
            // A byte came while it was on its way to sleep: the read goes on as if it had been woken.
            At::ToBlock | At::Woken => (self.run(costs.read_return_ns), At::Found),
            At::Found => {
                self.workers[me].bytes -= 1;
                (Step::UserMode, At::UserMode(true))
            }
            At::UserMode(true) => (self.run(costs.loop_ns), At::Write),
            At::Write if self.workers[next].waits => (self.run(costs.write_to_wakeup_ns), At::Wake),
            At::Write => (self.run(costs.write_awake_ns), At::Awake),
            At::Wake => {
                self.workers[next].bytes += 1;
                self.workers[next].waits = false;
                (Step::Wake { task: TaskName(next as u32), sync: true }, At::Woke)
            }
            At::Woke => (self.run(costs.write_return_ns), At::Written),
            // The reader went to sleep while this write was preempted in the middle: it must be woken after all.
            At::Awake if self.workers[next].waits => (Step::Run { ns: 0 }, At::Wake),
            At::Awake => {
                self.workers[next].bytes += 1;
                (Step::Run { ns: 0 }, At::Written)
            }
            At::Written => (Step::HandOff, At::UserMode(false)),
            At::UserMode(false) => (Step::UserMode, At::Loop),
        }
    }
}

impl Workload for Ring {
    fn header(&self) -> Header {
        self.header.clone()
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        for worker in 1..=self.workers.len() {
            names.task(&format!("w{worker}"));
        }
        names
    }

    fn setup(&mut self) -> Vec<Op> {
        let tasks = (0..self.workers.len() as u32).map(TaskName);
        let create = tasks.clone().map(|task| Op::Task {
            task,
            cpu: 0,
            nice: 0,
            policy: Policy::Normal,
            slice_ns: 0,
            group: GroupName::ROOT,
        });
        create.chain(tasks.map(|task| Op::New { task })).collect()
    }

    fn next(&mut self, task: TaskName) -> Step {
        let me = task.0 as usize;
        let (step, at) = self.advance(me);
        self.workers[me].at = at;
        step
    }

    fn cost_ns(&mut self, event: Event) -> u64 {
        let costs = self.costs;
        let ns = match event {
            Event::SwitchAfterBlock => costs.switch_after_block_ns,
            Event::SwitchAfterPreempt => costs.switch_after_preempt_ns,
            Event::Resume => costs.resume_ns,
            Event::Wakeup { set_resched } => {
                costs.wakeup_ns + if set_resched { costs.set_resched_ns } else { 0 }
            }
        };
        self.jitter.around(ns, u64::from(costs.jitter_permille))
    }
}
