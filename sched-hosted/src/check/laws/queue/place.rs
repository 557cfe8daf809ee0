// SPDX-License-Identifier: GPL-2.0-only
//! Placement, and what a change of weight keeps.

use super::model::{Model, Why, World};
use sched_core::features::SchedFeat;

impl Model {
    /// `task` is given its place: at the lag that it left with, measured once it is there. Putting it at `V - l` moves
    /// V to `V - l * w / (W + w)`, so `l` is `lag * (W + w) / W`. A request of its own follows, half of it if it is
    /// new, unless it was only moved: then it keeps its distance from the deadline.
    ///
    /// `counted` says that the task is in nr_queued already.
    pub fn place(&mut self, cpu: u32, task: u32, initial: bool, counted: bool) {
        let average = self.average(cpu);
        let others = self.cpu(cpu).nr_queued.wrapping_sub(u32::from(counted));

        let base_slice = self.set.base_slice;
        let t = self.t(task);
        if !t.custom {
            t.slice = base_slice;
        }
        let (slice, weight, vlag) = (t.slice, t.weight, t.vlag);
        let mut request = self.virtual_time(slice, weight);

        let mut distance = 0;
        let mut pulls = false;
        if self.on(SchedFeat::PLACE_LAG) && others != 0 && vlag != 0 {
            let there = self.weight_there(cpu);
            let own = self.counted(cpu, weight);
            let inflation = i128::from(vlag) * own;
            self.fit(inflation);
            let inflated = i128::from(vlag) + inflation / there;
            distance = i128::from(self.fit(inflated));
            pulls = own > there;
        }
        let t = self.t(task);
        t.vruntime = average.wrapping_sub(distance as u64);
        t.why.vruntime = Why::Placed;
        // A reference point that stays behind would make a key too large for its heavy weight.
        if pulls {
            self.move_zero(cpu, -distance);
        }

        let relative = self.on(SchedFeat::PLACE_REL_DEADLINE);
        let halved = initial && self.on(SchedFeat::PLACE_DEADLINE_INITIAL);
        let t = self.t(task);
        if relative && t.relative {
            t.deadline = t.deadline.wrapping_add(t.vruntime);
            t.relative = false;
        } else {
            if halved {
                request /= 2;
            }
            t.deadline = t.vruntime.wrapping_add(request);
        }
        t.why.deadline = Why::Placed;
    }

    /// The weight of all that compete; never 0.
    fn weight_there(&mut self, cpu: u32) -> i128 {
        let curr = self.competing_curr(cpu).map(|curr| self.task(curr).weight);
        let curr = curr.map_or(0, |weight| self.counted(cpu, weight));
        let there = self.cpu(cpu).sum_weight + curr;
        self.fit(there);
        if there <= 0 {
            self.lost = true;
            return 1;
        }
        there
    }

    /// The flat weight that `task` has to have now: by itself in the root group, else the product of the shares on its
    /// path. Where shares changed again later in the operation only the result can be taken over.
    pub fn weigh(&mut self, cpu: u32, task: u32, world: &dyn World) -> u64 {
        if self.task(task).group == 0 {
            return self.task(task).load.max(2);
        }
        let changes = self.cpu(cpu).changes;
        self.weighed.push((task, changes));
        world.flat_weight(task)
    }

    /// `task` has the flat weight `weight` from now on. Its service, not its virtual time, is what is kept: the lag,
    /// and with it the distances of deadline and protection from V, times the weight. Not so a protection that is over.
    pub fn reweight(&mut self, cpu: u32, task: u32, weight: u64) {
        let old = self.task(task).weight;
        if old == weight {
            return;
        }
        let competes = self.task(task).queued && self.placed(cpu, task);
        let mut average = 0;
        let mut protected = false;
        let in_tree = self.task(task).in_tree;
        if competes {
            average = self.average(cpu);
            let lag = self.limited_lag(cpu, task, average);
            protected = self.cpu(cpu).curr == Some(task) && self.is_protected(task);
            let t = self.t(task);
            t.vlag = lag;
            t.deadline = t.deadline.wrapping_sub(average);
            t.relative = true;
            if protected {
                t.vprot = t.vprot.wrapping_sub(average);
            }
            if in_tree {
                self.leave(cpu, task);
            }
        }

        let t = *self.task(task);
        let vlag = self.rescaled(t.vlag, old, weight);
        let deadline = if t.relative {
            self.rescaled(t.deadline as i64, old, weight) as u64
        } else {
            t.deadline
        };
        let vprot =
            if protected { self.rescaled(t.vprot as i64, old, weight) as u64 } else { t.vprot };
        let t = self.t(task);
        if vlag != t.vlag || competes {
            t.why.vlag = Why::Reweighted;
        }
        (t.vlag, t.deadline, t.vprot, t.weight) = (vlag, deadline, vprot, weight);

        if competes {
            t.deadline = t.deadline.wrapping_add(average);
            t.relative = false;
            t.vruntime = average.wrapping_sub(vlag as u64);
            t.why.vruntime = Why::Reweighted;
            t.why.deadline = Why::Reweighted;
            if protected {
                t.vprot = t.vprot.wrapping_add(average);
                t.why.vprot = Why::Reweighted;
            }
            if in_tree {
                self.join(cpu, task);
            }
        }
    }

    /// Queued, and on the time line already: one that joins is weighed before it is placed.
    fn placed(&self, cpu: u32, task: u32) -> bool {
        self.task(task).in_tree || self.cpu(cpu).curr == Some(task)
    }

    /// A distance at another weight, rounded towards 0.
    fn rescaled(&mut self, distance: i64, old: u64, new: u64) -> i64 {
        let scaled = i128::from(distance) * i128::from(old);
        self.fit(scaled);
        match i64::try_from(new) {
            Ok(new) if new > 0 => (scaled / i128::from(new)) as i64,
            _ => {
                self.wide = true;
                distance
            }
        }
    }
}
