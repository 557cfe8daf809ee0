// SPDX-License-Identifier: GPL-2.0-only
//! Bugs of counters (C), slices and preemption (S), bandwidth (B), the hierarchy (H), clocks and load tracking (K).
//! Numbers from 201.

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

/// C02-lone-group.
pub const C02: Bug = Bug(201);
/// C02b-lone-group-pick.
pub const C02B: Bug = Bug(202);
/// C03-any-class.
pub const C03: Bug = Bug(203);
/// C03b-resched-alone.
pub const C03B: Bug = Bug(204);
/// C04-nr-underflow.
pub const C04: Bug = Bug(205);
/// C04b-nr-underflow-parked.
pub const C04B: Bug = Bug(206);
/// C05-stalled-contribution.
pub const C05: Bug = Bug(207);
/// C08-child-on-list.
pub const C08: Bug = Bug(208);
/// C09-buddy-elsewhere.
pub const C09: Bug = Bug(209);
/// C10-move-without-resched.
pub const C10: Bug = Bug(210);
/// C10b-unthrottle-without-resched.
pub const C10B: Bug = Bug(211);
/// C11-shares-width.
pub const C11: Bug = Bug(212);
/// C12-shares-lag.
pub const C12: Bug = Bug(213);
/// S01-no-parity.
pub const S01: Bug = Bug(214);
/// S03-idle-any-level.
pub const S03: Bug = Bug(215);
/// S03b-idle-keeps-cpu.
pub const S03B: Bug = Bug(216);
/// S04-no-quantum.
pub const S04: Bug = Bug(217);
/// S06-not-shortened.
pub const S06: Bug = Bug(218);
/// S07-no-resched-at-protection-end.
pub const S07: Bug = Bug(219);
/// S08-spurious-short.
pub const S08: Bug = Bug(220);
/// S10-forced-preemption.
pub const S10: Bug = Bug(221);
/// S12-short-no-buddy.
pub const S12: Bug = Bug(222);
/// S12b-longer-buddy.
pub const S12B: Bug = Bug(223);
/// S13-lag-ignored.
pub const S13: Bug = Bug(224);
/// S14-short-eligible-waits.
pub const S14: Bug = Bug(225);
/// S15-resched-pending.
pub const S15: Bug = Bug(226);
/// S16-beyond-deadline.
pub const S16: Bug = Bug(227);
/// S16b-protection-grows.
pub const S16B: Bug = Bug(228);
/// S22-next-class.
pub const S22: Bug = Bug(229);
/// S24-batch-no-update.
pub const S24: Bug = Bug(230);
/// S24b-idle-no-update.
pub const S24B: Bug = Bug(231);
/// S26-min-slice-without-curr.
pub const S26: Bug = Bug(232);
/// S26b-slice-of-one-who-left.
pub const S26B: Bug = Bug(233);
/// B02-new-child-thaws.
pub const B02: Bug = Bug(234);
/// B02b-new-child-unthrottled.
pub const B02B: Bug = Bug(235);
/// B04-load-stops.
pub const B04: Bug = Bug(236);
/// B04b-share-stops.
pub const B04B: Bug = Bug(237);
/// B04c-no-preemption.
pub const B04C: Bug = Bug(238);
/// B04d-nothing-to-start-with.
pub const B04D: Bug = Bug(239);
/// B06-own-level-only.
pub const B06: Bug = Bug(240);
/// B06b-running-not-told.
pub const B06B: Bug = Bug(241);
/// B06c-parks-for-own-level.
pub const B06C: Bug = Bug(242);
/// B07-give-before-charge.
pub const B07: Bug = Bug(243);
/// B07b-unthrottle-before-charge.
pub const B07B: Bug = Bug(244);
/// B08-zero-is-enough.
pub const B08: Bug = Bug(245);
/// B08b-not-at-enqueue.
pub const B08B: Bug = Bug(246);
/// B11-lost-in-limbo.
pub const B11: Bug = Bug(247);
/// B11b-parked-for-good.
pub const B11B: Bug = Bug(248);
/// B14-lone-spinner.
pub const B14: Bug = Bug(249);
/// B15-slice-for-throttled.
pub const B15: Bug = Bug(250);
/// B16-slack-pushed.
pub const B16: Bug = Bug(251);
/// B20-given-twice.
pub const B20: Bug = Bug(252);
/// B22-parked-and-delayed.
pub const B22: Bug = Bug(253);
/// H01-enqueue-uncharged.
pub const H01: Bug = Bug(254);
/// H01b-dequeue-uncharged.
pub const H01B: Bug = Bug(255);
/// H06-curr-on-group-queue.
pub const H06: Bug = Bug(256);
/// H08-stale-at-tick.
pub const H08: Bug = Bug(257);
/// H08b-stale-at-pick.
pub const H08B: Bug = Bug(258);
/// H08c-stale-at-enqueue.
pub const H08C: Bug = Bug(259);
/// H10-curr-at-enqueue.
pub const H10: Bug = Bug(260);
/// H11-no-floor.
pub const H11: Bug = Bug(261);
/// H11b-scaled-floor.
pub const H11B: Bug = Bug(262);
/// H12-concur-unbounded.
pub const H12: Bug = Bug(263);
/// H12b-max-unbounded.
pub const H12B: Bug = Bug(264);
/// H14-weight-before-account.
pub const H14: Bug = Bug(265);
/// H14b-empty-parent.
pub const H14B: Bug = Bug(266);
/// H15-nice-no-reweight.
pub const H15: Bug = Bug(267);
/// K01-lost-idle-time.
pub const K01: Bug = Bug(268);
/// K02-two-clocks.
pub const K02: Bug = Bug(269);
/// K03-skip-leaks.
pub const K03: Bug = Bug(270);
/// K03b-double-update.
pub const K03B: Bug = Bug(271);
/// K03c-loop-skip-leaks.
pub const K03C: Bug = Bug(272);
/// K04-decayed-by-weight.
pub const K04: Bug = Bug(273);
/// K04b-parent-first.
pub const K04B: Bug = Bug(274);
/// K05-estimate-stays.
pub const K05: Bug = Bug(275);
/// K05b-estimate-frozen.
pub const K05B: Bug = Bug(276);
/// K10-delayed-only.
pub const K10: Bug = Bug(277);
/// K10b-gives-up.
pub const K10B: Bug = Bug(278);
/// K11-clock-goes-on.
pub const K11: Bug = Bug(279);
/// K12-average-without-sum.
pub const K12: Bug = Bug(280);
/// K13-sum-left-behind.
pub const K13: Bug = Bug(281);
/// K14-mark-in-the-sum.
pub const K14: Bug = Bug(282);
/// K15-new-task-attached.
pub const K15: Bug = Bug(283);
/// K16-out-of-window.
pub const K16: Bug = Bug(284);
/// K17-load-left-behind.
pub const K17: Bug = Bug(285);
/// K18-sleep-not-decayed.
pub const K18: Bug = Bug(286);
/// K19-removed-not-passed.
pub const K19: Bug = Bug(287);
/// K20-more-than-a-cpu.
pub const K20: Bug = Bug(288);

/// The bugs.
pub const GROUPS: &[Exhibit] = &[
    shows(
        C02,
        "C02-lone-group",
        "c1f43c342e1f (Fixes 11cc374f4643)",
        "the end of a request counts the entities at the root, so that a group with two tasks \
         passes for one task alone",
        &["I-RESCHED", "I-LAT"],
    ),
    shows(
        C02B,
        "C02b-lone-group-pick",
        "c1f43c342e1f (Fixes 11cc374f4643)",
        "the pick takes a group with two tasks for one task alone, and does not ask who is \
         eligible",
        &["I-PICK"],
    ),
    Exhibit {
        bug: C03,
        id: "C03-any-class",
        origin: "d4ac164bde7a (Fixes 85e511df3cec)",
        what: "the end of a request counts the tasks of all classes",
        expected: &["I-RESCHED"],
        equivalent: "nr_running and the root queue's h_nr_queued are raised and lowered together, and \
             both count fair tasks only, there being no other class; they differ inside an \
             enqueue, dequeue or reweight alone, where nothing is left to charge.",
    },
    shows(
        C03B,
        "C03b-resched-alone",
        "d4ac164bde7a (Fixes 85e511df3cec)",
        "the end of a request asks for a reschedule though nobody else is there to run",
        &["I-RESCHED"],
    ),
    shows(
        C04,
        "C04-nr-underflow",
        "vendor report of 2026-08, 4.19.90 aarch64: nr_running wrapped below 0",
        "a task whose dequeue is delayed is taken off nr_running at once and again at the end",
        &["I-CNT"],
    ),
    shows(
        C04B,
        "C04b-nr-underflow-parked",
        "vendor report of 2026-08, 4.19.90 aarch64: nr_running wrapped below 0",
        "a parked task that is taken out for a change is taken off nr_running once more",
        &["I-CNT"],
    ),
    shows(
        C05,
        "C05-stalled-contribution",
        "ca125231dd29 (Fixes 1528c661c24b)",
        "a queue leaves the list of those that decay while its contribution to the group's load \
         still stands",
        &["I-LEAF", "I-PELT"],
    ),
    shows(
        C08,
        "C08-child-on-list",
        "3b4035ddbfc8 (Fixes fdaba61ef8a2)",
        "the head of the leaf list is taken for a child, so that the first queue never leaves",
        &["I-LEAF"],
    ),
    shows(
        C09,
        "C09-buddy-elsewhere",
        "5d808c78d972 (Fixes d95f41220065): sched: Fix race between yield_to() and \
         try_to_wake_up()",
        "a buddy that moves to another CPU stays the buddy of the queue that it left",
        &["I-BUD", "WARN"],
    ),
    shows(
        C10,
        "C10-move-without-resched",
        "e34881c84c25 (Fixes 29f59db3a74b)",
        "a waiting task that is moved to another group asks nobody to make room, not even an idle \
         CPU",
        &["I-WC", "I-RESCHED", "I-KEY", "I-BUD"],
    ),
    shows(
        C10B,
        "C10b-unthrottle-without-resched",
        "e34881c84c25 (Fixes 29f59db3a74b)",
        "an idle CPU on which parked tasks come back is not asked to schedule",
        &["I-WC"],
    ),
    shows(
        C11,
        "C11-shares-width",
        "ea1dc6fc6242: sched/fair: Fix calc_cfs_shares() fixed point arithmetics width confusion",
        "the weight of a group's queue, scaled, is compared with averages that are not",
        &["I-WGT"],
    ),
    shows(
        C12,
        "C12-shares-lag",
        "calc_group_shares(): the weight counts for a group that has just woken",
        "the share of a group is made from its average load alone, which follows too slowly",
        &["I-WGT"],
    ),
    shows(
        S01,
        "S01-no-parity",
        "63304558ba5d: sched/eevdf: Curb wakeup-preemption",
        "what was picked is not protected: each wakeup with an earlier deadline takes the CPU",
        &["I-PROT", "I-RESCHED"],
    ),
    shows(
        S03,
        "S03-idle-any-level",
        "faa42d29419d (Fixes 304000390f88)",
        "a task of an idle group passes for a SCHED_IDLE task of the same level",
        &["I-RESCHED", "I-CLK"],
    ),
    shows(
        S03B,
        "S03b-idle-keeps-cpu",
        "faa42d29419d (Fixes 304000390f88)",
        "a SCHED_IDLE task is treated as any other by a wakeup",
        &["I-RESCHED", "I-BUD"],
    ),
    shows(
        S04,
        "S04-no-quantum",
        "74eec63661d4",
        "without RUN_TO_PARITY there is no least time for which a task runs",
        &["I-PROT"],
    ),
    shows(
        S06,
        "S06-not-shortened",
        "3a0baa8e6c57",
        "somebody with a short slice joins and the protection of what runs stays as long as it \
         was",
        &["I-PROT", "I-LAT", "I-KEY"],
    ),
    shows(
        S07,
        "S07-no-resched-at-protection-end",
        "0b9ca2dcabc3",
        "only the end of a request asks for a reschedule, not the end of the protection",
        &["I-RESCHED", "I-LAT"],
    ),
    shows(
        S08,
        "S08-spurious-short",
        "9de74a9850b9",
        "a wakee with a shorter slice ends the protection though it is neither next nor eligible",
        &["I-RESCHED", "I-PROT", "I-BUD"],
    ),
    shows(
        S10,
        "S10-forced-preemption",
        "15257cc2f905 (Fixes e837456fdca8)",
        "a wakee that is not the next to run makes the running task give way all the same",
        &["I-RESCHED", "I-BUD", "I-PROT"],
    ),
    shows(
        S12,
        "S12-short-no-buddy",
        "8f97b627ff1c",
        "a wakee with a shorter slice ends the protection and is not made the buddy",
        &["I-BUD", "I-RESCHED"],
    ),
    shows(
        S12B,
        "S12b-longer-buddy",
        "8f97b627ff1c",
        "the last wakee with a shorter slice becomes the buddy, though the present one asks for \
         less",
        &["I-BUD", "I-RESCHED"],
    ),
    shows(
        S13,
        "S13-lag-ignored",
        "49f87b4d0be8",
        "the shortened protection counts from where the running task is, whatever time it is owed",
        &["I-PROT"],
    ),
    shows(
        S14,
        "S14-short-eligible-waits",
        "ba0d3bf5f97b",
        "a wakee with a shorter slice that is eligible and not first leaves the protection as it \
         is",
        &["I-RESCHED", "I-LAT", "I-PROT"],
    ),
    shows(
        S15,
        "S15-resched-pending",
        "7ad0ec7890b3 and 7cd2ef17de5e",
        "with a reschedule pending a wakeup is not looked at, and shortens no protection",
        &["I-PROT", "I-RESCHED", "I-KEY"],
    ),
    shows(
        S16,
        "S16-beyond-deadline",
        "0d1e7a2bab35, its review",
        "the protection ends where the running task stops being eligible, even beyond its \
         deadline",
        &["I-PROT"],
    ),
    shows(
        S16B,
        "S16b-protection-grows",
        "0d1e7a2bab35, its review",
        "somebody who joins makes the protection longer than it was",
        &["I-PROT"],
    ),
    shows(
        S22,
        "S22-next-class",
        "5324953c06bd (Fixes 704069649b5b)",
        "an idle CPU that looked for work in vain takes a wakeup for one of the class that runs \
         already",
        &["I-WC", "I-RESCHED"],
    ),
    shows(
        S24,
        "S24-batch-no-update",
        "7cd2ef17de5e",
        "a batch task that wakes shortens no protection",
        &["I-PROT", "I-KEY"],
    ),
    shows(
        S24B,
        "S24b-idle-no-update",
        "7cd2ef17de5e",
        "a SCHED_IDLE task that wakes shortens no protection",
        &["I-PROT", "I-KEY"],
    ),
    shows(
        S26,
        "S26-min-slice-without-curr",
        "cfs_rq_min_slice() and cfs_rq_max_slice(): curr counts while it is queued",
        "the shortest slice of those that compete leaves the running task out",
        &["I-PROT"],
    ),
    shows(
        S26B,
        "S26b-slice-of-one-who-left",
        "cfs_rq_min_slice() and cfs_rq_max_slice(): curr counts while it is queued",
        "a task that has just blocked still counts for the longest slice",
        &["I-LAG"],
    ),
    shows(
        B02,
        "B02-new-child-thaws",
        "0e4a169d1a2b (Fixes e1fad12dcb66)",
        "the load clock of a new group goes though all above it stand",
        &["I-BW", "I-LEAF"],
    ),
    shows(
        B02B,
        "B02b-new-child-unthrottled",
        "0e4a169d1a2b (Fixes e1fad12dcb66)",
        "a new group below a throttled one does not count as throttled",
        &["I-BW", "I-CLK"],
    ),
    shows(
        B04,
        "B04-load-stops",
        "fe8d238e646e: sched/fair: Propagate load for throttled cfs_rq",
        "the load of a task that comes or goes is not passed on above a throttled level",
        &["I-PELT"],
    ),
    shows(
        B04B,
        "B04b-share-stops",
        "fcd394866e3d: sched/fair: update_cfs_group() for throttled cfs_rqs",
        "the share of a throttled group does not follow what is still queued in it",
        &["I-WGT"],
    ),
    shows(
        B04C,
        "B04c-no-preemption",
        "253b3f587241: sched/fair: Do not special case tasks in throttled hierarchy",
        "a task that wakes below a throttled level preempts nobody",
        &["I-RESCHED", "I-PROT"],
    ),
    shows(
        B04D,
        "B04d-nothing-to-start-with",
        "956dfda6a708: sched/fair: Prevent cfs_rq from being unthrottled with zero \
         runtime_remaining",
        "a new quota leaves its queues with nothing, and not throttled",
        &["I-BW"],
    ),
    shows(
        B06,
        "B06-own-level-only",
        "review of 85570f10a4c6",
        "a task that is picked is to park itself only if its own queue is throttled, not if one \
         above is",
        &["I-BW"],
    ),
    shows(
        B06B,
        "B06b-running-not-told",
        "review of 85570f10a4c6",
        "when the runtime ends the running task is not told to park itself",
        &["I-BW"],
    ),
    shows(
        B06C,
        "B06c-parks-for-own-level",
        "review of 85570f10a4c6",
        "a task about to park itself looks at its own queue only and goes on",
        &["I-BW", "I-CLK"],
    ),
    shows(
        B07,
        "B07-give-before-charge",
        "28ad5427682b",
        "runtime is given out before the running task is charged",
        &["I-BW", "I-CLK"],
    ),
    shows(
        B07B,
        "B07b-unthrottle-before-charge",
        "28ad5427682b",
        "a queue is unthrottled before the running task is charged",
        &["I-BW", "I-CLK", "I-PELT"],
    ),
    shows(
        B08,
        "B08-zero-is-enough",
        "f666241e6bd5: sched/fair: Unify cfs_rq throttling via account_cfs_rq_runtime()",
        "a queue with exactly nothing left is not throttled",
        &["I-BW"],
    ),
    Exhibit {
        bug: B08B,
        id: "B08b-not-at-enqueue",
        origin: "f666241e6bd5: sched/fair: Unify cfs_rq throttling via account_cfs_rq_runtime()",
        what: "a queue that wakes up is not asked whether it has runtime",
        expected: &["I-BW"],
        equivalent: "With a quota a queue is throttled whenever its runtime is not above 0 (I-BW), as \
             each charge sees to it and a new quota begins with 1 ns; where it is throttled or \
             has runtime the question changes nothing.",
    },
    shows(
        B11,
        "B11-lost-in-limbo",
        "'Combine detach into dequeue' series, 2026-08, a hang in a guest",
        "when a queue is throttled again while its parked tasks come back, the rest of them is \
         lost",
        &["I-BW"],
    ),
    shows(
        B11B,
        "B11b-parked-for-good",
        "'Combine detach into dequeue' series, 2026-08, a hang in a guest",
        "a parked task that is moved to a group that is not throttled is parked there, and nobody \
         fetches it",
        &["I-BW"],
    ),
    shows(
        B14,
        "B14-lone-spinner",
        "88c56cfeaec4",
        "with one task on a CPU the tick looks at nothing, and its quota is not enforced",
        &["I-CLK", "I-BW"],
    ),
    shows(
        B15,
        "B15-slice-for-throttled",
        "5e2d2cc2588b: sched/fair: Don't assign runtime for throttled cfs_rq",
        "a throttled queue that is charged takes from the pool and stays throttled",
        &["I-BW"],
    ),
    shows(
        B16,
        "B16-slack-pushed",
        "66567fcbaeca: sched/fair: Don't push cfs_bandwith slack timers forward",
        "each queue that gives runtime back puts the slack timer off",
        &["I-BW"],
    ),
    shows(
        B20,
        "B20-given-twice",
        "26a8b12747c9: sched/fair: Fix race between runtime distribution and assignment",
        "what is given out is taken from the pool at the end only, and has been given to others \
         meanwhile",
        &["I-BW"],
    ),
    shows(
        B22,
        "B22-parked-and-delayed",
        "c662e2b1e8cf: sched: Fix sched_delayed vs cfs_bandwidth",
        "the dequeue of a task that parks itself is delayed",
        &["WARN", "I-STATE"],
    ),
    shows(
        H01,
        "H01-enqueue-uncharged",
        "68e37487810a: sched: Fix flat hierarchy",
        "a task is placed before the running one is charged",
        &["I-CLK", "I-PLACE", "I-DLY"],
    ),
    shows(
        H01B,
        "H01b-dequeue-uncharged",
        "68e37487810a: sched: Fix flat hierarchy",
        "the lag of a task that leaves is taken before the running one is charged",
        &["I-CLK", "I-LAG", "I-KEY"],
    ),
    shows(
        H06,
        "H06-curr-on-group-queue",
        "v3 of the flat series, 2026-09-02: NULL pick at boot on 192 CPUs",
        "the running task of a nested group is recorded on its own queue and not on the root's",
        &["I-HIER", "I-SUM"],
    ),
    shows(
        H08,
        "H08-stale-at-tick",
        "v1 to v3 of 85570f10a4c6: stale flat weights",
        "the tick leaves the flat weight of the running task as it is",
        &["I-WGT"],
    ),
    shows(
        H08B,
        "H08b-stale-at-pick",
        "v1 to v3 of 85570f10a4c6: stale flat weights",
        "the pick leaves the flat weight as it is",
        &["I-WGT"],
    ),
    shows(
        H08C,
        "H08c-stale-at-enqueue",
        "v1 to v3 of 85570f10a4c6: stale flat weights",
        "a task comes back with the flat weight it had before",
        &["I-WGT", "I-PROT"],
    ),
    Exhibit {
        bug: H10,
        id: "H10-curr-at-enqueue",
        origin: "819224e506bc",
        what: "a running task that is enqueued is placed twice",
        expected: &["I-PLACE"],
        equivalent: "The branch is never taken: sched_change_begin() puts the running task, which clears \
             cfs_rq->curr, before sched_change_end() enqueues it, and who is woken was put when \
             it blocked.",
    },
    shows(
        H11,
        "H11-no-floor",
        "85570f10a4c6: __calc_prop_weight()",
        "the flat weight of a deeply nested task has no least value and becomes 0",
        &["I-WGT", "panic"],
    ),
    shows(
        H11B,
        "H11b-scaled-floor",
        "85570f10a4c6: MIN_SHARES",
        "the least share of a group on a CPU is scaled like a weight, a thousand times too much",
        &["I-WGT"],
    ),
    shows(
        H12,
        "H12-concur-unbounded",
        "fb1050ac8e40: cgroup_mode",
        "in the mode concur the shares count for each task even where there are fewer CPUs",
        &["I-WGT"],
    ),
    shows(
        H12B,
        "H12b-max-unbounded",
        "fb1050ac8e40: cgroup_mode",
        "in the mode max the share of a group is not limited to that of nice -20",
        &["I-WGT"],
    ),
    shows(
        H14,
        "H14-weight-before-account",
        "85570f10a4c6: the order in enqueue_hierarchy()",
        "the flat weight is made from the level's load without the one that joins",
        &["I-WGT", "I-RW"],
    ),
    shows(
        H14B,
        "H14b-empty-parent",
        "85570f10a4c6: the order in enqueue_hierarchy()",
        "the flat weight of the first task of a group is divided by the load of an empty queue",
        &["panic"],
    ),
    shows(
        H15,
        "H15-nice-no-reweight",
        "9059393e4ec1: sched/fair: Use reweight_entity() for set_user_nice()",
        "a task whose nice value changes keeps the average load of its old weight",
        &["I-PELT"],
    ),
    shows(
        K01,
        "K01-lost-idle-time",
        "17e3e88ed0b6 (Fixes 67692435c411), 98c88dc8a1ac",
        "a CPU that becomes idle leaves no word of when its clocks stopped",
        &["I-PELT", "I-CLK"],
    ),
    shows(
        K02,
        "K02-two-clocks",
        "84d265281d6c (Fixes 97450eb90965)",
        "one signal is updated by two clocks: the decay of a queue forgets for how long it was \
         throttled",
        &["I-PELT"],
    ),
    shows(
        K03,
        "K03-skip-leaks",
        "5ebde09d9170 (Fixes ebb83d84e49b)",
        "the request to skip one look at the clock outlives the schedule that it was for",
        &["I-CLK"],
    ),
    shows(
        K03B,
        "K03b-double-update",
        "e40cea333e60 (Fixes d4c64207b88a)",
        "a change of parameters looks at the clock twice",
        &["WARN", "I-CLK"],
    ),
    shows(
        K03C,
        "K03c-loop-skip-leaks",
        "5ebde09d9170 (Fixes ebb83d84e49b)",
        "after a CPU has unthrottled its queues it looks at the clock no more",
        &["I-CLK", "WARN"],
    ),
    shows(
        K04,
        "K04-decayed-by-weight",
        "c0490bc9bb62 (Fixes 0a00a354644e)",
        "a queue counts as decayed as soon as nothing is queued on it",
        &["I-LEAF", "I-PELT"],
    ),
    shows(
        K04B,
        "K04b-parent-first",
        "fdaba61ef8a2",
        "a queue leaves the leaf list before its children",
        &["I-LEAF"],
    ),
    shows(
        K05,
        "K05-estimate-stays",
        "f2d650618bc7, c2e164ac33f7",
        "the estimate of a task's utilisation never falls",
        &["I-PELT", "I-UEST"],
    ),
    shows(
        K05B,
        "K05b-estimate-frozen",
        "f2d650618bc7, c2e164ac33f7",
        "the mark that nothing was measured since is never taken off the estimate",
        &["I-PELT", "I-UEST"],
    ),
    shows(
        K10,
        "K10-delayed-only",
        "discussions of the fair server, 2024-12 to 2025",
        "with none but delayed tasks queued the pick leaves them where they are and idles",
        &["I-WC"],
    ),
    shows(
        K10B,
        "K10b-gives-up",
        "discussions of the fair server, 2024-12 to 2025",
        "a pick that falls on a delayed task gives up once that is gone",
        &["I-WC"],
    ),
    shows(
        K11,
        "K11-clock-goes-on",
        "64eaf50731ac: sched/fair: Fix cfs_rq_clock_pelt() for throttled cfs_rq",
        "the load clock of a throttled queue does not stand",
        &["I-PELT", "I-CLK"],
    ),
    shows(
        K12,
        "K12-average-without-sum",
        "40f5aa4c5eae: sched/pelt: Fix attach_entity_load_avg() corner case",
        "a heavy task with little load is attached with an average and no sum",
        &["I-PELT"],
    ),
    shows(
        K13,
        "K13-sum-left-behind",
        "1c35b07e6d39: sched/fair: Ensure _sum and _avg values stay consistent",
        "what a task takes off the load leaves less of the sum than the average needs",
        &["I-PELT"],
    ),
    shows(
        K14,
        "K14-mark-in-the-sum",
        "68d7a190682a: sched/fair: Fix util_est UTIL_AVG_UNCHANGED handling",
        "the mark that nothing was measured is added to the estimate of the CPU",
        &["I-PELT"],
    ),
    shows(
        K15,
        "K15-new-task-attached",
        "ea86cb4b7621: sched/cgroup: Fix cpu_cgroup_fork() handling",
        "a new task that is moved to another group is attached there before it has run",
        &["I-PELT"],
    ),
    shows(
        K16,
        "K16-out-of-window",
        "95d685935a2e: sched/pelt: Sync util/runnable_sum with PELT window when propagating",
        "the sum that is passed up from a group is that of a whole period",
        &["I-PELT"],
    ),
    shows(
        K17,
        "K17-load-left-behind",
        "e1f078f50478: sched/fair: Combine detach into dequeue when migrating task",
        "a waiting task that moves to another CPU leaves its load behind",
        &["I-PELT"],
    ),
    shows(
        K18,
        "K18-sleep-not-decayed",
        "e2f3e35f1f5a: sched/fair: Decay task PELT values during wakeup migration",
        "a sleeper that leaves an idle CPU does not decay for the time for which the clock stood",
        &["I-PELT"],
    ),
    shows(
        K19,
        "K19-removed-not-passed",
        "0e2d2aaaae52: sched/fair: Rewrite PELT migration propagation",
        "what sleepers took away is not passed up to the group's entity",
        &["I-PELT"],
    ),
    shows(
        K20,
        "K20-more-than-a-cpu",
        "a4c3c04974d6: sched/fair: Update and fix the runnable propagation rule",
        "what joins a group is passed up beyond what one CPU can carry",
        &["I-PELT"],
    ),
];

/// Those that are not put back.
pub const GROUPS_ABSENT: &[Absent] = &[
    Absent { id: "C06-offline-contribution", why: "A CPU does not go offline here." },
    Absent {
        id: "C07-next-of-freed-group",
        why: "The walk that caches h_load_next belongs to load balancing, which is not modelled, \
             and groups are not removed.",
    },
    Absent {
        id: "S17-old-deadline-protects",
        why: "v7.3 itself has it: check::known knows it as old-deadline-protects.",
    },
    Absent {
        id: "S19-yield-by-proxy",
        why: "There is no proxy execution: what runs is what is charged.",
    },
    Absent {
        id: "S20-hrtick-duration",
        why: "The operations have HRTICK off and nothing that fires its timer; only a replayed \
             trace has.",
    },
    Absent {
        id: "S21-hrtick-to-deadline",
        why: "v7.3 itself has it: check::known knows it as hrtick-aims-at-deadline.",
    },
    Absent {
        id: "S23-inter-class-preempt",
        why: "There is no class above fair whose task could wake; from idle the reschedule is \
             asked for in any case.",
    },
    Absent {
        id: "S25-hrtick-lazy",
        why: "The operations have HRTICK off and nothing that fires its timer; only a replayed \
             trace has.",
    },
    Absent { id: "B03-hotplug-bypass", why: "A CPU does not go offline here." },
    Absent {
        id: "B09-burst-order",
        why: "The operations set no burst: each quota that is written sets it to 0.",
    },
    Absent {
        id: "B10-burst-unit",
        why: "The operations set no burst: each quota that is written sets it to 0.",
    },
    Absent {
        id: "H03-tick-after-parking",
        why: "A tick between a task's parking and the schedule after it is not legal in the \
             operation language.",
    },
    Absent {
        id: "H04-idle-donor",
        why: "There is no proxy execution: an idle CPU's donor never comes to the protection.",
    },
    Absent {
        id: "H13-task-h-load",
        why: "task_h_load() belongs to load balancing, which is not modelled.",
    },
    Absent {
        id: "K09-dl-server",
        why: "There is no deadline server: nothing but the task and its groups is charged.",
    },
];
