// SPDX-License-Identifier: GPL-2.0-only
//! I-CNT: every count equals a recount of the tasks. (With groups: [`levels`](super::levels).)

use super::Report;
use super::totals::Totals;
use sched_core::sched::Rq;
use sched_core::trace::Hooks;

/// The counts of the root queue and of the runqueue, and the weight of the level, while there are no groups.
#[inline(always)]
pub(super) fn equal_a_recount<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let cfs_rq = &rq.cfs;
    let mut compare = |field: &'static str, is: u32, counted: u32, of: &str| {
        if is != counted {
            let what = format!("{field} is {is}, but {counted} tasks {of}");
            report.cfs("I-CNT", rq.cpu, field, what);
        }
    };

    // Without groups what is queued on the root level is all there is.
    compare("nr_queued", cfs_rq.nr_queued.get(), totals.queued, "are queued");
    compare("h_nr_queued", cfs_rq.h_nr_queued.get(), totals.queued, "are queued");
    let runnable = totals.queued - totals.delayed;
    compare("h_nr_runnable", cfs_rq.h_nr_runnable.get(), runnable, "are queued and not delayed");
    compare("h_nr_idle", cfs_rq.h_nr_idle.get(), totals.idle, "of SCHED_IDLE are queued");

    if u128::from(cfs_rq.load.weight.get()) != totals.load {
        let what = format!(
            "load is {}, but the weights of the queued tasks add up to {}",
            cfs_rq.load.weight.get(),
            totals.load
        );
        report.cfs("I-CNT", rq.cpu, "load", what);
    }
    of_runqueue(rq, totals, report);
}

/// The count of the runqueue, for all groups.
#[inline(always)]
pub(super) fn of_runqueue<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    if rq.nr_running.get() != totals.queued {
        let what = format!(
            "nr_running is {}, but {} tasks are queued",
            rq.nr_running.get(),
            totals.queued
        );
        report.rq("I-CNT", rq.cpu, "nr_running", what);
    }
}
