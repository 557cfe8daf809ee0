// SPDX-License-Identifier: GPL-2.0-only
//! I-SLICE: a slice is the one that was asked for, within its limits, or the default.

use super::{Limits, Report, Task};
use sched_core::sched::NSEC_PER_MSEC;
use sched_core::trace::Hooks;

/// The shortest slice that can be asked for, ns.
pub(super) const SHORTEST: u64 = NSEC_PER_MSEC / 10;
/// The longest slice that can be asked for, ns.
pub(super) const LONGEST: u64 = NSEC_PER_MSEC * 100;

/// Custom slices are from 0.1 to 100 ms; the others are the base slice. (That one is fixed while a machine runs; a task
/// follows a change of it with its next placement or request only.)
#[inline(always)]
pub(super) fn is_that_of_its_parameters<'a, H: Hooks>(
    task: &Task<'a, H>,
    limits: &Limits,
    report: &mut Report<'_>,
) {
    let slice = task.p.se.slice.get();
    if task.p.se.custom_slice.get() {
        if !(SHORTEST..=LONGEST).contains(&slice) {
            let what = format!("the custom slice is {slice}, not from {SHORTEST} to {LONGEST}");
            report.task("I-SLICE", task.name, "slice", what);
        }
    } else if slice != limits.base_slice {
        let what =
            format!("slice is {slice}, not custom, but the base slice is {}", limits.base_slice);
        report.task("I-SLICE", task.name, "slice", what);
    }
}
