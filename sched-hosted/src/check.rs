// SPDX-License-Identifier: GPL-2.0-only
//! What must hold between two operations, whatever the operations were.
//!
//! Every value that the class keeps is recomputed from the tasks themselves, in 128 bit and without the structure that
//! is being checked where that is possible; what differs is a [`Violation`] that names the object and the field.
//! Documentation/invariants.rst has the table: what each one says, where its bound comes from, and what trips it.
//!
//! [`Depth::Cheap`] is one pass over the tasks plus a fixed amount of work a CPU, without allocating while all is
//! well; with groups a second pass, and some work a group and CPU. [`Depth::Full`] adds what walks the tree and the
//! lists (`tree`, `list`, `leaf`, `bandwidth`), load tracking (`pelt`) and a brute-force pick (`pick`).
//!
//! Nothing is changed. One thing shows: the full depth calls the class's own `pick_eevdf()`, twice a CPU, and a
//! machine that counts will count that.
//!
//! v7.3 has defects of its own, which are no violations here: [`known`].

mod bandwidth;
mod buddy;
mod clock;
mod counts;
mod delayed;
mod hierarchy;
pub mod known;
mod lag;
pub mod laws;
mod leaf;
mod levels;
mod links;
mod list;
mod pelt;
mod pick;
mod slice;
mod state;
mod sums;
mod totals;
mod tree;
mod weight;

use crate::ops::class::{Depth, Object, Violation};
use crate::ops::driver::Driver;
use crate::ops::{GroupName, Names, TaskName};
use levels::Levels;
use sched_core::sched::CgroupMode;
use sched_core::sched::{self, Rq, SchedEntity, TaskStruct};
use sched_core::trace::Hooks;
use totals::Totals;

/// More than this many in one state are left out: they say nothing new.
const MOST: usize = 32;

/// The invariants of v7.3's class that do not hold in the present state of `driver`; none as a rule.
pub fn violations<'a, H: Hooks>(driver: &Driver<'a, H>, depth: Depth) -> Vec<Violation> {
    let runqueues = driver.machine().runqueues();
    let mut report = Report::new(driver);
    let mut one = [Totals::new()];
    let mut many = Vec::new();
    let totals = if runqueues.len() == 1 {
        &mut one[..]
    } else {
        many.resize(runqueues.len(), Totals::new());
        &mut many[..]
    };

    let limits = Limits::of(driver);
    for (name, p) in driver.task_structs() {
        let task = Task { name, p, rq: driver.machine().cpu_rq(sched::task_cpu(p)) };
        each_task(&task, &limits, &mut report);
        totals[task.rq.cpu as usize].add(&task);
    }
    let levels = driver.task_groups().nth(1).is_some().then(|| Levels::recount(driver));
    for (rq, totals) in runqueues.iter().zip(totals.iter()) {
        each_queue(rq, totals, &mut report);
        match &levels {
            None => counts::equal_a_recount(rq, totals, &mut report),
            Some(levels) => each_group(driver, rq, levels, totals, &limits, &mut report),
        }
        if depth == Depth::Cheap {
            tree::root(driver, rq, totals, &mut report);
        } else {
            tree::whole(driver, rq, totals, &mut report);
            list::same_as_queued(driver, rq, totals, &mut report);
            leaf::is_complete(driver, rq, &mut report);
            pick::is_the_best(driver, rq, totals, &mut report);
        }
    }
    clock::nothing_charged_twice(runqueues, totals, &mut report);
    if let Some(levels) = &levels {
        bandwidth::of_pools(driver, &mut report);
        for (name, p) in driver.task_structs() {
            let task = Task { name, p, rq: driver.machine().cpu_rq(sched::task_cpu(p)) };
            links::of_task(driver, &task, &mut report);
        }
        if depth == Depth::Full {
            bandwidth::lists(driver, levels, &mut report);
        }
    }
    if depth == Depth::Full {
        load_tracking(driver, &mut report);
    }
    report.found
}

/// What is checked of a task by itself.
#[inline(always)]
fn each_task<'a, H: Hooks>(task: &Task<'a, H>, limits: &Limits, report: &mut Report<'_>) {
    state::is_consistent(task, report);
    weight::is_that_of_its_parameters(task, limits, report);
    slice::is_that_of_its_parameters(task, limits, report);
    lag::is_limited(task, limits, report);
    delayed::is_asleep(task, limits, report);
    clock::of_task(task, report);
}

/// What is checked of a runqueue, with what its tasks add up to.
#[inline(always)]
fn each_queue<'a, H: Hooks>(rq: &'a Rq<'a, H>, totals: &Totals, report: &mut Report<'_>) {
    sums::equal_the_tasks(rq, totals, report);
    sums::fit(rq, totals, report);
    hierarchy::what_runs(rq, report);
    hierarchy::work_is_conserved(rq, totals, report);
    buddy::may_be_picked(rq, report);
    clock::of_queue(rq, report);
}

/// What is checked of a CPU once there are groups.
fn each_group<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    levels: &Levels,
    totals: &Totals,
    limits: &Limits,
    report: &mut Report<'_>,
) {
    levels::equal_a_recount(driver, levels, rq.cpu, report);
    counts::of_runqueue(rq, totals, report);
    links::of_groups(driver, rq, levels, report);
    weight::of_groups(driver, rq, limits, report);
    bandwidth::of_queues(driver, rq, levels, report);
}

/// What is checked of all averages.
fn load_tracking<'a, H: Hooks>(driver: &Driver<'a, H>, report: &mut Report<'_>) {
    for (name, p) in driver.task_structs() {
        let task = Task { name, p, rq: driver.machine().cpu_rq(sched::task_cpu(p)) };
        pelt::of_task(&task, report);
    }
    pelt::of_groups(driver, report);
    pelt::estimates(driver, report);
}

/// A live task, and the runqueue of its CPU.
struct Task<'a, H: Hooks + 'a> {
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    rq: &'a Rq<'a, H>,
}

impl<'a, H: Hooks + 'a> Task<'a, H> {
    /// The root queue's curr: queued, but not in the tree.
    #[inline(always)]
    fn is_curr(&self) -> bool {
        sched::is(self.rq.cfs.curr.get(), &self.p.se)
    }
}

/// What the machine's parameters bound.
struct Limits {
    /// sysctl_sched_base_slice, ns.
    base_slice: u64,
    /// The largest time, ns, that lag may have been limited by when it was stored.
    lag: u64,
    /// DELAY_DEQUEUE.
    delay_dequeue: bool,
    /// DELAY_ZERO.
    delay_zero: bool,
    /// The cgroup mode.
    cgroup_mode: CgroupMode,
    /// How many CPUs there are.
    cpus: u64,
}

impl Limits {
    fn of<H: Hooks>(driver: &Driver<'_, H>) -> Self {
        use sched_core::features::SchedFeat;
        let machine = driver.machine();
        let base_slice = u64::from(machine.sysctl_sched_base_slice.get());
        Limits {
            base_slice,
            lag: base_slice.max(slice::LONGEST) + machine.tick_nsec.get(),
            delay_dequeue: machine.sched_feat(SchedFeat::DELAY_DEQUEUE),
            delay_zero: machine.sched_feat(SchedFeat::DELAY_ZERO),
            cgroup_mode: machine.cgroup_mode.get(),
            cpus: u64::from(machine.num_online_cpus()),
        }
    }
}

/// Collects what does not hold.
struct Report<'n> {
    names: &'n Names,
    found: Vec<Violation>,
}

impl<'n> Report<'n> {
    fn new<H: Hooks>(driver: &'n Driver<'_, H>) -> Self {
        Report { names: crate::ops::Class::names(driver), found: Vec::new() }
    }

    #[cold]
    fn task(&mut self, invariant: &'static str, name: TaskName, field: &'static str, what: String) {
        self.push(Violation { invariant, object: Object::Task(name), field, what });
    }

    #[cold]
    fn rq(&mut self, invariant: &'static str, cpu: u32, field: &'static str, what: String) {
        self.push(Violation { invariant, object: Object::Rq(cpu), field, what });
    }

    #[cold]
    fn cfs(&mut self, invariant: &'static str, cpu: u32, field: &'static str, what: String) {
        self.level(invariant, cpu, GroupName::ROOT, field, what);
    }

    /// Of a group's queue on a CPU.
    #[cold]
    fn level(
        &mut self,
        invariant: &'static str,
        cpu: u32,
        group: GroupName,
        field: &'static str,
        what: String,
    ) {
        self.object(invariant, Object::Cfs(cpu, group), field, what);
    }

    /// Of a group on all CPUs: told at its first queue.
    #[cold]
    fn group(
        &mut self,
        invariant: &'static str,
        group: GroupName,
        field: &'static str,
        what: String,
    ) {
        let what = format!("{}: {what}", self.names.group_text(group));
        self.object(invariant, Object::Cfs(0, group), field, what);
    }

    #[cold]
    fn object(
        &mut self,
        invariant: &'static str,
        object: Object,
        field: &'static str,
        what: String,
    ) {
        self.push(Violation { invariant, object, field, what });
    }

    fn push(&mut self, violation: Violation) {
        if self.found.len() < MOST {
            self.found.push(violation);
        }
    }

    /// The text of a task's name.
    fn text(&self, name: TaskName) -> &'n str {
        self.names.task_text(name)
    }

    /// The text of the name of the task that `se` belongs to; `none`.
    fn of<'a, H: Hooks>(&self, se: Option<&SchedEntity<'a, H>>) -> String {
        match se {
            None => "none".to_string(),
            Some(se) if !sched::entity_is_task(se) => {
                let tg = sched::group_cfs_rq(se).and_then(|my_q| my_q.tg.get());
                let path = self.names.group_text(GroupName(tg.map_or(0, |tg| tg.id.get())));
                format!("the entity of group {path}")
            }
            Some(se) if sched::is_idle_task(sched::task_of(se)) => "the idle task".to_string(),
            Some(se) => self.text(name_of(se)).to_string(),
        }
    }
}

/// The name of the task that `se`, a fair task's entity, belongs to.
fn name_of<H: Hooks>(se: &SchedEntity<'_, H>) -> TaskName {
    TaskName(sched::task_of(se).pid.get())
}
