// SPDX-License-Identifier: GPL-2.0-only
//! The rows of `fairlab bench` under criterion, the class here and the kernel's own one after the other.
//!
//! `LINUX_SRC=TREE taskset -c 1 cargo bench -p benches --bench fast_paths -- handoff`. Without a tree (or one that
//! `fairlab oracle build` was given before) there is no C, and a line says why. For ratios use `fairlab bench`, where
//! the two take turns.

// Every bench function is made by criterion's macros, which document nothing.
#![allow(missing_docs)]

use benches::{rows_of, time};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use sched_hosted::bench::rows::Path;
use sched_hosted::bench::sides::{Which, with_players};
use sched_hosted::oracle::Kernel;
use std::time::Duration;

fn path(c: &mut Criterion, path: Path) {
    let kernel = Kernel::find(None);
    let mut sides = vec![("rust", Which::Here(Default::default()))];
    match &kernel {
        Ok(kernel) => sides.push(("c", Which::Kernel(kernel))),
        Err(why) => println!("NOT TIMED: C: {why}"),
    }
    let mut group = c.benchmark_group(path.name());
    for row in rows_of(path) {
        let name = row.to_string();
        let name = name.split_once('/').map_or("", |(_, rest)| rest);
        for &(side, which) in &sides {
            let result = with_players(&[which], row.situation, |players| {
                let player = &mut players[0];
                let overhead_ns = player.overhead_ns();
                if (0..64).all(|_| player.cycle(path).ops == 0) {
                    println!("NOT TIMED: {row}: the path is not met there");
                    return;
                }
                group.bench_function(BenchmarkId::new(side, name), |b| {
                    b.iter_custom(|iterations| time(player, path, iterations, overhead_ns));
                });
            });
            result.unwrap_or_else(|why| println!("NOT TIMED: {side}: {why}"));
        }
    }
    group.finish();
}

/// A bench a path, so that each can be named on the command line.
macro_rules! paths {
    ($($name:ident: $path:expr),* $(,)?) => {
        $(fn $name(c: &mut Criterion) {
            path(c, $path);
        })*
        criterion_group! {
            name = fast_paths;
            config = Criterion::default()
                .warm_up_time(Duration::from_millis(200))
                .measurement_time(Duration::from_millis(800))
                .sample_size(30);
            targets = $($name),*
        }
    };
}

paths! {
    enqueue: Path::Enqueue,
    dequeue: Path::Dequeue,
    delay: Path::Delay,
    requeue: Path::Requeue,
    complete: Path::Complete,
    switch: Path::Switch,
    update_curr: Path::UpdateCurr,
    tick: Path::Tick,
    place: Path::Place,
    pick: Path::Pick,
    insert: Path::Insert,
    erase: Path::Erase,
    hand_off: Path::HandOff,
}
criterion_main!(fast_paths);
