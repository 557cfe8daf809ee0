// SPDX-License-Identifier: GPL-2.0-only
//! I-LEAF: rq->leaf_cfs_rq_list has every queue that has anything queued, each queue once, the root's
//! last. (That each stands before the one above it does not always hold: [`known`](super::known),
//! `leaf-without-parent`.)

use super::Report;
use crate::ops::GroupName;
use crate::ops::driver::Driver;
use sched_core::sched::{self, Rq, tg_cfs_rq};
use sched_core::trace::Hooks;

/// The list of one CPU against the queues' own flags and counts.
pub(super) fn is_complete<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    report: &mut Report<'_>,
) {
    if rq.tmp_alone_branch.get().is_some() {
        let what = "a branch of the leaf list hangs in the air".to_string();
        report.rq("I-LEAF", rq.cpu, "", what);
    }
    let (position, length) = positions(driver, rq, report);
    for (name, tg) in driver.task_groups() {
        let cfs_rq = tg_cfs_rq(tg, rq.cpu);
        let at = position[name.0 as usize];
        let mut wrong = |field: &'static str, what: String| {
            report.level("I-LEAF", rq.cpu, name, field, what);
        };
        if cfs_rq.on_list.get() != at.is_some() {
            let is = u8::from(cfs_rq.on_list.get());
            wrong("on_list", format!("on_list is {is}, but the leaf list says otherwise"));
        }
        if cfs_rq.nr_queued.get() != 0 && !cfs_rq.on_list.get() {
            let nr = cfs_rq.nr_queued.get();
            wrong("on_list", format!("{nr} are queued, but the queue is not in the leaf list"));
        }
        if name == GroupName::ROOT && at.is_some_and(|at| at + 1 != length) {
            wrong("", "the root queue is not the last in the leaf list".to_string());
        }
    }
}

/// By GroupName: at which place of the list the group's queue stands; and the length of the list.
fn positions<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    report: &mut Report<'_>,
) -> (Vec<Option<u32>>, u32) {
    let nr = driver.task_groups().map(|(name, _)| name.0 as usize + 1).max().unwrap_or(1);
    let mut position = vec![None; nr];
    let mut at = 0;
    rq.leaf_cfs_rq_list.for_each(|cfs_rq| {
        let name = GroupName(cfs_rq.tg.get().map_or(0, |tg| tg.id.get()));
        if !sched::is(cfs_rq.rq.get(), rq) {
            let what = "another CPU's queue is in the leaf list".to_string();
            report.level("I-LEAF", rq.cpu, name, "on_list", what);
        } else if position[name.0 as usize].replace(at).is_some() {
            let what = "the queue is in the leaf list twice".to_string();
            report.level("I-LEAF", rq.cpu, name, "on_list", what);
        }
        at += 1;
    });
    (position, at)
}
