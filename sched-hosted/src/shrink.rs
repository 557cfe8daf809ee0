// SPDX-License-Identifier: GPL-2.0-only
//! Makes a failing program small: the same failure in the fewest and simplest statements.
//!
//! Deterministic: the same program and predicate give the same result. The predicate says whether a
//! candidate still fails in the way that matters; a candidate may hold statements that are no
//! longer legal, which [`run_skipping_illegal`] steps over (and [`drop_illegal`] takes out of the
//! result).

mod simplify;

use crate::ops::{Class, Op, Program, START_NS, Statement, TaskName};
use std::collections::BTreeSet;

/// How a shrink is going.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Calls of the predicate so far.
    pub calls: u64,
    /// Statements in the smallest failing program so far.
    pub statements: usize,
}

/// What came of a shrink.
#[derive(Clone, PartialEq, Debug)]
pub struct Shrunk {
    /// The smallest failing program that was found; the given one if that did not fail.
    pub program: Program,
    /// Calls of the predicate.
    pub calls: u64,
    /// Nothing more can be dropped or simplified; false if the budget ran out before.
    pub complete: bool,
    /// The given program failed in the first place.
    pub failed: bool,
}

/// Shrinks `program` while `fails` holds, with at most `budget` calls of it (at least one is made).
/// `progress` is called after each success.
pub fn shrink(
    program: &Program,
    budget: u64,
    fails: &mut dyn FnMut(&Program) -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Shrunk {
    let failed = fails(program);
    let best = program.clone();
    let mut search = Search { best, calls: 1, budget, fails, progress };
    if failed {
        search.run();
    }
    let complete = failed && search.calls < budget;
    Shrunk { program: search.best, calls: search.calls, complete, failed }
}

/// The search for smaller programs.
struct Search<'a> {
    best: Program,
    calls: u64,
    budget: u64,
    fails: &'a mut dyn FnMut(&Program) -> bool,
    progress: &'a mut dyn FnMut(Progress),
}

impl Search<'_> {
    /// Whether the budget is used up.
    fn spent(&self) -> bool {
        self.calls >= self.budget
    }

    /// Takes `statements` as the new best if they still fail.
    fn try_statements(&mut self, statements: Vec<Statement>) -> bool {
        if self.spent() {
            return false;
        }
        self.calls += 1;
        let Program { header, names, .. } = &self.best;
        let candidate = Program { header: header.clone(), names: names.clone(), statements };
        if !(self.fails)(&candidate) {
            return false;
        }
        self.best = candidate;
        (self.progress)(Progress { calls: self.calls, statements: self.best.statements.len() });
        true
    }

    /// All passes, cheapest first, until none finds anything.
    fn run(&mut self) {
        self.drop_tail();
        loop {
            let before = self.best.statements.clone();
            self.drop_tasks();
            self.drop_chunks();
            self.simplify();
            if self.spent() || self.best.statements == before {
                return;
            }
        }
    }

    /// What stands after the failure plays no part in it: the shortest failing beginning, by
    /// bisection.
    fn drop_tail(&mut self) {
        let (mut passes, mut fails) = (0, self.best.statements.len());
        while passes + 1 < fails && !self.spent() {
            let middle = passes + (fails - passes) / 2;
            if self.try_statements(self.best.statements[..middle].to_vec()) {
                fails = middle;
            } else {
                passes = middle;
            }
        }
    }

    /// Drops tasks with all their statements: halves of them first, then fewer and fewer at a time.
    fn drop_tasks(&mut self) {
        let tasks: BTreeSet<TaskName> =
            self.best.statements.iter().filter_map(|statement| task_of(&statement.op)).collect();
        let mut left: Vec<TaskName> = tasks.into_iter().collect();
        let mut size = left.len();
        while size > 0 {
            let mut at = 0;
            while at < left.len() && !self.spent() {
                let end = (at + size).min(left.len());
                let dropped: BTreeSet<TaskName> = left[at..end].iter().copied().collect();
                let keep = |op: &Op| task_of(op).is_none_or(|task| !dropped.contains(&task));
                let statements = self.best.statements.iter().filter(|s| keep(&s.op)).copied();
                if self.try_statements(statements.collect()) {
                    left.drain(at..end);
                } else {
                    at = end;
                }
            }
            size /= 2;
        }
    }

    /// Drops runs of statements (delta debugging): long runs first, from the end, down to single
    /// ones.
    fn drop_chunks(&mut self) {
        let mut size = self.best.statements.len().div_ceil(2);
        while size > 0 {
            let mut end = self.best.statements.len();
            while end > 0 && !self.spent() {
                let start = end.saturating_sub(size);
                let mut statements = self.best.statements.clone();
                statements.drain(start..end);
                self.try_statements(statements);
                end = start;
            }
            size /= 2;
        }
    }
}

/// The task that a statement names.
fn task_of(op: &Op) -> Option<TaskName> {
    match *op {
        Op::Task { task, .. }
        | Op::New { task }
        | Op::Wake { task, .. }
        | Op::YieldTo { task, .. }
        | Op::Nice { task, .. }
        | Op::Param { task, .. }
        | Op::Move { task, .. }
        | Op::Migrate { task, .. }
        | Op::FinishDelayed { task } => Some(task),
        _ => None,
    }
}

/// Carries out what is legal of `program` on `class`, calling `after` after each; stops when that
/// returns false. Returns how many statements were skipped. A statement that refers to a CPU or
/// name beyond those of the class must not occur.
pub fn run_skipping_illegal(
    class: &mut dyn Class,
    program: &Program,
    after: &mut dyn FnMut(&dyn Class, &Statement) -> bool,
) -> usize {
    let mut skipped = 0;
    for statement in &program.statements {
        if class.apply(&statement.op).is_err() {
            skipped += 1;
        } else if !after(class, statement) {
            break;
        }
    }
    skipped
}

/// `program` without the statements that are not legal when it is run on `class`, a fresh one.
pub fn drop_illegal(class: &mut dyn Class, program: &Program) -> Program {
    let legal = |statement: &&Statement| class.apply(&statement.op).is_ok();
    let statements = program.statements.iter().filter(legal).copied().collect();
    Program { header: program.header.clone(), names: program.names.clone(), statements }
}

#[cfg(test)]
mod tests;
