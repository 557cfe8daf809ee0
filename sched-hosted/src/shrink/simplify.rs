// SPDX-License-Identifier: GPL-2.0-only
//! Simplifies the values of the statements that are left: times, nice values, slices, policies,
//! options.

use super::{Op, START_NS, Search, Statement};
use crate::ops::{GroupName, Policy};

/// Units that times are rounded down to, ns, the coarsest first.
const UNITS_NS: [u64; 4] = [1_000_000, 100_000, 10_000, 1_000];

impl Search<'_> {
    /// One round over all statements.
    pub(super) fn simplify(&mut self) {
        self.simplify_values();
        self.simplify_times();
    }

    fn simplify_values(&mut self) {
        let mut at = 0;
        while at < self.best.statements.len() {
            if self.spent() || !self.simplify_statement(at) {
                at += 1;
            }
        }
    }

    /// Makes one value of a statement simpler; false if none can be.
    fn simplify_statement(&mut self, at: usize) -> bool {
        simpler(&self.best.statements[at].op).into_iter().any(|op| {
            let mut statements = self.best.statements.clone();
            statements[at].op = op;
            self.try_statements(statements)
        })
    }

    /// Shortens each step of the clock; all later times move along.
    fn simplify_times(&mut self) {
        let mut at = 0;
        while at < self.best.statements.len() {
            self.simplify_time(at);
            at += 1;
        }
    }

    fn simplify_time(&mut self, at: usize) {
        let Op::At { ns } = self.best.statements[at].op else { return };
        let before = clock_before(&self.best.statements[..at]);
        let step = ns.saturating_sub(before);
        for shorter in shorter_steps(step) {
            let mut statements = self.best.statements.clone();
            move_earlier(&mut statements[at..], step - shorter);
            if self.spent() || self.try_statements(statements) {
                return;
            }
        }
    }
}

/// What the clock reads after `statements`, ns.
pub(super) fn clock_before(statements: &[Statement]) -> u64 {
    let times = statements.iter().rev().find_map(|statement| match statement.op {
        Op::At { ns } => Some(ns),
        _ => None,
    });
    times.unwrap_or(START_NS)
}

/// All times of `statements` are earlier by so many ns.
pub(super) fn move_earlier(statements: &mut [Statement], by: u64) {
    for statement in statements {
        if let Op::At { ns } = &mut statement.op {
            *ns -= by;
        }
    }
}

/// Shorter steps that are worth a try, the best first: none, half, then rounder ones.
fn shorter_steps(step: u64) -> Vec<u64> {
    let mut steps = vec![0, step / 2];
    steps.extend(UNITS_NS.iter().map(|unit| step - step % unit));
    steps.retain(|&shorter| shorter < step);
    steps.dedup();
    steps
}

/// The same statement with one value simpler, for each of its values that can be.
fn simpler(op: &Op) -> Vec<Op> {
    match *op {
        Op::Task { task, cpu, nice, policy, slice_ns, group } => {
            let make = |cpu, nice, policy, slice_ns, group| Op::Task {
                task,
                cpu,
                nice,
                policy,
                slice_ns,
                group,
            };
            let mut ops = vec![make(0, 0, Policy::Normal, 0, GroupName::ROOT)];
            ops.push(make(cpu, nice, policy, slice_ns, GroupName::ROOT));
            ops.push(make(cpu, nice, Policy::Normal, slice_ns, group));
            ops.extend(simpler_nice(nice).map(|nice| make(cpu, nice, policy, slice_ns, group)));
            ops.extend(simpler_slice(slice_ns).map(|slice| make(cpu, nice, policy, slice, group)));
            only_others(ops, op)
        }
        Op::Param { task, policy, nice, slice_ns } => {
            let make = |policy, nice, slice_ns| Op::Param { task, policy, nice, slice_ns };
            let mut ops = vec![make(Policy::Normal, nice, slice_ns)];
            ops.extend(simpler_nice(nice).map(|nice| make(policy, nice, slice_ns)));
            ops.extend(simpler_slice(slice_ns).map(|slice| make(policy, nice, slice)));
            only_others(ops, op)
        }
        Op::Nice { task, nice } => simpler_nice(nice).map(|nice| Op::Nice { task, nice }).collect(),
        Op::Wake { task, sync, cpu } => only_others(
            vec![
                Op::Wake { task, sync: false, cpu: None },
                Op::Wake { task, sync, cpu: None },
                Op::Wake { task, sync: false, cpu },
            ],
            op,
        ),
        Op::YieldTo { cpu, .. } => vec![Op::Yield { cpu }],
        Op::Group { group, shares: Some(_) } => vec![Op::Group { group, shares: None }],
        _ => Vec::new(),
    }
}

fn only_others(mut ops: Vec<Op>, op: &Op) -> Vec<Op> {
    ops.retain(|simpler| simpler != op);
    ops
}

/// 0 first, then half way to it.
fn simpler_nice(nice: i32) -> impl Iterator<Item = i32> {
    [0, nice / 2].into_iter().filter(move |&simpler| simpler != nice)
}

/// The default first, then the shortest and the longest that the kernel grants, then half and
/// rounder ones.
fn simpler_slice(slice_ns: u64) -> impl Iterator<Item = u64> {
    let round = |unit: u64| slice_ns - slice_ns % unit;
    [0, 100_000, 100_000_000, slice_ns / 2, round(1_000_000), round(100_000)]
        .into_iter()
        .filter(move |&simpler| simpler < slice_ns)
}
