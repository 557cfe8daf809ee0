// SPDX-License-Identifier: GPL-2.0-only
//! I-HIER and I-WC: what runs is known as running on every level, and no CPU idles while somebody waits unnoticed.

use super::Report;
use super::totals::Totals;
use sched_core::sched::{self, Rq, SchedEntity};
use sched_core::trace::Hooks;

/// Between two operations curr of the root queue is the running task, or nothing if the CPU idles. So is h_curr of its
/// level if the task is of the root group; for the others see [`links`](super::links).
#[inline(always)]
pub(super) fn what_runs<'a, H: Hooks>(rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let curr = rq.curr();
    let running = (!sched::is_idle_task(curr)).then_some(&curr.se);
    let mut compare = |field: &'static str, is: Option<&SchedEntity<'a, H>>| {
        let same = match (is, running) {
            (Some(is), Some(running)) => core::ptr::eq(is, running),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let runs = report.of(Some(&curr.se));
            let what = format!("{field} is {}, but {runs} runs", report.of(is));
            report.cfs("I-HIER", rq.cpu, field, what);
        }
    };
    compare("curr", rq.cfs.curr.get());
    if curr.se.parent.get().is_none() {
        compare("h_curr", rq.cfs.h_curr.get());
    }
}

/// Whoever comes to an idle CPU asks for a reschedule, and nothing but the schedule takes that back; before it idles
/// the pick completes the dequeue of all that are delayed.
#[inline(always)]
pub(super) fn work_is_conserved<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let curr = rq.curr();
    if totals.queued == 0 || !sched::is_idle_task(curr) || sched::test_tsk_need_resched(curr) {
        return;
    }
    let what =
        format!("the CPU idles, no reschedule is pending, and {} tasks are queued", totals.queued);
    report.rq("I-WC", rq.cpu, "resched", what);
}
