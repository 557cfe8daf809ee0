// SPDX-License-Identifier: GPL-2.0-only
//! V, lag and who is owed service, in exact arithmetic; and the reference point that follows V.
//!
//! `V = z + floor(sum(w * (v - z)) / sum(w))` over all that compete. A key is whole, so `key * W <= sum` says the
//! same as `key <= floor(sum / W)`: who is owed service stands at or before V.

use super::model::{Model, Why};
use sched_core::features::SchedFeat;

/// The most weight bits that PARANOID_AVG gives up.
const MOST_SHIFT: u32 = 10;

impl Model {
    /// A weight as the sums count it.
    pub fn counted(&self, cpu: u32, weight: u64) -> i128 {
        match self.cpu(cpu).shift {
            0 => i128::from(weight),
            shift => i128::from((weight >> shift).max(2)),
        }
    }

    /// `vruntime` relative to the reference point.
    pub fn key(&self, cpu: u32, vruntime: u64) -> i128 {
        i128::from(vruntime.wrapping_sub(self.cpu(cpu).zero) as i64)
    }

    fn product(&mut self, cpu: u32, task: u32) -> i128 {
        let (weight, vruntime) = (self.task(task).weight, self.task(task).vruntime);
        let product = self.key(cpu, vruntime) * self.counted(cpu, weight);
        self.fit(product);
        product
    }

    /// sum(w * key) and sum(w) of all that compete.
    pub fn sums(&mut self, cpu: u32) -> (i128, i128) {
        let (mut sum, mut weight) = (self.cpu(cpu).sum_w_vruntime, self.cpu(cpu).sum_weight);
        self.fit(sum);
        if let Some(curr) = self.competing_curr(cpu) {
            sum += self.product(cpu, curr);
            weight += self.counted(cpu, self.task(curr).weight);
            self.fit(sum);
        }
        self.fit(weight);
        (sum, weight)
    }

    /// Moves the reference point by `delta`.
    pub fn move_zero(&mut self, cpu: u32, delta: i128) {
        let c = self.c(cpu);
        c.sum_w_vruntime -= c.sum_weight * delta;
        c.zero = c.zero.wrapping_add(delta as u64);
        let moved = c.sum_weight * delta;
        self.fit(moved);
    }

    /// V, to which the reference point moves.
    pub fn average(&mut self, cpu: u32) -> u64 {
        let delta = if self.cpu(cpu).sum_weight != 0 {
            let (sum, weight) = self.sums(cpu);
            self.floor(sum, weight)
        } else {
            // Alone, curr is the average.
            self.competing_curr(cpu).map_or(0, |curr| self.key(cpu, self.task(curr).vruntime))
        };
        self.move_zero(cpu, delta);
        self.cpu(cpu).zero
    }

    /// A quotient rounded down.
    pub fn floor(&mut self, sum: i128, weight: i128) -> i128 {
        match (i64::try_from(sum), i64::try_from(weight)) {
            (Ok(sum), Ok(weight)) if weight > 0 => i128::from(sum.div_euclid(weight)),
            (_, Ok(weight)) if weight > 0 => sum.div_euclid(i128::from(weight)),
            _ => {
                self.wide = true;
                0
            }
        }
    }

    /// The first vruntime at which curr is not owed service: behind the average of all others.
    pub fn not_owed_from(&mut self, cpu: u32) -> u64 {
        let (sum, weight) = (self.cpu(cpu).sum_w_vruntime, self.cpu(cpu).sum_weight);
        self.fit(sum);
        let delta = if weight != 0 { self.floor(sum, weight) } else { 0 };
        self.cpu(cpu).zero.wrapping_add(delta as u64).wrapping_add(1)
    }

    /// The largest key that is owed service.
    pub fn owed_up_to(&mut self, cpu: u32) -> i128 {
        match self.sums(cpu) {
            (_, 0) => i128::MAX,
            (sum, weight) => self.floor(sum, weight),
        }
    }

    /// Whether one at `vruntime` is owed service.
    pub fn is_owed(&mut self, cpu: u32, vruntime: u64) -> bool {
        self.key(cpu, vruntime) <= self.owed_up_to(cpu)
    }

    /// The shortest request of all that compete, delayed ones included, ns.
    pub fn shortest(&self, cpu: u32) -> u64 {
        let curr = self.competing_curr(cpu).map(|curr| self.task(curr).slice);
        self.tree(cpu).map(|(_, t)| t.slice).chain(curr).min().unwrap_or(u64::MAX)
    }

    /// The longest, ns.
    pub fn longest(&self, cpu: u32) -> u64 {
        let curr = self.competing_curr(cpu).map(|curr| self.task(curr).slice);
        self.tree(cpu).map(|(_, t)| t.slice).chain(curr).max().unwrap_or(0)
    }

    /// The most that the lag of `task` may be, virtual ns: the longest request and a tick.
    pub fn lag_limit(&mut self, cpu: u32, task: u32) -> i64 {
        let most = self.longest(cpu).wrapping_add(self.set.tick);
        self.virtual_time(most, self.task(task).weight) as i64
    }

    /// The lag of `task` when V is `average`, within its limit.
    pub fn limited_lag(&mut self, cpu: u32, task: u32, average: u64) -> i64 {
        let limit = self.lag_limit(cpu, task);
        let lag = average.wrapping_sub(self.task(task).vruntime) as i64;
        lag.min(limit).max(limit.wrapping_neg())
    }

    /// Stores the lag with which `task` leaves, or is woken. A delayed one never owes more than when it was delayed,
    /// and with DELAY_ZERO is owed nothing. True if what is stored is not its distance from V.
    pub fn store_lag(&mut self, cpu: u32, task: u32, why: Why) -> bool {
        let average = self.average(cpu);
        let mut lag = self.limited_lag(cpu, task, average);
        let zero = self.on(SchedFeat::DELAY_ZERO);
        let t = self.t(task);
        if t.delayed {
            lag = lag.max(t.vlag);
            if zero {
                lag = lag.min(0);
            }
        }
        t.vlag = lag;
        t.why.vlag = why;
        average.wrapping_sub(lag as u64) != t.vruntime
    }

    /// `task` joins the tree.
    pub fn join(&mut self, cpu: u32, task: u32) {
        let paranoid = self.on(SchedFeat::PARANOID_AVG);
        loop {
            let weight = self.counted(cpu, self.task(task).weight);
            let product = self.key(cpu, self.task(task).vruntime) * weight;
            let sum = self.cpu(cpu).sum_w_vruntime + product;
            let fits = i64::try_from(product).is_ok() && i64::try_from(sum).is_ok();
            if fits || !paranoid || self.cpu(cpu).shift >= MOST_SHIFT {
                self.wide |= !fits;
                self.c(cpu).sum_w_vruntime = sum;
                self.c(cpu).sum_weight += weight;
                break;
            }
            self.c(cpu).shift += 1;
            self.sum_anew(cpu);
        }
        self.joins += 1;
        let joined = self.joins;
        let t = self.t(task);
        t.in_tree = true;
        t.joined = joined;
    }

    /// The sums over the tree, from the tasks.
    pub fn sum_anew(&mut self, cpu: u32) {
        let (mut sum, mut total) = (0, 0);
        for (_, t) in self.tree(cpu) {
            let weight = self.counted(cpu, t.weight);
            total += weight;
            sum += self.key(cpu, t.vruntime) * weight;
        }
        self.c(cpu).sum_w_vruntime = sum;
        self.c(cpu).sum_weight = total;
    }

    /// `task` leaves the tree.
    pub fn leave(&mut self, cpu: u32, task: u32) {
        self.lost |= !self.task(task).in_tree;
        let weight = self.counted(cpu, self.task(task).weight);
        let product = self.product(cpu, task);
        self.c(cpu).sum_w_vruntime -= product;
        self.c(cpu).sum_weight -= weight;
        self.t(task).in_tree = false;
    }
}
