// SPDX-License-Identifier: GPL-2.0-only
//! What the tasks of a CPU add up to, recomputed from the tasks alone.

use super::Task;
use sched_core::sched::{CfsRq, task_has_idle_policy};
use sched_core::trace::Hooks;

/// The sums and extremes over the tasks of one CPU. "In the tree" means queued and not curr.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    /// Queued tasks: curr, those in the tree, delayed ones.
    pub queued: u32,
    /// Those of them that are delayed.
    pub delayed: u32,
    /// Those of them that are of SCHED_IDLE.
    pub idle: u32,
    /// The sum of their shares.
    pub load: u128,
    /// How many are in the tree.
    pub in_tree: u32,
    /// The weights in the tree, as the sums count them.
    pub sum_weight: u128,
    /// Weight times key over the tree.
    pub sum_w_vruntime: i128,
    /// The largest such product of a queued task, curr included, without its sign.
    pub largest_product: u128,
    /// The same sums with curr, if it is queued: what eligibility is decided by.
    pub weight_with_curr: u128,
    /// See `weight_with_curr`.
    pub w_vruntime_with_curr: i128,
    /// The least vruntime in the tree, relative to zero_vruntime.
    pub min_key: i64,
    /// The shortest slice in the tree, ns.
    pub min_slice: u64,
    /// The longest slice in the tree, ns.
    pub max_slice: u64,
    /// The earliest deadline in the tree, relative to zero_vruntime.
    pub first_deadline: i64,
    /// All that the live tasks of this CPU ever ran, ns.
    pub exec: u128,
}

impl Totals {
    /// Of no task.
    pub fn new() -> Self {
        Totals {
            queued: 0,
            delayed: 0,
            idle: 0,
            load: 0,
            in_tree: 0,
            sum_weight: 0,
            sum_w_vruntime: 0,
            largest_product: 0,
            weight_with_curr: 0,
            w_vruntime_with_curr: 0,
            min_key: i64::MAX,
            min_slice: u64::MAX,
            max_slice: 0,
            first_deadline: i64::MAX,
            exec: 0,
        }
    }

    /// Adds a task of this CPU.
    #[inline(always)]
    pub fn add<'a, H: Hooks>(&mut self, task: &Task<'a, H>) {
        let (p, se, cfs_rq) = (task.p, &task.p.se, &task.rq.cfs);

        self.exec += u128::from(se.sum_exec_runtime.get());
        if !se.on_rq.get() {
            return;
        }
        self.queued += 1;
        self.delayed += u32::from(se.sched_delayed.get());
        self.idle += u32::from(task_has_idle_policy(p));
        self.load += u128::from(se.load.weight.get());

        let weight = counted_weight(cfs_rq, se.h_load.weight.get());
        let key = key(cfs_rq, se.vruntime.get());
        let product = i128::from(weight) * i128::from(key);
        self.largest_product = self.largest_product.max(product.unsigned_abs());
        self.weight_with_curr += u128::from(weight);
        self.w_vruntime_with_curr += product;
        if task.is_curr() {
            return;
        }

        self.in_tree += 1;
        self.sum_weight += u128::from(weight);
        self.sum_w_vruntime += product;
        self.min_key = self.min_key.min(key);
        self.min_slice = self.min_slice.min(se.slice.get());
        self.max_slice = self.max_slice.max(se.slice.get());
        let deadline = se.deadline.get().wrapping_sub(cfs_rq.zero_vruntime.get()) as i64;
        self.first_deadline = self.first_deadline.min(deadline);
    }

    /// Whether an entity at `key` (relative to zero_vruntime) is owed service: at or before V, in exact arithmetic.
    pub fn is_eligible(&self, key: i64) -> bool {
        self.w_vruntime_with_curr >= i128::from(key) * self.weight_with_curr as i128
    }
}

/// avg_vruntime_weight(), anew: a weight without the bits that PARANOID_AVG gave up.
#[inline(always)]
pub(super) fn counted_weight<H: Hooks>(cfs_rq: &CfsRq<'_, H>, weight: u64) -> u64 {
    match cfs_rq.sum_shift.get() {
        0 => weight,
        shift => weight.checked_shr(shift).unwrap_or(0).max(2),
    }
}

/// entity_key(), anew: `vruntime` relative to zero_vruntime.
#[inline(always)]
pub(super) fn key<H: Hooks>(cfs_rq: &CfsRq<'_, H>, vruntime: u64) -> i64 {
    vruntime.wrapping_sub(cfs_rq.zero_vruntime.get()) as i64
}
