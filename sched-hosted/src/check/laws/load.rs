// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking, estimates, the groups' shares and quotas.

use crate::check::Report;
use crate::ops::Op;
use crate::ops::driver::Driver;
use sched_core::trace::Hooks;

/// What is remembered from before an operation.
#[derive(Debug, Default)]
pub(super) struct Laws {}

impl Laws {
    pub(super) fn before<H: Hooks>(&mut self, driver: &Driver<'_, H>, op: &Op) {
        let _ = (driver, op);
    }

    pub(super) fn after<H: Hooks>(
        &mut self,
        driver: &Driver<'_, H>,
        op: &Op,
        report: &mut Report<'_>,
    ) {
        let _ = (driver, op, report);
    }
}
