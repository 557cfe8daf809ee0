// SPDX-License-Identifier: GPL-2.0-only
//! What the picks of the recorded kernel say of lags that the recording does not give.
//!
//! A task that was there before the recording began has a lag that nobody wrote down. It is taken to be 0, give or take
//! `sigma`, and every pick narrows that down: the task that the kernel ran was eligible, and had an earlier deadline
//! than all others that were. Each such statement about a difference of two uncertain numbers moves both, the more
//! uncertain one further, and makes them less uncertain: the update of a Gaussian belief by a comparison, as rating
//! systems do it for players and games. It is made after the decision was compared, never before.
//!
//! Whole numbers only: the same recording gives the same answer on any machine.

use super::hooks::TaskId;

/// Less uncertain than this is as good as known: virtual ns.
pub const KNOWN_NS: i64 = 20_000;

/// What does not get better by looking: clocks of the kernel that a recording cannot show. Virtual ns.
const FLOOR_NS: i64 = 1_000;

/// A candidate of a pick.
#[derive(Clone, Copy, Debug)]
pub struct Belief {
    /// Who.
    pub task: TaskId,
    /// V minus vruntime, virtual ns.
    pub lag_ns: i64,
    /// Deadline minus V, virtual ns.
    pub deadline_ns: i64,
    /// How uncertain both are, since both move with the lag it began with; 0: known.
    pub sigma_ns: i64,
    /// It was running, and protected from preemption.
    pub protected: bool,
    /// By how much its vruntime and deadline are to be moved: the result.
    pub shift_ns: i64,
}

impl Belief {
    fn later(&mut self, by_ns: i64) {
        self.shift_ns += by_ns;
        self.deadline_ns += by_ns;
        self.lag_ns -= by_ns;
    }

    /// After something was learned of which the share `w` (of 1000, and of what `spread2` is made of) was its own.
    fn narrow(&mut self, w: i64, spread2: i64) {
        let own2 = self.sigma_ns * self.sigma_ns;
        let left = 1_000 - i128::from(own2) * i128::from(w) / i128::from(spread2.max(1));
        let var = i128::from(own2) * left.clamp(10, 1_000) / 1_000;
        self.sigma_ns = (var as i64).isqrt().max(FLOOR_NS.min(self.sigma_ns));
    }
}

/// The hazard of the normal distribution, from -6 in steps of 0.5, all in thousandths: how far, in sigmas, the mean of a
/// difference moves that is known to be above 0.
const HAZARD: [i64; 19] = [
    6158, 5671, 5187, 4705, 4226, 3751, 3283, 2823, 2373, 1938, 1525, 1141, 798, 509, 288, 139, 55, 18, 4,
];

fn hazard(t: i64) -> i64 {
    let t = t + 6_000;
    if t < 0 {
        return HAZARD[0] - t;
    }
    let (slot, part) = ((t / 500) as usize, t % 500);
    match HAZARD.get(slot..slot + 2) {
        Some(ends) => ends[0] + (ends[1] - ends[0]) * part / 500,
        None => 0,
    }
}

/// `difference` (virtual ns, of variance `spread2`) is known to be above 0: by how many thousandths of the spread its
/// mean moves, the share of the variance that goes, in thousandths, and the spread.
fn above_zero(difference: i64, spread2: i64) -> Option<(i64, i64, i64)> {
    let spread = (spread2 + FLOOR_NS * FLOOR_NS).isqrt();
    let t = (i128::from(difference) * 1_000 / i128::from(spread)).clamp(-50_000, 50_000) as i64;
    let v = hazard(t);
    if v == 0 {
        return None;
    }
    let w = (v * (v + t) / 1_000).clamp(0, 1_000);
    Some((v, w, spread))
}

/// `belief` is known to be eligible, or not to be.
pub fn eligible(belief: &mut Belief, eligible: bool) {
    let sign = if eligible { 1 } else { -1 };
    let own2 = belief.sigma_ns * belief.sigma_ns;
    if own2 == 0 {
        return;
    }
    if let Some((v, w, spread)) = above_zero(sign * belief.lag_ns, own2) {
        let by = (i128::from(own2) * i128::from(v) / (i128::from(spread) * 1_000)) as i64;
        belief.later(-sign * by);
        belief.narrow(w, spread * spread);
    }
}

/// The kernel picked `task` of these. False: that says nothing.
pub fn picked(all: &mut [Belief], task: TaskId) -> bool {
    if all.iter().all(|one| one.sigma_ns == 0) {
        return false;
    }
    let Some(at) = all.iter().position(|one| one.task == task) else { return false };
    let mut x = all[at];
    eligible(&mut x, true);
    if !x.protected {
        for (other, y) in all.iter_mut().enumerate() {
            if other != at {
                before(&mut x, y);
            }
        }
    }
    all[at] = x;
    true
}

/// `x` was picked before `y`.
fn before(x: &mut Belief, y: &mut Belief) {
    if y.protected && y.deadline_ns > x.deadline_ns {
        // It would have been kept, had it been eligible.
        return eligible(y, false);
    }
    if y.lag_ns < 0 {
        // Its deadline did not count.
        return;
    }
    let (x2, y2) = (x.sigma_ns * x.sigma_ns, y.sigma_ns * y.sigma_ns);
    if x2 + y2 == 0 {
        return;
    }
    let Some((v, w, spread)) = above_zero(y.deadline_ns - x.deadline_ns, x2 + y2) else { return };
    let by = |own2: i64| (i128::from(own2) * i128::from(v) / (i128::from(spread) * 1_000)) as i64;
    x.later(-by(x2));
    y.later(by(y2));
    x.narrow(w, spread * spread);
    y.narrow(w, spread * spread);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(task: TaskId, lag_ns: i64, sigma_ns: i64) -> Belief {
        Belief { task, lag_ns, deadline_ns: 700_000 - lag_ns, sigma_ns, protected: false, shift_ns: 0 }
    }

    #[test]
    fn the_order_of_unknown_lags_is_found_from_picks() {
        // True lags 40, 30, 20, 10 us; believed to be 0.
        let truth = [10_000, 40_000, 20_000, 30_000];
        let mut believed = [0i64; 4];
        let mut sigma = [100_000i64; 4];
        for round in 0..40 {
            let there: Vec<usize> = (0..4).filter(|task| (round + task) % 4 != 0).collect();
            let best = there.iter().copied().max_by_key(|task| truth[*task]).unwrap();
            let mut all: Vec<Belief> =
                there.iter().map(|task| one(*task as u32, believed[*task], sigma[*task])).collect();
            assert!(picked(&mut all, best as u32));
            for belief in all {
                believed[belief.task as usize] -= belief.shift_ns;
                sigma[belief.task as usize] = belief.sigma_ns;
            }
        }
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|task| believed[*task]);
        assert_eq!(order, [0, 2, 3, 1], "{believed:?}");
    }

    #[test]
    fn what_is_known_stays() {
        let mut all = [one(0, 5, 0), one(1, 500_000, 0), one(2, 0, 0)];
        assert!(!picked(&mut all, 0));
        let mut all = [one(0, 5, 0), one(1, 500_000, 100_000)];
        assert!(picked(&mut all, 0));
        assert_eq!((all[0].shift_ns, all[0].sigma_ns), (0, 0));
        assert!(all[1].shift_ns > 0 && all[1].sigma_ns < 100_000, "{all:?}");
    }

    #[test]
    fn nothing_overflows() {
        for lag in [i64::MIN / 8, -1, 0, 1, i64::MAX / 8] {
            let mut all = [one(0, lag, 5_000_000), one(1, -lag, 5_000_000), one(2, 0, 1)];
            picked(&mut all, 1);
        }
    }
}
