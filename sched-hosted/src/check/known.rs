// SPDX-License-Identifier: GPL-2.0-only
//! What v7.3 itself does that a strict reading of the rules would call wrong. The class here reproduces it to the bit;
//! a report may list it, no check fails on it.

use crate::ops::driver::Driver;
use sched_core::fair::load::MIN_SHARES;
use sched_core::sched::{self, Rq, SchedEntity};
use sched_core::trace::Hooks;

/// A known defect, or a limit, of a kernel release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Its name in Documentation/invariants.rst.
    pub id: &'static str,
    /// The kernel release in which it stands.
    pub release: &'static str,
    /// The invariant that it would break.
    pub invariant: &'static str,
    /// What happens, in one sentence.
    pub what: &'static str,
    /// What the checks do about it, in one sentence.
    pub exception: &'static str,
}

/// From this rq->clock_task (ns) on v7.3's keys may grow beyond what their products have room for: a product of 63 bits
/// is 2^42 ns of service, which takes a CPU 73 minutes without a tick. Half of it, since several tasks may add up.
pub const CLOCK_OF_WIDE_KEYS: u64 = 1 << 41;

/// The known defects of v7.3, as far as an invariant here would meet them.
pub const KNOWN: &[Known] = &[
    Known {
        id: "vprot-revival",
        release: "7.3",
        invariant: "I-PROT",
        what: "a slice protection that has expired is not converted by a change of weight, so when that moves the \
               vruntime back the old stamp protects again, and may lie beyond the deadline",
        exception: "vprot is not compared with anything between operations",
    },
    Known {
        id: "old-deadline-protects",
        release: "7.3",
        invariant: "I-PROT",
        what: "after the running task's slice was made shorter its protection ends at the deadline of the old slice",
        exception: "the length of a protection is not checked",
    },
    Known {
        id: "hrtick-aims-at-deadline",
        release: "7.3",
        invariant: "I-LAT",
        what: "the precise timer is set for the deadline and not for the end of the protection",
        exception: "HRTICK is off here",
    },
    Known {
        id: "delayed-slice-counts",
        release: "7.3",
        invariant: "I-PROT",
        what: "tasks whose dequeue is delayed still count in the shortest and longest slice of the tree",
        exception: "I-AUG recomputes the extremes with them",
    },
    Known {
        id: "stale-sibling-weight",
        release: "7.3",
        invariant: "I-WGT",
        what: "the flat weight of a task that waits in a group is brought up to date at its enqueue, pick or tick only",
        exception: "I-WGT asks for the exact weight of tasks of the root group only, and of the others for bounds that \
                    the shares of any time kept",
    },
    Known {
        id: "floor-per-level",
        release: "7.3",
        invariant: "I-WGT",
        what: "a weight is at least 2 on every level, which distorts very deep or very small groups",
        exception: "I-WGT has the same floor",
    },
    Known {
        id: "unchecked-pick",
        release: "7.3",
        invariant: "I-WC",
        what: "the result of pick_eevdf() is used without a test, so corrupt sums are fatal, not just unfair",
        exception: "I-PICK finds the empty pick before the next schedule does",
    },
    Known {
        id: "lag-keeps-while-asleep",
        release: "7.3",
        invariant: "I-LAG",
        what: "a sleeper keeps its positive lag for as long as it sleeps (a policy)",
        exception: "I-LAG bounds lag, not its age",
    },
    Known {
        id: "leaf-without-parent",
        release: "7.3",
        invariant: "I-LEAF",
        what: "a queue that has decayed leaves the leaf list if the one right before it is not a child of it, though \
               another child may still be there, further up; coming back it may stand before that child, whose load it \
               then takes over one update late",
        exception: "I-LEAF does not ask for the order of parent and child, but that the root queue is last",
    },
    Known {
        id: "wide-util-sum",
        release: "7.3",
        invariant: "I-PELT",
        what: "util_sum has 32 bits: the attached tasks of one CPU that never sleep overflow it from 88 on",
        exception: "I-PELT does not compare util_avg with its sum from 89962 on",
    },
    Known {
        id: "wide-keys-without-tick",
        release: "7.3",
        invariant: "I-WIDE",
        what: "a stint of more than 73 minutes without a tick makes a product of weight and key that overflows",
        exception: "I-WIDE is not asked once a CPU's clock_task is beyond 2^41 ns",
    },
];

/// util_avg from here on has a sum that overflows its 32 bits.
const WIDE_UTIL: u64 = 89_962;

/// Those of [`KNOWN`] that the present state of `driver` shows, as far as that can be seen at little cost: a bit each,
/// by their place in the table.
pub fn met<H: Hooks>(driver: &Driver<'_, H>) -> u32 {
    let mut met = 0;
    let mut note = |id: &str, is: bool| {
        let at = KNOWN.iter().position(|known| is && known.id == id);
        met |= at.map_or(0, |at| 1 << at);
    };
    let entities = |rq: &Rq<'_, H>| {
        let cpu = rq.cpu;
        let here = move |se: &&SchedEntity<'_, H>| {
            se.on_rq.get() && sched::task_cpu(sched::task_of(se)) == cpu
        };
        driver.task_structs().map(|(_, p)| &p.se).filter(here)
    };
    for rq in driver.machine().runqueues() {
        let wide = rq.clock_task.get() >= CLOCK_OF_WIDE_KEYS && entities(rq).next().is_some();
        note("wide-keys-without-tick", wide);
        note("wide-util-sum", rq.cfs.avg.util_avg.get() >= WIDE_UTIL);
        let slices = |delayed: bool| {
            entities(rq)
                .filter(move |se| se.sched_delayed.get() == delayed)
                .map(|se| se.slice.get())
        };
        note("delayed-slice-counts", slices(true).max() > slices(false).max());
        let floor = |se: &SchedEntity<'_, H>| {
            se.h_load.weight.get() == MIN_SHARES && se.load.weight.get() > MIN_SHARES
        };
        note("floor-per-level", entities(rq).any(floor));
        // Two that come to the same.
        let protected = rq.cfs.curr.get().is_some_and(|se| {
            se.on_rq.get() && se.vprot.get().wrapping_sub(se.deadline.get()) as i64 > 0
        });
        note("vprot-revival", protected);
        note("old-deadline-protects", protected);
    }
    met
}
