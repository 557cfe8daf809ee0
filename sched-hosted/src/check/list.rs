// SPDX-License-Identifier: GPL-2.0-only
//! I-LIST: cfs_tasks has every queued task once.

use super::totals::Totals;
use super::{Report, name_of};
use crate::ops::driver::Driver;
use sched_core::sched::{self, Rq};
use sched_core::trace::Hooks;

/// The list against the tasks' own flags.
pub(super) fn same_as_queued<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let mut seen = vec![false; crate::ops::Class::names(driver).nr_tasks()];
    let mut found = 0u32;
    rq.cfs_tasks.for_each(|se| {
        found = found.saturating_add(1);
        let name = name_of(se);
        let Some(p) = driver.task_struct(name).filter(|p| core::ptr::eq(&p.se, se)) else {
            let what = "cfs_tasks has a task that is not alive".to_string();
            return report.rq("I-LIST", rq.cpu, "", what);
        };
        let why = if core::mem::replace(&mut seen[name.0 as usize], true) {
            "twice"
        } else if !se.on_rq.get() {
            "though it is not queued"
        } else if sched::task_cpu(p) != rq.cpu {
            "though it is on another CPU"
        } else {
            return;
        };
        let what = format!("cfs_tasks of CPU {} has the task {why}", rq.cpu);
        report.task("I-LIST", name, "", what);
    });
    if found < totals.queued {
        let what = format!("cfs_tasks has {found} tasks, but {} are queued", totals.queued);
        report.rq("I-LIST", rq.cpu, "", what);
    }
}
