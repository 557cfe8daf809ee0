// SPDX-License-Identifier: GPL-2.0-only
//! Arithmetic of weights: struct load_weight, the nice tables, and the step from time to virtual time.

use crate::museum;
use crate::sched::SchedEntity;
#[cfg(feature = "museum")]
use crate::sched::{cfs_rq_of, rq_of};
use crate::trace::Hooks;
use core::cell::Cell;

/// SCHED_FIXEDPOINT_SHIFT.
pub const SCHED_FIXEDPOINT_SHIFT: u32 = 10;
/// The scaled weight of nice 0: 1024 << 10.
pub const NICE_0_LOAD: u64 = 1 << (2 * SCHED_FIXEDPOINT_SHIFT);
/// The least weight that anything may have.
pub const MIN_SHARES: u64 = 1 << 1;
/// The most that cpu.shares may be, unscaled.
pub const MAX_SHARES: u64 = 1 << 18;
/// The unscaled weight of SCHED_IDLE.
pub const WEIGHT_IDLEPRIO: u64 = 3;
/// 2^32 / WEIGHT_IDLEPRIO.
pub const WMULT_IDLEPRIO: u32 = 1_431_655_765;

/// The unscaled weights of nice -20 to 19: 1024 * 1.25^-nice, as the kernel rounds them.
#[rustfmt::skip]
pub const SCHED_PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
     9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
     1024,   820,   655,   526,   423,   335,   272,   215,   172,   137,
      110,    87,    70,    56,    45,    36,    29,    23,    18,    15,
];

/// 2^32 / weight, rounded to the nearest.
pub const SCHED_PRIO_TO_WMULT: [u32; 40] = {
    let mut wmult = [0; 40];
    let mut prio = 0;
    while prio < 40 {
        let weight = SCHED_PRIO_TO_WEIGHT[prio] as u64;
        wmult[prio] = (((1u64 << 32) + weight / 2) / weight) as u32;
        prio += 1;
    }
    wmult
};

/// scale_load(): from cpu.shares units to weights.
pub const fn scale_load(weight: u64) -> u64 {
    weight << SCHED_FIXEDPOINT_SHIFT
}

/// scale_load_down(): back again; what is not 0 stays at least 2.
pub const fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 {
        return 0;
    }
    let down = weight >> SCHED_FIXEDPOINT_SHIFT;
    if down < 2 { 2 } else { down }
}

/// struct load_weight: a scaled weight, and 2^32 / weight where it is known (0 where not).
#[repr(C)]
#[derive(Debug, Default)]
pub struct LoadWeight {
    /// Scaled: 1024 << 10 is nice 0.
    pub weight: Cell<u64>,
    /// Only carried along: 64-bit code divides.
    pub inv_weight: Cell<u32>,
}

impl LoadWeight {
    /// Both fields of `lw`.
    pub fn set(&self, lw: &LoadWeight) {
        self.weight.set(lw.weight.get());
        self.inv_weight.set(lw.inv_weight.get());
    }
}

/// update_load_add().
#[inline(always)]
pub fn update_load_add(lw: &LoadWeight, inc: u64) {
    lw.weight.set(lw.weight.get() + inc);
    lw.inv_weight.set(0);
}

/// update_load_sub().
#[inline(always)]
pub fn update_load_sub(lw: &LoadWeight, dec: u64) {
    lw.weight.set(lw.weight.get().wrapping_sub(dec));
    lw.inv_weight.set(0);
}

/// update_load_set().
#[inline(always)]
pub fn update_load_set(lw: &LoadWeight, w: u64) {
    lw.weight.set(w);
    lw.inv_weight.set(0);
}

/// __calc_delta() of 64-bit machines: `delta_exec * weight / lw.weight`; the product wraps.
#[inline(always)]
pub fn __calc_delta(delta_exec: u64, weight: u64, lw: &LoadWeight) -> u64 {
    delta_exec.wrapping_mul(weight) / lw.weight.get()
}

/// calc_delta_fair(): from time to virtual time, by the entity's flat weight. ns to (weighted) ns.
#[inline(always)]
pub fn calc_delta_fair<H: Hooks>(delta: u64, se: &SchedEntity<'_, H>) -> u64 {
    if se.h_load.weight.get() != NICE_0_LOAD {
        museum!(rq_of(cfs_rq_of(se)).machine, A12 => {
            let weight = scale_load_down(se.h_load.weight.get());
            return delta.wrapping_mul(scale_load_down(NICE_0_LOAD)) / weight;
        });
        return __calc_delta(delta, NICE_0_LOAD, &se.h_load);
    }
    delta
}

/// div64_long(): towards zero. Of a divisor of 0 the kernel dies; of -1 the quotient wraps.
#[inline(always)]
pub fn div64_long(dividend: i64, divisor: i64) -> i64 {
    dividend.wrapping_div(divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wmult_is_the_inverse_of_weight() {
        for (weight, wmult) in SCHED_PRIO_TO_WEIGHT.iter().zip(SCHED_PRIO_TO_WMULT) {
            let exact = (1u64 << 32) as f64 / f64::from(*weight);
            assert!((exact - f64::from(wmult)).abs() <= 0.5, "{weight}: {wmult}");
        }
        assert_eq!(SCHED_PRIO_TO_WMULT[20], 4_194_304);
    }

    #[test]
    fn each_nice_step_is_a_quarter() {
        for pair in SCHED_PRIO_TO_WEIGHT.windows(2) {
            let ratio = f64::from(pair[0]) / f64::from(pair[1]);
            assert!((1.18..1.29).contains(&ratio), "{pair:?}");
        }
    }

    #[test]
    fn scaling_down_never_loses_a_weight() {
        assert_eq!(scale_load_down(0), 0);
        assert_eq!(scale_load_down(1), 2);
        assert_eq!(scale_load_down(NICE_0_LOAD), 1024);
        assert_eq!(scale_load_down(scale_load(15)), 15);
    }
}
