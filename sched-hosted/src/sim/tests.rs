// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the simulation and of the pipe workloads, on a class whose decisions are plain.

use super::drive::Recorder;
use super::mock::Fifo;
use super::*;
use crate::ops::{GroupName, Header, Names, Policy};
use crate::workload::costs::Costs;
use crate::workload::ring::Ring;

fn steady() -> Costs {
    Costs { jitter_permille: 0, ..Costs::default() }
}

fn play(ring: &mut Ring, eager: bool, hand_offs: u64) -> (Stats, u64) {
    let mut class = Fifo::new(ring.names(), eager);
    let mut drive = Plain(&mut class);
    let mut sim = Sim::new(&mut drive, ring, 0);
    assert_eq!(sim.run(Limits::hand_offs(hand_offs)), End::Limit);
    let stats = sim.into_stats();
    (stats, class.switches)
}

fn ring(tasks: u32, tokens: u32, costs: Costs) -> Ring {
    Ring::new(Header { hz: 250, ..Header::default() }, tasks, tokens, costs, 1, 0)
}

#[test]
fn a_patient_pair_switches_once_a_hand_off_and_takes_what_the_steps_cost() {
    let costs = steady();
    let (stats, switches) = play(&mut ring(2, 1, costs), false, 10_000);
    assert!(switches.abs_diff(10_000) < 5, "{switches}");
    assert!(stats.wakes.abs_diff(10_000) < 5);
    assert_eq!(stats.preemptions, 0);
    let expected_ns = costs.before_wakeup_ns() + costs.after_wakeup_ns();
    assert!(stats.virtual_ns.abs_diff(10_000 * expected_ns) < 5 * expected_ns);
    // From the wakeup until the waker is out of the way.
    let latency_ns = stats.latency_percentile_ns(50_000);
    assert!(latency_ns.abs_diff(costs.after_wakeup_ns()) <= latency_ns / 500, "{latency_ns}");
}

#[test]
fn an_eager_pair_preempts_its_waker_and_then_finds_it_awake() {
    let (stats, _) = play(&mut ring(2, 1, steady()), true, 10_000);
    assert!(stats.preemptions.abs_diff(5_000) < 5, "{}", stats.preemptions);
    assert!(stats.wakes.abs_diff(5_000) < 5, "{}", stats.wakes);
}

#[test]
fn a_patient_ring_never_preempts_an_eager_one_does_at_each_wakeup() {
    let (patient, _) = play(&mut ring(15, 1, steady()), false, 9_000);
    let (eager, _) = play(&mut ring(15, 1, steady()), true, 9_000);
    assert_eq!(patient.preemptions, 0);
    assert!(eager.preemptions > 8_000, "{}", eager.preemptions);
}

#[test]
fn tokens_are_neither_lost_nor_made() {
    for tokens in 1..=7 {
        for eager in [false, true] {
            // A token that is lost ends in all tasks asleep, which play() refuses.
            let (stats, _) = play(&mut ring(7, tokens, Costs::default()), eager, 5_000);
            assert_eq!(stats.hand_offs, 5_000);
            assert_eq!(stats.skipped, 0);
        }
    }
}

#[test]
fn a_seed_gives_a_run() {
    let record = |seed| {
        let mut ring = Ring::new(Header::default(), 3, 1, Costs::default(), seed, 0);
        let mut class = Fifo::new(ring.names(), true);
        let mut drive = Recorder { class: &mut class, ops: Vec::new() };
        Sim::new(&mut drive, &mut ring, 0).run(Limits::hand_offs(500));
        drive.ops
    };
    assert_eq!(record(5), record(5));
    assert_ne!(record(5), record(6));
}

/// Tasks that run for `run_ns` and block; task 0 is woken from outside every `period_ns`.
struct Timer {
    run_ns: u64,
    period_ns: u64,
    next_ns: u64,
    ran: bool,
}

impl Workload for Timer {
    fn header(&self) -> Header {
        Header::default()
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        names.task("timed");
        names
    }

    fn setup(&mut self) -> Vec<Op> {
        let task = TaskName(0);
        let policy = Policy::Normal;
        vec![
            Op::Task { task, cpu: 0, nice: 0, policy, slice_ns: 0, group: GroupName::ROOT },
            Op::New { task },
        ]
    }

    fn next(&mut self, _task: TaskName) -> Step {
        self.ran = !self.ran;
        if self.ran { Step::Run { ns: self.run_ns } } else { Step::Block }
    }

    fn next_stimulus_ns(&self) -> Option<u64> {
        (self.period_ns > 0).then_some(self.next_ns)
    }

    fn stimulus(&mut self) -> Step {
        self.next_ns += self.period_ns;
        Step::Wake { task: TaskName(0), sync: false }
    }
}

fn timer(run_ns: u64, period_ns: u64, limits: Limits) -> (End, Stats, Vec<Op>) {
    let mut timer = Timer { run_ns, period_ns, next_ns: START_NS + period_ns, ran: false };
    let mut class = Fifo::new(timer.names(), false);
    let mut drive = Recorder { class: &mut class, ops: Vec::new() };
    let mut sim = Sim::new(&mut drive, &mut timer, 0);
    let end = sim.run(limits);
    let stats = sim.into_stats();
    (end, stats, drive.ops)
}

#[test]
fn an_idle_cpu_jumps_to_the_next_event_and_does_not_tick() {
    let limits = Limits { virtual_ns: 1_000_000_000, ..Limits::hand_offs(u64::MAX) };
    let (end, stats, ops) = timer(300_000, 10_000_000, limits);
    assert_eq!(end, End::Limit);
    assert!(stats.wakes.abs_diff(100) <= 1, "{}", stats.wakes);
    assert!(!ops.iter().any(|op| matches!(op, Op::Tick { .. })));
    assert_eq!(stats.wakeup_latency_ns.max(), 0);
}

#[test]
fn a_long_run_is_ticked_at_hz() {
    let limits = Limits { virtual_ns: 1_000_000_000, ..Limits::hand_offs(u64::MAX) };
    let (_, stats, ops) = timer(u64::MAX, 30_000_000, limits);
    let ticks = ops.iter().filter(|op| matches!(op, Op::Tick { .. })).count();
    assert!(ticks.abs_diff(1000) <= 1, "{ticks}");
    assert!(stats.wakes_awake >= 32 && stats.wakes == 0);
}

#[test]
fn nothing_more_to_come_is_an_end() {
    assert_eq!(timer(1, 0, Limits::hand_offs(1)).0, End::AllAsleep);
}

#[test]
fn a_workload_that_runs_in_a_circle_is_stopped() {
    struct Circle(Timer);
    impl Workload for Circle {
        fn header(&self) -> Header {
            self.0.header()
        }
        fn names(&self) -> Names {
            self.0.names()
        }
        fn setup(&mut self) -> Vec<Op> {
            self.0.setup()
        }
        fn next(&mut self, _task: TaskName) -> Step {
            Step::UserMode
        }
    }
    let mut circle = Circle(Timer { run_ns: 0, period_ns: 0, next_ns: 0, ran: false });
    let mut class = Fifo::new(circle.names(), false);
    let mut drive = Plain(&mut class);
    assert_eq!(Sim::new(&mut drive, &mut circle, 0).run(Limits::ops(100)), End::NoProgress);
}
