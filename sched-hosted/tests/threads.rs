// SPDX-License-Identifier: GPL-2.0-only
//! One OS thread per CPU: wakeups, blocks, migrations, group moves, shares and quotas at once. Afterwards every
//! invariant holds, no WARN_ON_ONCE() came true on the way, and no task is lost. CI runs this under ThreadSanitizer as
//! well.
//!
//! What is tested are the locks and the lock-free handshakes (wakeup against block, migration against wakeup), not a
//! result: which interleaving happens is up to the machine.

use sched_core::bug::Warn;
use sched_core::core;
use sched_core::fair::bandwidth::{Visit, run_hrtimers, tg_set_cfs_bandwidth};
use sched_core::fair::class::SchedAttr;
use sched_core::fair::group::{sched_group_set_idle, sched_group_set_shares};
use sched_core::sched::{
    Machine, Policy, Rq, TASK_INTERRUPTIBLE, TASK_RUNNING, TaskGroup, TaskStruct, WakeFlags,
    is_idle_task, task_cpu,
};
use sched_core::sync::Ordering;
use sched_core::trace::{Counter, Hooks};
use sched_hosted::ops::Program;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth, TaskState};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::parse_program;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Barrier, Mutex};

const CPUS: u32 = 4;
const TASKS: u32 = 24;
const GROUPS: [&str; 4] = ["/", "/a", "/a/b", "/q"];
/// What each CPU does; under ThreadSanitizer (debug assertions are on there) a step costs 20 times as much.
const STEPS: u32 = if cfg!(debug_assertions) { 10_000 } else { 60_000 };
/// Wakeups of the sleeper.
const ROUNDS: u64 = if cfg!(debug_assertions) { 4_000 } else { 50_000 };

/// Counts what must not happen, and what must, or nothing was tested.
#[derive(Default)]
struct Seen {
    warnings: Mutex<Vec<Warn>>,
    switches: AtomicU64,
    requeued: AtomicU64,
}

impl Hooks for Seen {
    fn count(&self, counter: Counter) {
        match counter {
            Counter::ContextSwitch => self.switches.fetch_add(1, Ordering::Relaxed),
            Counter::RequeueDelayedEntity => self.requeued.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
    }

    #[cold]
    fn warn(&self, warn: &Warn) {
        let mut warnings = self.warnings.lock().unwrap();
        if !warnings.contains(warn) {
            warnings.push(*warn);
        }
    }
}

impl Seen {
    fn no_warning(&self) {
        let warnings = self.warnings.lock().unwrap();
        assert!(warnings.is_empty(), "{}", warnings[0]);
    }
}

/// xorshift64*: one a thread.
struct Random(u64);

impl Random {
    fn of_cpu(cpu: u32, run: u64) -> Self {
        Random(0x9E37_79B9_7F4A_7C15u64.rotate_left(cpu) ^ ((run << 32) | u64::from(cpu + 1)))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The low bits are the weak ones.
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % n
    }

    fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u64) as usize]
    }
}

struct World<'a> {
    machine: &'a Machine<'a, Seen>,
    tasks: Vec<&'a TaskStruct<'a, Seen>>,
    groups: Vec<&'a TaskGroup<'a, Seen>>,
    /// What shares_mutex and cfs_constraints_mutex are in the kernel: one change of a group at a time.
    group_mutex: Mutex<()>,
}

impl<'a> World<'a> {
    fn new(driver: &Driver<'a, Seen>) -> Self {
        World {
            machine: driver.machine(),
            tasks: driver.task_structs().map(|(_, p)| p).collect(),
            groups: driver.task_groups().map(|(_, tg)| tg).collect(),
            group_mutex: Mutex::new(()),
        }
    }

    /// One step of the thread that is CPU `cpu`. What a CPU does to itself (block, tick, schedule, its clock) no
    /// other thread does for it.
    fn step(&self, cpu: u32, random: &mut Random) {
        let machine = self.machine;
        let rq = machine.cpu_rq(cpu);
        let runs = !is_idle_task(rq.curr());
        if cpu == 0 {
            // Time never goes back, so one CPU keeps it.
            let passed = 1 + random.below(400_000);
            machine.set_sched_clock(machine.sched_clock_cpu() + passed);
        }

        let task = random.of(&self.tasks);
        match random.below(20) {
            0..=4 => {
                let flags = random.of(&[WakeFlags::empty(), WakeFlags::WF_SYNC]);
                let to = random.below(u64::from(CPUS)) as u32;
                core::try_to_wake_up(machine, task, TASK_INTERRUPTIBLE, flags, to);
            }
            5..=7 if runs => {
                core::set_current_state(rq, TASK_INTERRUPTIBLE);
                // Here a wakeup from another CPU may come in between.
                core::__schedule(rq);
            }
            8 => core::sched_tick(rq),
            9 => {
                let to = random.below(u64::from(CPUS)) as u32;
                core::move_queued_task(machine, task, to);
            }
            10 => core::sched_move_task(machine, task, random.of(&self.groups)),
            11 => core::set_user_nice(machine, task, random.below(40) as i32 - 20),
            12 => {
                let policies = [Policy::SCHED_NORMAL, Policy::SCHED_BATCH, Policy::SCHED_IDLE];
                let attr = SchedAttr {
                    sched_policy: random.of(&policies),
                    sched_nice: random.below(40) as i32 - 20,
                    sched_runtime: random.below(3) * 1_000_000,
                };
                core::sched_setattr(machine, task, &attr);
            }
            13 => core::sched_balance_update_blocked_averages(rq),
            14 if cpu == 0 => {
                let groups = |visit: Visit<'_, 'a, Seen>| {
                    self.groups.iter().for_each(|tg| visit(tg));
                };
                run_hrtimers(machine, &groups, rq);
            }
            14 => self.change_a_group(random),
            15 if runs => {
                // On the way to user mode; one that parks itself schedules.
                if core::task_work_run(rq) {
                    core::__schedule(rq);
                }
            }
            16 if runs => {
                core::do_sched_yield(rq);
                core::__schedule(rq);
            }
            17 => core::wait_task_inactive(machine, task),
            _ => {
                core::__schedule(rq);
            }
        }
    }

    fn change_a_group(&self, random: &mut Random) {
        let tg = random.of(&self.groups[1..]);
        let _guard = self.group_mutex.lock().unwrap();
        match random.below(4) {
            0 | 1 => sched_group_set_shares(self.machine, tg, 2 + random.below(4000)),
            2 => sched_group_set_idle(self.machine, tg, random.below(2) == 0),
            _ => {
                let quota_us = (random.below(3) != 0).then(|| 1000 + random.below(20_000));
                tg_set_cfs_bandwidth(self.machine, tg, 20_000, quota_us);
            }
        }
    }
}

fn program() -> Program {
    let mut text =
        format!("fairlab-ops 1\ncpus {CPUS}\ngroup /a\ngroup /a/b shares 512\ngroup /q\n");
    text.push_str("quota /q 20000 5000\n");
    for task in 0..TASKS {
        let group = GROUPS[task as usize % 4];
        let _ = writeln!(text, "task t{task} cpu {} group {group}\nnew t{task}", task % CPUS);
    }
    parse_program("threads", text.as_bytes()).expect("it is well formed")
}

fn driver_of<'a>(arena: &'a Arena<'a, Seen>, program: &Program) -> Driver<'a, Seen> {
    let (options, seen) = (Options::default(), Seen::default());
    let mut driver = Driver::new(arena, &program.header, &program.names, &options, seen)
        .expect("it has no feature words");
    for statement in &program.statements {
        driver.apply(&statement.op).expect("it is legal");
    }
    driver
}

#[test]
fn threads_leave_a_sound_state() {
    let program = program();
    let arena = Arena::new();
    let driver = driver_of(&arena, &program);
    let world = World::new(&driver);

    // Sound not at the end only.
    for run in 0..10 {
        let start = Barrier::new(CPUS as usize);
        std::thread::scope(|scope| {
            for cpu in 0..CPUS {
                let (world, start) = (&world, &start);
                scope.spawn(move || {
                    let mut random = Random::of_cpu(cpu, run);
                    start.wait();
                    for _ in 0..STEPS / 10 {
                        world.step(cpu, &mut random);
                    }
                });
            }
        });
        driver.hooks().no_warning();
        assert_eq!(driver.violations(Depth::Full), [], "after run {run}");
    }
    let switches = driver.hooks().switches.load(Ordering::Relaxed);
    assert!(switches > u64::from(STEPS) / 10, "only {switches} switches: nothing was tested");

    // Nobody is lost: all sleepers can be woken, and then everyone is runnable.
    for &p in &world.tasks {
        let flags = WakeFlags::empty();
        core::try_to_wake_up(world.machine, p, TASK_INTERRUPTIBLE, flags, task_cpu(p));
    }
    for name in driver.tasks() {
        assert_eq!(driver.task(name).map(|task| task.state), Some(TaskState::Runnable));
    }
    driver.hooks().no_warning();
    assert_eq!(driver.violations(Depth::Full), []);
}

/// The sleeper's side of wait_event(), on the CPU of `rq`, which also runs others: until `sent` is more than `seen`.
/// False: nobody woke it.
fn wait_event<'a>(
    rq: &'a Rq<'a, Seen>,
    sleeper: &TaskStruct<'a, Seen>,
    sent: &AtomicU64,
    seen: u64,
) -> bool {
    let machine = rq.machine;
    let pass = |ns: u64| machine.set_sched_clock(machine.sched_clock_cpu() + ns);
    loop {
        core::set_current_state(rq, TASK_INTERRUPTIBLE);
        if sent.load(Ordering::SeqCst) > seen {
            core::set_current_state(rq, TASK_RUNNING);
            return true;
        }
        core::__schedule(rq);
        // Now the others run, in turn, until it is picked again.
        let mut turns = 0u64;
        while !std::ptr::eq(rq.curr(), sleeper) {
            turns += 1;
            if turns > 20_000_000 {
                return false;
            }
            if turns.is_multiple_of(1 << 14) {
                std::thread::yield_now();
            }
            pass(20_000);
            core::sched_tick(rq);
            core::__schedule(rq);
        }
        pass(50_000);
    }
}

/// A sleeper, on a CPU with `hogs` that never sleep, and a waker on another CPU. The sleeper looks whether there is
/// something for it, and sleeps if not; the waker says that there is, and wakes: __schedule() against
/// try_to_wake_up(). With hogs the sleeper's dequeue is delayed as a rule, and the race is against the pick that
/// completes it.
fn ping(hogs: u32, elsewhere: bool) {
    let mut text = "fairlab-ops 1\ncpus 2\ntask sleeper\nnew sleeper\nschedule 0\n".to_string();
    for hog in 0..hogs {
        let _ = writeln!(text, "task hog{hog}\nnew hog{hog}");
    }
    let program = parse_program("ping", text.as_bytes()).expect("it is well formed");
    let arena = Arena::new();
    let driver = driver_of(&arena, &program);
    let (machine, rq) = (driver.machine(), driver.machine().cpu_rq(0));
    let sleeper = rq.curr();
    let (sent, got, lost) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));

    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seen in 0..ROUNDS {
                if !wait_event(rq, sleeper, &sent, seen) {
                    lost.store(true, Ordering::SeqCst);
                    return;
                }
                got.store(seen + 1, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            let mut spins = 0u64;
            for round in 1..=ROUNDS {
                sent.store(round, Ordering::SeqCst);
                let flags = WakeFlags::empty();
                core::try_to_wake_up(machine, sleeper, TASK_INTERRUPTIBLE, flags, 0);
                if elsewhere {
                    core::set_user_nice(machine, sleeper, (round % 3) as i32);
                }
                while got.load(Ordering::SeqCst) < round && !lost.load(Ordering::SeqCst) {
                    spins += 1;
                    if spins.is_multiple_of(1 << 10) {
                        std::thread::yield_now();
                    }
                }
            }
        });
    });

    assert!(!lost.load(Ordering::SeqCst), "a wakeup was lost after {got:?} of {ROUNDS} rounds");
    assert_eq!(got.load(Ordering::SeqCst), ROUNDS);
    driver.hooks().no_warning();
    assert_eq!(driver.violations(Depth::Full), []);
}

#[test]
fn no_wakeup_is_lost_when_the_cpu_goes_idle() {
    ping(0, false);
}

#[test]
fn no_wakeup_is_lost_when_the_dequeue_is_delayed() {
    ping(2, false);
}

#[test]
fn no_wakeup_is_lost_when_the_sleeper_changes_meanwhile() {
    ping(1, true);
}
