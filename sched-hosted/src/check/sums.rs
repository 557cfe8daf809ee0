// SPDX-License-Identifier: GPL-2.0-only
//! I-SUM and I-WIDE: the sums that V is made from are those of the tasks in the tree, and nothing in them overflows.

use super::Report;
use super::known::CLOCK_OF_WIDE_KEYS;
use super::totals::Totals;
use sched_core::features::SchedFeat;
use sched_core::sched::Rq;
use sched_core::trace::Hooks;

/// What one product of weight and key may need, as the class itself warns in __sum_w_vruntime_add(): 63 bits.
const PRODUCT_LIMIT: u128 = 1 << 62;
/// The most weight bits that PARANOID_AVG gives up.
const MOST_SHIFT: u32 = 10;

/// sum_weight and sum_w_vruntime, over the tree without curr, to the last bit. C wraps at 64 bits, and so does this:
/// a sum that wrapped is found by [`fit`].
#[inline(always)]
pub(super) fn equal_the_tasks<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    let cfs_rq = &rq.cfs;
    if cfs_rq.sum_weight.get() != totals.sum_weight as u64 {
        let what = format!(
            "sum_weight is {}, but the {} tasks in the tree weigh {}",
            cfs_rq.sum_weight.get(),
            totals.in_tree,
            totals.sum_weight
        );
        report.cfs("I-SUM", rq.cpu, "sum_weight", what);
    }
    if cfs_rq.sum_w_vruntime.get() != totals.sum_w_vruntime as i64 {
        let what = format!(
            "sum_w_vruntime is {}, but weight * (vruntime - zero_vruntime) over the {} tasks in the tree is {}",
            cfs_rq.sum_w_vruntime.get(),
            totals.in_tree,
            totals.sum_w_vruntime
        );
        report.cfs("I-SUM", rq.cpu, "sum_w_vruntime", what);
    }

    let shift = cfs_rq.sum_shift.get();
    let paranoid = rq.machine.sched_feat(SchedFeat::PARANOID_AVG);
    if shift > MOST_SHIFT || (shift != 0 && !paranoid) {
        let what = if paranoid {
            format!("sum_shift is {shift}; it never exceeds {MOST_SHIFT}")
        } else {
            format!("sum_shift is {shift} without PARANOID_AVG; only that moves it")
        };
        report.cfs("I-SUM", rq.cpu, "sum_shift", what);
    }
}

/// I-WIDE: each product fits its 63 bits and their sum, curr included, 64; with anyone queued the divisor is not 0.
#[inline(always)]
pub(super) fn fit<'a, H: Hooks>(rq: &'a Rq<'a, H>, totals: &Totals, report: &mut Report<'_>) {
    if totals.queued != 0 && totals.weight_with_curr == 0 {
        let what = format!("{} tasks are queued, but their weights add up to 0", totals.queued);
        report.cfs("I-WIDE", rq.cpu, "sum_weight", what);
    }
    let fits = totals.largest_product < PRODUCT_LIMIT && sum_fits(totals);
    if fits || rq.clock_task.get() >= CLOCK_OF_WIDE_KEYS {
        return;
    }
    let what = format!(
        "zero_vruntime {} is too far from the tasks: the largest weight * key is {}, their sum {}; \
         a product may have 63 bits and the sum 64",
        rq.cfs.zero_vruntime.get(),
        totals.largest_product,
        totals.w_vruntime_with_curr
    );
    report.cfs("I-WIDE", rq.cpu, "zero_vruntime", what);
}

/// Whether the class's own 64-bit sums, weights included, are what exact arithmetic gives.
pub(super) fn sum_fits(totals: &Totals) -> bool {
    i64::try_from(totals.w_vruntime_with_curr).is_ok()
        && i64::try_from(totals.sum_w_vruntime).is_ok()
        && i64::try_from(totals.weight_with_curr).is_ok()
}
