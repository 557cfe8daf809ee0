// SPDX-License-Identifier: GPL-2.0-only
//! Quotas: charges, pools, throttling, parked tasks and timers.

use super::levels::{DEQUEUE_SLEEP, DEQUEUE_THROTTLE, ENQUEUE_WAKEUP};
use super::model::{Model, Timer, Who};

const MS: u64 = 1_000_000;
/// What a queue that runs takes from the pool at a time, ns.
const SLICE: u64 = 5 * MS;
/// What a queue keeps when it gives back, ns.
const KEPT: i64 = MS as i64;
/// Nothing is given out so near to the end of a period, ns.
const MIN_EXPIRATION: u64 = 2 * MS;
/// What comes back is gathered for so long, ns.
const SLACK: u64 = 5 * MS;
/// The longest period, ns.
const MOST_PERIOD: u64 = 1_000 * MS;
/// No quota.
const INF: u64 = u64::MAX;

impl Timer {
    /// hrtimer_forward_now(): how many periods were passed.
    fn forward(&mut self, now: u64, interval: u64) -> u64 {
        let late = now.wrapping_sub(self.expires) as i64;
        if late < 0 {
            return 0;
        }
        // To the first multiple that is still to come.
        let passed = (late as u64).checked_div(interval).unwrap_or(0) + 1;
        self.expires = self.expires.wrapping_add(interval.wrapping_mul(passed));
        passed
    }
}

impl Model {
    // ---- using it up -----------------------------------------------------------------------------------------------

    /// update_curr() of one queue, as far as it is an account of time.
    pub fn charge(&mut self, queue: usize) {
        let Some(curr) = self.q(queue).h_curr else { return };
        let now = self.rqs[self.cpu_of(queue)].clock_task;
        let ran = now.wrapping_sub(self.e(curr).exec_start) as i64;
        if ran <= 0 {
            return;
        }
        self.em(curr).exec_start = now;
        self.account(queue, ran as u64);
    }

    /// update_curr_eevdf(): the queue that curr is on.
    pub fn charge_curr(&mut self, cpu: usize) {
        if let Some(curr) = self.rqs[cpu].cfs_curr {
            self.charge(self.tasks[curr].queue);
        }
    }

    /// update_curr_fair(): every level of what runs.
    pub fn charge_all(&mut self, cpu: usize) {
        let mut walk = self.rqs[cpu].curr.map(Who::Task);
        while let Some(who) = walk {
            self.charge(self.e(who).queue);
            walk = self.parent(who);
        }
    }

    /// account_cfs_rq_runtime(): true if the queue is throttled.
    pub fn account(&mut self, queue: usize, ran: u64) -> bool {
        if !self.q(queue).runtime_enabled {
            return false;
        }
        let q = self.qm(queue);
        q.runtime_remaining = q.runtime_remaining.wrapping_sub(ran as i64);
        if q.runtime_remaining > 0 {
            return false;
        }
        q.throttled || self.throttle(queue)
    }

    fn refill(&mut self, group: usize) {
        let tg = &mut self.groups[group];
        if tg.quota == INF {
            return;
        }
        tg.runtime = tg.runtime.wrapping_add(tg.quota);
        let over = tg.runtime_snap.wrapping_sub(tg.runtime) as i64;
        if over > 0 {
            tg.burst_time = tg.burst_time.wrapping_add(over as u64);
            tg.nr_burst += 1;
        }
        // There is no burst here.
        tg.runtime = tg.runtime.min(tg.quota);
        tg.runtime_snap = tg.runtime;
    }

    fn arm(&mut self) -> Option<u64> {
        self.timers += 1;
        Some(self.timers)
    }

    fn start_period(&mut self, group: usize) {
        if self.groups[group].period_active {
            return;
        }
        let armed = self.arm();
        let now = self.now;
        let tg = &mut self.groups[group];
        tg.period_active = true;
        tg.period_timer.forward(now, tg.period);
        tg.period_timer.armed = armed;
    }

    /// __assign_cfs_rq_runtime(): true if the queue has some then.
    fn assign(&mut self, queue: usize, target: u64) -> bool {
        let group = self.group_of(queue);
        let wanted = target.wrapping_sub(self.q(queue).runtime_remaining as u64);
        let mut amount = 0;
        if self.groups[group].quota == INF {
            amount = wanted;
        } else {
            self.start_period(group);
            let tg = &mut self.groups[group];
            if tg.runtime > 0 {
                amount = tg.runtime.min(wanted);
                tg.runtime -= amount;
                tg.pool_idle = false;
            }
        }
        let q = self.qm(queue);
        q.runtime_remaining = q.runtime_remaining.wrapping_add(amount as i64);
        q.runtime_remaining > 0
    }

    fn throttle(&mut self, queue: usize) -> bool {
        let (cpu, group) = (self.cpu_of(queue), self.group_of(queue));
        let running = self.q(queue).h_curr.is_some_and(|curr| self.e(curr).on_rq);
        if self.assign(queue, if running { SLICE } else { 1 }) {
            return false;
        }
        self.groups[group].waiting.push(queue);
        self.throttle_below(group, cpu);
        self.qm(queue).throttled = true;
        if running && let Some(curr) = self.rqs[cpu].curr {
            self.em(Who::Task(curr)).work = true;
        }
        true
    }

    /// tg_throttle_down(), of a group and all below.
    fn throttle_below(&mut self, group: usize, cpu: usize) {
        let queue = self.queue_of(group, cpu);
        let q = self.qm(queue);
        q.throttle_count += 1;
        if q.throttle_count == 1 && q.nr_queued == 0 {
            self.stop_pelt(queue);
        }
        for at in 0..self.groups[group].children.len() {
            self.throttle_below(self.groups[group].children[at], cpu);
        }
    }

    /// The PELT clock of a queue stands.
    pub fn stop_pelt(&mut self, queue: usize) {
        self.del_leaf(queue);
        let now = self.rq_pelt(self.cpu_of(queue));
        let q = self.qm(queue);
        q.throttled_clock_pelt = now;
        q.pelt_stands = true;
    }

    /// It goes on.
    pub fn start_pelt(&mut self, queue: usize) {
        let now = self.rq_pelt(self.cpu_of(queue));
        let q = self.qm(queue);
        let stood = now.wrapping_sub(q.throttled_clock_pelt);
        q.throttled_clock_pelt_time = q.throttled_clock_pelt_time.wrapping_add(stood);
        q.pelt_stands = false;
    }

    /// record_throttle_clock(): something is parked.
    pub fn record_throttle(&mut self, queue: usize) {
        let now = self.rqs[self.cpu_of(queue)].clock;
        let q = self.qm(queue);
        if q.throttled && q.throttled_clock == 0 {
            q.throttled_clock = now;
        }
        if q.throttled_clock_self == 0 {
            q.throttled_clock_self = now;
        }
    }

    /// return_cfs_rq_runtime(): an empty queue gives back all but a little.
    pub fn give_back(&mut self, queue: usize) {
        let q = self.q(queue);
        let slack = q.runtime_remaining.wrapping_sub(KEPT);
        if !q.runtime_enabled || q.nr_queued != 0 || slack <= 0 {
            return;
        }
        let group = self.group_of(queue);
        let tg = &mut self.groups[group];
        if tg.quota != INF {
            tg.runtime = tg.runtime.wrapping_add(slack as u64);
            if tg.runtime > SLICE && !tg.waiting.is_empty() {
                self.start_slack(group);
            }
        }
        self.qm(queue).runtime_remaining -= slack;
    }

    fn ends_within(&self, group: usize, span: u64) -> bool {
        let left = self.groups[group].period_timer.expires.wrapping_sub(self.now) as i64;
        left < span as i64
    }

    fn start_slack(&mut self, group: usize) {
        if self.ends_within(group, SLACK + MIN_EXPIRATION) || self.groups[group].slack_started {
            return;
        }
        let armed = self.arm();
        let tg = &mut self.groups[group];
        tg.slack_started = true;
        tg.slack_timer = Timer { expires: self.now.wrapping_add(SLACK), armed };
    }

    /// check_enqueue_throttle().
    pub fn check_enqueue(&mut self, queue: usize) {
        let q = self.q(queue);
        if q.runtime_enabled && q.h_curr.is_none() && !q.throttled {
            self.account(queue, 0);
        }
    }

    // ---- parked tasks ----------------------------------------------------------------------------------------------

    /// dequeue_throttled_task().
    pub fn dequeue_parked(&mut self, task: usize, flags: u32, migrating: bool) {
        let queue = self.tasks[task].queue;
        self.qm(queue).limbo.retain(|&other| other != task);
        if flags & DEQUEUE_SLEEP != 0 {
            self.em(Who::Task(task)).parked = false;
        } else if migrating {
            self.detach_from_queue(Who::Task(task));
        }
    }

    /// enqueue_throttled_task(): true if it is parked (again).
    pub fn enqueue_parked(&mut self, task: usize) -> bool {
        let queue = self.tasks[task].queue;
        let runs = self.rqs[self.cpu_of(queue)].curr == Some(task);
        if self.q(queue).throttle_count != 0 && !runs {
            self.qm(queue).limbo.insert(0, task);
            return true;
        }
        self.em(Who::Task(task)).parked = false;
        false
    }

    /// task_work_run(): what runs parks itself if it is to.
    pub fn user_return(&mut self, cpu: usize) {
        let Some(task) = self.rqs[cpu].curr.filter(|&task| self.tasks[task].work) else { return };
        self.em(Who::Task(task)).work = false;
        let queue = self.tasks[task].queue;
        if self.q(queue).throttle_count == 0 {
            return;
        }
        self.look(cpu);
        self.dequeue_task(task, DEQUEUE_SLEEP | DEQUEUE_THROTTLE);
        self.qm(queue).limbo.insert(0, task);
        self.em(Who::Task(task)).parked = true;
        self.rqs[cpu].resched = true;
    }

    // ---- unthrottling ----------------------------------------------------------------------------------------------

    /// unthrottle_cfs_rq().
    fn unthrottle(&mut self, queue: usize) {
        let (cpu, group) = (self.cpu_of(queue), self.group_of(queue));
        self.charge(queue);
        if self.q(queue).runtime_enabled && self.q(queue).runtime_remaining <= 0 {
            return;
        }
        let clock = self.rqs[cpu].clock;
        let q = self.qm(queue);
        q.throttled = false;
        let since = core::mem::take(&mut q.throttled_clock);
        let tg = &mut self.groups[group];
        tg.waiting.retain(|&other| other != queue);
        if since != 0 {
            tg.throttled_time = tg.throttled_time.wrapping_add(clock.wrapping_sub(since));
        }
        self.unthrottle_above(group, cpu);

        if self.q(queue).load == 0 {
            if !self.q(queue).on_list {
                return;
            }
            let mut walk = self.queue_above(queue);
            while let Some(above) = walk {
                if self.add_leaf(above) {
                    break;
                }
                walk = self.queue_above(above);
            }
        }
        if self.rqs[cpu].curr.is_none() && self.q(cpu).h_nr_queued != 0 {
            self.rqs[cpu].resched = true;
        }
    }

    /// tg_unthrottle_up(), of all below a group and then itself.
    fn unthrottle_above(&mut self, group: usize, cpu: usize) {
        for at in 0..self.groups[group].children.len() {
            self.unthrottle_above(self.groups[group].children[at], cpu);
        }
        let queue = self.queue_of(group, cpu);
        self.charge(queue);
        self.qm(queue).throttle_count -= 1;
        if self.q(queue).throttle_count != 0 {
            return;
        }
        if self.q(queue).pelt_stands {
            self.start_pelt(queue);
        }
        let clock = self.rqs[cpu].clock;
        let q = self.qm(queue);
        if q.throttled_clock_self != 0 {
            let stood = clock.wrapping_sub(core::mem::take(&mut q.throttled_clock_self));
            let stood = if (stood as i64) < 0 { 0 } else { stood };
            q.throttled_clock_self_time = q.throttled_clock_self_time.wrapping_add(stood);
        }
        let mut parked = core::mem::take(&mut q.limbo);
        while !parked.is_empty() && self.q(queue).throttle_count == 0 {
            let task = parked.remove(0);
            self.em(Who::Task(task)).parked = false;
            self.enqueue_task(task, ENQUEUE_WAKEUP);
        }
        parked.append(&mut self.qm(queue).limbo);
        self.qm(queue).limbo = parked;
        if !self.is_decayed(queue) {
            self.add_leaf(queue);
        }
    }

    /// distribute_cfs_runtime(): true if some queue still waits. The timer runs on CPU 0, whose queue comes last.
    fn distribute(&mut self, group: usize) -> bool {
        let (mut throttled, mut remaining, mut local) = (false, 1u64, None);
        let mut pos = self.groups[group].waiting.first().copied();
        while let Some(queue) = pos {
            if remaining == 0 {
                throttled = true;
                break;
            }
            let cpu = self.cpu_of(queue);
            pos = self.after_waiting(group, queue);
            if !self.q(queue).throttled || local == Some(queue) {
                continue;
            }
            if self.q(queue).h_curr.is_some() {
                self.look(cpu);
                self.charge(queue);
            }
            let wanted = (self.q(queue).runtime_remaining.wrapping_neg() as u64).wrapping_add(1);
            let tg = &mut self.groups[group];
            let amount = wanted.min(tg.runtime);
            tg.runtime -= amount;
            remaining = tg.runtime;
            let q = self.qm(queue);
            q.runtime_remaining = q.runtime_remaining.wrapping_add(amount as i64);
            if q.runtime_remaining <= 0 {
                throttled = true;
                break;
            }
            if cpu == 0 {
                local = Some(queue);
            } else {
                self.look(cpu);
                self.unthrottle(queue);
                // It may wait again by now, at the end.
                pos = self.after_waiting(group, queue).or(pos);
            }
        }
        if let Some(queue) = local {
            self.look(0);
            if self.q(queue).throttled {
                self.unthrottle(queue);
            }
        }
        throttled
    }

    /// Who waits right after `queue`; none also if that does not wait any more.
    fn after_waiting(&self, group: usize, queue: usize) -> Option<usize> {
        let waiting = &self.groups[group].waiting;
        let place = waiting.iter().position(|&other| other == queue)?;
        waiting.get(place + 1).copied()
    }

    // ---- timers ----------------------------------------------------------------------------------------------------

    /// run_hrtimers(): those that are due, earliest first.
    pub fn run_timers(&mut self) {
        loop {
            let mut due: Option<(u64, u64, usize, bool)> = None;
            for (group, tg) in self.groups.iter().enumerate() {
                for (timer, period) in [(tg.period_timer, true), (tg.slack_timer, false)] {
                    let Some(armed) = timer.armed.filter(|_| timer.expires <= self.now) else {
                        continue;
                    };
                    if due.is_none_or(|due| (timer.expires, armed) < (due.0, due.1)) {
                        due = Some((timer.expires, armed, group, period));
                    }
                }
            }
            let Some((_, _, group, period)) = due else { return };
            if period {
                self.groups[group].period_timer.armed = None;
                self.period_timer(group);
            } else {
                self.groups[group].slack_timer.armed = None;
                self.slack_timer(group);
            }
        }
    }

    fn period_timer(&mut self, group: usize) {
        let (mut idle, mut count) = (false, 0);
        loop {
            let now = self.now;
            let tg = &mut self.groups[group];
            let overrun = tg.period_timer.forward(now, tg.period);
            if overrun == 0 {
                break;
            }
            idle = self.period_ends(group, overrun);
            count += 1;
            if count > 3 {
                count = 0;
                let tg = &mut self.groups[group];
                let new = tg.period * 2;
                if new < MOST_PERIOD {
                    tg.period = new;
                    tg.quota = tg.quota.wrapping_mul(2);
                }
            }
        }
        if idle {
            self.groups[group].period_active = false;
        } else if self.groups[group].period_timer.armed.is_none() {
            let armed = self.arm();
            self.groups[group].period_timer.armed = armed;
        }
    }

    /// do_sched_cfs_period_timer(): true if the timer may stop.
    fn period_ends(&mut self, group: usize, overrun: u64) -> bool {
        if self.groups[group].quota == INF {
            return true;
        }
        let mut throttled = !self.groups[group].waiting.is_empty();
        let tg = &mut self.groups[group];
        tg.nr_periods = tg.nr_periods.wrapping_add(overrun);
        self.refill(group);
        let tg = &mut self.groups[group];
        if !throttled {
            return core::mem::replace(&mut tg.pool_idle, true);
        }
        tg.nr_throttled = tg.nr_throttled.wrapping_add(overrun);
        let mut turns = 0;
        while throttled && self.groups[group].runtime > 0 && turns < 1000 {
            throttled = self.distribute(group);
            turns += 1;
        }
        self.groups[group].pool_idle = false;
        false
    }

    /// do_sched_cfs_slack_timer().
    fn slack_timer(&mut self, group: usize) {
        self.groups[group].slack_started = false;
        if self.ends_within(group, MIN_EXPIRATION) {
            return;
        }
        let tg = &self.groups[group];
        if tg.quota != INF && tg.runtime > SLICE {
            self.distribute(group);
        }
    }

    // ---- setting up ------------------------------------------------------------------------------------------------

    /// sync_throttle(): a new group below a throttled one.
    pub fn sync_throttle(&mut self, queue: usize) {
        let Some(above) = self.queue_above(queue) else { return };
        let (count, now) = (self.q(above).throttle_count, self.rq_pelt(self.cpu_of(queue)));
        let q = self.qm(queue);
        q.throttle_count = count;
        q.throttled_clock_pelt = now;
        q.pelt_stands |= count != 0;
    }

    /// cpu.max.
    pub fn set_quota(&mut self, group: usize, period_us: u64, quota_us: Option<u64>) {
        let tg = &mut self.groups[group];
        tg.period = period_us.wrapping_mul(1000);
        tg.quota = quota_us.map_or(INF, |quota_us| quota_us.wrapping_mul(1000));
        let enabled = tg.quota != INF;
        self.refill(group);
        if enabled {
            self.start_period(group);
        }
        for cpu in 0..self.cpus {
            let queue = self.queue_of(group, cpu);
            let q = self.qm(queue);
            q.runtime_enabled = enabled;
            q.runtime_remaining = 1;
            if q.throttled {
                self.look(cpu);
                self.unthrottle(queue);
            }
        }
    }
}
