// SPDX-License-Identifier: GPL-2.0-only
//! The laws of load tracking, shares and quotas: random operations keep them, on any tree of groups, with any quota and
//! feature; and each value that they look after is missed when it is changed, by its name and with what it should be.

use sched_core::patches::Patches;
use sched_core::sched::{
    CfsRq, Rq, RqClockFlags, SchedEntity, TaskGroup, TaskStruct, tg_cfs_rq, tg_se,
};
use sched_core::sync::Ordering;
use sched_core::trace::Counters;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth, Violation};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::generate::{Generator, Profile};
use sched_hosted::ops::text::parse_program;
use sched_hosted::ops::{CgroupMode, Header, Op, Resched};

/// Switches that change what load tracking, or the queue whose decisions it follows, does.
const FEATURES: [&str; 8] = [
    "NO_UTIL_EST",
    "NO_ATTACH_AGE_LOAD",
    "NO_PREEMPT_SHORT",
    "NO_DELAY_DEQUEUE",
    "NO_DELAY_ZERO",
    "NO_WAKEUP_PREEMPTION",
    "NEXT_BUDDY",
    "NO_PLACE_LAG",
];

/// Runs random operations and asks the laws after each.
fn must_hold(header: &Header, profile: Profile, patches: Patches, seed: u64, operations: u64) {
    let arena = Arena::new();
    let options = Options { patches, laws: true, ..Options::default() };
    let mut driver =
        Driver::new(&arena, header, &profile.names(), &options, Counters::default()).unwrap();
    let mut generator = Generator::new(seed, profile);
    for number in 0..operations {
        let op = generator.next(&driver);
        if jumps_while_somebody_waits(&driver, &op) {
            continue;
        }
        driver.run(&op);
        let found = driver.violations(Depth::Cheap);
        let features = &header.features;
        assert!(found.is_empty(), "seed {seed}, {features:?}, op {number} {op:?}: {found:#?}");
    }
}

/// Hours between a wakeup and the schedule that it asks for overflow v7.3's sums.
fn jumps_while_somebody_waits(driver: &Driver<'_, Counters>, op: &Op) -> bool {
    let Op::At { ns } = *op else { return false };
    let busy = |cpu| driver.current(cpu).is_some() || driver.resched(cpu) != Resched::None;
    ns - driver.now() > 10_000_000_000 && (0..driver.nr_cpus()).any(busy)
}

#[test]
fn random_operations_keep_them() {
    for (seed, tasks) in [(1, 1), (2, 3), (3, 24), (4, 60)] {
        let flat = Profile::flat(tasks);
        must_hold(&Header::default(), flat.clone(), Patches::empty(), seed, 12_000);
        must_hold(&Header::default(), flat.swarm(seed), Patches::empty(), seed + 100, 12_000);
    }
}

#[test]
fn with_groups_quotas_and_any_cgroup_mode() {
    for (at, cgroup_mode) in CgroupMode::ALL.into_iter().enumerate() {
        for (cpus, tasks, groups) in [(1, 3, 3), (2, 24, 6), (4, 40, 12)] {
            let seed = 500 + 10 * at as u64 + u64::from(cpus);
            let header = Header { cpus, cgroup_mode, ..Header::default() };
            let tree = Profile::flat(tasks).with_groups(groups).with_group_tree(seed);
            let tree = tree.with_migration();
            must_hold(&header, tree.clone(), Patches::empty(), seed, 6_000);
            let quota = tree.with_quota();
            must_hold(&header, quota.clone(), Patches::empty(), seed + 200, 6_000);
            must_hold(&header, quota.swarm(seed), Patches::empty(), seed + 500, 6_000);
        }
    }
}

#[test]
fn with_any_feature_and_a_patch_of_the_queue() {
    let profile = Profile::flat(16).with_groups(5).with_quota().with_migration();
    for (at, feature) in FEATURES.iter().enumerate() {
        let header = Header { cpus: 2, features: vec![feature.to_string()], ..Header::default() };
        must_hold(&header, profile.clone(), Patches::empty(), 900 + at as u64, 6_000);
    }
    let header = Header { cpus: 2, ..Header::default() };
    must_hold(&header, profile, Patches::SKIP_DEQUEUE_CHARGE, 950, 6_000);
}

// ---- each can fail -------------------------------------------------------------------------------------------------

/// `parked` on CPU 0 in /q, whose quota is used up; `high` in /a and `deep` in /a/b are queued; `gone` sleeps.
const STATE: &str = "fairlab-ops 1
cpus 2
group /a
group /a/b shares 512
group /q
quota /q 100000 1000
task gone
new gone
schedule 0
at 2000000
block 0
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
schedule 0
at 20000000
tick 0
";

struct State<'d, 'a> {
    driver: &'d Driver<'a, Counters>,
}

impl<'a> State<'_, 'a> {
    fn task(&self, name: &str) -> &'a TaskStruct<'a, Counters> {
        let mut names = self.driver.names().clone();
        self.driver.task_struct(names.task(name)).expect("a task of the state")
    }

    fn tg(&self, path: &str) -> &'a TaskGroup<'a, Counters> {
        self.driver.group(path).expect("a group of the state")
    }

    fn cfs(&self, path: &str) -> &'a CfsRq<'a, Counters> {
        tg_cfs_rq(self.tg(path), 0)
    }

    fn gse(&self, path: &str) -> &'a SchedEntity<'a, Counters> {
        tg_se(self.tg(path), 0).expect("a group below the root")
    }

    fn rq(&self) -> &'a Rq<'a, Counters> {
        self.driver.machine().cpu_rq(0)
    }
}

/// What the laws say after `fault` and one more operation, which has nothing to do with it.
fn after(fault: impl FnOnce(&State<'_, '_>)) -> Vec<Violation> {
    let program = parse_program("state", STATE.as_bytes()).unwrap();
    let arena = Arena::new();
    let options = Options { laws: true, ..Options::default() };
    let mut driver =
        Driver::new(&arena, &program.header, &program.names, &options, Counters::default())
            .unwrap();
    for statement in &program.statements {
        driver.check(&statement.op).unwrap();
        driver.run(&statement.op);
        assert_eq!(driver.violations(Depth::Full), []);
    }
    fault(&State { driver: &driver });
    driver.run(&Op::UpdateCurr { cpu: 1 });
    driver.violations(Depth::Cheap)
}

/// The laws must name invariant and field, and their text must have `words`.
#[track_caller]
fn trips(invariant: &str, field: &str, words: &str, fault: impl FnOnce(&State<'_, '_>)) {
    let found = after(fault);
    let hit = found.iter().any(|violation| {
        violation.invariant == invariant
            && violation.field == field
            && violation.what.contains(words)
            && violation.what.contains("should be")
    });
    assert!(hit, "{invariant} {field} '{words}' is not among {found:#?}");
}

fn more(cell: &core::cell::Cell<u64>) {
    cell.set(cell.get() + 1);
}

#[test]
fn nothing_is_said_of_a_good_state() {
    assert_eq!(after(|_| ()), []);
}

#[test]
fn every_average_and_sum_counts() {
    trips("I-PELT", "load_avg", "load_avg is", |s| more(&s.task("high").se.avg.load_avg));
    trips("I-PELT", "util_avg", "util_avg is", |s| more(&s.gse("/a/b").avg.util_avg));
    trips("I-PELT", "runnable_avg", "runnable_avg is", |s| more(&s.cfs("/a").avg.runnable_avg));
    trips("I-PELT", "load_sum", "load_sum is", |s| more(&s.cfs("/").avg.load_sum));
    trips("I-PELT", "runnable_sum", "runnable_sum is", |s| more(&s.gse("/a").avg.runnable_sum));
    trips("I-PELT", "util_sum", "util_sum is", |s| s.task("gone").se.avg.util_sum.set(3));
    trips("I-PELT", "period_contrib", "period_contrib is", |s| {
        let contrib = &s.task("deep").se.avg.period_contrib;
        contrib.set(contrib.get() ^ 1);
    });
    trips("I-PELT", "last_update_time", "its queue's PELT clock", |s| {
        s.task("deep").se.avg.set_last_update_time(1024);
    });
    trips("I-UEST", "util_est", "made at a dequeue to sleep", |s| {
        s.task("gone").se.avg.util_est.set(5);
    });
}

#[test]
fn so_does_what_groups_pass_up_and_share() {
    trips("I-PELT", "removed.load_avg", "removed.load_avg is 7, and should be 0", |s| {
        s.cfs("/a").removed.load_avg.set(7);
    });
    trips("I-PELT", "tg_load_avg_contrib", "1/64", |s| more(&s.cfs("/a").tg_load_avg_contrib));
    trips("I-PELT", "tg.load_avg", "contributions", |s| {
        s.tg("/a").load_avg.fetch_add(1, Ordering::Relaxed);
    });
    trips("I-PELT", "", "last_update_tg_load_avg", |s| more(&s.cfs("/a").last_update_tg_load_avg));
    trips("I-PELT", "propagate", "the level above", |s| s.cfs("/a").propagate.set(1));
    trips("I-PELT", "prop_runnable_sum", "take over", |s| s.cfs("/a").prop_runnable_sum.set(-4));
    trips("I-PELT", "runnable_weight", "h_nr_runnable", |s| more(&s.gse("/a").runnable_weight));
    trips("I-WGT", "se.load", "the group's share", |s| more(&s.gse("/a/b").load.weight));
    trips("I-WGT", "h_load", "the product of the shares", |s| {
        more(&s.task("deep").se.h_load.weight)
    });
    trips("I-CNT", "h_nr_runnable", "not delayed", |s| s.cfs("/a").h_nr_runnable.set(9));
    trips("I-LEAF", "on_list", "on_list is", |s| s.cfs("/a/b").on_list.set(false));
}

#[test]
fn so_do_quotas_and_clocks() {
    trips("I-BW", "runtime_remaining", "less each charge", |s| {
        let left = &s.cfs("/q").runtime_remaining;
        left.set(left.get() - 1);
    });
    trips("I-BW", "", "the pool is 5,", |s| s.tg("/q").cfs_bandwidth.runtime.set(5));
    trips("I-BW", "", "the end of the period", |s| {
        more(&s.tg("/q").cfs_bandwidth.period_timer.expires);
    });
    trips("I-BW", "", "throttled_clock is", |s| more(&s.cfs("/q").throttled_clock));
    trips("I-BW", "", "it is to park itself", |s| {
        s.task("high").sched_throttle_work.store(true, Ordering::Relaxed);
    });
    trips("I-BW", "", "in this order they should be: parked", |s| {
        s.cfs("/q").throttled_limbo_list.list_del_init(s.task("parked"));
    });
    trips("I-CLK", "", "throttled_clock_pelt is", |s| more(&s.cfs("/q").throttled_clock_pelt));
    trips("I-CLK", "clock_pelt", "clock_pelt is", |s| more(&s.rq().clock_pelt));
    trips("I-CLK", "", "clock_idle is", |s| {
        s.rq().clock_idle.store(1, Ordering::Relaxed);
    });
    trips("I-CLK", "", "used up by the schedule", |s| {
        let flags = s.rq().clock_update_flags.get();
        s.rq().clock_update_flags.set(flags | RqClockFlags::RQCF_REQ_SKIP);
    });
    trips("I-CLK", "exec_start", "charged up to", |s| more(&s.task("gone").se.exec_start));
    trips("I-CLK", "", "charged with what runs below", |s| more(&s.gse("/q").exec_start));
}

#[test]
fn the_text_tells_what_the_value_is_made_from() {
    let program = parse_program("state", STATE.as_bytes()).unwrap();
    let arena = Arena::new();
    let options = Options { laws: true, ..Options::default() };
    let mut driver =
        Driver::new(&arena, &program.header, &program.names, &options, Counters::default())
            .unwrap();
    for statement in &program.statements {
        driver.run(&statement.op);
    }
    let curr = driver.current(0).and_then(|name| driver.task_struct(name)).unwrap();
    curr.se.avg.util_sum.set(curr.se.avg.util_sum.get() + (1 << 20));
    driver.run(&Op::At { ns: 24_096_000 });
    driver.run(&Op::Tick { cpu: 0 });
    let found = driver.violations(Depth::Cheap);
    let story = "4000 us (of 1024 ns) passed in which it was queued with 1 runnable, and ran";
    let told = |v: &Violation| v.field == "util_avg" && v.what.contains(story);
    assert!(found.iter().any(told), "{found:#?}");
}
