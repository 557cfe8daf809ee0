// SPDX-License-Identifier: GPL-2.0-only
//! What a pick, a charge and a whole hand-off cost, at several numbers of tasks.
//!
//! Run it on one CPU with nothing else: `taskset -c 1 cargo bench -p benches`. Only ratios within one run count.

// Every bench function is made by criterion's macros, which document nothing.
#![allow(missing_docs)]

use benches::{Memory, SIZES, World, steps_ns};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use sched_core::fair::pick::pick_eevdf;
use sched_core::fair::update_curr::update_curr_fair;
use sched_core::trace::Site;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How many states a sample is taken from, one after the other.
const STATES: u64 = 32;

/// The time that `body` takes. The one place that looks at a clock.
#[allow(clippy::disallowed_methods, reason = "a bench measures cost")]
fn time(body: impl FnOnce()) -> Duration {
    let start = Instant::now();
    body();
    start.elapsed()
}

/// Splits `iterations` over up to [`STATES`] rounds of about the same length.
fn rounds(iterations: u64) -> impl Iterator<Item = u64> {
    let rounds = iterations.clamp(1, STATES);
    (0..rounds).map(move |round| iterations * (round + 1) / rounds - iterations * round / rounds)
}

/// pick_eevdf() without slice protection, which would return curr at once. Pure, so each state is asked many times.
fn pick(c: &mut Criterion) {
    let mut group = c.benchmark_group("pick_eevdf");
    for tasks in SIZES {
        let memory = Memory::default();
        let mut world = World::new(&memory, tasks);
        group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
            b.iter_custom(|iterations| {
                rounds(iterations)
                    .map(|round| {
                        world.spread(3);
                        let cfs_rq = &world.rq().cfs;
                        time(|| {
                            for _ in 0..round {
                                black_box(pick_eevdf(black_box(cfs_rq), false));
                            }
                        })
                    })
                    .sum()
            });
        });
    }
    group.finish();
}

/// update_curr_fair() with 100 ns to charge each time, without the lock and the clock.
fn update_curr(c: &mut Criterion) {
    let mut group = c.benchmark_group("update_curr");
    for tasks in SIZES {
        let memory = Memory::default();
        let mut world = World::new(&memory, tasks);
        group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
            b.iter_custom(|iterations| {
                rounds(iterations)
                    .map(|round| {
                        world.spread(3);
                        charge(&world, round)
                    })
                    .sum()
            });
        });
    }
    group.finish();
}

/// Charges the running task `times` times; puts the clock back, so that no history of charges builds up.
fn charge(world: &World<'_>, times: u64) -> Duration {
    let rq = world.rq();
    let se = &rq.curr().se;
    let clock = rq.clock_task.get();
    let before = (se.exec_start.get(), se.sum_exec_runtime.get(), se.vruntime.get());
    let deadline = se.deadline.get();
    let elapsed = time(|| {
        for _ in 0..times {
            rq.clock_task.set(rq.clock_task.get() + 100);
            update_curr_fair(rq, Site::UpdateCurrFair);
        }
    });
    rq.clock_task.set(clock);
    se.exec_start.set(before.0);
    se.sum_exec_runtime.set(before.1);
    se.vruntime.set(before.2);
    se.deadline.set(deadline);
    elapsed
}

/// The whole step: clock, locks, wakeup with its enqueue and preemption check, block, pick, switch.
fn handoff(c: &mut Criterion) {
    let mut group = c.benchmark_group("handoff");
    for tasks in SIZES {
        let memory = Memory::default();
        let mut world = World::new(&memory, tasks);
        let before = steps_ns(1, 1 << 10, 7_500, 9_000);
        let after = steps_ns(2, 1 << 10, 4_000, 5_500);
        group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
            b.iter_custom(|iterations| {
                let mut steps = before.iter().zip(&after).cycle();
                time(|| {
                    for _ in 0..iterations {
                        if let Some((&before_ns, &after_ns)) = steps.next() {
                            world.hand_off(before_ns, after_ns);
                        }
                    }
                })
            });
        });
    }
    group.finish();
}

criterion_group!(fast_paths, pick, update_curr, handoff);
criterion_main!(fast_paths);
