// SPDX-License-Identifier: GPL-2.0-only
//! The SCHED_FEAT table, with the names that `/sys/kernel/debug/sched/features` shows.
//!
//! Features are run-time bits of a [`Machine`](crate::sched::Machine), so that two machines with other features can
//! run side by side.

use bitflags::bitflags;

bitflags! {
    /// A set of scheduler features: a bit that is set is `NAME`, one that is not is `NO_NAME`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct SchedFeat: u32 {
        /// A task that was away comes back with the lag it left with.
        const PLACE_LAG = 1 << 0;
        /// A new task gets half a request only.
        const PLACE_DEADLINE_INITIAL = 1 << 1;
        /// A move keeps the distance between vruntime and deadline.
        const PLACE_REL_DEADLINE = 1 << 2;
        /// The running task is protected until its request, or the shortest queued one, is done.
        const RUN_TO_PARITY = 1 << 3;
        /// A wakeup with a shorter slice cancels that protection.
        const PREEMPT_SHORT = 1 << 4;
        /// The task woken last is preferred.
        const NEXT_BUDDY = 1 << 5;
        /// The pick honours the buddy.
        const PICK_BUDDY = 1 << 6;
        /// Buddies count as cache hot (balancing; not modelled).
        const CACHE_HOT_BUDDY = 1 << 7;
        /// A sleeper with negative lag stays queued until that is gone.
        const DELAY_DEQUEUE = 1 << 8;
        /// Such a sleeper never leaves with positive lag.
        const DELAY_ZERO = 1 << 9;
        /// sum_w_vruntime is watched for overflow, at the price of weight bits.
        const PARANOID_AVG = 1 << 10;
        /// Wakeups may preempt.
        const WAKEUP_PREEMPTION = 1 << 11;
        /// A precise timer ends a request (off by default; OPS.md).
        const HRTICK = 1 << 12;
        /// The same for the deadline class (not modelled).
        const HRTICK_DL = 1 << 13;
        /// Capacity is lowered by irq and steal time (not modelled).
        const NONTASK_CAPACITY = 1 << 14;
        /// Remote wakeups are queued (plays no part here).
        const TTWU_QUEUE = 1 << 15;
        /// The idle search is limited by utilisation (not modelled).
        const SIS_UTIL = 1 << 16;
        /// Warn about two clock updates in one section.
        const WARN_DOUBLE_CLOCK = 1 << 17;
        /// Real-time push by IPI (not modelled).
        const RT_PUSH_IPI = 1 << 18;
        /// Real-time runtime is shared (not modelled).
        const RT_RUNTIME_SHARE = 1 << 19;
        /// Balancing skips small loads (not modelled).
        const LB_MIN = 1 << 20;
        /// The load of an attaching task is aged first.
        const ATTACH_AGE_LOAD = 1 << 21;
        /// wake_affine() looks at idle CPUs (not modelled).
        const WA_IDLE = 1 << 22;
        /// wake_affine() looks at load (not modelled).
        const WA_WEIGHT = 1 << 23;
        /// wake_affine() is biased (not modelled).
        const WA_BIAS = 1 << 24;
        /// Utilisation is estimated at dequeue.
        const UTIL_EST = 1 << 25;
        /// Warn about a late reschedule (not modelled).
        const LATENCY_WARN = 1 << 26;
        /// newidle balancing is randomised (not modelled).
        const NI_RANDOM = 1 << 27;
        /// newidle balancing is rate limited (not modelled).
        const NI_RATE = 1 << 28;
    }
}

impl SchedFeat {
    /// The defaults of v7.3, with HRTICK off and TTWU_QUEUE off as the operation language has it.
    pub const DEFAULT: SchedFeat = SchedFeat::PLACE_LAG
        .union(SchedFeat::PLACE_DEADLINE_INITIAL)
        .union(SchedFeat::PLACE_REL_DEADLINE)
        .union(SchedFeat::RUN_TO_PARITY)
        .union(SchedFeat::PREEMPT_SHORT)
        .union(SchedFeat::PICK_BUDDY)
        .union(SchedFeat::CACHE_HOT_BUDDY)
        .union(SchedFeat::DELAY_DEQUEUE)
        .union(SchedFeat::DELAY_ZERO)
        .union(SchedFeat::WAKEUP_PREEMPTION)
        .union(SchedFeat::NONTASK_CAPACITY)
        .union(SchedFeat::SIS_UTIL)
        .union(SchedFeat::ATTACH_AGE_LOAD)
        .union(SchedFeat::WA_IDLE)
        .union(SchedFeat::WA_WEIGHT)
        .union(SchedFeat::WA_BIAS)
        .union(SchedFeat::UTIL_EST)
        .union(SchedFeat::NI_RANDOM)
        .union(SchedFeat::NI_RATE);

    /// Applies a change as debugfs takes it: `NAME` sets the bit, `NO_NAME` clears it.
    ///
    /// None if there is no such feature.
    ///
    /// ```
    /// use sched_core::features::SchedFeat;
    /// let features = SchedFeat::DEFAULT.change("NO_DELAY_DEQUEUE").unwrap();
    /// assert!(!features.contains(SchedFeat::DELAY_DEQUEUE));
    /// assert!(SchedFeat::DEFAULT.change("NO_SUCH_THING").is_none());
    /// ```
    pub fn change(self, word: &str) -> Option<SchedFeat> {
        match word.strip_prefix("NO_") {
            Some(name) => Some(self.difference(SchedFeat::from_name(name)?)),
            None => Some(self.union(SchedFeat::from_name(word)?)),
        }
    }
}

impl Default for SchedFeat {
    fn default() -> Self {
        SchedFeat::DEFAULT
    }
}
