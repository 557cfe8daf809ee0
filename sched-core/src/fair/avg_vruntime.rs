// SPDX-License-Identifier: GPL-2.0-only
//! V, the average vruntime: the sums it is made from, lag, and who is eligible.
//!
//! Lag is what an entity is owed: `lag_i = w_i * (V - v_i)`. A fair scheduler conserves it: the lags of all that
//! compete add up to 0, so `V = sum(w_i * v_i) / sum(w_i)`. The products would not fit, so both sums are kept relative
//! to `zero_vruntime` (z), which follows V closely: with `k_i = v_i - z`, `V = z + sum(w_i * k_i) / sum(w_i)`.
//!
//! The sums are over the tree. `curr` runs outside it and is added by whoever reads them.

use super::load::{calc_delta_fair, div64_long};
use crate::features::SchedFeat;
use crate::rbtree::rb_next;
use crate::sched::{CfsRq, SchedEntity, rq_of, vruntime_sub};
use crate::trace::{Counter, Hooks};
use crate::{WARN_ON_ONCE, museum};

/// curr, if it still competes: a task that has just blocked is curr until put_prev, but not on_rq.
#[inline(always)]
pub(super) fn curr_on_rq<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> Option<&'a SchedEntity<'a, H>> {
    cfs_rq.curr.get().filter(|curr| curr.on_rq.get())
}

/// entity_key(): the vruntime relative to zero_vruntime, virtual ns, signed.
#[inline(always)]
pub fn entity_key<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) -> i64 {
    vruntime_sub(se.vruntime.get(), cfs_rq.zero_vruntime.get())
}

/// avg_vruntime_weight(): a weight as the sums count it: without the bits that PARANOID_AVG had to give up.
#[inline(always)]
pub fn avg_vruntime_weight<H: Hooks>(cfs_rq: &CfsRq<'_, H>, w: u64) -> u64 {
    museum!(rq_of(cfs_rq).machine, A11 => { return super::load::scale_load_down(w) });
    match cfs_rq.sum_shift.get() {
        0 => w,
        shift => (w >> shift).max(2),
    }
}

/// __sum_w_vruntime_add(): the product is allowed 63 bits.
#[inline(always)]
fn __sum_w_vruntime_add<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let weight = avg_vruntime_weight(cfs_rq, se.h_load.weight.get());
    let key = entity_key(cfs_rq, se);

    let w_vruntime = key.wrapping_mul(weight as i64);
    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), (w_vruntime >> 63) != (w_vruntime >> 62));

    cfs_rq.sum_w_vruntime.set(cfs_rq.sum_w_vruntime.get().wrapping_add(w_vruntime));
    cfs_rq.sum_weight.set(cfs_rq.sum_weight.get().wrapping_add(weight));
}

/// sum_w_vruntime_add_paranoid(): on overflow one more weight bit is given up and the sums are made anew.
#[cold]
fn sum_w_vruntime_add_paranoid<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, se: &SchedEntity<'a, H>) {
    loop {
        let weight = avg_vruntime_weight(cfs_rq, se.h_load.weight.get());
        let key = entity_key(cfs_rq, se);

        let sum = i64::try_from(i128::from(key) * i128::from(weight))
            .ok()
            .and_then(|w_vruntime| cfs_rq.sum_w_vruntime.get().checked_add(w_vruntime));
        if let Some(sum) = sum {
            cfs_rq.sum_w_vruntime.set(sum);
            cfs_rq.sum_weight.set(cfs_rq.sum_weight.get().wrapping_add(weight));
            return;
        }

        crate::BUG_ON!(cfs_rq.sum_shift.get() >= 10);
        cfs_rq.sum_shift.set(cfs_rq.sum_shift.get() + 1);

        // A sum of halved terms is not half the sum: each is rounded on its own.
        cfs_rq.sum_w_vruntime.set(0);
        cfs_rq.sum_weight.set(0);
        let mut node = cfs_rq.tasks_timeline.first();
        while let Some(queued) = node {
            __sum_w_vruntime_add(cfs_rq, queued);
            node = rb_next(queued);
        }
    }
}

/// sum_w_vruntime_add(): `se` joins the tree.
#[inline(always)]
pub fn sum_w_vruntime_add<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>, se: &SchedEntity<'a, H>) {
    if rq_of(cfs_rq).machine.sched_feat(SchedFeat::PARANOID_AVG) {
        return sum_w_vruntime_add_paranoid(cfs_rq, se);
    }
    __sum_w_vruntime_add(cfs_rq, se);
}

/// sum_w_vruntime_sub(): `se` leaves the tree.
#[inline(always)]
pub fn sum_w_vruntime_sub<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) {
    let weight = avg_vruntime_weight(cfs_rq, se.h_load.weight.get());
    let w_vruntime = entity_key(cfs_rq, se).wrapping_mul(weight as i64);

    cfs_rq.sum_w_vruntime.set(cfs_rq.sum_w_vruntime.get().wrapping_sub(w_vruntime));
    museum!(rq_of(cfs_rq).machine, A10 => {
        if se.h_load.weight.get() != se.load.weight.get() { return }
    });
    cfs_rq.sum_weight.set(cfs_rq.sum_weight.get().wrapping_sub(weight));
}

/// update_zero_vruntime(): moves z by `delta` virtual ns. `sum(w * (v - z - d)) = sum(w * (v - z)) - d * sum(w)`.
#[inline(always)]
pub fn update_zero_vruntime<H: Hooks>(cfs_rq: &CfsRq<'_, H>, delta: i64) {
    museum!(rq_of(cfs_rq).machine, A07B => {
        let moved = (cfs_rq.sum_weight.get() as i64).wrapping_mul(delta);
        cfs_rq.sum_w_vruntime.set(cfs_rq.sum_w_vruntime.get().wrapping_sub(moved));
        return;
    });
    let moved = (cfs_rq.sum_weight.get() as i64).wrapping_mul(delta);
    cfs_rq.sum_w_vruntime.set(cfs_rq.sum_w_vruntime.get().wrapping_sub(moved));
    cfs_rq.zero_vruntime.set(cfs_rq.zero_vruntime.get().wrapping_add(delta as u64));
}

/// A quotient rounded down, as V must be: an entity placed at V has to be eligible, so V leans to the left.
///
/// Where V was brought up to date a moment ago, as it is when an entity is placed, what is left is less than 1: the
/// slowest instruction of the whole path is not needed then.
#[inline(always)]
fn floor_div(mut sum: i64, weight: i64) -> i64 {
    if sum >= 0 && sum < weight {
        return 0;
    }
    if sum < 0 {
        sum = sum.wrapping_sub(weight.wrapping_sub(1));
    }
    div64_long(sum, weight)
}

/// avg_vruntime(): V; absolute, wraps.
///
/// Not a pure question: it moves zero_vruntime to V, which keeps all keys small. It is therefore called where the
/// set of competitors is about to change, and when a request ends.
pub fn avg_vruntime<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> u64 {
    let curr = curr_on_rq(cfs_rq);
    let mut weight = cfs_rq.sum_weight.get() as i64;
    let mut delta = 0;

    rq_of(cfs_rq).count(Counter::AvgVruntime);

    if weight != 0 {
        let mut runtime = cfs_rq.sum_w_vruntime.get();
        if let Some(curr) = curr {
            let w = avg_vruntime_weight(cfs_rq, curr.h_load.weight.get()) as i64;
            runtime = runtime.wrapping_add(entity_key(cfs_rq, curr).wrapping_mul(w));
            weight = weight.wrapping_add(w);
        }
        delta = floor_div(runtime, weight);
        museum!(rq_of(cfs_rq).machine, A01 => { delta = div64_long(runtime, weight) });
    } else if let Some(curr) = curr {
        // Alone, it is the average.
        delta = entity_key(cfs_rq, curr);
    }

    museum!(rq_of(cfs_rq).machine, A04 => {
        if delta < 0 { return cfs_rq.zero_vruntime.get().wrapping_add(delta as u64) }
    });
    museum!(rq_of(cfs_rq).machine, L02 => {
        if curr.is_some() { return cfs_rq.zero_vruntime.get().wrapping_add(delta as u64) }
    });
    if delta != 0 {
        update_zero_vruntime(cfs_rq, delta);
    }

    cfs_rq.zero_vruntime.get()
}

/// ineligible_vruntime(): the first vruntime at which curr would not be eligible; absolute, wraps.
///
/// Let curr, of weight w in a total of W, stand at `v = V`. Then `v * W = w * v + sum over the others`, so
/// `v = sum over the others / (W - w)`: the average of the tree alone, which is what the sums are.
pub fn ineligible_vruntime<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> u64 {
    let weight = cfs_rq.sum_weight.get() as i64;
    let mut delta = 0;

    // Asked on behalf of curr only, when it has just been set.
    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), curr_on_rq(cfs_rq).is_none());

    if weight != 0 {
        delta = floor_div(cfs_rq.sum_w_vruntime.get(), weight);
    }
    museum!(rq_of(cfs_rq).machine, A07 => {
        cfs_rq.zero_vruntime.set(cfs_rq.zero_vruntime.get().wrapping_add(delta as u64));
        delta = 0;
    });

    cfs_rq.zero_vruntime.get().wrapping_add(delta as u64).wrapping_add(1)
}

/// cfs_rq_min_slice(): the shortest request of all that compete, ns; all ones if there is nobody.
#[inline(always)]
pub fn cfs_rq_min_slice<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> u64 {
    let mut min_slice = u64::MAX;
    if let Some(curr) = curr_on_rq(cfs_rq) {
        min_slice = curr.slice.get();
    }
    museum!(rq_of(cfs_rq).machine, S26 => { min_slice = u64::MAX });
    if let Some(root) = cfs_rq.tasks_timeline.root() {
        min_slice = min_slice.min(root.min_slice.get());
    }
    min_slice
}

/// cfs_rq_max_slice(): the longest request of all that compete, ns; 0 if there is nobody.
#[inline(always)]
pub fn cfs_rq_max_slice<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> u64 {
    let mut max_slice = 0;
    if let Some(curr) = curr_on_rq(cfs_rq) {
        max_slice = curr.slice.get();
    }
    museum!(rq_of(cfs_rq).machine, S26B => {
        max_slice = cfs_rq.curr.get().map_or(0, |curr| curr.slice.get());
    });
    if let Some(root) = cfs_rq.tasks_timeline.root() {
        max_slice = max_slice.max(root.max_slice.get());
    }
    max_slice
}

/// entity_lag(): the virtual lag, `V - v`, signed.
///
/// V is an average: those who join, leave or change weight move it, and with it everybody's lag. In a steady state
/// lag stays within the longest request (or the tick, if that is coarser), so it is limited to that.
#[inline(always)]
pub fn entity_lag<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>, avruntime: u64) -> i64 {
    #[allow(unused_mut, reason = "museum")]
    let mut max_slice =
        cfs_rq_max_slice(cfs_rq).wrapping_add(rq_of(cfs_rq).machine.tick_nsec.get());
    museum!(rq_of(cfs_rq).machine, A03B => {
        max_slice = cfs_rq_min_slice(cfs_rq).wrapping_add(rq_of(cfs_rq).machine.tick_nsec.get());
    });
    let vlag = vruntime_sub(avruntime, se.vruntime.get());
    let limit = calc_delta_fair(max_slice, se) as i64;

    if vlag >= limit {
        limit
    } else if vlag <= limit.wrapping_neg() {
        limit.wrapping_neg()
    } else {
        vlag
    }
}

/// update_entity_lag(): stores the lag in `se->vlag`. True if what is stored is not `V - v`, because it was limited:
/// then `se` has to be placed anew if it stays.
///
/// Of a delayed entity the debt never grows while it waits, and with DELAY_ZERO it never turns into a credit.
pub fn update_entity_lag<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) -> bool {
    let avruntime = avg_vruntime(cfs_rq);
    let mut vlag = entity_lag(cfs_rq, se, avruntime);

    if se.sched_delayed.get() {
        // It was negative when it was delayed, else it would not have been.
        vlag = vlag.max(se.vlag.get());
        if rq_of(cfs_rq).machine.sched_feat(SchedFeat::DELAY_ZERO) {
            vlag = vlag.min(0);
        }
        museum!(rq_of(cfs_rq).machine, L15 => {
            vlag = entity_lag(cfs_rq, se, avruntime).min(0);
        });
        museum!(rq_of(cfs_rq).machine, L15B => {
            vlag = entity_lag(cfs_rq, se, avruntime).max(se.vlag.get());
        });
    }
    se.vlag.set(vlag);

    avruntime.wrapping_sub(vlag as u64) != se.vruntime.get()
}

/// vruntime_eligible(): whether `V >= vruntime`, without the rounding of a division:
/// `sum(w_i * k_i) >= (vruntime - z) * sum(w_i)`, in 128 bit, since the product needs more than 64.
#[inline(always)]
pub fn vruntime_eligible<H: Hooks>(cfs_rq: &CfsRq<'_, H>, vruntime: u64) -> bool {
    let mut avg = cfs_rq.sum_w_vruntime.get();
    let mut load = cfs_rq.sum_weight.get() as i64;

    if let Some(curr) = curr_on_rq(cfs_rq) {
        let weight = avg_vruntime_weight(cfs_rq, curr.h_load.weight.get()) as i64;
        avg = avg.wrapping_add(entity_key(cfs_rq, curr).wrapping_mul(weight));
        load = load.wrapping_add(weight);
    }

    let key = vruntime_sub(vruntime, cfs_rq.zero_vruntime.get());

    museum!(rq_of(cfs_rq).machine, A09 => { return avg >= key.wrapping_mul(load) });
    i128::from(avg) >= i128::from(key) * i128::from(load)
}

/// entity_eligible(): whether `se` is owed service: its lag is not negative.
#[inline(always)]
pub fn entity_eligible<H: Hooks>(cfs_rq: &CfsRq<'_, H>, se: &SchedEntity<'_, H>) -> bool {
    vruntime_eligible(cfs_rq, se.vruntime.get())
}
