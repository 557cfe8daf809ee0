// SPDX-License-Identifier: GPL-2.0-only
//! What random episodes of a comparison are like: the machine, its features, and the shape of the operations.

use crate::ops::generate::Profile;
use crate::ops::{CgroupMode, Header};
use crate::sim::prng::{Purpose, Stream};

/// What is asked for; the rest varies from episode to episode.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Task groups, nested, with shares, moves and idle groups.
    pub groups: bool,
    /// Quotas, and what makes them act; implies groups.
    pub quota: bool,
    /// So many CPUs; 1 if not given.
    pub cpus: Option<u32>,
    /// So many tasks at most; from 1 to 48 if not given.
    pub tasks: Option<u32>,
    /// This HZ; any of the four if not given.
    pub hz: Option<u32>,
    /// Changes to the default features; if none are given, two in three episodes have some of their own.
    pub features: Vec<String>,
}

/// One episode: a machine and what is done with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Recipe {
    /// The machine.
    pub header: Header,
    /// The operations.
    pub profile: Profile,
    /// The seed of the operations.
    pub seed: u64,
}

/// Features that change what the class does on these machines, as their default is changed.
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
    "NO_UTIL_EST",
    "NO_ATTACH_AGE_LOAD",
    "WARN_DOUBLE_CLOCK",
];
const HZ: [u32; 4] = [100, 250, 300, 1000];
const BASE_SLICES_NS: [u32; 6] = [100_000, 700_000, 1_400_000, 2_800_000, 3_000_000, 100_000_000];
const TASKS: [u32; 8] = [1, 2, 3, 5, 8, 12, 24, 48];

impl Recipe {
    /// Episode number `index` of `seed`.
    pub fn new(wanted: &Wanted, seed: u64, index: u64) -> Self {
        let mut dice = Stream::new(seed, Purpose::Machines, index);
        let cpus = wanted.cpus.unwrap_or(1);
        let mut header = Header { cpus, ..Header::default() };
        header.hz = wanted.hz.unwrap_or(HZ[dice.below(4) as usize]);
        if dice.below(3) == 0 {
            header.base_slice_ns = Some(BASE_SLICES_NS[dice.below(6) as usize]);
        }
        header.features.clone_from(&wanted.features);
        if wanted.features.is_empty() {
            header.features = some_features(&mut dice);
        }
        let tasks = wanted.tasks.unwrap_or(TASKS[dice.below(8) as usize]);
        let mut profile = Profile::flat(tasks);
        if wanted.groups || wanted.quota {
            header.cgroup_mode = CgroupMode::ALL[[2, 2, 2, 0, 1, 3, 4][dice.below(7) as usize]];
            profile = profile.with_groups(1 + dice.below(12) as u32);
        }
        if wanted.quota {
            profile = profile.with_quota();
        }
        if cpus > 1 {
            profile = profile.with_migration();
        }
        if dice.below(2) == 0 {
            profile = profile.swarm(dice.next_u64());
        }
        if dice.below(6) == 0 {
            profile.unticked = true;
        }
        Recipe { header, profile, seed: dice.next_u64() }
    }
}

fn some_features(dice: &mut Stream) -> Vec<String> {
    let words = |dice: &mut Stream, one_in: u64| -> Vec<String> {
        FEATURES.iter().filter(|_| dice.below(one_in) == 0).map(ToString::to_string).collect()
    };
    match dice.below(3) {
        0 => Vec::new(),
        1 => vec![FEATURES[dice.below(FEATURES.len() as u64) as usize].to_string()],
        _ => words(dice, 3),
    }
}
