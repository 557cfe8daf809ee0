// SPDX-License-Identifier: GPL-2.0-only
//! The class here and the kernel's own fair.c on the same operations, in one process, one after the other.
//!
//! `LINUX_SRC=TREE taskset -c 1 cargo bench -p benches --bench c_and_rust`. Without a tree (or one that `fairlab oracle
//! build` was given before) there are no rows for C, and a line says why. A row is a whole program of random legal
//! operations on a machine made anew, which is not timed; what is shown is the time per operation.

// Every bench function is made by criterion's macros, which document nothing.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::generate::{Generator, Profile, generate_program};
use sched_hosted::ops::{Class, Header, Op, Program};
use sched_hosted::oracle::Kernel;
use sched_hosted::oracle::class::{OracleClass, raw};
use std::time::{Duration, Instant};

/// How many operations a program has.
const OPERATIONS: u64 = 20_000;
/// How many tasks come and go in it at most.
const SIZES: [u32; 4] = [2, 24, 100, 1000];

/// The time that `body` takes. The one place that looks at a clock.
#[allow(clippy::disallowed_methods, reason = "a bench measures cost")]
fn time(body: impl FnOnce()) -> Duration {
    let start = Instant::now();
    body();
    start.elapsed()
}

/// A program of random legal operations on the root group.
fn program(tasks: u32) -> Program {
    let profile = Profile::flat(tasks);
    let (header, names) = (Header::default(), profile.names());
    let arena = Arena::new();
    let mut driver = Driver::new(&arena, &header, &names, &Options::default(), ())
        .expect("the header has no features");
    generate_program(&mut driver, &header, &mut Generator::new(1, profile), OPERATIONS)
}

/// One run of `ops` by the class here.
fn rust(program: &Program, ops: &[Op]) -> Duration {
    let arena = Arena::new();
    let mut driver = Driver::new(&arena, &program.header, &program.names, &Options::default(), ())
        .expect("the header has no features");
    time(|| ops.iter().for_each(|op| driver.run(op)))
}

fn same_operations(c: &mut Criterion) {
    let kernel = Kernel::find(None);
    match &kernel {
        Ok(kernel) => println!("{}", kernel.shown()),
        Err(why) => println!("NOT TIMED: C: {why}"),
    }

    let mut group = c.benchmark_group("operation");
    for tasks in SIZES {
        let program = program(tasks);
        let ops: Vec<Op> = program.statements.iter().map(|statement| statement.op).collect();
        group.throughput(Throughput::Elements(OPERATIONS));

        group.bench_function(BenchmarkId::new("rust", tasks), |b| {
            b.iter_custom(|iterations| (0..iterations).map(|_| rust(&program, &ops)).sum());
        });

        let Ok(kernel) = &kernel else { continue };
        let oracle = kernel.load().expect("it was built");
        let mut class = OracleClass::new(oracle, &program.header, &program.names)
            .expect("the header has no features");
        // No groups: nothing has a parent.
        let raw_ops: Vec<_> = ops.iter().map(|op| raw(op, |_| 0)).collect();
        group.bench_function(BenchmarkId::new("c", tasks), |b| {
            b.iter_custom(|iterations| {
                let mut run = || {
                    class.reset(&program.header, &program.names).expect("as before");
                    time(|| class.run_many(&raw_ops).expect("the operations are legal"))
                };
                (0..iterations).map(|_| run()).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, same_operations);
criterion_main!(benches);
