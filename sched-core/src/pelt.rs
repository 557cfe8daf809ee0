// SPDX-License-Identifier: GPL-2.0-only
//! pelt.c and pelt.h: per-entity load tracking.
//!
//! What an entity did is a geometric series over periods of 1024 us: a period n periods ago counts y^n, with
//! `y^32 = 1/2`. Three series are kept: load (it was queued), runnable (it, or how many below it, wanted to run) and
//! util (it ran). The sums are in units of 1024 ns, runnable and util scaled by 1024; the averages are the sums divided
//! by what a series that was always 1 would have come to by now ([`get_pelt_divider`]), load times the weight.

use crate::fair::load::scale_load_down;
use crate::features::SchedFeat;
use crate::sched::{CfsRq, Rq, SchedEntity, is, is_idle_task, rq_clock_task, rq_of};
use crate::sync::{AtomicU64, Ordering};
use crate::trace::Hooks;
use core::cell::Cell;

mod table;

pub use table::{LOAD_AVG_MAX, LOAD_AVG_PERIOD, RUNNABLE_AVG_YN_INV};

/// SCHED_CAPACITY_SHIFT.
pub const SCHED_CAPACITY_SHIFT: u32 = 10;
/// SCHED_CAPACITY_SCALE: a whole CPU; every CPU here has that capacity.
pub const SCHED_CAPACITY_SCALE: u64 = 1 << SCHED_CAPACITY_SHIFT;
/// PELT_MIN_DIVIDER: the divider at the start of a period.
pub const PELT_MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;
/// UTIL_AVG_UNCHANGED: the bit of util_est that says that util_avg was not updated since.
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;

/// struct sched_avg.
#[derive(Default)]
pub struct SchedAvg {
    /// Up to when the sums are complete, on the queue's PELT clock, ns in whole 1024; 0: attached to no queue.
    last_update_time: AtomicU64,
    /// Load, 1024 ns; of a queue weighted.
    pub load_sum: Cell<u64>,
    /// Runnable, ns.
    pub runnable_sum: Cell<u64>,
    /// Utilisation, ns.
    pub util_sum: Cell<u32>,
    /// How much of the present period is in the sums, 1024 ns.
    pub period_contrib: Cell<u32>,
    /// Load, weighted (unscaled weights).
    pub load_avg: Cell<u64>,
    /// Runnable, 1024 for one that always was.
    pub runnable_avg: Cell<u64>,
    /// Utilisation, 1024 for one that always ran.
    pub util_avg: Cell<u64>,
    /// The estimate of the next activation's utilisation, and its flag.
    pub util_est: Cell<u32>,
}

impl SchedAvg {
    /// last_update_time. Read without the runqueue's lock when a task leaves for another CPU.
    #[inline(always)]
    pub fn last_update_time(&self) -> u64 {
        self.last_update_time.load(Ordering::Relaxed)
    }

    /// Sets last_update_time.
    #[inline(always)]
    pub fn set_last_update_time(&self, now: u64) {
        self.last_update_time.store(now, Ordering::Relaxed);
    }

    /// All zero.
    pub fn clear(&self) {
        self.set_last_update_time(0);
        self.load_sum.set(0);
        self.runnable_sum.set(0);
        self.util_sum.set(0);
        self.period_contrib.set(0);
        self.load_avg.set(0);
        self.runnable_avg.set(0);
        self.util_avg.set(0);
        self.util_est.set(0);
    }
}

/// decay_load(): `val * y^n`. Halved for every 32 periods, the rest from the table.
#[inline(always)]
fn decay_load(val: u64, n: u64) -> u64 {
    if n > u64::from(LOAD_AVG_PERIOD) * 63 {
        return 0;
    }
    let n = n as u32;
    let val = val >> (n / LOAD_AVG_PERIOD);
    let inv = RUNNABLE_AVG_YN_INV[(n % LOAD_AVG_PERIOD) as usize];
    // mul_u64_u32_shr()
    ((u128::from(val) * u128::from(inv)) >> 32) as u64
}

/// __accumulate_pelt_segments(): what a span over `periods` boundaries comes to, with `d1` of it before the first and
/// `d3` after the last.
///
/// The whole periods between count `1024 * sum of y^n, n = 1..p-1`: the whole series less its tail less its first
/// term.
fn __accumulate_pelt_segments(periods: u64, d1: u32, d3: u32) -> u32 {
    let c1 = decay_load(u64::from(d1), periods) as u32;
    let tail = decay_load(u64::from(LOAD_AVG_MAX), periods) as u32;
    // Rounding may leave it one short of 0.
    let c2 = LOAD_AVG_MAX.wrapping_sub(tail).wrapping_sub(1024);

    c1.wrapping_add(c2).wrapping_add(d3)
}

/// accumulate_sum(): adds `delta` (1024 ns) of the state given; true if a period boundary was crossed.
#[inline(always)]
fn accumulate_sum(delta: u64, sa: &SchedAvg, load: u64, runnable: u64, running: bool) -> bool {
    let mut delta = delta;
    let mut contrib = delta as u32;

    delta += u64::from(sa.period_contrib.get());
    let periods = delta / 1024;

    if periods != 0 {
        sa.load_sum.set(decay_load(sa.load_sum.get(), periods));
        sa.runnable_sum.set(decay_load(sa.runnable_sum.get(), periods));
        sa.util_sum.set(decay_load(u64::from(sa.util_sum.get()), periods) as u32);

        delta %= 1024;
        // Without load nothing is runnable or running either, and contrib is not asked for.
        if load != 0 {
            contrib =
                __accumulate_pelt_segments(periods, 1024 - sa.period_contrib.get(), delta as u32);
        }
    }
    sa.period_contrib.set(delta as u32);

    if load != 0 {
        sa.load_sum.set(sa.load_sum.get().wrapping_add(load.wrapping_mul(u64::from(contrib))));
    }
    if runnable != 0 {
        let add = runnable.wrapping_mul(u64::from(contrib)) << SCHED_CAPACITY_SHIFT;
        sa.runnable_sum.set(sa.runnable_sum.get().wrapping_add(add));
    }
    if running {
        sa.util_sum.set(sa.util_sum.get().wrapping_add(contrib << SCHED_CAPACITY_SHIFT));
    }

    periods as u32 != 0
}

/// ___update_load_sum(): brings the sums up to `now` (ns, the queue's PELT clock), given the state since the last time:
/// `load` (weight, or 1 if queued), `runnable` (how many), `running`. True if the averages have to follow.
#[inline(always)]
fn ___update_load_sum(now: u64, sa: &SchedAvg, load: u64, runnable: u64, running: bool) -> bool {
    let mut delta = now.wrapping_sub(sa.last_update_time());
    if (delta as i64) < 0 {
        sa.set_last_update_time(now);
        return false;
    }

    // Near enough to a microsecond, and a shift.
    delta >>= 10;
    if delta == 0 {
        return false;
    }

    sa.set_last_update_time(sa.last_update_time().wrapping_add(delta << 10));

    // One that was just dequeued may still be h_curr: not queued, it does not run.
    if load == 0 {
        return accumulate_sum(delta, sa, 0, 0, false);
    }
    accumulate_sum(delta, sa, load, runnable, running)
}

/// get_pelt_divider(): what a sum that was always 1 has come to, at this point of the period. At a period's end it is
/// LOAD_AVG_MAX, which is `LOAD_AVG_MAX * y + 1024`.
#[inline(always)]
pub fn get_pelt_divider(avg: &SchedAvg) -> u32 {
    PELT_MIN_DIVIDER + avg.period_contrib.get()
}

/// ___update_load_avg(): the averages from the sums.
#[inline(always)]
fn ___update_load_avg(sa: &SchedAvg, load: u64) {
    let divider = get_pelt_divider(sa);

    sa.load_avg.set(load.wrapping_mul(sa.load_sum.get()) / u64::from(divider));
    sa.runnable_avg.set(sa.runnable_sum.get() / u64::from(divider));
    sa.util_avg.set(u64::from(sa.util_sum.get() / divider));
}

/// se_weight(): the unscaled weight.
#[inline(always)]
pub fn se_weight<H: Hooks>(se: &SchedEntity<'_, H>) -> u64 {
    scale_load_down(se.load.weight.get())
}

/// se_runnable(): whether a task wants to run; how many below a group's entity do.
#[inline(always)]
pub fn se_runnable<H: Hooks>(se: &SchedEntity<'_, H>) -> u64 {
    crate::museum!(rq_of(crate::sched::cfs_rq_of(se)).machine, D14 => {
        if se.my_q.get().is_none() { return u64::from(se.on_rq.get()) }
    });
    if se.sched_delayed.get() {
        return 0;
    }
    match se.my_q.get() {
        None => u64::from(se.on_rq.get()),
        Some(_) => se.runnable_weight.get(),
    }
}

/// __update_load_avg_blocked_se(): of one that is not queued. True if the averages changed.
pub fn __update_load_avg_blocked_se<H: Hooks>(now: u64, se: &SchedEntity<'_, H>) -> bool {
    if ___update_load_sum(now, &se.avg, 0, 0, false) {
        ___update_load_avg(&se.avg, se_weight(se));
        return true;
    }
    false
}

/// __update_load_avg_se().
#[inline(always)]
pub fn __update_load_avg_se<'a, H: Hooks>(
    now: u64,
    cfs_rq: &CfsRq<'a, H>,
    se: &SchedEntity<'a, H>,
) -> bool {
    let running = is(cfs_rq.h_curr.get(), se);
    if ___update_load_sum(now, &se.avg, u64::from(se.on_rq.get()), se_runnable(se), running) {
        ___update_load_avg(&se.avg, se_weight(se));
        crate::museum!(rq_of(cfs_rq).machine, A15 => { ___update_load_avg(&se.avg, 1) });
        cfs_se_util_change(cfs_rq, &se.avg);
        return true;
    }
    false
}

/// __update_load_avg_cfs_rq().
#[inline(always)]
pub fn __update_load_avg_cfs_rq<H: Hooks>(now: u64, cfs_rq: &CfsRq<'_, H>) -> bool {
    let load = scale_load_down(cfs_rq.load.weight.get());
    let runnable = u64::from(cfs_rq.h_nr_runnable.get());
    if ___update_load_sum(now, &cfs_rq.avg, load, runnable, cfs_rq.h_curr.get().is_some()) {
        ___update_load_avg(&cfs_rq.avg, 1);
        return true;
    }
    false
}

/// cfs_se_util_change(): util_avg is fresh; the next dequeue may make an estimate of it.
#[inline(always)]
fn cfs_se_util_change<H: Hooks>(cfs_rq: &CfsRq<'_, H>, avg: &SchedAvg) {
    if !rq_of(cfs_rq).machine.sched_feat(SchedFeat::UTIL_EST) {
        return;
    }
    crate::museum!(rq_of(cfs_rq).machine, K05B => { return });
    let enqueued = avg.util_est.get();
    if enqueued & UTIL_AVG_UNCHANGED != 0 {
        avg.util_est.set(enqueued & !UTIL_AVG_UNCHANGED);
    }
}

/// rq_clock_pelt(): ns; idle time that was lost to being slow is left out.
#[inline(always)]
pub fn rq_clock_pelt<H: Hooks>(rq: &Rq<'_, H>) -> u64 {
    crate::sched::assert_clock_updated(rq);
    rq.clock_pelt.get().wrapping_sub(rq.lost_idle_time.get())
}

/// _update_idle_rq_clock_pelt(): idle, the clock can catch up.
#[inline(always)]
fn _update_idle_rq_clock_pelt<H: Hooks>(rq: &Rq<'_, H>) {
    rq.clock_pelt.set(rq_clock_task(rq));

    rq.clock_idle.store(rq.clock.get(), Ordering::Relaxed);
    // Pairs with migrate_se_pelt_lag(): who sees this one sees that one.
    rq.clock_pelt_idle.store(rq_clock_pelt(rq), Ordering::Release);
}

/// cap_scale(): by a capacity of 1024, so only the wrap of the product is left of it.
#[inline(always)]
fn cap_scale(delta: i64) -> i64 {
    ((delta as u64).wrapping_mul(SCHED_CAPACITY_SCALE) >> SCHED_CAPACITY_SHIFT) as i64
}

/// update_rq_clock_pelt(): `delta` ns of the task clock, scaled by what the CPU can do (all of it, here).
#[inline(always)]
pub fn update_rq_clock_pelt<H: Hooks>(rq: &Rq<'_, H>, delta: i64) {
    if is_idle_task(rq.curr()) {
        _update_idle_rq_clock_pelt(rq);
        return;
    }

    // By CPU capacity, then by frequency.
    let delta = cap_scale(cap_scale(delta));

    rq.clock_pelt.set(rq.clock_pelt.get().wrapping_add(delta as u64));
}

/// update_idle_rq_clock_pelt(): the CPU becomes idle. If it was fully busy there was no idle time to be stolen by
/// running slowly: what the clock is behind is lost then.
pub fn update_idle_rq_clock_pelt<H: Hooks>(rq: &Rq<'_, H>) {
    let divider = ((LOAD_AVG_MAX - 1024) << SCHED_CAPACITY_SHIFT) - LOAD_AVG_MAX;

    // No other class adds to it here.
    if rq.cfs.avg.util_sum.get() >= divider {
        let lost = rq_clock_task(rq).wrapping_sub(rq.clock_pelt.get());
        rq.lost_idle_time.set(rq.lost_idle_time.get().wrapping_add(lost));
    }

    _update_idle_rq_clock_pelt(rq);
}

/// update_idle_cfs_rq_clock_pelt(): a queue becomes empty: leaves word of its throttled time for
/// migrate_se_pelt_lag(); all ones if its clock stands.
pub fn update_idle_cfs_rq_clock_pelt<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    let throttled = if cfs_rq.pelt_clock_throttled.get() {
        u64::MAX
    } else {
        cfs_rq.throttled_clock_pelt_time.get()
    };
    cfs_rq.throttled_pelt_idle.store(throttled, Ordering::Relaxed);
}

/// cfs_rq_clock_pelt(): the PELT clock of a queue: it stands while the queue is throttled and empty. ns.
#[inline(always)]
pub fn cfs_rq_clock_pelt<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> u64 {
    let throttled = cfs_rq.throttled_clock_pelt_time.get();
    crate::museum!(rq_of(cfs_rq).machine, K11 => {
        return rq_clock_pelt(rq_of(cfs_rq)).wrapping_sub(throttled);
    });
    if cfs_rq.pelt_clock_throttled.get() {
        return cfs_rq.throttled_clock_pelt.get().wrapping_sub(throttled);
    }
    rq_clock_pelt(rq_of(cfs_rq)).wrapping_sub(throttled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_gone_after_32_periods() {
        assert_eq!(decay_load(1 << 40, 32), (1 << 39) - (1 << 7));
        assert_eq!(decay_load(1 << 40, 32 * 63 + 1), 0);
        assert_eq!(decay_load(0, 5), 0);
    }

    #[test]
    fn always_running_converges_to_a_whole_cpu() {
        let sa = SchedAvg::default();
        for ms in 1..2000_u64 {
            if ___update_load_sum(ms * 1_000_000, &sa, 1, 1, true) {
                ___update_load_avg(&sa, 1024);
            }
        }
        assert!((1022..=1024).contains(&sa.util_avg.get()), "{}", sa.util_avg.get());
        assert!((1022..=1024).contains(&sa.runnable_avg.get()));
        assert!((1022..=1024).contains(&sa.load_avg.get()));
    }

    #[test]
    fn one_step_or_many_come_to_the_same_sum_up_to_rounding() {
        let (once, often) = (SchedAvg::default(), SchedAvg::default());
        ___update_load_sum(64 << 20, &once, 1, 1, true);
        for step in 1..=64_u64 {
            ___update_load_sum(step << 20, &often, 1, 1, true);
        }
        let (a, b) = (once.load_sum.get(), often.load_sum.get());
        assert!(a.abs_diff(b) <= 64, "{a} against {b}");
        assert_eq!(once.period_contrib.get(), often.period_contrib.get());
    }
}
