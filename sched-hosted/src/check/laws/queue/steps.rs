// SPDX-License-Identifier: GPL-2.0-only
//! What each operation does, put together from the rules.

use super::charge::{LAZY, NOW};
use super::leave::{Joining, Leaving};
use super::model::{Model, Task, Whys, World};
use super::preempt::Waking;
use crate::ops::{Op, Policy};
use sched_core::sched::{
    self, TASK_DEAD, TASK_INTERRUPTIBLE, TASK_NEW, TASK_ON_RQ_MIGRATING, TASK_ON_RQ_QUEUED,
    TASK_RUNNING,
};

/// The shortest and longest slice that can be asked for, ns.
const SLICES: (u64, u64) = (100_000, 100_000_000);

/// Weights of nice -20 to 19, and of SCHED_IDLE; unscaled.
#[rustfmt::skip]
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];
const IDLE_WEIGHT: u64 = 3;

/// A task's parameters.
struct Parameters {
    policy: sched::Policy,
    prio: i32,
    /// The slice, and whether it was asked for; none leaves it.
    slice: Option<(u64, bool)>,
}

impl Model {
    /// The step of `op`, if it is one that these rules are complete for; false if not.
    pub fn step(&mut self, op: &Op, world: &dyn World) -> bool {
        match *op {
            Op::At { ns } => self.now = ns,
            Op::Task { task, cpu, nice, policy, slice_ns, group } => {
                let parameters = self.parameters(policy, nice, slice_ns);
                self.fork(task.0, cpu, group.0, &parameters);
            }
            Op::New { task } => self.wake_new(task.0, world),
            Op::Wake { task, sync, cpu } => self.wake(task.0, sync, cpu, world),
            Op::Schedule { cpu } => self.schedule(cpu, false, world),
            Op::Block { cpu } => {
                if let Some(task) = self.cpu(cpu).running {
                    self.t(task).state = TASK_INTERRUPTIBLE;
                    self.schedule(cpu, false, world);
                }
            }
            Op::Exit { cpu } => self.exit(cpu, world),
            Op::Tick { cpu } => self.tick(cpu, world),
            Op::Yield { cpu } => {
                self.lock(cpu);
                self.give_way(cpu);
            }
            Op::YieldTo { cpu, task } => {
                self.lock(cpu);
                self.prefer(cpu, task.0);
                self.give_way(cpu);
            }
            Op::Nice { task, nice } => self.nice(task.0, nice, world),
            Op::Param { task, policy, nice, slice_ns } => {
                let parameters = self.parameters(policy, nice, slice_ns);
                self.change(task.0, Some(&parameters), None, world);
            }
            Op::Move { task, group } => self.change_group(task.0, group.0, world),
            Op::Migrate { task, cpu } => self.migrate(task.0, cpu, world),
            Op::UpdateCurr { cpu } => {
                self.lock(cpu);
                self.update_clock(cpu);
                self.charge(cpu);
            }
            Op::UpdateBlocked { cpu } => {
                self.lock(cpu);
                self.update_clock(cpu);
            }
            Op::FinishDelayed { task } => {
                let cpu = self.task(task.0).cpu;
                self.lock(cpu);
                self.update_clock(cpu);
                let leaving = Leaving { sleep: true, completed: true, ..Leaving::default() };
                self.dequeue_task(cpu, task.0, leaving);
            }
            Op::Group { .. }
            | Op::Shares { .. }
            | Op::GroupIdle { .. }
            | Op::Quota { .. }
            | Op::Timers
            | Op::UserReturn { .. } => return false,
        }
        true
    }

    fn parameters(&self, policy: Policy, nice: i32, slice_ns: u64) -> Parameters {
        let slice = match slice_ns {
            0 => (self.set.base_slice, false),
            ns => (ns.clamp(SLICES.0, SLICES.1), true),
        };
        let policy = match policy {
            Policy::Normal => sched::Policy::SCHED_NORMAL,
            Policy::Batch => sched::Policy::SCHED_BATCH,
            Policy::Idle => sched::Policy::SCHED_IDLE,
        };
        Parameters { policy, prio: 120 + nice, slice: Some(slice) }
    }

    fn fork(&mut self, task: u32, cpu: u32, group: u32, parameters: &Parameters) {
        let new = Task {
            cpu,
            group,
            state: TASK_NEW,
            on_rq: 0,
            static_prio: 0,
            policy: parameters.policy,
            queued: false,
            in_tree: false,
            delayed: false,
            relative: false,
            custom: false,
            parked: false,
            load: 0,
            weight: 0,
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            slice: 0,
            vprot: 0,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            migrations: 0,
            joined: 0,
            why: Whys::default(),
            touched: true,
        };
        self.tasks[task as usize] = Some(new);
        self.live.push(task);
        self.set_parameters(task, parameters);
    }

    fn set_parameters(&mut self, task: u32, parameters: &Parameters) {
        let t = self.t(task);
        t.policy = parameters.policy;
        t.static_prio = parameters.prio;
        if let Some((slice, custom)) = parameters.slice {
            (t.slice, t.custom) = (slice, custom);
        }
        let weight = match t.policy {
            sched::Policy::SCHED_IDLE => IDLE_WEIGHT,
            _ => WEIGHTS[(t.static_prio - 100) as usize],
        };
        t.load = weight << 10;
    }

    fn activate(&mut self, cpu: u32, task: u32, joining: Joining, world: &dyn World) {
        self.enqueue(cpu, task, joining, world);
        self.t(task).on_rq = TASK_ON_RQ_QUEUED;
    }

    fn wake_new(&mut self, task: u32, world: &dyn World) {
        let cpu = self.task(task).cpu;
        self.t(task).state = TASK_RUNNING;
        self.lock(cpu);
        self.update_clock(cpu);
        self.activate(cpu, task, Joining { initial: true, ..Joining::default() }, world);
        self.wakeup_preempt(cpu, task, Waking { fork: true, sync: false });
    }

    fn wake(&mut self, task: u32, sync: bool, cpu: Option<u32>, world: &dyn World) {
        let old = self.task(task).cpu;
        let waking = Waking { fork: false, sync };
        if self.task(task).on_rq != 0 {
            self.lock(old);
            self.update_clock(old);
            if self.task(task).delayed {
                self.enqueue(old, task, Joining { delayed: true, ..Joining::default() }, world);
            }
            self.wakeup_preempt(old, task, waking);
        } else {
            let cpu = cpu.unwrap_or(old);
            let migrated = cpu != old;
            self.put_on(task, cpu);
            self.lock(cpu);
            self.update_clock(cpu);
            let joining = Joining { migrated, woken: true, ..Joining::default() };
            self.activate(cpu, task, joining, world);
            self.wakeup_preempt(cpu, task, waking);
        }
        self.t(task).state = TASK_RUNNING;
    }

    fn put_on(&mut self, task: u32, cpu: u32) {
        let t = self.t(task);
        t.migrations += u64::from(t.cpu != cpu);
        t.cpu = cpu;
    }

    fn exit(&mut self, cpu: u32, world: &dyn World) {
        let Some(task) = self.cpu(cpu).running else { return };
        self.t(task).state = TASK_DEAD;
        self.schedule(cpu, true, world);
        self.lost |= self.task(task).queued;
        self.tasks[task as usize] = None;
        self.live.retain(|&other| other != task);
    }

    fn tick(&mut self, cpu: u32, world: &dyn World) {
        self.lock(cpu);
        self.update_clock(cpu);
        if self.cpu(cpu).tif & LAZY != 0 {
            self.resched(cpu, NOW);
        }
        if let Some(curr) = self.competing_curr(cpu) {
            self.charge(cpu);
            let weight = self.weigh(cpu, curr, world);
            self.reweight(cpu, curr, weight);
        }
    }

    fn nice(&mut self, task: u32, nice: i32, world: &dyn World) {
        let t = self.task(task);
        if t.static_prio == 120 + nice {
            return;
        }
        let parameters = Parameters { policy: t.policy, prio: 120 + nice, slice: None };
        self.change(task, Some(&parameters), None, world);
    }

    fn change_group(&mut self, task: u32, group: u32, world: &dyn World) {
        let (queued, running) = self.change(task, None, Some(group), world);
        let cpu = self.task(task).cpu;
        if running {
            self.resched(cpu, NOW);
        } else if queued {
            self.wakeup_preempt(cpu, task, Waking::default());
        }
    }

    /// A change of parameters or group: out of the queue and off the CPU, the change, and back. Whether it was
    /// queued, and whether it was running.
    fn change(
        &mut self,
        task: u32,
        parameters: Option<&Parameters>,
        group: Option<u32>,
        world: &dyn World,
    ) -> (bool, bool) {
        let cpu = self.task(task).cpu;
        self.lock(cpu);
        self.update_clock(cpu);
        let old_prio = self.task(task).static_prio;
        let queued = self.task(task).on_rq == TASK_ON_RQ_QUEUED;
        let running = self.cpu(cpu).running == Some(task);
        if queued {
            self.dequeue_task(cpu, task, Leaving::default());
        }
        if running {
            self.put_prev(cpu, task);
        }
        if let Some(parameters) = parameters {
            self.set_parameters(task, parameters);
        }
        if let Some(group) = group {
            self.t(task).group = group;
        }
        if queued {
            self.enqueue(cpu, task, Joining::default(), world);
        }
        if running {
            self.set_next(cpu, task, false, world);
        }
        if queued {
            self.prio_changed(cpu, task, running, old_prio);
        }
        (queued, running)
    }

    /// Who runs and is less important now schedules; one that waits may preempt now.
    fn prio_changed(&mut self, cpu: u32, task: u32, running: bool, old_prio: i32) {
        let prio = self.task(task).static_prio;
        if prio == old_prio || self.cpu(cpu).nr_queued == 1 {
            return;
        }
        if !running {
            self.wakeup_preempt(cpu, task, Waking::default());
        } else if prio > old_prio {
            self.resched(cpu, NOW);
        }
    }

    fn migrate(&mut self, task: u32, cpu: u32, world: &dyn World) {
        let old = self.task(task).cpu;
        self.lock(old);
        if cpu == old {
            return;
        }
        self.update_clock(old);
        self.t(task).on_rq = TASK_ON_RQ_MIGRATING;
        self.dequeue_task(old, task, Leaving::default());
        self.put_on(task, cpu);
        self.lock(cpu);
        self.update_clock(cpu);
        self.activate(cpu, task, Joining { migrated: true, ..Joining::default() }, world);
        self.wakeup_preempt(cpu, task, Waking::default());
    }
}
