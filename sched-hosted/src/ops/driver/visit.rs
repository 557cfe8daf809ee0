// SPDX-License-Identifier: GPL-2.0-only
//! What is seen of a state: every field, in the order of the language's texts, and a fast hash of them all.

use super::Driver;
use crate::ops::class::{Class, Object, Resched, Value, Visitor};
use crate::ops::{GroupName, TaskName};
use sched_core::pelt::SchedAvg;
use sched_core::sched::{self, CfsRq, Rq, SchedEntity, TaskStruct};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

impl<'a, H: Hooks + 'a> Driver<'a, H> {
    fn name_of_opt(se: Option<&SchedEntity<'a, H>>) -> Value {
        Value::Task(se.map(|se| TaskName(sched::task_of(se).pid.get())))
    }

    fn h_curr_of(cfs_rq: &CfsRq<'a, H>) -> Value {
        match cfs_rq.h_curr.get() {
            Some(se) if !sched::entity_is_task(se) => {
                let tg = sched::group_cfs_rq(se).and_then(|my_q| my_q.tg.get());
                Value::Group(GroupName(tg.map_or(0, |tg| tg.id.get())))
            }
            se => Self::name_of_opt(se),
        }
    }

    fn visit_rq<V: Visitor + ?Sized>(&self, rq: &Rq<'a, H>, v: &mut V) {
        let resched = match self.resched(rq.cpu) {
            Resched::None => "none",
            Resched::Lazy => "lazy",
            Resched::Now => "now",
        };
        v.object(Object::Rq(rq.cpu));
        v.field("clock", Value::U64(rq.clock.get()));
        v.field("clock_task", Value::U64(rq.clock_task.get()));
        v.field("nr_running", Value::U64(u64::from(rq.nr_running.get())));
        v.field("nr_switches", Value::U64(rq.nr_switches.get()));
        v.field("resched", Value::Word(resched));
        v.field("curr", Value::Current(self.current(rq.cpu)));
        v.end();
    }

    fn visit_root_cfs<V: Visitor + ?Sized>(&self, cpu: u32, cfs_rq: &CfsRq<'a, H>, v: &mut V) {
        v.object(Object::Cfs(cpu, GroupName::ROOT));
        Self::visit_level(cfs_rq, v);
        v.field("sum_w_vruntime", Value::I64(cfs_rq.sum_w_vruntime.get()));
        v.field("sum_weight", Value::U64(cfs_rq.sum_weight.get()));
        v.field("sum_shift", Value::U64(u64::from(cfs_rq.sum_shift.get())));
        v.field("zero_vruntime", Value::U64(cfs_rq.zero_vruntime.get()));
        v.field("curr", Self::name_of_opt(cfs_rq.curr.get()));
        v.field("next", Self::name_of_opt(cfs_rq.next.get()));
        v.end();
    }

    fn visit_level<V: Visitor + ?Sized>(cfs_rq: &CfsRq<'a, H>, v: &mut V) {
        v.field("load", Value::U64(cfs_rq.load.weight.get()));
        v.field("nr_queued", Value::U64(u64::from(cfs_rq.nr_queued.get())));
        v.field("h_nr_queued", Value::U64(u64::from(cfs_rq.h_nr_queued.get())));
        v.field("h_nr_runnable", Value::U64(u64::from(cfs_rq.h_nr_runnable.get())));
        v.field("h_nr_idle", Value::U64(u64::from(cfs_rq.h_nr_idle.get())));
        v.field("h_curr", Self::h_curr_of(cfs_rq));
    }

    fn visit_group_cfs<V: Visitor + ?Sized>(
        cpu: u32,
        group: GroupName,
        cfs_rq: &CfsRq<'a, H>,
        v: &mut V,
    ) {
        v.object(Object::Cfs(cpu, group));
        Self::visit_level(cfs_rq, v);
        if let Some(se) = sched::cfs_rq_se(cfs_rq) {
            v.field("se.load", Value::U64(se.load.weight.get()));
            v.field("se.on_rq", Value::Bool(se.on_rq.get()));
        }
        v.field("idle", Value::I64(i64::from(cfs_rq.idle.get())));
        v.field("throttled", Value::Bool(cfs_rq.throttled.get()));
        v.field("throttle_count", Value::I64(i64::from(cfs_rq.throttle_count.get())));
        let enabled = cfs_rq.runtime_enabled.get();
        v.field(
            "runtime_remaining",
            Value::I64(if enabled { cfs_rq.runtime_remaining.get() } else { 0 }),
        );
        v.end();
    }

    fn visit_task<V: Visitor + ?Sized>(&self, name: TaskName, p: &TaskStruct<'a, H>, v: &mut V) {
        let se = &p.se;
        let cpu = sched::task_cpu(p);
        v.object(Object::Task(name));
        v.field("cpu", Value::U64(u64::from(cpu)));
        v.field("on_rq", Value::I64(i64::from(p.on_rq.load(Ordering::Relaxed))));
        v.field("se.on_rq", Value::Bool(se.on_rq.get()));
        v.field("sched_delayed", Value::Bool(se.sched_delayed.get()));
        v.field("rel_deadline", Value::Bool(se.rel_deadline.get()));
        v.field("custom_slice", Value::Bool(se.custom_slice.get()));
        v.field("load", Value::U64(se.load.weight.get()));
        v.field("h_load", Value::U64(se.h_load.weight.get()));
        v.field("vruntime", Value::U64(se.vruntime.get()));
        v.field("deadline", Value::U64(se.deadline.get()));
        v.field("vlag", Value::I64(se.vlag.get()));
        v.field("slice", Value::U64(se.slice.get()));
        v.field("vprot", Value::U64(se.vprot.get()));
        v.field("exec_start", Value::U64(se.exec_start.get()));
        v.field("sum_exec_runtime", Value::U64(se.sum_exec_runtime.get()));
        v.field("prev_sum_exec_runtime", Value::U64(se.prev_sum_exec_runtime.get()));
        if se.on_rq.get() && !sched::is(self.rq(cpu).cfs.curr.get(), se) {
            v.field("min_vruntime", Value::U64(se.min_vruntime.get()));
            v.field("min_slice", Value::U64(se.min_slice.get()));
            v.field("max_slice", Value::U64(se.max_slice.get()));
        }
        v.end();
    }

    fn visit_avg<V: Visitor + ?Sized>(avg: &SchedAvg, v: &mut V) {
        v.field("last_update_time", Value::U64(avg.last_update_time()));
        v.field("load_sum", Value::U64(avg.load_sum.get()));
        v.field("runnable_sum", Value::U64(avg.runnable_sum.get()));
        v.field("util_sum", Value::U64(u64::from(avg.util_sum.get())));
        v.field("period_contrib", Value::U64(u64::from(avg.period_contrib.get())));
        v.field("load_avg", Value::U64(avg.load_avg.get()));
        v.field("runnable_avg", Value::U64(avg.runnable_avg.get()));
        v.field("util_avg", Value::U64(avg.util_avg.get()));
        v.field("util_est", Value::U64(u64::from(avg.util_est.get())));
    }

    fn visit_pelt_cfs<V: Visitor + ?Sized>(
        cpu: u32,
        group: GroupName,
        cfs_rq: &CfsRq<'a, H>,
        v: &mut V,
    ) {
        v.object(Object::Cfs(cpu, group));
        Self::visit_avg(&cfs_rq.avg, v);
        v.field("on_list", Value::Bool(cfs_rq.on_list.get()));
        if let Some(tg) = cfs_rq.tg.get().filter(|_| group != GroupName::ROOT) {
            v.field("tg_load_avg_contrib", Value::U64(cfs_rq.tg_load_avg_contrib.get()));
            v.field("tg_runnable_avg_contrib", Value::U64(cfs_rq.tg_runnable_avg_contrib.get()));
            v.field("propagate", Value::I64(cfs_rq.propagate.get()));
            v.field("prop_runnable_sum", Value::I64(cfs_rq.prop_runnable_sum.get()));
            v.field("tg.load_avg", Value::I64(tg.load_avg.load(Ordering::Relaxed)));
            v.field("tg.runnable_avg", Value::I64(tg.runnable_avg.load(Ordering::Relaxed)));
        }
        v.field("removed.nr", Value::U64(u64::from(cfs_rq.removed.nr.load(Ordering::Relaxed))));
        v.field("removed.load_avg", Value::U64(cfs_rq.removed.load_avg.get()));
        v.field("removed.util_avg", Value::U64(cfs_rq.removed.util_avg.get()));
        v.field("removed.runnable_avg", Value::U64(cfs_rq.removed.runnable_avg.get()));
        v.end();
    }

    pub(super) fn visit_pelt<V: Visitor + ?Sized>(&self, v: &mut V) {
        for rq in self.machine.runqueues() {
            v.object(Object::Rq(rq.cpu));
            v.field("clock_pelt", Value::U64(rq.clock_pelt.get()));
            v.field("lost_idle_time", Value::U64(rq.lost_idle_time.get()));
            v.end();
            for &(name, tg) in &self.group_order {
                let cfs_rq = sched::tg_cfs_rq(tg, rq.cpu);
                Self::visit_pelt_cfs(rq.cpu, name, cfs_rq, v);
                if let Some(se) = sched::cfs_rq_se(cfs_rq) {
                    v.object(Object::Gse(rq.cpu, name));
                    Self::visit_avg(&se.avg, v);
                    v.field("runnable_weight", Value::U64(se.runnable_weight.get()));
                    v.end();
                }
            }
        }
        for (name, p) in self.task_structs() {
            v.object(Object::Task(name));
            Self::visit_avg(&p.se.avg, v);
            v.end();
        }
    }

    pub(super) fn visit_core<V: Visitor + ?Sized>(&self, v: &mut V) {
        for rq in self.machine.runqueues() {
            self.visit_rq(rq, v);
            self.visit_root_cfs(rq.cpu, &rq.cfs, v);
            for &(name, tg) in &self.group_order[1..] {
                Self::visit_group_cfs(rq.cpu, name, sched::tg_cfs_rq(tg, rq.cpu), v);
            }
        }
        for (name, p) in self.task_structs() {
            self.visit_task(name, p, v);
        }
    }

    /// Class::fingerprint().
    pub(super) fn fold_all(&self) -> u64 {
        let mut fingerprint = Fingerprint(0);
        self.visit_core(&mut fingerprint);
        self.visit_pelt(&mut fingerprint);
        fingerprint.0
    }
}

/// Folds every value into 64 bits. Each step is a bijection of the hash for a given value, so a difference in one
/// field is never lost.
struct Fingerprint(u64);

impl Fingerprint {
    #[inline(always)]
    fn fold(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
    }
}

impl Visitor for Fingerprint {
    #[inline(always)]
    fn object(&mut self, object: Object) {
        self.fold(match object {
            Object::Rq(cpu) => u64::from(cpu),
            Object::Cfs(cpu, group) => 1 << 60 | u64::from(cpu) << 32 | u64::from(group.0),
            Object::Gse(cpu, group) => 2 << 60 | u64::from(cpu) << 32 | u64::from(group.0),
            Object::Task(name) => 3 << 60 | u64::from(name.0),
        });
    }

    #[inline(always)]
    fn field(&mut self, _name: &'static str, value: Value) {
        self.fold(match value {
            Value::U64(number) => number,
            Value::I64(number) => number as u64,
            Value::Bool(flag) => u64::from(flag),
            Value::Task(None) | Value::Current(None) => u64::MAX,
            Value::Task(Some(name)) | Value::Current(Some(name)) => u64::from(name.0),
            Value::Group(name) => 1 << 32 | u64::from(name.0),
            Value::Word(word) => word.bytes().fold(0, |sum, byte| sum << 8 | u64::from(byte)),
        });
    }
}
