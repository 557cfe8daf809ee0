// SPDX-License-Identifier: GPL-2.0-only
//! I-HIER with groups: who hangs where, what runs on which level, and which group's entity is queued.

use super::levels::{Levels, group_of};
use super::{Report, Task};
use crate::ops::GroupName;
use crate::ops::driver::Driver;
use sched_core::sched::{self, CfsRq, Rq, SchedEntity, TASK_NEW, TaskGroup, tg_cfs_rq, tg_se};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// Whether two links lead to the same object, or both nowhere.
fn same<T>(a: Option<&T>, b: Option<&T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => core::ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// A task's queue is its group's on its CPU. A new one that was moved follows at its wake_up_new_task() only.
pub(super) fn of_task<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    task: &Task<'a, H>,
    report: &mut Report<'_>,
) {
    if task.p.__state.load(Ordering::Relaxed) == TASK_NEW {
        return;
    }
    let (se, cpu, tg) = (&task.p.se, task.rq.cpu, group_of(driver, task.p));
    let (name, path) = (task.name, GroupName(tg.id.get()));
    if !sched::is(se.cfs_rq.get(), tg_cfs_rq(tg, cpu)) {
        let group = report.names.group_text(path);
        let what = format!("its queue is not that of its group {group} on CPU {cpu}");
        report.task("I-HIER", name, "", what);
    }
    let parent = tg_se(tg, cpu);
    let depth = parent.map_or(0, |parent| parent.depth.get() + 1);
    if !same(se.parent.get(), parent) || se.depth.get() != depth {
        let group = report.names.group_text(path);
        let what = format!(
            "its parent is {} and its depth {}, but it is in group {group}, at depth {depth}",
            report.of(se.parent.get()),
            se.depth.get()
        );
        report.task("I-HIER", name, "", what);
    }
}

/// The groups' queues and entities on one CPU.
pub(super) fn of_groups<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    levels: &Levels,
    report: &mut Report<'_>,
) {
    for (name, tg) in driver.task_groups() {
        let cfs_rq = tg_cfs_rq(tg, rq.cpu);
        what_runs(driver, rq, (name, tg), cfs_rq, report);
        let (Some(se), Some(parent)) = (tg_se(tg, rq.cpu), tg.parent.get()) else { continue };

        let mut wrong = |field: &'static str, what: String| {
            report.level("I-HIER", rq.cpu, name, field, what);
        };
        if !sched::is(se.my_q.get(), cfs_rq)
            || !sched::is(cfs_rq.tg.get(), tg)
            || !sched::is(cfs_rq.rq.get(), rq)
        {
            wrong("", "queue, entity, group and CPU do not belong together".to_string());
        }
        let above = tg_se(parent, rq.cpu);
        let depth = above.map_or(0, |above| above.depth.get() + 1);
        if !sched::is(se.cfs_rq.get(), tg_cfs_rq(parent, rq.cpu))
            || !same(se.parent.get(), above)
            || se.depth.get() != depth
        {
            wrong("", "its entity is not on the queue of the group above".to_string());
        }
        let some = levels.of(tg, rq.cpu).nr_queued != 0;
        if se.on_rq.get() != some {
            let (is, are) = (u8::from(se.on_rq.get()), levels.of(tg, rq.cpu).nr_queued);
            wrong("se.on_rq", format!("se.on_rq is {is}, but {are} are queued below"));
        }
        if se.sched_delayed.get() {
            wrong("", "a group's entity is delayed".to_string());
        }
        if cfs_rq.curr.get().is_some()
            || cfs_rq.next.get().is_some()
            || cfs_rq.tasks_timeline.root().is_some()
        {
            wrong("", "only the root queue has curr, a buddy and a tree".to_string());
        }
    }
}

/// h_curr of a level is what of it leads to the running task, and nothing if nothing does.
fn what_runs<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    (name, tg): (GroupName, &'a TaskGroup<'a, H>),
    cfs_rq: &CfsRq<'a, H>,
    report: &mut Report<'_>,
) {
    let ought = running_on(driver, rq, tg);
    if same(cfs_rq.h_curr.get(), ought) {
        return;
    }
    let (is, ought) = (report.of(cfs_rq.h_curr.get()), report.of(ought));
    let runs = report.of(Some(&rq.curr().se));
    let what = format!("h_curr is {is}, but {runs} runs, so that it ought to be {ought}");
    report.level("I-HIER", rq.cpu, name, "h_curr", what);
}

/// The entity on the level of `tg` that the running task of `rq` is or is below.
fn running_on<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    tg: &TaskGroup<'a, H>,
) -> Option<&'a SchedEntity<'a, H>> {
    let curr = rq.curr();
    if sched::is_idle_task(curr) {
        return None;
    }
    let (mut se, mut walk) = (&curr.se, group_of(driver, curr));
    while !core::ptr::eq(walk, tg) {
        se = tg_se(walk, rq.cpu)?;
        walk = walk.parent.get()?;
    }
    Some(se)
}
