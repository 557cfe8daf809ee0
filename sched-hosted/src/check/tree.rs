// SPDX-License-Identifier: GPL-2.0-only
//! I-AUG: the tree. Each node's min_vruntime, min_slice and max_slice are those of its subtree; the order is by
//! deadline; the red-black rules hold; the cached leftmost is the leftmost; and every queued task but curr is in it
//! once.

use super::totals::{Totals, key};
use super::{Report, name_of};
use crate::ops::driver::Driver;
use crate::ops::{Class, TaskName};
use sched_core::sched::{self, Rq, SchedEntity};
use sched_core::trace::Hooks;

/// A red-black tree of all tasks that fit into memory is not as deep as this.
const DEEPEST: u32 = 128;

/// What the cheap depth sees of it: the values of the root, which are those of all, and the leftmost.
#[inline(always)]
pub(super) fn root<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let timeline = &rq.cfs.tasks_timeline;
    let (Some(root), Some(first)) = (timeline.root(), timeline.first()) else {
        if totals.in_tree != 0 || timeline.root().is_some() || timeline.first().is_some() {
            ends_disagree(rq, totals, report);
        }
        return;
    };
    if totals.in_tree == 0 {
        return ends_disagree(rq, totals, report);
    }

    let same = key(&rq.cfs, root.min_vruntime.get()) == totals.min_key
        && root.min_slice.get() == totals.min_slice
        && root.max_slice.get() == totals.max_slice;
    if !same {
        compare(root, &scan(driver, rq), report);
    }
    if key(&rq.cfs, first.deadline.get()) != totals.first_deadline
        || first.run_node.left().is_some()
    {
        let what = format!(
            "the leftmost is {}, whose deadline is not the earliest in the tree",
            report.of(Some(first))
        );
        report.cfs("I-AUG", rq.cpu, "", what);
    }
}

/// Root and leftmost are there if, and only if, there are tasks for the tree.
#[cold]
fn ends_disagree<'a, H: Hooks>(rq: &'a Rq<'a, H>, totals: &Totals, report: &mut Report<'_>) {
    let timeline = &rq.cfs.tasks_timeline;
    let what = format!(
        "the tree's root is {} and its leftmost is {}, but {} tasks are queued and do not run",
        report.of(timeline.root()),
        report.of(timeline.first()),
        totals.in_tree
    );
    report.cfs("I-AUG", rq.cpu, "", what);
}

/// The extremes over some entities, and whose they are.
#[derive(Clone, Copy)]
struct Extremes {
    /// The least vruntime, absolute.
    min_vruntime: (u64, TaskName),
    /// ns.
    min_slice: (u64, TaskName),
    /// ns.
    max_slice: (u64, TaskName),
}

impl Extremes {
    fn of<H: Hooks>(se: &SchedEntity<'_, H>) -> Self {
        let name = name_of(se);
        let slice = se.slice.get();
        Extremes {
            min_vruntime: (se.vruntime.get(), name),
            min_slice: (slice, name),
            max_slice: (slice, name),
        }
    }

    fn and(self, other: Extremes) -> Self {
        let mut both = self;
        if sched::vruntime_before(other.min_vruntime.0, both.min_vruntime.0) {
            both.min_vruntime = other.min_vruntime;
        }
        if other.min_slice.0 < both.min_slice.0 {
            both.min_slice = other.min_slice;
        }
        if other.max_slice.0 > both.max_slice.0 {
            both.max_slice = other.max_slice;
        }
        both
    }
}

/// The extremes over all that ought to be in the tree of `rq`; there is somebody.
fn scan<'a, H: Hooks>(driver: &Driver<'a, H>, rq: &'a Rq<'a, H>) -> Option<Extremes> {
    let queued = driver.task_structs().map(|(_, p)| p).filter(|p| {
        sched::task_cpu(p) == rq.cpu && p.se.on_rq.get() && !sched::is(rq.cfs.curr.get(), &p.se)
    });
    queued.map(|p| Extremes::of(&p.se)).reduce(Extremes::and)
}

/// The values that `se` keeps against those of its subtree.
#[cold]
fn compare<H: Hooks>(se: &SchedEntity<'_, H>, ought: &Option<Extremes>, report: &mut Report<'_>) {
    let Some(ought) = ought else { return };
    let fields = [
        ("min_vruntime", se.min_vruntime.get(), ought.min_vruntime),
        ("min_slice", se.min_slice.get(), ought.min_slice),
        ("max_slice", se.max_slice.get(), ought.max_slice),
    ];
    let node = name_of(se);
    for (field, is, (value, whose)) in fields {
        if is != value {
            let (of, whose) = (report.text(node), report.text(whose));
            let what = format!("{field} of {of} is {is}, its subtree has {value} ({whose})");
            report.task("I-AUG", node, field, what);
        }
    }
}

/// All of it: a walk over the tree, which trusts nothing.
pub(super) fn whole<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let timeline = &rq.cfs.tasks_timeline;
    let Some(root) = timeline.root() else {
        if totals.in_tree != 0 || timeline.first().is_some() {
            ends_disagree(rq, totals, report);
        }
        return;
    };
    let mut walk = Walk {
        driver,
        rq,
        seen: vec![false; driver.names().nr_tasks()],
        last: None,
        first: None,
        broken: false,
    };
    if root.run_node.parent().is_some() || !root.run_node.is_black() {
        walk.wrong(root, "it is the root, but not black, or has a parent".to_string(), report);
    }
    walk.subtree(root, 0, report);
    if walk.broken {
        return;
    }
    match (timeline.first(), walk.first) {
        (Some(first), Some(leftmost)) if core::ptr::eq(first, leftmost) => {}
        (first, leftmost) => {
            let what = format!(
                "the cached leftmost is {}, but {} is the leftmost",
                report.of(first),
                report.of(leftmost)
            );
            report.cfs("I-AUG", rq.cpu, "", what);
        }
    }
    for (name, p) in driver.task_structs() {
        let ought = p.se.on_rq.get()
            && sched::task_cpu(p) == rq.cpu
            && !sched::is(rq.cfs.curr.get(), &p.se);
        if ought && !walk.seen[name.0 as usize] {
            let what =
                format!("the task is queued and not curr, but not in the tree of CPU {}", rq.cpu);
            report.task("I-AUG", name, "se.on_rq", what);
        }
    }
}

/// A walk over a tree, in order.
struct Walk<'c, 'a, H: Hooks + 'a> {
    driver: &'c Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    /// By TaskName: met already.
    seen: Vec<bool>,
    /// The entity before, in order.
    last: Option<&'a SchedEntity<'a, H>>,
    /// The first entity, in order.
    first: Option<&'a SchedEntity<'a, H>>,
    /// The links make no tree: what was seen of it is not all.
    broken: bool,
}

/// What a subtree turned out to be.
struct Subtree {
    extremes: Extremes,
    /// Black nodes on each path down, the node itself included.
    blacks: u32,
}

impl<'a, H: Hooks + 'a> Walk<'_, 'a, H> {
    #[cold]
    fn wrong(&self, se: &SchedEntity<'a, H>, what: String, report: &mut Report<'_>) {
        let node = report.of(Some(se));
        report.task("I-AUG", name_of(se), "", format!("node {node}: {what}"));
    }

    /// The subtree at `se`; none if its links make no tree.
    fn subtree(
        &mut self,
        se: &'a SchedEntity<'a, H>,
        depth: u32,
        report: &mut Report<'_>,
    ) -> Option<Subtree> {
        if !self.belongs(se, depth, report) {
            self.broken = true;
            return None;
        }
        let left = self.child(se, se.run_node.left(), depth, report);
        self.in_order(se, report);
        let right = self.child(se, se.run_node.right(), depth, report);
        if self.broken {
            return None;
        }

        let mut ought = Extremes::of(se);
        for child in [&left, &right].into_iter().flatten() {
            ought = ought.and(child.extremes);
        }
        compare(se, &Some(ought), report);

        let blacks = |child: &Option<Subtree>| child.as_ref().map_or(1, |child| child.blacks);
        let (below, other) = (blacks(&left), blacks(&right));
        if below != other {
            let what = format!("{below} black nodes on a path on the left, {other} on the right");
            self.wrong(se, what, report);
        }
        Some(Subtree { extremes: ought, blacks: below + u32::from(se.run_node.is_black()) })
    }

    /// The subtree at a child of `se`, if there is one.
    fn child(
        &mut self,
        se: &'a SchedEntity<'a, H>,
        child: Option<&'a SchedEntity<'a, H>>,
        depth: u32,
        report: &mut Report<'_>,
    ) -> Option<Subtree> {
        let child = child?;
        if !child.run_node.parent().is_some_and(|parent| core::ptr::eq(parent, se)) {
            let what = format!("its parent link is not {}, whose child it is", report.of(Some(se)));
            self.wrong(child, what, report);
        }
        if !se.run_node.is_black() && !child.run_node.is_black() {
            let what = format!("it is red, like its parent {}", report.of(Some(se)));
            self.wrong(child, what, report);
        }
        self.subtree(child, depth + 1, report)
    }

    /// Whether `se` is a live, queued task of this CPU that was not met yet, no deeper than it may be.
    fn belongs(&mut self, se: &'a SchedEntity<'a, H>, depth: u32, report: &mut Report<'_>) -> bool {
        let name = name_of(se);
        let live = self.driver.task_struct(name).filter(|p| core::ptr::eq(&p.se, se));
        let what = match live {
            None => "it is not a live task's".to_string(),
            Some(_) if core::mem::replace(&mut self.seen[name.0 as usize], true) => {
                "it is in the tree twice".to_string()
            }
            Some(_) if depth > DEEPEST => format!("it stands deeper than {DEEPEST}"),
            Some(p) if sched::task_cpu(p) != self.rq.cpu => "it is another CPU's".to_string(),
            Some(p) if sched::is(self.rq.cfs.curr.get(), &p.se) => {
                "curr is outside the tree, but this is curr".to_string()
            }
            Some(p) if !p.se.on_rq.get() => "it is in the tree, but not queued".to_string(),
            Some(_) => return true,
        };
        self.wrong(se, what, report);
        // Strangers may be walked over; what was met before, or stands too deep, is a loop.
        live.is_some_and(|p| !p.se.on_rq.get() || sched::is(self.rq.cfs.curr.get(), &p.se))
    }

    /// `se` comes after the entity before it.
    fn in_order(&mut self, se: &'a SchedEntity<'a, H>, report: &mut Report<'_>) {
        if let Some(last) = self.last
            && sched::vruntime_before(se.deadline.get(), last.deadline.get())
        {
            let (deadline, before) = (se.deadline.get(), last.deadline.get());
            let what = format!(
                "its deadline {deadline} is before {before} of {}, which stands to its left",
                report.of(Some(last))
            );
            self.wrong(se, what, report);
        }
        self.first.get_or_insert(se);
        self.last = Some(se);
    }
}
