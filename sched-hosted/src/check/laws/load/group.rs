// SPDX-License-Identifier: GPL-2.0-only
//! Averages that come and go, what groups pass up, their sums and shares, and the leaf list.

use super::model::{Model, Removed, Who};
use super::pelt::{ATTACHED, DETACHED, PROPAGATED, REMOVED, REWEIGHTED, UNCHANGED, Was};
use sched_core::sched::CgroupMode;

/// The scaled weight of nice 0.
pub(super) const NICE_0: u64 = 1 << 20;
/// The least weight.
const LEAST: u64 = 2;
/// The scaled weight of nice -20.
const MOST: i64 = 88_761 << 10;
/// A group's sums follow so often, ns.
const TG_INTERVAL: u64 = 1_000_000;
/// 1 % of a CPU: an estimate that is as near is good enough.
const MARGIN: u32 = 10;

/// What an update of an entity's averages does besides.
#[derive(Clone, Copy, Default)]
pub(super) struct Then {
    pub update_tg: bool,
    pub skip_age: bool,
    pub attach: bool,
    pub detach: bool,
    pub estimate: bool,
}

impl Then {
    /// The group's sums follow.
    pub fn tg() -> Self {
        Then { update_tg: true, ..Then::default() }
    }
}

/// A weight without its fraction bits: what is not 0 stays at least 2.
pub(super) fn down(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> 10).max(2) }
}

impl Model {
    /// What rq_clock_pelt() reads, ns.
    pub fn rq_pelt(&self, cpu: usize) -> u64 {
        self.rqs[cpu].clock_pelt.wrapping_sub(self.rqs[cpu].lost_idle_time)
    }

    /// What cfs_rq_clock_pelt() reads, ns.
    fn pelt_clock(&self, queue: usize) -> u64 {
        let q = self.q(queue);
        let runs =
            if q.pelt_stands { q.throttled_clock_pelt } else { self.rq_pelt(self.cpu_of(queue)) };
        runs.wrapping_sub(q.throttled_clock_pelt_time)
    }

    /// update_load_avg().
    pub fn update_load(&mut self, queue: usize, who: Who, then: Then) {
        let now = self.pelt_clock(queue);
        let op = self.op;
        if self.e(who).avg.last_update_time != 0 && !then.skip_age {
            let running = self.q(queue).h_curr == Some(who);
            let est = self.set.util_est;
            let e = self.em(who);
            let runnable = match who {
                _ if e.delayed => 0,
                Who::Task(_) => u64::from(e.on_rq),
                Who::Gse(_) => e.runnable_weight,
            };
            if e.avg.age(op, now, Was { load: u64::from(e.on_rq), runnable, running }) {
                e.avg.average(down(e.weight));
                if est {
                    e.avg.util_est &= !UNCHANGED;
                }
            }
        }
        let mut changed = self.update_queue(now, queue);
        changed |= self.propagate(who);

        if then.attach && self.e(who).avg.last_update_time == 0 {
            self.attach(queue, who);
            self.update_tg(queue);
        } else if then.detach {
            self.detach(queue, who);
            self.update_tg(queue);
        } else if changed && then.update_tg {
            self.update_tg(queue);
        }
        if then.estimate {
            self.estimate(who);
        }
    }

    /// update_cfs_rq_load_avg(): true if the load may have changed.
    pub fn update_queue(&mut self, now: u64, queue: usize) -> bool {
        let gone = self.q(queue).removed.nr != 0;
        if gone {
            self.remove_removed(queue);
        }
        let op = self.op;
        let q = self.qm(queue);
        let was = Was {
            load: down(q.load),
            runnable: u64::from(q.h_nr_runnable),
            running: q.h_curr.is_some(),
        };
        let aged = q.avg.age(op, now, was);
        if aged {
            q.avg.average(1);
        }
        gone | aged
    }

    /// What left from afar is taken off, and the level above will hear of it.
    fn remove_removed(&mut self, queue: usize) {
        let op = self.op;
        let q = self.qm(queue);
        q.avg.noted(op, REMOVED);
        let divider = q.avg.divider();
        let Removed { load, util, runnable, .. } = core::mem::take(&mut q.removed);
        let minus = |amount: u64| (amount as i64).wrapping_neg();
        let minus_sum = |amount: u64| (amount.wrapping_mul(divider) as i64).wrapping_neg();
        q.avg.add_load(minus(load), minus_sum(load));
        q.avg.add_util(minus(util), minus_sum(util));
        q.avg.add_runnable(minus(runnable), minus_sum(runnable));
        self.pass_up(queue, minus_sum(runnable) >> 10);
    }

    fn pass_up(&mut self, queue: usize, sum: i64) {
        let q = self.qm(queue);
        q.propagate = true;
        q.prop_runnable_sum = q.prop_runnable_sum.wrapping_add(sum);
    }

    /// attach_entity_load_avg().
    pub fn attach(&mut self, queue: usize, who: Who) {
        let op = self.op;
        self.qm(queue).avg.noted(op, ATTACHED);
        let to = self.q(queue).avg;
        let divider = to.divider();
        let e = self.em(who);
        e.avg.noted(op, ATTACHED);
        let weight = down(e.weight);
        let avg = &mut e.avg;
        avg.last_update_time = to.last_update_time;
        avg.period_contrib = to.period_contrib;
        avg.util_sum = avg.util_avg.wrapping_mul(divider) as u32;
        avg.runnable_sum = avg.runnable_avg.wrapping_mul(divider);
        let sum = avg.load_avg.wrapping_mul(divider);
        avg.load_sum = if weight < sum { sum / weight } else { 1 };
        let new = *avg;

        let q = self.qm(queue);
        q.avg.add_load(new.load_avg as i64, weight.wrapping_mul(new.load_sum) as i64);
        q.avg.util_avg = q.avg.util_avg.wrapping_add(new.util_avg);
        q.avg.util_sum = q.avg.util_sum.wrapping_add(new.util_sum);
        q.avg.runnable_avg = q.avg.runnable_avg.wrapping_add(new.runnable_avg);
        q.avg.runnable_sum = q.avg.runnable_sum.wrapping_add(new.runnable_sum);
        self.pass_up(queue, new.load_sum as i64);
    }

    /// detach_entity_load_avg().
    pub fn detach(&mut self, queue: usize, who: Who) {
        let op = self.op;
        let e = self.em(who);
        e.avg.noted(op, DETACHED);
        let (old, weight) = (e.avg, down(e.weight));
        let minus = |amount: u64| (amount as i64).wrapping_neg();
        let q = self.qm(queue);
        q.avg.noted(op, DETACHED);
        q.avg.add_load(minus(old.load_avg), minus(weight.wrapping_mul(old.load_sum)));
        q.avg.add_util(minus(old.util_avg), minus(u64::from(old.util_sum)));
        q.avg.add_runnable(minus(old.runnable_avg), minus(old.runnable_sum));
        self.pass_up(queue, minus(old.load_sum));
    }

    /// util_est_update(): the end of an activation.
    fn estimate(&mut self, who: Who) {
        if !self.set.util_est {
            return;
        }
        let avg = &mut self.em(who).avg;
        let (old, util) = (avg.util_est, avg.util_avg as u32);
        if old & UNCHANGED != 0 {
            return;
        }
        let new = match old.checked_sub(util) {
            None | Some(0) => util,
            Some(diff) if diff < MARGIN => old,
            Some(_) if u64::from(util + MARGIN) < avg.runnable_avg => old,
            Some(diff) => old.wrapping_mul(4).wrapping_sub(diff) / 4,
        };
        avg.util_est = new | UNCHANGED;
    }

    /// update_tg_load_avg(): once a ms, and if either differs by more than 1/64.
    pub fn update_tg(&mut self, queue: usize) {
        if self.is_root(queue) {
            return;
        }
        let now = self.rqs[self.cpu_of(queue)].clock;
        let group = self.group_of(queue);
        let q = self.qm(queue);
        if now.wrapping_sub(q.last_update_tg) < TG_INTERVAL {
            return;
        }
        let load = q.avg.load_avg.wrapping_sub(q.load_contrib) as i64;
        let runnable = q.avg.runnable_avg.wrapping_sub(q.runnable_contrib) as i64;
        if load.unsigned_abs() > q.load_contrib / 64
            || runnable.unsigned_abs() > q.runnable_contrib / 64
        {
            q.load_contrib = q.avg.load_avg;
            q.runnable_contrib = q.avg.runnable_avg;
            q.last_update_tg = now;
            let tg = &mut self.groups[group];
            tg.load_avg = tg.load_avg.wrapping_add(load);
            tg.runnable_avg = tg.runnable_avg.wrapping_add(runnable);
        }
    }

    /// propagate_entity_load_avg(): a group's entity takes over what its queue has become.
    fn propagate(&mut self, who: Who) -> bool {
        let Who::Gse(below) = who else { return false };
        if !self.q(below).propagate {
            return false;
        }
        self.qm(below).propagate = false;
        let queue = self.e(who).queue;
        self.pass_up(queue, self.q(below).prop_runnable_sum);

        let op = self.op;
        self.qm(queue).avg.noted(op, PROPAGATED);
        self.em(who).avg.noted(op, PROPAGATED);
        let divider = self.q(queue).avg.divider();
        let from = self.q(below).avg;
        let avg = &mut self.em(who).avg;
        let util = from.util_avg.wrapping_sub(avg.util_avg) as i64;
        if util != 0 {
            avg.util_avg = from.util_avg;
            let sum = avg.util_avg.wrapping_mul(divider) as u32;
            let change = i64::from(sum) - i64::from(avg.util_sum);
            avg.util_sum = sum;
            self.qm(queue).avg.add_util(util, change);
        }
        let avg = &mut self.em(who).avg;
        let runnable = from.runnable_avg.wrapping_sub(avg.runnable_avg) as i64;
        if runnable != 0 {
            avg.runnable_avg = from.runnable_avg;
            let sum = avg.runnable_avg.wrapping_mul(divider);
            let change = sum.wrapping_sub(avg.runnable_sum) as i64;
            avg.runnable_sum = sum;
            self.qm(queue).avg.add_runnable(runnable, change);
        }
        self.propagate_load(queue, who, below, divider);
        true
    }

    /// update_tg_cfs_load().
    fn propagate_load(&mut self, queue: usize, who: Who, below: usize, divider: u64) {
        let change = core::mem::take(&mut self.qm(below).prop_runnable_sum);
        if change == 0 {
            return;
        }
        let (e, q) = (self.e(who), self.q(below));
        let (old, weight) = (e.avg, down(e.weight));
        let sum = if change > 0 {
            change.wrapping_add(old.load_sum as i64).min(divider as i64)
        } else {
            let loaded = u64::from(down(q.load) as u32);
            let mean = q.avg.load_sum.checked_div(loaded).unwrap_or(0);
            old.load_sum.min(mean) as i64
        };
        let sum = sum.max(i64::from(old.util_sum >> 10)) as u64;
        let weighted = weight.wrapping_mul(sum);
        let load_avg = weighted / divider;
        let change_avg = load_avg.wrapping_sub(old.load_avg) as i64;
        if change_avg == 0 {
            return;
        }
        let change_sum = weighted.wrapping_sub(weight.wrapping_mul(old.load_sum)) as i64;
        let avg = &mut self.em(who).avg;
        avg.load_sum = sum;
        avg.load_avg = load_avg;
        self.qm(queue).avg.add_load(change_avg, change_sum);
    }

    // ---- shares ----------------------------------------------------------------------------------------------------

    /// calc_group_shares().
    fn shares(&self, queue: usize) -> u64 {
        let (q, tg) = (self.q(queue), &self.groups[self.group_of(queue)]);
        let shares = tg.shares as i64;
        let cpus = self.cpus as i64;
        let tasks = i64::from((tg.runnable_avg >> 10).max(1) as i32);
        let (times, most) = match self.set.mode {
            CgroupMode::Up => return shares as u64,
            CgroupMode::Smp => (1, None),
            CgroupMode::Concur => (tasks.min(cpus), None),
            CgroupMode::Max => (cpus, Some(MOST)),
            CgroupMode::Tasks => (tasks, None),
        };
        let shares = shares.wrapping_mul(times);
        let most = most.unwrap_or(shares);
        let load = down(q.load).max(q.avg.load_avg) as i64;
        let whole = tg.load_avg.wrapping_sub(q.load_contrib as i64).wrapping_add(load);
        let part = shares.wrapping_mul(load);
        let part = if whole == 0 { part } else { part.wrapping_div(whole) };
        // The upper bound first: it may be the lower of the two.
        (if part >= most { most } else { part.max(LEAST as i64) }) as u64
    }

    /// update_cfs_group(): an empty group keeps its share.
    pub fn update_share(&mut self, who: Who) {
        let Who::Gse(below) = who else { return };
        if self.q(below).load != 0 {
            let shares = self.shares(below);
            self.reweight(who, shares);
        }
    }

    /// reweight_entity().
    pub fn reweight(&mut self, who: Who, weight: u64) {
        if self.e(who).weight == weight {
            return;
        }
        let (op, queue) = (self.op, self.e(who).queue);
        self.qm(queue).avg.noted(op, REWEIGHTED);
        let e = self.em(who);
        e.avg.noted(op, REWEIGHTED);
        let (old, old_avg, on_rq) = (e.weight, e.avg, e.on_rq);
        e.weight = weight;
        e.avg.load_avg = down(weight).wrapping_mul(e.avg.load_sum) / e.avg.divider();
        let new = e.avg.load_avg;

        let sum = |weight| down(weight).wrapping_mul(old_avg.load_sum) as i64;
        let q = self.qm(queue);
        q.avg.add_load((old_avg.load_avg as i64).wrapping_neg(), sum(old).wrapping_neg());
        q.avg.add_load(new as i64, sum(weight));
        if on_rq {
            q.load = q.load.wrapping_sub(old).wrapping_add(weight);
        }
    }

    /// One level of the product that a flat weight is.
    pub fn prop(&self, who: Who, weight: u64) -> u64 {
        let e = self.e(who);
        let of = if self.is_root(e.queue) { NICE_0 } else { self.q(e.queue).load };
        weight.wrapping_mul(e.weight).checked_div(of).unwrap_or(0).max(LEAST)
    }

    /// se_update_runnable().
    pub fn update_runnable(&mut self, who: Who) {
        if let Who::Gse(below) = who {
            self.em(who).runnable_weight = u64::from(self.q(below).h_nr_runnable);
        }
    }

    // ---- the leaf list ---------------------------------------------------------------------------------------------

    /// list_add_leaf_cfs_rq(): true if the branch is connected.
    pub fn add_leaf(&mut self, queue: usize) -> bool {
        let cpu = self.cpu_of(queue);
        if self.q(queue).on_list {
            return self.rqs[cpu].branch.is_none();
        }
        self.qm(queue).on_list = true;
        let above = self.queue_above(queue);
        let parent_listed = above.is_some_and(|above| self.q(above).on_list);
        let rq = &mut self.rqs[cpu];
        let at = |list: &[usize], queue| list.iter().position(|&other| other == queue);
        match above {
            None => rq.leaf.push(queue),
            Some(above) if parent_listed => {
                let place = at(&rq.leaf, above).unwrap_or(0);
                rq.leaf.insert(place, queue);
            }
            Some(_) => {
                let place = rq.branch.and_then(|b| at(&rq.leaf, b)).map_or(0, |place| place + 1);
                rq.leaf.insert(place, queue);
                rq.branch = Some(queue);
                return false;
            }
        }
        rq.branch = None;
        true
    }

    /// list_del_leaf_cfs_rq().
    pub fn del_leaf(&mut self, queue: usize) {
        if !self.q(queue).on_list {
            return;
        }
        self.qm(queue).on_list = false;
        let rq = &mut self.rqs[queue % self.cpus];
        if let Some(place) = rq.leaf.iter().position(|&other| other == queue) {
            if rq.branch == Some(queue) {
                rq.branch = place.checked_sub(1).map(|before| rq.leaf[before]);
            }
            rq.leaf.remove(place);
        }
    }

    /// cfs_rq_is_decayed().
    pub fn is_decayed(&self, queue: usize) -> bool {
        let q = self.q(queue);
        if q.load != 0 || !q.avg.is_decayed() || q.load_contrib != 0 {
            return false;
        }
        let rq = &self.rqs[self.cpu_of(queue)];
        let before = if q.on_list {
            let place = rq.leaf.iter().position(|&other| other == queue);
            place.and_then(|place| place.checked_sub(1)).map(|before| rq.leaf[before])
        } else {
            rq.branch
        };
        before.is_none_or(|before| self.queue_above(before) != Some(queue))
    }

    // ---- coming and going ------------------------------------------------------------------------------------------

    fn pass_to_root(&mut self, who: Who) {
        let mut queue = self.e(who).queue;
        if !self.q(queue).pelt_stands {
            self.add_leaf(queue);
        }
        let mut walk = self.parent(who);
        while let Some(who) = walk {
            queue = self.e(who).queue;
            self.update_load(queue, who, Then::tg());
            if !self.q(queue).pelt_stands {
                self.add_leaf(queue);
            }
            walk = self.parent(who);
        }
    }

    /// attach_entity_cfs_rq().
    pub fn attach_to_queue(&mut self, who: Who) {
        let queue = self.e(who).queue;
        let skip_age = !self.set.attach_age_load;
        self.update_load(queue, who, Then { skip_age, ..Then::default() });
        self.attach(queue, who);
        self.update_tg(queue);
        self.pass_to_root(who);
    }

    /// detach_entity_cfs_rq().
    pub fn detach_from_queue(&mut self, who: Who) {
        if self.e(who).avg.last_update_time == 0 {
            return;
        }
        let queue = self.e(who).queue;
        self.update_load(queue, who, Then::default());
        self.detach(queue, who);
        self.update_tg(queue);
        self.pass_to_root(who);
    }

    /// A sleeper's averages up to `now`.
    fn age_blocked(&mut self, who: Who, now: u64) {
        let op = self.op;
        let e = self.em(who);
        if e.avg.age(op, now, Was::default()) {
            e.avg.average(down(e.weight));
        }
    }

    /// remove_entity_load_avg().
    pub fn remove(&mut self, who: Who) {
        let queue = self.e(who).queue;
        self.age_blocked(who, self.q(queue).avg.last_update_time);
        let op = self.op;
        self.em(who).avg.noted(op, REMOVED);
        let avg = self.e(who).avg;
        let removed = &mut self.qm(queue).removed;
        removed.nr = removed.nr.wrapping_add(1);
        removed.util = removed.util.wrapping_add(avg.util_avg);
        removed.load = removed.load.wrapping_add(avg.load_avg);
        removed.runnable = removed.runnable.wrapping_add(avg.runnable_avg);
    }

    /// migrate_task_rq_fair(): `migrating` says that its dequeue has detached it.
    pub fn leave_cpu(&mut self, who: Who, migrating: bool) {
        if !migrating {
            self.remove(who);
            self.catch_up_idle(who);
        }
        self.em(who).avg.last_update_time = 0;
    }

    /// migrate_se_pelt_lag(): the clock of an idle CPU stood.
    fn catch_up_idle(&mut self, who: Who) {
        let queue = self.e(who).queue;
        let (q, rq) = (self.q(queue), &self.rqs[self.cpu_of(queue)]);
        if self.e(who).avg.is_decayed() || rq.curr.is_some() || q.throttled_pelt_idle == u64::MAX {
            return;
        }
        let now = rq.clock_pelt_idle.wrapping_sub(q.throttled_pelt_idle);
        let now = if now < q.avg.last_update_time {
            q.avg.last_update_time
        } else {
            now.wrapping_add(self.now.wrapping_sub(rq.clock_idle))
        };
        self.age_blocked(who, now);
    }

    /// __update_blocked_fair().
    pub fn update_blocked(&mut self, cpu: usize) {
        let mut pos = self.rqs[cpu].leaf.first().copied();
        while let Some(queue) = pos {
            let leaf = &self.rqs[cpu].leaf;
            let place = leaf.iter().position(|&other| other == queue);
            pos = place.and_then(|place| leaf.get(place + 1)).copied();
            let now = self.pelt_clock(queue);
            if self.update_queue(now, queue) {
                self.update_tg(queue);
                if self.q(queue).nr_queued == 0 {
                    self.note_idle(queue);
                }
            }
            if !self.is_root(queue) {
                let gse = Who::Gse(queue);
                let avg = self.e(gse).avg;
                if avg.load_avg != 0 || avg.util_avg != 0 || self.q(queue).propagate {
                    self.update_load(self.e(gse).queue, gse, Then::tg());
                }
            }
            if self.is_decayed(queue) {
                self.del_leaf(queue);
            }
        }
    }

    /// update_idle_cfs_rq_clock_pelt().
    pub fn note_idle(&mut self, queue: usize) {
        let q = self.qm(queue);
        q.throttled_pelt_idle = if q.pelt_stands { u64::MAX } else { q.throttled_clock_pelt_time };
    }
}
