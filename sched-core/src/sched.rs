// SPDX-License-Identifier: GPL-2.0-only
//! sched.h: the structures, their flags, and the small accessors that everything uses.
//!
//! All links are references into an arena of the host that lives for `'a`; all fields are [`Cell`]s or atomics, since
//! entities and runqueues are linked and aliased as in C. `H` is what the machine reports to
//! ([`Hooks`]).
//!
//! Units: every time is in ns. Clocks, vruntime, deadline and vprot wrap and are compared by [`vruntime_before`] only.
//! Virtual time is weighted: a task of weight `w` that runs for `d` ns advances by `d * NICE_0_LOAD / w`.

use crate::bug::bug;
use crate::fair::bandwidth::CfsBandwidth;
use crate::fair::load::LoadWeight;
use crate::features::SchedFeat;
use crate::list::{CsdNode, GroupNode, LeafCfsRqList, LimboNode, List, Siblings};
use crate::patches::Patches;
use crate::pelt::SchedAvg;
use crate::rbtree::{RbEntry, RbNode, RbRootCached};
use crate::sync::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering, RawSpinlock, RawSpinlockGuard,
};
use crate::trace::{Counter, Hooks};
use bitflags::bitflags;
use core::cell::Cell;
use core::ptr;
use intrusive_collections::LinkedListLink;
use static_assertions::const_assert;

/// 10^9.
pub const NSEC_PER_SEC: u64 = 1_000_000_000;
/// 10^6.
pub const NSEC_PER_MSEC: u64 = 1_000_000;

bitflags! {
    /// The flags of enqueue_task() and dequeue_task(). As in C those of the low half come in pairs of one value, so
    /// that sched_change can use one word for both.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct QueueFlags: u32 {
        /// It goes to sleep.
        const DEQUEUE_SLEEP = 0x0001;
        /// For a change; it comes back at once.
        const DEQUEUE_SAVE = 0x0002;
        /// It may change its place in the queue.
        const DEQUEUE_MOVE = 0x0004;
        /// The clock has been read already.
        const DEQUEUE_NOCLOCK = 0x0008;
        /// It leaves for another CPU.
        const DEQUEUE_MIGRATING = 0x0010;
        /// A delayed dequeue is completed.
        const DEQUEUE_DELAYED = 0x0020;
        /// It changes its class.
        const DEQUEUE_CLASS = 0x0040;
        /// It sleeps in a special state: never delayed.
        const DEQUEUE_SPECIAL = 0x0001_0000;
        /// Its group used up its quota.
        const DEQUEUE_THROTTLE = 0x0002_0000;
        /// Not of the kernel: the caller has just charged curr (patch skip-dequeue-charge).
        const DEQUEUE_CHARGED = 0x8000_0000;

        /// It was woken.
        const ENQUEUE_WAKEUP = 0x0001;
        /// Back from a change.
        const ENQUEUE_RESTORE = 0x0002;
        /// It may change its place in the queue.
        const ENQUEUE_MOVE = 0x0004;
        /// The clock has been read already.
        const ENQUEUE_NOCLOCK = 0x0008;
        /// It comes from another CPU.
        const ENQUEUE_MIGRATING = 0x0010;
        /// It was woken with its dequeue delayed: it is queued still.
        const ENQUEUE_DELAYED = 0x0020;
        /// It changes its class.
        const ENQUEUE_CLASS = 0x0040;
        /// To the front of its priority (no part in the fair class).
        const ENQUEUE_HEAD = 0x0001_0000;
        /// Its budget is filled up (no part in the fair class).
        const ENQUEUE_REPLENISH = 0x0002_0000;
        /// It was on another CPU before.
        const ENQUEUE_MIGRATED = 0x0004_0000;
        /// It is new.
        const ENQUEUE_INITIAL = 0x0008_0000;
        /// A CPU was selected for it.
        const ENQUEUE_RQ_SELECTED = 0x0010_0000;
        /// It is counted in h_nr_queued already.
        const ENQUEUE_QUEUED = 0x0020_0000;
    }

    /// The flags of a wakeup.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct WakeFlags: u32 {
        /// After exec.
        const WF_EXEC = 0x02;
        /// After fork.
        const WF_FORK = 0x04;
        /// By try_to_wake_up().
        const WF_TTWU = 0x08;
        /// The waker is about to sleep.
        const WF_SYNC = 0x10;
        /// It was on another CPU.
        const WF_MIGRATED = 0x20;
        /// It would best run on the waker's CPU.
        const WF_CURRENT_CPU = 0x40;
        /// A CPU was selected for it.
        const WF_RQ_SELECTED = 0x80;
    }

    /// rq->clock_update_flags. __schedule() shifts REQ_SKIP to ACT_SKIP.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RqClockFlags: u32 {
        /// The next __schedule() is to leave it out.
        const RQCF_REQ_SKIP = 0x01;
        /// It is left out now.
        const RQCF_ACT_SKIP = 0x02;
        /// It was looked at since the lock was taken.
        const RQCF_UPDATED = 0x04;
    }

    /// rq->hrtick_sched.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct HrtickSched: u32 {
        /// In the middle of __schedule(): the timer is set at its end.
        const HRTICK_SCHED_DEFER = 0x02;
        /// There is something to set.
        const HRTICK_SCHED_START = 0x04;
    }

    /// The bits of thread_info->flags that the scheduler sets.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Tif: u32 {
        /// Schedule at once.
        const NEED_RESCHED = 1 << 0;
        /// Schedule on the way to user mode.
        const NEED_RESCHED_LAZY = 1 << 1;
    }
}

/// p->on_rq: queued.
pub const TASK_ON_RQ_QUEUED: i32 = 1;
/// p->on_rq: between two runqueues.
pub const TASK_ON_RQ_MIGRATING: i32 = 2;

/// p->__state.
pub const TASK_RUNNING: u32 = 0x0000;
/// p->__state: asleep until a wakeup or a signal.
pub const TASK_INTERRUPTIBLE: u32 = 0x0001;
/// p->__state: gone.
pub const TASK_DEAD: u32 = 0x0080;
/// p->__state: between the decision to wake it and its enqueue.
pub const TASK_WAKING: u32 = 0x0200;
/// p->__state: after fork, before wake_up_new_task().
pub const TASK_NEW: u32 = 0x0800;

/// is_special_task_state(): states that must not see spurious wakeups.
pub const fn is_special_task_state(state: u32) -> bool {
    state & TASK_DEAD != 0
}

/// The static priority of nice 0.
pub const DEFAULT_PRIO: i32 = 120;
/// The first priority that is not real-time.
pub const MAX_RT_PRIO: i32 = 100;

/// NICE_TO_PRIO().
pub const fn nice_to_prio(nice: i32) -> i32 {
    nice + DEFAULT_PRIO
}

/// PRIO_TO_NICE().
pub const fn prio_to_nice(prio: i32) -> i32 {
    prio - DEFAULT_PRIO
}

/// A policy of the fair class, by its number in the kernel's interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(non_camel_case_types, missing_docs)]
pub enum Policy {
    #[default]
    SCHED_NORMAL = 0,
    SCHED_BATCH = 3,
    SCHED_IDLE = 5,
}

/// The scheduling classes there are here, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[allow(missing_docs)]
pub enum SchedClass {
    Idle,
    #[default]
    Fair,
}

/// The kernel's cgroup_mode: how a group's shares follow its tasks and CPUs.
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

/// struct sched_entity: a task, or a group on one CPU, as something to be scheduled.
///
/// The first cache line is what the way down the tree, the pick and the repair of subtree values read of every node on
/// the way; the second is what else enqueue, charge and dequeue touch of the entity itself. (C begins with the loads,
/// and has vruntime and slice two lines further.)
#[repr(C)]
pub struct SchedEntity<'a, H: Hooks + 'a> {
    /// Its place in the tree, by deadline.
    pub run_node: RbNode<'a, SchedEntity<'a, H>>,
    /// Virtual deadline; absolute, wraps. Relative (to vruntime) while `rel_deadline`, and inside a reweight to V.
    pub deadline: Cell<u64>,
    /// The least vruntime in its subtree; means nothing off the tree.
    pub min_vruntime: Cell<u64>,
    /// Virtual runtime; absolute, wraps.
    pub vruntime: Cell<u64>,
    /// The shortest slice in its subtree, ns; means nothing off the tree.
    pub min_slice: Cell<u64>,
    /// The longest slice in its subtree, ns; means nothing off the tree.
    pub max_slice: Cell<u64>,
    /// Request size, ns.
    pub slice: Cell<u64>,
    /// Its flat weight at the root: the product of the shares on its path. What virtual time divides by.
    pub h_load: LoadWeight,
    /// The vruntime up to which it is protected from preemption; absolute, wraps. Relative to V inside a reweight.
    pub vprot: Cell<u64>,
    /// V - vruntime when it was dequeued, so virtual (unscaled by weight) and signed.
    pub vlag: Cell<i64>,
    /// rq->clock_task up to which it was charged, ns.
    pub exec_start: Cell<u64>,
    /// All that it ran, ns.
    pub sum_exec_runtime: Cell<u64>,
    /// Queued: in the tree, or curr.
    pub on_rq: Cell<bool>,
    /// Asleep but kept queued until its lag is gone.
    pub sched_delayed: Cell<bool>,
    /// `deadline` is relative.
    pub rel_deadline: Cell<bool>,
    /// `slice` was asked for, not the default.
    pub custom_slice: Cell<bool>,
    /// Its share in its group: the nice weight of a task.
    pub load: LoadWeight,
    /// Link in rq->cfs_tasks.
    pub group_node: LinkedListLink,
    /// The queue that it is (to be) queued on.
    pub cfs_rq: Cell<Option<&'a CfsRq<'a, H>>>,
    /// The group entity above; none at the root.
    pub parent: Cell<Option<&'a SchedEntity<'a, H>>>,
    /// The queue that it owns: a group entity.
    pub my_q: Cell<Option<&'a CfsRq<'a, H>>>,
    /// The task that it is; takes the place of container_of().
    task: Cell<Option<&'a TaskStruct<'a, H>>>,
    /// sum_exec_runtime when it was last picked.
    pub prev_sum_exec_runtime: Cell<u64>,
    /// How many below a group's entity want to run, when last looked at.
    pub runnable_weight: Cell<u64>,
    /// How often it changed CPU.
    pub nr_migrations: Cell<u64>,
    /// Level below the root: 0 for what is queued at the root.
    pub depth: Cell<i32>,
    /// Its load averages.
    pub avg: SchedAvg,
}

impl<'a, H: Hooks + 'a> RbEntry<'a> for SchedEntity<'a, H> {
    #[inline(always)]
    fn rb_node(&self) -> &RbNode<'a, Self> {
        &self.run_node
    }
}

impl<'a, H: Hooks + 'a> SchedEntity<'a, H> {
    /// An entity of zeros.
    pub fn new() -> Self {
        SchedEntity {
            load: LoadWeight::default(),
            h_load: LoadWeight::default(),
            run_node: RbNode::new(),
            deadline: Cell::new(0),
            min_vruntime: Cell::new(0),
            min_slice: Cell::new(0),
            max_slice: Cell::new(0),
            group_node: LinkedListLink::new(),
            on_rq: Cell::new(false),
            sched_delayed: Cell::new(false),
            rel_deadline: Cell::new(false),
            custom_slice: Cell::new(false),
            exec_start: Cell::new(0),
            sum_exec_runtime: Cell::new(0),
            prev_sum_exec_runtime: Cell::new(0),
            vruntime: Cell::new(0),
            vlag: Cell::new(0),
            vprot: Cell::new(0),
            slice: Cell::new(0),
            nr_migrations: Cell::new(0),
            depth: Cell::new(0),
            parent: Cell::new(None),
            cfs_rq: Cell::new(None),
            my_q: Cell::new(None),
            task: Cell::new(None),
            runnable_weight: Cell::new(0),
            avg: SchedAvg::default(),
        }
    }
}

impl<'a, H: Hooks + 'a> Default for SchedEntity<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

/// cfs_rq->removed: what left a queue without taking its runqueue's lock; under a lock of its own.
#[derive(Default)]
pub struct Removed {
    /// The lock.
    pub lock: RawSpinlock,
    /// How many left; looked at without the lock.
    pub nr: AtomicU32,
    /// Their load averages.
    pub load_avg: Cell<u64>,
    /// Their utilisation averages.
    pub util_avg: Cell<u64>,
    /// Their runnable averages.
    pub runnable_avg: Cell<u64>,
}

/// struct cfs_rq: the root one has the flat tree of all tasks; the others keep their group's counts and weight.
#[repr(C)]
pub struct CfsRq<'a, H: Hooks + 'a> {
    /// The weight of what is queued on this level.
    pub load: LoadWeight,
    /// How many entities are queued on this level.
    pub nr_queued: Cell<u32>,
    /// How many tasks are queued here and below, delayed ones included.
    pub h_nr_queued: Cell<u32>,
    /// The same without delayed ones.
    pub h_nr_runnable: Cell<u32>,
    /// How many of them are of SCHED_IDLE or in an idle group.
    pub h_nr_idle: Cell<u32>,
    /// Sum of weight * (vruntime - zero_vruntime) over the tree, curr left out; root only.
    pub sum_w_vruntime: Cell<i64>,
    /// Sum of the weights over the tree, curr left out; root only.
    pub sum_weight: Cell<u64>,
    /// The reference that keys are relative to, near V; absolute, wraps; root only.
    pub zero_vruntime: Cell<u64>,
    /// How many weight bits the sums leave out (PARANOID_AVG).
    pub sum_shift: Cell<u32>,
    /// The tree; root only.
    pub tasks_timeline: RbRootCached<'a, SchedEntity<'a, H>>,
    /// The running task's entity, outside the tree; root only.
    pub curr: Cell<Option<&'a SchedEntity<'a, H>>>,
    /// The buddy; root only.
    pub next: Cell<Option<&'a SchedEntity<'a, H>>>,
    /// The running entity of this level.
    pub h_curr: Cell<Option<&'a SchedEntity<'a, H>>>,
    /// The runqueue that it belongs to.
    pub rq: Cell<Option<&'a Rq<'a, H>>>,
    /// The group that it belongs to.
    pub tg: Cell<Option<&'a TaskGroup<'a, H>>>,
    /// The group's idle value: above 0 if the group is SCHED_IDLE.
    pub idle: Cell<i32>,
    /// The load averages of all its entities, blocked ones included.
    pub avg: SchedAvg,
    /// What left it from afar.
    pub removed: Removed,
    /// rq->clock when the group's sums were last brought up to date, ns.
    pub last_update_tg_load_avg: Cell<u64>,
    /// What of tg->load_avg comes from here.
    pub tg_load_avg_contrib: Cell<u64>,
    /// What of tg->runnable_avg comes from here.
    pub tg_runnable_avg_contrib: Cell<u64>,
    /// There is something for the level above to take over.
    pub propagate: Cell<i64>,
    /// The change of the unweighted load sum that it is to take over; signed.
    pub prop_runnable_sum: Cell<i64>,
    /// It is in rq->leaf_cfs_rq_list.
    pub on_list: Cell<bool>,
    /// Link in rq->leaf_cfs_rq_list.
    pub leaf_cfs_rq_list: LinkedListLink,
    /// A quota applies.
    pub runtime_enabled: Cell<bool>,
    /// What is left of what was taken from the group's pool, ns; negative: overdrawn.
    pub runtime_remaining: Cell<i64>,
    /// rq->clock since when tasks of it are parked, ns; 0: none.
    pub throttled_clock: Cell<u64>,
    /// The same, for any throttled level above as well.
    pub throttled_clock_self: Cell<u64>,
    /// How long that was in all, ns.
    pub throttled_clock_self_time: Cell<u64>,
    /// Its quota is used up.
    pub throttled: Cell<bool>,
    /// How many levels, this one and those above, are throttled.
    pub throttle_count: Cell<i32>,
    /// Link in cfs_b->throttled_cfs_rq.
    pub throttled_list: LinkedListLink,
    /// Link in rq->cfsb_csd_list.
    pub throttled_csd_list: LinkedListLink,
    /// The tasks that are parked here.
    pub throttled_limbo_list: List<LimboNode<'a, H>>,
    /// The PELT clock stands: throttled and empty.
    pub pelt_clock_throttled: Cell<bool>,
    /// The PELT clock when it was stopped, ns.
    pub throttled_clock_pelt: Cell<u64>,
    /// For how long it stood in all, ns.
    pub throttled_clock_pelt_time: Cell<u64>,
    /// The same when the queue became empty, for those who leave from afar; all ones if it stands.
    pub throttled_pelt_idle: AtomicU64,
}

impl<'a, H: Hooks + 'a> CfsRq<'a, H> {
    /// An empty queue of no CPU and no group yet: init_cfs_rq().
    pub fn new() -> Self {
        let cfs_rq = CfsRq {
            load: LoadWeight::default(),
            nr_queued: Cell::new(0),
            h_nr_queued: Cell::new(0),
            h_nr_runnable: Cell::new(0),
            h_nr_idle: Cell::new(0),
            sum_w_vruntime: Cell::new(0),
            sum_weight: Cell::new(0),
            zero_vruntime: Cell::new(0),
            sum_shift: Cell::new(0),
            tasks_timeline: RbRootCached::new(),
            curr: Cell::new(None),
            next: Cell::new(None),
            h_curr: Cell::new(None),
            rq: Cell::new(None),
            tg: Cell::new(None),
            idle: Cell::new(0),
            avg: SchedAvg::default(),
            removed: Removed::default(),
            last_update_tg_load_avg: Cell::new(0),
            tg_load_avg_contrib: Cell::new(0),
            tg_runnable_avg_contrib: Cell::new(0),
            propagate: Cell::new(0),
            prop_runnable_sum: Cell::new(0),
            on_list: Cell::new(false),
            leaf_cfs_rq_list: LinkedListLink::new(),
            runtime_enabled: Cell::new(false),
            runtime_remaining: Cell::new(0),
            throttled_clock: Cell::new(0),
            throttled_clock_self: Cell::new(0),
            throttled_clock_self_time: Cell::new(0),
            throttled: Cell::new(false),
            throttle_count: Cell::new(0),
            throttled_list: LinkedListLink::new(),
            throttled_csd_list: LinkedListLink::new(),
            throttled_limbo_list: List::new(),
            pelt_clock_throttled: Cell::new(false),
            throttled_clock_pelt: Cell::new(0),
            throttled_clock_pelt_time: Cell::new(0),
            throttled_pelt_idle: AtomicU64::new(0),
        };
        crate::fair::init_cfs_rq(&cfs_rq);
        cfs_rq
    }
}

impl<'a, H: Hooks + 'a> Default for CfsRq<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

/// struct task_group. The root group stands in the [`Machine`]; the host owns all others, and their queues.
pub struct TaskGroup<'a, H: Hooks + 'a> {
    /// The host's number for it; 0 is the root group.
    pub id: Cell<u32>,
    /// The group's queue on each CPU; empty for the root group, whose queues stand in the runqueues.
    pub cfs_rq: Cell<&'a [CfsRq<'a, H>]>,
    /// The group's entity on each CPU; empty for the root group.
    pub se: Cell<&'a [SchedEntity<'a, H>]>,
    /// The runqueues, for the root group.
    pub runqueues: Cell<&'a [Rq<'a, H>]>,
    /// cpu.shares, scaled: 1024 << 10 is nice 0.
    pub shares: AtomicU64,
    /// Above 0: the group is SCHED_IDLE.
    pub idle: Cell<i32>,
    /// Sum of the load averages of its queues (load tracking).
    pub load_avg: AtomicI64,
    /// Sum of the runnable averages of its queues (load tracking).
    pub runnable_avg: AtomicI64,
    /// The group above; none for the root group.
    pub parent: Cell<Option<&'a TaskGroup<'a, H>>>,
    /// The groups right below, newest first.
    pub children: List<Siblings<'a, H>>,
    /// Link in parent->children.
    pub siblings: LinkedListLink,
    /// Quota, period and what is left.
    pub cfs_bandwidth: CfsBandwidth<'a, H>,
}

impl<'a, H: Hooks + 'a> TaskGroup<'a, H> {
    /// A group that has no queues yet.
    pub fn new() -> Self {
        TaskGroup {
            id: Cell::new(0),
            cfs_rq: Cell::new(&[]),
            se: Cell::new(&[]),
            runqueues: Cell::new(&[]),
            shares: AtomicU64::new(crate::fair::load::NICE_0_LOAD),
            idle: Cell::new(0),
            load_avg: AtomicI64::new(0),
            runnable_avg: AtomicI64::new(0),
            parent: Cell::new(None),
            children: List::new(),
            siblings: LinkedListLink::new(),
            cfs_bandwidth: CfsBandwidth::new(),
        }
    }
}

impl<'a, H: Hooks + 'a> Default for TaskGroup<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

/// struct task_struct, as far as the fair class and the core around it look at it. Its entity begins at a cache line,
/// and it is six of them long: a power of two would let tasks compete for the same sets of a cache.
#[repr(C, align(64))]
pub struct TaskStruct<'a, H: Hooks + 'a> {
    /// Its entity.
    pub se: SchedEntity<'a, H>,
    /// The host's number for it.
    pub pid: Cell<u32>,
    /// thread_info->flags: [`Tif`].
    pub thread_info_flags: AtomicU32,
    /// TASK_RUNNING, TASK_INTERRUPTIBLE, ...
    pub __state: AtomicU32,
    /// Not queued (0), queued, or migrating.
    pub on_rq: AtomicI32,
    /// Running on a CPU.
    pub on_cpu: AtomicI32,
    /// task_cpu(): the CPU that it is or was on.
    pub cpu: AtomicU32,
    /// Taken by wakeups.
    pub pi_lock: RawSpinlock,
    /// Its policy.
    pub policy: Cell<Policy>,
    /// 100..139: nice + 120.
    pub static_prio: Cell<i32>,
    /// What it would be without boosting.
    pub normal_prio: Cell<i32>,
    /// What it is.
    pub prio: Cell<i32>,
    /// Its class.
    pub sched_class: Cell<SchedClass>,
    /// It asked to sleep and was not woken since.
    pub is_blocked: Cell<bool>,
    /// Its sleep counts in the load average of the machine.
    pub sched_contributes_to_load: Cell<bool>,
    /// Its group.
    pub sched_task_group: Cell<Option<&'a TaskGroup<'a, H>>>,
    /// Its work to park itself on the way to user mode is pending (sched_throttle_work).
    pub sched_throttle_work: AtomicBool,
    /// Link in the limbo list of its queue.
    pub throttle_node: LinkedListLink,
    /// It is parked.
    pub throttled: Cell<bool>,
}

impl<'a, H: Hooks + 'a> TaskStruct<'a, H> {
    /// A task that [`sched_fork`](crate::core::sched_fork) has yet to make one.
    pub fn new() -> Self {
        TaskStruct {
            se: SchedEntity::new(),
            pid: Cell::new(0),
            thread_info_flags: AtomicU32::new(0),
            __state: AtomicU32::new(TASK_NEW),
            on_rq: AtomicI32::new(0),
            on_cpu: AtomicI32::new(0),
            cpu: AtomicU32::new(0),
            pi_lock: RawSpinlock::new(),
            policy: Cell::new(Policy::SCHED_NORMAL),
            static_prio: Cell::new(DEFAULT_PRIO),
            normal_prio: Cell::new(DEFAULT_PRIO),
            prio: Cell::new(DEFAULT_PRIO),
            sched_class: Cell::new(SchedClass::Fair),
            is_blocked: Cell::new(false),
            sched_contributes_to_load: Cell::new(false),
            sched_task_group: Cell::new(None),
            sched_throttle_work: AtomicBool::new(false),
            throttle_node: LinkedListLink::new(),
            throttled: Cell::new(false),
        }
    }

    /// Lets the entity know its task; before anything else is done with it.
    pub fn init_task_of(&'a self) {
        self.se.task.set(Some(self));
    }
}

impl<'a, H: Hooks + 'a> Default for TaskStruct<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

/// struct rq: the runqueue of a CPU.
pub struct Rq<'a, H: Hooks + 'a> {
    /// The machine that it is a part of.
    pub machine: &'a Machine<'a, H>,
    /// How many tasks are queued, delayed ones included.
    pub nr_running: Cell<u32>,
    /// The running task; rq->donor is the same without proxy execution.
    curr: Cell<Option<&'a TaskStruct<'a, H>>>,
    /// Where the idle task is.
    pub idle_task: TaskStruct<'a, H>,
    /// How often another task was switched to.
    pub nr_switches: Cell<u64>,
    /// rq->__lock.
    pub __lock: RawSpinlock,
    /// The root queue.
    pub cfs: CfsRq<'a, H>,
    /// The class of what runs or will be picked.
    pub next_class: Cell<SchedClass>,
    /// Uninterruptible sleepers, all CPUs' counts added.
    pub nr_uninterruptible: Cell<u64>,
    /// Without irq and steal time, of which there is none: equal to `clock`. ns.
    pub clock_task: Cell<u64>,
    /// sched_clock_cpu() when it was last looked at. ns.
    pub clock: Cell<u64>,
    /// The clock of load tracking: stands while idle and then catches up. ns.
    pub clock_pelt: Cell<u64>,
    /// Idle time that there would have been, had the CPU not been slow. ns.
    pub lost_idle_time: Cell<u64>,
    /// `clock` when it was last idle, for those who leave from afar. ns.
    pub clock_idle: AtomicU64,
    /// The PELT clock then. ns.
    pub clock_pelt_idle: AtomicU64,
    /// Whether curr is the idle task, for the same.
    curr_is_idle: AtomicBool,
    /// Whether the next look is to be left out.
    pub clock_update_flags: Cell<RqClockFlags>,
    /// The number of the CPU.
    pub cpu: u32,
    /// rq->hrtick_timer: when it is to fire, on the clock of sched_clock_cpu(); none while it is not queued. ns.
    pub hrtick_timer: Cell<Option<u64>>,
    /// When it was last asked to fire; as [`Rq::hrtick_timer`]. ns.
    pub hrtick_time: Cell<u64>,
    /// In how much time it is to fire, noted until __schedule() is done; relative, ns.
    pub hrtick_delay: Cell<u64>,
    /// Whether __schedule() is at work, and whether it asked for the timer.
    pub hrtick_sched: Cell<HrtickSched>,
    /// All tasks queued here, the one picked last first.
    pub cfs_tasks: List<GroupNode<'a, H>>,
    /// All queues with something to decay, children first.
    pub leaf_cfs_rq_list: List<LeafCfsRqList<'a, H>>,
    /// Queues to be unthrottled by this CPU itself.
    pub cfsb_csd_list: List<CsdNode<'a, H>>,
    /// The end of a branch that is being added to that list; none: no branch.
    pub tmp_alone_branch: Cell<Option<&'a CfsRq<'a, H>>>,
}

impl<'a, H: Hooks + 'a> Rq<'a, H> {
    /// The runqueue of `cpu`; [`sched_init`](crate::core::sched_init) completes it.
    pub fn new(machine: &'a Machine<'a, H>, cpu: u32) -> Self {
        Rq {
            machine,
            nr_running: Cell::new(0),
            curr: Cell::new(None),
            idle_task: TaskStruct::new(),
            nr_switches: Cell::new(0),
            __lock: RawSpinlock::new(),
            cfs: CfsRq::new(),
            next_class: Cell::new(SchedClass::Idle),
            nr_uninterruptible: Cell::new(0),
            clock_task: Cell::new(0),
            clock: Cell::new(0),
            clock_pelt: Cell::new(0),
            lost_idle_time: Cell::new(0),
            clock_idle: AtomicU64::new(0),
            clock_pelt_idle: AtomicU64::new(0),
            curr_is_idle: AtomicBool::new(true),
            clock_update_flags: Cell::new(RqClockFlags::empty()),
            cpu,
            hrtick_timer: Cell::new(None),
            hrtick_time: Cell::new(0),
            hrtick_delay: Cell::new(0),
            hrtick_sched: Cell::new(HrtickSched::empty()),
            cfs_tasks: List::new(),
            leaf_cfs_rq_list: List::new(),
            cfsb_csd_list: List::new(),
            tmp_alone_branch: Cell::new(None),
        }
    }

    /// rq->curr.
    #[inline(always)]
    pub fn curr(&self) -> &'a TaskStruct<'a, H> {
        match self.curr.get() {
            Some(curr) => curr,
            None => bug("rq->curr is not set: sched_init() was not called"),
        }
    }

    /// rq->donor: whose time is charged. The same as curr without proxy execution.
    #[inline(always)]
    pub fn donor(&self) -> &'a TaskStruct<'a, H> {
        self.curr()
    }

    /// RCU_INIT_POINTER(rq->curr, next), and with it rq_set_donor().
    #[inline(always)]
    pub fn set_curr(&self, next: &'a TaskStruct<'a, H>) {
        self.curr.set(Some(next));
        self.curr_is_idle.store(is_idle_task(next), Ordering::Relaxed);
    }

    /// is_idle_task(rq->curr), asked without the lock.
    pub fn curr_is_idle(&self) -> bool {
        self.curr_is_idle.load(Ordering::Relaxed)
    }

    /// What the machine reports to.
    #[inline(always)]
    pub fn hooks(&self) -> &'a H {
        &self.machine.hooks
    }

    /// Counts.
    #[inline(always)]
    pub(crate) fn count(&self, counter: Counter) {
        self.machine.hooks.count(counter);
    }
}

/// All that C keeps in globals, so that several machines can run in one process.
pub struct Machine<'a, H: Hooks + 'a> {
    /// What is reported to.
    pub hooks: H,
    features: Cell<SchedFeat>,
    patches: Cell<Patches>,
    #[cfg(feature = "museum")]
    bug: Cell<Option<crate::museum::Bug>>,
    /// sysctl_sched_base_slice: the default request, ns.
    pub sysctl_sched_base_slice: Cell<u32>,
    /// normalized_sysctl_sched_base_slice: the same for one CPU, ns. A write to debugfs does not change it.
    pub normalized_sysctl_sched_base_slice: Cell<u32>,
    /// sysctl_sched_migration_cost, ns.
    pub sysctl_sched_migration_cost: Cell<u32>,
    /// TICK_NSEC: the length of a tick, ns.
    pub tick_nsec: Cell<u64>,
    /// cgroup_mode.
    pub cgroup_mode: Cell<CgroupMode>,
    /// The root group.
    pub root_task_group: TaskGroup<'a, H>,
    /// The runqueues, by CPU.
    runqueues: Cell<&'a [Rq<'a, H>]>,
    /// What sched_clock_cpu() reads, on every CPU. ns.
    clock: AtomicU64,
    /// How many timers were armed so far: of equal times the one armed first goes first.
    timers_armed: AtomicU64,
}

impl<'a, H: Hooks + 'a> Machine<'a, H> {
    /// A machine without runqueues: [`sched_init`](crate::core::sched_init) adds them.
    pub fn new(hooks: H) -> Self {
        Machine {
            hooks,
            features: Cell::new(SchedFeat::DEFAULT),
            patches: Cell::new(Patches::empty()),
            #[cfg(feature = "museum")]
            bug: Cell::new(None),
            sysctl_sched_base_slice: Cell::new(700_000),
            normalized_sysctl_sched_base_slice: Cell::new(700_000),
            sysctl_sched_migration_cost: Cell::new(500_000),
            tick_nsec: Cell::new(NSEC_PER_SEC / 1000),
            cgroup_mode: Cell::new(CgroupMode::Concur),
            root_task_group: TaskGroup::new(),
            runqueues: Cell::new(&[]),
            clock: AtomicU64::new(0),
            timers_armed: AtomicU64::new(0),
        }
    }

    /// sched_feat().
    #[inline(always)]
    pub fn sched_feat(&self, feature: SchedFeat) -> bool {
        self.features.get().contains(feature)
    }

    /// The features that are on.
    pub fn features(&self) -> SchedFeat {
        self.features.get()
    }

    /// Switches features, as a write to debugfs.
    pub fn set_features(&self, features: SchedFeat) {
        self.features.set(features);
    }

    /// Whether a patch idea is switched on.
    #[inline(always)]
    pub fn patch(&self, patch: Patches) -> bool {
        self.patches.get().intersects(patch)
    }

    /// The patch ideas that are on.
    pub fn patches(&self) -> Patches {
        self.patches.get()
    }

    /// Switches patch ideas.
    pub fn set_patches(&self, patches: Patches) {
        self.patches.set(patches);
    }

    /// Whether a bug of the [`museum`](mod@crate::museum) is put back.
    #[cfg(feature = "museum")]
    #[inline(always)]
    pub fn bug(&self, bug: crate::museum::Bug) -> bool {
        self.bug.get() == Some(bug)
    }

    /// Puts a bug of the museum back, or none. False, and nothing is done, without the feature `museum`.
    pub fn set_bug(&self, bug: Option<crate::museum::Bug>) -> bool {
        #[cfg(feature = "museum")]
        self.bug.set(bug);
        let _ = bug;
        cfg!(feature = "museum")
    }

    /// cpu_rq().
    #[inline(always)]
    pub fn cpu_rq(&self, cpu: u32) -> &'a Rq<'a, H> {
        &self.runqueues.get()[cpu as usize]
    }

    /// The runqueues, by CPU.
    pub fn runqueues(&self) -> &'a [Rq<'a, H>] {
        self.runqueues.get()
    }

    pub(crate) fn set_runqueues(&self, runqueues: &'a [Rq<'a, H>]) {
        self.runqueues.set(runqueues);
    }

    /// num_online_cpus().
    pub fn num_online_cpus(&self) -> u32 {
        self.runqueues.get().len() as u32
    }

    /// sched_clock_cpu(): what every CPU's clock reads, ns.
    #[inline(always)]
    pub fn sched_clock_cpu(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// The number of the next timer to be armed.
    pub(crate) fn next_timer(&self) -> u64 {
        self.timers_armed.fetch_add(1, Ordering::Relaxed)
    }

    /// Lets every CPU's clock read `now`, ns. Runqueues see it when they next update their own.
    #[inline(always)]
    pub fn set_sched_clock(&self, now: u64) {
        self.clock.store(now, Ordering::Relaxed);
    }
}

// The hot part of an entity stays within its first three cache lines.
const_assert!(core::mem::offset_of!(SchedEntity<'static, ()>, max_slice) < 64);
const_assert!(core::mem::offset_of!(SchedEntity<'static, ()>, custom_slice) < 128);
const_assert!(core::mem::offset_of!(SchedEntity<'static, ()>, avg) <= 256);
const_assert!(size_of::<SchedEntity<'static, ()>>() <= 320);
const_assert!(size_of::<TaskStruct<'static, ()>>() == 384);
// One binary holds the counted and the timed form: hooks of nothing take no room.
const_assert!(size_of::<Option<&'static SchedEntity<'static, ()>>>() == size_of::<usize>());
static_assertions::assert_eq_size!(RbNode<'static, u64>, [usize; 3]);
static_assertions::assert_impl_all!(Rq<'static, ()>: Sync);
static_assertions::assert_impl_all!(CfsRq<'static, ()>: Sync);
static_assertions::assert_impl_all!(TaskStruct<'static, ()>: Sync);
static_assertions::assert_impl_all!(TaskGroup<'static, ()>: Sync);
// Counters are plain cells: a machine that counts stays on its thread.
static_assertions::assert_not_impl_any!(Rq<'static, crate::trace::Counters>: Sync);

/// Whether two references name the same object: `a == b` on pointers in C.
#[inline(always)]
pub fn is<T>(a: Option<&T>, b: &T) -> bool {
    a.is_some_and(|a| ptr::eq(a, b))
}

/// vruntime_cmp(a, "<", b): the order of virtual times, which wrap.
#[inline(always)]
pub const fn vruntime_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// vruntime_op(a, "-", b): the signed distance of virtual times.
#[inline(always)]
pub const fn vruntime_sub(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b) as i64
}

/// min_vruntime(): the earlier.
#[inline(always)]
pub const fn min_vruntime(a: u64, b: u64) -> u64 {
    if vruntime_before(b, a) { b } else { a }
}

/// entity_is_task().
#[inline(always)]
pub fn entity_is_task<'a, H: Hooks>(se: &SchedEntity<'a, H>) -> bool {
    se.my_q.get().is_none()
}

/// task_of(): the task that a task's entity belongs to.
#[inline(always)]
pub fn task_of<'a, H: Hooks>(se: &SchedEntity<'a, H>) -> &'a TaskStruct<'a, H> {
    match se.task.get() {
        Some(p) => p,
        None => bug("task_of() of a group entity"),
    }
}

/// group_cfs_rq(): the queue that a group's entity owns.
#[inline(always)]
pub fn group_cfs_rq<'a, H: Hooks>(se: &SchedEntity<'a, H>) -> Option<&'a CfsRq<'a, H>> {
    se.my_q.get()
}

/// cfs_rq_of(): the queue that an entity is (to be) queued on.
#[inline(always)]
pub fn cfs_rq_of<'a, H: Hooks>(se: &SchedEntity<'a, H>) -> &'a CfsRq<'a, H> {
    match se.cfs_rq.get() {
        Some(cfs_rq) => cfs_rq,
        None => bug("se->cfs_rq is not set"),
    }
}

/// rq_of(): the runqueue that a queue belongs to.
#[inline(always)]
pub fn rq_of<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> &'a Rq<'a, H> {
    match cfs_rq.rq.get() {
        Some(rq) => rq,
        None => bug("cfs_rq->rq is not set"),
    }
}

/// parent_entity().
#[inline(always)]
pub fn parent_entity<'a, H: Hooks>(se: &SchedEntity<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    se.parent.get()
}

/// for_each_sched_entity(): an entity and all above it, bottom up.
#[inline(always)]
pub fn for_each_sched_entity<'a, H: Hooks>(
    se: &'a SchedEntity<'a, H>,
) -> impl Iterator<Item = &'a SchedEntity<'a, H>> {
    core::iter::successors(Some(se), |se| se.parent.get())
}

/// task_cpu().
#[inline(always)]
pub fn task_cpu<H: Hooks>(p: &TaskStruct<'_, H>) -> u32 {
    p.cpu.load(Ordering::Relaxed)
}

/// task_rq().
#[inline(always)]
pub fn task_rq<'a, H: Hooks>(machine: &Machine<'a, H>, p: &TaskStruct<'a, H>) -> &'a Rq<'a, H> {
    machine.cpu_rq(task_cpu(p))
}

/// task_on_rq_queued().
#[inline(always)]
pub fn task_on_rq_queued<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.on_rq.load(Ordering::Relaxed) == TASK_ON_RQ_QUEUED
}

/// task_on_rq_migrating().
#[inline(always)]
pub fn task_on_rq_migrating<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.on_rq.load(Ordering::Relaxed) == TASK_ON_RQ_MIGRATING
}

/// task_current_donor().
#[inline(always)]
pub fn task_current_donor<'a, H: Hooks>(rq: &Rq<'a, H>, p: &TaskStruct<'a, H>) -> bool {
    ptr::eq(rq.donor(), p)
}

/// task_on_cpu().
#[inline(always)]
pub fn task_on_cpu<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.on_cpu.load(Ordering::Acquire) != 0
}

/// is_idle_task().
#[inline(always)]
pub fn is_idle_task<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.sched_class.get() == SchedClass::Idle
}

/// task_nice().
pub fn task_nice<H: Hooks>(p: &TaskStruct<'_, H>) -> i32 {
    prio_to_nice(p.static_prio.get())
}

/// task_has_idle_policy().
#[inline(always)]
pub fn task_has_idle_policy<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.policy.get() == Policy::SCHED_IDLE
}

/// normal_policy().
#[inline(always)]
pub const fn normal_policy(policy: Policy) -> bool {
    matches!(policy, Policy::SCHED_NORMAL)
}

/// hrtick_enabled_fair(): CPUs are active here, and timers precise.
#[inline(always)]
pub fn hrtick_enabled_fair<H: Hooks>(rq: &Rq<'_, H>) -> bool {
    rq.machine.sched_feat(SchedFeat::HRTICK)
}

/// test_tsk_need_resched(): to schedule at once; a lazy request does not count.
#[inline(always)]
pub fn test_tsk_need_resched<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.thread_info_flags.load(Ordering::Relaxed) & Tif::NEED_RESCHED.bits() != 0
}

/// clear_tsk_need_resched(): the lazy request as well.
#[inline(always)]
pub fn clear_tsk_need_resched<H: Hooks>(p: &TaskStruct<'_, H>) {
    let both = Tif::NEED_RESCHED.union(Tif::NEED_RESCHED_LAZY).bits();
    p.thread_info_flags.fetch_and(!both, Ordering::Relaxed);
}

/// rq_clock_task(), ns.
#[inline(always)]
pub fn rq_clock_task<H: Hooks>(rq: &Rq<'_, H>) -> u64 {
    assert_clock_updated(rq);
    rq.clock_task.get()
}

/// assert_clock_updated(): since the lock was taken, unless the update was skipped on request.
#[inline(always)]
pub fn assert_clock_updated<H: Hooks>(rq: &Rq<'_, H>) {
    crate::WARN_ON_ONCE!(
        rq.hooks(),
        rq.clock_update_flags.get().bits() < RqClockFlags::RQCF_ACT_SKIP.bits()
    );
}

/// rq_clock_skip_update(): the next __schedule() need not look at the clock.
#[inline(always)]
pub fn rq_clock_skip_update<H: Hooks>(rq: &Rq<'_, H>) {
    rq.clock_update_flags.set(rq.clock_update_flags.get() | RqClockFlags::RQCF_REQ_SKIP);
}

/// rq_pin_lock(), as far as it is state: in the section that begins the clock has not been read yet.
#[inline(always)]
pub fn rq_pin_lock<H: Hooks>(rq: &Rq<'_, H>) {
    let kept = RqClockFlags::RQCF_REQ_SKIP | RqClockFlags::RQCF_ACT_SKIP;
    rq.clock_update_flags.set(rq.clock_update_flags.get() & kept);
}

/// rq_lock().
#[inline(always)]
pub fn rq_lock<'l, H: Hooks>(rq: &'l Rq<'_, H>) -> RawSpinlockGuard<'l> {
    let guard = rq.__lock.lock();
    rq_pin_lock(rq);
    guard
}

/// rq_clock_start_loop_update(): one look at the clock serves all that follows.
pub fn rq_clock_start_loop_update<H: Hooks>(rq: &Rq<'_, H>) {
    let flags = rq.clock_update_flags.get();
    crate::WARN_ON_ONCE!(rq.hooks(), flags.contains(RqClockFlags::RQCF_ACT_SKIP));
    rq.clock_update_flags.set(flags | RqClockFlags::RQCF_ACT_SKIP);
}

/// rq_clock_stop_loop_update().
pub fn rq_clock_stop_loop_update<H: Hooks>(rq: &Rq<'_, H>) {
    crate::museum!(rq.machine, K03C => { return });
    rq.clock_update_flags.set(rq.clock_update_flags.get() & !RqClockFlags::RQCF_ACT_SKIP);
}

/// double_rq_lock(): both locks, in the order of the CPUs; one if they are the same.
pub fn double_rq_lock<'l, 'a, H: Hooks>(
    rq1: &'l Rq<'a, H>,
    rq2: &'l Rq<'a, H>,
) -> (RawSpinlockGuard<'l>, Option<RawSpinlockGuard<'l>>) {
    if ptr::eq(rq1, rq2) {
        return (rq_lock(rq1), None);
    }
    let (first, second) = if rq1.cpu < rq2.cpu { (rq1, rq2) } else { (rq2, rq1) };
    (rq_lock(first), Some(rq_lock(second)))
}

/// add_nr_running().
#[inline(always)]
pub fn add_nr_running<H: Hooks>(rq: &Rq<'_, H>, count: u32) {
    rq.nr_running.set(rq.nr_running.get() + count);
}

/// sub_nr_running().
#[inline(always)]
pub fn sub_nr_running<H: Hooks>(rq: &Rq<'_, H>, count: u32) {
    rq.nr_running.set(rq.nr_running.get().wrapping_sub(count));
}

/// tg_cfs_rq().
pub fn tg_cfs_rq<'a, H: Hooks>(tg: &TaskGroup<'a, H>, cpu: u32) -> &'a CfsRq<'a, H> {
    match tg.cfs_rq.get().get(cpu as usize) {
        Some(cfs_rq) => cfs_rq,
        None => &tg.runqueues.get()[cpu as usize].cfs,
    }
}

/// tg_se(): none for the root group.
pub fn tg_se<'a, H: Hooks>(tg: &TaskGroup<'a, H>, cpu: u32) -> Option<&'a SchedEntity<'a, H>> {
    tg.se.get().get(cpu as usize)
}

/// cfs_rq_se(): the entity that stands for a group's queue on the level above; none for the root queue.
pub fn cfs_rq_se<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    tg_se(cfs_rq.tg.get()?, rq_of(cfs_rq).cpu)
}
