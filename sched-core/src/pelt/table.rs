// SPDX-License-Identifier: GPL-2.0-only
//! The constants of load tracking, generated when the crate is compiled: what Documentation/scheduler/sched-pelt.c
//! prints, without a floating-point unit.

/// LOAD_AVG_PERIOD: after so many periods (of 1024 us) half is left.
pub const LOAD_AVG_PERIOD: u32 = 32;

/// runnable_avg_yN_inv: `(2^32 - 1) * y^n`, rounded down, for n below 32, with `y^32 = 1/2`.
pub const RUNNABLE_AVG_YN_INV: [u32; LOAD_AVG_PERIOD as usize] = yn_inv();

/// LOAD_AVG_MAX: what the sum of a series that is always 1024 converges to: the first fixed point of
/// `max = max * y + 1024`, rounded down each time.
pub const LOAD_AVG_MAX: u32 = load_avg_max();

/// Fixed point with so many fraction bits: enough that 32 products are off by less than 2^-57.
const FRACTION: u32 = 63;

const fn yn_inv() -> [u32; LOAD_AVG_PERIOD as usize] {
    // y = (1/2)^(1/32): five square roots.
    let mut y: u128 = 1 << (FRACTION - 1);
    let mut root = 0;
    while 1 << root < LOAD_AVG_PERIOD {
        y = (y << FRACTION).isqrt();
        root += 1;
    }

    let mut inv = [0; LOAD_AVG_PERIOD as usize];
    let mut power: u128 = 1 << FRACTION;
    let mut n = 0;
    while n < inv.len() {
        inv[n] = ((u32::MAX as u128 * power) >> FRACTION) as u32;
        power = (power * y) >> FRACTION;
        n += 1;
    }
    inv
}

const fn load_avg_max() -> u32 {
    let y = RUNNABLE_AVG_YN_INV[1] as u64;
    let mut last = 0;
    let mut max: u64 = 1024;
    while last != max {
        last = max;
        max = ((max * y) >> 32) + 1024;
    }
    max as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_factor_is_y_times_the_one_before() {
        assert_eq!(RUNNABLE_AVG_YN_INV[0], u32::MAX);
        // y^16 is the root of one half.
        let half = u64::from(RUNNABLE_AVG_YN_INV[16]);
        assert!((half * half).abs_diff(1 << 63) < 1 << 33);
        let y = f64::powf(0.5, 1.0 / 32.0);
        for (n, &inv) in RUNNABLE_AVG_YN_INV.iter().enumerate() {
            let exact = f64::from(u32::MAX) * f64::powi(y, n as i32);
            assert!((0.0..1.0).contains(&(exact - f64::from(inv))), "{n}: {inv} for {exact}");
        }
    }

    #[test]
    fn the_series_converges() {
        assert_eq!(LOAD_AVG_MAX, 47_742);
    }
}
