// SPDX-License-Identifier: GPL-2.0-only
//! I-CLK: clocks do not run ahead, and nobody was charged for more time than there was.

use super::totals::Totals;
use super::{Report, Task};
use sched_core::sched::Rq;
use sched_core::trace::Hooks;

/// What is queued was charged up to now at most; what was charged only grows.
#[inline(always)]
pub(super) fn of_task<'a, H: Hooks>(task: &Task<'a, H>, report: &mut Report<'_>) {
    let se = &task.p.se;
    let now = task.rq.clock_task.get();
    if se.on_rq.get() && se.exec_start.get() > now {
        let what = format!("exec_start is {}, but clock_task is {now} only", se.exec_start.get());
        report.task("I-CLK", task.name, "exec_start", what);
    }
    let (before, sum) = (se.prev_sum_exec_runtime.get(), se.sum_exec_runtime.get());
    if before > sum {
        let what = format!("sum_exec_runtime is {sum}, less than {before} at its last pick");
        report.task("I-CLK", task.name, "sum_exec_runtime", what);
    }
}

/// Without irq and steal time both clocks are the same; neither is ahead of the time.
#[inline(always)]
pub(super) fn of_queue<'a, H: Hooks>(rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let (clock, clock_task) = (rq.clock.get(), rq.clock_task.get());
    let now = rq.machine.sched_clock_cpu();
    if clock > now {
        report.rq("I-CLK", rq.cpu, "clock", format!("clock is {clock}, but it is {now} only"));
    }
    if clock_task != clock {
        let what = format!("clock_task is {clock_task}, but clock is {clock}");
        report.rq("I-CLK", rq.cpu, "clock_task", what);
    }
}

/// A CPU serves one at a time: what the live tasks ran, all together, is no more than what the clocks passed.
#[inline(always)]
pub(super) fn nothing_charged_twice<'a, H: Hooks>(
    runqueues: &'a [Rq<'a, H>],
    totals: &[Totals],
    report: &mut Report<'_>,
) {
    let ran: u128 = totals.iter().map(|totals| totals.exec).sum();
    let passed: u128 = runqueues.iter().map(|rq| u128::from(rq.clock_task.get())).sum();
    if ran > passed {
        let what = format!("the tasks ran {ran} ns together, but only {passed} ns have passed");
        report.rq("I-CLK", 0, "clock_task", what);
    }
}
