// SPDX-License-Identifier: GPL-2.0-only
//! What load tracking, shares and quotas should be: plain numbers, by index, kept beside the class.

use super::pelt::Avg;
use sched_core::sched::CgroupMode;

/// A task's or group entity's place: tasks by name, entities by the queue that they stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    /// A task.
    Task(usize),
    /// The entity of a group's queue.
    Gse(usize),
}

/// What is kept of a task, or of a group's entity on a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    pub avg: Avg,
    /// se->load.weight: its share in its group.
    pub weight: u64,
    /// The flat weight; tasks only.
    pub h_load: u64,
    pub runnable_weight: u64,
    /// rq->clock_task up to which it was charged, ns.
    pub exec_start: u64,
    /// The queue that it is, or will be, queued on.
    pub queue: usize,
    pub on_rq: bool,
    pub delayed: bool,
    /// p->throttled: it is parked.
    pub parked: bool,
    /// sched_throttle_work: it is to park itself.
    pub work: bool,
    /// It lives; of an entity: its group was made.
    pub live: bool,
    /// TASK_NEW.
    pub new: bool,
    /// It counts as queued to the core: p->on_rq.
    pub p_on_rq: bool,
    /// Its group, which a new one's queue may not be of yet.
    pub group: usize,
    /// static_prio.
    pub prio: i32,
    /// SCHED_IDLE.
    pub idle_policy: bool,
    /// The last operation that touched it.
    pub stamp: u64,
}

/// What left a queue from afar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Removed {
    pub nr: u32,
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
}

/// What is kept of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub avg: Avg,
    pub load: u64,
    pub nr_queued: u32,
    pub h_nr_queued: u32,
    pub h_nr_runnable: u32,
    pub h_nr_idle: u32,
    pub h_curr: Option<Who>,
    pub idle: bool,
    pub removed: Removed,
    pub last_update_tg: u64,
    pub load_contrib: u64,
    pub runnable_contrib: u64,
    pub propagate: bool,
    pub prop_runnable_sum: i64,
    pub on_list: bool,
    pub runtime_enabled: bool,
    pub runtime_remaining: i64,
    pub throttled: bool,
    pub throttle_count: i32,
    pub throttled_clock: u64,
    pub throttled_clock_self: u64,
    pub throttled_clock_self_time: u64,
    pub pelt_stands: bool,
    pub throttled_clock_pelt: u64,
    pub throttled_clock_pelt_time: u64,
    pub throttled_pelt_idle: u64,
    /// The parked tasks, first first.
    pub limbo: Vec<usize>,
    pub stamp: u64,
}

/// A timer: when, and as the how manieth it was armed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer {
    pub expires: u64,
    pub armed: Option<u64>,
}

/// What is kept of a group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub live: bool,
    /// As the how manieth it was made; the root group is 0.
    pub order: usize,
    pub parent: Option<usize>,
    /// Newest first.
    pub children: Vec<usize>,
    /// Levels below the root.
    pub depth: usize,
    pub shares: u64,
    pub idle: bool,
    pub load_avg: i64,
    pub runnable_avg: i64,
    pub period: u64,
    pub quota: u64,
    pub runtime: u64,
    pub runtime_snap: u64,
    pub pool_idle: bool,
    pub period_active: bool,
    pub slack_started: bool,
    pub period_timer: Timer,
    pub slack_timer: Timer,
    pub burst_time: u64,
    pub nr_burst: u64,
    pub nr_periods: u64,
    pub nr_throttled: u64,
    pub throttled_time: u64,
    /// Queues that wait for runtime, first first.
    pub waiting: Vec<usize>,
}

impl Default for Group {
    fn default() -> Self {
        Group {
            live: false,
            order: 0,
            parent: None,
            children: Vec::new(),
            depth: 0,
            shares: super::group::NICE_0,
            idle: false,
            load_avg: 0,
            runnable_avg: 0,
            period: 100_000_000,
            quota: u64::MAX,
            runtime: 0,
            runtime_snap: 0,
            pool_idle: false,
            period_active: false,
            slack_started: false,
            period_timer: Timer::default(),
            slack_timer: Timer::default(),
            burst_time: 0,
            nr_burst: 0,
            nr_periods: 0,
            nr_throttled: 0,
            throttled_time: 0,
            waiting: Vec::new(),
        }
    }
}

/// What is kept of a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    pub clock: u64,
    pub clock_task: u64,
    pub clock_pelt: u64,
    pub lost_idle_time: u64,
    pub clock_idle: u64,
    pub clock_pelt_idle: u64,
    /// RQCF_REQ_SKIP: the next schedule does not look at the clock.
    pub skip: bool,
    /// rq->curr; none: the idle task.
    pub curr: Option<usize>,
    /// The root queue's curr.
    pub cfs_curr: Option<usize>,
    /// A reschedule at once is asked for.
    pub resched: bool,
    /// The leaf list, first first, and the end of a branch that is being added.
    pub leaf: Vec<usize>,
    pub branch: Option<usize>,
}

/// What the machine was set to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switches {
    pub util_est: bool,
    pub attach_age_load: bool,
    pub preempt_short: bool,
    pub wakeup_preemption: bool,
    pub delay_dequeue: bool,
    /// Delayed tasks are requeued without a charge (a patch under trial).
    pub uncharged_requeue: bool,
    pub mode: CgroupMode,
}

/// What an operation changed, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub tasks: Vec<usize>,
    pub gses: Vec<usize>,
    pub queues: Vec<usize>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub cpus: usize,
    /// The number of this operation.
    pub op: u64,
    pub now: u64,
    pub set: Switches,
    pub tasks: Vec<Entity>,
    /// By queue.
    pub gses: Vec<Entity>,
    /// By group and CPU; the root group's first.
    pub queues: Vec<Queue>,
    pub groups: Vec<Group>,
    pub rqs: Vec<Cpu>,
    pub touched: Touched,
    /// How many groups were made.
    pub made: usize,
    /// How many timers were armed.
    pub timers: u64,
    /// Delayed tasks that a pick completed in this operation, in its order.
    pub completed: Vec<usize>,
}

impl Model {
    /// The queue of a group on a CPU.
    pub fn queue_of(&self, group: usize, cpu: usize) -> usize {
        group * self.cpus + cpu
    }

    /// The CPU of a queue.
    pub fn cpu_of(&self, queue: usize) -> usize {
        queue % self.cpus
    }

    /// The group of a queue.
    pub fn group_of(&self, queue: usize) -> usize {
        queue / self.cpus
    }

    /// Whether it is a root queue.
    pub fn is_root(&self, queue: usize) -> bool {
        queue < self.cpus
    }

    pub fn e(&self, who: Who) -> &Entity {
        match who {
            Who::Task(task) => &self.tasks[task],
            Who::Gse(queue) => &self.gses[queue],
        }
    }

    /// To change it: it is compared after the operation.
    pub fn em(&mut self, who: Who) -> &mut Entity {
        let (entity, touched, at) = match who {
            Who::Task(task) => (&mut self.tasks[task], &mut self.touched.tasks, task),
            Who::Gse(queue) => (&mut self.gses[queue], &mut self.touched.gses, queue),
        };
        if entity.stamp != self.op {
            entity.stamp = self.op;
            touched.push(at);
        }
        entity
    }

    pub fn q(&self, queue: usize) -> &Queue {
        &self.queues[queue]
    }

    pub fn qm(&mut self, queue: usize) -> &mut Queue {
        let q = &mut self.queues[queue];
        if q.stamp != self.op {
            q.stamp = self.op;
            self.touched.queues.push(queue);
        }
        q
    }

    /// The next operation begins.
    pub fn begin(&mut self) {
        self.op += 1;
        self.touched.tasks.clear();
        self.touched.gses.clear();
        self.touched.queues.clear();
    }

    /// The entity above.
    pub fn parent(&self, who: Who) -> Option<Who> {
        let queue = self.e(who).queue;
        (!self.is_root(queue)).then_some(Who::Gse(queue))
    }

    /// How many levels are above it.
    pub fn depth(&self, who: Who) -> usize {
        self.groups[self.group_of(self.e(who).queue)].depth
    }

    /// The queue above that of a group.
    pub fn queue_above(&self, queue: usize) -> Option<usize> {
        let parent = self.groups[self.group_of(queue)].parent?;
        Some(self.queue_of(parent, self.cpu_of(queue)))
    }

    /// Makes room for a group.
    pub fn make_room(&mut self, group: usize) {
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Group::default);
            let queues = (group + 1) * self.cpus;
            self.queues.resize_with(queues, Queue::default);
            self.gses.resize_with(queues, Entity::default);
        }
    }
}
