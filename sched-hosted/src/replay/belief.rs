// SPDX-License-Identifier: GPL-2.0-only
//! What the decisions of the recorded kernel say of lags that the recording does not give.
//!
//! A task that was there before the recording began has a lag that nobody wrote down. It is taken to be 0 (its vruntime
//! to be V), give or take a spread, and so is a start of the model that may be wrong. From then on the error of each
//! task follows a linear law: a charge does not change it; a task that leaves takes with it the error of V less its own,
//! and brings that back when it is placed; a lag that was cut to 0 on the way (DELAY_ZERO) has none. So the errors are
//! tracked as numbers with a common covariance. A pick that the model would not have made says that a difference of two
//! deadlines, or a lag, is on the other side of 0: all errors that have to do with it move by as much as is likely, and
//! become less uncertain. That is done after the decision was compared, never before, and only where the model was
//! wrong; a start that is known is never moved.
//!
//! Sums, products, quotients and roots of f64 only, which give the same bits on any machine.

use super::hooks::TaskId;

/// Less uncertain than this is as good as known: virtual ns.
pub const KNOWN_NS: f64 = 20_000.0;

/// What the clocks of the kernel do that a recording does not show: virtual ns.
const NOISE_NS: f64 = 100.0;

/// How much less certain a lag gets each time it is taken along: virtual ns.
const DRIFT_NS: f64 = 20.0;

/// At most this share of a variance goes by one look.
const SHARE_MAX: f64 = 0.7;

/// More tasks than this are not tracked at a time.
const SLOTS_MAX: usize = 192;

/// Where a task is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    task: TaskId,
    cpu: u32,
    queued: bool,
    weight: f64,
    used: bool,
}

/// The errors of all lags.
#[derive(Debug, Default)]
pub struct Beliefs {
    /// The slot of a task plus 1.
    slot_of: Vec<u32>,
    places: Vec<Place>,
    /// Covariances, row by row, virtual ns squared.
    cov: Vec<f64>,
    /// By how much the error of a slot was found to be off; to be applied: virtual ns.
    shift: Vec<f64>,
    stride: usize,
    active: bool,
    sigma_max_ns: f64,
    row: Vec<f64>,
    /// Tasks whose deadline is a guess, and what it is.
    stale: Vec<(TaskId, u64)>,
    /// Of those, the ones to be moved, and by how much: virtual ns.
    deadlines: Vec<(TaskId, i64)>,
}

/// A statement about errors: coefficients by slot.
type Terms = Vec<(usize, f64)>;

impl Beliefs {
    /// Whether anything is uncertain.
    pub fn is_active(&self) -> bool {
        self.active
    }

    fn slot(&self, task: TaskId) -> Option<usize> {
        (*self.slot_of.get(task as usize)? as usize).checked_sub(1)
    }

    /// How uncertain the lag of `task` is: virtual ns.
    pub fn sigma_ns(&self, task: TaskId) -> f64 {
        self.slot(task).map_or(0.0, |slot| self.cov[slot * self.stride + slot].max(0.0).sqrt())
    }

    /// `task` is there, with an error of 0 give or take `sigma_ns`.
    pub fn add(&mut self, task: TaskId, cpu: u32, queued: bool, weight: u64, sigma_ns: f64) {
        let slot = match self.slot(task) {
            Some(slot) => slot,
            None => {
                let Some(slot) = self.free_slot() else { return };
                let at = task as usize;
                if at >= self.slot_of.len() {
                    self.slot_of.resize(at + 1, 0);
                }
                self.slot_of[at] = slot as u32 + 1;
                slot
            }
        };
        self.places[slot] = Place { task, cpu, queued, weight: weight as f64, used: true };
        self.clear(slot);
        self.cov[slot * self.stride + slot] = sigma_ns * sigma_ns;
        self.active |= sigma_ns > 0.0;
        self.sigma_max_ns = self.sigma_max_ns.max(sigma_ns);
    }

    fn free_slot(&mut self) -> Option<usize> {
        if let Some(slot) = self.places.iter().position(|place| !place.used) {
            return Some(slot);
        }
        let slot = self.places.len();
        if slot >= SLOTS_MAX {
            return None;
        }
        if slot >= self.stride {
            let stride = (slot + 1).next_power_of_two();
            let mut cov = vec![0.0; stride * stride];
            for row in 0..slot {
                let (to, from) = (row * stride, row * self.stride);
                cov[to..to + slot].copy_from_slice(&self.cov[from..from + slot]);
            }
            (self.cov, self.stride) = (cov, stride);
        }
        self.places.push(Place::default());
        self.shift.push(0.0);
        self.row.push(0.0);
        Some(slot)
    }

    fn clear(&mut self, slot: usize) {
        for other in 0..self.places.len() {
            self.cov[slot * self.stride + other] = 0.0;
            self.cov[other * self.stride + slot] = 0.0;
        }
        self.shift[slot] = 0.0;
    }

    /// `task` is gone.
    pub fn remove(&mut self, task: TaskId) {
        if let Some(slot) = self.slot(task) {
            self.clear(slot);
            self.places[slot] = Place::default();
            self.slot_of[task as usize] = 0;
            self.rest();
        }
    }

    /// The lag of `task` is known: it has just been cut to 0.
    pub fn settle(&mut self, task: TaskId) {
        if let Some(slot) = self.slot(task) {
            self.clear(slot);
            self.rest();
        }
    }

    /// Notices when nothing is uncertain any more.
    fn rest(&mut self) {
        let n = self.places.len();
        self.active = (0..n).any(|slot| self.cov[slot * self.stride + slot] > NOISE_NS * NOISE_NS);
    }

    /// V's error on `cpu`, whose queue has the weight `total`.
    fn v_terms(&self, cpu: u32, total: u64, terms: &mut Terms) {
        if total == 0 {
            return;
        }
        for (slot, place) in self.places.iter().enumerate() {
            if place.used && place.queued && place.cpu == cpu {
                terms.push((slot, place.weight / total as f64));
            }
        }
    }

    /// The error of `slot` is from now on the sum of `terms`.
    fn becomes(&mut self, slot: usize, terms: &Terms) {
        let n = self.places.len();
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.resize(n, 0.0);
        for &(other, factor) in terms {
            let from = other * self.stride;
            for (sum, cov) in row.iter_mut().zip(&self.cov[from..from + n]) {
                *sum += factor * cov;
            }
        }
        let own: f64 = terms.iter().map(|&(other, factor)| factor * row[other]).sum();
        for (other, cov) in row.iter().enumerate() {
            self.cov[slot * self.stride + other] = *cov;
            self.cov[other * self.stride + slot] = *cov;
        }
        let drift = if own > 0.0 { DRIFT_NS * DRIFT_NS } else { 0.0 };
        self.cov[slot * self.stride + slot] = own.max(0.0) + drift;
        self.row = row;
        self.limit(slot);
    }

    /// No lag is more uncertain than the first guess.
    fn limit(&mut self, slot: usize) {
        let own = self.cov[slot * self.stride + slot];
        let max = self.sigma_max_ns * self.sigma_max_ns;
        if own <= max {
            return;
        }
        let scale = (max / own).sqrt();
        for other in 0..self.places.len() {
            self.cov[slot * self.stride + other] *= scale;
            self.cov[other * self.stride + slot] *= scale;
        }
    }

    /// `task` left the queue of `cpu`, of weight `total` with it, and took its lag along.
    pub fn dequeued(&mut self, task: TaskId, cpu: u32, total: u64) {
        let Some(slot) = self.slot(task).filter(|slot| self.places[*slot].queued) else { return };
        let mut terms = vec![(slot, -1.0)];
        self.v_terms(cpu, total, &mut terms);
        self.places[slot].queued = false;
        self.becomes(slot, &terms);
    }

    /// `task` was placed in the queue of `cpu`, of weight `others` without it, by the lag it had. `weight` is its own.
    pub fn enqueued(&mut self, task: TaskId, cpu: u32, others: u64, weight: u64) {
        let Some(slot) = self.slot(task).filter(|slot| !self.places[*slot].queued) else { return };
        let mut terms = Terms::new();
        if others > 0 {
            terms.push((slot, -((others + weight) as f64) / others as f64));
            self.v_terms(cpu, others, &mut terms);
        }
        let place = &mut self.places[slot];
        (place.queued, place.cpu, place.weight) = (true, cpu, weight as f64);
        self.becomes(slot, &terms);
    }

    /// `value` plus the errors of `terms` is known not to be below 0.
    fn observe(&mut self, value: f64, terms: &Terms) {
        let value =
            value + terms.iter().map(|&(slot, factor)| factor * self.shift[slot]).sum::<f64>();
        if value >= 0.0 {
            return;
        }
        let spread = self.spread(terms);
        if spread <= NOISE_NS {
            // Nothing in it is uncertain.
            return;
        }
        if value < -2.0 * spread {
            // A surprise: what was thought to be certain is not.
            let add = value * value / (4.0 * terms.len() as f64);
            for &(slot, _) in terms {
                let own = &mut self.cov[slot * self.stride + slot];
                if *own > 0.0 {
                    *own += add;
                }
                self.limit(slot);
            }
        }
        let n = self.places.len();
        let mut gain = std::mem::take(&mut self.row);
        gain.clear();
        gain.resize(n, 0.0);
        for &(other, factor) in terms {
            let from = other * self.stride;
            for (sum, cov) in gain.iter_mut().zip(&self.cov[from..from + n]) {
                *sum += factor * cov;
            }
        }
        let own: f64 = terms.iter().map(|&(slot, factor)| factor * gain[slot]).sum();
        if own > 0.0 {
            let spread2 = own + NOISE_NS * NOISE_NS;
            let spread = spread2.sqrt();
            let t = (value / spread).max(-8.0);
            let v = hazard(t);
            let w = (v * (v + t)).clamp(0.0, SHARE_MAX);
            // As far as is likely, and in any case so far that it holds.
            let by = (v * spread).max(NOISE_NS - value);
            for (shift, gain) in self.shift.iter_mut().zip(&gain) {
                *shift += gain / own * by;
            }
            for row in 0..n {
                let factor = gain[row] * w / spread2;
                if factor != 0.0 {
                    let from = row * self.stride;
                    for (cov, gain) in self.cov[from..from + n].iter_mut().zip(&gain) {
                        *cov -= factor * gain;
                    }
                }
            }
        }
        self.row = gain;
    }

    /// `one` is known to be eligible, or not to be, in a queue of weight `total`.
    pub fn eligible(&mut self, one: &Known, cpu: u32, total: u64, eligible: bool) {
        let sign = if eligible { 1.0 } else { -1.0 };
        let mut terms = Terms::new();
        self.v_terms(cpu, total, &mut terms);
        if let Some(slot) = self.slot(one.task) {
            terms.push((slot, -1.0));
        }
        for (_, factor) in &mut terms {
            *factor *= sign;
        }
        self.observe(sign * one.lag_ns as f64, &terms);
    }

    /// The kernel picked `task` of `all`, in a queue of weight `total`.
    pub fn picked(&mut self, all: &[Known], task: TaskId, cpu: u32, total: u64) {
        let Some(x) = all.iter().find(|one| one.task == task) else { return };
        self.eligible(x, cpu, total, true);
        if x.protected {
            return;
        }
        for y in all.iter().filter(|one| one.task != task) {
            if y.protected && y.deadline_ns > x.deadline_ns {
                // It would have been kept, had it been eligible.
                self.eligible(y, cpu, total, false);
            } else if y.lag_ns >= 0 {
                self.before(x, y, cpu, total);
            }
        }
    }

    /// `x` was picked before `y`, which was eligible as far as is known: its deadline is later, or it was not eligible,
    /// whichever is more likely.
    fn before(&mut self, x: &Known, y: &Known, cpu: u32, total: u64) {
        let late_ns = x.deadline_ns - y.deadline_ns;
        if late_ns <= 0 {
            return;
        }
        if x.stale || y.stale {
            // The deadline at the start is no more than a guess of its own.
            let (task, by_ns) =
                if x.stale { (x.task, -late_ns - 1) } else { (y.task, late_ns + 1) };
            self.deadlines.push((task, by_ns));
            return;
        }
        let mut terms = Terms::new();
        terms.extend(self.slot(y.task).map(|slot| (slot, 1.0)));
        terms.extend(self.slot(x.task).map(|slot| (slot, -1.0)));
        let mut lag_terms = Terms::new();
        self.v_terms(cpu, total, &mut lag_terms);
        lag_terms.extend(self.slot(y.task).map(|slot| (slot, -1.0)));
        let (spread, lag_spread) = (self.spread(&terms), self.spread(&lag_terms));
        if late_ns as f64 * lag_spread > y.lag_ns as f64 * spread {
            self.eligible(y, cpu, total, false);
        } else {
            self.observe(-late_ns as f64, &terms);
        }
    }

    fn spread(&self, terms: &Terms) -> f64 {
        let mut own = 0.0;
        for &(a, by_a) in terms {
            for &(b, by_b) in terms {
                own += by_a * by_b * self.cov[a * self.stride + b];
            }
        }
        (own.max(0.0) + NOISE_NS * NOISE_NS).sqrt()
    }

    /// The deadline of `task`, `deadline` now, is a guess until it is renewed.
    pub fn guess_deadline(&mut self, task: TaskId, deadline: u64) {
        self.stale.retain(|&(known, _)| known != task);
        self.stale.push((task, deadline));
    }

    /// Whether that is still so.
    pub fn is_guess(&mut self, task: TaskId, deadline: u64) -> bool {
        let Some(at) = self.stale.iter().position(|&(known, _)| known == task) else {
            return false;
        };
        if self.stale[at].1 != deadline {
            self.stale.swap_remove(at);
            return false;
        }
        true
    }

    /// A deadline that was a guess was moved with its task.
    pub fn guess_moved(&mut self, task: TaskId, by_ns: i64) {
        if let Some((_, deadline)) = self.stale.iter_mut().find(|(known, _)| *known == task) {
            *deadline = deadline.wrapping_add(by_ns as u64);
        }
    }

    /// Deadlines that were guesses and are to be moved.
    pub fn take_deadlines(&mut self) -> Vec<(TaskId, i64)> {
        std::mem::take(&mut self.deadlines)
    }

    /// The tasks that are to be moved, and by how much: of one that is queued the vruntime, of one that is not the lag.
    pub fn take_shifts(&mut self, mut each: impl FnMut(TaskId, bool, i64)) {
        for slot in 0..self.places.len() {
            let by = self.shift[slot] as i64;
            if by != 0 && self.places[slot].used {
                self.shift[slot] -= by as f64;
                let Place { task, queued, .. } = self.places[slot];
                each(task, queued, by);
            }
        }
    }
}

/// A candidate of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Who.
    pub task: TaskId,
    /// V minus vruntime, virtual ns.
    pub lag_ns: i64,
    /// Deadline minus V, virtual ns.
    pub deadline_ns: i64,
    /// It was running, and protected from preemption.
    pub protected: bool,
    /// Its deadline is a guess.
    pub stale: bool,
}

/// The hazard of the normal distribution, from -8 in steps of 0.5: how far, in spreads, the mean of a difference moves
/// that is known to be above 0.
const HAZARD: [f64; 17] = [
    8.1214, 7.6288, 7.1371, 6.6464, 6.1584, 5.6713, 5.1865, 4.7043, 4.2256, 3.7515, 3.2831, 2.8227,
    2.3732, 1.9388, 1.5251, 1.1411, 0.7979,
];

/// The hazard at `t`, -8 to 0.
fn hazard(t: f64) -> f64 {
    let at = (t + 8.0) * 2.0;
    let slot = (at as usize).min(HAZARD.len() - 2);
    HAZARD[slot] + (HAZARD[slot + 1] - HAZARD[slot]) * (at - slot as f64)
}
