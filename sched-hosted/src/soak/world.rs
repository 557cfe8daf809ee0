// SPDX-License-Identifier: GPL-2.0-only
//! What run number i of a seed is: a machine, a profile of operations, a length. A pure function, so that any run can
//! be made again from its number alone.

use crate::ops::generate::{Generator, Kind, Profile, Step};
use crate::ops::{CgroupMode, Header, Names, text};
use crate::sim::prng::{Purpose, Stream};
use serde::Serialize;
use std::fmt;

/// A kind of machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// One CPU, the root group alone.
    Flat,
    /// One or two CPUs, groups.
    Groups,
    /// One to four CPUs, groups with quotas.
    Quota,
    /// Two to eight CPUs with migration; every other one with groups.
    Smp,
}

impl World {
    /// All of them.
    pub const ALL: [World; 4] = [World::Flat, World::Smp, World::Groups, World::Quota];

    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            World::Flat => "flat",
            World::Groups => "groups",
            World::Quota => "quota",
            World::Smp => "smp",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is the same in all runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mix {
    /// The kinds of machines, in rotation; not empty.
    pub worlds: Vec<World>,
    /// Three runs of four are stressed in a random way of their own.
    pub swarm: bool,
    /// So many tasks, instead of a random number.
    pub tasks: Option<u32>,
    /// Changes to the features, after those that a run has of its own.
    pub features: Vec<String>,
    /// What all runs depend on.
    pub seed: u64,
}

/// A run before it has begun.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// The kind of machine.
    pub world: World,
    /// The machine.
    pub header: Header,
    /// The operations.
    pub profile: Profile,
    /// The seed of the operations.
    pub seed: u64,
    /// How many operations (without `at`).
    pub operations: u64,
}

impl Course {
    /// Run number `run` of `mix`.
    pub fn of(mix: &Mix, run: u64) -> Self {
        let mut draw = Stream::new(mix.seed, Purpose::Worlds, run);
        let world = mix.worlds[(run % mix.worlds.len() as u64) as usize];
        let seed = draw.next_u64();
        let operations = length(&mut draw, run);
        let tasks = mix.tasks.unwrap_or_else(|| tasks(&mut draw));
        let swarm = mix.swarm && draw.below(4) != 0;
        let (cpus, profile) = machine(world, Profile::flat(tasks), seed, &mut draw);
        let mut header = Header {
            cpus,
            hz: text::HZ[draw.below(text::HZ.len() as u64) as usize],
            base_slice_ns: base_slice_ns(&mut draw),
            features: Vec::new(),
            cgroup_mode: CgroupMode::ALL[draw.below(CgroupMode::ALL.len() as u64) as usize],
        };
        let profile = match swarm {
            true if world == World::Groups && mix.tasks.is_none() && draw.below(12) == 0 => {
                crowd(seed)
            }
            true => stressed(profile, seed, &mut draw),
            false => profile,
        };
        if swarm {
            header.features = features(&mut draw);
        }
        header.features.extend(mix.features.iter().cloned());
        Course { world, header, profile, seed, operations }
    }

    /// The names that its operations use.
    pub fn names(&self) -> Names {
        self.profile.names()
    }

    /// Its operations, from the first.
    pub fn generator(&self) -> Generator {
        Generator::new(self.seed, self.profile.clone())
    }
}

/// Most runs have some thousand operations, so that there are many different ones; now and then a long one.
fn length(draw: &mut Stream, run: u64) -> u64 {
    match run % 64 {
        63 => 100_000,
        _ => 250 << draw.below(6),
    }
}

/// Few tasks as a rule, which are more often alone or all asleep; long queues now and then.
fn tasks(draw: &mut Stream) -> u32 {
    let (low, high) = match draw.below(20) {
        0..=4 => (1, 3),
        5..=12 => (4, 12),
        13..=17 => (13, 32),
        _ => (33, 150),
    };
    (low + draw.below(high - low + 1)) as u32
}

fn machine(world: World, profile: Profile, seed: u64, draw: &mut Stream) -> (u32, Profile) {
    let groups = |profile: Profile, draw: &mut Stream| {
        profile.with_groups(1 + draw.below(10) as u32).with_group_tree(seed)
    };
    match world {
        World::Flat => (1, profile),
        World::Groups => {
            let cpus = 1 + draw.below(2) as u32;
            (cpus, migrating(groups(profile, draw), cpus))
        }
        World::Quota => {
            let cpus = 1 + draw.below(4) as u32;
            (cpus, migrating(groups(profile, draw).with_quota(), cpus))
        }
        World::Smp => {
            let cpus = 2 + draw.below(7) as u32;
            let profile = if draw.below(2) == 0 { groups(profile, draw) } else { profile };
            (cpus, migrating(profile, cpus))
        }
    }
}

fn migrating(profile: Profile, cpus: u32) -> Profile {
    if cpus > 1 { profile.with_migration() } else { profile }
}

/// The default as a rule; else anything that debugfs takes, its bounds among them. ns.
fn base_slice_ns(draw: &mut Stream) -> Option<u32> {
    match draw.below(8) {
        0 => Some(100_000),
        1 => Some(1_000_000_000),
        2 => Some(100_000 << draw.below(10)),
        3 => Some(700_000 + draw.below(5_000_000) as u32),
        _ => None,
    }
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A profile pushed to one side: operations left out or stressed, values narrowed or at their bounds, other steps of
/// the clock.
fn stressed(profile: Profile, seed: u64, draw: &mut Stream) -> Profile {
    let mut profile = profile.swarm(seed);
    profile.extremes_percent = [0, 0, 5, 25, 80][draw.below(5) as usize];
    match draw.below(10) {
        0 => profile.policies = [0, 0, 1],
        1 => profile.nice = 19..=19,
        2 => profile.nice = -20..=-20,
        3 => profile.nice_zero_percent = 0,
        _ => {}
    }
    let step = |low_ns, high_ns, weight| Step { low_ns, high_ns, weight };
    profile.steps = match draw.below(10) {
        0 => vec![step(0, 10 * US, 1)],
        1 => vec![step(0, US, 3), step(10 * MS, S, 1)],
        2 => vec![step(MS, MS, 4), step(10 * US, 10 * MS, 1)],
        3 => vec![step(10 * MS, 10 * S, 1)],
        4 => vec![step(10 * US, 100 * MS, 30), step(10 * S, 36_000 * S, 1)],
        _ => profile.steps,
    };
    // Rare statements that only some machines have come up more often in some runs.
    if draw.below(4) == 0 {
        let kinds =
            [Kind::Nice, Kind::Param, Kind::Move, Kind::Shares, Kind::GroupIdle, Kind::Quota];
        let kind = kinds[draw.below(kinds.len() as u64) as usize];
        let weight = profile.weight(kind);
        profile = profile.with(kind, weight.saturating_mul(8));
    }
    profile
}

/// One group with so many tasks that never sleep that its sums need more than 32 bits (from 88 of them on).
fn crowd(seed: u64) -> Profile {
    let profile = Profile::flat(240).with_groups(1).with_group_tree(seed).with(Kind::Task, 800);
    let profile = [Kind::Block, Kind::Exit, Kind::Shares, Kind::GroupIdle].into_iter().fold(
        profile,
        |profile, kind| {
            let weight = profile.weight(kind);
            profile.with(kind, weight / 8)
        },
    );
    Profile { steps: vec![Step { low_ns: MS, high_ns: 4 * MS, weight: 1 }], ..profile }
}

/// Features that change what the class does here. Each is turned over in every eighth run or so.
const FEATURES: [&str; 14] = [
    "NO_PLACE_LAG",
    "NO_PLACE_DEADLINE_INITIAL",
    "NO_PLACE_REL_DEADLINE",
    "NO_RUN_TO_PARITY",
    "NO_PREEMPT_SHORT",
    "NEXT_BUDDY",
    "NO_PICK_BUDDY",
    "NO_DELAY_DEQUEUE",
    "NO_DELAY_ZERO",
    "PARANOID_AVG",
    "NO_WAKEUP_PREEMPTION",
    "WARN_DOUBLE_CLOCK",
    "NO_ATTACH_AGE_LOAD",
    "NO_UTIL_EST",
];

fn features(draw: &mut Stream) -> Vec<String> {
    if draw.below(2) == 0 {
        return Vec::new();
    }
    FEATURES.into_iter().filter(|_| draw.below(5) == 0).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::{Course, Mix, World};

    fn mix(swarm: bool) -> Mix {
        let worlds = World::ALL.to_vec();
        Mix { worlds, swarm, tasks: None, features: Vec::new(), seed: 1 }
    }

    #[test]
    fn a_number_is_a_run() {
        for run in 0..200 {
            assert_eq!(Course::of(&mix(true), run), Course::of(&mix(true), run));
            assert_ne!(Course::of(&mix(true), run).seed, Course::of(&mix(true), run + 1).seed);
        }
    }

    #[test]
    fn kinds_take_turns_and_the_first_runs_are_short() {
        let courses: Vec<Course> = (0..8).map(|run| Course::of(&mix(false), run)).collect();
        for world in World::ALL {
            assert_eq!(courses.iter().filter(|course| course.world == world).count(), 2);
        }
        assert!(courses.iter().all(|course| course.operations <= 8_000));
    }

    #[test]
    fn bounds_come_up() {
        let courses: Vec<Course> = (0..400).map(|run| Course::of(&mix(true), run)).collect();
        let any = |f: fn(&Course) -> bool| courses.iter().filter(|course| f(course)).count() > 3;
        assert!(any(|c| c.profile.tasks == 1) && any(|c| c.profile.tasks > 100));
        assert!(any(|c| c.header.base_slice_ns == Some(100_000)));
        assert!(any(|c| c.header.base_slice_ns == Some(1_000_000_000)));
        assert!(any(|c| c.profile.policies == [0, 0, 1]) && any(|c| c.profile.nice == (19..=19)));
        assert!(any(|c| c.header.features.len() > 2) && any(|c| c.header.cpus == 8));
        assert!(any(|c| c.profile.extremes_percent == 80) && any(|c| c.operations == 100_000));
    }
}
