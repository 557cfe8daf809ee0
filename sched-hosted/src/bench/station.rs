// SPDX-License-Identifier: GPL-2.0-only
//! What is timed stands on: a machine with as many runnable tasks on each CPU as the row says, all of which have run.
//!
//! Several CPUs, each with tasks of its own, so that a path that cannot be repeated on one runqueue is still done
//! often enough in one go for the clock.

use super::rows::{Mix, Situation};
use super::side::Side;
use crate::ops::{GroupName, Header, Names, Op, Policy, START_NS, TaskName};
use crate::sim::prng::{Purpose, Stream};

/// CPUs of a machine; fewer where each has very many tasks.
const CPUS: u32 = 16;
const CPUS_MANY: u32 = 8;
const MANY: u32 = 10_000;
/// Leaf groups; the tasks of a CPU are in them by turns.
const GROUPS: u32 = 4;
/// The base slice of every machine, ns: the kernel's of 8 CPUs and more.
const BASE_SLICE_NS: u32 = 2_800_000;

/// A machine to be prepared.
#[derive(Clone, Debug)]
pub struct Station {
    /// What it is for.
    pub situation: Situation,
    /// The machine.
    pub header: Header,
    /// Its names.
    pub names: Names,
    groups: Vec<Vec<GroupName>>,
}

impl Station {
    /// The station of `situation`.
    pub fn new(situation: Situation) -> Self {
        let cpus = if situation.tasks >= MANY { CPUS_MANY } else { CPUS };
        let header = Header { cpus, base_slice_ns: Some(BASE_SLICE_NS), ..Header::default() };
        let mut names = Names::default();
        for task in 0..cpus * situation.tasks {
            names.task(&format!("t{task}"));
        }
        let branch = |group: u32| {
            let mut path = String::new();
            let mut level = || {
                path.push_str(&format!("/g{group}"));
                path.clone()
            };
            (0..situation.levels).map(|_| names.group(&level())).collect()
        };
        let groups = (0..GROUPS).map(branch).collect();
        Station { situation, header, names, groups }
    }

    /// How many CPUs it has.
    pub fn cpus(&self) -> u32 {
        self.header.cpus
    }

    /// The tasks of `cpu`, by their numbers.
    pub fn tasks_of(&self, cpu: u32) -> std::ops::Range<u32> {
        cpu * self.situation.tasks..(cpu + 1) * self.situation.tasks
    }

    /// Brings a machine that was just made into the situation.
    pub fn set_up(&self, side: &mut dyn Side) {
        for &group in self.groups.iter().flatten() {
            side.class_mut().run(&Op::Group { group, shares: None });
        }
        let mut stream = Stream::new(1, Purpose::Jitter, u64::from(self.situation.tasks));
        for cpu in 0..self.cpus() {
            for task in self.tasks_of(cpu) {
                side.space_tasks();
                let op = self.task(task, cpu, &mut stream);
                side.class_mut().run(&op);
            }
        }
        let mut ns = START_NS;
        for cpu in 0..self.cpus() {
            for task in self.tasks_of(cpu) {
                ns += 1_000 / u64::from(self.cpus()) + 1;
                side.class_mut().run(&Op::At { ns });
                side.class_mut().run(&Op::New { task: TaskName(task) });
            }
        }
        self.spread(side, &mut ns, &mut stream);
    }

    fn task(&self, number: u32, cpu: u32, stream: &mut Stream) -> Op {
        let (mut nice, mut policy, mut slice_ns) = (0, Policy::Normal, 0);
        match self.situation.mix {
            Mix::Equal => {}
            Mix::Mixed => {
                nice = stream.below(21) as i32 - 10;
                if stream.below(4) == 0 {
                    slice_ns = 500_000 + stream.below(7_500_000);
                }
            }
            Mix::Adversarial => {
                (nice, policy) = [(-20, Policy::Normal), (19, Policy::Normal), (0, Policy::Idle)]
                    [stream.below(3) as usize];
                slice_ns = [100_000, 0, 100_000_000][stream.below(3) as usize];
            }
        }
        let branch = &self.groups[(number % GROUPS) as usize];
        let group = branch.last().copied().unwrap_or(GroupName::ROOT);
        Op::Task { task: TaskName(number), cpu, nice, policy, slice_ns, group }
    }

    /// Turns of uneven length by the tick, so that vruntimes and deadlines lie apart as in real life.
    fn spread(&self, side: &mut dyn Side, ns: &mut u64, stream: &mut Stream) {
        for _ in 0..2 * self.situation.tasks + 16 {
            for cpu in 0..self.cpus() {
                *ns += stream.around(3_000_000 / u64::from(self.cpus()), 500);
                for op in [Op::At { ns: *ns }, Op::Tick { cpu }, Op::Schedule { cpu }] {
                    side.class_mut().run(&op);
                }
            }
        }
    }
}
