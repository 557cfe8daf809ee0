// SPDX-License-Identifier: GPL-2.0-only
//! Hooks: counters, warnings, tracepoints and the loop guard, by the names that the kernel's code has.
//!
//! A [`Machine`](crate::sched::Machine) has a type parameter `H: Hooks`. With `()` every call below is an empty inline
//! function and nothing is left of it in the code; with another type the same bodies count, warn or record. One
//! binary may hold both forms, since a comparison counts with one and takes time with the other.

use crate::bug::Warn;
use crate::sched::{Rq, TaskStruct};
use core::cell::Cell;

/// Something whose frequency is asked for: a named function of the kernel, or a branch in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum Counter {
    /// `enqueue_task_fair()`, full: without ENQUEUE_DELAYED.
    EnqueueTaskFair,
    /// `requeue_delayed_entity()`: a delayed task was woken (or met by an enqueue) before its dequeue was complete.
    RequeueDelayedEntity,
    /// `requeue_delayed_entity()` that had to place the entity anew, because its lag had been changed.
    RequeuePlaced,
    /// `dequeue_task_fair()`.
    DequeueTaskFair,
    /// `__dequeue_task()`.
    DequeueTask,
    /// `__dequeue_task()` called by the pick to complete a delayed dequeue ("delayed pick").
    DelayedPick,
    /// `set_delayed()`: a sleeper stays queued.
    SetDelayed,
    /// `clear_delayed()`.
    ClearDelayed,
    /// `place_entity()`.
    PlaceEntity,
    /// `__enqueue_entity()`: an insertion into the tree.
    EnqueueEntity,
    /// `__dequeue_entity()`: a removal from the tree.
    DequeueEntity,
    /// `pick_task_fair()`.
    PickTaskFair,
    /// `pick_eevdf()`.
    PickEevdf,
    /// `pick_eevdf()` that returned curr because of its slice protection.
    PickProtected,
    /// `pick_eevdf()` that returned the buddy.
    PickBuddy,
    /// `pick_eevdf()` that went down the tree, since the leftmost was not eligible.
    PickSearch,
    /// `set_next_task_fair()`.
    SetNextTaskFair,
    /// `put_prev_task_fair()`.
    PutPrevTaskFair,
    /// `reweight_eevdf()` that changed the weight.
    ReweightEevdf,
    /// `wakeup_preempt_fair()`.
    WakeupPreemptFair,
    /// `wakeup_preempt_fair()` that asked for a reschedule.
    WakeupPreempt,
    /// `update_deadline()` that found the request consumed.
    DeadlineReached,
    /// `avg_vruntime()`.
    AvgVruntime,
    /// `entity_tick()`.
    EntityTick,
    /// `yield_task_fair()`.
    YieldTaskFair,
    /// `resched_curr()`, and `resched_curr_lazy()` on an idle CPU, that set the flag.
    ReschedCurr,
    /// `resched_curr_lazy()` that set the flag.
    ReschedCurrLazy,
    /// `update_rq_clock()` that was not skipped.
    UpdateRqClock,
    /// `__schedule()`.
    Schedule,
    /// `__schedule()` that switched to another task.
    ContextSwitch,
    /// A context switch away from a task that was still runnable: a preemption (or a yield).
    Preemption,
    /// A leading charge of `__dequeue_task()` that the patch skip-dequeue-charge left out.
    DequeueChargeSkipped,
}

impl Counter {
    /// How many there are.
    pub const NR: usize = Counter::DequeueChargeSkipped as usize + 1;
}

/// From where `update_curr()` is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum Site {
    /// `enqueue_task_fair()` by way of `update_curr_eevdf()`.
    EnqueueTaskFair,
    /// `enqueue_hierarchy()`, each level.
    EnqueueHierarchy,
    /// `__dequeue_task()` by way of `update_curr_eevdf()`: the leading charge of a dequeue by the caller.
    DequeueTask,
    /// The same, when a delayed dequeue is completed, which the pick does as a rule.
    DequeueTaskPick,
    /// `dequeue_hierarchy()`, each level.
    DequeueHierarchy,
    /// `pick_task_fair()` by way of `update_curr_eevdf()`.
    PickTaskFair,
    /// `put_prev_entity()`.
    PutPrevEntity,
    /// `entity_tick()`.
    EntityTick,
    /// `wakeup_preempt_fair()` by way of `update_curr_fair()`.
    WakeupPreemptFair,
    /// `reweight_task_fair()` by way of `update_curr_fair()`.
    ReweightTaskFair,
    /// `yield_task_fair()` by way of `update_curr_eevdf()`.
    YieldTaskFair,
    /// `unthrottle_cfs_rq()`.
    UnthrottleCfsRq,
    /// `tg_unthrottle_up()`.
    TgUnthrottleUp,
    /// `distribute_cfs_runtime()`.
    DistributeCfsRuntime,
    /// The class's `update_curr` method.
    UpdateCurrFair,
}

impl Site {
    /// How many there are.
    pub const NR: usize = Site::UpdateCurrFair as usize + 1;
    /// All, in the order of the enum.
    pub const ALL: [Site; Site::NR] = [
        Site::EnqueueTaskFair,
        Site::EnqueueHierarchy,
        Site::DequeueTask,
        Site::DequeueTaskPick,
        Site::DequeueHierarchy,
        Site::PickTaskFair,
        Site::PutPrevEntity,
        Site::EntityTick,
        Site::WakeupPreemptFair,
        Site::ReweightTaskFair,
        Site::YieldTaskFair,
        Site::UnthrottleCfsRq,
        Site::TgUnthrottleUp,
        Site::DistributeCfsRuntime,
        Site::UpdateCurrFair,
    ];

    /// The kernel function that the call stands in.
    pub const fn name(self) -> &'static str {
        match self {
            Site::EnqueueTaskFair => "enqueue_task_fair",
            Site::EnqueueHierarchy => "enqueue_hierarchy",
            Site::DequeueTask => "__dequeue_task",
            Site::DequeueTaskPick => "__dequeue_task (delayed)",
            Site::DequeueHierarchy => "dequeue_hierarchy",
            Site::PickTaskFair => "pick_task_fair",
            Site::PutPrevEntity => "put_prev_entity",
            Site::EntityTick => "entity_tick",
            Site::WakeupPreemptFair => "wakeup_preempt_fair",
            Site::ReweightTaskFair => "reweight_task_fair",
            Site::YieldTaskFair => "yield_task_fair",
            Site::UnthrottleCfsRq => "unthrottle_cfs_rq",
            Site::TgUnthrottleUp => "tg_unthrottle_up",
            Site::DistributeCfsRuntime => "distribute_cfs_runtime",
            Site::UpdateCurrFair => "update_curr_fair",
        }
    }
}

/// What a machine reports while it runs. Every method has an empty default.
pub trait Hooks {
    /// `counter` happened.
    #[inline(always)]
    fn count(&self, counter: Counter) {
        let _ = counter;
    }

    /// `update_curr()` was called from `site`; `charged` says whether there was anything to charge.
    #[inline(always)]
    fn update_curr(&self, site: Site, charged: bool) {
        let _ = (site, charged);
    }

    /// A condition of the kernel's WARN_ON_ONCE() came true.
    #[inline(always)]
    fn warn(&self, warn: &Warn) {
        let _ = warn;
    }

    /// __schedule() is about to switch from rq->curr to `p`. What is returned runs instead: `p`, or another task that
    /// is queued on `rq` and awake, or its idle task. (A replay goes on with what a recorded kernel picked.)
    #[inline(always)]
    fn picked<'a>(
        &self,
        rq: &'a Rq<'a, Self>,
        p: &'a TaskStruct<'a, Self>,
    ) -> &'a TaskStruct<'a, Self>
    where
        Self: Sized + 'a,
    {
        let _ = rq;
        p
    }

    /// Called in each turn of a loop that a faulty patch could make endless; may panic.
    #[inline(always)]
    fn loop_guard(&self) {}

    /// An operation begins: counts of [`Hooks::loop_guard`] start anew.
    #[inline(always)]
    fn operation(&self) {}
}

/// Nothing: the form that is timed.
impl Hooks for () {}

/// Counts everything, and remembers the first warning.
#[derive(Debug)]
pub struct Counters {
    counts: [Cell<u64>; Counter::NR],
    update_curr: [Cell<u64>; Site::NR],
    update_curr_nothing: [Cell<u64>; Site::NR],
    warns: Cell<u64>,
    first_warn: Cell<Option<Warn>>,
    turns: Cell<u32>,
}

/// More turns than this in one operation are taken for an endless loop. The longest legal loop is the pick that
/// completes the dequeue of every delayed task, one a turn.
pub const LOOP_LIMIT: u32 = 1_000_000;

impl Default for Counters {
    fn default() -> Self {
        Counters {
            counts: [const { Cell::new(0) }; Counter::NR],
            update_curr: [const { Cell::new(0) }; Site::NR],
            update_curr_nothing: [const { Cell::new(0) }; Site::NR],
            warns: Cell::new(0),
            first_warn: Cell::new(None),
            turns: Cell::new(0),
        }
    }
}

impl Counters {
    /// How often `counter` happened.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts[counter as usize].get()
    }

    /// How often `update_curr()` was called from `site`.
    pub fn update_curr_calls(&self, site: Site) -> u64 {
        self.update_curr[site as usize].get()
    }

    /// How many of those found nothing to charge.
    pub fn update_curr_nothing(&self, site: Site) -> u64 {
        self.update_curr_nothing[site as usize].get()
    }

    /// How many warnings there were, and the first.
    pub fn warnings(&self) -> (u64, Option<Warn>) {
        (self.warns.get(), self.first_warn.get())
    }
}

fn bump(cell: &Cell<u64>) {
    cell.set(cell.get().wrapping_add(1));
}

impl Hooks for Counters {
    fn count(&self, counter: Counter) {
        bump(&self.counts[counter as usize]);
    }

    fn update_curr(&self, site: Site, charged: bool) {
        bump(&self.update_curr[site as usize]);
        if !charged {
            bump(&self.update_curr_nothing[site as usize]);
        }
    }

    fn warn(&self, warn: &Warn) {
        bump(&self.warns);
        if self.first_warn.get().is_none() {
            self.first_warn.set(Some(*warn));
        }
    }

    fn loop_guard(&self) {
        self.turns.set(self.turns.get() + 1);
        assert!(self.turns.get() < LOOP_LIMIT, "endless loop: {LOOP_LIMIT} turns in one operation");
    }

    fn operation(&self) {
        self.turns.set(0);
    }
}
