// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation measures.

use hdrhistogram::Histogram;

/// What a simulated CPU did so far.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Hand-offs done.
    pub hand_offs: u64,
    /// Virtual time since the start, ns.
    pub virtual_ns: u64,
    /// Operations carried out (`at` is not counted).
    pub ops: u64,
    /// Wakeups of a sleeping task.
    pub wakes: u64,
    /// Wakeups that found their task awake, so that nothing was to be done.
    pub wakes_awake: u64,
    /// Switches away from a task that was still runnable.
    pub preemptions: u64,
    /// Operations that the workload asked for and that were not legal.
    pub skipped: u64,
    /// The first of those that came from a file: its line and why.
    pub first_skipped: Option<String>,
    /// From each wakeup to the moment when the task ran, ns.
    pub wakeup_latency_ns: Histogram<u64>,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            hand_offs: 0,
            virtual_ns: 0,
            ops: 0,
            wakes: 0,
            wakes_awake: 0,
            preemptions: 0,
            skipped: 0,
            first_skipped: None,
            wakeup_latency_ns: Histogram::new(3).expect("3 significant digits are allowed"),
        }
    }
}

impl Stats {
    /// A woken task runs, `ns` after its wakeup.
    pub fn latency(&mut self, ns: u64) {
        // The histogram grows as needed; only a value that no memory holds buckets for is refused.
        let _ = self.wakeup_latency_ns.record(ns);
    }

    /// Adds what another CPU did in the same time: its `virtual_ns` is added too, so that hand-offs per time is a
    /// mean per CPU.
    pub fn add(&mut self, other: &Stats) {
        self.hand_offs += other.hand_offs;
        self.virtual_ns += other.virtual_ns;
        self.ops += other.ops;
        self.wakes += other.wakes;
        self.wakes_awake += other.wakes_awake;
        self.preemptions += other.preemptions;
        self.skipped += other.skipped;
        if self.first_skipped.is_none() {
            self.first_skipped.clone_from(&other.first_skipped);
        }
        self.wakeup_latency_ns += &other.wakeup_latency_ns;
    }

    /// The `percent` percentile of the wakeup latency, ns, in thousandths of a percent (99_900 is p99.9).
    pub fn latency_percentile_ns(&self, percent_milli: u32) -> u64 {
        self.wakeup_latency_ns.value_at_quantile(f64::from(percent_milli) / 100_000.0)
    }
}
