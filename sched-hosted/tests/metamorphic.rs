// SPDX-License-Identifier: GPL-2.0-only
//! Two runs that differ in something that must not matter, or only in a known way. Each property states its law; the
//! bounds are those of the roundings on the way, and the exceptions are said.

#[path = "state_machine/steps.rs"]
#[allow(dead_code, reason = "shared with the state machine, which uses all of it")]
mod steps;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sched_core::fair::avg_vruntime::avg_vruntime;
use sched_core::trace::Counters;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Object, TaskState, Value};
use sched_hosted::ops::digest::State;
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::{Header, Op, Policy, TaskName};

/// The budget: so many cases, always the same ones.
fn budget(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_global_rejects: 10 * cases,
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::default()
    }
}

/// Hands a machine to `f` after what is legal of `ops`.
fn after<R>(header: &Header, ops: &[Op], f: impl FnOnce(&mut Driver<'_, Counters>) -> R) -> R {
    let arena = Arena::new();
    let (names, options) = (steps::names(), Options::default());
    let mut driver = Driver::new(&arena, header, &names, &options, Counters::default())
        .expect("the header is good");
    apply_all(&mut driver, ops);
    f(&mut driver)
}

/// What is legal of `ops`; returns how many were.
fn apply_all(driver: &mut Driver<'_, Counters>, ops: &[Op]) -> usize {
    ops.iter().filter(|op| driver.apply(op).is_ok()).count()
}

type Field = (Object, &'static str, Value);

fn fields(driver: &Driver<'_, Counters>) -> Vec<Field> {
    State::of(driver).fields().collect()
}

/// A field of a task.
fn task_field(driver: &Driver<'_, Counters>, name: TaskName, field: &str) -> Option<u64> {
    let found = State::of(driver).fields().find(|f| f.0 == Object::Task(name) && f.1 == field);
    match found {
        Some((_, _, Value::U64(number))) => Some(number),
        Some((_, _, Value::I64(number))) => Some(number as u64),
        _ => None,
    }
}

/// A task that is `wanted`, if there is one.
fn some_task(
    driver: &Driver<'_, Counters>,
    wanted: impl Fn(&sched_hosted::ops::class::TaskInfo) -> bool,
) -> Option<TaskName> {
    driver.tasks().into_iter().find(|&name| driver.task(name).is_some_and(|info| wanted(&info)))
}

/// What a no-op must not change, whatever the placement rounds: everything that counts or weighs.
fn counts(driver: &Driver<'_, Counters>) -> Vec<Field> {
    const COUNTS: [&str; 10] = [
        "nr_running",
        "nr_queued",
        "h_nr_queued",
        "h_nr_runnable",
        "h_nr_idle",
        "load",
        "sum_weight",
        "on_rq",
        "slice",
        "sum_exec_runtime",
    ];
    fields(driver).into_iter().filter(|field| COUNTS.contains(&field.1)).collect()
}

/// Lets every CPU's clock and charge catch up with the `at` clock.
fn catch_up(driver: &mut Driver<'_, Counters>) {
    for cpu in 0..driver.nr_cpus() {
        let _ = driver.apply(&Op::UpdateCurr { cpu });
    }
}

/// There is no such task: another case is needed.
fn nobody() -> Result<(), TestCaseError> {
    Err(TestCaseError::reject("nobody is in that state"))
}

fn rename(names: &[u32], value: Value) -> Value {
    let name = |task: TaskName| TaskName(names[task.0 as usize]);
    match value {
        Value::Task(task) => Value::Task(task.map(name)),
        Value::Current(task) => Value::Current(task.map(name)),
        other => other,
    }
}

fn rename_object(names: &[u32], object: Object) -> Object {
    match object {
        Object::Task(task) => Object::Task(TaskName(names[task.0 as usize])),
        other => other,
    }
}

#[rustfmt::skip]
fn rename_op(names: &[u32], op: &Op) -> Op {
    let of = |task: TaskName| TaskName(names[task.0 as usize]);
    let mut op = *op;
    match &mut op {
        Op::Task { task, .. } | Op::New { task } | Op::Wake { task, .. } | Op::YieldTo { task, .. } | Op::Nice { task, .. }
        | Op::Param { task, .. } | Op::Move { task, .. } | Op::Migrate { task, .. } | Op::FinishDelayed { task } => {
            *task = of(*task);
        }
        Op::At { .. } | Op::Group { .. } | Op::Schedule { .. } | Op::Block { .. } | Op::Exit { .. } | Op::Tick { .. }
        | Op::Yield { .. } | Op::Shares { .. } | Op::GroupIdle { .. } | Op::Quota { .. } | Op::Timers
        | Op::UserReturn { .. } | Op::UpdateCurr { .. } | Op::UpdateBlocked { .. } => {}
    }
    op
}

/// The fields that are points in the time of the clock; all others are virtual times, spans, sums and counts.
const CLOCKS: [&str; 5] = ["clock", "clock_task", "clock_pelt", "exec_start", "last_update_time"];

/// A unit of load tracking is 1024 ns, a period 1024 of them: a shift by whole periods moves no boundary.
const PERIOD_NS: u64 = 1 << 20;

/// The plain parameters of a new task that takes part in the wakeup laws.
fn plain(task: TaskName) -> Op {
    steps::task(task)
}

proptest! {
    #![proptest_config(budget(96))]

    /// Names mean nothing: with the tasks renamed every state is the same up to the names.
    #[test]
    fn renaming_tasks_renames_the_state(
        header in steps::header(1..=3),
        ops in steps::all(160),
        names in Just((0..steps::names().nr_tasks() as u32).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let renamed: Vec<Op> = ops.iter().map(|op| rename_op(&names, op)).collect();
        let here: Vec<Field> = after(&header, &ops, |driver| fields(driver))
            .into_iter()
            .map(|(object, name, value)| (rename_object(&names, object), name, rename(&names, value)))
            .collect();
        let there = after(&header, &renamed, |driver| fields(driver));
        prop_assert_eq!(here, there);
    }

    /// Only differences of time count: with every `at` later by whole load tracking periods, the points in time are
    /// later by as much (or 0 where they were never set), and all else is the same. Not asked where there are quotas,
    /// whose timers stand at multiples of their periods.
    #[test]
    fn shifting_all_clocks_shifts_the_points_in_time(
        header in steps::header(1..=3),
        ops in steps::all(160),
        periods in 1u64..4_000_000,
    ) {
        let shift = periods * PERIOD_NS;
        let start = Op::At { ns: sched_hosted::ops::START_NS + shift };
        let unlimited = |op: &&Op| !matches!(op, Op::Quota { .. } | Op::Timers);
        let ops: Vec<Op> = ops.iter().filter(unlimited).copied().collect();
        let later: Vec<Op> = std::iter::once(start)
            .chain(ops.iter().map(|op| match *op {
                Op::At { ns } => Op::At { ns: ns + shift },
                op => op,
            }))
            .collect();
        let here = after(&header, &ops, |driver| fields(driver));
        let there = after(&header, &later, |driver| fields(driver));
        prop_assert_eq!(here.len(), there.len());
        for (here, there) in here.iter().zip(&there) {
            let shifted = match *here {
                (object, name, Value::U64(ns)) if CLOCKS.contains(&name) && ns != 0 => {
                    (object, name, Value::U64(ns + shift))
                }
                other => other,
            };
            prop_assert_eq!(&shifted, there);
        }
    }

    /// A knob that is set to what it is changes nothing at all: nice, shares, group-idle.
    #[test]
    fn knobs_set_to_what_they_are_change_nothing(
        header in steps::header(1..=3),
        ops in steps::all(120),
    ) {
        let nice_of = |task: TaskName| ops.iter().rev().find_map(|op| match *op {
            Op::Nice { task: t, nice } | Op::Param { task: t, nice, .. } | Op::Task { task: t, nice, .. }
                if t == task => Some(nice),
            _ => None,
        });
        after(&header, &ops, |driver| {
            for name in driver.tasks() {
                let before = (fields(driver), driver.fingerprint());
                // What of the operations was refused says another nice value: then this is no no-op.
                let p = driver.task_struct(name).expect("it is live");
                let present = p.static_prio.get() - 120;
                if nice_of(name) != Some(present) {
                    continue;
                }
                driver.apply(&Op::Nice { task: name, nice: present }).expect("it is legal");
                prop_assert!(before == (fields(driver), driver.fingerprint()), "nice {present}");
            }
            let groups: Vec<_> = driver.task_groups().skip(1).collect();
            for (group, tg) in groups {
                let before = (fields(driver), driver.fingerprint());
                let idle = tg.idle.get() != 0;
                let shares = tg.shares.load(sched_core::sync::Ordering::Relaxed) >> 10;
                driver.apply(&Op::GroupIdle { group, idle }).expect("it is legal");
                driver.apply(&Op::Shares { group, shares }).expect("it is legal");
                prop_assert!(before == (fields(driver), driver.fingerprint()), "{group:?}");
            }
            Ok(())
        })?;
    }

    /// sched_setattr() with what is set already takes a waiting task off the queue and puts it back. Nothing that
    /// counts or weighs changes; the request stays as long as it was, and the place differs by roundings. Exceptions: a
    /// lag beyond the limit of entity_lag() is cut (so the task may come nearer to V, never go further away), who runs
    /// loses its protection, a delayed task may be cut to lag 0, and among equal deadlines the task is the last now.
    #[test]
    fn setparam_to_what_is_set_keeps_the_place(
        header in steps::header(1..=1),
        ops in steps::flat(120),
    ) {
        let header = Header { features: Vec::new(), ..header };
        after(&header, &ops, |driver| {
            catch_up(driver);
            let waits = |t: &sched_hosted::ops::class::TaskInfo| t.state == TaskState::Runnable && !t.running;
            let Some(name) = some_task(driver, waits) else { return nobody() };
            let delayed = some_task(driver, |t| t.state == TaskState::Delayed).is_some();
            let p = driver.task_struct(name).expect("it is live");
            let policy = match p.policy.get() {
                sched_core::sched::Policy::SCHED_BATCH => Policy::Batch,
                sched_core::sched::Policy::SCHED_IDLE => Policy::Idle,
                _ => Policy::Normal,
            };
            let slice_ns = if p.se.custom_slice.get() { p.se.slice.get() } else { 0 };
            let nice = p.static_prio.get() - 120;
            let cfs_rq = &driver.machine().cpu_rq(0).cfs;
            let lag = || avg_vruntime(cfs_rq).wrapping_sub(p.se.vruntime.get()) as i64;
            let request = || p.se.deadline.get().wrapping_sub(p.se.vruntime.get());
            let (lag0, request0, counts0) = (lag(), request(), counts(driver));
            driver.apply(&Op::Param { task: name, policy, nice, slice_ns }).expect("it is legal");
            prop_assert_eq!(&counts0, &counts(driver));
            prop_assert_eq!(request0, request());
            // The wakeup check after it may finish a delayed dequeue, which moves V.
            if !delayed {
                let lag1 = lag();
                prop_assert!(lag1.abs() <= lag0.abs() + 2, "from {lag0} to {lag1}");
                let sign = lag0.signum() * lag1.signum() >= 0 || lag1.abs() <= 2;
                prop_assert!(sign, "from {lag0} to {lag1}");
            }
            Ok(())
        })?;
    }

    /// A change of nice and back again: the weight is the same to the bit, and a sleeper's lag is by less than a unit
    /// per weight unit of the other nice value off, since lag times weight is kept and each rescale rounds towards 0.
    #[test]
    fn nice_and_back_keeps_a_sleepers_lag(
        header in steps::header(1..=1),
        ops in steps::flat(120),
        nice in -20i32..=19,
    ) {
        after(&header, &ops, |driver| {
            let Some(name) = some_task(driver, |t| t.state == TaskState::Blocked) else { return nobody() };
            let p = driver.task_struct(name).expect("it is live");
            let present = p.static_prio.get() - 120;
            let (lag0, load0) = (p.se.vlag.get(), p.se.load.weight.get());
            driver.apply(&Op::Nice { task: name, nice }).expect("it is legal");
            let other = p.se.load.weight.get();
            driver.apply(&Op::Nice { task: name, nice: present }).expect("it is legal");
            let (lag1, load1) = (p.se.vlag.get(), p.se.load.weight.get());
            prop_assert_eq!(load0, load1);
            let slack = (other / load0 + 2) as i64;
            prop_assert!((lag0 - lag1).abs() <= slack, "from {lag0} to {lag1}, slack {slack}");
            Ok(())
        })?;
    }

    /// A run that is charged in pieces: the runtime is the same to the ns; the virtual runtime is at most one unit a
    /// piece less, since each charge rounds down; nobody else's place changes.
    #[test]
    fn splitting_a_run_into_charges_loses_roundings_only(
        header in steps::header(1..=1),
        ops in steps::flat(120),
        pieces in prop::collection::vec(1u64..700_000, 1..12),
    ) {
        let whole = after(&header, &ops, |driver| {
            catch_up(driver);
            let total: u64 = pieces.iter().sum();
            apply_all(driver, &[Op::At { ns: driver.now() + total }, Op::UpdateCurr { cpu: 0 }]);
            (driver.current(0), fields(driver))
        });
        let split = after(&header, &ops, |driver| {
            catch_up(driver);
            for ns in &pieces {
                apply_all(driver, &[Op::At { ns: driver.now() + ns }, Op::UpdateCurr { cpu: 0 }]);
            }
            (driver.current(0), fields(driver))
        });
        prop_assert_eq!(whole.0, split.0);
        for (whole_field, split_field) in whole.1.iter().zip(&split.1) {
            let (Object::Task(name), field, Value::U64(a)) = *whole_field else { continue };
            let Value::U64(b) = split_field.2 else { unreachable!("the same fields") };
            match field {
                "sum_exec_runtime" | "load" | "h_load" => prop_assert_eq!(whole_field, split_field),
                "vruntime" if Some(name) == whole.0 => {
                    let lost = a.wrapping_sub(b);
                    prop_assert!(lost <= pieces.len() as u64, "{lost} lost in {} charges", pieces.len());
                }
                "vruntime" => prop_assert_eq!(a, b),
                _ => {}
            }
        }
    }

    /// New tasks have no lag: whatever the order in which they come within an instant, V stays where it is and each
    /// is placed there, up to a rounding each; and everything that counts is the same in the end.
    #[test]
    fn the_order_of_new_tasks_within_an_instant_does_not_matter(
        header in steps::header(1..=1),
        ops in steps::flat(120),
        order in Just((0..4u32).collect::<Vec<_>>()).prop_shuffle(),
        nices in prop::collection::vec(-20i32..=19, 4),
    ) {
        let header = Header { features: Vec::new(), ..header };
        let come = |order: &[u32]| after(&header, &ops, |driver| {
            catch_up(driver);
            // A wakeup's preemption check may finish delayed dequeues, which moves V: none are left.
            for name in driver.tasks() {
                let _ = driver.apply(&Op::FinishDelayed { task: name });
            }
            let free: Vec<TaskName> = (0..steps::names().nr_tasks() as u32)
                .map(TaskName)
                .filter(|&name| driver.task(name).is_none())
                .take(4)
                .collect();
            for (&name, &nice) in free.iter().zip(&nices) {
                driver.apply(&plain(name)).expect("the name is free");
                driver.apply(&Op::Nice { task: name, nice }).expect("it is live");
            }
            let cfs_rq = &driver.machine().cpu_rq(0).cfs;
            let v0 = avg_vruntime(cfs_rq);
            for name in order.iter().filter_map(|&at| free.get(at as usize)) {
                driver.apply(&Op::New { task: *name }).expect("it is new");
            }
            let moved = avg_vruntime(cfs_rq).wrapping_sub(v0) as i64;
            let places: Vec<u64> =
                free.iter().filter_map(|&name| task_field(driver, name, "vruntime")).collect();
            (moved, places, counts(driver))
        });
        let here = come(&[0, 1, 2, 3]);
        let there = come(&order);
        for (moved, ..) in [&here, &there] {
            prop_assert!(moved.abs() <= 4, "V moved by {moved}");
        }
        for (a, b) in here.1.iter().zip(&there.1) {
            prop_assert!((a.wrapping_sub(*b) as i64).abs() <= 4, "{:?} and {:?}", here.1, there.1);
        }
        prop_assert_eq!(here.2, there.2);
    }

    /// Sleepers bring their lag, and where V goes depends on the order; but in any order the lags of all that compete,
    /// each times its weight, add up to 0 (up to the rounding of V, less than one unit of the total weight), and what
    /// counts and weighs is the same.
    #[test]
    fn the_order_of_wakeups_within_an_instant_leaves_the_sums(
        header in steps::header(1..=1),
        ops in steps::flat(120),
        order in Just((0..steps::names().nr_tasks() as u32).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let header = Header { features: Vec::new(), ..header };
        let wake = |order: &[u32]| after(&header, &ops, |driver| {
            catch_up(driver);
            for name in driver.tasks() {
                let _ = driver.apply(&Op::FinishDelayed { task: name });
            }
            for &at in order {
                let _ = driver.apply(&Op::Wake { task: TaskName(at), sync: false, cpu: None });
            }
            let cfs_rq = &driver.machine().cpu_rq(0).cfs;
            let v = avg_vruntime(cfs_rq);
            let queued = driver.task_structs().filter(|(_, p)| p.se.on_rq.get());
            let (sum, weight) = queued.fold((0i128, 0i128), |(sum, weight), (_, p)| {
                let w = i128::from(p.se.h_load.weight.get());
                (sum + w * i128::from(v.wrapping_sub(p.se.vruntime.get()) as i64), weight + w)
            });
            (sum, weight, counts(driver))
        });
        let here = wake(&(0..steps::names().nr_tasks() as u32).collect::<Vec<_>>());
        let there = wake(&order);
        for (sum, weight, _) in [&here, &there] {
            prop_assert!(-sum < *weight.max(&1) && *sum <= 0, "lags add up to {sum} of {weight}");
        }
        prop_assert_eq!(here.1, there.1);
        prop_assert_eq!(here.2, there.2);
    }
}
