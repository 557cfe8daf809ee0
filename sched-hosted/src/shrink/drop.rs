// SPDX-License-Identifier: GPL-2.0-only
//! Leaves statements out: the end, tasks with all that they do, chunks, single ones, and several far apart.

use super::{Op, Search, Statement, TaskName, task_of};
use std::collections::BTreeSet;

/// Programs that are no longer than this are tried without any two of their statements, and any three.
const PAIRS_UP_TO: usize = 120;
const TRIPLES_UP_TO: usize = 32;

impl Search<'_> {
    /// What stands after the failure plays no part in it: the shortest failing beginning, by
    /// bisection.
    pub(super) fn drop_tail(&mut self) {
        let (mut passes, mut fails) = (0, self.best.statements.len());
        if fails > 1 && !self.try_statements(self.best.statements[..fails - 1].to_vec()) {
            return; // as a rule the judge has done it
        }
        fails = fails.min(self.best.statements.len());
        while passes + 1 < fails && !self.spent() {
            let middle = passes + (fails - passes) / 2;
            if self.try_statements(self.best.statements[..middle].to_vec()) {
                fails = self.best.statements.len();
            } else {
                passes = middle;
            }
        }
    }

    /// Drops tasks with all their statements: halves of them first, then fewer and fewer at a time.
    pub(super) fn drop_tasks(&mut self) {
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
    pub(super) fn drop_chunks(&mut self) {
        let mut size = self.best.statements.len().div_ceil(2);
        while size > 0 {
            let mut end = self.best.statements.len();
            while end > 0 && !self.spent() {
                let start = end.saturating_sub(size);
                self.without(std::slice::from_ref(&(start..end)));
                // What is not legal without these went with them.
                end = start.min(self.best.statements.len());
            }
            size /= 2;
        }
    }

    /// Drops two statements, or three, none of which can go alone: a move there and the move back.
    pub(super) fn drop_several(&mut self) {
        if self.best.statements.len() > PAIRS_UP_TO {
            return;
        }
        let mut second = self.best.statements.len();
        while second > 1 && !self.spent() {
            second = (second - 1).min(self.best.statements.len().saturating_sub(1));
            for first in (0..second).rev() {
                if self.without(&[first..first + 1, second..second + 1]) {
                    second = self.best.statements.len().min(second);
                    break;
                }
            }
        }
        self.drop_triples();
    }

    fn drop_triples(&mut self) {
        let nr = self.best.statements.len();
        if nr > TRIPLES_UP_TO {
            return;
        }
        for third in (2..nr).rev() {
            for second in (1..third).rev() {
                for first in (0..second).rev() {
                    let ranges = [first..first + 1, second..second + 1, third..third + 1];
                    if self.spent() || self.without(&ranges) {
                        return; // the cheaper passes come first again
                    }
                }
            }
        }
    }

    /// Tries it without these statements, in order and apart from each other: with the clock reading the same
    /// afterwards and, if the clock was moved by one of them, as if that time had not passed.
    fn without(&mut self, ranges: &[std::ops::Range<usize>]) -> bool {
        let mut statements = self.best.statements.clone();
        for range in ranges.iter().rev() {
            statements.drain(range.clone());
        }
        if self.try_statements(statements) {
            return true;
        }
        let mut shifted = self.best.statements.clone();
        let mut moved = false;
        for range in ranges.iter().rev() {
            moved |= drop_with_time(&mut shifted, range.clone());
        }
        moved && self.try_statements(shifted)
    }
}

/// Takes the statements out, and the time that passes in them. False if none does.
fn drop_with_time(statements: &mut Vec<Statement>, range: std::ops::Range<usize>) -> bool {
    let before = super::simplify::clock_before(&statements[..range.start]);
    let after = super::simplify::clock_before(&statements[..range.end]);
    let later = &mut statements[range.end..];
    let moved = after > before && later.iter().any(|s| matches!(s.op, Op::At { .. }));
    super::simplify::move_earlier(later, after - before);
    statements.drain(range);
    moved
}
