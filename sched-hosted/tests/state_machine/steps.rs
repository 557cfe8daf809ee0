// SPDX-License-Identifier: GPL-2.0-only
//! Where the steps come from: statements over a few names, CPUs and groups, so that most of them are legal.

use proptest::prelude::*;
use sched_hosted::ops::{CgroupMode, GroupName, Header, Names, Op, Policy, TaskName};
use std::ops::RangeInclusive;

const TASKS: u32 = 7;
const GROUPS: [&str; 4] = ["/a", "/a/b", "/a/b/c", "/d"];
/// One more CPU than most machines have: to be refused.
const CPUS: u32 = 3;

/// The names that all steps use.
pub fn names() -> Names {
    let mut names = Names::default();
    (0..TASKS).for_each(|task| {
        names.task(&format!("t{task}"));
    });
    GROUPS.iter().for_each(|path| {
        names.group(path);
    });
    names
}

/// A task as plain as can be, on CPU 0.
pub fn task(task: TaskName) -> Op {
    let (nice, policy, group) = (0, Policy::Normal, GroupName::ROOT);
    Op::Task { task, cpu: 0, nice, policy, slice_ns: 0, group }
}

/// A machine of so many CPUs, with one switch of the class turned or none.
pub fn header(cpus: RangeInclusive<u32>) -> impl Strategy<Value = Header> {
    let features = prop::sample::select(vec![
        "DELAY_DEQUEUE", // the default
        "NEXT_BUDDY",
        "PARANOID_AVG",
        "NO_DELAY_DEQUEUE",
        "NO_DELAY_ZERO",
        "NO_RUN_TO_PARITY",
        "NO_PLACE_LAG",
        "NO_PREEMPT_SHORT",
        "NO_WAKEUP_PREEMPTION",
    ]);
    let mode = prop::sample::select(CgroupMode::ALL.to_vec());
    (cpus, features, mode, prop::sample::select(vec![100, 1000])).prop_map(
        |(cpus, feature, cgroup_mode, hz)| {
            let features = vec![feature.to_string()];
            Header { cpus, hz, features, cgroup_mode, ..Header::default() }
        },
    )
}

fn name() -> impl Strategy<Value = TaskName> {
    (0..TASKS).prop_map(TaskName)
}

fn group() -> impl Strategy<Value = GroupName> {
    (0..=GROUPS.len() as u32).prop_map(GroupName)
}

/// Mostly the first CPU: there is always one.
fn cpu() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0), 2 => 1..CPUS]
}

fn nice() -> impl Strategy<Value = i32> {
    prop_oneof![2 => Just(0), 1 => -20..=19]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![4 => Just(Policy::Normal), 1 => Just(Policy::Batch), 1 => Just(Policy::Idle)]
}

fn slice_ns() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 2 => 100_000..20_000_000u64, 1 => 1..u64::MAX]
}

/// A step on the way: steps of time are relative, since a list of absolute times would not shrink.
#[derive(Clone, Debug)]
enum Draft {
    Pass(u64),
    Do(Op),
}

fn draft(op: impl Strategy<Value = Op>) -> impl Strategy<Value = Draft> {
    op.prop_map(Draft::Do)
}

fn pass() -> impl Strategy<Value = Draft> {
    prop_oneof![
        6 => 0..300_000u64,
        5 => 300_000..4_000_000u64,
        2 => 4_000_000..60_000_000u64,
        1 => 60_000_000..3_000_000_000u64,
    ]
    .prop_map(Draft::Pass)
}

fn about_tasks(groups: bool) -> impl Strategy<Value = Draft> {
    let group = if groups { group().boxed() } else { Just(GroupName::ROOT).boxed() };
    let make = (name(), cpu(), nice(), policy(), slice_ns(), group).prop_map(
        |(task, cpu, nice, policy, slice_ns, group)| Op::Task {
            task,
            cpu,
            nice,
            policy,
            slice_ns,
            group,
        },
    );
    let wake = (name(), any::<bool>(), prop::option::weighted(0.2, cpu()))
        .prop_map(|(task, sync, cpu)| Op::Wake { task, sync, cpu });
    let param = (name(), policy(), nice(), slice_ns())
        .prop_map(|(task, policy, nice, slice_ns)| Op::Param { task, policy, nice, slice_ns });
    prop_oneof![
        4 => draft(make),
        6 => draft(name().prop_map(|task| Op::New { task })),
        9 => draft(wake),
        2 => draft((name(), nice()).prop_map(|(task, nice)| Op::Nice { task, nice })),
        2 => draft(param),
        1 => draft(name().prop_map(|task| Op::FinishDelayed { task })),
        2 => draft((name(), cpu()).prop_map(|(task, cpu)| Op::Migrate { task, cpu })),
    ]
}

fn about_cpus() -> impl Strategy<Value = Draft> {
    prop_oneof![
        12 => draft(cpu().prop_map(|cpu| Op::Schedule { cpu })),
        7 => draft(cpu().prop_map(|cpu| Op::Block { cpu })),
        6 => draft(cpu().prop_map(|cpu| Op::Tick { cpu })),
        1 => draft(cpu().prop_map(|cpu| Op::Exit { cpu })),
        2 => draft(cpu().prop_map(|cpu| Op::Yield { cpu })),
        1 => draft((cpu(), name()).prop_map(|(cpu, task)| Op::YieldTo { cpu, task })),
        1 => draft(cpu().prop_map(|cpu| Op::UpdateCurr { cpu })),
        1 => draft(cpu().prop_map(|cpu| Op::UpdateBlocked { cpu })),
    ]
}

fn about_groups() -> impl Strategy<Value = Draft> {
    let shares = prop_oneof![Just(1_024), 2..300_000u64];
    // Small ones: they are to be used up.
    let quota = (group(), 1_000..100_000u64, prop::option::weighted(0.8, 1_000..4_000u64))
        .prop_map(|(group, period_us, quota_us)| Op::Quota { group, period_us, quota_us });
    let idle = (group(), any::<bool>()).prop_map(|(group, idle)| Op::GroupIdle { group, idle });
    prop_oneof![
        6 => draft(group().prop_map(|group| Op::Group { group, shares: None })),
        3 => draft((name(), group()).prop_map(|(task, group)| Op::Move { task, group })),
        2 => draft((group(), shares).prop_map(|(group, shares)| Op::Shares { group, shares })),
        1 => draft(idle),
        6 => draft(quota),
        3 => draft(Just(Op::Timers)),
        12 => draft(cpu().prop_map(|cpu| Op::UserReturn { cpu })),
    ]
}

/// Drafts as statements: time becomes absolute. Now and then it goes back, which is to be refused.
fn statements(drafts: Vec<Draft>) -> Vec<Op> {
    let mut now = sched_hosted::ops::START_NS;
    drafts
        .into_iter()
        .map(|draft| match draft {
            Draft::Pass(ns) if ns % 97 == 96 => Op::At { ns: now - 1 },
            Draft::Pass(ns) => {
                now += ns;
                Op::At { ns: now }
            }
            Draft::Do(op) => op,
        })
        .collect()
}

/// Some tasks to begin with: an empty machine has little to say.
fn beginning(groups: bool) -> impl Strategy<Value = Vec<Draft>> {
    (1..=TASKS, any::<u32>()).prop_map(move |(tasks, bits)| {
        let made = (1..=2 * u32::from(groups))
            .map(|group| Op::Group { group: GroupName(group), shares: None });
        let born = (0..tasks).flat_map(|at| {
            let group = GroupName(if groups { (bits >> (2 * at)) % 3 } else { 0 });
            let Op::Task { task, cpu, nice, policy, slice_ns, .. } = task(TaskName(at)) else {
                unreachable!("it is a task");
            };
            [Op::Task { task, cpu, nice, policy, slice_ns, group }, Op::New { task }]
        });
        made.chain(born).map(Draft::Do).collect()
    })
}

fn with_beginning(
    groups: bool,
    step: impl Strategy<Value = Draft>,
    most: usize,
) -> impl Strategy<Value = Vec<Op>> {
    (beginning(groups), prop::collection::vec(step, 1..most))
        .prop_map(|(begin, rest)| statements(begin.into_iter().chain(rest).collect()))
}

/// Up to so many steps of one queue.
pub fn flat(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let step = prop_oneof![6 => pass(), 6 => about_tasks(false), 8 => about_cpus()];
    with_beginning(false, step, most)
}

/// Up to so many steps of all kinds.
pub fn all(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let step =
        prop_oneof![6 => pass(), 5 => about_tasks(true), 8 => about_cpus(), 6 => about_groups()];
    with_beginning(true, step, most)
}
