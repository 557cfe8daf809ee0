// SPDX-License-Identifier: GPL-2.0-only
//! I-STATE: the flags of a task agree with each other: queued, running, asleep, new.

use super::{Report, Task};
use sched_core::sched::{SchedClass, TASK_NEW, TASK_ON_RQ_QUEUED, TASK_RUNNING};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// p->on_rq and se->on_rq say the same, unless the task is parked: then it counts as queued, but its entity is not. Who
/// runs is queued, or has just parked itself; who is queued and not delayed, or parked, is awake, all others are asleep
/// or new; a deadline is relative only while its task is off the queue.
#[inline(always)]
pub(super) fn is_consistent<'a, H: Hooks>(task: &Task<'a, H>, report: &mut Report<'_>) {
    let (p, se) = (task.p, &task.p.se);
    let on_rq = p.on_rq.load(Ordering::Relaxed);
    let state = p.__state.load(Ordering::Relaxed);
    let queued = se.on_rq.get();
    let parked = p.throttled.get();
    let awake = parked || queued && !se.sched_delayed.get();

    let mut wrong = |field: &'static str, what: String| {
        report.task("I-STATE", task.name, field, what);
    };
    if on_rq != if queued || parked { TASK_ON_RQ_QUEUED } else { 0 } {
        let what = format!(
            "p->on_rq is {on_rq} while se.on_rq is {} and throttled {}",
            u8::from(queued),
            u8::from(parked)
        );
        wrong("on_rq", what);
    }
    if parked && queued {
        wrong("se.on_rq", "the task is parked, but queued".to_string());
    }
    if awake != (state == TASK_RUNNING) {
        let seen = if awake { "queued and not delayed" } else { "not queued, or delayed" };
        wrong("", format!("__state is {state:#x}, but the task is {seen}"));
    }
    let asleep = !awake && state != TASK_NEW;
    if p.is_blocked.get() != asleep {
        let is = p.is_blocked.get();
        wrong(
            "",
            format!("is_blocked is {is}, but __state is {state:#x} and the task is {}", how(awake)),
        );
    }
    let runs = core::ptr::eq(task.rq.curr(), p);
    if runs && !queued && !parked {
        wrong("se.on_rq", format!("the task is curr of CPU {}, but not queued", task.rq.cpu));
    }
    if (p.on_cpu.load(Ordering::Relaxed) != 0) != runs {
        let not = if runs { "" } else { "not " };
        wrong("", format!("on_cpu is {}, but the task is {not}curr of its CPU", u8::from(!runs)));
    }
    if queued && se.rel_deadline.get() {
        wrong("rel_deadline", "the deadline is relative, but the task is queued".to_string());
    }
    if p.sched_class.get() != SchedClass::Fair {
        wrong("", "the task is not of the fair class".to_string());
    }
}

fn how(awake: bool) -> &'static str {
    if awake { "awake" } else { "not awake" }
}
