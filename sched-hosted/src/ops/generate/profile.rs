// SPDX-License-Identifier: GPL-2.0-only
//! What random operations are like: which statements, how often, with what values.

use crate::ops::{Names, Op};
use std::ops::RangeInclusive;

/// A kind of statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
#[allow(missing_docs)] // each is the statement of its name
pub enum Kind {
    At,
    Task,
    New,
    Wake,
    Schedule,
    Block,
    Exit,
    Tick,
    Yield,
    YieldTo,
    Nice,
    Param,
    UpdateCurr,
    UpdateBlocked,
    FinishDelayed,
    Migrate,
    Group,
    Move,
    Shares,
    GroupIdle,
    Quota,
    Timers,
    UserReturn,
}

impl Kind {
    /// How many there are.
    pub const NR: usize = Kind::UserReturn as usize + 1;
    /// All, in the order of the enum.
    #[rustfmt::skip]
    pub const ALL: [Kind; Kind::NR] = [
        Kind::At, Kind::Task, Kind::New, Kind::Wake, Kind::Schedule, Kind::Block, Kind::Exit,
        Kind::Tick, Kind::Yield, Kind::YieldTo, Kind::Nice, Kind::Param, Kind::UpdateCurr,
        Kind::UpdateBlocked, Kind::FinishDelayed, Kind::Migrate, Kind::Group, Kind::Move,
        Kind::Shares, Kind::GroupIdle, Kind::Quota, Kind::Timers, Kind::UserReturn,
    ];
}

impl Kind {
    /// The kind of a statement.
    #[rustfmt::skip]
    pub fn of(op: &Op) -> Kind {
        match op {
            Op::At { .. } => Kind::At,
            Op::Task { .. } => Kind::Task,
            Op::New { .. } => Kind::New,
            Op::Wake { .. } => Kind::Wake,
            Op::Schedule { .. } => Kind::Schedule,
            Op::Block { .. } => Kind::Block,
            Op::Exit { .. } => Kind::Exit,
            Op::Tick { .. } => Kind::Tick,
            Op::Yield { .. } => Kind::Yield,
            Op::YieldTo { .. } => Kind::YieldTo,
            Op::Nice { .. } => Kind::Nice,
            Op::Param { .. } => Kind::Param,
            Op::UpdateCurr { .. } => Kind::UpdateCurr,
            Op::UpdateBlocked { .. } => Kind::UpdateBlocked,
            Op::FinishDelayed { .. } => Kind::FinishDelayed,
            Op::Migrate { .. } => Kind::Migrate,
            Op::Group { .. } => Kind::Group,
            Op::Move { .. } => Kind::Move,
            Op::Shares { .. } => Kind::Shares,
            Op::GroupIdle { .. } => Kind::GroupIdle,
            Op::Quota { .. } => Kind::Quota,
            Op::Timers => Kind::Timers,
            Op::UserReturn { .. } => Kind::UserReturn,
        }
    }

    /// The statement's word.
    #[rustfmt::skip]
    pub const fn word(self) -> &'static str {
        const WORDS: [&str; Kind::NR] = [
            "at", "task", "new", "wake", "schedule", "block", "exit", "tick", "yield", "yield-to", "nice", "param",
            "update-curr", "update-blocked", "finish-delayed", "migrate", "group", "move", "shares", "group-idle",
            "quota", "timers", "user-return",
        ];
        WORDS[self as usize]
    }
}

/// A range of time steps, and how often it is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The shortest, ns.
    pub low_ns: u64,
    /// The longest, ns. Within the range each power of two is as likely as the next.
    pub high_ns: u64,
    /// How often, relative to the other ranges.
    pub weight: u32,
}

/// The shape of a random stream. The default is 24 tasks of the root group on one CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// How many task names there are, `t1` and up, and so the most that live at once; not 0.
    pub tasks: u32,
    /// How many groups there are to be made, `g1` and up.
    pub groups: u32,
    /// Which tree the groups make: one of the trees of so many groups. Chains are likely, so that
    /// a dozen groups are five levels deep or so.
    pub group_tree: u64,
    /// How often each kind of statement is tried, relative to the others, by `Kind as usize`; 0
    /// leaves it out.
    pub weights: [u32; Kind::NR],
    /// The time steps of `at`.
    pub steps: Vec<Step>,
    /// Steps of more than ten seconds are taken also while a task runs, as if there were no tick.
    pub unticked: bool,
    /// Nice values.
    pub nice: RangeInclusive<i32>,
    /// How many percent of the nice values are 0 whatever [`Profile::nice`] says.
    pub nice_zero_percent: u32,
    /// How often normal, batch and idle are taken, relative to each other; not all 0.
    pub policies: [u32; 3],
    /// How many percent of the slices are not the default one.
    pub slice_percent: u32,
    /// How many percent of the statements after a pending resched are the `schedule` that it asks
    /// for.
    pub schedule_after_now_percent: u32,
    /// The same after a pending lazy resched, which may wait.
    pub schedule_after_lazy_percent: u32,
    /// How many percent of all values are at a bound of what is allowed; with 0 the streams are those of before there
    /// was this.
    pub extremes_percent: u32,
}

/// Statements of one CPU without groups, in per mille or so.
const FLAT: [(Kind, u32); 15] = [
    (Kind::At, 1000),
    (Kind::Task, 20),
    (Kind::New, 10),
    (Kind::Wake, 160),
    (Kind::Schedule, 200),
    (Kind::Block, 150),
    (Kind::Exit, 4),
    (Kind::Tick, 200),
    (Kind::Yield, 60),
    (Kind::YieldTo, 15),
    (Kind::Nice, 45),
    (Kind::Param, 40),
    (Kind::UpdateCurr, 13),
    (Kind::UpdateBlocked, 12),
    (Kind::FinishDelayed, 4),
];

/// What groups, quotas and several CPUs add.
const MIGRATE: [(Kind, u32); 1] = [(Kind::Migrate, 40)];
const GROUPS: [(Kind, u32); 4] =
    [(Kind::Group, 20), (Kind::Move, 40), (Kind::Shares, 15), (Kind::GroupIdle, 8)];
const QUOTA: [(Kind, u32); 3] = [(Kind::Quota, 20), (Kind::Timers, 170), (Kind::UserReturn, 200)];

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Mostly microseconds to some milliseconds; seldom seconds; hours where nothing runs.
const STEPS: [Step; 8] = [
    Step { low_ns: 0, high_ns: US, weight: 2_000 },
    Step { low_ns: US, high_ns: 10 * US, weight: 20_000 },
    Step { low_ns: 10 * US, high_ns: 100 * US, weight: 31_000 },
    Step { low_ns: 100 * US, high_ns: MS, weight: 28_000 },
    Step { low_ns: MS, high_ns: 10 * MS, weight: 12_000 },
    Step { low_ns: 10 * MS, high_ns: 100 * MS, weight: 7_000 },
    Step { low_ns: 100 * MS, high_ns: 10 * S, weight: 40 },
    Step { low_ns: 10 * S, high_ns: 36_000 * S, weight: 4 },
];

impl Default for Profile {
    fn default() -> Self {
        Profile {
            tasks: 24,
            groups: 0,
            group_tree: 0,
            weights: [0; Kind::NR],
            steps: STEPS.to_vec(),
            unticked: false,
            nice: -20..=19,
            nice_zero_percent: 50,
            policies: [6, 2, 3],
            slice_percent: 30,
            schedule_after_now_percent: 60,
            schedule_after_lazy_percent: 15,
            extremes_percent: 0,
        }
        .with_weights(&FLAT)
    }
}

impl Profile {
    /// The default with so many tasks (at least 1).
    pub fn flat(tasks: u32) -> Self {
        Profile { tasks: tasks.max(1), ..Profile::default() }
    }

    /// Migrations between CPUs are added.
    pub fn with_migration(self) -> Self {
        self.with_weights(&MIGRATE)
    }

    /// So many groups are added, with moves, shares and idle groups.
    pub fn with_groups(self, groups: u32) -> Self {
        Profile { groups, ..self }.with_weights(&GROUPS)
    }

    /// The groups make another tree.
    pub fn with_group_tree(self, seed: u64) -> Self {
        Profile { group_tree: seed, ..self }
    }

    /// Quotas, and what makes them act, are added.
    pub fn with_quota(self) -> Self {
        self.with_weights(&QUOTA)
    }

    /// This one with some statements left out or stressed, and some values narrowed, as `seed`
    /// says. Streams that lack something reach states that balanced ones do not.
    pub fn swarm(mut self, seed: u64) -> Self {
        let mut bits = Bits(seed);
        for kind in Kind::ALL {
            if matches!(kind, Kind::At | Kind::Task | Kind::Schedule) {
                continue; // without these nothing happens
            }
            let weight = &mut self.weights[kind as usize];
            *weight = match bits.below(6) {
                0 => 0,
                1 => weight.saturating_mul(4),
                _ => *weight,
            };
        }
        if bits.below(3) == 0 {
            self.nice = 0..=0;
        }
        if bits.below(3) == 0 {
            self.policies = [1, 0, 0];
        }
        if bits.below(3) == 0 {
            self.slice_percent = 0;
        }
        if bits.below(3) == 0 {
            self.schedule_after_now_percent = 95;
            self.schedule_after_lazy_percent = 80;
        }
        self.weights[Kind::At as usize] >>= bits.below(4);
        self
    }

    /// Sets the weight of a kind of statement; 0 leaves it out.
    pub fn with(mut self, kind: Kind, weight: u32) -> Self {
        self.weights[kind as usize] = weight;
        self
    }

    /// How often statements of a kind are tried, relative to the others.
    pub fn weight(&self, kind: Kind) -> u32 {
        self.weights[kind as usize]
    }

    fn with_weights(mut self, weights: &[(Kind, u32)]) -> Self {
        for &(kind, weight) in weights {
            self.weights[kind as usize] = weight;
        }
        self
    }

    /// The names that the operations will use: give them to the class when it is made.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        for task in 1..=self.tasks.max(1) {
            names.task(&format!("t{task}"));
        }
        for path in self.group_paths() {
            names.group(&path);
        }
        names
    }

    /// The groups' paths, each after the one above it.
    fn group_paths(&self) -> Vec<String> {
        let mut bits = Bits(self.group_tree);
        let mut paths: Vec<String> = Vec::new();
        for group in 1..=self.groups as usize {
            let above = match bits.below(10) {
                0..=2 => None,
                3..=7 => group.checked_sub(2),
                _ => Some(bits.below(group as u64) as usize),
            };
            let above = above.and_then(|above| paths.get(above)).map_or("", String::as_str);
            paths.push(format!("{above}/g{group}"));
        }
        paths
    }
}

/// A few random choices (splitmix64), apart from the generator's own stream.
struct Bits(u64);

impl Bits {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}
