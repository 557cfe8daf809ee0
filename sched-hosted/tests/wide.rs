// SPDX-License-Identifier: GPL-2.0-only
//! Deep and wide: ten nested levels, two hundred groups and ten thousand tasks on one CPU run as
//! they should, and what an operation costs hardly depends on how many there are.
//!
//! `taskset -c 1 cargo test --release -p sched-hosted --test wide -- --ignored --nocapture` prints
//! what it costs.

use sched_core::patches::Patches;
use sched_core::trace::Hooks;
use sched_hosted::compare::side::{Side, Watch, Watched};
use sched_hosted::ops::class::{Depth, TaskInfo};
use sched_hosted::ops::digest::{Digest, Digester};
use sched_hosted::ops::{
    Class, GroupName, Header, Names, Op, Policy, Resched, START_NS, TaskName, TaskState,
};

/// So long a busy CPU runs between two events, ns.
const STEP_NS: u64 = 50_000;
/// How many such steps make a tick.
const TICK_STEPS: u64 = 20;

/// A machine of one CPU and what runs on it: tasks spread over groups.
struct Plan {
    tasks: u32,
    /// The groups' paths, each after the one above it.
    groups: Vec<String>,
    /// Tasks are only in those from this one on.
    first_with_tasks: usize,
}

impl Plan {
    /// Twenty chains of ten levels.
    fn wide() -> Self {
        let chain = |chain: u32| {
            (1..=10).map(move |level| {
                (1..=level).map(|level| format!("/c{chain}-{level}")).collect::<String>()
            })
        };
        Plan { tasks: 10_000, groups: (0..20).flat_map(chain).collect(), first_with_tasks: 0 }
    }

    /// All tasks in one group, so many levels below the root.
    fn deep(tasks: u32, depth: usize) -> Self {
        let path = |level: usize| (1..=level).map(|level| format!("/l{level}")).collect();
        let groups: Vec<String> = (1..=depth).map(path).collect();
        Plan { tasks, first_with_tasks: groups.len().saturating_sub(1), groups }
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        (0..self.tasks).for_each(|task| {
            names.task(&format!("t{task}"));
        });
        self.groups.iter().for_each(|path| {
            names.group(path);
        });
        names
    }

    /// Hands a machine with all of it made, and every task queued, to `f`.
    fn with<H: Hooks, R>(&self, hooks: H, f: impl FnOnce(&mut dyn Class) -> R) -> R {
        let base = Side::new(Patches::empty());
        let header = Header::default();
        let made = base.with(&header, &self.names(), hooks, |class| {
            self.make(class);
            f(class)
        });
        made.expect("the header is good")
    }

    fn make(&self, class: &mut dyn Class) {
        for at in 1..=self.groups.len() as u32 {
            let shares = Some(512 + u64::from(at * 37 % 4096));
            apply(class, Op::Group { group: GroupName(at), shares });
        }
        for task in 0..self.tasks {
            let with_tasks = (self.groups.len() - self.first_with_tasks).max(1) as u32;
            let group = match self.groups.len() {
                0 => GroupName::ROOT,
                _ => GroupName(1 + self.first_with_tasks as u32 + task % with_tasks),
            };
            let (task, nice) = (TaskName(task), (task % 11) as i32 - 5);
            let policy = Policy::Normal;
            apply(class, Op::Task { task, cpu: 0, nice, policy, slice_ns: 0, group });
            apply(class, Op::New { task });
        }
        apply(class, Op::Schedule { cpu: 0 });
    }
}

fn apply(class: &mut dyn Class, op: Op) {
    class.apply(&op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
}

/// What the CPU does in one step, with the operations handed to `run`: the one that runs sleeps, an
/// earlier one wakes, and now and then there is a tick, a renice, a move or a change of shares.
struct Life {
    steps: u64,
    asleep: std::collections::VecDeque<TaskName>,
    nr_groups: u32,
    now_ns: u64,
}

impl Life {
    fn new(plan: &Plan) -> Self {
        let nr_groups = plan.groups.len() as u32;
        Life { steps: 0, asleep: Default::default(), nr_groups, now_ns: START_NS }
    }

    /// Appends the next step's operations. Only who runs, and what it was told, is looked at.
    fn step(&mut self, class: &dyn Class, changes: bool) -> Vec<Op> {
        self.steps += 1;
        self.now_ns += STEP_NS;
        let mut ops = vec![Op::At { ns: self.now_ns }];
        let current = class.current(0).expect("it is never idle");
        if self.steps.is_multiple_of(TICK_STEPS) {
            ops.push(Op::Tick { cpu: 0 });
        } else if class.resched(0) != Resched::None {
            ops.push(Op::Schedule { cpu: 0 });
        } else if self.steps % 3 == 1 {
            self.asleep.push_back(current);
            ops.push(Op::Block { cpu: 0 });
        } else if self.asleep.len() > 8
            && let Some(task) = self.asleep.pop_front()
        {
            ops.push(Op::Wake { task, sync: false, cpu: None });
        }
        let group = GroupName(1 + (self.steps * 7919 % u64::from(self.nr_groups.max(1))) as u32);
        if changes && self.steps % 50 == 7 {
            ops.push(Op::Move { task: current, group });
        }
        if changes && self.steps % 50 == 27 {
            ops.push(Op::Shares { group, shares: 2 + self.steps * 31 % 9000 });
        }
        if changes && self.steps % 50 == 47 {
            ops.push(Op::Nice { task: current, nice: (self.steps % 40) as i32 - 20 });
        }
        ops
    }
}

/// Runs `steps` steps and returns the digests on the way and at the end.
fn digests(plan: &Plan, steps: u64) -> Vec<Digest> {
    let base = Side::new(Patches::empty());
    let ran = base.with(&Header::default(), &plan.names(), Watch::default(), |class| {
        plan.make(class);
        let mut digester = Digester::new();
        let mut life = Life::new(plan);
        let mut digests = vec![digester.digest(class)];
        for step in 1..=steps {
            life.step(class, true).into_iter().for_each(|op| apply(class, op));
            if step.is_multiple_of(steps / 4) {
                digests.push(digester.digest(class));
            }
        }
        assert_eq!(class.watch().warnings(), (0, None));
        must_be_right(class, plan);
        digests
    });
    ran.expect("the header is good")
}

/// What can be said of the machine from the outside.
fn must_be_right(class: &dyn Class, plan: &Plan) {
    let tasks: Vec<TaskInfo> = class.tasks().into_iter().filter_map(|t| class.task(t)).collect();
    assert_eq!(tasks.len(), plan.tasks as usize);
    assert_eq!(tasks.iter().filter(|task| task.running).count(), 1);
    let asleep = |task: &&TaskInfo| matches!(task.state, TaskState::Blocked | TaskState::Delayed);
    assert!(tasks.iter().filter(asleep).count() <= 10);
    assert_eq!(class.groups().len(), plan.groups.len() + 1);
    assert_eq!(class.violations(Depth::Cheap), []);
}

#[test]
fn ten_levels_two_hundred_groups_and_ten_thousand_tasks() {
    let plan = Plan::wide();
    assert_eq!((plan.groups.len(), plan.groups[199].matches('/').count()), (200, 10));
    let first = digests(&plan, 20_000);
    assert_eq!(first, digests(&plan, 20_000));
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "nothing happens");
}

#[test]
fn twenty_levels() {
    let plan = Plan::deep(50, 20);
    assert_eq!(digests(&plan, 4_000), digests(&plan, 4_000));
}

/// ns an operation: `steps` steps of sleeps, wakeups, ticks and schedules.
#[allow(clippy::disallowed_methods)] // what is measured is real time
fn cost_ns(plan: &Plan, steps: u64) -> f64 {
    plan.with((), |class| {
        let mut life = Life::new(plan);
        let (mut ns, mut operations) = (0, 0);
        for step in 0..steps {
            let ops = life.step(class, false);
            let begin = std::time::Instant::now();
            ops.iter().for_each(|op| class.run(op));
            let took = begin.elapsed();
            if step > steps / 10 {
                ns += took.as_nanos();
                operations += ops.len() - 1;
            }
        }
        ns as f64 / operations as f64
    })
}

/// The medians of seven runs of each plan, taken in turn so that what disturbs the machine disturbs all.
fn median_ns(plans: &[Plan]) -> Vec<f64> {
    let mut costs = vec![Vec::new(); plans.len()];
    for _ in 0..7 {
        for (costs, plan) in costs.iter_mut().zip(plans) {
            costs.push(cost_ns(plan, 60_000));
        }
    }
    let median = |mut costs: Vec<f64>| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    costs.into_iter().map(median).collect()
}

#[test]
#[ignore = "takes time, and needs a calm machine and --release"]
fn what_an_operation_costs() {
    println!("ns an operation (block, wake, schedule, tick), median of 7 runs of 60,000 steps");
    println!("  tasks        100    1,000   10,000   10,000 to 100");
    for depth in [0, 3, 10] {
        let costs = median_ns(&[100, 1_000, 10_000].map(|tasks| Plan::deep(tasks, depth)));
        let ratio = costs[2] / costs[0];
        println!(
            "  depth {depth:2} {:8.0} {:8.0} {:8.0} {ratio:8.2}",
            costs[0], costs[1], costs[2]
        );
        assert!(ratio <= 2.5, "10,000 tasks cost {ratio:.2} times what 100 do");
    }
    let plans: Vec<Plan> = (0..=10).map(|depth| Plan::deep(100, depth)).collect();
    let by_depth = median_ns(&plans);
    let shown: Vec<String> = by_depth.iter().map(|ns| format!("{ns:.0}")).collect();
    println!("  100 tasks at depth 0 to 10: {}", shown.join(" "));
    println!("  10,000 tasks in 200 groups of 10 levels: {:.0}", median_ns(&[Plan::wide()])[0]);
    let (first, second) = (by_depth[5] - by_depth[0], by_depth[10] - by_depth[5]);
    assert!(second <= first.max(20.0) * 2.0, "more than linear: {first:.0}, then {second:.0}");
}
