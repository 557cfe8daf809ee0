// SPDX-License-Identifier: GPL-2.0-only
//! What an operation may change, and by how much: the state before it against the state after it.
//!
//! The invariants look at one state; a bug that leaves every state consistent by itself (a lag that is forgotten, a
//! charge that is made twice, a wakeup that does not preempt) shows in the step only. A law recomputes the step from
//! the values before it, in 128 bit and from the tasks, and says in the terms of the class what came out instead.

mod load;
mod queue;

use crate::ops::Op;
use crate::ops::class::Violation;
use crate::ops::driver::Driver;
use sched_core::trace::Hooks;

/// Watches a machine, operation by operation.
#[derive(Debug, Default)]
pub struct Laws {
    queue: queue::Laws,
    load: load::Laws,
    found: Vec<Violation>,
}

impl Laws {
    /// Remembers what will be needed of the state before `op`.
    pub fn before<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        self.found.clear();
        self.queue.before(driver, op);
        self.load.before(driver, op);
    }

    /// Looks at the state after it.
    pub fn after<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        let mut report = super::Report::new(driver);
        self.queue.after(driver, op, &mut report);
        self.load.after(driver, op, &mut report);
        self.found = report.found;
    }

    /// What the last operation did that it must not.
    pub fn found(&self) -> &[Violation] {
        &self.found
    }
}
