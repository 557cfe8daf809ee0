// SPDX-License-Identifier: GPL-2.0-only
//! Placement: where on the virtual time line an entity that joins stands.

use super::avg_vruntime::{avg_vruntime, avg_vruntime_weight, curr_on_rq, update_zero_vruntime};
use super::load::{calc_delta_fair, div64_long};
use crate::features::SchedFeat;
use crate::sched::{CfsRq, QueueFlags, SchedEntity, rq_of};
use crate::trace::{Counter, Hooks};
use crate::{WARN_ON_ONCE, museum};

/// place_entity(): gives `se` its vruntime and deadline.
///
/// With PLACE_LAG it gets the lag `se->vlag` that it left with. Its arrival moves V, though: from V of those who are
/// there, of weight W, to `V' = V - w * l / (W + w)` when it is put at `v = V - l`. So the lag it then has is
/// `V' - v = l * W / (W + w)`, and for that to be vlag it is put at `l = vlag * (W + w) / W = vlag + w * vlag / W`;
/// in the second form the product has no sum in it, and fits.
pub fn place_entity<'a, H: Hooks>(
    cfs_rq: &CfsRq<'a, H>,
    se: &SchedEntity<'a, H>,
    flags: QueueFlags,
) {
    let machine = rq_of(cfs_rq).machine;
    let vruntime = avg_vruntime(cfs_rq);
    let mut nr_queued = cfs_rq.h_nr_queued.get();
    let mut update_zero = false;
    let mut lag: i64 = 0;

    machine.hooks.count(Counter::PlaceEntity);

    #[cfg(feature = "museum")]
    let slice = se.slice.get();
    if !se.custom_slice.get() {
        se.slice.set(u64::from(machine.sysctl_sched_base_slice.get()));
    }
    museum!(machine, L10 => { se.slice.set(slice) });
    let mut vslice = calc_delta_fair(se.slice.get(), se);

    if flags.contains(QueueFlags::ENQUEUE_QUEUED) {
        nr_queued = nr_queued.wrapping_sub(1);
    }

    if machine.sched_feat(SchedFeat::PLACE_LAG) && nr_queued != 0 && se.vlag.get() != 0 {
        lag = se.vlag.get();

        let mut load = cfs_rq.sum_weight.get() as i64;
        if let Some(curr) = curr_on_rq(cfs_rq) {
            load = load.wrapping_add(avg_vruntime_weight(cfs_rq, curr.h_load.weight.get()) as i64);
        }
        if WARN_ON_ONCE!(&machine.hooks, load == 0) {
            load = 1;
        }

        let weight = avg_vruntime_weight(cfs_rq, se.h_load.weight.get()) as i64;

        lag = lag.wrapping_add(div64_long(lag.wrapping_mul(weight), load));

        // One that is heavier than all the rest pulls V to itself. zero_vruntime goes along at once: a key of the
        // heavy one, times its weight, would otherwise be the product that overflows.
        if weight > load {
            update_zero = true;
        }
    }

    se.vruntime.set(vruntime.wrapping_sub(lag as u64));
    museum!(machine, L12 => {
        if flags.contains(QueueFlags::ENQUEUE_INITIAL) {
            se.vruntime.set(machine.cpu_rq(0).cfs.zero_vruntime.get());
        }
    });
    museum!(machine, L11 => { se.rel_deadline.set(false) });

    if update_zero {
        update_zero_vruntime(cfs_rq, lag.wrapping_neg());
    }

    if machine.sched_feat(SchedFeat::PLACE_REL_DEADLINE) && se.rel_deadline.get() {
        se.deadline.set(se.deadline.get().wrapping_add(se.vruntime.get()));
        se.rel_deadline.set(false);
        return;
    }

    // Those who are there are halfway through their requests on average; so is a newcomer.
    if machine.sched_feat(SchedFeat::PLACE_DEADLINE_INITIAL)
        && flags.contains(QueueFlags::ENQUEUE_INITIAL)
    {
        vslice /= 2;
    }

    // vd_i = ve_i + r_i / w_i
    se.deadline.set(se.vruntime.get().wrapping_add(vslice));
}
