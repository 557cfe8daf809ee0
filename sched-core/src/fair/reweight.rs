// SPDX-License-Identifier: GPL-2.0-only
//! Changes of weight, of the share on a level and of the flat weight at the root.

use super::avg_vruntime::{avg_vruntime, entity_lag};
#[cfg(feature = "museum")]
use super::avg_vruntime::{sum_w_vruntime_add, sum_w_vruntime_sub};
use super::load::{
    LoadWeight, MIN_SHARES, NICE_0_LOAD, div64_long, update_load_add, update_load_set,
    update_load_sub,
};
use super::load_avg::{dequeue_load_avg, enqueue_load_avg};
use super::pick::protect_slice;
use super::timeline::{__dequeue_entity, __enqueue_entity};
use super::update_curr::update_curr_fair;
use crate::pelt::{get_pelt_divider, se_weight};
#[cfg(feature = "museum")]
use crate::sched::vruntime_sub;
use crate::sched::{
    CfsRq, Rq, SchedEntity, TaskStruct, cfs_rq_of, for_each_sched_entity, is, parent_entity, rq_of,
};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};

/// rescale_entity(): the virtual distances of `se` as they are with `weight`.
///
/// A change of weight conserves lag, `w * (V - v) = w' * (V' - v')`, and with that it leaves V where it is:
///
/// ```text
/// V' * (W - w + w') = W * V - w * v + w' * v'
///                   = W * V - w * v + w' * V' - w * (V - v)
///                   = (W - w) * V + w' * V'            so  V' * (W - w) = V * (W - w)
/// ```
///
/// So `v' = V - (V - v) * w / w'`, and the other distances from V (deadline and protection, if they are relative
/// now) scale alike.
fn rescale_entity<H: Hooks>(se: &SchedEntity<'_, H>, weight: u64, rel_vprot: bool) {
    let old_weight = se.h_load.weight.get() as i64;
    let rescale = |distance: i64| div64_long(distance.wrapping_mul(old_weight), weight as i64);

    se.vlag.set(rescale(se.vlag.get()));

    if se.rel_deadline.get() {
        se.deadline.set(rescale(se.deadline.get() as i64) as u64);
    }

    if rel_vprot {
        se.vprot.set(rescale(se.vprot.get() as i64) as u64);
    }
}

/// reweight_eevdf(): gives `se` the flat weight `weight`; `on_rq` says that it competes now.
pub fn reweight_eevdf<'a, H: Hooks>(
    cfs_rq: &'a CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    weight: u64,
    on_rq: bool,
) {
    let curr = is(cfs_rq.curr.get(), se);
    #[allow(unused_mut, reason = "museum")]
    let mut in_tree = !curr;
    let mut rel_vprot = false;
    let mut avruntime = 0;

    if se.h_load.weight.get() == weight {
        return;
    }
    rq_of(cfs_rq).count(Counter::ReweightEevdf);

    if on_rq {
        avruntime = avg_vruntime(cfs_rq);
        museum!(rq_of(cfs_rq).machine, L04 => {
            if !curr {
                __dequeue_entity(cfs_rq, se);
                avruntime = avg_vruntime(cfs_rq);
                __enqueue_entity(cfs_rq, se);
            }
        });
        se.vlag.set(entity_lag(cfs_rq, se, avruntime));
        museum!(rq_of(cfs_rq).machine, A02 => {
            se.vlag.set(vruntime_sub(avruntime, se.vruntime.get()));
        });
        se.deadline.set(se.deadline.get().wrapping_sub(avruntime));
        se.rel_deadline.set(true);
        if curr && protect_slice(se) {
            se.vprot.set(se.vprot.get().wrapping_sub(avruntime));
            rel_vprot = true;
        }

        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() - 1);
        museum!(rq_of(cfs_rq).machine, T02 => {
            in_tree = false;
            if !curr {
                sum_w_vruntime_sub(cfs_rq, se);
            }
        });
        museum!(rq_of(cfs_rq).machine, T03 => {
            if curr {
                sum_w_vruntime_sub(cfs_rq, se);
            }
        });
        if in_tree {
            __dequeue_entity(cfs_rq, se);
        }
    }

    rescale_entity(se, weight, rel_vprot);

    museum!(rq_of(cfs_rq).machine, L05 => {
        let load = (cfs_rq.sum_weight.get() + weight) as i64;
        if on_rq && curr {
            let vlag = se.vlag.get();
            se.vlag.set(vlag.wrapping_add(div64_long(vlag.wrapping_mul(weight as i64), load)));
        }
    });
    update_load_set(&se.h_load, weight);

    if on_rq {
        if rel_vprot {
            se.vprot.set(se.vprot.get().wrapping_add(avruntime));
        }
        se.deadline.set(se.deadline.get().wrapping_add(avruntime));
        se.rel_deadline.set(false);
        #[cfg(feature = "museum")]
        let vruntime = se.vruntime.get();
        se.vruntime.set(avruntime.wrapping_sub(se.vlag.get() as u64));
        museum!(rq_of(cfs_rq).machine, L01 => { se.vruntime.set(vruntime) });

        museum!(rq_of(cfs_rq).machine, T02 => { if !curr { sum_w_vruntime_add(cfs_rq, se) } });
        museum!(rq_of(cfs_rq).machine, T03 => { if curr { sum_w_vruntime_add(cfs_rq, se) } });
        if in_tree {
            __enqueue_entity(cfs_rq, se);
        }
        cfs_rq.h_nr_queued.set(cfs_rq.h_nr_queued.get() + 1);
    }
}

/// reweight_entity(): gives `se` the share `weight` on its level.
pub fn reweight_entity<'a, H: Hooks>(
    cfs_rq: &'a CfsRq<'a, H>,
    se: &'a SchedEntity<'a, H>,
    weight: u64,
) {
    if se.load.weight.get() == weight {
        return;
    }

    if se.on_rq.get() {
        WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), !core::ptr::eq(cfs_rq, cfs_rq_of(se)));
        update_load_sub(&cfs_rq.load, se.load.weight.get());
    }
    dequeue_load_avg(cfs_rq, se);

    update_load_set(&se.load, weight);

    let divider = u64::from(get_pelt_divider(&se.avg));
    se.avg.load_avg.set(se_weight(se).wrapping_mul(se.avg.load_sum.get()) / divider);

    enqueue_load_avg(cfs_rq, se);

    if se.on_rq.get() {
        update_load_add(&cfs_rq.load, se.load.weight.get());
    }
}

/// __calc_prop_weight(): one step of the walk from a task up to the root that makes its flat weight:
/// `weight * (share of se in its queue)`, and at the root the share as such.
#[inline(always)]
pub fn __calc_prop_weight<H: Hooks>(
    cfs_rq: &CfsRq<'_, H>,
    se: &SchedEntity<'_, H>,
    weight: u64,
) -> u64 {
    let weight = weight.wrapping_mul(se.load.weight.get());
    let weight = match parent_entity(se) {
        Some(_) => weight / cfs_rq.load.weight.get(),
        None => weight / NICE_0_LOAD,
    };
    museum!(rq_of(cfs_rq).machine, H11 => { return weight });
    weight.max(MIN_SHARES)
}

/// reweight_task_fair(): the reweight_task method: the nice weight of `p` changes.
pub fn reweight_task_fair<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    lw: &LoadWeight,
) {
    let se = &p.se;
    let mut weight = NICE_0_LOAD;

    if se.on_rq.get() {
        update_curr_fair(rq, Site::ReweightTaskFair);
    }

    reweight_entity(cfs_rq_of(se), se, lw.weight.get());
    se.load.inv_weight.set(lw.inv_weight.get());

    if !se.on_rq.get() {
        return;
    }

    for se in for_each_sched_entity(se) {
        weight = __calc_prop_weight(cfs_rq_of(se), se, weight);
    }

    reweight_eevdf(&rq.cfs, se, weight, se.on_rq.get());
}
