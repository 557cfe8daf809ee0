// SPDX-License-Identifier: GPL-2.0-only
//! I-BUD: the buddy is one that could be picked.

use super::{Report, name_of};
use sched_core::sched::{self, Rq};
use sched_core::trace::Hooks;

/// The buddy is queued here, in the tree, awake and not of SCHED_IDLE. Whoever is dequeued or set to run is cleared
/// first, so none of this can change while it is the buddy.
#[inline(always)]
pub(super) fn may_be_picked<'a, H: Hooks>(rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let Some(next) = rq.cfs.next.get() else { return };
    if !sched::entity_is_task(next) || sched::is_idle_task(sched::task_of(next)) {
        let what = format!("the buddy is {}, not a fair task", report.of(Some(next)));
        return report.cfs("I-BUD", rq.cpu, "next", what);
    }
    let p = sched::task_of(next);
    let why = if !next.on_rq.get() {
        "not queued"
    } else if sched::task_cpu(p) != rq.cpu {
        "on another CPU"
    } else if next.sched_delayed.get() {
        "delayed"
    } else if sched::is(rq.cfs.curr.get(), next) {
        "running already"
    } else if sched::task_has_idle_policy(p) {
        "of SCHED_IDLE"
    } else {
        return;
    };
    let what = format!("the buddy {} is {why}", report.text(name_of(next)));
    report.cfs("I-BUD", rq.cpu, "next", what);
}
