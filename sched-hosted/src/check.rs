// SPDX-License-Identifier: GPL-2.0-only
//! What must hold between two operations, whatever the operations were.
//!
//! Every value that the class keeps is recomputed from the tasks themselves, in 128 bit and without the structure that
//! is being checked where that is possible; what differs is a [`Violation`] that names the object and the field.
//! Documentation/invariants.rst has the table: what each one says, where its bound comes from, and what trips it.
//!
//! [`Depth::Cheap`] is one pass over the tasks plus a fixed amount of work a CPU, without allocating while all is
//! well. [`Depth::Full`] adds what walks the tree and the list (`tree`, `list`) and a brute-force pick (`pick`).
//!
//! Nothing is changed. One thing shows: the full depth calls the class's own `pick_eevdf()`, twice a CPU, and a
//! machine that counts will count that.
//!
//! v7.3 has defects of its own, which are no violations here: [`known`].

mod buddy;
mod clock;
mod counts;
mod delayed;
mod hierarchy;
pub mod known;
mod lag;
mod list;
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
use sched_core::sched::{self, Rq, SchedEntity, TaskStruct};
use sched_core::trace::Hooks;
use totals::Totals;

/// More than this many in one state are left out: they say nothing new.
const MOST: usize = 32;

/// The invariants of v7.3's flat class that do not hold in the present state of `driver`; none as a rule.
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
    for (rq, totals) in runqueues.iter().zip(totals.iter()) {
        each_queue(rq, totals, &mut report);
        if depth == Depth::Cheap {
            tree::root(driver, rq, totals, &mut report);
        } else {
            tree::whole(driver, rq, totals, &mut report);
            list::same_as_queued(driver, rq, totals, &mut report);
            pick::is_the_best(driver, rq, totals, &mut report);
        }
    }
    clock::nothing_charged_twice(runqueues, totals, &mut report);
    report.found
}

/// What is checked of a task by itself.
#[inline(always)]
fn each_task<'a, H: Hooks>(task: &Task<'a, H>, limits: &Limits, report: &mut Report<'_>) {
    state::is_consistent(task, report);
    weight::is_that_of_its_parameters(task, report);
    slice::is_that_of_its_parameters(task, limits, report);
    lag::is_limited(task, limits, report);
    delayed::is_asleep(task, limits, report);
    clock::of_task(task, report);
}

/// What is checked of a runqueue, with what its tasks add up to.
#[inline(always)]
fn each_queue<'a, H: Hooks>(rq: &'a Rq<'a, H>, totals: &Totals, report: &mut Report<'_>) {
    counts::equal_a_recount(rq, totals, report);
    sums::equal_the_tasks(rq, totals, report);
    sums::fit(rq, totals, report);
    hierarchy::what_runs(rq, report);
    hierarchy::work_is_conserved(rq, totals, report);
    buddy::may_be_picked(rq, report);
    clock::of_queue(rq, report);
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
        let object = Object::Cfs(cpu, GroupName::ROOT);
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
            Some(se) if !sched::entity_is_task(se) => "a group's entity".to_string(),
            Some(se) if sched::is_idle_task(sched::task_of(se)) => "the idle task".to_string(),
            Some(se) => self.text(name_of(se)).to_string(),
        }
    }
}

/// The name of the task that `se`, a fair task's entity, belongs to.
fn name_of<H: Hooks>(se: &SchedEntity<'_, H>) -> TaskName {
    TaskName(sched::task_of(se).pid.get())
}
