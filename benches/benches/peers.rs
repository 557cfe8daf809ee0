// SPDX-License-Identifier: GPL-2.0-only
//! What a user would otherwise pick up: the CFS of the crate axsched, and a queue of std's BTreeMap. Both do less than
//! the class: no lag, no eligibility, no slices, no load tracking, no delayed dequeue.
//!
//! A program of its own that links neither sched-core nor sched-hosted: axsched's licences do not go together with
//! theirs. `taskset -c 1 cargo bench -p benches --bench peers -- --json FILE` writes what `fairlab bench --svg` draws
//! (`--peers FILE`).

use axsched::{BaseScheduler, CFSTask, CFScheduler};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// The numbers of tasks, as in `fairlab bench`.
const TASKS: [usize; 5] = [2, 15, 100, 1_000, 10_000];
/// Queues beside each other, so that one operation on each is long enough for the clock.
const QUEUES: usize = 16;
/// Rounds; of their times the median counts.
const ROUNDS: usize = 400;
/// How often it is all done again.
const ALTERNATIONS: usize = 9;
/// The base slice, ns.
const SLICE_NS: u64 = 2_800_000;

/// A queue of runnable tasks and one that runs.
trait Queue {
    /// With so many tasks, one of them running.
    fn new(tasks: usize) -> Self;
    /// The running task sleeps and the next one runs.
    fn block(&mut self);
    /// The one that slept last wakes up.
    fn wake(&mut self);
    /// Another task's turn.
    fn switch(&mut self);
    /// The timer's tick.
    fn tick(&mut self);
    /// A task that waits leaves, to be woken later.
    fn remove(&mut self);
}

type Task = Arc<CFSTask<usize>>;

/// The crate's CFS, as it is meant to be used.
struct Axsched {
    scheduler: CFScheduler<usize>,
    all: Vec<Task>,
    running: Task,
    asleep: Vec<Task>,
    next: usize,
}

impl Queue for Axsched {
    fn new(tasks: usize) -> Self {
        let mut scheduler = CFScheduler::new();
        scheduler.init();
        let all: Vec<Task> = (0..tasks).map(|id| Arc::new(CFSTask::new(id))).collect();
        all.iter().for_each(|task| scheduler.add_task(task.clone()));
        let running = scheduler.pick_next_task().expect("there are tasks");
        Axsched { scheduler, all, running, asleep: Vec::new(), next: 0 }
    }

    fn block(&mut self) {
        let next = self.scheduler.pick_next_task().expect("another one waits");
        self.asleep.push(std::mem::replace(&mut self.running, next));
    }

    fn wake(&mut self) {
        let task = self.asleep.pop().expect("one sleeps");
        self.scheduler.add_task(task);
    }

    fn switch(&mut self) {
        self.scheduler.put_prev_task(self.running.clone(), false);
        self.running = self.scheduler.pick_next_task().expect("there are tasks");
    }

    fn tick(&mut self) {
        black_box(self.scheduler.task_tick(&self.running));
    }

    fn remove(&mut self) {
        loop {
            self.next = (self.next + 1) % self.all.len();
            let task = &self.all[self.next];
            if !Arc::ptr_eq(task, &self.running) {
                self.asleep.extend(self.scheduler.remove_task(task));
                return;
            }
        }
    }
}

/// A virtual deadline and a task: the least deadline runs.
type Key = (u64, usize);

/// The least that a queue of deadlines can be.
struct Tree {
    tree: BTreeMap<Key, u64>,
    running: (Key, u64),
    asleep: Vec<(Key, u64)>,
    next: usize,
}

impl Tree {
    fn first(&mut self) -> (Key, u64) {
        self.tree.pop_first().expect("there are tasks")
    }
}

impl Queue for Tree {
    fn new(tasks: usize) -> Self {
        let mut tree: BTreeMap<Key, u64> =
            (0..tasks).map(|id| ((SLICE_NS + id as u64, id), id as u64)).collect();
        let running = tree.pop_first().expect("there are tasks");
        Tree { tree, running, asleep: Vec::new(), next: 0 }
    }

    fn block(&mut self) {
        let next = self.first();
        self.asleep.push(std::mem::replace(&mut self.running, next));
    }

    fn wake(&mut self) {
        let ((_, id), vruntime) = self.asleep.pop().expect("one sleeps");
        let vruntime = vruntime.max(self.running.1);
        self.tree.insert((vruntime + SLICE_NS, id), vruntime);
    }

    fn switch(&mut self) {
        let ((_, id), vruntime) = self.running;
        let vruntime = vruntime + SLICE_NS;
        self.tree.insert((vruntime + SLICE_NS, id), vruntime);
        self.running = self.first();
    }

    fn tick(&mut self) {
        self.running.1 += SLICE_NS / 16;
        black_box(self.running.1 >= self.running.0.0);
    }

    fn remove(&mut self) {
        // Any one but the first: what is removed is known by its key.
        self.next = (self.next + 7) % self.tree.len();
        let key = self.tree.range((0, 0)..).nth(self.next.min(8)).map(|(key, _)| *key);
        let key = key.or_else(|| self.tree.keys().next().copied()).expect("tasks wait");
        let vruntime = self.tree.remove(&key).expect("it waits");
        self.asleep.push((key, vruntime));
    }
}

/// The time of `body`, ns. The one place that looks at a clock.
#[allow(clippy::disallowed_methods, reason = "a bench measures cost")]
fn time(body: impl FnOnce()) -> u64 {
    let start = Instant::now();
    body();
    start.elapsed().as_nanos() as u64
}

/// A path: its name in the rows of `fairlab bench`, and one round on all queues, of which the time of the path itself
/// comes back.
type Path<Q> = (&'static str, fn(&mut [Q]) -> u64);

fn paths<Q: Queue>() -> [Path<Q>; 5] {
    [
        ("enqueue", |queues| {
            queues.iter_mut().for_each(Q::block);
            time(|| queues.iter_mut().for_each(Q::wake))
        }),
        ("dequeue", |queues| {
            let ns = time(|| queues.iter_mut().for_each(Q::remove));
            queues.iter_mut().for_each(Q::wake);
            ns
        }),
        ("switch", |queues| time(|| queues.iter_mut().for_each(Q::switch))),
        ("tick", |queues| time(|| queues.iter_mut().for_each(Q::tick))),
        ("handoff", |queues| {
            time(|| {
                for queue in queues {
                    // The running one sleeps, the next one runs and wakes it.
                    queue.block();
                    queue.wake();
                }
            })
        }),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// ns per operation of each path and number of tasks: the samples of the alternations.
fn measure<Q: Queue>(samples: &mut BTreeMap<String, Vec<Vec<f64>>>, side: usize) {
    let overhead = median((0..1001).map(|_| time(|| {}) as f64).collect());
    for tasks in TASKS {
        let mut queues: Vec<Q> = (0..QUEUES).map(|_| Q::new(tasks)).collect();
        (0..2 * tasks + 64).for_each(|_| queues.iter_mut().for_each(Q::switch));
        for (name, round) in paths::<Q>() {
            let each = (0..ROUNDS)
                .map(|_| (round(&mut queues) as f64 - overhead).max(0.0) / QUEUES as f64);
            let ns = median(each.collect());
            let row = samples.entry(format!("{name}/{tasks}/0/equal")).or_default();
            row.resize(row.len().max(side + 1), Vec::new());
            row[side].push(ns);
        }
    }
}

/// The results in the form of `fairlab bench --json`.
fn results(samples: &BTreeMap<String, Vec<Vec<f64>>>) -> Value {
    let rows = samples.iter().map(|(row, samples)| {
        let ns: Vec<f64> = samples.iter().map(|samples| median(samples.clone())).collect();
        json!({
            "row": row, "ns": ns, "ratios": [null], "same": [true],
            "ops": ROUNDS * QUEUES * ALTERNATIONS, "instructions": [null, null], "samples": samples,
        })
    });
    let rows: Vec<Value> = rows.collect();
    json!({
        "setting": {
            "fairlab": "peers", "machine": std::env::consts::ARCH, "compiler": "as fairlab's", "kernel": null,
            "sides": ["axsched CFS (does less)", "BTreeMap (does less)"], "alternations": ALTERNATIONS,
            "notes": ["no lag, no eligibility, no slices, no load tracking, no delayed dequeue"],
        },
        "rows": rows,
    })
}

fn main() {
    let mut arguments = std::env::args().skip_while(|word| word != "--json").skip(1);
    let file = arguments.next();
    let mut samples = BTreeMap::new();
    for _ in 0..ALTERNATIONS {
        measure::<Axsched>(&mut samples, 0);
        measure::<Tree>(&mut samples, 1);
    }
    println!(
        "{:<28} {:>12} {:>12}   (both do less than the class)",
        "path/tasks/levels/mix", "axsched CFS", "BTreeMap"
    );
    for (row, samples) in &samples {
        let ns: Vec<f64> = samples.iter().map(|samples| median(samples.clone())).collect();
        println!("{row:<28} {:>12.1} {:>12.1}", ns[0], ns[1]);
    }
    if let Some(file) = file {
        let text = format!("{:#}\n", results(&samples));
        if let Err(error) = std::fs::write(&file, text) {
            eprintln!("{file}: cannot write it ({error}); check space and permissions");
            std::process::exit(3);
        }
    }
}
