// SPDX-License-Identifier: GPL-2.0-only
//! The recurrence: what a span of time makes of the sums, and what they make of the averages.
//!
//! Own arithmetic, and exact: the factors are made from roots of 62 bits and rounded down as the kernel's are, and so
//! is each product, so that nothing has to be allowed for.

/// What a series that was always 1 comes to.
pub(super) const MAX: u32 = 47_742;
/// The same without a whole period: the least divider.
pub(super) const MIN_DIVIDER: u64 = MAX as u64 - 1024;
/// The flag of util_est: nothing was measured since.
pub(super) const UNCHANGED: u32 = 1 << 31;
/// So many periods halve.
const HALF: u64 = 32;

/// `(2^32 - 1) * 2^(-n / 32)`, rounded down: the product of the roots of one half that n's bits name.
const FACTORS: [u64; HALF as usize] = {
    let mut factors = [0; HALF as usize];
    let mut n = 0;
    while n < HALF {
        let (mut factor, mut root, mut bit) = (1u128 << 62, 1u128 << 61, HALF);
        while bit > 1 {
            bit /= 2;
            root = (root << 62).isqrt();
            if n & bit != 0 {
                factor = (factor * root) >> 62;
            }
        }
        factors[n as usize] = ((u32::MAX as u128 * factor) >> 62) as u64;
        n += 1;
    }
    factors
};

/// `value * y^periods`.
fn decayed(value: u64, periods: u64) -> u64 {
    if periods > 63 * HALF {
        return 0;
    }
    let value = u128::from(value >> (periods / HALF));
    ((value * u128::from(FACTORS[(periods % HALF) as usize])) >> 32) as u64
}

/// Sums and averages, by their kernel names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Avg {
    pub last_update_time: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u32,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub util_est: u32,
    /// What last happened to it; not compared.
    pub note: Note,
}

/// What an entity or queue was in the time that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Was {
    /// Its weight; of an entity 1 if it was queued.
    pub load: u64,
    /// How many wanted to run.
    pub runnable: u64,
    /// It, or something of it, ran.
    pub running: bool,
}

/// What happened to it in one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Note {
    /// In which.
    pub op: u64,
    /// The time that passed, 1024 ns, and the state in it.
    pub elapsed: u64,
    pub was: Was,
    pub events: u8,
}

/// What an event is to an entity, and to a queue; by its bit.
pub(super) const EVENTS: [(u8, &str, &str); 5] = [
    (ATTACHED, "it was attached", "an entity was attached"),
    (DETACHED, "it was detached", "an entity was detached"),
    (REMOVED, "it left from afar", "what had left from afar was taken off"),
    (PROPAGATED, "it took over what its queue has become", "a group below changed"),
    (REWEIGHTED, "its weight changed", "an entity's weight changed"),
];
pub(super) const ATTACHED: u8 = 1;
pub(super) const DETACHED: u8 = 2;
pub(super) const REMOVED: u8 = 4;
pub(super) const PROPAGATED: u8 = 8;
pub(super) const REWEIGHTED: u8 = 16;

impl Avg {
    /// The divider at this point of the period.
    pub fn divider(&self) -> u64 {
        MIN_DIVIDER + u64::from(self.period_contrib)
    }

    /// Brings the sums up to `now`, ns. True if a period ended: the averages are to follow.
    pub fn age(&mut self, op: u64, now: u64, was: Was) -> bool {
        let elapsed = now.wrapping_sub(self.last_update_time);
        if (elapsed as i64) < 0 {
            self.last_update_time = now;
            return false;
        }
        let elapsed = elapsed >> 10;
        if elapsed == 0 {
            return false;
        }
        self.last_update_time = self.last_update_time.wrapping_add(elapsed << 10);
        // What is not queued is not runnable and does not run.
        let was = if was.load == 0 { Was::default() } else { was };
        self.noted(op, 0);
        (self.note.elapsed, self.note.was) = (elapsed, was);

        let end = elapsed + u64::from(self.period_contrib);
        let (periods, rest) = (end / 1024, (end % 1024) as u32);
        let mut amount = elapsed as u32;
        if periods != 0 {
            self.load_sum = decayed(self.load_sum, periods);
            self.runnable_sum = decayed(self.runnable_sum, periods);
            self.util_sum = decayed(u64::from(self.util_sum), periods) as u32;
            let first = decayed(u64::from(1024 - self.period_contrib), periods) as u32;
            let whole = (MAX - 1024).wrapping_sub(decayed(u64::from(MAX), periods) as u32);
            amount = first.wrapping_add(whole).wrapping_add(rest);
        }
        self.period_contrib = rest;
        let amount = u64::from(amount);
        self.load_sum = self.load_sum.wrapping_add(was.load.wrapping_mul(amount));
        let runnable = was.runnable.wrapping_mul(amount) << 10;
        self.runnable_sum = self.runnable_sum.wrapping_add(runnable);
        if was.running {
            self.util_sum = self.util_sum.wrapping_add((amount << 10) as u32);
        }
        periods as u32 != 0
    }

    /// Remembers an event of operation `op`.
    pub fn noted(&mut self, op: u64, event: u8) {
        if self.note.op != op {
            self.note = Note { op, ..Note::default() };
        }
        self.note.events |= event;
    }

    /// The averages from the sums.
    pub fn average(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight.wrapping_mul(self.load_sum) / divider;
        self.runnable_avg = self.runnable_sum / divider;
        self.util_avg = u64::from(self.util_sum) / divider;
    }

    /// Adds to the load, which stops at 0, and whose sum is at least what the average needs.
    pub fn add_load(&mut self, avg: i64, sum: i64) {
        self.load_avg = positive(self.load_avg, avg);
        let least = self.load_avg.wrapping_mul(MIN_DIVIDER);
        self.load_sum = positive(self.load_sum, sum).max(least);
    }

    /// The same of runnable.
    pub fn add_runnable(&mut self, avg: i64, sum: i64) {
        self.runnable_avg = positive(self.runnable_avg, avg);
        let least = self.runnable_avg.wrapping_mul(MIN_DIVIDER);
        self.runnable_sum = positive(self.runnable_sum, sum).max(least);
    }

    /// The same of utilisation, whose sum has 32 bits.
    pub fn add_util(&mut self, avg: i64, sum: i64) {
        self.util_avg = positive(self.util_avg, avg);
        let sum = sum as i32;
        let mut new = self.util_sum.wrapping_add(sum as u32);
        if sum < 0 && new > self.util_sum {
            new = 0;
        }
        self.util_sum = new.max(self.util_avg.wrapping_mul(MIN_DIVIDER) as u32);
    }

    /// Nothing is left of it.
    pub fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.runnable_sum == 0 && self.util_sum == 0
    }
}

/// `value + change`, at least 0.
fn positive(value: u64, change: i64) -> u64 {
    let new = value.wrapping_add(change as u64);
    if change < 0 && new > value { 0 } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_core::pelt::{LOAD_AVG_MAX, RUNNABLE_AVG_YN_INV};

    #[test]
    fn the_constants_are_found_again() {
        assert_eq!(FACTORS.map(|factor| factor as u32), RUNNABLE_AVG_YN_INV);
        assert_eq!(MAX, LOAD_AVG_MAX);
    }

    #[test]
    fn what_always_ran_is_a_whole_cpu() {
        let mut avg = Avg::default();
        let was = Was { load: 1, runnable: 1, running: true };
        for ms in 1..2000 {
            if avg.age(0, ms * 1_000_000, was) {
                avg.average(1024);
            }
        }
        assert!((1022..=1024).contains(&avg.util_avg), "{}", avg.util_avg);
        assert_eq!((avg.load_avg, avg.runnable_avg), (avg.util_avg, avg.util_avg));
    }
}
