// SPDX-License-Identifier: GPL-2.0-only
//! The class here: the batches in Rust. The same loops in C are kernel-oracle/c/bench.h.

use super::side::{Bench, BenchItem, Side};
use crate::ops::arena::Arena;
use crate::ops::driver::Driver;
use crate::ops::{Class, TaskName};
use sched_core::core::{
    __block_task, activate_task, dequeue_task, enqueue_task, put_prev_set_next_task,
    update_rq_clock, wakeup_preempt,
};
use sched_core::fair::pick::{pick_eevdf, pick_task_fair};
use sched_core::fair::place::place_entity;
use sched_core::fair::timeline::{__dequeue_entity, __enqueue_entity};
use sched_core::fair::update_curr::{task_tick_fair, update_curr_fair};
use sched_core::sched::{
    Machine, QueueFlags, Rq, RqClockFlags, TASK_INTERRUPTIBLE, TASK_ON_RQ_QUEUED, TASK_RUNNING,
    TASK_WAKING, TaskStruct, WakeFlags, clear_tsk_need_resched, rq_pin_lock, task_of, task_on_cpu,
};
use sched_core::sync::Ordering;
use sched_core::trace::Site;
use std::hint::black_box;
use std::ptr;

type Task<'a> = &'a TaskStruct<'a, ()>;
type Queue<'a> = &'a Rq<'a, ()>;

struct Item<'a> {
    rq: Queue<'a>,
    p: Task<'a>,
    step_ns: u64,
}

/// The class here, in `arena`, driven by `driver`.
pub struct Here<'a> {
    arena: &'a Arena<'a, ()>,
    driver: Driver<'a, ()>,
    items: Vec<Item<'a>>,
    /// Tasks that are left unused before each that is used.
    spare: usize,
}

impl<'a> Here<'a> {
    /// A side of a machine that was just made. `task_size` is how far apart its tasks are to lie, bytes.
    pub fn new(arena: &'a Arena<'a, ()>, driver: Driver<'a, ()>, task_size: usize) -> Self {
        let own = size_of::<TaskStruct<'static, ()>>();
        let spare = (task_size + own / 2) / own;
        Here { arena, driver, items: Vec::new(), spare: spare.saturating_sub(1) }
    }

    #[inline(always)]
    fn clock(&self, item: &Item<'a>) {
        clock(self.driver.machine(), item.step_ns);
    }
}

#[inline(always)]
fn clock(machine: &Machine<'_, ()>, step_ns: u64) {
    machine.set_sched_clock(machine.sched_clock_cpu() + step_ns);
}

impl Side for Here<'_> {
    fn class(&self) -> &dyn Class {
        &self.driver
    }

    fn class_mut(&mut self) -> &mut dyn Class {
        &mut self.driver
    }

    fn prepare(&mut self, items: &[BenchItem]) {
        let driver = &self.driver;
        self.items.clear();
        self.items.extend(items.iter().map(|item| Item {
            rq: driver.machine().cpu_rq(item.cpu),
            p: driver.task_struct(TaskName(item.task)).expect("the station made it"),
            step_ns: item.step_ns,
        }));
    }

    fn run(&mut self, bench: Bench, repeat: u32) {
        match bench {
            Bench::Nothing => {}
            Bench::Clock => self.update_clock(),
            Bench::Enqueue => self.enqueue(),
            Bench::Requeue => self.requeue(),
            Bench::Dequeue => self.dequeue(),
            Bench::Delay => self.delay(),
            Bench::Switch => self.switch(),
            Bench::UpdateCurr => self.update_curr(repeat),
            Bench::Tick => self.tick(),
            Bench::Place => self.place(repeat),
            Bench::Pick => self.pick(repeat),
            Bench::Erase => self.erase(),
            Bench::Insert => self.insert(),
            Bench::Peek => self.peek(),
            Bench::HandOff => self.hand_off(repeat),
        }
    }

    fn task_of(&self, item: usize) -> u32 {
        self.items[item].p.pid.get()
    }

    fn space_tasks(&mut self) {
        for _ in 0..self.spare {
            self.arena.task();
        }
    }
}

/// The loops. Each is a function of its own, as in C.
impl<'a> Here<'a> {
    #[inline(never)]
    fn update_clock(&self) {
        for item in &self.items {
            self.clock(item);
            update_rq_clock(item.rq);
        }
    }

    #[inline(never)]
    fn enqueue(&self) {
        for item in &self.items {
            self.clock(item);
            enqueue_task(item.rq, item.p, QueueFlags::ENQUEUE_WAKEUP);
            item.p.on_rq.store(TASK_ON_RQ_QUEUED, Ordering::Relaxed);
            item.p.is_blocked.set(false);
        }
    }

    #[inline(never)]
    fn requeue(&self) {
        for item in &self.items {
            self.clock(item);
            enqueue_task(item.rq, item.p, QueueFlags::ENQUEUE_DELAYED);
            item.p.is_blocked.set(false);
        }
    }

    #[inline(never)]
    fn dequeue(&self) {
        for item in &self.items {
            self.clock(item);
            item.p.is_blocked.set(true);
            let flags = QueueFlags::DEQUEUE_SLEEP | QueueFlags::DEQUEUE_SPECIAL;
            if dequeue_task(item.rq, item.p, flags) {
                __block_task(item.rq, item.p);
            }
        }
    }

    #[inline(never)]
    fn delay(&self) {
        for item in &self.items {
            self.clock(item);
            item.p.is_blocked.set(true);
            if dequeue_task(item.rq, item.p, QueueFlags::DEQUEUE_SLEEP) {
                __block_task(item.rq, item.p);
            }
        }
    }

    #[inline(never)]
    fn switch(&self) {
        for item in &self.items {
            pick_and_switch(item.rq);
        }
    }

    #[inline(never)]
    fn update_curr(&self, repeat: u32) {
        for _ in 0..repeat {
            for item in &self.items {
                let rq = item.rq;
                rq.clock_task.set(rq.clock_task.get() + item.step_ns);
                update_curr_fair(rq, Site::UpdateCurrFair);
            }
        }
    }

    #[inline(never)]
    fn tick(&self) {
        for item in &self.items {
            self.clock(item);
            update_rq_clock(item.rq);
            task_tick_fair(item.rq, item.rq.donor(), false);
        }
    }

    #[inline(never)]
    fn place(&self, repeat: u32) {
        for _ in 0..repeat {
            for item in &self.items {
                place_entity(&item.rq.cfs, &item.p.se, QueueFlags::ENQUEUE_WAKEUP);
            }
        }
    }

    #[inline(never)]
    fn pick(&self, repeat: u32) {
        for _ in 0..repeat {
            for item in &self.items {
                black_box(pick_eevdf(&item.rq.cfs, false));
            }
        }
    }

    fn peek(&mut self) {
        for item in &mut self.items {
            item.p = task_of(pick_eevdf(&item.rq.cfs, true).expect("something is queued"));
        }
    }

    #[inline(never)]
    fn erase(&self) {
        for item in &self.items {
            __dequeue_entity(&item.rq.cfs, &item.p.se);
        }
    }

    #[inline(never)]
    fn insert(&self) {
        for item in &self.items {
            __enqueue_entity(&item.rq.cfs, &item.p.se);
        }
    }

    #[inline(never)]
    fn hand_off(&mut self, repeat: u32) {
        let machine = self.driver.machine();
        for item in &mut self.items {
            for _ in 0..repeat {
                let prev = item.rq.curr();
                clock(machine, item.step_ns);
                wake(item.rq, item.p);
                clock(machine, item.step_ns / 2);
                block(item.rq);
                item.p = prev;
            }
        }
    }
}

/// What __schedule() does from the pick on.
#[inline(always)]
fn pick_and_switch<'a>(rq: Queue<'a>) {
    let prev = rq.curr();
    let next = pick_task_fair(rq).unwrap_or(&rq.idle_task);
    put_prev_set_next_task(rq, rq.donor(), next);
    rq.next_class.set(next.sched_class.get());
    clear_tsk_need_resched(prev);
    if ptr::eq(prev, next) {
        return;
    }
    rq.nr_switches.set(rq.nr_switches.get().wrapping_add(1));
    rq.set_curr(next);
    next.on_cpu.store(1, Ordering::Relaxed);
    prev.on_cpu.store(0, Ordering::Relaxed);
}

/// try_to_wake_up() without its locks, as the C side has it.
#[inline(always)]
fn wake<'a>(rq: Queue<'a>, p: Task<'a>) {
    let flags = WakeFlags::WF_TTWU | WakeFlags::WF_SYNC;
    if p.on_rq.load(Ordering::Relaxed) != 0 {
        rq_pin_lock(rq);
        update_rq_clock(rq);
        if p.is_blocked.get() && p.se.sched_delayed.get() {
            enqueue_task(rq, p, QueueFlags::ENQUEUE_NOCLOCK | QueueFlags::ENQUEUE_DELAYED);
        }
        if !task_on_cpu(p) {
            wakeup_preempt(rq, p, flags);
        }
    } else {
        p.__state.store(TASK_WAKING, Ordering::Relaxed);
        rq_pin_lock(rq);
        update_rq_clock(rq);
        activate_task(rq, p, QueueFlags::ENQUEUE_WAKEUP | QueueFlags::ENQUEUE_NOCLOCK);
        wakeup_preempt(rq, p, flags);
    }
    p.is_blocked.set(false);
    p.__state.store(TASK_RUNNING, Ordering::Relaxed);
}

/// __schedule() of a running task that sleeps, without its lock, as the C side has it.
#[inline(always)]
fn block<'a>(rq: Queue<'a>) {
    let prev = rq.curr();
    prev.__state.store(TASK_INTERRUPTIBLE, Ordering::Relaxed);
    rq_pin_lock(rq);
    let flags = rq.clock_update_flags.get().bits() << 1;
    rq.clock_update_flags.set(RqClockFlags::from_bits_retain(flags));
    update_rq_clock(rq);
    rq.clock_update_flags.set(RqClockFlags::RQCF_UPDATED);
    prev.is_blocked.set(true);
    prev.sched_contributes_to_load.set(false);
    if dequeue_task(rq, prev, QueueFlags::DEQUEUE_SLEEP | QueueFlags::DEQUEUE_NOCLOCK) {
        __block_task(rq, prev);
    }
    pick_and_switch(rq);
}
