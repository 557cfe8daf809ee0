// SPDX-License-Identifier: GPL-2.0-only
//! Bugs of one queue: arithmetic (A), tree and pick (T), lag, placement and weight (L), delayed dequeue (D). Numbers
//! from 1.

use super::{Absent, Bug, Exhibit};

/// A bug that shows.
const fn shows(
    bug: Bug,
    id: &'static str,
    origin: &'static str,
    what: &'static str,
    expected: &'static [&'static str],
) -> Exhibit {
    Exhibit { bug, id, origin, what, expected, equivalent: "" }
}

/// A bug that changes nothing here, and why.
const fn silent(exhibit: Exhibit, equivalent: &'static str) -> Exhibit {
    Exhibit { equivalent, ..exhibit }
}

/// A01-avg-floor.
pub const A01: Bug = Bug(1);
/// A02-reweight-unlimited.
pub const A02: Bug = Bug(2);
/// A03-slice-of-nobody.
pub const A03: Bug = Bug(3);
/// A03b-shortest-limits-lag.
pub const A03B: Bug = Bug(4);
/// A04-reference-never-back.
pub const A04: Bug = Bug(5);
/// A06-yield-leapfrog.
pub const A06: Bug = Bug(6);
/// A07-impure-query.
pub const A07: Bug = Bug(7);
/// A07b-reference-left-behind.
pub const A07B: Bug = Bug(8);
/// A09-eligibility-overflow.
pub const A09: Bug = Bug(9);
/// A10-weight-left-in-sum.
pub const A10: Bug = Bug(10);
/// A11-weight-truncated-in-average.
pub const A11: Bug = Bug(11);
/// A12-weight-truncated-in-delta.
pub const A12: Bug = Bug(12);
/// A14-runnable-in-32-bit.
pub const A14: Bug = Bug(13);
/// A15-load-without-weight.
pub const A15: Bug = Bug(14);
/// T02-changed-in-place.
pub const T02: Bug = Bug(15);
/// T03-curr-in-sums.
pub const T03: Bug = Bug(16);
/// T04-copy-one-field.
pub const T04: Bug = Bug(17);
/// T04b-rotated-not-recomputed.
pub const T04B: Bug = Bug(18);
/// T04c-propagation-stops-early.
pub const T04C: Bug = Bug(19);
/// T06-shortest-slice-stale.
pub const T06: Bug = Bug(20);
/// L01-vruntime-kept.
pub const L01: Bug = Bug(21);
/// L02-reference-not-refreshed.
pub const L02: Bug = Bug(22);
/// L04-V-after-removal.
pub const L04: Bug = Bug(23);
/// L05-reweight-by-placement.
pub const L05: Bug = Bug(24);
/// L07-empty-group-reweighted.
pub const L07: Bug = Bug(25);
/// L08-idle-policy-in-place.
pub const L08: Bug = Bug(26);
/// L10-slice-not-refreshed.
pub const L10: Bug = Bug(27);
/// L11-deadline-anew-on-move.
pub const L11: Bug = Bug(28);
/// L11b-deadline-kept-by-sleepers.
pub const L11B: Bug = Bug(29);
/// L12-vruntime-of-another-cpu.
pub const L12: Bug = Bug(30);
/// L15-debt-grows-while-delayed.
pub const L15: Bug = Bug(31);
/// L15b-delayed-credit-kept.
pub const L15B: Bug = Bug(32);
/// D04-throttled-never-blocked.
pub const D04: Bug = Bug(33);
/// D04b-delayed-never-blocked.
pub const D04B: Bug = Bug(34);
/// D07-buddy-gated.
pub const D07: Bug = Bug(35);
/// D11-waits-for-inactive.
pub const D11: Bug = Bug(36);
/// D14-delayed-is-runnable.
pub const D14: Bug = Bug(37);
/// D14b-delayed-counts.
pub const D14B: Bug = Bug(38);
/// D15-estimate-before-average.
pub const D15: Bug = Bug(39);
/// D15b-no-estimate-when-delayed.
pub const D15B: Bug = Bug(40);
/// D16-requeue-uncharged.
pub const D16: Bug = Bug(41);
/// D17-queued-taken-for-runnable.
pub const D17: Bug = Bug(42);
/// D19-delayed-counted-when-moved.
pub const D19: Bug = Bug(43);
/// D19b-delayed-uncounted-when-moved.
pub const D19B: Bug = Bug(44);
/// T02b-placed-in-place.
pub const T02B: Bug = Bug(45);
/// L04b-V-of-the-others.
pub const L04B: Bug = Bug(46);
/// L10b-slice-not-taken-back.
pub const L10B: Bug = Bug(47);

/// The bugs.
pub const ONE_QUEUE: &[Exhibit] = &[
    shows(
        A01,
        "A01-avg-floor",
        "650cad561cce (Fixes af4cf40470c2): sched/eevdf: Fix avg_vruntime()",
        "a negative weighted sum is divided towards 0, so that V lies one too far right and one \
         placed there is not eligible",
        &["I-LAG", "I-ELIG0", "I-SUM"],
    ),
    shows(
        A02,
        "A02-reweight-unlimited",
        "1560d1f6eb6b (Fixes eab03c23c2a1): sched/eevdf: Prevent vlag from going out of bounds in \
         reweight_eevdf()",
        "a change of weight scales the lag as it is, without its limit",
        &["I-LAG", "I-RW"],
    ),
    shows(
        A03,
        "A03-slice-of-nobody",
        "bbce3de72be5 (Fixes aef6987d8954): sched/eevdf: Fix se->slice being set to U64_MAX and \
         resulting crash",
        "who leaves an empty queue takes the shortest slice of nobody, all ones, as its own",
        &["I-SLICE"],
    ),
    shows(
        A03B,
        "A03b-shortest-limits-lag",
        "bbce3de72be5 (Fixes aef6987d8954), a plausible second form",
        "lag is limited by the shortest slice instead of the longest",
        &["I-LAG"],
    ),
    shows(
        A04,
        "A04-reference-never-back",
        "79f3f9bedd14 (Fixes 147f3efaa241): sched/eevdf: Fix min_vruntime vs avg_vruntime",
        "the reference of the keys only moves forward, though V moves back when one that owes \
         time leaves",
        &["I-KEY"],
    ),
    shows(
        A06,
        "A06-yield-leapfrog",
        "1319ea57529e (Fixes b3d99f43c72b): sched/fair: Fix zero_vruntime tracking fix",
        "yield moves vruntime and deadline on without the average following",
        &["I-KEY"],
    ),
    shows(
        A07,
        "A07-impure-query",
        "e08d007f9d81: sched/debug: Fix avg_vruntime() usage",
        "a question about V moves the reference and not the sum that is relative to it",
        &["I-SUM"],
    ),
    shows(
        A07B,
        "A07b-reference-left-behind",
        "e08d007f9d81, the reverse",
        "the sum follows V and the reference does not",
        &["I-LAG", "I-SUM"],
    ),
    shows(
        A09,
        "A09-eligibility-overflow",
        "b6eee96843e8: sched/fair: Fix overflow in vruntime_eligible()",
        "eligibility multiplies a key by the total weight in 64 bits, which wraps for tiny \
         weights beside great ones",
        &["I-PICK", "I-WIDE"],
    ),
    shows(
        A10,
        "A10-weight-left-in-sum",
        "backport notes of an AMD EPYC user, 6.18: divide error after a long load",
        "whose flat weight is not its nice weight leaves the tree and its weight stays in the sum",
        &["I-SUM", "I-WIDE"],
    ),
    shows(
        A11,
        "A11-weight-truncated-in-average",
        "4823725d9d1d: sched/fair: Increase weight bits for avg_vruntime",
        "the sums count weights without their low bits and not below 2",
        &["I-SUM", "I-RW"],
    ),
    shows(
        A12,
        "A12-weight-truncated-in-delta",
        "db4551e2ba34: sched/fair: Use full weight to __calc_delta()",
        "vruntime advances by a weight without its low bits",
        &["I-PLACE", "I-CLK", "I-FAIR"],
    ),
    shows(
        A14,
        "A14-runnable-in-32-bit",
        "4f166adb5cb0",
        "the runnable sum that a group passes up is cut to 32 bits",
        &["I-PELT"],
    ),
    shows(
        A15,
        "A15-load-without-weight",
        "6ab7973f2540 (Fixes 089d84203ad4): sched/fair: Fix sched_avg fold",
        "the load average of an entity leaves its weight out",
        &["I-PELT"],
    ),
    silent(
        shows(
            T02,
            "T02-changed-in-place",
            "8dafa9d0eb1a (Fixes 147f3efaa241): sched/eevdf: Fix min_deadline heap integrity",
            "a change of weight moves vruntime and deadline of a node that stays where it is in the \
         tree",
            &["I-AUG"],
        ),
        "In v7.3 the weight of a waiting task changes only while it is dequeued (sched_change), so \
             that reweight_eevdf() never meets one that is in the tree.",
    ),
    shows(
        T02B,
        "T02b-placed-in-place",
        "8dafa9d0eb1a, where v7.3 moves a waiting entity: requeue_delayed_entity()",
        "a delayed task that is placed anew stays where it is in the tree",
        &["I-AUG"],
    ),
    shows(
        T03,
        "T03-curr-in-sums",
        "d2929762cc3f (Fixes 8dafa9d0eb1a): sched/eevdf: Fix heap corruption more",
        "a change of weight treats the running entity as one of the tree",
        &["I-SUM", "I-AUG"],
    ),
    shows(
        T04,
        "T04-copy-one-field",
        "51b0e68cfa0a (Fixes aef6987d8954)",
        "rotations and removals carry min_vruntime only",
        &["I-AUG"],
    ),
    shows(
        T04B,
        "T04b-rotated-not-recomputed",
        "51b0e68cfa0a, a plausible second form",
        "what was rotated below keeps the values of its old subtree",
        &["I-AUG"],
    ),
    shows(
        T04C,
        "T04c-propagation-stops-early",
        "51b0e68cfa0a, a plausible third form",
        "the way up ends where min_vruntime does not change, whatever the slices do",
        &["I-AUG"],
    ),
    shows(
        T06,
        "T06-shortest-slice-stale",
        "563bc2161b94 (Fixes aef6987d8954): sched/eevdf: Force propagating min_slice of cfs_rq \
         when {en,de}queue tasks",
        "one that joins keeps the shortest slice of the subtree that it had last",
        &["I-AUG"],
    ),
    shows(
        L01,
        "L01-vruntime-kept",
        "eab03c23c2a1 (Fixes 147f3efaa241): sched/eevdf: Fix vruntime adjustment on reweight",
        "a change of weight leaves vruntime where it is, which makes lag out of nothing",
        &["I-RW", "I-LAG0"],
    ),
    shows(
        L02,
        "L02-reference-not-refreshed",
        "5068d84054b7 (Fixes eab03c23c2a1): sched/fair: Update min_vruntime for reweight_entity() \
         correctly",
        "the reference does not follow V while somebody runs",
        &["I-KEY"],
    ),
    silent(
        shows(
            L04,
            "L04-V-after-removal",
            "afae8002b4fd (Fixes eab03c23c2a1): sched/eevdf: Fix miscalculation in reweight_entity() \
         when se is not curr",
            "a change of weight measures lag against the V of the others alone",
            &["I-RW"],
        ),
        "In v7.3 the weight of a waiting task changes only while it is dequeued (sched_change), so \
             that reweight_eevdf() never meets one that is in the tree.",
    ),
    shows(
        L04B,
        "L04b-V-of-the-others",
        "afae8002b4fd, where v7.3 measures before a change of weight: __dequeue_task()",
        "a waiting task that leaves for a change has its lag measured against the V of the others",
        &["I-LAG", "I-RW"],
    ),
    shows(
        L05,
        "L05-reweight-by-placement",
        "101f3498b4bd, which reverts 6d71a9c61604",
        "a change of weight of the running entity inflates its lag as if it joined",
        &["I-LAG", "I-RW"],
    ),
    shows(
        L07,
        "L07-empty-group-reweighted",
        "66951e4860d3 (Fixes 152e11f6df29): sched/fair: Fix update_cfs_group() vs DELAY_DEQUEUE",
        "a group that has become empty is given the least weight",
        &["I-WGT"],
    ),
    shows(
        L08,
        "L08-idle-policy-in-place",
        "d32960528702 (Fixes 9059393e4ec1): sched/fair: set_load_weight() must also call \
         reweight_task() for SCHED_IDLE tasks",
        "the change to SCHED_IDLE writes the weight without what depends on it",
        &["I-PELT", "I-SUM"],
    ),
    silent(
        shows(
            L10,
            "L10-slice-not-refreshed",
            "2f2fc17bab00 (Fixes 147f3efaa241): sched/eevdf: Also update slice on placement",
            "placement keeps the slice of the last time",
            &["I-SLICE"],
        ),
        "A machine's base slice does not change while it runs here, and sched_setattr() writes the \
             slice itself when a custom one is taken back.",
    ),
    shows(
        L10B,
        "L10b-slice-not-taken-back",
        "2f2fc17bab00, a plausible second form",
        "a sleeper whose custom slice is taken back keeps it until its next placement",
        &["I-SLICE"],
    ),
    shows(
        L11,
        "L11-deadline-anew-on-move",
        "82e9d0456e06: sched/fair: Avoid re-setting virtual deadline on 'migrations'",
        "whoever is moved gets a fresh deadline",
        &["I-PLACE"],
    ),
    shows(
        L11B,
        "L11b-deadline-kept-by-sleepers",
        "82e9d0456e06, the reverse",
        "a sleeper keeps its distance to the deadline as if it had only been moved",
        &["I-STATE", "I-PLACE"],
    ),
    shows(
        L12,
        "L12-vruntime-of-another-cpu",
        "c40dd90ac045: sched: Initialize the vruntime of a new task when it is first enqueued",
        "a new task starts at the reference of the first CPU, wherever it is",
        &["I-PLACE", "I-KEY"],
    ),
    shows(
        L15,
        "L15-debt-grows-while-delayed",
        "059258b0d424",
        "at the end of a delayed dequeue the lag is what it has become, even if it owes more than \
         when it fell asleep",
        &["I-DLY"],
    ),
    shows(
        L15B,
        "L15b-delayed-credit-kept",
        "2e0199df252a, the series of delayed dequeue",
        "with DELAY_ZERO a delayed task leaves with positive lag all the same",
        &["I-DLY"],
    ),
    shows(
        D04,
        "D04-throttled-never-blocked",
        "e67e3e738f08",
        "the completion of a delayed dequeue below a throttled group does not put the task to \
         sleep",
        &["I-STATE", "I-DLY"],
    ),
    shows(
        D04B,
        "D04b-delayed-never-blocked",
        "e67e3e738f08, on all levels",
        "the completion of a delayed dequeue does not put the task to sleep",
        &["I-STATE", "I-DLY"],
    ),
    shows(
        D07,
        "D07-buddy-gated",
        "2a77e4be12cb (Fixes 147f3efaa241): sched/fair: Untangle NEXT_BUDDY and pick_next_task()",
        "without NEXT_BUDDY the pick ignores the buddy that yield_to() or a short wakee became",
        &["I-BUD", "I-PICK"],
    ),
    shows(
        D11,
        "D11-waits-for-inactive",
        "b7ca5743a260 (Fixes 152e11f6df29)",
        "who waits for a delayed task to be off the queue does not complete its dequeue",
        &["I-CLK", "I-DLY"],
    ),
    shows(
        D14,
        "D14-delayed-is-runnable",
        "fc1892becd56",
        "a delayed task goes on adding to the runnable average",
        &["I-PELT"],
    ),
    shows(
        D14B,
        "D14b-delayed-counts",
        "76f2f783294d",
        "a delayed task goes on counting as runnable on every level",
        &["I-CNT"],
    ),
    shows(
        D15,
        "D15-estimate-before-average",
        "6d2051403d6c",
        "a delayed dequeue takes the estimate from an average that does not have the last stint \
         yet",
        &["I-UEST", "I-PELT"],
    ),
    shows(
        D15B,
        "D15b-no-estimate-when-delayed",
        "6d2051403d6c, a plausible second form",
        "a delayed dequeue makes no estimate",
        &["I-UEST", "I-PELT"],
    ),
    shows(
        D16,
        "D16-requeue-uncharged",
        "333238da9a19: sched: Update time before requeueing delayed entities",
        "a delayed task is requeued without charging what runs",
        &["I-CLK", "I-DLY"],
    ),
    shows(
        D17,
        "D17-queued-taken-for-runnable",
        "cd9626e9ebc7 (Fixes 152e11f6df29)",
        "a wakeup takes a delayed task for one that runs already",
        &["I-STATE", "I-DLY"],
    ),
    shows(
        D19,
        "D19-delayed-counted-when-moved",
        "2e0199df252a",
        "a delayed task that is moved or changed counts as runnable when it comes back",
        &["I-CNT"],
    ),
    shows(
        D19B,
        "D19b-delayed-uncounted-when-moved",
        "2e0199df252a",
        "a delayed task that is moved or changed is taken off the runnable count once more",
        &["I-CNT"],
    ),
];

/// Those that are not put back.
pub const ONE_QUEUE_ABSENT: &[Absent] = &[
    Absent {
        id: "A16-cpu-util-runnable",
        why: "cpu_util() belongs to frequency selection and CPU choice, which are not modelled.",
    },
    Absent {
        id: "T07-null-pick",
        why: "v7.3 itself has it: check::known knows it as unchecked-pick; it is what other bugs \
              end in.",
    },
    Absent {
        id: "T08-core-lockbreak",
        why: "There is no core scheduling, and the pick never drops its lock.",
    },
    Absent {
        id: "L14-vprot-revival",
        why: "v7.3 itself has it: check::known knows it as vprot-revival.",
    },
    Absent {
        id: "L17-lag-of-sleepers",
        why: "v7.3 itself has it, as a policy: check::known knows it as lag-keeps-while-asleep.",
    },
    Absent { id: "D02-core-tree", why: "There is no core scheduling and so no second tree." },
    Absent {
        id: "D03-unthrottle-over-delayed",
        why: "Only tasks are delayed in v7.3, and a parked task is in no tree when its group is \
              unthrottled.",
    },
    Absent { id: "D05-psi", why: "Pressure accounting is not modelled." },
    Absent {
        id: "D08-published-early",
        why: "It shows between two CPUs in the same instant only; tests/threads.rs runs that path \
              under ThreadSanitizer.",
    },
    Absent {
        id: "D09-delayed-wake-stays",
        why: "The choice of a CPU is not modelled: the operation says where a task is woken.",
    },
    Absent { id: "D10-balance-moves-delayed", why: "Load balancing is not modelled." },
    Absent {
        id: "D12-sync-count",
        why: "The test for a lone sync waker belongs to the choice of a CPU, which is not \
              modelled.",
    },
    Absent {
        id: "D18-delayed-slice",
        why: "v7.3 itself has it: check::known knows it as delayed-slice-counts.",
    },
];
