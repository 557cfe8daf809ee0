// SPDX-License-Identifier: GPL-2.0-only
//! Folds a change of a task into the line that makes it, and puts simpler statements in the place of others.

use super::{Op, Search, Statement, TaskName};
use crate::ops::{GroupName, Policy};

impl Search<'_> {
    /// One round over all statements, from the end.
    pub(super) fn fold(&mut self) {
        let mut at = self.best.statements.len();
        while at > 0 && !self.spent() {
            at = (at - 1).min(self.best.statements.len().saturating_sub(1));
            let Some(&Statement { op, .. }) = self.best.statements.get(at) else { return };
            if self.fold_into_task(at, &op) {
                continue;
            }
            for other in instead_of(&op) {
                let mut statements = self.best.statements.clone();
                statements[at].op = other;
                if self.try_statements(statements) {
                    break;
                }
            }
        }
    }

    /// The task is made as the statement at `at` would make it.
    fn fold_into_task(&mut self, at: usize, op: &Op) -> bool {
        let Some(task) = super::task_of(op) else { return false };
        let Some(made) = self.made_at(at, task) else { return false };
        let Some(changed) = changed(&self.best.statements[made].op, op) else { return false };
        if changed == self.best.statements[made].op {
            return false;
        }
        let mut statements = self.best.statements.clone();
        statements[made].op = changed;
        // A wakeup is still needed; it only need not go elsewhere.
        match op {
            Op::Wake { sync, .. } => {
                statements[at].op = Op::Wake { task, sync: *sync, cpu: None };
            }
            _ => {
                statements.remove(at);
            }
        }
        self.try_statements(statements)
    }

    /// Where the task that the statement at `at` is about was made.
    fn made_at(&self, at: usize, task: TaskName) -> Option<usize> {
        let made = |s: &Statement| matches!(s.op, Op::Task { task: made, .. } if made == task);
        self.best.statements[..at].iter().rposition(made)
    }
}

/// The `task` line with what `op` changes.
fn changed(made: &Op, op: &Op) -> Option<Op> {
    let Op::Task { task, cpu, nice, policy, slice_ns, group } = *made else { return None };
    let make = |cpu, nice, policy: Policy, slice_ns, group: GroupName| {
        Some(Op::Task { task, cpu, nice, policy, slice_ns, group })
    };
    match *op {
        Op::Nice { nice, .. } => make(cpu, nice, policy, slice_ns, group),
        Op::Param { policy, nice, slice_ns, .. } => make(cpu, nice, policy, slice_ns, group),
        Op::Move { group, .. } => make(cpu, nice, policy, slice_ns, group),
        Op::Migrate { cpu, .. } | Op::Wake { cpu: Some(cpu), .. } => {
            make(cpu, nice, policy, slice_ns, group)
        }
        _ => None,
    }
}

/// Statements that do less, or are easier to follow.
fn instead_of(op: &Op) -> Vec<Op> {
    match *op {
        Op::Param { task, nice, .. } => vec![Op::Nice { task, nice }],
        Op::Exit { cpu } => vec![Op::Block { cpu }],
        Op::Tick { cpu } | Op::UserReturn { cpu } => vec![Op::UpdateCurr { cpu }],
        _ => Vec::new(),
    }
}
