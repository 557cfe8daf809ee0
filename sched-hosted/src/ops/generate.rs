// SPDX-License-Identifier: GPL-2.0-only
//! Random legal operations over any [`Class`].
//!
//! The generator looks at the class from outside only (who is current, who sleeps, who is delayed)
//! and builds statements that make sense there; the class's own check has the last word. One seed,
//! one stream of random numbers, one sequence of operations, for ever: what changes it breaks saved
//! seeds and is named in the CHANGELOG.

mod profile;

pub use profile::{Kind, Profile, Step};

use super::class::TaskInfo;
use super::{
    Class, GroupName, Header, Op, Policy, Program, Resched, Statement, TaskName, TaskState,
};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// So many names are looked at for a task in the wanted state before another statement is tried.
const PROBES: u32 = 64;
/// So many statements are tried before `schedule`, which is always legal.
const TRIES: u32 = 64;
/// So many statements stand under one [`Mood`].
const MOOD_STATEMENTS: u32 = 300;

/// Values at the bounds of what is allowed, and right beside them.
const STEPS_NS: [u64; 8] =
    [0, 1, 1_023, 1_024, 1_000_000, 4_000_000, 1_000_000_000, 10_000_000_000];
const NICE: [i32; 6] = [-20, -19, 0, 1, 18, 19];
const SLICES_NS: [u64; 7] = [0, 1, 100_000, 100_001, 99_999_999, 100_000_000, u64::MAX];
const SHARES: [u64; 7] = [1, 2, 3, 1_024, (1 << 18) - 1, 1 << 18, (1 << 18) + 1];
const QUOTAS_US: [(u64, Option<u64>); 7] = [
    (1_000, Some(1_000)),
    (1_000, Some(1_000_000)),
    (1_000_000, Some(1_000)),
    (1_000_000, Some(1_000_000)),
    (100_000, Some(1_000)),
    (100_000, Some(50_000)),
    (100_000, None),
];

/// Which way the number of runnable tasks drifts: long queues and empty ones both come up.
#[derive(Clone, Copy, Debug)]
enum Mood {
    Balanced,
    Sleepy,
    Busy,
}

impl Mood {
    /// All, in the order in which they are drawn.
    const ALL: [Mood; 3] = [Mood::Balanced, Mood::Sleepy, Mood::Busy];

    /// The weights of the kinds up to each, itself included.
    fn weights_up_to(self, profile: &Profile) -> [u64; Kind::NR] {
        let mut sum = 0;
        Kind::ALL.map(|kind| {
            sum += u64::from(profile.weight(kind)) * u64::from(self.factor(kind));
            sum
        })
    }

    /// What the weight of `kind` is multiplied by.
    fn factor(self, kind: Kind) -> u32 {
        match (self, kind) {
            (Mood::Sleepy, Kind::Block) | (Mood::Busy, Kind::Wake) => 3,
            _ => 1,
        }
    }
}

/// A source of legal operations.
#[derive(Clone, Debug)]
pub struct Generator {
    profile: Profile,
    rng: Xoshiro256PlusPlus,
    mood: Mood,
    mood_left: u32,
    /// For each mood: the weights of the kinds up to each.
    weights_up_to: [[u64; Kind::NR]; Mood::ALL.len()],
    /// The task that was just made: its `new` usually follows at once.
    born: Option<TaskName>,
    /// How many of the profile's groups were made: they come in order, each after the one above.
    groups_made: u32,
}

impl Generator {
    /// The generator of this seed. The class that it is used with must know [`Profile::names`].
    pub fn new(seed: u64, profile: Profile) -> Self {
        let profile = Profile { tasks: profile.tasks.max(1), ..profile };
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Generator {
            rng,
            weights_up_to: Mood::ALL.map(|mood| mood.weights_up_to(&profile)),
            profile,
            mood: Mood::Balanced,
            mood_left: MOOD_STATEMENTS,
            born: None,
            groups_made: 0,
        }
    }

    /// A statement that is legal in the present state of `class`.
    pub fn next<C: Class + ?Sized>(&mut self, class: &C) -> Op {
        self.pass_mood();
        for _ in 0..TRIES {
            let candidate = match self.urgent(class) {
                Some(op) => Some(op),
                None => {
                    let kind = self.kind();
                    self.candidate(kind, class)
                }
            };
            if let Some(op) = candidate.filter(|op| class.check(op).is_ok()) {
                self.born = match op {
                    Op::Task { task, .. } => Some(task),
                    _ => None,
                };
                return op;
            }
        }
        Op::Schedule { cpu: 0 }
    }

    fn pass_mood(&mut self) {
        self.mood_left -= 1;
        if self.mood_left == 0 {
            self.mood_left = MOOD_STATEMENTS;
            self.mood = self.one_of(&Mood::ALL);
        }
    }

    /// What usually comes next in this state: `new` after `task`, groups that are missing, `schedule`
    /// after a resched, work for an idle CPU; always: `schedule` after a task parked itself.
    fn urgent<C: Class + ?Sized>(&mut self, class: &C) -> Option<Op> {
        if let Some(task) = self.born.take()
            && self.percent(85)
        {
            return Some(Op::New { task });
        }
        if self.groups_made < self.profile.groups && self.percent(20) {
            return self.new_group();
        }
        let cpu = self.cpu(class);
        if parked(class, cpu) {
            return Some(Op::Schedule { cpu });
        }
        let likely = match class.resched(cpu) {
            Resched::None => 0,
            Resched::Lazy => self.profile.schedule_after_lazy_percent,
            Resched::Now => self.profile.schedule_after_now_percent,
        };
        if likely != 0 && self.percent(likely) {
            return Some(Op::Schedule { cpu });
        }
        if class.current(cpu).is_none() && self.percent(25) {
            return self.wake(class, cpu).or_else(|| self.task(class, cpu));
        }
        None
    }

    /// A kind of statement, by the weights of the profile and the mood.
    fn kind(&mut self) -> Kind {
        let total = self.weights_up_to[self.mood as usize][Kind::NR - 1];
        let drawn = self.below(total.max(1));
        let up_to = &self.weights_up_to[self.mood as usize];
        up_to.iter().position(|&sum| drawn < sum).map_or(Kind::Schedule, |at| Kind::ALL[at])
    }

    /// A statement of that kind, if the state seems to have room for one.
    fn candidate<C: Class + ?Sized>(&mut self, kind: Kind, class: &C) -> Option<Op> {
        let cpu = self.cpu(class);
        Some(match kind {
            Kind::At => Op::At { ns: self.later(class)? },
            Kind::Task => self.task(class, cpu)?,
            Kind::New => Op::New { task: self.find(class, |t| t.state == TaskState::New)? },
            Kind::Wake => self.wake(class, cpu)?,
            Kind::Schedule => Op::Schedule { cpu },
            Kind::Block => Op::Block { cpu },
            Kind::Exit => Op::Exit { cpu },
            Kind::Tick => Op::Tick { cpu },
            Kind::Yield => Op::Yield { cpu },
            Kind::YieldTo => Op::YieldTo { cpu, task: self.find(class, |t| is_queued(t, cpu))? },
            Kind::Nice => Op::Nice { task: self.find(class, |_| true)?, nice: self.nice() },
            Kind::Param => {
                let task = self.find(class, |_| true)?;
                let (policy, nice) = (self.policy(), self.nice());
                Op::Param { task, policy, nice, slice_ns: self.slice() }
            }
            Kind::UpdateCurr => Op::UpdateCurr { cpu },
            Kind::UpdateBlocked => Op::UpdateBlocked { cpu },
            Kind::FinishDelayed => {
                Op::FinishDelayed { task: self.find(class, |t| t.state == TaskState::Delayed)? }
            }
            Kind::Migrate => Op::Migrate {
                task: self.find(class, |t| !t.running && t.cpu != cpu && is_on_rq(t))?,
                cpu,
            },
            Kind::Group => self.new_group()?,
            Kind::Move => Op::Move { task: self.find(class, |_| true)?, group: self.any_group() },
            Kind::Shares => Op::Shares { group: self.group()?, shares: self.shares() },
            Kind::GroupIdle => Op::GroupIdle { group: self.group()?, idle: self.percent(50) },
            Kind::Quota => self.quota()?,
            Kind::Timers => Op::Timers,
            Kind::UserReturn => Op::UserReturn { cpu },
        })
    }

    fn task<C: Class + ?Sized>(&mut self, class: &C, cpu: u32) -> Option<Op> {
        let at = self.below(u64::from(self.profile.tasks)) as u32;
        let mut probes = (0..self.profile.tasks.min(PROBES)).map(|i| self.name(at, i));
        let task = probes.find(|&name| class.task(name).is_none())?;
        let group = if self.percent(25) { GroupName::ROOT } else { self.any_group() };
        let (nice, policy, slice_ns) = (self.nice(), self.policy(), self.slice());
        Some(Op::Task { task, cpu, nice, policy, slice_ns, group })
    }

    fn wake<C: Class + ?Sized>(&mut self, class: &C, cpu: u32) -> Option<Op> {
        let asleep = |t: &TaskInfo| matches!(t.state, TaskState::Blocked | TaskState::Delayed);
        let task = self.find(class, asleep)?;
        let sync = self.percent(30);
        let elsewhere = class.nr_cpus() > 1 && self.percent(40);
        Some(Op::Wake { task, sync, cpu: elsewhere.then_some(cpu) })
    }

    fn new_group(&mut self) -> Option<Op> {
        if self.groups_made == self.profile.groups {
            return None;
        }
        self.groups_made += 1;
        let group = GroupName(self.groups_made);
        Some(Op::Group { group, shares: self.percent(60).then(|| self.shares()) })
    }

    fn quota(&mut self) -> Option<Op> {
        let group = self.group()?;
        if self.extreme() {
            let (period_us, quota_us) = self.one_of(&QUOTAS_US);
            return Some(Op::Quota { group, period_us, quota_us });
        }
        let period_us = self.log_uniform(1_000, 1_000_000);
        let quota_us = (!self.percent(20)).then(|| self.log_uniform(1_000, period_us * 2));
        Some(Op::Quota { group, period_us, quota_us })
    }

    /// The `i`-th name after the `at`-th, in a ring.
    fn name(&self, at: u32, i: u32) -> TaskName {
        TaskName((at + i) % self.profile.tasks)
    }

    /// A live task that is `wanted`: the first in a ring of names, from a random one on.
    fn find<C: Class + ?Sized>(
        &mut self,
        class: &C,
        wanted: impl Fn(&TaskInfo) -> bool,
    ) -> Option<TaskName> {
        let at = self.below(u64::from(self.profile.tasks)) as u32;
        (0..self.profile.tasks.min(PROBES))
            .map(|i| self.name(at, i))
            .find(|&name| class.task(name).is_some_and(|task| wanted(&task)))
    }

    /// A later time. Only an idle machine is left alone for longer than ten seconds, unless the
    /// profile is wild: a CPU that runs something sees ticks.
    fn later<C: Class + ?Sized>(&mut self, class: &C) -> Option<u64> {
        if self.extreme() {
            return class.now().checked_add(self.one_of(&STEPS_NS));
        }
        let total: u64 = self.profile.steps.iter().map(|step| u64::from(step.weight)).sum();
        let mut left = self.below(total.max(1));
        let chosen = self.profile.steps.iter().find(|step| {
            let here = left < u64::from(step.weight);
            left = left.saturating_sub(u64::from(step.weight));
            here
        });
        let (low, high) = chosen.map(|step| (step.low_ns, step.high_ns))?;
        // A CPU that was told to schedule is about to charge what passes until it does.
        let idle = |cpu| class.current(cpu).is_none() && class.resched(cpu) == Resched::None;
        let idle = (0..class.nr_cpus()).all(idle);
        let high = if idle || self.profile.unticked { high } else { high.min(10_000_000_000) };
        class.now().checked_add(self.log_uniform(low.min(high), high))
    }

    fn nice(&mut self) -> i32 {
        if self.extreme() {
            return self.one_of(&NICE);
        }
        if self.percent(self.profile.nice_zero_percent) {
            return 0;
        }
        let (low, high) = (*self.profile.nice.start(), *self.profile.nice.end());
        low + self.below((high - low + 1).max(1) as u64) as i32
    }

    fn policy(&mut self) -> Policy {
        let [normal, batch, idle] = self.profile.policies;
        match self.below(u64::from(normal) + u64::from(batch) + u64::from(idle)) as u32 {
            at if at < normal => Policy::Normal,
            at if at - normal < batch => Policy::Batch,
            _ => Policy::Idle,
        }
    }

    /// Mostly the default slice or one that a user might ask for; now and then any number at all.
    fn slice(&mut self) -> u64 {
        if self.extreme() {
            return self.one_of(&SLICES_NS);
        }
        match self.below(100) as u32 {
            at if at >= self.profile.slice_percent => 0,
            0 => self.log_uniform(1, u64::MAX),
            _ => self.log_uniform(100_000, 20_000_000),
        }
    }

    /// A group that was made, but not the root group.
    fn group(&mut self) -> Option<GroupName> {
        let groups = self.groups_made;
        (groups != 0).then(|| GroupName(1 + self.below(u64::from(groups)) as u32))
    }

    fn any_group(&mut self) -> GroupName {
        GroupName(self.below(u64::from(self.groups_made) + 1) as u32)
    }

    /// Mostly what a user might write; the whole range, from 2 to 2^18, now and then.
    fn shares(&mut self) -> u64 {
        if self.extreme() {
            return self.one_of(&SHARES);
        }
        let high = if self.percent(20) { 1 << 18 } else { 10_000 };
        self.log_uniform(2, high)
    }

    fn cpu<C: Class + ?Sized>(&mut self, class: &C) -> u32 {
        match class.nr_cpus() {
            1 => 0,
            cpus => self.below(u64::from(cpus)) as u32,
        }
    }

    /// Whether the next value is one of the bounds. A profile without them draws no random number for it.
    fn extreme(&mut self) -> bool {
        self.profile.extremes_percent != 0 && self.percent(self.profile.extremes_percent)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`, each power of two as likely as the next.
    fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.min(high), high);
        let bits = |number: u64| u64::from(u64::BITS - number.leading_zeros());
        let length = bits(low) + self.below(bits(high) - bits(low) + 1);
        let floor = if length == 0 { 0 } else { 1 << (length - 1) };
        let ceiling = if length == 0 { 0 } else { floor - 1 + floor };
        let (floor, ceiling) = (floor.max(low), ceiling.min(high));
        match (ceiling - floor).checked_add(1) {
            Some(span) => floor + self.below(span),
            None => self.rng.next_u64(),
        }
    }
}

/// The current task of `cpu` has parked itself, and waits for the schedule.
fn parked<C: Class + ?Sized>(class: &C, cpu: u32) -> bool {
    class.current(cpu).and_then(|name| class.task(name)).is_some_and(|task| task.throttled)
}

fn is_on_rq(task: &TaskInfo) -> bool {
    matches!(task.state, TaskState::Runnable | TaskState::Delayed) && !task.throttled
}

fn is_queued(task: &TaskInfo, cpu: u32) -> bool {
    task.state == TaskState::Runnable && !task.running && !task.throttled && task.cpu == cpu
}

/// Runs `operations` random operations (statements but `at`) on `class`, which `header` describes,
/// and returns what it did, to be saved and replayed.
pub fn generate_program(
    class: &mut dyn Class,
    header: &Header,
    generator: &mut Generator,
    operations: u64,
) -> Program {
    let names = class.names().clone();
    let mut statements = Vec::new();
    let mut done = 0;
    while done < operations {
        let op = generator.next(class);
        class.run(&op);
        done += u64::from(op.is_operation());
        statements.push(Statement { op, line: 0 });
    }
    Program { header: header.clone(), names, statements }
}

#[cfg(test)]
mod tests;
