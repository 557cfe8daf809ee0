// SPDX-License-Identifier: GPL-2.0-only
//! Base and patch in lockstep: the same operations on both, the states compared after each.
//!
//! Up to the first difference the two are in the same state, so what is legal on one is legal on the other. From
//! there on the patch goes on alone, since it must be safe on its own ways too.

use crate::compare::side::Watched;
use crate::ops::class::{Depth, Object, Violation};
use crate::ops::digest::{State, first_difference};
use crate::ops::{Names, Op};
use crate::sim::Drive;
use std::ops::ControlFlow;

pub use crate::ops::digest::Difference;

/// Every so many operations the invariants are checked by brute force.
const DEEP_EVERY: u64 = 8;

/// A violation in words: the invariant, the object, the field.
fn shown(violation: &Violation, names: &Names) -> String {
    let object = match violation.object {
        Object::Rq(cpu) => format!("rq {cpu}"),
        Object::Cfs(cpu, group) => format!("cfs {cpu} {}", names.group_text(group)),
        Object::Gse(cpu, group) => format!("gse {cpu} {}", names.group_text(group)),
        Object::Task(task) => format!("task {}", names.task_text(task)),
    };
    let field = match violation.field {
        "" => String::new(),
        field => format!(", {field}"),
    };
    format!("{} does not hold for {object}{field}: {}", violation.invariant, violation.what)
}

/// Who is at work, for the one who finds a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// Neither.
    #[default]
    Between,
    /// The base runs an operation.
    Base,
    /// The patch runs one.
    Patch,
}

/// What went wrong on the patch's side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// `warning`, `panic` or `invariant`.
    pub kind: &'static str,
    /// In words, with the object and the field.
    pub what: String,
}

/// What became of a run; stands outside of it, so that it outlives a panic.
#[derive(Default)]
pub struct Log {
    /// All operations so far, `at` statements among them; the last one may not be done.
    pub ops: Vec<Op>,
    /// How many operations were carried out (`at` is not counted).
    pub count: u64,
    /// The first difference, and the length of `ops` and the count with the operation after which it showed.
    pub difference: Option<(Difference, usize, u64)>,
    /// The first thing that went wrong; it ended the run.
    pub wrong: Option<Wrong>,
    /// Who was at work last.
    pub stage: Stage,
}

/// The two sides and what is watched.
pub struct Lockstep<'a, B, P> {
    base: &'a mut B,
    patch: &'a mut P,
    warnings: u64,
    log: &'a mut Log,
}

impl<'a, B: Watched, P: Watched> Lockstep<'a, B, P> {
    /// Two fresh machines. What happens is written to `log`.
    pub fn new(base: &'a mut B, patch: &'a mut P, log: &'a mut Log) -> Self {
        Lockstep { base, patch, warnings: 0, log }
    }

    /// How many operations were carried out.
    pub fn count(&self) -> u64 {
        self.log.count
    }

    fn diverged(&self) -> bool {
        self.log.difference.is_some()
    }

    /// Looks for what must not be.
    fn safe(&mut self) -> ControlFlow<()> {
        let (warnings, last) = self.patch.watch().warnings();
        let of_base = self.base.watch().warnings().0;
        if warnings > self.warnings {
            self.warnings = warnings;
            // A warning that the base gives too is one of the kernel's own.
            if self.diverged() || of_base < warnings {
                let what = last.map_or_else(String::new, |warn| warn.to_string());
                return self.wrong("warning", what);
            }
        }
        let depth =
            if self.log.count.is_multiple_of(DEEP_EVERY) { Depth::Full } else { Depth::Cheap };
        let violations = self.patch.violations(depth);
        let Some(first) = violations.first() else { return ControlFlow::Continue(()) };
        // One that the base has too, in the same state or one just like it, is a defect of the release.
        let of_base = match self.diverged() {
            true => Vec::new(),
            false => self.base.violations(depth),
        };
        if of_base.iter().any(|known| known.invariant == first.invariant) {
            return ControlFlow::Continue(());
        }
        let what = shown(first, self.patch.names());
        self.wrong("invariant", what)
    }

    fn wrong(&mut self, kind: &'static str, what: String) -> ControlFlow<()> {
        self.log.wrong = Some(Wrong { kind, what });
        ControlFlow::Break(())
    }

    fn compare(&mut self) {
        if self.base.fingerprint() == self.patch.fingerprint() {
            return;
        }
        let difference = first_difference(&State::of(&*self.base), &State::of(&*self.patch));
        self.log.difference =
            difference.map(|difference| (difference, self.log.ops.len(), self.log.count));
    }
}

impl<B: Watched, P: Watched> Drive for Lockstep<'_, B, P> {
    type Class = P;

    fn class(&self) -> &P {
        self.patch
    }

    fn run(&mut self, op: &Op) -> ControlFlow<()> {
        self.log.ops.push(*op);
        if !self.diverged() {
            self.log.stage = Stage::Base;
            self.base.run(op);
        }
        self.log.stage = Stage::Patch;
        self.patch.run(op);
        self.log.stage = Stage::Between;
        if !op.is_operation() {
            return ControlFlow::Continue(());
        }
        self.log.count += 1;
        if !self.diverged() {
            self.compare();
        }
        self.safe()
    }
}
