// SPDX-License-Identifier: GPL-2.0-only
//! The state of the queues as the laws have it: plain numbers, without tree, lists or links. Between two operations it
//! equals the machine's; each step moves it on by the rules alone.

use sched_core::features::SchedFeat;
use sched_core::sched::Policy;

/// NICE_0_LOAD: the weight at which virtual time is time.
pub(super) const N0: u64 = 1 << 20;

/// What last moved a value within the present operation: an explanation needs it, no rule does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Why {
    /// Nothing did.
    #[default]
    Kept,
    /// It ran.
    Charged,
    /// Its request was used up.
    Renewed,
    /// It joined.
    Placed,
    /// It was taken out for a change or a move.
    Taken,
    /// Its weight changed.
    Reweighted,
    /// It gave up the rest of its request.
    Yielded,
    /// It left, or was to leave.
    Left,
    /// It was woken before it had left.
    Requeued,
    /// It was picked.
    Picked,
    /// Somebody joined with a short request.
    Shortened,
    /// A wakeup preempts it.
    Preempted,
}

/// What last moved the values of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whys {
    pub vruntime: Why,
    pub deadline: Why,
    pub vlag: Why,
    pub vprot: Why,
}

/// A task. Units are those of the fields of the same names in the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub cpu: u32,
    pub group: u32,
    pub state: u32,
    pub on_rq: i32,
    pub static_prio: i32,
    pub policy: Policy,
    /// se->on_rq.
    pub queued: bool,
    /// Queued, and not the root queue's curr.
    pub in_tree: bool,
    pub delayed: bool,
    pub relative: bool,
    pub custom: bool,
    /// p->throttled.
    pub parked: bool,
    /// Its weight by nice value or policy.
    pub load: u64,
    /// Its flat weight.
    pub weight: u64,
    pub vruntime: u64,
    pub deadline: u64,
    pub vlag: i64,
    pub slice: u64,
    pub vprot: u64,
    pub exec_start: u64,
    pub sum_exec: u64,
    pub prev_sum_exec: u64,
    pub migrations: u64,
    /// Of equal deadlines the one that joined the tree first goes first.
    pub joined: u64,
    pub why: Whys,
    /// The present operation may have changed it.
    pub touched: bool,
}

/// A runqueue and its root queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cpu {
    pub clock: u64,
    /// The bits of rq->clock_update_flags.
    pub clock_flags: u32,
    /// rq->curr; none is the idle task.
    pub running: Option<u32>,
    /// The thread flags of what runs.
    pub tif: u32,
    /// rq->next_class is fair.
    pub fair_next: bool,
    pub nr_running: u32,
    pub nr_switches: u64,
    /// cfs_rq->curr.
    pub curr: Option<u32>,
    /// The buddy.
    pub next: Option<u32>,
    /// zero_vruntime.
    pub zero: u64,
    pub sum_weight: i128,
    pub sum_w_vruntime: i128,
    pub shift: u32,
    pub nr_queued: u32,
    pub nr_runnable: u32,
    /// How often something joined or left the groups' levels: shares may have changed.
    pub changes: u32,
}

/// What the machine is set to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    pub features: SchedFeat,
    pub base_slice: u64,
    pub normalized_base_slice: u64,
    pub migration_cost: u64,
    pub tick: u64,
}

/// All queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// By task name.
    pub tasks: Vec<Option<Task>>,
    /// The live tasks, in order of creation.
    pub live: Vec<u32>,
    pub cpus: Vec<Cpu>,
    pub set: Settings,
    /// What every clock reads, ns.
    pub now: u64,
    /// How often the trees were joined.
    pub joins: u64,
    /// A product or sum needs more bits than the class has: from here on its values are not those of exact arithmetic.
    pub wide: bool,
    /// Something was asked that cannot be between two operations: the state before was wrong already.
    pub lost: bool,
    /// Which of those that nothing concerned are looked at more closely next.
    pub turn: u32,
    /// The task that the operation names has to park, since its queue is throttled.
    pub must_park: bool,
    /// Whose flat weight was looked at, and how many changes of the levels came before that.
    pub weighed: Vec<(u32, u32)>,
}

/// What a step has to be told: it depends on load tracking and quotas, which have laws of their own.
pub(super) trait World {
    /// The product of the shares on the task's path, as they are now; none if a level has no weight.
    fn product_of_shares(&self, task: u32) -> Option<u64>;
    /// Its flat weight now.
    fn flat_weight(&self, task: u32) -> u64;
    /// It is parked now.
    fn is_parked(&self, task: u32) -> bool;
}

impl Model {
    pub fn on(&self, feature: SchedFeat) -> bool {
        self.set.features.contains(feature)
    }

    /// A live task.
    pub fn t(&mut self, task: u32) -> &mut Task {
        match &mut self.tasks[task as usize] {
            Some(t) => {
                t.touched = true;
                t
            }
            None => unreachable!("a task that operations name is live"),
        }
    }

    /// A live task, to be read.
    pub fn task(&self, task: u32) -> &Task {
        match &self.tasks[task as usize] {
            Some(t) => t,
            None => unreachable!("a task that operations name is live"),
        }
    }

    pub fn c(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu as usize]
    }

    pub fn cpu(&self, cpu: u32) -> &Cpu {
        &self.cpus[cpu as usize]
    }

    /// Those in the tree of `cpu`.
    pub fn tree(&self, cpu: u32) -> impl Iterator<Item = (u32, &Task)> {
        self.live.iter().filter_map(move |&name| {
            let t = self.tasks[name as usize].as_ref()?;
            (t.in_tree && t.cpu == cpu).then_some((name, t))
        })
    }

    /// The root queue's curr, if it competes.
    pub fn competing_curr(&self, cpu: u32) -> Option<u32> {
        self.cpu(cpu).curr.filter(|&curr| self.task(curr).queued)
    }

    /// `value` as the 64 bits that the class has for it.
    pub fn fit(&mut self, value: i128) -> i64 {
        self.wide |= i64::try_from(value).is_err();
        value as i64
    }

    /// `ns` of time as virtual time at `weight`, rounded down.
    pub fn virtual_time(&mut self, ns: u64, weight: u64) -> u64 {
        if weight == N0 {
            return ns;
        }
        if weight == 0 {
            self.wide = true;
            return ns;
        }
        if ns >> 44 != 0 {
            self.wide = true;
        }
        (u128::from(ns) * u128::from(N0)).checked_div(weight.into()).unwrap_or(0) as u64
    }
}

/// The order of virtual times, which wrap.
pub(super) fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The earlier.
pub(super) fn earlier(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}
