// SPDX-License-Identifier: GPL-2.0-only
//! Makes a failing program small: the same failure in the fewest and simplest statements.
//!
//! Deterministic: the same program and predicate give the same result. The predicate says whether a
//! candidate still fails in the way that matters; a candidate may hold statements that are no
//! longer legal, which [`run_skipping_illegal`] steps over (and [`drop_illegal`] takes out of the
//! result).

mod drop;
mod fold;
mod header;
mod simplify;

use crate::ops::{Class, Op, Program, START_NS, Statement, TaskName};

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

/// Shrinks `program` while `fails` holds, with at most `budget` calls of it (at least one is made). The header stays.
/// `progress` is called after each success.
pub fn shrink(
    program: &Program,
    budget: u64,
    fails: &mut dyn FnMut(&Program) -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Shrunk {
    let mut judge = |candidate: &Program| fails(candidate).then(|| candidate.statements.clone());
    let effort = Effort { calls: budget, statements: u64::MAX };
    search(program, effort, false, &mut judge, progress)
}

/// How much a shrink may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Candidates that are judged at most; one is judged in any case.
    pub calls: u64,
    /// Statements in all candidates together at most.
    pub statements: u64,
}

/// Shrinks `program` while `judge` finds it failing. The judge returns the statements that matter: those that were
/// carried out, up to the one that failed. The header is simplified too: CPUs, features, and the rest.
/// `progress` is called after each success.
pub fn reduce(
    program: &Program,
    effort: Effort,
    judge: &mut dyn FnMut(&Program) -> Option<Vec<Statement>>,
    progress: &mut dyn FnMut(Progress),
) -> Shrunk {
    search(program, effort, true, judge, progress)
}

fn search(
    program: &Program,
    effort: Effort,
    with_header: bool,
    judge: &mut dyn FnMut(&Program) -> Option<Vec<Statement>>,
    progress: &mut dyn FnMut(Progress),
) -> Shrunk {
    let best = program.clone();
    let mut search = Search { best, calls: 0, statements: 0, effort, with_header, judge, progress };
    let failed = search.judge_first();
    if failed {
        search.run();
    }
    let complete = failed && !search.spent();
    Shrunk { program: search.best, calls: search.calls, complete, failed }
}

/// The search for smaller programs.
struct Search<'a> {
    best: Program,
    calls: u64,
    statements: u64,
    effort: Effort,
    with_header: bool,
    judge: &'a mut dyn FnMut(&Program) -> Option<Vec<Statement>>,
    progress: &'a mut dyn FnMut(Progress),
}

impl Search<'_> {
    /// Whether the budget is used up.
    fn spent(&self) -> bool {
        self.calls >= self.effort.calls || self.statements >= self.effort.statements
    }

    /// The program as given, whatever the budget.
    fn judge_first(&mut self) -> bool {
        self.calls = 1;
        let matters = (self.judge)(&self.best);
        let failed = matters.is_some();
        self.best.statements = matters.unwrap_or_else(|| std::mem::take(&mut self.best.statements));
        failed
    }

    /// Takes `candidate` as the new best if it still fails.
    fn try_program(&mut self, mut candidate: Program) -> bool {
        if self.spent() {
            return false;
        }
        self.calls += 1;
        self.statements += candidate.statements.len() as u64;
        let Some(statements) = (self.judge)(&candidate) else { return false };
        candidate.statements = statements;
        self.best = candidate;
        (self.progress)(Progress { calls: self.calls, statements: self.best.statements.len() });
        true
    }

    /// The same with other statements under the same header.
    fn try_statements(&mut self, statements: Vec<Statement>) -> bool {
        let Program { header, names, .. } = &self.best;
        let candidate = Program { header: header.clone(), names: names.clone(), statements };
        self.try_program(candidate)
    }

    /// All passes, cheapest first, until none finds anything.
    fn run(&mut self) {
        self.drop_tail();
        loop {
            let before = self.best.clone();
            self.drop_tasks();
            self.drop_chunks();
            if self.with_header {
                self.simplify_header();
                self.flatten_groups();
            }
            self.simplify();
            self.fold();
            if !self.spent() && self.best == before {
                self.drop_several();
            }
            if self.spent() || self.best == before {
                return;
            }
        }
    }
}

/// The task that a statement names.
pub(crate) fn task_of(op: &Op) -> Option<TaskName> {
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

/// The same statement about another task.
pub(crate) fn with_task(op: &Op, other: &dyn Fn(TaskName) -> TaskName) -> Op {
    let mut op = *op;
    match &mut op {
        Op::Task { task, .. }
        | Op::New { task }
        | Op::Wake { task, .. }
        | Op::YieldTo { task, .. }
        | Op::Nice { task, .. }
        | Op::Param { task, .. }
        | Op::Move { task, .. }
        | Op::Migrate { task, .. }
        | Op::FinishDelayed { task } => *task = other(*task),
        _ => {}
    }
    op
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
