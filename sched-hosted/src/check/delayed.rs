// SPDX-License-Identifier: GPL-2.0-only
//! I-DLY: a delayed task sleeps, is queued in the tree, owes time, and is nobody's choice.

use super::{Limits, Report, Task};
use sched_core::sched;
use sched_core::trace::Hooks;

/// Delayed means: asleep, queued, neither running nor the buddy, and only with DELAY_DEQUEUE.
///
/// Its stored lag was negative when it was delayed. With DELAY_ZERO nothing makes it positive: update_entity_lag()
/// cuts it at 0, and changes of weight keep the sign. Without, a change of parameters may store a positive lag.
#[inline(always)]
pub(super) fn is_asleep<'a, H: Hooks>(
    task: &Task<'a, H>,
    limits: &Limits,
    report: &mut Report<'_>,
) {
    if !task.p.se.sched_delayed.get() {
        return;
    }
    let se = &task.p.se;
    let mut wrong = |field: &'static str, what: &str| {
        report.task("I-DLY", task.name, field, format!("the task is delayed, but {what}"));
    };
    if !limits.delay_dequeue {
        wrong("sched_delayed", "DELAY_DEQUEUE is off");
    }
    if !se.on_rq.get() {
        wrong("se.on_rq", "not queued");
    }
    if core::ptr::eq(task.rq.curr(), task.p) || task.is_curr() {
        wrong("sched_delayed", "it runs");
    }
    if sched::is(task.rq.cfs.next.get(), se) {
        wrong("sched_delayed", "it is the buddy");
    }
    if limits.delay_zero && se.vlag.get() > 0 {
        wrong("vlag", &format!("its lag is {}, above 0 in spite of DELAY_ZERO", se.vlag.get()));
    }
}
