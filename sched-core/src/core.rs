// SPDX-License-Identifier: GPL-2.0-only
//! The subset of core.c, syscalls.c and idle.c around the fair class: what wakes, switches, ticks and changes tasks.
//!
//! These functions take the locks that the kernel takes; those of the class are called with rq->__lock held.

use crate::fair::bandwidth::throttle_cfs_rq_work;
use crate::fair::class::{__setparam_fair, SchedAttr, prio_changed_fair};
use crate::fair::dequeue::dequeue_task_fair;
use crate::fair::enqueue::enqueue_task_fair;
use crate::fair::group::task_change_group_fair;
use crate::fair::load::{
    LoadWeight, SCHED_PRIO_TO_WEIGHT, SCHED_PRIO_TO_WMULT, WEIGHT_IDLEPRIO, WMULT_IDLEPRIO,
    scale_load,
};
use crate::fair::load_avg::{
    __update_blocked_fair, init_entity_runnable_average, migrate_task_rq_fair,
    post_init_entity_util_avg, set_task_rq_fair, task_dead_fair,
};
use crate::fair::pick::pick_task_fair;
use crate::fair::preempt::{wakeup_preempt_fair, yield_task_fair, yield_to_task_fair};
use crate::fair::reweight::reweight_task_fair;
use crate::fair::set_next::{put_prev_task_fair, set_next_task_fair};
use crate::fair::update_curr::{task_tick_fair, update_curr_fair};
use crate::features::SchedFeat;
use crate::pelt::{update_idle_rq_clock_pelt, update_rq_clock_pelt};
use crate::sched::*;
use crate::sync::{Ordering, RawSpinlockGuard};
use crate::trace::{Counter, Hooks, Site};
use crate::{WARN_ON_ONCE, museum};
use core::ptr;

// ---- start ---------------------------------------------------------------------------------------------------------

/// sched_init(): connects a machine, its runqueues (one a CPU, in order) and the root group, with the idle tasks
/// running.
pub fn sched_init<'a, H: Hooks>(machine: &'a Machine<'a, H>, runqueues: &'a [Rq<'a, H>]) {
    machine.set_runqueues(runqueues);
    machine.root_task_group.runqueues.set(runqueues);

    for rq in runqueues {
        rq.cfs.rq.set(Some(rq));
        rq.cfs.tg.set(Some(&machine.root_task_group));
        init_idle(rq);
    }
    sched_init_granularity(machine);
}

/// init_idle(): the idle task of a CPU runs on it, from the start and whenever nothing else does.
fn init_idle<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let idle = &rq.idle_task;

    idle.init_task_of();
    idle.sched_class.set(SchedClass::Idle);
    idle.__state.store(TASK_RUNNING, Ordering::Relaxed);
    idle.cpu.store(rq.cpu, Ordering::Relaxed);
    idle.on_rq.store(TASK_ON_RQ_QUEUED, Ordering::Relaxed);
    idle.on_cpu.store(1, Ordering::Relaxed);
    idle.se.cfs_rq.set(Some(&rq.cfs));
    rq.set_curr(idle);
}

/// get_update_sysctl_factor(): tunables grow with the logarithm of the number of CPUs, up to 8.
pub fn get_update_sysctl_factor<H: Hooks>(machine: &Machine<'_, H>) -> u32 {
    1 + machine.num_online_cpus().clamp(1, 8).ilog2()
}

/// sched_init_granularity(): the default slice for the number of CPUs.
pub fn sched_init_granularity<H: Hooks>(machine: &Machine<'_, H>) {
    let normalized = machine.normalized_sysctl_sched_base_slice.get();
    machine.sysctl_sched_base_slice.set(get_update_sysctl_factor(machine) * normalized);
}

// ---- clocks --------------------------------------------------------------------------------------------------------

/// update_rq_clock_task(): no irq and no steal time here, so all of `delta` (ns) is the tasks'.
#[inline(always)]
fn update_rq_clock_task<H: Hooks>(rq: &Rq<'_, H>, delta: i64) {
    rq.clock_task.set(rq.clock_task.get().wrapping_add(delta as u64));
    update_rq_clock_pelt(rq, delta);
}

/// update_rq_clock(): looks at the clock, unless that is to be left out.
pub fn update_rq_clock<H: Hooks>(rq: &Rq<'_, H>) {
    let flags = rq.clock_update_flags.get();
    if flags.contains(RqClockFlags::RQCF_ACT_SKIP) {
        return;
    }

    if rq.machine.sched_feat(SchedFeat::WARN_DOUBLE_CLOCK) {
        WARN_ON_ONCE!(rq.hooks(), flags.contains(RqClockFlags::RQCF_UPDATED));
    }
    rq.clock_update_flags.set(flags | RqClockFlags::RQCF_UPDATED);
    rq.count(Counter::UpdateRqClock);

    let clock = rq.machine.sched_clock_cpu();
    let delta = clock.wrapping_sub(rq.clock.get()) as i64;
    if delta < 0 {
        return;
    }
    rq.clock.set(clock);

    update_rq_clock_task(rq, delta);
}

// ---- reschedule requests -------------------------------------------------------------------------------------------

/// __resched_curr(): an idle CPU is never asked lazily; a request that is as strong already stays.
fn __resched_curr<H: Hooks>(rq: &Rq<'_, H>, tif: Tif) {
    let curr = rq.curr();
    let mut tif = tif;

    if is_idle_task(curr) && tif == Tif::NEED_RESCHED_LAZY {
        tif = Tif::NEED_RESCHED;
    }

    let flags = Tif::from_bits_retain(curr.thread_info_flags.load(Ordering::Relaxed));
    if flags.intersects(tif | Tif::NEED_RESCHED) {
        return;
    }

    rq.count(if tif == Tif::NEED_RESCHED {
        Counter::ReschedCurr
    } else {
        Counter::ReschedCurrLazy
    });
    curr.thread_info_flags.fetch_or(tif.bits(), Ordering::Relaxed);
}

/// resched_curr(): curr is to schedule at once.
pub fn resched_curr<H: Hooks>(rq: &Rq<'_, H>) {
    __resched_curr(rq, Tif::NEED_RESCHED);
}

/// resched_curr_lazy(): curr is to schedule on its way back to user mode, or at the next tick (PREEMPT_LAZY).
pub fn resched_curr_lazy<H: Hooks>(rq: &Rq<'_, H>) {
    __resched_curr(rq, Tif::NEED_RESCHED_LAZY);
}

// ---- the precise timer (SCHED_HRTICK) ------------------------------------------------------------------------------

/// hrtick(): the timer fires: a tick that came for the end of curr's request. The host calls it when the clock has
/// reached [`Rq::hrtick_timer`].
pub fn hrtick<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let _guard = rq_lock(rq);
    let donor = rq.donor();
    rq.hooks().operation();
    rq.hrtick_timer.set(None);

    update_rq_clock(rq);
    match donor.sched_class.get() {
        SchedClass::Fair => task_tick_fair(rq, donor, true),
        SchedClass::Idle => update_curr_idle(rq),
    }
}

/// hrtick_needs_rearm(): a timer that is queued for nearly the same time stays as it is.
fn hrtick_needs_rearm<H: Hooks>(rq: &Rq<'_, H>, expires: u64) -> bool {
    rq.hrtick_timer.get().is_none_or(|queued| expires.abs_diff(queued) > 5000)
}

/// hrtick_cond_restart(): queues the timer for rq->hrtick_time.
fn hrtick_cond_restart<H: Hooks>(rq: &Rq<'_, H>) {
    let time = rq.hrtick_time.get();

    if hrtick_needs_rearm(rq, time) {
        rq.hrtick_timer.set(Some(time));
    }
}

/// hrtick_start(): the timer is to fire in `delay` ns, 10 us at the least. (Another CPU's is set by an interrupt there,
/// which takes no time here.)
pub fn hrtick_start<H: Hooks>(rq: &Rq<'_, H>, delay: u64) {
    let delta = (delay as i64).max(10_000) as u64;

    if !rq.hrtick_sched.get().is_empty() {
        rq.hrtick_sched.set(rq.hrtick_sched.get() | HrtickSched::HRTICK_SCHED_START);
        rq.hrtick_delay.set(delta);
        return;
    }

    rq.hrtick_time.set(rq.machine.sched_clock_cpu().wrapping_add(delta));
    hrtick_cond_restart(rq);
}

/// hrtick_schedule_enter(): __schedule() may ask more than once, and what it ends with counts.
#[inline(always)]
fn hrtick_schedule_enter<H: Hooks>(rq: &Rq<'_, H>) {
    rq.hrtick_sched.set(HrtickSched::HRTICK_SCHED_DEFER);
}

/// hrtick_schedule_exit(): sets the timer if there was a reason to; an idle CPU needs none.
#[inline(always)]
fn hrtick_schedule_exit<H: Hooks>(rq: &Rq<'_, H>) {
    if rq.hrtick_sched.get().contains(HrtickSched::HRTICK_SCHED_START) {
        let now = rq.machine.sched_clock_cpu();
        rq.hrtick_time.set(now.wrapping_add(rq.hrtick_delay.get()));
        hrtick_cond_restart(rq);
    } else if is_idle_task(rq.curr()) && rq.nr_running.get() == 0 {
        rq.hrtick_timer.set(None);
    }

    rq.hrtick_sched.set(HrtickSched::empty());
}

// ---- queueing ------------------------------------------------------------------------------------------------------

/// set_load_weight(): the weight of a task's nice value or policy.
fn set_load_weight<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    update_load: bool,
) {
    let lw = LoadWeight::default();

    if task_has_idle_policy(p) {
        lw.weight.set(scale_load(WEIGHT_IDLEPRIO));
        lw.inv_weight.set(WMULT_IDLEPRIO);
    } else {
        let prio = (p.static_prio.get() - MAX_RT_PRIO) as usize;
        lw.weight.set(scale_load(u64::from(SCHED_PRIO_TO_WEIGHT[prio])));
        lw.inv_weight.set(SCHED_PRIO_TO_WMULT[prio]);
    }

    museum!(machine, H15 => {
        p.se.load.set(&lw);
        return;
    });
    museum!(machine, L08 => {
        if task_has_idle_policy(p) {
            p.se.load.set(&lw);
            return;
        }
    });
    // One that is in the class already has its load tracked.
    if update_load && p.sched_class.get() == SchedClass::Fair {
        reweight_task_fair(task_rq(machine, p), p, &lw);
    } else {
        p.se.load.set(&lw);
    }
}

/// enqueue_task().
pub fn enqueue_task<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, flags: QueueFlags) {
    if !flags.contains(QueueFlags::ENQUEUE_NOCLOCK) {
        update_rq_clock(rq);
    }

    enqueue_task_fair(rq, p, flags);
}

/// dequeue_task(). False: the class only delayed it.
pub fn dequeue_task<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) -> bool {
    if !flags.contains(QueueFlags::DEQUEUE_NOCLOCK) {
        update_rq_clock(rq);
    }

    dequeue_task_fair(rq, p, flags)
}

/// activate_task().
pub fn activate_task<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, flags: QueueFlags) {
    let mut flags = flags;
    if task_on_rq_migrating(p) {
        flags |= QueueFlags::ENQUEUE_MIGRATED;
    }

    enqueue_task(rq, p, flags);

    p.on_rq.store(TASK_ON_RQ_QUEUED, Ordering::Relaxed);
}

/// deactivate_task(): for a move to another runqueue. MIGRATING is set before the dequeue, cleared after the enqueue.
pub fn deactivate_task<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) {
    WARN_ON_ONCE!(rq.hooks(), flags.contains(QueueFlags::DEQUEUE_SLEEP));

    p.on_rq.store(TASK_ON_RQ_MIGRATING, Ordering::Relaxed);

    dequeue_task(rq, p, flags);
}

/// __block_task(): the task is asleep and queued nowhere. From here on a waker may take it to another CPU, so nothing
/// of it may be looked at any more.
pub fn __block_task<'a, H: Hooks>(rq: &Rq<'a, H>, p: &'a TaskStruct<'a, H>) {
    if p.sched_contributes_to_load.get() {
        rq.nr_uninterruptible.set(rq.nr_uninterruptible.get().wrapping_add(1));
    }

    // Pairs with the load of p->on_rq in try_to_wake_up().
    p.on_rq.store(0, Ordering::Release);
}

/// block_task(): the running task goes to sleep.
fn block_task<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, task_state: u32) {
    let mut flags = QueueFlags::DEQUEUE_NOCLOCK;

    // No state that there is here is uninterruptible.
    p.sched_contributes_to_load.set(false);

    if is_special_task_state(task_state) {
        flags |= QueueFlags::DEQUEUE_SPECIAL;
    }

    if dequeue_task(rq, p, QueueFlags::DEQUEUE_SLEEP | flags) {
        __block_task(rq, p);
    }
}

/// try_to_block_task(): there are no signals here that would keep it awake.
fn try_to_block_task<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, task_state: u32) {
    WARN_ON_ONCE!(rq.hooks(), p.is_blocked.get());

    p.is_blocked.set(true);

    block_task(rq, p, task_state);
}

// ---- wakeups -------------------------------------------------------------------------------------------------------

/// wakeup_preempt(): `p` is queued now; its class decides, or the running class if that is lower.
pub fn wakeup_preempt<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>, flags: WakeFlags) {
    let donor = rq.donor();

    if p.sched_class.get() == rq.next_class.get() {
        class_wakeup_preempt(rq, p, flags);
    } else if p.sched_class.get() > rq.next_class.get() {
        class_wakeup_preempt(rq, p, flags);
        resched_curr(rq);
        rq.next_class.set(p.sched_class.get());
    }

    // A schedule is to come at once, and the clock has just been read.
    if task_on_rq_queued(donor) && test_tsk_need_resched(rq.curr()) {
        rq_clock_skip_update(rq);
    }
}

/// The wakeup_preempt method of rq->next_class. wakeup_preempt_idle(): anything preempts idling.
#[inline(always)]
fn class_wakeup_preempt<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: WakeFlags,
) {
    match rq.next_class.get() {
        SchedClass::Fair => wakeup_preempt_fair(rq, p, flags),
        SchedClass::Idle => resched_curr(rq),
    }
}

/// ttwu_do_wakeup(): it is awake.
fn ttwu_do_wakeup<'a, H: Hooks>(p: &'a TaskStruct<'a, H>) {
    p.is_blocked.set(false);
    p.__state.store(TASK_RUNNING, Ordering::Relaxed);
}

/// ttwu_do_activate(): a sleeper that is queued nowhere.
fn ttwu_do_activate<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    wake_flags: WakeFlags,
) {
    let mut en_flags = QueueFlags::ENQUEUE_WAKEUP | QueueFlags::ENQUEUE_NOCLOCK;

    if p.sched_contributes_to_load.get() {
        rq.nr_uninterruptible.set(rq.nr_uninterruptible.get().wrapping_sub(1));
    }

    if wake_flags.contains(WakeFlags::WF_RQ_SELECTED) {
        en_flags |= QueueFlags::ENQUEUE_RQ_SELECTED;
    }
    if wake_flags.contains(WakeFlags::WF_MIGRATED) {
        en_flags |= QueueFlags::ENQUEUE_MIGRATED;
    }

    activate_task(rq, p, en_flags);
    wakeup_preempt(rq, p, wake_flags);

    ttwu_do_wakeup(p);
}

/// ttwu_runnable(): a task that is queued still: on its way to sleep, or with its dequeue delayed. False: it is not.
fn ttwu_runnable<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    wake_flags: WakeFlags,
) -> bool {
    let (rq, _guard) = __task_rq_lock(machine, p);

    if !task_on_rq_queued(p) {
        return false;
    }

    update_rq_clock(rq);
    museum!(machine, D17 => {
        if p.se.sched_delayed.get() {
            ttwu_do_wakeup(p);
            return true;
        }
    });
    if p.is_blocked.get() && p.se.sched_delayed.get() {
        enqueue_task(rq, p, QueueFlags::ENQUEUE_NOCLOCK | QueueFlags::ENQUEUE_DELAYED);
    }
    if !task_on_cpu(p) {
        // Queued but not running: it may have to preempt what runs now.
        wakeup_preempt(rq, p, wake_flags);
    }
    ttwu_do_wakeup(p);
    true
}

/// ttwu_queue(): without a list of remote wakeups (TTWU_QUEUE plays no part here).
fn ttwu_queue<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    cpu: u32,
    wake_flags: WakeFlags,
) {
    let rq = machine.cpu_rq(cpu);
    let _guard = rq_lock(rq);

    update_rq_clock(rq);
    ttwu_do_activate(rq, p, wake_flags);
}

/// try_to_wake_up(): wakes a sleeper. False: it was not asleep.
///
/// The order of the accesses to __state, on_rq and on_cpu is the kernel's; `state` is what it must be in. `cpu` is
/// what select_task_rq() would answer; it is not asked for one that is queued still.
pub fn try_to_wake_up<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    state: u32,
    wake_flags: WakeFlags,
    cpu: u32,
) -> bool {
    let mut wake_flags = wake_flags | WakeFlags::WF_TTWU;
    let _pi = p.pi_lock.lock();
    machine.hooks.operation();

    // smp_mb__after_spinlock(): what the waker wrote before is seen by a sleeper whose state is not seen here. Pairs
    // with set_current_state().
    if p.__state.load(Ordering::SeqCst) & state == 0 {
        return false;
    }

    // Pairs with the release in __block_task(): if on_rq is 0 the sleeper's runqueue is done with it.
    if p.on_rq.load(Ordering::Acquire) != 0 && ttwu_runnable(machine, p, wake_flags) {
        return true;
    }

    p.__state.store(TASK_WAKING, Ordering::Relaxed);

    // It may still be on its way out of __schedule() on its CPU.
    while p.on_cpu.load(Ordering::Acquire) != 0 {
        core::hint::spin_loop();
    }

    if task_cpu(p) != cpu {
        wake_flags |= WakeFlags::WF_MIGRATED;
        set_task_cpu(machine, p, cpu);
    }

    ttwu_queue(machine, p, cpu, wake_flags);
    true
}

/// wake_up_new_task(): a task after its fork runs for the first time, on the CPU it was given.
pub fn wake_up_new_task<'a, H: Hooks>(machine: &Machine<'a, H>, p: &'a TaskStruct<'a, H>) {
    let _pi = p.pi_lock.lock();
    machine.hooks.operation();
    p.__state.store(TASK_RUNNING, Ordering::Relaxed);

    __set_task_cpu(machine, p, task_cpu(p));
    let (rq, _guard) = __task_rq_lock(machine, p);
    update_rq_clock(rq);
    post_init_entity_util_avg(p);

    activate_task(rq, p, QueueFlags::ENQUEUE_NOCLOCK | QueueFlags::ENQUEUE_INITIAL);
    wakeup_preempt(rq, p, WakeFlags::WF_FORK);
}

/// sched_fork() and sched_cgroup_fork(): makes `p`, fresh or recycled, a new task of `tg` on `cpu` with the parameters
/// of `attr`, not yet to run.
pub fn sched_fork<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    attr: &SchedAttr,
    tg: &'a TaskGroup<'a, H>,
    cpu: u32,
) {
    __sched_fork(p);
    p.__state.store(TASK_NEW, Ordering::Relaxed);
    p.sched_class.set(SchedClass::Fair);

    p.policy.set(attr.sched_policy);
    __setparam_fair(machine, p, attr);
    p.normal_prio.set(p.static_prio.get());
    p.prio.set(p.normal_prio.get());
    set_load_weight(machine, p, false);
    init_entity_runnable_average(&p.se);

    p.sched_task_group.set(Some(tg));
    __set_task_cpu(machine, p, cpu);
}

/// __sched_fork(): the scheduling state of a task that has not run yet.
fn __sched_fork<'a, H: Hooks>(p: &'a TaskStruct<'a, H>) {
    let se = &p.se;

    p.init_task_of();
    p.on_rq.store(0, Ordering::Relaxed);
    p.on_cpu.store(0, Ordering::Relaxed);
    p.thread_info_flags.store(0, Ordering::Relaxed);
    p.is_blocked.set(false);
    p.sched_contributes_to_load.set(false);

    se.on_rq.set(false);
    se.exec_start.set(0);
    se.sum_exec_runtime.set(0);
    se.prev_sum_exec_runtime.set(0);
    se.nr_migrations.set(0);
    se.vruntime.set(0);
    se.vlag.set(0);
    se.rel_deadline.set(false);
    // What a fork would take over from the parent starts at 0 here: there is no parent.
    se.deadline.set(0);
    se.vprot.set(0);
    se.h_load.weight.set(0);
    se.h_load.inv_weight.set(0);
    se.sched_delayed.set(false);
    se.cfs_rq.set(None);
    // init_cfs_throttle_work()
    p.sched_throttle_work.store(false, Ordering::Relaxed);
    p.throttled.set(false);
}

/// set_task_rq(): the queue and parent entity of a task that changed CPU or group.
pub(crate) fn set_task_rq<'a, H: Hooks>(p: &'a TaskStruct<'a, H>, cpu: u32) {
    let Some(tg) = p.sched_task_group.get() else { return };

    let cfs_rq = tg_cfs_rq(tg, cpu);
    set_task_rq_fair(&p.se, p.se.cfs_rq.get(), cfs_rq);
    p.se.cfs_rq.set(Some(cfs_rq));
    p.se.parent.set(tg_se(tg, cpu));
    p.se.depth.set(p.se.parent.get().map_or(0, |parent| parent.depth.get() + 1));
}

/// __set_task_cpu().
fn __set_task_cpu<'a, H: Hooks>(machine: &Machine<'a, H>, p: &'a TaskStruct<'a, H>, cpu: u32) {
    crate::BUG_ON!(cpu >= machine.num_online_cpus());
    set_task_rq(p, cpu);
    // Whoever sees the new CPU sees all of the above.
    p.cpu.store(cpu, Ordering::Release);
}

/// set_task_cpu(): of a task that is queued nowhere, or on its way between two runqueues.
fn set_task_cpu<'a, H: Hooks>(machine: &Machine<'a, H>, p: &'a TaskStruct<'a, H>, new_cpu: u32) {
    let state = p.__state.load(Ordering::Relaxed);
    let on_rq = p.on_rq.load(Ordering::Relaxed);
    WARN_ON_ONCE!(&machine.hooks, state != TASK_RUNNING && state != TASK_WAKING && on_rq == 0);
    WARN_ON_ONCE!(&machine.hooks, state == TASK_RUNNING && on_rq != 0 && !task_on_rq_migrating(p));

    if task_cpu(p) != new_cpu {
        migrate_task_rq_fair(p);
        p.se.nr_migrations.set(p.se.nr_migrations.get() + 1);
    }

    __set_task_cpu(machine, p, new_cpu);
}

/// move_queued_task(): a task that is queued, and does not run, goes to another CPU. The clock of its own is updated
/// first, as all callers do. False, and nothing done, if it is not in such a state (any more), is parked, or is there.
pub fn move_queued_task<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    new_cpu: u32,
) -> bool {
    let _pi = p.pi_lock.lock();
    machine.hooks.operation();
    {
        let (rq, _guard) = __task_rq_lock(machine, p);
        if !task_on_rq_queued(p) || task_on_cpu(p) || p.throttled.get() || rq.cpu == new_cpu {
            return false;
        }
        update_rq_clock(rq);
        deactivate_task(rq, p, QueueFlags::DEQUEUE_NOCLOCK);
        set_task_cpu(machine, p, new_cpu);
    }

    let rq = machine.cpu_rq(new_cpu);
    let _guard = rq_lock(rq);
    activate_task(rq, p, QueueFlags::empty());
    wakeup_preempt(rq, p, WakeFlags::empty());
    true
}

// ---- schedule ------------------------------------------------------------------------------------------------------

/// set_current_state() and set_special_state() of the running task of `rq`.
pub fn set_current_state<H: Hooks>(rq: &Rq<'_, H>, state: u32) {
    rq.curr().__state.store(state, Ordering::SeqCst);
}

/// pick_next_task(), with __pick_next_task(): all that is not idle is fair here.
fn pick_next_task<'a, H: Hooks>(rq: &'a Rq<'a, H>) -> &'a TaskStruct<'a, H> {
    let p = pick_task_fair(rq).unwrap_or(&rq.idle_task);
    let p = rq.hooks().picked(rq, p);
    put_prev_set_next_task(rq, rq.donor(), p);
    p
}

/// put_prev_set_next_task().
pub fn put_prev_set_next_task<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    prev: &'a TaskStruct<'a, H>,
    next: &'a TaskStruct<'a, H>,
) {
    WARN_ON_ONCE!(rq.hooks(), !ptr::eq(rq.donor(), prev));

    if ptr::eq(next, prev) {
        return;
    }

    match prev.sched_class.get() {
        SchedClass::Fair => put_prev_task_fair(rq, prev, Some(next)),
        SchedClass::Idle => update_curr_idle(rq),
    }
    match next.sched_class.get() {
        SchedClass::Fair => set_next_task_fair(rq, next, true),
        SchedClass::Idle => set_next_task_idle(rq, next),
    }
}

/// set_next_task_idle().
fn set_next_task_idle<'a, H: Hooks>(rq: &Rq<'a, H>, next: &TaskStruct<'a, H>) {
    next.se.exec_start.set(rq_clock_task(rq));

    museum!(rq.machine, K01 => { return });
    update_idle_rq_clock_pelt(rq);
}

/// update_curr_idle(): how long it idled.
fn update_curr_idle<H: Hooks>(rq: &Rq<'_, H>) {
    let se = &rq.idle_task.se;
    let now = rq_clock_task(rq);

    if (now.wrapping_sub(se.exec_start.get()) as i64) > 0 {
        se.exec_start.set(now);
    }
}

/// __schedule(): lets the running task block if its state says so, picks, and switches. Returns what runs now.
pub fn __schedule<'a, H: Hooks>(rq: &'a Rq<'a, H>) -> &'a TaskStruct<'a, H> {
    let guard = rq_lock(rq);
    let prev = rq.curr();
    rq.hooks().operation();
    rq.count(Counter::Schedule);

    hrtick_schedule_enter(rq);

    // Promote REQ to ACT.
    let flags = rq.clock_update_flags.get().bits() << 1;
    rq.clock_update_flags.set(RqClockFlags::from_bits_retain(flags));
    update_rq_clock(rq);
    rq.clock_update_flags.set(RqClockFlags::RQCF_UPDATED);
    museum!(rq.machine, K03 => {
        rq.clock_update_flags.set(RqClockFlags::from_bits_retain(flags));
    });

    let prev_state = prev.__state.load(Ordering::Acquire);
    if prev_state != TASK_RUNNING {
        try_to_block_task(rq, prev, prev_state);
    }

    let next = pick_next_task(rq);
    rq.next_class.set(next.sched_class.get());
    museum!(rq.machine, S22 => {
        if is_idle_task(prev) && is_idle_task(next) {
            rq.next_class.set(SchedClass::Fair);
        }
    });
    clear_tsk_need_resched(prev);

    if !ptr::eq(prev, next) {
        rq.nr_switches.set(rq.nr_switches.get().wrapping_add(1));
        rq.count(Counter::ContextSwitch);
        if prev_state == TASK_RUNNING && !is_idle_task(prev) {
            rq.count(Counter::Preemption);
        }
        context_switch(rq, prev, next, prev_state, guard);
    } else {
        hrtick_schedule_exit(rq);
    }
    next
}

/// context_switch(): next runs; prev may be woken elsewhere from the last store on.
#[inline(always)]
fn context_switch<'a, H: Hooks>(
    rq: &Rq<'a, H>,
    prev: &'a TaskStruct<'a, H>,
    next: &'a TaskStruct<'a, H>,
    prev_state: u32,
    guard: RawSpinlockGuard<'_>,
) {
    rq.set_curr(next);
    // prepare_task()
    next.on_cpu.store(1, Ordering::Relaxed);
    // finish_task(): pairs with the wait in try_to_wake_up().
    prev.on_cpu.store(0, Ordering::Release);
    // finish_lock_switch()
    hrtick_schedule_exit(rq);
    drop(guard);

    if prev_state == TASK_DEAD {
        task_dead_fair(prev);
    }
}

/// sched_tick(): the timer interrupt. A lazy request has waited long enough.
pub fn sched_tick<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let _guard = rq_lock(rq);
    let donor = rq.donor();
    rq.hooks().operation();

    update_rq_clock(rq);

    let flags = Tif::from_bits_retain(rq.curr().thread_info_flags.load(Ordering::Relaxed));
    if flags.contains(Tif::NEED_RESCHED_LAZY) {
        resched_curr(rq);
    }

    match donor.sched_class.get() {
        SchedClass::Fair => task_tick_fair(rq, donor, false),
        SchedClass::Idle => update_curr_idle(rq),
    }
}

/// The running class's update_curr method, with the clock brought up to date.
pub fn update_curr<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let _guard = rq_lock(rq);
    rq.hooks().operation();

    update_rq_clock(rq);
    match rq.donor().sched_class.get() {
        SchedClass::Fair => update_curr_fair(rq, Site::UpdateCurrFair),
        SchedClass::Idle => update_curr_idle(rq),
    }
}

/// sched_balance_update_blocked_averages(): the load of what sleeps decays.
pub fn sched_balance_update_blocked_averages<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let _guard = rq_lock(rq);
    rq.hooks().operation();

    update_rq_clock(rq);
    __update_blocked_fair(rq);
}

/// wait_task_inactive(), as far as it completes the dequeue of a delayed task.
pub fn wait_task_inactive<'a, H: Hooks>(machine: &Machine<'a, H>, p: &'a TaskStruct<'a, H>) {
    let _pi = p.pi_lock.lock();
    let (rq, _guard) = __task_rq_lock(machine, p);
    machine.hooks.operation();

    museum!(machine, D11 => { return });
    if p.se.sched_delayed.get() {
        dequeue_task(rq, p, QueueFlags::DEQUEUE_SLEEP | QueueFlags::DEQUEUE_DELAYED);
    }
}

// ---- changes -------------------------------------------------------------------------------------------------------

/// __task_rq_lock(): the lock of the runqueue that `p` is on, which may change until it is held.
pub(crate) fn __task_rq_lock<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &TaskStruct<'a, H>,
) -> (&'a Rq<'a, H>, RawSpinlockGuard<'a>) {
    loop {
        let rq = task_rq(machine, p);
        let guard = rq_lock(rq);
        if ptr::eq(rq, task_rq(machine, p)) && !task_on_rq_migrating(p) {
            return (rq, guard);
        }
        drop(guard);
        core::hint::spin_loop();
    }
}

/// struct sched_change_ctx.
pub(crate) struct SchedChangeCtx<'a, H: Hooks + 'a> {
    p: &'a TaskStruct<'a, H>,
    prio: i32,
    flags: QueueFlags,
    queued: bool,
    running: bool,
}

/// sched_change_begin(): takes `p` out of its queue, and off its CPU, for a change.
fn sched_change_begin<'a, H: Hooks>(
    rq: &'a Rq<'a, H>,
    p: &'a TaskStruct<'a, H>,
    flags: QueueFlags,
) -> SchedChangeCtx<'a, H> {
    let mut flags = flags;

    WARN_ON_ONCE!(rq.hooks(), flags.bits() & 0xFFFF_0000 != 0);

    if !flags.contains(QueueFlags::DEQUEUE_NOCLOCK) {
        update_rq_clock(rq);
        flags |= QueueFlags::DEQUEUE_NOCLOCK;
    }

    let ctx = SchedChangeCtx {
        p,
        prio: p.prio.get(),
        flags,
        queued: task_on_rq_queued(p),
        running: task_current_donor(rq, p),
    };

    if ctx.queued {
        dequeue_task(rq, p, flags);
    }
    if ctx.running {
        // put_prev_task()
        put_prev_task_fair(rq, p, None);
    }

    ctx
}

/// sched_change_end(): puts it back as it was.
fn sched_change_end<'a, H: Hooks>(rq: &'a Rq<'a, H>, ctx: &SchedChangeCtx<'a, H>) {
    let p = ctx.p;

    if ctx.queued {
        enqueue_task(rq, p, ctx.flags);
    }
    if ctx.running {
        // set_next_task()
        set_next_task_fair(rq, p, false);
    }

    prio_changed_fair(rq, p, ctx.prio);
}

/// normal_prio(), with __normal_prio(): of the fair class it is the nice value's.
fn normal_prio<H: Hooks>(p: &TaskStruct<'_, H>) -> i32 {
    p.static_prio.get()
}

/// set_user_nice(): `nice` of -20 to 19. Nothing happens, not even to the clock, if that is what it has.
pub fn set_user_nice<'a, H: Hooks>(machine: &Machine<'a, H>, p: &'a TaskStruct<'a, H>, nice: i32) {
    // Before the first look: C reads the old value without a lock.
    let _pi = p.pi_lock.lock();
    if task_nice(p) == nice || !(-20..=19).contains(&nice) {
        return;
    }
    let (rq, _guard) = __task_rq_lock(machine, p);
    machine.hooks.operation();

    let ctx = sched_change_begin(rq, p, QueueFlags::DEQUEUE_SAVE);
    p.static_prio.set(nice_to_prio(nice));
    set_load_weight(machine, p, true);
    // effective_prio()
    p.normal_prio.set(normal_prio(p));
    p.prio.set(p.normal_prio.get());
    sched_change_end(rq, &ctx);
}

/// sched_setattr() within the fair class, by way of __sched_setscheduler(); also when nothing changes.
pub fn sched_setattr<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
    attr: &SchedAttr,
) {
    let _pi = p.pi_lock.lock();
    let (rq, _guard) = __task_rq_lock(machine, p);
    machine.hooks.operation();
    update_rq_clock(rq);

    let oldprio = p.prio.get();
    museum!(machine, K03B => { update_rq_clock(rq) });
    let mut ctx = sched_change_begin(rq, p, QueueFlags::DEQUEUE_SAVE | QueueFlags::DEQUEUE_NOCLOCK);

    // __setscheduler_params()
    p.policy.set(attr.sched_policy);
    __setparam_fair(machine, p, attr);
    p.normal_prio.set(normal_prio(p));
    set_load_weight(machine, p, true);
    p.prio.set(p.normal_prio.get());

    if ctx.queued && oldprio < p.prio.get() {
        ctx.flags |= QueueFlags::ENQUEUE_HEAD;
    }
    sched_change_end(rq, &ctx);
}

/// sched_move_task(): to another group, as a cgroup attach does it; also to the one it is in.
pub fn sched_move_task<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    tsk: &'a TaskStruct<'a, H>,
    tg: &'a TaskGroup<'a, H>,
) {
    let _pi = tsk.pi_lock.lock();
    let (rq, _guard) = __task_rq_lock(machine, tsk);
    machine.hooks.operation();

    let ctx = sched_change_begin(rq, tsk, QueueFlags::DEQUEUE_SAVE | QueueFlags::DEQUEUE_MOVE);
    // sched_change_group()
    tsk.sched_task_group.set(Some(tg));
    task_change_group_fair(tsk);
    sched_change_end(rq, &ctx);

    museum!(machine, C10 => { if !ctx.running { return } });
    if ctx.running {
        resched_curr(rq);
    } else if ctx.queued {
        wakeup_preempt(rq, tsk, WakeFlags::empty());
    }
}

/// task_work_run() of the running task, as far as it parks itself because a quota is used up: on the way to user mode.
/// True if it did; the next thing to happen on this CPU is a schedule then.
pub fn task_work_run<'a, H: Hooks>(rq: &'a Rq<'a, H>) -> bool {
    let p = rq.curr();

    while p.sched_throttle_work.load(Ordering::Relaxed) {
        rq.hooks().operation();
        if throttle_cfs_rq_work(rq.machine, p) {
            return true;
        }
    }
    false
}

/// sched_yield(), without the schedule that follows. Not on an idle CPU.
pub fn do_sched_yield<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    let _guard = rq_lock(rq);
    rq.hooks().operation();

    yield_task_fair(rq);
}

/// yield_to(), without the schedule that follows: `p` is queued on the same CPU. False: nobody yielded.
pub fn yield_to<'a, H: Hooks>(rq: &'a Rq<'a, H>, p: &'a TaskStruct<'a, H>) -> bool {
    let _pi = p.pi_lock.lock();
    let _guard = double_rq_lock(rq, task_rq(rq.machine, p));
    rq.hooks().operation();

    yield_to_task_fair(rq, p)
}
