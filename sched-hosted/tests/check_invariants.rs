// SPDX-License-Identifier: GPL-2.0-only
//! The invariants hold on the unpatched class, whatever the operations are; each of them can fail, and says what and
//! where; and the patch that is wrong on purpose is found.

use sched_core::fair::avg_vruntime::update_zero_vruntime;
use sched_core::fair::timeline::__dequeue_entity;
use sched_core::patches::Patches;
use sched_core::sched::{
    CfsRq, Policy, Rq, SchedEntity, TASK_RUNNING, TaskGroup, TaskStruct, clear_tsk_need_resched,
    tg_cfs_rq, tg_se,
};
use sched_core::sync::Ordering;
use sched_core::trace::Counters;
use sched_hosted::check::known::KNOWN;
use sched_hosted::check::violations;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth, Violation};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::generate::{Generator, Profile};
use sched_hosted::ops::text::parse_program;
use sched_hosted::ops::{CgroupMode, Header, Op, Resched};

/// Every switch that changes what the class does, by itself.
const FEATURES: [&str; 14] = [
    "NEXT_BUDDY",
    "PARANOID_AVG",
    "NO_PLACE_LAG",
    "NO_PLACE_DEADLINE_INITIAL",
    "NO_PLACE_REL_DEADLINE",
    "NO_RUN_TO_PARITY",
    "NO_PREEMPT_SHORT",
    "NO_PICK_BUDDY",
    "NO_DELAY_DEQUEUE",
    "NO_DELAY_ZERO",
    "NO_WAKEUP_PREEMPTION",
    "LATENCY_WARN",
    "NO_UTIL_EST",
    "NO_ATTACH_AGE_LOAD",
];

/// Runs random operations and checks after each. The first state that violates something: after how many operations,
/// and what.
fn random(
    header: &Header,
    profile: Profile,
    patches: Patches,
    seed: u64,
    operations: u64,
    depth: Depth,
) -> Option<(u64, Vec<Violation>)> {
    let arena = Arena::new();
    let options = Options { patches, ..Options::default() };
    let mut driver =
        Driver::new(&arena, header, &profile.names(), &options, Counters::default()).unwrap();
    let mut generator = Generator::new(seed, profile);
    for number in 0..operations {
        let op = generator.next(&driver);
        if jumps_while_somebody_waits(&driver, &op) {
            continue;
        }
        driver.run(&op);
        let found = violations(&driver, depth);
        if !found.is_empty() {
            return Some((number, found));
        }
        let (warnings, first) = driver.hooks().warnings();
        assert_eq!(warnings, 0, "{first:?} after {number} operations of seed {seed}");
    }
    None
}

/// Hours between a wakeup and the schedule that it asks for are charged to who runs then, and overflow v7.3's sums.
fn jumps_while_somebody_waits(driver: &Driver<'_, Counters>, op: &Op) -> bool {
    let Op::At { ns } = *op else { return false };
    let busy = |cpu| driver.current(cpu).is_some() || driver.resched(cpu) != Resched::None;
    ns - driver.now() > 10_000_000_000 && (0..driver.nr_cpus()).any(busy)
}

fn must_hold(header: &Header, profile: Profile, seed: u64, operations: u64) {
    let found = random(header, profile, Patches::empty(), seed, operations, Depth::Full);
    if let Some((number, found)) = found {
        panic!("seed {seed}, {:?}, after {number} operations: {:#?}", header.features, found);
    }
}

#[test]
fn random_operations_violate_nothing() {
    for (seed, tasks) in [(1, 1), (2, 2), (3, 3), (4, 8), (5, 24), (6, 60)] {
        must_hold(&Header::default(), Profile::flat(tasks), seed, 12_000);
        must_hold(&Header::default(), Profile::flat(tasks).swarm(seed), seed + 100, 12_000);
    }
}

#[test]
fn neither_with_any_feature() {
    for (at, feature) in FEATURES.iter().enumerate() {
        let header = Header { features: vec![feature.to_string()], ..Header::default() };
        must_hold(&header, Profile::flat(10), 7 + at as u64, 12_000);
        must_hold(&header, Profile::flat(24).swarm(at as u64), 70 + at as u64, 6_000);
    }
}

#[test]
fn nor_on_several_cpus_or_with_other_ticks_and_slices() {
    for (seed, (cpus, hz, base_slice_ns)) in
        [(2, 1000, None), (4, 100, Some(3_000_000)), (1, 250, Some(100_000)), (3, 300, Some(1))]
            .into_iter()
            .enumerate()
    {
        let header = Header { cpus, hz, base_slice_ns, ..Header::default() };
        let profile = Profile::flat(24).with_migration();
        must_hold(&header, profile, 40 + seed as u64, 12_000);
    }
}

#[test]
fn nor_with_groups_quotas_and_any_cgroup_mode() {
    for (at, cgroup_mode) in CgroupMode::ALL.into_iter().enumerate() {
        for (cpus, tasks, groups) in [(1, 3, 3), (2, 24, 6), (8, 40, 20)] {
            let seed = 500 + 10 * at as u64 + u64::from(cpus);
            let header = Header { cpus, cgroup_mode, ..Header::default() };
            let grouped = Profile::flat(tasks).with_groups(groups).with_migration();
            must_hold(&header, grouped.clone(), seed, 3_000);
            must_hold(&header, grouped.with_quota().swarm(seed), seed + 500, 6_000);
        }
    }
}

#[test]
fn nor_with_any_feature_and_groups() {
    for (at, feature) in FEATURES.iter().enumerate() {
        let header = Header { cpus: 2, features: vec![feature.to_string()], ..Header::default() };
        let profile = Profile::flat(16).with_groups(5).with_quota().with_migration();
        must_hold(&header, profile, 900 + at as u64, 5_000);
    }
}

#[test]
fn the_stale_augmentation_is_found_with_node_and_field() {
    for depth in [Depth::Cheap, Depth::Full] {
        for seed in 1..=4 {
            let patches = Patches::STALE_AUGMENT_COPY;
            let found = random(&Header::default(), Profile::flat(24), patches, seed, 20_000, depth);
            let (_, found) = found.expect("a stale value is met within 20000 operations");
            let violation = &found[0];
            assert_eq!(violation.invariant, "I-AUG");
            assert!(["min_slice", "max_slice"].contains(&violation.field), "{violation:?}");
            let words: Vec<&str> = violation.what.split(' ').collect();
            assert!(
                matches!(words[..], [_, "of", node, "is", _, "its", "subtree", "has", _, _]
                    if node.starts_with('t')),
                "{}",
                violation.what
            );
        }
    }
}

#[test]
fn the_other_patches_violate_nothing() {
    for patch in [Patches::SKIP_DEQUEUE_CHARGE, Patches::NO_CHARGE_BEFORE_REQUEUE] {
        let found = random(&Header::default(), Profile::flat(24), patch, 5, 20_000, Depth::Full);
        assert_eq!(found, None);
    }
}

// ---- each can fail -------------------------------------------------------------------------------------------------

/// A state with one of each: curr `run`, `x`, `y` and `z` waiting, `late` delayed, `off` asleep for good; on CPU 1
/// `far` waits for the schedule that was asked for.
const STATE: &str = "fairlab-ops 1
cpus 2
task off
new off
schedule 0
at 1100000
block 0
task late
new late
schedule 0
task x nice 3
new x
task y slice 5000000
new y
task z slice 300000 nice -4
new z
task run policy batch
new run
at 9000000
tick 0
block 0
task far cpu 1
new far
";

/// A state with groups: `parked` on CPU 0 in /q, whose quota is used up; of `high` in /a, and `deep` and `low` in
/// /a/b, one runs.
const GROUPED: &str = "fairlab-ops 1
cpus 2
group /a
group /a/b shares 512
group /q
quota /q 100000 1000
task parked group /q
new parked
schedule 0
at 9000000
tick 0
user-return 0
schedule 0
task high group /a
new high
task deep group /a/b
new deep
task low group /a/b policy idle
new low
schedule 0
at 20000000
tick 0
";

/// The state of [`STATE`] or [`GROUPED`].
struct Fixture<'d, 'a> {
    driver: &'d Driver<'a, Counters>,
}

impl<'a> Fixture<'_, 'a> {
    fn rq(&self) -> &'a Rq<'a, Counters> {
        self.driver.machine().cpu_rq(0)
    }

    fn task(&self, name: &str) -> &'a TaskStruct<'a, Counters> {
        let mut names = self.driver.names().clone();
        self.driver.task_struct(names.task(name)).expect("a task of the fixture")
    }

    fn tg(&self, path: &str) -> &'a TaskGroup<'a, Counters> {
        self.driver.group(path).expect("a group of the fixture")
    }

    fn cfs(&self, path: &str) -> &'a CfsRq<'a, Counters> {
        tg_cfs_rq(self.tg(path), 0)
    }

    fn gse(&self, path: &str) -> &'a SchedEntity<'a, Counters> {
        tg_se(self.tg(path), 0).expect("a group below the root")
    }

    /// A task that waits in the tree, awake.
    fn waits(&self) -> &'a TaskStruct<'a, Counters> {
        self.waiting()[0]
    }

    fn waiting(&self) -> Vec<&'a TaskStruct<'a, Counters>> {
        let curr = self.rq().curr();
        ["x", "y", "z", "run"]
            .map(|name| self.task(name))
            .into_iter()
            .filter(|p| !std::ptr::eq(*p, curr))
            .collect()
    }
}

/// That [`STATE`] is what it says.
fn is_flat(fixture: &Fixture<'_, '_>) {
    assert!(fixture.task("late").se.sched_delayed.get(), "the fixture has a delayed task");
    assert!(!fixture.task("off").se.on_rq.get(), "the fixture has a sleeping task");
    assert_eq!(fixture.waiting().len(), 3, "the fixture has three waiting tasks");
}

/// That [`GROUPED`] is what it says.
fn is_grouped(fixture: &Fixture<'_, '_>) {
    assert!(fixture.task("parked").throttled.get(), "the fixture has a parked task");
    assert!(fixture.cfs("/q").throttled.get(), "the fixture has a throttled queue");
    assert!(fixture.cfs("/a").h_curr.get().is_some(), "something runs in /a");
    assert_eq!(fixture.cfs("/a").h_nr_queued.get(), 3, "three are queued in /a and below");
}

/// Makes the state that `text` leads to wrong with `break_it`; what the checks find then.
fn broken(
    (text, is_right): (&str, fn(&Fixture<'_, '_>)),
    break_it: &dyn Fn(&Fixture<'_, '_>),
) -> [Vec<Violation>; 2] {
    let program = parse_program("STATE", text.as_bytes()).unwrap();
    let arena = Arena::new();
    let options = Options::default();
    let hooks = Counters::default();
    let mut driver = Driver::new(&arena, &program.header, &program.names, &options, hooks).unwrap();
    for statement in &program.statements {
        driver.apply(&statement.op).unwrap();
    }
    let fixture = Fixture { driver: &driver };
    is_right(&fixture);
    assert_eq!(violations(&driver, Depth::Full), []);
    break_it(&fixture);
    [Depth::Cheap, Depth::Full].map(|depth| violations(&driver, depth))
}

/// A way to break a state: the invariant and field that say so, whether the cheap depth does, and how.
type Trip = (&'static str, &'static str, bool, fn(&Fixture<'_, '_>));

const TRIPS: &[Trip] = &[
    ("I-AUG", "min_vruntime", false, |f| {
        f.waiting().iter().for_each(|p| add(&p.se.min_vruntime, 1));
    }),
    ("I-AUG", "min_slice", false, |f| {
        f.waiting().iter().for_each(|p| add(&p.se.min_slice, 1));
    }),
    ("I-AUG", "max_slice", false, |f| {
        f.waiting().iter().for_each(|p| add(&p.se.max_slice, 1));
    }),
    ("I-AUG", "max_slice", true, |f| {
        f.rq().cfs.tasks_timeline.root().unwrap().max_slice.set(1);
    }),
    // Its deadline goes beyond all others, but not the node.
    ("I-AUG", "", true, |f| {
        let first = f.rq().cfs.tasks_timeline.first().unwrap();
        add(&first.deadline, 1 << 40);
    }),
    ("I-AUG", "se.on_rq", false, |f| __dequeue_entity(&f.rq().cfs, &f.waits().se)),
    ("I-SUM", "sum_weight", true, |f| add(&f.rq().cfs.sum_weight, 1)),
    ("I-SUM", "sum_weight", true, |f| add(&f.waits().se.h_load.weight, 2)),
    ("I-SUM", "sum_w_vruntime", true, |f| {
        f.rq().cfs.sum_w_vruntime.set(f.rq().cfs.sum_w_vruntime.get() + 1);
    }),
    ("I-SUM", "sum_w_vruntime", true, |f| add(&f.rq().cfs.zero_vruntime, 1)),
    ("I-SUM", "sum_shift", true, |f| f.rq().cfs.sum_shift.set(1)),
    ("I-WIDE", "zero_vruntime", true, |f| update_zero_vruntime(&f.rq().cfs, 1 << 45)),
    ("I-CNT", "nr_queued", true, |f| f.rq().cfs.nr_queued.set(9)),
    ("I-CNT", "h_nr_queued", true, |f| f.rq().cfs.h_nr_queued.set(4)),
    ("I-CNT", "h_nr_runnable", true, |f| f.rq().cfs.h_nr_runnable.set(5)),
    ("I-CNT", "h_nr_idle", true, |f| f.rq().cfs.h_nr_idle.set(u32::MAX)),
    ("I-CNT", "nr_running", true, |f| f.rq().nr_running.set(0)),
    ("I-CNT", "load", true, |f| add(&f.rq().cfs.load.weight, 1)),
    ("I-WGT", "load", true, |f| f.task("off").static_prio_up()),
    ("I-WGT", "h_load", true, |f| f.rq().curr().se.h_load.weight.set(2)),
    ("I-SLICE", "slice", true, |f| f.task("y").se.slice.set(99_999)),
    ("I-SLICE", "slice", true, |f| f.task("off").se.slice.set(u64::MAX)),
    ("I-LAG", "vlag", true, |f| f.task("off").se.vlag.set(-300_000_000)),
    ("I-DLY", "vlag", true, |f| f.task("late").se.vlag.set(1)),
    ("I-DLY", "sched_delayed", true, |f| f.rq().cfs.next.set(Some(&f.task("late").se))),
    ("I-DLY", "se.on_rq", true, |f| f.task("late").se.on_rq.set(false)),
    ("I-DLY", "sched_delayed", true, |f| f.rq().curr().se.sched_delayed.set(true)),
    ("I-STATE", "on_rq", true, |f| f.waits().on_rq.store(2, Ordering::Relaxed)),
    ("I-STATE", "", true, |f| f.task("late").__state.store(TASK_RUNNING, Ordering::Relaxed)),
    ("I-STATE", "", true, |f| f.task("off").is_blocked.set(false)),
    ("I-STATE", "", true, |f| f.waits().on_cpu.store(1, Ordering::Relaxed)),
    ("I-STATE", "rel_deadline", true, |f| f.waits().se.rel_deadline.set(true)),
    ("I-BUD", "next", true, |f| f.rq().cfs.next.set(Some(&f.task("off").se))),
    ("I-BUD", "next", true, |f| f.rq().cfs.next.set(Some(&f.rq().curr().se))),
    ("I-BUD", "next", true, |f| f.rq().cfs.next.set(Some(&f.task("far").se))),
    ("I-BUD", "next", true, |f| {
        f.waits().policy.set(Policy::SCHED_IDLE);
        f.rq().cfs.next.set(Some(&f.waits().se));
    }),
    ("I-HIER", "curr", true, |f| f.rq().cfs.curr.set(None)),
    ("I-HIER", "h_curr", true, |f| f.rq().cfs.h_curr.set(Some(&f.waits().se))),
    ("I-WC", "resched", true, |f| clear_tsk_need_resched(f.driver.machine().cpu_rq(1).curr())),
    ("I-CLK", "clock", true, |f| add(&f.rq().clock, 1 << 30)),
    ("I-CLK", "clock_task", true, |f| add(&f.rq().clock_task, 1)),
    ("I-CLK", "exec_start", true, |f| add(&f.rq().curr().se.exec_start, 1 << 30)),
    ("I-CLK", "sum_exec_runtime", true, |f| {
        f.rq().curr().se.sum_exec_runtime.set(0);
        f.rq().curr().se.prev_sum_exec_runtime.set(1);
    }),
    ("I-CLK", "clock_task", true, |f| add(&f.rq().curr().se.sum_exec_runtime, 1 << 40)),
    ("I-LIST", "", false, |f| f.rq().cfs_tasks.list_del_init(&f.waits().se)),
    ("I-LIST", "", false, |f| f.rq().cfs_tasks.list_add(&f.task("off").se)),
    ("I-LEAF", "on_list", false, |f| f.rq().cfs.on_list.set(false)),
    ("I-LEAF", "", false, |f| f.rq().tmp_alone_branch.set(Some(&f.rq().cfs))),
    ("I-PELT", "load_avg", false, |f| f.waits().se.avg.load_avg.set(1 << 30)),
    ("I-PELT", "util_avg", false, |f| f.waits().se.avg.util_avg.set(1025)),
    ("I-PELT", "runnable_avg", false, |f| f.rq().cfs.avg.runnable_sum.set(0)),
    ("I-PELT", "load_sum", false, |f| f.task("off").se.avg.load_sum.set(1 << 20)),
    ("I-PELT", "period_contrib", false, |f| f.waits().se.avg.period_contrib.set(1024)),
    ("I-PELT", "util_est", false, |f| f.rq().cfs.avg.util_est.set(4000)),
    ("I-PELT", "removed.nr", false, |f| f.rq().cfs.removed.util_avg.set(1)),
    // V far to the left: nobody seems to be owed service.
    ("I-PICK", "", false, |f| f.rq().cfs.sum_w_vruntime.set(-(1 << 60))),
];

const GROUP_TRIPS: &[Trip] = &[
    ("I-CNT", "nr_queued", true, |f| f.rq().cfs.nr_queued.set(3)),
    ("I-CNT", "nr_queued", true, |f| f.cfs("/a").nr_queued.set(3)),
    ("I-CNT", "h_nr_queued", true, |f| f.cfs("/a").h_nr_queued.set(2)),
    ("I-CNT", "h_nr_runnable", true, |f| f.cfs("/a/b").h_nr_runnable.set(3)),
    ("I-CNT", "h_nr_idle", true, |f| f.cfs("/a").h_nr_idle.set(0)),
    ("I-CNT", "h_nr_idle", true, |f| f.tg("/a/b").idle.set(1)),
    ("I-CNT", "idle", true, |f| f.cfs("/a/b").idle.set(1)),
    ("I-CNT", "load", true, |f| add(&f.cfs("/a").load.weight, 1)),
    ("I-CNT", "load", true, |f| add(&f.gse("/a").load.weight, 1)),
    ("I-HIER", "h_curr", true, |f| f.cfs("/a").h_curr.set(None)),
    ("I-HIER", "h_curr", true, |f| f.cfs("/").h_curr.set(Some(&f.rq().curr().se))),
    ("I-HIER", "h_curr", true, |f| f.cfs("/q").h_curr.set(Some(&f.task("parked").se))),
    ("I-HIER", "se.on_rq", true, |f| f.gse("/a").on_rq.set(false)),
    ("I-HIER", "se.on_rq", true, |f| f.gse("/q").on_rq.set(true)),
    ("I-HIER", "", true, |f| f.task("deep").se.cfs_rq.set(Some(f.cfs("/a")))),
    ("I-HIER", "", true, |f| f.task("deep").se.depth.set(1)),
    ("I-HIER", "", true, |f| f.gse("/a/b").parent.set(None)),
    ("I-HIER", "", true, |f| f.gse("/a/b").my_q.set(Some(f.cfs("/a")))),
    ("I-HIER", "", true, |f| f.cfs("/a").curr.set(Some(&f.rq().curr().se))),
    ("I-WGT", "se.load", true, |f| f.gse("/q").load.weight.set(1)),
    ("I-WGT", "se.load", true, |f| f.gse("/a").load.weight.set(1 << 40)),
    ("I-WGT", "h_load", true, |f| f.task("high").se.h_load.weight.set(1)),
    ("I-BW", "throttle_count", true, |f| f.cfs("/a/b").throttle_count.set(1)),
    ("I-BW", "throttled", true, |f| f.cfs("/q").runtime_remaining.set(1)),
    ("I-BW", "throttled", true, |f| f.cfs("/q").throttled.set(false)),
    ("I-BW", "throttled", true, |f| f.cfs("/q").runtime_enabled.set(false)),
    ("I-BW", "runtime_remaining", true, |f| {
        tg_cfs_rq(f.tg("/q"), 1).runtime_remaining.set(6_000_000);
    }),
    ("I-BW", "runtime", true, |f| f.tg("/q").cfs_bandwidth.runtime.set(1 << 40)),
    ("I-BW", "", true, |f| f.tg("/q").cfs_bandwidth.runtime_snap.set(1 << 40)),
    ("I-BW", "", true, |f| f.tg("/q").cfs_bandwidth.period_active.set(false)),
    ("I-BW", "", true, |f| f.tg("/q").cfs_bandwidth.slack_started.set(true)),
    ("I-BW", "", true, |f| f.cfs("/q").pelt_clock_throttled.set(false)),
    ("I-BW", "", true, |f| f.rq().cfsb_csd_list.list_add(f.cfs("/a"))),
    ("I-BW", "", false, |f| f.cfs("/q").throttled_limbo_list.list_del_init(f.task("parked"))),
    ("I-BW", "", false, |f| f.cfs("/a").throttled_limbo_list.list_add(f.task("high"))),
    ("I-BW", "throttled", false, |f| {
        f.tg("/q").cfs_bandwidth.throttled_cfs_rq.list_del_init(f.cfs("/q"));
    }),
    ("I-STATE", "se.on_rq", true, |f| f.task("parked").se.on_rq.set(true)),
    ("I-STATE", "on_rq", true, |f| f.task("parked").throttled.set(false)),
    ("I-LEAF", "on_list", false, |f| f.rq().leaf_cfs_rq_list.list_del_init(f.cfs("/a"))),
    ("I-LEAF", "", false, |f| {
        f.rq().leaf_cfs_rq_list.list_del_init(&f.rq().cfs);
        f.rq().leaf_cfs_rq_list.list_add(&f.rq().cfs);
    }),
    ("I-PELT", "load_avg", false, |f| f.gse("/a").avg.load_avg.set(1 << 40)),
    ("I-PELT", "util_avg", false, |f| f.cfs("/a").avg.util_sum.set(0)),
    ("I-PELT", "tg.load_avg", false, |f| f.tg("/a").load_avg.store(-1, Ordering::Relaxed)),
    ("I-PELT", "tg.runnable_avg", false, |f| add(&f.cfs("/a").tg_runnable_avg_contrib, 1)),
];

fn add(cell: &std::cell::Cell<u64>, delta: u64) {
    cell.set(cell.get().wrapping_add(delta));
}

/// A nice value that nobody gave the weight of.
trait StaticPrioUp {
    fn static_prio_up(&self);
}

impl StaticPrioUp for TaskStruct<'_, Counters> {
    fn static_prio_up(&self) {
        self.static_prio.set(self.static_prio.get() + 1);
    }
}

#[test]
fn each_invariant_can_fail() {
    let flat = TRIPS.iter().map(|trip| ((STATE, is_flat as fn(&Fixture<'_, '_>)), trip));
    let grouped = GROUP_TRIPS.iter().map(|trip| ((GROUPED, is_grouped as _), trip));
    for (at, (state, trip)) in flat.chain(grouped).enumerate() {
        let (invariant, field, cheap_too, break_it) = trip;
        let [cheap, full] = broken(state, break_it);
        let says = |found: &[Violation]| {
            found.iter().any(|found| found.invariant == *invariant && found.field == *field)
        };
        assert!(says(&full), "trip {at} of {invariant} {field:?} is not found: {full:#?}");
        assert!(!cheap_too || says(&cheap), "trip {at}, {invariant}, cheap: {cheap:#?}");
        for violation in cheap.iter().chain(&full) {
            assert!(!violation.what.is_empty() && !violation.what.contains('\n'), "{violation:?}");
        }
    }
}

#[test]
fn the_table_has_every_invariant() {
    let tripped: std::collections::BTreeSet<&str> =
        TRIPS.iter().chain(GROUP_TRIPS).map(|trip| trip.0).collect();
    let page = include_str!("../../Documentation/invariants.rst");
    let table = page.lines().filter_map(|line| line.strip_prefix("``I-")?.split("``").next());
    let documented: std::collections::BTreeSet<String> =
        table.map(|name| format!("I-{name}")).collect();
    for name in &tripped {
        assert!(documented.contains(*name), "{name} is not documented");
    }
    // The laws are tripped elsewhere.
    let laws = [include_str!("check_laws.rs"), include_str!("check_load.rs")].concat();
    for name in documented.iter().filter(|name| !tripped.contains(name.as_str())) {
        assert!(laws.contains(&format!("\"{name}\"")), "nothing trips {name}");
    }
    for known in KNOWN {
        assert!(page.contains(&format!("``{}``", known.id)), "{} is not documented", known.id);
    }
}

#[test]
fn checking_changes_nothing() {
    let arena = Arena::new();
    let profile = Profile::flat(12).with_groups(4).with_quota().with_migration();
    let mut driver = Driver::new(
        &arena,
        &Header { cpus: 2, ..Header::default() },
        &profile.names(),
        &Options::default(),
        Counters::default(),
    )
    .unwrap();
    let mut generator = Generator::new(9, profile);
    for _ in 0..3_000 {
        let op = generator.next(&driver);
        driver.run(&op);
        let before = driver.fingerprint();
        violations(&driver, Depth::Cheap);
        violations(&driver, Depth::Full);
        assert_eq!(driver.fingerprint(), before);
    }
}
