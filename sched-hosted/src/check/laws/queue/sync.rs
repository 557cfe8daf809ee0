// SPDX-License-Identifier: GPL-2.0-only
//! Takes a machine's state over into the model.

use super::model::{Cpu, Model, Settings, Task, Whys};
use crate::ops::driver::Driver;
use sched_core::rbtree::rb_next;
use sched_core::sched::{self, Rq, SchedClass, SchedEntity, TaskStruct};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

impl Model {
    /// The state of `driver`'s machine as it is.
    pub fn sync<H: Hooks>(&mut self, driver: &Driver<'_, H>) {
        let machine = driver.machine();
        self.set = Settings {
            features: machine.features(),
            base_slice: u64::from(machine.sysctl_sched_base_slice.get()),
            normalized_base_slice: u64::from(machine.normalized_sysctl_sched_base_slice.get()),
            migration_cost: u64::from(machine.sysctl_sched_migration_cost.get()),
            tick: machine.tick_nsec.get(),
        };
        self.now = machine.sched_clock_cpu();
        (self.wide, self.lost) = (false, false);
        self.weighed.clear();
        self.tasks.clear();
        self.live.clear();
        self.cpus.clear();
        self.tasks.resize(crate::ops::Class::names(driver).nr_tasks(), None);
        for (name, p) in driver.task_structs() {
            self.live.push(name.0);
            self.tasks[name.0 as usize] = Some(task_of(driver, p));
        }
        for rq in machine.runqueues() {
            let mut cpu = cpu_of(rq);
            // A faulty class may leave names of the dead behind.
            for name in [&mut cpu.running, &mut cpu.curr, &mut cpu.next] {
                *name = name.filter(|&name| matches!(self.tasks.get(name as usize), Some(Some(_))));
            }
            self.cpus.push(cpu);
            let mut node = rq.cfs.tasks_timeline.first();
            for _ in 0..self.live.len() {
                let Some(se) = node else { break };
                self.joins += 1;
                let joined = self.joins;
                if let Some(Some(t)) = self.tasks.get_mut(name_of(se) as usize) {
                    t.joined = joined;
                }
                node = rb_next(se);
            }
            self.sum_anew(rq.cpu);
        }
    }
}

fn name_of<H: Hooks>(se: &SchedEntity<'_, H>) -> u32 {
    sched::task_of(se).pid.get()
}

fn task_of<'a, H: Hooks>(driver: &Driver<'a, H>, p: &'a TaskStruct<'a, H>) -> Task {
    let se = &p.se;
    let cpu = sched::task_cpu(p);
    let queued = se.on_rq.get();
    Task {
        cpu,
        group: p.sched_task_group.get().map_or(0, |tg| tg.id.get()),
        state: p.__state.load(Ordering::Relaxed),
        on_rq: p.on_rq.load(Ordering::Relaxed),
        static_prio: p.static_prio.get(),
        policy: p.policy.get(),
        queued,
        in_tree: queued && !sched::is(driver.machine().cpu_rq(cpu).cfs.curr.get(), se),
        delayed: se.sched_delayed.get(),
        relative: se.rel_deadline.get(),
        custom: se.custom_slice.get(),
        parked: p.throttled.get(),
        load: se.load.weight.get(),
        weight: se.h_load.weight.get(),
        vruntime: se.vruntime.get(),
        deadline: se.deadline.get(),
        vlag: se.vlag.get(),
        slice: se.slice.get(),
        vprot: se.vprot.get(),
        exec_start: se.exec_start.get(),
        sum_exec: se.sum_exec_runtime.get(),
        prev_sum_exec: se.prev_sum_exec_runtime.get(),
        migrations: se.nr_migrations.get(),
        joined: 0,
        why: Whys::default(),
        touched: true,
    }
}

fn cpu_of<'a, H: Hooks>(rq: &'a Rq<'a, H>) -> Cpu {
    let curr = rq.curr();
    let cfs_rq = &rq.cfs;
    Cpu {
        clock: rq.clock.get(),
        clock_flags: rq.clock_update_flags.get().bits(),
        running: (!sched::is_idle_task(curr)).then(|| curr.pid.get()),
        tif: curr.thread_info_flags.load(Ordering::Relaxed),
        fair_next: rq.next_class.get() == SchedClass::Fair,
        nr_running: rq.nr_running.get(),
        nr_switches: rq.nr_switches.get(),
        curr: cfs_rq.curr.get().map(name_of),
        next: cfs_rq.next.get().map(name_of),
        zero: cfs_rq.zero_vruntime.get(),
        sum_weight: 0,
        sum_w_vruntime: 0,
        shift: cfs_rq.sum_shift.get(),
        nr_queued: cfs_rq.h_nr_queued.get(),
        nr_runnable: cfs_rq.h_nr_runnable.get(),
        changes: 0,
    }
}
