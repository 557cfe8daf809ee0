// SPDX-License-Identifier: GPL-2.0-only
//! What an operation may change: nothing on the unpatched class breaks a law, whatever the operations are; each law can
//! fail, and says what and where; patches that leave every state consistent and are wrong all the same are found.

use sched_core::fair::avg_vruntime::update_zero_vruntime;
use sched_core::patches::Patches;
use sched_core::sched::{RqClockFlags, SchedClass, TaskStruct, clear_tsk_need_resched};
use sched_core::sync::Ordering;
use sched_core::trace::Counters;
use sched_hosted::check::laws::Laws;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth, Violation};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::generate::{Generator, Profile};
use sched_hosted::ops::text::parse_program;
use sched_hosted::ops::{CgroupMode, Header, Op, Policy, Resched, TaskName};
use std::cell::Cell;

/// Every switch that changes what the class does, by itself.
const FEATURES: [&str; 11] = [
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
];

/// Runs random operations under the laws. The first that breaks one: as how manieth, and what is wrong.
fn random(
    header: &Header,
    profile: Profile,
    patches: Patches,
    seed: u64,
    operations: u64,
) -> Option<(u64, Vec<Violation>)> {
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
        if !found.is_empty() {
            return Some((number, found));
        }
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
    if let Some((number, found)) = random(header, profile, Patches::empty(), seed, operations) {
        panic!("seed {seed}, {:?}, after {number} operations: {:#?}", header.features, found);
    }
}

#[test]
fn random_operations_break_no_law() {
    for (seed, tasks) in [(1, 1), (2, 2), (3, 3), (4, 8), (5, 24), (6, 60)] {
        must_hold(&Header::default(), Profile::flat(tasks), seed, 20_000);
        must_hold(&Header::default(), Profile::flat(tasks).swarm(seed), seed + 100, 20_000);
    }
}

#[test]
fn neither_with_any_feature() {
    for (at, feature) in FEATURES.iter().enumerate() {
        let seed = 7 + at as u64;
        let header = Header { features: vec![feature.to_string()], ..Header::default() };
        must_hold(&header, Profile::flat(10), seed, 12_000);
        must_hold(&header, Profile::flat(24).swarm(seed), seed + 70, 12_000);
        let header = Header { cpus: 2, ..header };
        let grouped = Profile::flat(16).with_groups(5).with_quota().with_migration();
        must_hold(&header, grouped.swarm(seed), seed + 140, 12_000);
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
        must_hold(&header, Profile::flat(24).with_migration(), 40 + seed as u64, 20_000);
    }
}

#[test]
fn nor_with_groups_quotas_and_any_cgroup_mode() {
    for (at, cgroup_mode) in CgroupMode::ALL.into_iter().enumerate() {
        for (cpus, tasks, groups) in [(1, 3, 3), (2, 24, 6), (8, 40, 20)] {
            let seed = 500 + 10 * at as u64 + u64::from(cpus);
            let header = Header { cpus, cgroup_mode, ..Header::default() };
            let grouped = Profile::flat(tasks).with_groups(groups).with_migration();
            must_hold(&header, grouped.clone(), seed, 6_000);
            must_hold(&header, grouped.with_quota().swarm(seed), seed + 500, 6_000);
        }
    }
}

#[test]
fn a_charge_that_is_left_out_is_found() {
    let patches = Patches::NO_CHARGE_BEFORE_REQUEUE;
    let (_, found) = random(&Header::default(), Profile::flat(24), patches, 5, 20_000)
        .expect("a delayed task is woken while curr has not paid");
    assert!(["I-DLY", "I-CLK", "I-LAG", "I-PLACE"].contains(&found[0].invariant), "{found:?}");
}

#[test]
fn one_that_was_not_needed_is_no_difference() {
    let patches = Patches::SKIP_DEQUEUE_CHARGE;
    assert_eq!(random(&Header::default(), Profile::flat(24), patches, 5, 20_000), None);
}

// ---- each can fail -------------------------------------------------------------------------------------------------

/// `a` runs, `b` (short) and `c` wait, `late` sleeps and is delayed, `off` sleeps; CPU 1 idles.
const STATE: &str = "fairlab-ops 1
cpus 2
task off slice 500000
new off
schedule 0
at 1200000
block 0
task late
new late
schedule 0
task b slice 400000 nice -2
new b
task c slice 5000000 nice 3
new c
task a slice 8000000
new a
at 9000000
tick 0
block 0
at 9100000
schedule 0
";

/// `high` in /a and `deep` in /a/b share CPU 0, where one of them has run for a while.
const GROUPED: &str = "fairlab-ops 1
group /a shares 500
group /a/b shares 300
task high group /a
new high
schedule 0
task deep group /a/b nice 5
new deep
at 3000000
";

struct Fixture<'d, 'a> {
    driver: &'d Driver<'a, Counters>,
}

impl<'a> Fixture<'_, 'a> {
    fn name(&self, name: &str) -> TaskName {
        self.driver.names().clone().task(name)
    }

    fn task(&self, name: &str) -> &'a TaskStruct<'a, Counters> {
        self.driver.task_struct(self.name(name)).expect("a task of the fixture")
    }

    fn rq(&self) -> &'a sched_core::sched::Rq<'a, Counters> {
        self.driver.machine().cpu_rq(0)
    }

    fn curr(&self) -> &'a TaskStruct<'a, Counters> {
        self.rq().curr()
    }

    /// Of those that were awake the one that sleeps now.
    fn asleep(&self) -> &'a TaskStruct<'a, Counters> {
        let tasks = ["a", "b", "c"].map(|name| self.task(name));
        let asleep = |p: &&TaskStruct<'a, Counters>| p.__state.load(Ordering::Relaxed) != 0;
        tasks.into_iter().find(asleep).expect("somebody fell asleep")
    }

    /// One that waits in the tree, awake.
    fn waits(&self) -> &'a TaskStruct<'a, Counters> {
        let curr = self.curr();
        let waiting = ["b", "c", "a"].map(|name| self.task(name));
        let waits = |p: &&TaskStruct<'a, Counters>| {
            p.se.on_rq.get() && !std::ptr::eq(*p, curr) && !p.se.sched_delayed.get()
        };
        waiting.into_iter().find(waits).expect("somebody waits")
    }
}

fn add(cell: &Cell<u64>, what: u64) {
    cell.set(cell.get().wrapping_add(what));
}

/// What the laws find if `op` is carried out in the state that `text` leads to, at `at_ns`, and `break_it` then does to
/// the result what a bug could have done.
fn broken(
    text: &str,
    at_ns: u64,
    op: &dyn Fn(&Fixture<'_, '_>) -> Op,
    break_it: &dyn Fn(&Fixture<'_, '_>),
) -> Vec<Violation> {
    let program = parse_program("STATE", text.as_bytes()).unwrap();
    let arena = Arena::new();
    let hooks = Counters::default();
    let options = Options::default();
    let mut driver = Driver::new(&arena, &program.header, &program.names, &options, hooks).unwrap();
    let mut laws = Laws::default();
    let before = program.statements.iter().map(|statement| statement.op);
    for op in before.chain([Op::At { ns: at_ns }]) {
        laws.before(&driver, &op);
        driver.apply(&op).unwrap();
        laws.after(&driver, &op);
        assert_eq!(laws.found(), [], "{op:?}");
    }
    let op = op(&Fixture { driver: &driver });
    laws.before(&driver, &op);
    driver.apply(&op).unwrap();
    break_it(&Fixture { driver: &driver });
    laws.after(&driver, &op);
    laws.found().to_vec()
}

/// The invariant and field that say so, the text's state, the time, the operation, and the damage.
type Trip = (
    &'static str,
    &'static str,
    &'static str,
    u64,
    fn(&Fixture<'_, '_>) -> Op,
    fn(&Fixture<'_, '_>),
);

const SOON: u64 = 9_200_000;
const LATER: u64 = 60_000_000;

fn wake_off(f: &Fixture<'_, '_>) -> Op {
    Op::Wake { task: f.name("off"), sync: false, cpu: None }
}

fn wake_late(f: &Fixture<'_, '_>) -> Op {
    Op::Wake { task: f.name("late"), sync: false, cpu: None }
}

fn tick(_: &Fixture<'_, '_>) -> Op {
    Op::Tick { cpu: 0 }
}

fn schedule(_: &Fixture<'_, '_>) -> Op {
    Op::Schedule { cpu: 0 }
}

fn block(_: &Fixture<'_, '_>) -> Op {
    Op::Block { cpu: 0 }
}

fn renice(f: &Fixture<'_, '_>) -> Op {
    Op::Nice { task: TaskName(f.waits().pid.get()), nice: 7 }
}

fn migrate(f: &Fixture<'_, '_>) -> Op {
    Op::Migrate { task: TaskName(f.waits().pid.get()), cpu: 1 }
}

/// The task that [`migrate`] moved.
fn moved<'a>(f: &Fixture<'_, 'a>) -> &'a TaskStruct<'a, Counters> {
    let tasks = ["a", "b", "c"].map(|name| f.task(name));
    tasks.into_iter().find(|p| p.cpu.load(Ordering::Relaxed) == 1).expect("one was moved")
}

const TRIPS: &[Trip] = &[
    // Charges.
    ("I-CLK", "vruntime", STATE, SOON, tick, |f| add(&f.curr().se.vruntime, 1)),
    ("I-CLK", "sum_exec_runtime", STATE, SOON, tick, |f| add(&f.curr().se.sum_exec_runtime, 1)),
    ("I-CLK", "exec_start", STATE, SOON, tick, |f| {
        f.curr().se.exec_start.set(f.curr().se.exec_start.get() - 1);
    }),
    ("I-CLK", "clock", STATE, SOON, tick, |f| add(&f.rq().clock, 1)),
    ("I-CLK", "clock_update_flags", STATE, SOON, tick, |f| {
        f.rq().clock_update_flags.set(RqClockFlags::RQCF_ACT_SKIP);
    }),
    ("I-CLK", "prev_sum_exec_runtime", STATE, LATER, schedule, |f| {
        add(&f.curr().se.prev_sum_exec_runtime, 1);
    }),
    // Requests.
    ("I-REQ", "deadline", STATE, LATER, tick, |f| add(&f.curr().se.deadline, 1)),
    (
        "I-YIELD",
        "vruntime",
        STATE,
        SOON,
        |_| Op::Yield { cpu: 0 },
        |f| {
            add(&f.curr().se.vruntime, 1);
        },
    ),
    // Lag and delayed dequeues.
    ("I-LAG", "vlag", STATE, SOON, migrate, |f| moved(f).se.vlag.set(5)),
    ("I-RW", "vlag", STATE, SOON, renice, |f| f.waits().se.vlag.set(5)),
    ("I-DLY", "vlag", STATE, SOON, wake_late, |f| {
        let se = &f.task("late").se;
        se.vlag.set(se.vlag.get() - 1);
    }),
    ("I-DLY", "sched_delayed", STATE, SOON, wake_late, |f| {
        f.task("late").se.sched_delayed.set(true);
    }),
    ("I-DLY", "sched_delayed", STATE, LATER, block, |f| {
        let delayed = &f.asleep().se.sched_delayed;
        delayed.set(!delayed.get());
    }),
    // Placement and weight.
    ("I-PLACE", "vruntime", STATE, SOON, wake_off, |f| add(&f.task("off").se.vruntime, 1)),
    ("I-PLACE", "deadline", STATE, SOON, wake_off, |f| add(&f.task("off").se.deadline, 1)),
    ("I-PLACE", "deadline", STATE, SOON, renice, |f| add(&f.waits().se.deadline, 1)),
    ("I-WGT", "h_load", STATE, SOON, renice, |f| add(&f.waits().se.h_load.weight, 1)),
    ("I-WGT", "load", STATE, SOON, renice, |f| add(&f.waits().se.load.weight, 1)),
    ("I-RW", "vruntime", GROUPED, 4_000_000, tick, |f| add(&f.curr().se.vruntime, 1)),
    ("I-RW", "deadline", GROUPED, 4_000_000, tick, |f| add(&f.curr().se.deadline, 1)),
    ("I-RW", "vlag", GROUPED, 4_000_000, tick, |f| {
        let se = &f.curr().se;
        se.vlag.set(se.vlag.get() + 1);
    }),
    ("I-WGT", "h_load", GROUPED, 4_000_000, tick, |f| add(&f.curr().se.h_load.weight, 1)),
    // Protection, picks, wakeups.
    ("I-PROT", "vprot", STATE, LATER, schedule, |f| add(&f.curr().se.vprot, 1)),
    ("I-PICK", "curr", STATE, LATER, schedule, |f| {
        let se = &f.waits().se;
        f.rq().cfs.curr.set(Some(se));
    }),
    ("I-RESCHED", "resched", STATE, LATER, tick, |f| clear_tsk_need_resched(f.curr())),
    ("I-RESCHED", "resched", STATE, LATER, schedule, |f| {
        f.curr().thread_info_flags.store(1, Ordering::Relaxed);
    }),
    ("I-RESCHED", "next_class", STATE, LATER, schedule, |f| {
        f.rq().next_class.set(SchedClass::Idle);
    }),
    ("I-BUD", "next", STATE, SOON, tick, |f| f.rq().cfs.next.set(Some(&f.waits().se))),
    ("I-KEY", "zero_vruntime", STATE, SOON, wake_off, |f| update_zero_vruntime(&f.rq().cfs, 1)),
    ("I-CNT", "h_nr_queued", STATE, SOON, wake_off, |f| f.rq().cfs.h_nr_queued.set(2)),
    ("I-CNT", "h_nr_runnable", STATE, SOON, wake_late, |f| f.rq().cfs.h_nr_runnable.set(2)),
    ("I-CNT", "nr_running", STATE, SOON, wake_off, |f| f.rq().nr_running.set(9)),
    ("I-CNT", "nr_switches", STATE, LATER, schedule, |f| add(&f.rq().nr_switches, 1)),
    // Parameters and state.
    (
        "I-PARAM",
        "slice",
        STATE,
        SOON,
        |f| Op::Param { task: f.name("off"), policy: Policy::Normal, nice: 0, slice_ns: 900_000 },
        |f| add(&f.task("off").se.slice, 1),
    ),
    (
        "I-PARAM",
        "static_prio",
        STATE,
        SOON,
        |f| Op::Nice { task: f.name("off"), nice: 3 },
        |f| f.task("off").static_prio.set(120),
    ),
    ("I-SLICE", "slice", STATE, SOON, wake_late, |f| add(&f.task("late").se.slice, 1)),
    ("I-STATE", "se.on_rq", STATE, SOON, wake_off, |f| f.task("off").se.on_rq.set(false)),
    ("I-STATE", "nr_migrations", STATE, SOON, migrate, |f| add(&moved(f).se.nr_migrations, 1)),
    ("I-CLK", "exec_start", STATE, SOON, migrate, |f| moved(f).se.exec_start.set(1)),
    ("I-STATE", "cpu", STATE, SOON, wake_off, |f| f.task("off").cpu.store(1, Ordering::Relaxed)),
    // Who is not concerned.
    ("I-ONLY", "vruntime", STATE, SOON, tick, |f| add(&f.waits().se.vruntime, 1)),
    ("I-ONLY", "deadline", STATE, SOON, tick, |f| add(&f.waits().se.deadline, 1)),
    ("I-ONLY", "vlag", STATE, SOON, tick, |f| f.waits().se.vlag.set(77)),
];

#[test]
fn each_law_can_fail_and_says_where() {
    let undamaged: fn(&Fixture<'_, '_>) = |_| {};
    for &(invariant, field, text, at_ns, op, break_it) in TRIPS {
        assert_eq!(broken(text, at_ns, &op, &undamaged), [], "{invariant} {field}");
        let found = broken(text, at_ns, &op, &break_it);
        assert!(
            found
                .iter()
                .any(|violation| violation.invariant == invariant && violation.field == field),
            "{invariant} {field} is not among {found:#?}"
        );
        for violation in found {
            assert!(!violation.what.contains('\n') && !violation.what.is_empty(), "{violation:?}");
        }
    }
}

/// Sleepers are looked at in turn: within eight operations.
#[test]
fn a_sleeper_that_changes_is_met_before_long() {
    let damage: [fn(&Fixture<'_, '_>); 3] = [
        |f| f.task("off").se.vlag.set(77),
        |f| f.task("off").static_prio.set(121),
        |f| f.waits().policy.set(sched_core::sched::Policy::SCHED_BATCH),
    ];
    for break_it in damage {
        let program = parse_program("STATE", STATE.as_bytes()).unwrap();
        let arena = Arena::new();
        let options = Options { laws: true, ..Options::default() };
        let (header, names) = (&program.header, &program.names);
        let mut driver = Driver::new(&arena, header, names, &options, Counters::default()).unwrap();
        program.statements.iter().for_each(|statement| driver.apply(&statement.op).unwrap());
        break_it(&Fixture { driver: &driver });
        let found = (0..8).any(|_| {
            driver.apply(&Op::UpdateBlocked { cpu: 1 }).unwrap();
            !driver.violations(Depth::Cheap).is_empty()
        });
        assert!(found);
    }
}

#[test]
fn a_lag_beyond_its_bound_is_told_with_the_bound() {
    let found = broken(STATE, LATER, &renice, &|f| f.waits().se.vlag.set(1 << 50));
    let what = &found[0].what;
    assert!(what.starts_with("lag of "), "{what}");
    assert!(what.contains("longest slice") && what.contains("tick"), "{what}");
}
