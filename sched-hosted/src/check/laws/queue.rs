// SPDX-License-Identifier: GPL-2.0-only
//! Lag, placement, deadlines, charges, protection, picks and wakeups: all that an operation does to the flat queues.
//!
//! The queues are kept a second time, as plain numbers ([`model`]): sums are over all tasks, in 128 bit, and the pick
//! is a scan. Each operation is carried out on them by the rules, and then every task and runqueue has to be what it
//! is there, to the last bit: who is not named by the operation as well as who is. What no rule of one queue decides
//! is taken over from the result: the shares of groups, and whom a quota parks.
//!
//! No rounding is allowed for, since the class of 64-bit machines divides where it divides and rounds as C does:
//! charges and requests down, V down, lag that is inflated or rescaled towards 0. Where the 64 bits of the class do not
//! suffice nothing is judged: that is v7.3's own limit (`wide-keys-without-tick`).

mod average;
mod charge;
mod compare;
mod explain;
mod groups;
mod leave;
mod model;
mod pick;
mod place;
mod preempt;
mod steps;
mod sync;

use crate::check::Report;
use crate::ops::Op;
use crate::ops::driver::Driver;
use sched_core::trace::Hooks;

/// What is remembered from before an operation.
#[derive(Debug, Default)]
pub(super) struct Laws {
    model: model::Model,
    /// The model is what the machine was after the last operation.
    in_step: bool,
    groups: groups::Before,
}

impl Laws {
    pub(super) fn before<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        if !self.in_step {
            self.model.sync(driver);
            self.in_step = true;
        }
        self.groups.remember(driver, op);
        self.model.must_park = self.groups.must_park;
    }

    pub(super) fn after<H: Hooks>(
        &mut self,
        driver: &Driver<'_, H>,
        op: &Op,
        report: &mut Report<'_>,
    ) {
        let model = &mut self.model;
        if let Op::At { ns } = *op {
            // Nobody looks at the time by that.
            model.now = ns;
            return;
        }
        let world = groups::Actual(driver);
        let complete = model.step(op, &world) || model.group_step(op, &self.groups, driver, &world);
        let judged = complete && !model.wide && !model.lost;
        self.in_step = judged && model.compare(driver, op, report);
        model.weighed.clear();
    }
}
