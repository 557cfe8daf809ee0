// SPDX-License-Identifier: GPL-2.0-only
//! The operation language: the common tongue of driver, fuzzers, shrinker, regressions and kernel
//! oracle.
//!
//! In the order in which a file meets them: [`text`] parses and prints it, [`Program`] is what it
//! says, [`class`] is what any scheduler class must offer to be driven by it, [`driver`] is v7.3's
//! class behind that trait, [`digest`] turns a state into the two texts and their hashes,
//! [`generate`] makes random legal operations.

pub mod arena;
pub mod class;
pub mod digest;
pub mod driver;
pub mod generate;
pub mod legal;
#[cfg(test)]
pub(crate) mod mock;
pub mod run;
pub mod text;

pub use class::{Class, Legality, Refusal, Resched, TaskState};

use std::collections::BTreeMap;

/// A task's name, as an index into [`Names`]. The same name may be used again once its task has
/// exited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct TaskName(pub u32);

/// A group's path, as an index into [`Names`]; 0 is the root group `/`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct GroupName(pub u32);

impl GroupName {
    /// The root group, `/`.
    pub const ROOT: GroupName = GroupName(0);
}

/// What the names of a program are: operations carry indices, so that no text is compared while
/// they run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    tasks: Table,
    groups: Table,
}

impl Default for Names {
    fn default() -> Self {
        let mut groups = Table::default();
        groups.intern("/");
        Names { tasks: Table::default(), groups }
    }
}

impl Names {
    /// The index of task `name`, added if it is new.
    pub fn task(&mut self, name: &str) -> TaskName {
        TaskName(self.tasks.intern(name))
    }

    /// The index of group `path`, added if it is new.
    pub fn group(&mut self, path: &str) -> GroupName {
        GroupName(self.groups.intern(path))
    }

    /// The text of a task's name.
    pub fn task_text(&self, name: TaskName) -> &str {
        &self.tasks.texts[name.0 as usize]
    }

    /// The text of a group's path.
    pub fn group_text(&self, name: GroupName) -> &str {
        &self.groups.texts[name.0 as usize]
    }

    /// How many different task names there are; a [`TaskName`] is below it.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.texts.len()
    }

    /// How many groups are named, the root group among them.
    pub fn nr_groups(&self) -> usize {
        self.groups.texts.len()
    }
}

/// Texts by index, and the index of each text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Table {
    texts: Vec<String>,
    index: BTreeMap<String, u32>,
}

impl Table {
    fn intern(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        let new = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.index.insert(text.to_string(), new);
        new
    }
}

/// A whole `.ops` file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The lines before the first statement.
    pub header: Header,
    /// The names that the statements' indices stand for.
    pub names: Names,
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// How cgroup shares follow the number of tasks and CPUs: the kernel's `cgroup_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum CgroupMode {
    Up,
    Smp,
    #[default]
    Concur,
    Max,
    Tasks,
}

impl CgroupMode {
    /// All, in the order in which the documentation names them.
    pub const ALL: [CgroupMode; 5] =
        [CgroupMode::Up, CgroupMode::Smp, CgroupMode::Concur, CgroupMode::Max, CgroupMode::Tasks];

    /// The word in an `.ops` file.
    pub const fn word(self) -> &'static str {
        match self {
            CgroupMode::Up => "up",
            CgroupMode::Smp => "smp",
            CgroupMode::Concur => "concur",
            CgroupMode::Max => "max",
            CgroupMode::Tasks => "tasks",
        }
    }
}

/// The header of an `.ops` file: the machine that it describes.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// `cpus N`, 1 to 512.
    pub cpus: u32,
    /// `hz N`: 100, 250, 300 or 1000; TICK_NSEC is 10^9 / hz.
    pub hz: u32,
    /// `base_slice_ns N`, ns, if given; else 700000 * (1 + ilog2(min(cpus, 8))).
    pub base_slice_ns: Option<u32>,
    /// `features NAME NO_NAME ...`: changes to the defaults, by their debugfs names, in order.
    pub features: Vec<String>,
    /// `cgroup_mode MODE`.
    pub cgroup_mode: CgroupMode,
}

impl Default for Header {
    fn default() -> Self {
        Header {
            cpus: 1,
            hz: 1000,
            base_slice_ns: None,
            features: Vec::new(),
            cgroup_mode: CgroupMode::default(),
        }
    }
}

/// One statement and where it stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statement {
    /// What to do.
    pub op: Op,
    /// The line in the file, counted from 1; 0 for one that was made, not read.
    pub line: u32,
}

/// A policy of the fair class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// SCHED_NORMAL.
    #[default]
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
}

impl Policy {
    /// All, normal first.
    pub const ALL: [Policy; 3] = [Policy::Normal, Policy::Batch, Policy::Idle];

    /// The word in an `.ops` file.
    pub const fn word(self) -> &'static str {
        match self {
            Policy::Normal => "normal",
            Policy::Batch => "batch",
            Policy::Idle => "idle",
        }
    }
}

/// What the clock of every CPU reads before the first `at`, ns: above 0, which as a last_update_time would mean that
/// something is attached to no queue.
pub const START_NS: u64 = 1_000_000;

/// A statement of the operation language. Times are ns, absolute or as named.
#[derive(Clone, Copy, PartialEq, Debug)]
#[rustfmt::skip]
#[allow(missing_docs)] // the fields: each variant's form says what they are
pub enum Op {
    /// `at T`: every CPU's clock reads `ns` from here on. Not an operation: it is not counted.
    At { ns: u64 },
    /// `group PATH [shares N]`.
    Group { group: GroupName, shares: Option<u64> },
    /// `task NAME [cpu C] [nice N] [policy P] [slice NS] [group PATH]`; `slice_ns` 0 is the default
    /// slice.
    Task { task: TaskName, cpu: u32, nice: i32, policy: Policy, slice_ns: u64, group: GroupName },
    /// `new NAME`: wake_up_new_task().
    New { task: TaskName },
    /// `wake NAME [sync] [cpu C]`: try_to_wake_up().
    Wake { task: TaskName, sync: bool, cpu: Option<u32> },
    /// `schedule C`: __schedule(), the current task still runnable.
    Schedule { cpu: u32 },
    /// `block C`: the current task sleeps interruptibly, then __schedule().
    Block { cpu: u32 },
    /// `exit C`: the current task dies.
    Exit { cpu: u32 },
    /// `tick C`: sched_tick().
    Tick { cpu: u32 },
    /// `yield C`: the class part of sched_yield().
    Yield { cpu: u32 },
    /// `yield-to C NAME`.
    YieldTo { cpu: u32, task: TaskName },
    /// `nice NAME N`: set_user_nice().
    Nice { task: TaskName, nice: i32 },
    /// `param NAME policy P nice N slice NS`: sched_setattr() within the fair class.
    Param { task: TaskName, policy: Policy, nice: i32, slice_ns: u64 },
    /// `move NAME PATH`: to another group, as cgroup attach does.
    Move { task: TaskName, group: GroupName },
    /// `shares PATH N`, in cpu.shares units (1024 = nice 0).
    Shares { group: GroupName, shares: u64 },
    /// `group-idle PATH 0|1`.
    GroupIdle { group: GroupName, idle: bool },
    /// `quota PATH PERIOD_US QUOTA_US|max`.
    Quota { group: GroupName, period_us: u64, quota_us: Option<u64> },
    /// `timers`: run the bandwidth timers that are due.
    Timers,
    /// `user-return C`: run the current task's pending task work.
    UserReturn { cpu: u32 },
    /// `migrate NAME C`: a queued, not running task moves.
    Migrate { task: TaskName, cpu: u32 },
    /// `update-curr C`.
    UpdateCurr { cpu: u32 },
    /// `update-blocked C`.
    UpdateBlocked { cpu: u32 },
    /// `finish-delayed NAME`: dequeue a delayed task for good.
    FinishDelayed { task: TaskName },
}

impl Op {
    /// Whether the statement is counted as an operation: all but `at`.
    pub fn is_operation(&self) -> bool {
        !matches!(self, Op::At { .. })
    }
}
