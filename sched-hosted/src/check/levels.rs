// SPDX-License-Identifier: GPL-2.0-only
//! I-CNT below the root: what is queued on each level of each CPU, recounted from the tasks and their groups alone.

use super::Report;
use crate::ops::GroupName;
use crate::ops::driver::Driver;
use sched_core::sched::{self, CfsRq, TaskGroup, TaskStruct, task_has_idle_policy, tg_cfs_rq};
use sched_core::trace::Hooks;

/// What belongs to one queue.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    /// Tasks and group entities that are queued right here.
    pub nr_queued: u32,
    /// Tasks that are queued here and below, delayed ones included.
    pub h_nr_queued: u32,
    /// Those of them that are not delayed.
    pub h_nr_runnable: u32,
    /// Those of them that are of SCHED_IDLE, or in an idle group below this level.
    pub h_nr_idle: u32,
    /// The shares of what is queued right here.
    pub load: u128,
    /// Parked tasks of this group.
    pub parked: u32,
}

/// The levels of all groups and CPUs.
pub(super) struct Levels {
    cpus: usize,
    of: Vec<Level>,
}

impl Levels {
    /// Counts all live tasks of `driver` and what they make its groups' entities be.
    pub fn recount<'a, H: Hooks>(driver: &Driver<'a, H>) -> Self {
        let cpus = driver.machine().num_online_cpus() as usize;
        let nr = driver.task_groups().map(|(name, _)| name.0 as usize + 1).max().unwrap_or(1);
        let mut levels = Levels { cpus, of: vec![Level::default(); nr * cpus] };
        for (_, p) in driver.task_structs() {
            levels.add(driver, p);
        }
        // A group's entity is queued as long as anything below it is.
        for (_, tg) in driver.task_groups() {
            let Some(parent) = tg.parent.get() else { continue };
            for cpu in 0..cpus as u32 {
                if levels.of(tg, cpu).h_nr_queued == 0 {
                    continue;
                }
                let share = sched::tg_se(tg, cpu).map_or(0, |se| se.load.weight.get());
                let above = levels.of_mut(parent, cpu);
                above.nr_queued += 1;
                above.load += u128::from(share);
            }
        }
        levels
    }

    fn add<'a, H: Hooks>(&mut self, driver: &Driver<'a, H>, p: &TaskStruct<'a, H>) {
        let cpu = sched::task_cpu(p);
        let mut walk = Some(group_of(driver, p));
        if p.throttled.get() {
            self.of_mut(group_of(driver, p), cpu).parked += 1;
        }
        if !p.se.on_rq.get() {
            return;
        }
        let own = self.of_mut(group_of(driver, p), cpu);
        own.nr_queued += 1;
        own.load += u128::from(p.se.load.weight.get());

        let mut idle = task_has_idle_policy(p);
        while let Some(tg) = walk {
            let level = self.of_mut(tg, cpu);
            level.h_nr_queued += 1;
            level.h_nr_runnable += u32::from(!p.se.sched_delayed.get());
            level.h_nr_idle += u32::from(idle);
            idle |= tg.idle.get() > 0;
            walk = tg.parent.get();
        }
    }

    /// The level of `tg` on `cpu`.
    pub fn of<H: Hooks>(&self, tg: &TaskGroup<'_, H>, cpu: u32) -> &Level {
        &self.of[tg.id.get() as usize * self.cpus + cpu as usize]
    }

    fn of_mut<H: Hooks>(&mut self, tg: &TaskGroup<'_, H>, cpu: u32) -> &mut Level {
        &mut self.of[tg.id.get() as usize * self.cpus + cpu as usize]
    }
}

/// The group that `p` is in.
pub(super) fn group_of<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    p: &TaskStruct<'a, H>,
) -> &'a TaskGroup<'a, H> {
    p.sched_task_group.get().unwrap_or(&driver.machine().root_task_group)
}

/// Every group's counts on `cpu`, the root's too.
pub(super) fn equal_a_recount<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    levels: &Levels,
    cpu: u32,
    report: &mut Report<'_>,
) {
    for (name, tg) in driver.task_groups() {
        compare(name, tg_cfs_rq(tg, cpu), levels.of(tg, cpu), cpu, tg.idle.get(), report);
    }
}

/// One queue's counts.
fn compare<H: Hooks>(
    group: GroupName,
    cfs_rq: &CfsRq<'_, H>,
    level: &Level,
    cpu: u32,
    idle: i32,
    report: &mut Report<'_>,
) {
    let mut count = |field: &'static str, is: u32, counted: u32, of: &str| {
        if is != counted {
            let what = format!("{field} is {is}, but {counted} {of}");
            report.level("I-CNT", cpu, group, field, what);
        }
    };
    count("nr_queued", cfs_rq.nr_queued.get(), level.nr_queued, "tasks and groups are queued here");
    let below = "tasks are queued here and below";
    count("h_nr_queued", cfs_rq.h_nr_queued.get(), level.h_nr_queued, below);
    let awake = "tasks are queued here and below and not delayed";
    count("h_nr_runnable", cfs_rq.h_nr_runnable.get(), level.h_nr_runnable, awake);
    let lowly = "tasks of SCHED_IDLE, or in an idle group, are queued here and below";
    count("h_nr_idle", cfs_rq.h_nr_idle.get(), level.h_nr_idle, lowly);
    if u128::from(cfs_rq.load.weight.get()) != level.load {
        let what = format!(
            "load is {}, but the shares of what is queued here add up to {}",
            cfs_rq.load.weight.get(),
            level.load
        );
        report.level("I-CNT", cpu, group, "load", what);
    }
    if cfs_rq.idle.get() != idle {
        let what = format!("idle is {}, but the group's is {idle}", cfs_rq.idle.get());
        report.level("I-CNT", cpu, group, "idle", what);
    }
}
