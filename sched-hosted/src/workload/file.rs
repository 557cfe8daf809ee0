// SPDX-License-Identifier: GPL-2.0-only
//! An `.ops` file as a workload: no closed loop, its statements are what happens.
//!
//! A statement that is not legal (because the side that runs it decided otherwise before) is left out and counted.
//! What is counted as a hand-off elsewhere is an operation here.

use crate::ops::{Class, Op, Program, Statement, TaskName, TaskState};
use crate::sim::{Drive, End, Limits, START_NS, Stats};
use std::ops::ControlFlow;

/// Runs the statements of `program` from the first one on, until one of `limits` is reached.
pub fn play<D: Drive>(program: &Program, drive: &mut D, limits: Limits) -> (Stats, End) {
    let mut player = Player {
        currents: vec![None; program.header.cpus as usize],
        woken_ns: vec![None; program.names.nr_tasks()],
        stats: Stats::default(),
    };
    for statement in &program.statements {
        let now_ns = drive.class().now();
        if player.stats.ops >= limits.ops || now_ns - START_NS >= limits.virtual_ns {
            break;
        }
        if player.statement(drive, statement).is_break() {
            return (player.finish(drive), End::Stopped);
        }
    }
    (player.finish(drive), End::Limit)
}

struct Player {
    currents: Vec<Option<TaskName>>,
    woken_ns: Vec<Option<u64>>,
    stats: Stats,
}

impl Player {
    fn statement<D: Drive>(&mut self, drive: &mut D, statement: &Statement) -> ControlFlow<()> {
        let op = &statement.op;
        if let Err(refusal) = drive.class().check(op) {
            self.stats.skipped += 1;
            let why = || format!("line {}: {refusal}", statement.line);
            self.stats.first_skipped.get_or_insert_with(why);
            return ControlFlow::Continue(());
        }
        drive.run(op)?;
        if op.is_operation() {
            self.stats.ops += 1;
            self.stats.hand_offs += 1;
        }
        if let Op::Wake { task, .. } = op {
            self.stats.wakes += 1;
            self.woken_ns[task.0 as usize] = Some(drive.class().now());
        }
        for cpu in 0..self.currents.len() {
            self.look_at(drive.class(), cpu);
        }
        ControlFlow::Continue(())
    }

    /// Notes a switch on `cpu`, if there was one.
    fn look_at<C: Class>(&mut self, class: &C, cpu: usize) {
        let current = class.current(cpu as u32);
        let prev = std::mem::replace(&mut self.currents[cpu], current);
        if prev == current {
            return;
        }
        let runnable =
            |task| class.task(task).is_some_and(|info| info.state == TaskState::Runnable);
        self.stats.preemptions += u64::from(prev.is_some_and(runnable));
        if let Some(woken_ns) = current.and_then(|task| self.woken_ns[task.0 as usize].take()) {
            self.stats.latency(class.now() - woken_ns);
        }
    }

    fn finish<D: Drive>(mut self, drive: &D) -> Stats {
        self.stats.virtual_ns = drive.class().now() - START_NS;
        self.stats
    }
}
