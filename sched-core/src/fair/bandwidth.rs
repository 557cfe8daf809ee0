// SPDX-License-Identifier: GPL-2.0-only
//! Bandwidth control: a group may run for `quota` in each `period`, all CPUs together.
//!
//! The group has a pool of runtime, which a period timer fills up. A queue takes slices from it as it runs; when there
//! is none left the queue, and all below it, is throttled. Throttling does not take tasks off the CPU at once: each
//! parks itself, by a task work, when it is about to return to user mode, in the limbo list of its queue; a task that
//! is enqueued meanwhile goes there directly. When runtime is there again the parked tasks are enqueued.

use super::dequeue::dequeue_task_fair;
use super::enqueue::{enqueue_task_fair, start_pelt_clock};
use super::group::{
    assert_list_leaf_cfs_rq, cfs_rq_is_decayed, list_add_leaf_cfs_rq, list_del_leaf_cfs_rq,
};
use super::load_avg::detach_entity_cfs_rq;
use super::update_curr::update_curr;
use crate::core::{__task_rq_lock, resched_curr, update_rq_clock};
use crate::list::{List, ThrottledNode};
use crate::pelt::rq_clock_pelt;
use crate::sched::*;
use crate::sync::{Ordering, RawSpinlock};
use crate::trace::{Hooks, Site};
use crate::{WARN_ON_ONCE, museum};
use core::cell::Cell;
use core::ptr;

/// RUNTIME_INF: no quota.
pub const RUNTIME_INF: u64 = u64::MAX;
/// max_bw_quota_period_us.
pub const MAX_BW_QUOTA_PERIOD_US: u64 = 1_000_000;
/// sysctl_sched_cfs_bandwidth_slice: what a queue takes from the pool at a time, ns.
const SCHED_CFS_BANDWIDTH_SLICE: u64 = 5 * NSEC_PER_MSEC;
/// A queue keeps so much when it gives back, ns.
const MIN_CFS_RQ_RUNTIME: i64 = NSEC_PER_MSEC as i64;
/// So near to the end of a period nothing is given out again, ns.
const MIN_BANDWIDTH_EXPIRATION: u64 = 2 * NSEC_PER_MSEC;
/// So long what comes back is gathered before it is given out, ns.
const CFS_BANDWIDTH_SLACK_PERIOD: u64 = 5 * NSEC_PER_MSEC;
/// default_bw_period_us(), in ns.
const DEFAULT_BW_PERIOD: u64 = 100 * NSEC_PER_MSEC;

/// struct hrtimer, as far as bandwidth needs it: the host runs those that are due ([`run_hrtimers`]).
#[derive(Default)]
pub struct Hrtimer {
    /// When, ns; also the base that a periodic timer counts from.
    pub expires: Cell<u64>,
    /// Armed, as the how manieth.
    pub armed: Cell<Option<u64>>,
}

impl Hrtimer {
    /// hrtimer_start_expires(): at the time it has.
    fn start_expires<H: Hooks>(&self, machine: &Machine<'_, H>) {
        self.armed.set(Some(machine.next_timer()));
    }

    /// hrtimer_forward_now(): to the next multiple of `interval` that is still to come; how many were passed.
    fn forward_now<H: Hooks>(&self, machine: &Machine<'_, H>, interval: u64) -> u64 {
        let now = machine.sched_clock_cpu();
        let delta = now.wrapping_sub(self.expires.get()) as i64;
        if delta < 0 {
            return 0;
        }
        let mut orun = 1;
        if delta as u64 >= interval {
            orun = delta as u64 / interval;
            self.expires.set(self.expires.get() + interval * orun);
            if self.expires.get() > now {
                return orun;
            }
            orun += 1;
        }
        self.expires.set(self.expires.get() + interval);
        orun
    }
}

/// struct cfs_bandwidth.
pub struct CfsBandwidth<'a, H: Hooks + 'a> {
    /// Held for all below but the timers' own fields.
    pub lock: RawSpinlock,
    /// ns.
    pub period: Cell<u64>,
    /// ns a period; all ones: none.
    pub quota: Cell<u64>,
    /// What is left in the pool, ns.
    pub runtime: Cell<u64>,
    /// How much more than the quota may be saved up, ns.
    pub burst: Cell<u64>,
    /// `runtime` after the last fill, ns.
    pub runtime_snap: Cell<u64>,
    /// Nothing was taken in this period so far.
    pub idle: Cell<bool>,
    /// The period timer runs.
    pub period_active: Cell<bool>,
    /// The slack timer runs.
    pub slack_started: Cell<bool>,
    /// Fills the pool.
    pub period_timer: Hrtimer,
    /// Gives out what came back.
    pub slack_timer: Hrtimer,
    /// The queues that wait for runtime.
    pub throttled_cfs_rq: List<ThrottledNode<'a, H>>,
    /// Periods so far.
    pub nr_periods: Cell<u64>,
    /// Those of them in which something was throttled.
    pub nr_throttled: Cell<u64>,
    /// How often more than the quota was used.
    pub nr_burst: Cell<u64>,
    /// For how long queues were throttled, ns.
    pub throttled_time: Cell<u64>,
    /// By how much more, ns.
    pub burst_time: Cell<u64>,
}

impl<'a, H: Hooks + 'a> CfsBandwidth<'a, H> {
    /// init_cfs_bandwidth(): no quota.
    pub fn new() -> Self {
        CfsBandwidth {
            lock: RawSpinlock::new(),
            period: Cell::new(DEFAULT_BW_PERIOD),
            quota: Cell::new(RUNTIME_INF),
            runtime: Cell::new(0),
            burst: Cell::new(0),
            runtime_snap: Cell::new(0),
            idle: Cell::new(false),
            period_active: Cell::new(false),
            slack_started: Cell::new(false),
            period_timer: Hrtimer::default(),
            slack_timer: Hrtimer::default(),
            throttled_cfs_rq: List::new(),
            nr_periods: Cell::new(0),
            nr_throttled: Cell::new(0),
            nr_burst: Cell::new(0),
            throttled_time: Cell::new(0),
            burst_time: Cell::new(0),
        }
    }
}

impl<'a, H: Hooks + 'a> Default for CfsBandwidth<'a, H> {
    fn default() -> Self {
        Self::new()
    }
}

/// tg_cfs_bandwidth(), of a queue that has a quota.
fn cfs_b_of<'a, H: Hooks>(cfs_rq: &CfsRq<'a, H>) -> &'a CfsBandwidth<'a, H> {
    match cfs_rq.tg.get() {
        Some(tg) => &tg.cfs_bandwidth,
        None => crate::bug::bug("cfs_rq->tg is not set"),
    }
}

// ---- using it up ---------------------------------------------------------------------------------------------------

/// __refill_cfs_bandwidth_runtime(): adds a quota to the pool, up to quota + burst. cfs_b->lock is held.
fn __refill_cfs_bandwidth_runtime<H: Hooks>(cfs_b: &CfsBandwidth<'_, H>) {
    if cfs_b.quota.get() == RUNTIME_INF {
        return;
    }

    cfs_b.runtime.set(cfs_b.runtime.get().wrapping_add(cfs_b.quota.get()));
    let runtime = cfs_b.runtime_snap.get().wrapping_sub(cfs_b.runtime.get()) as i64;
    if runtime > 0 {
        cfs_b.burst_time.set(cfs_b.burst_time.get().wrapping_add(runtime as u64));
        cfs_b.nr_burst.set(cfs_b.nr_burst.get() + 1);
    }

    cfs_b.runtime.set(cfs_b.runtime.get().min(cfs_b.quota.get().wrapping_add(cfs_b.burst.get())));
    cfs_b.runtime_snap.set(cfs_b.runtime.get());
}

/// __assign_cfs_rq_runtime(): takes from the pool what a queue overdrew and `target_runtime` ns more, or what there
/// is; true if the queue has some then. cfs_b->lock is held.
fn __assign_cfs_rq_runtime<'a, H: Hooks>(
    cfs_b: &CfsBandwidth<'a, H>,
    cfs_rq: &CfsRq<'a, H>,
    target_runtime: u64,
) -> bool {
    let mut amount = 0;

    // Positive: nothing remains.
    let min_amount = target_runtime.wrapping_sub(cfs_rq.runtime_remaining.get() as u64);

    if cfs_b.quota.get() == RUNTIME_INF {
        amount = min_amount;
    } else {
        start_cfs_bandwidth(rq_of(cfs_rq).machine, cfs_b);

        if cfs_b.runtime.get() > 0 {
            amount = cfs_b.runtime.get().min(min_amount);
            cfs_b.runtime.set(cfs_b.runtime.get() - amount);
            cfs_b.idle.set(false);
        }
    }

    cfs_rq.runtime_remaining.set(cfs_rq.runtime_remaining.get().wrapping_add(amount as i64));

    cfs_rq.runtime_remaining.get() > 0
}

/// __account_cfs_rq_runtime(): true if the queue is throttled.
#[cold]
fn __account_cfs_rq_runtime<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, delta_exec: u64) -> bool {
    cfs_rq.runtime_remaining.set(cfs_rq.runtime_remaining.get().wrapping_sub(delta_exec as i64));

    museum!(rq_of(cfs_rq).machine, B08 => {
        if cfs_rq.runtime_remaining.get() == 0 { return false }
    });
    if cfs_rq.runtime_remaining.get() > 0 {
        return false;
    }

    museum!(rq_of(cfs_rq).machine, B15 => {
        if cfs_rq.throttled.get() {
            let cfs_b = cfs_b_of(cfs_rq);
            let _guard = cfs_b.lock.lock();
            __assign_cfs_rq_runtime(cfs_b, cfs_rq, SCHED_CFS_BANDWIDTH_SLICE);
            return true;
        }
    });
    if cfs_rq.throttled.get() {
        return true;
    }
    throttle_cfs_rq(cfs_rq)
}

/// account_cfs_rq_runtime(): a queue used `delta_exec` ns; true if it is throttled.
#[inline(always)]
pub fn account_cfs_rq_runtime<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>, delta_exec: u64) -> bool {
    if !cfs_rq.runtime_enabled.get() {
        return false;
    }

    __account_cfs_rq_runtime(cfs_rq, delta_exec)
}

/// throttled_hierarchy(): the queue or one above it is throttled.
#[inline(always)]
pub fn throttled_hierarchy<H: Hooks>(cfs_rq: &CfsRq<'_, H>) -> bool {
    cfs_rq.throttle_count.get() != 0
}

/// task_is_throttled(): it is parked.
#[inline(always)]
pub fn task_is_throttled<H: Hooks>(p: &TaskStruct<'_, H>) -> bool {
    p.throttled.get()
}

// ---- parking tasks -------------------------------------------------------------------------------------------------

/// throttle_cfs_rq_work(): the running task `p`, about to return to user mode, parks itself if its queue is throttled
/// still; true if it did. Its own dequeue may throttle another level and so leave new work: that is for the next time
/// it runs.
pub fn throttle_cfs_rq_work<'a, H: Hooks>(
    machine: &Machine<'a, H>,
    p: &'a TaskStruct<'a, H>,
) -> bool {
    let _pi = p.pi_lock.lock();
    let (rq, _guard) = __task_rq_lock(machine, p);
    WARN_ON_ONCE!(rq.hooks(), !ptr::eq(p, rq.curr()));
    p.sched_throttle_work.store(false, Ordering::Relaxed);

    let cfs_rq = cfs_rq_of(&p.se);

    museum!(machine, B06C => { if !cfs_rq.throttled.get() { return false } });
    // Runtime came back, or the task was moved elsewhere.
    if cfs_rq.throttle_count.get() == 0 {
        return false;
    }
    update_rq_clock(rq);
    WARN_ON_ONCE!(rq.hooks(), p.throttled.get() || p.throttle_node.is_linked());
    dequeue_task_fair(rq, p, QueueFlags::DEQUEUE_SLEEP | QueueFlags::DEQUEUE_THROTTLE);
    cfs_rq.throttled_limbo_list.list_add(p);
    // Not before: the dequeue would take it for parked.
    p.throttled.set(true);
    resched_curr(rq);
    true
}

/// dequeue_throttled_task(): a parked task is taken out for a change, or because it sleeps after all.
pub fn dequeue_throttled_task<'a, H: Hooks>(p: &'a TaskStruct<'a, H>, flags: QueueFlags) {
    let cfs_rq = cfs_rq_of(&p.se);
    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), p.se.on_rq.get());
    if p.throttle_node.is_linked() {
        cfs_rq.throttled_limbo_list.list_del_init(p);
    }

    if flags.contains(QueueFlags::DEQUEUE_SLEEP) {
        p.throttled.set(false);
        return;
    }

    // It leaves for another CPU: its load goes along.
    if task_on_rq_migrating(p) {
        detach_entity_cfs_rq(&p.se);
    }
}

/// enqueue_throttled_task(): a parked task comes back from a change: true if its queue is throttled and it is parked
/// there again. Not if it is the one that runs: then it is enqueued, and parks itself later.
pub fn enqueue_throttled_task<'a, H: Hooks>(p: &'a TaskStruct<'a, H>) -> bool {
    let cfs_rq = cfs_rq_of(&p.se);

    WARN_ON_ONCE!(rq_of(cfs_rq).hooks(), p.throttle_node.is_linked());

    museum!(rq_of(cfs_rq).machine, B11B => {
        if !task_current_donor(rq_of(cfs_rq), p) {
            cfs_rq.throttled_limbo_list.list_add(p);
            return true;
        }
    });
    if throttled_hierarchy(cfs_rq) && !task_current_donor(rq_of(cfs_rq), p) {
        cfs_rq.throttled_limbo_list.list_add(p);
        return true;
    }

    p.throttled.set(false);
    false
}

/// task_throttle_setup_work(): `p` is to park itself when it returns to user mode.
pub fn task_throttle_setup_work<H: Hooks>(p: &TaskStruct<'_, H>) {
    p.sched_throttle_work.store(true, Ordering::Relaxed);
}

/// record_throttle_clock(): from now on something is parked.
pub fn record_throttle_clock<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    let rq = rq_of(cfs_rq);

    if cfs_rq.throttled.get() && cfs_rq.throttled_clock.get() == 0 {
        cfs_rq.throttled_clock.set(rq.clock.get());
    }

    if cfs_rq.throttled_clock_self.get() == 0 {
        cfs_rq.throttled_clock_self.set(rq.clock.get());
    }
}

/// The PELT clock of a throttled queue stands: it is empty.
#[cold]
pub(super) fn stop_pelt_clock<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) {
    list_del_leaf_cfs_rq(cfs_rq);
    cfs_rq.throttled_clock_pelt.set(rq_clock_pelt(rq_of(cfs_rq)));
    cfs_rq.pelt_clock_throttled.set(true);
}

// ---- throttling queues ---------------------------------------------------------------------------------------------

/// walk_tg_tree_from(): `down` on the way down, `up` on the way up, newest sibling first.
fn walk_tg_tree_from<'a, H: Hooks>(
    from: &'a TaskGroup<'a, H>,
    down: &mut dyn FnMut(&'a TaskGroup<'a, H>),
    up: &mut dyn FnMut(&'a TaskGroup<'a, H>),
) {
    let mut parent = from;
    down(parent);
    let mut child = parent.children.first();
    loop {
        while let Some(tg) = child {
            parent = tg;
            down(parent);
            child = parent.children.first();
        }
        up(parent);
        if ptr::eq(parent, from) {
            return;
        }
        let done = parent;
        let Some(above) = done.parent.get() else { return };
        parent = above;
        child = parent.children.next(done);
    }
}

/// tg_throttle_down(): one more level of a group's path is throttled. A queue that has something left stops its PELT
/// clock when that is dequeued.
fn tg_throttle_down<'a, H: Hooks>(tg: &'a TaskGroup<'a, H>, rq: &'a Rq<'a, H>) {
    let cfs_rq = tg_cfs_rq(tg, rq.cpu);

    let count = cfs_rq.throttle_count.get();
    cfs_rq.throttle_count.set(count + 1);
    if count != 0 {
        return;
    }

    if cfs_rq.nr_queued.get() == 0 {
        stop_pelt_clock(cfs_rq);
    }

    WARN_ON_ONCE!(rq.hooks(), cfs_rq.throttled_clock_self.get() != 0);
    WARN_ON_ONCE!(rq.hooks(), !cfs_rq.throttled_limbo_list.list_empty());
}

/// tg_unthrottle_up(): one level less; if it was the last the parked tasks are enqueued.
fn tg_unthrottle_up<'a, H: Hooks>(tg: &'a TaskGroup<'a, H>, rq: &'a Rq<'a, H>) {
    let cfs_rq = tg_cfs_rq(tg, rq.cpu);

    // What runs there is charged before more is queued: or it would be throttled right again.
    update_curr(cfs_rq, Site::TgUnthrottleUp);

    cfs_rq.throttle_count.set(cfs_rq.throttle_count.get() - 1);
    if cfs_rq.throttle_count.get() != 0 {
        return;
    }

    if cfs_rq.pelt_clock_throttled.get() {
        start_pelt_clock(cfs_rq);
    }

    if cfs_rq.throttled_clock_self.get() != 0 {
        let mut delta = rq.clock.get().wrapping_sub(cfs_rq.throttled_clock_self.get());

        cfs_rq.throttled_clock_self.set(0);

        if WARN_ON_ONCE!(rq.hooks(), (delta as i64) < 0) {
            delta = 0;
        }

        cfs_rq
            .throttled_clock_self_time
            .set(cfs_rq.throttled_clock_self_time.get().wrapping_add(delta));
    }

    // On a list of their own: an enqueue may throttle a level above, and that one expects an empty limbo here.
    let throttled_tasks = cfs_rq.throttled_limbo_list.list_splice_init();
    while let Some(p) = throttled_tasks.first() {
        // Throttled again: the rest waits on.
        if cfs_rq.throttle_count.get() != 0 {
            break;
        }

        throttled_tasks.list_del_init(p);
        p.throttled.set(false);
        enqueue_task_fair(rq, p, QueueFlags::ENQUEUE_WAKEUP);
    }
    museum!(rq.machine, B11 => {
        while let Some(p) = throttled_tasks.first() {
            throttled_tasks.list_del_init(p);
        }
    });
    cfs_rq.throttled_limbo_list.list_splice(throttled_tasks);

    if !cfs_rq_is_decayed(cfs_rq) {
        list_add_leaf_cfs_rq(cfs_rq);
    }
}

/// throttle_cfs_rq(): a queue has used up what it had: tries to get more, else it is throttled, and true.
///
/// If it runs it asks for a slice; if it does not, for just enough to be picked.
fn throttle_cfs_rq<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) -> bool {
    let cfs_b = cfs_b_of(cfs_rq);
    let rq = rq_of(cfs_rq);
    let running = cfs_rq.h_curr.get().is_some_and(|curr| curr.on_rq.get());

    {
        let _guard = cfs_b.lock.lock();
        let target_runtime = if running { SCHED_CFS_BANDWIDTH_SLICE } else { 1 };

        if __assign_cfs_rq_runtime(cfs_b, cfs_rq, target_runtime) {
            return false;
        }

        cfs_b.throttled_cfs_rq.list_add_tail(cfs_rq);
    }

    if let Some(tg) = cfs_rq.tg.get() {
        walk_tg_tree_from(tg, &mut |tg| tg_throttle_down(tg, rq), &mut |_| {});
    }

    cfs_rq.throttled.set(true);
    WARN_ON_ONCE!(rq.hooks(), cfs_rq.throttled_clock.get() != 0);

    museum!(rq.machine, B06B => { return true });
    if running {
        task_throttle_setup_work(rq.donor());
    }

    true
}

/// unthrottle_cfs_rq(): a queue has runtime again. The clock is up to date.
pub fn unthrottle_cfs_rq<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) {
    let rq = rq_of(cfs_rq);
    let cfs_b = cfs_b_of(cfs_rq);

    // What runs there may have used it up meanwhile.
    update_curr(cfs_rq, Site::UnthrottleCfsRq);
    if cfs_rq.runtime_enabled.get() && cfs_rq.runtime_remaining.get() <= 0 {
        return;
    }

    cfs_rq.throttled.set(false);

    {
        let _guard = cfs_b.lock.lock();
        cfs_b.throttled_cfs_rq.list_del_init(cfs_rq);

        if cfs_rq.throttled_clock.get() != 0 {
            let time = rq.clock.get().wrapping_sub(cfs_rq.throttled_clock.get());
            cfs_b.throttled_time.set(cfs_b.throttled_time.get().wrapping_add(time));
            cfs_rq.throttled_clock.set(0);
        }
    }

    if let Some(tg) = cfs_rq.tg.get() {
        walk_tg_tree_from(tg, &mut |_| {}, &mut |tg| tg_unthrottle_up(tg, rq));
    }

    if cfs_rq.load.weight.get() == 0 {
        if !cfs_rq.on_list.get() {
            return;
        }
        // Nothing to run, but something to decay: connect the branch.
        let mut walk = cfs_rq_se(cfs_rq);
        while let Some(se) = walk {
            if list_add_leaf_cfs_rq(cfs_rq_of(se)) {
                break;
            }
            walk = parent_entity(se);
        }
    }

    assert_list_leaf_cfs_rq(rq);

    museum!(rq.machine, C10B => { return });
    if is_idle_task(rq.curr()) && rq.cfs.h_nr_queued.get() != 0 {
        resched_curr(rq);
    }
}

/// __cfsb_csd_unthrottle(): a CPU unthrottles the queues that wait for it; its lock is held.
fn __cfsb_csd_unthrottle<'a, H: Hooks>(rq: &'a Rq<'a, H>) {
    // In C this is a section of its own, in an interrupt of that CPU.
    rq_pin_lock(rq);
    update_rq_clock(rq);
    rq_clock_start_loop_update(rq);

    while let Some(cursor) = rq.cfsb_csd_list.first() {
        rq.cfsb_csd_list.list_del_init(cursor);

        if cursor.throttled.get() {
            unthrottle_cfs_rq(cursor);
        }
    }

    rq_clock_stop_loop_update(rq);
}

/// What comes after `cfs_rq` in the list of queues that wait; none also if it is not there any more.
fn next_throttled<'a, H: Hooks>(
    cfs_b: &CfsBandwidth<'a, H>,
    cfs_rq: &'a CfsRq<'a, H>,
) -> Option<&'a CfsRq<'a, H>> {
    let _guard = cfs_b.lock.lock();
    if !cfs_rq.throttled_list.is_linked() {
        return None;
    }
    cfs_b.throttled_cfs_rq.next(cfs_rq)
}

/// distribute_cfs_runtime(): gives what is in the pool to the queues that wait, in turn, each as much as it overdrew
/// and 1 ns. True if some still wait. Queues of this CPU (where the timer runs) come last; the others are unthrottled
/// by their CPU at once.
fn distribute_cfs_runtime<'a, H: Hooks>(
    cfs_b: &'a CfsBandwidth<'a, H>,
    this_rq: &'a Rq<'a, H>,
) -> bool {
    let mut throttled = false;
    let mut unthrottle_local = false;
    let mut remaining = 1;
    #[cfg(feature = "museum")]
    let mut owed = 0;

    let mut pos = {
        let _guard = cfs_b.lock.lock();
        cfs_b.throttled_cfs_rq.first()
    };
    while let Some(cfs_rq) = pos {
        let rq = rq_of(cfs_rq);

        if remaining == 0 {
            throttled = true;
            break;
        }

        let _guard = rq_lock(rq);
        pos = next_throttled(cfs_b, cfs_rq);

        if !cfs_rq.throttled.get() || cfs_rq.throttled_csd_list.is_linked() {
            continue;
        }

        if cfs_rq.h_curr.get().is_some() {
            update_rq_clock(rq);
            update_curr(cfs_rq, Site::DistributeCfsRuntime);
        }

        WARN_ON_ONCE!(rq.hooks(), cfs_rq.runtime_remaining.get() > 0);

        let runtime;
        {
            let _guard = cfs_b.lock.lock();
            let wanted = (cfs_rq.runtime_remaining.get().wrapping_neg() as u64).wrapping_add(1);
            runtime = wanted.min(cfs_b.runtime.get());
            cfs_b.runtime.set(cfs_b.runtime.get() - runtime);
            remaining = cfs_b.runtime.get();
            museum!(rq.machine, B20 => {
                owed += runtime;
                cfs_b.runtime.set(remaining + runtime);
                remaining = (remaining + runtime).saturating_sub(owed);
            });
        }

        cfs_rq.runtime_remaining.set(cfs_rq.runtime_remaining.get().wrapping_add(runtime as i64));

        if cfs_rq.runtime_remaining.get() <= 0 {
            throttled = true;
            break;
        }

        if !ptr::eq(rq, this_rq) {
            // unthrottle_cfs_rq_async(): the other CPU's interrupt comes at once.
            rq.cfsb_csd_list.list_add_tail(cfs_rq);
            __cfsb_csd_unthrottle(rq);
            // As a list under RCU is followed: from where the entry is now, or from where it was when it left.
            pos = next_throttled(cfs_b, cfs_rq).or(pos);
            continue;
        }

        unthrottle_local = rq.cfsb_csd_list.list_empty();
        rq.cfsb_csd_list.list_add_tail(cfs_rq);
    }

    if unthrottle_local {
        let _guard = rq_lock(this_rq);
        __cfsb_csd_unthrottle(this_rq);
    }

    museum!(this_rq.machine, B20 => {
        let _guard = cfs_b.lock.lock();
        cfs_b.runtime.set(cfs_b.runtime.get().saturating_sub(owed));
    });

    throttled
}

// ---- timers --------------------------------------------------------------------------------------------------------

/// do_sched_cfs_period_timer(): a period ended; true if the timer may stop. cfs_b->lock is not held.
fn do_sched_cfs_period_timer<'a, H: Hooks>(
    cfs_b: &'a CfsBandwidth<'a, H>,
    overrun: u64,
    this_rq: &'a Rq<'a, H>,
) -> bool {
    let guard = cfs_b.lock.lock();

    if cfs_b.quota.get() == RUNTIME_INF {
        return true;
    }

    let mut throttled = !cfs_b.throttled_cfs_rq.list_empty();
    cfs_b.nr_periods.set(cfs_b.nr_periods.get().wrapping_add(overrun));

    // Also when idle: a burst may be saved up.
    __refill_cfs_bandwidth_runtime(cfs_b);

    if cfs_b.idle.get() && !throttled {
        return true;
    }

    if !throttled {
        // Perhaps nothing will be taken in the period that begins.
        cfs_b.idle.set(true);
        return false;
    }

    cfs_b.nr_throttled.set(cfs_b.nr_throttled.get().wrapping_add(overrun));
    drop(guard);

    while throttled && runtime_left(cfs_b) {
        this_rq.hooks().loop_guard();
        throttled = distribute_cfs_runtime(cfs_b, this_rq);
    }
    let _guard = cfs_b.lock.lock();

    // It stays on after an unthrottle, and while a deficit is not made good.
    cfs_b.idle.set(false);

    false
}

/// Whether the pool has anything left.
fn runtime_left<H: Hooks>(cfs_b: &CfsBandwidth<'_, H>) -> bool {
    let _guard = cfs_b.lock.lock();
    cfs_b.runtime.get() > 0
}

/// sched_cfs_period_timer(): goes on, or stops if nothing happened for a whole period.
fn sched_cfs_period_timer<'a, H: Hooks>(cfs_b: &'a CfsBandwidth<'a, H>, this_rq: &'a Rq<'a, H>) {
    let mut idle = false;
    let mut count = 0;

    loop {
        let overrun = {
            let _guard = cfs_b.lock.lock();
            cfs_b.period_timer.forward_now(this_rq.machine, cfs_b.period.get())
        };
        if overrun == 0 {
            break;
        }

        idle = do_sched_cfs_period_timer(cfs_b, overrun, this_rq);

        count += 1;
        if count > 3 {
            // The timer cannot keep up: a longer period, and a quota in proportion.
            let _guard = cfs_b.lock.lock();
            let new = cfs_b.period.get() * 2;
            if new < MAX_BW_QUOTA_PERIOD_US * 1000 {
                cfs_b.period.set(new);
                cfs_b.quota.set(cfs_b.quota.get().wrapping_mul(2));
                cfs_b.burst.set(cfs_b.burst.get().wrapping_mul(2));
            }
            count = 0;
        }
    }

    let _guard = cfs_b.lock.lock();
    if idle {
        cfs_b.period_active.set(false);
    } else if cfs_b.period_timer.armed.get().is_none() {
        // HRTIMER_RESTART
        cfs_b.period_timer.start_expires(this_rq.machine);
    }
}

/// runtime_refresh_within(): the pool will be filled in less than `min_expire` ns.
fn runtime_refresh_within<H: Hooks>(
    machine: &Machine<'_, H>,
    cfs_b: &CfsBandwidth<'_, H>,
    min_expire: u64,
) -> bool {
    let remaining = cfs_b.period_timer.expires.get().wrapping_sub(machine.sched_clock_cpu()) as i64;
    remaining < min_expire as i64
}

/// start_cfs_slack_bandwidth(): what came back is given out a little later, unless the period ends soon anyway.
fn start_cfs_slack_bandwidth<H: Hooks>(machine: &Machine<'_, H>, cfs_b: &CfsBandwidth<'_, H>) {
    let min_left = CFS_BANDWIDTH_SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION;

    if runtime_refresh_within(machine, cfs_b, min_left) {
        return;
    }

    museum!(machine, B16 => { cfs_b.slack_started.set(false) });
    if cfs_b.slack_started.get() {
        return;
    }
    cfs_b.slack_started.set(true);

    cfs_b.slack_timer.expires.set(machine.sched_clock_cpu() + CFS_BANDWIDTH_SLACK_PERIOD);
    cfs_b.slack_timer.start_expires(machine);
}

/// __return_cfs_rq_runtime(): an empty queue gives back all but a little.
fn __return_cfs_rq_runtime<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    let cfs_b = cfs_b_of(cfs_rq);
    let slack_runtime = cfs_rq.runtime_remaining.get().wrapping_sub(MIN_CFS_RQ_RUNTIME);

    if slack_runtime <= 0 {
        return;
    }

    let _guard = cfs_b.lock.lock();
    if cfs_b.quota.get() != RUNTIME_INF {
        cfs_b.runtime.set(cfs_b.runtime.get().wrapping_add(slack_runtime as u64));

        // Not under rq->__lock.
        if cfs_b.runtime.get() > SCHED_CFS_BANDWIDTH_SLICE && !cfs_b.throttled_cfs_rq.list_empty() {
            start_cfs_slack_bandwidth(rq_of(cfs_rq).machine, cfs_b);
        }
    }

    // Gone even if nobody takes it: not to be tried again.
    cfs_rq.runtime_remaining.set(cfs_rq.runtime_remaining.get() - slack_runtime);
}

/// return_cfs_rq_runtime().
#[inline(always)]
pub fn return_cfs_rq_runtime<H: Hooks>(cfs_rq: &CfsRq<'_, H>) {
    if !cfs_rq.runtime_enabled.get() || cfs_rq.nr_queued.get() != 0 {
        return;
    }

    __return_cfs_rq_runtime(cfs_rq);
}

/// do_sched_cfs_slack_timer().
fn do_sched_cfs_slack_timer<'a, H: Hooks>(cfs_b: &'a CfsBandwidth<'a, H>, this_rq: &'a Rq<'a, H>) {
    {
        let _guard = cfs_b.lock.lock();

        cfs_b.slack_started.set(false);

        if runtime_refresh_within(this_rq.machine, cfs_b, MIN_BANDWIDTH_EXPIRATION) {
            return;
        }

        if cfs_b.quota.get() == RUNTIME_INF || cfs_b.runtime.get() <= SCHED_CFS_BANDWIDTH_SLICE {
            return;
        }
    }

    distribute_cfs_runtime(cfs_b, this_rq);
}

/// What is done with each group.
pub type Visit<'v, 'a, H> = &'v mut dyn FnMut(&'a TaskGroup<'a, H>);

/// Runs the bandwidth timers of `groups` that are due, on `this_rq`'s CPU, earliest first.
pub fn run_hrtimers<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    groups: &dyn Fn(Visit<'_, 'a, H>),
    this_rq: &'a Rq<'a, H>,
) {
    loop {
        // (when, armed as, whose, period timer)
        let mut due: Option<(u64, u64, &'a TaskGroup<'a, H>, bool)> = None;
        groups(&mut |tg| {
            let cfs_b = &tg.cfs_bandwidth;
            let _guard = cfs_b.lock.lock();
            for (timer, period) in [(&cfs_b.period_timer, true), (&cfs_b.slack_timer, false)] {
                let Some(armed) = timer.armed.get() else { continue };
                let key = (timer.expires.get(), armed);
                if key.0 <= machine.sched_clock_cpu() && due.is_none_or(|due| key < (due.0, due.1))
                {
                    due = Some((key.0, key.1, tg, period));
                }
            }
        });
        let Some((_, _, tg, period)) = due else { return };
        let cfs_b = &tg.cfs_bandwidth;

        machine.hooks.operation();
        let timer = if period { &cfs_b.period_timer } else { &cfs_b.slack_timer };
        {
            let _guard = cfs_b.lock.lock();
            timer.armed.set(None);
        }
        if period {
            sched_cfs_period_timer(cfs_b, this_rq);
        } else {
            do_sched_cfs_slack_timer(cfs_b, this_rq);
        }
    }
}

// ---- setting up ----------------------------------------------------------------------------------------------------

/// check_enqueue_throttle(): a queue that wakes up may have nothing left.
pub fn check_enqueue_throttle<'a, H: Hooks>(cfs_rq: &'a CfsRq<'a, H>) {
    museum!(rq_of(cfs_rq).machine, B08B => { return });
    // One that runs is looked after by update_curr().
    if !cfs_rq.runtime_enabled.get() || cfs_rq.h_curr.get().is_some() {
        return;
    }

    if cfs_rq.throttled.get() {
        return;
    }

    account_cfs_rq_runtime(cfs_rq, 0);
}

/// sync_throttle(): a new group below a throttled one is throttled, with its PELT clock standing.
pub fn sync_throttle<'a, H: Hooks>(tg: &TaskGroup<'a, H>, rq: &Rq<'a, H>) {
    let Some(parent) = tg.parent.get() else { return };

    let cfs_rq = tg_cfs_rq(tg, rq.cpu);
    let pcfs_rq = tg_cfs_rq(parent, rq.cpu);

    museum!(rq.machine, B02B => { return });
    cfs_rq.throttle_count.set(pcfs_rq.throttle_count.get());
    cfs_rq.throttled_clock_pelt.set(rq_clock_pelt(rq));

    museum!(rq.machine, B02 => { return });
    if cfs_rq.throttle_count.get() != 0 {
        cfs_rq.pelt_clock_throttled.set(true);
    }
}

/// start_cfs_bandwidth(): the period timer runs from now on, in step with its first period. cfs_b->lock is held.
fn start_cfs_bandwidth<H: Hooks>(machine: &Machine<'_, H>, cfs_b: &CfsBandwidth<'_, H>) {
    if cfs_b.period_active.get() {
        return;
    }

    cfs_b.period_active.set(true);
    cfs_b.period_timer.forward_now(machine, cfs_b.period.get());
    cfs_b.period_timer.start_expires(machine);
}

/// tg_set_cfs_bandwidth(): cpu.max: `quota_us` (none: no limit) in every `period_us`; no burst.
pub fn tg_set_cfs_bandwidth<'a, H: Hooks>(
    machine: &'a Machine<'a, H>,
    tg: &'a TaskGroup<'a, H>,
    period_us: u64,
    quota_us: Option<u64>,
) {
    let cfs_b = &tg.cfs_bandwidth;
    let quota = quota_us.map_or(RUNTIME_INF, |quota_us| quota_us.wrapping_mul(1000));
    let runtime_enabled = quota != RUNTIME_INF;

    {
        let _guard = cfs_b.lock.lock();
        cfs_b.period.set(period_us.wrapping_mul(1000));
        cfs_b.quota.set(quota);
        cfs_b.burst.set(0);

        __refill_cfs_bandwidth_runtime(cfs_b);

        if runtime_enabled {
            start_cfs_bandwidth(machine, cfs_b);
        }
    }

    for rq in machine.runqueues() {
        let cfs_rq = tg_cfs_rq(tg, rq.cpu);
        let _guard = rq_lock(rq);
        machine.hooks.operation();

        cfs_rq.runtime_enabled.set(runtime_enabled);
        cfs_rq.runtime_remaining.set(1);
        museum!(machine, B04D => { cfs_rq.runtime_remaining.set(0) });

        if cfs_rq.throttled.get() {
            update_rq_clock(rq);
            unthrottle_cfs_rq(cfs_rq);
        }
    }
}
