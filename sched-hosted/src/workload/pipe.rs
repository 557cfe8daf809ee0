// SPDX-License-Identifier: GPL-2.0-only
//! `pipe-handoff`: N workers, one on each CPU; a worker is a pair of tasks that hand one byte back and forth.
//!
//! Each task wakes its peer (sync) and sleeps. The CPUs are machines of their own here: they share nothing, and
//! differ in the jitter of their costs and the phase of their tick only. What the number of workers does is to set
//! the number of CPUs, and with it the base slice, as the kernel scales it.

use super::costs::Costs;
use super::ring::Ring;
use crate::ops::Header;

/// The base slice (ns) that the kernel sets on a machine of `cpus` CPUs.
pub fn base_slice_ns(cpus: u32) -> u32 {
    700_000 * (1 + cpus.clamp(1, 8).ilog2())
}

/// One of the CPUs: `machine` is what all are like, `cpus` how many there are, `index` says which one it is (and
/// which run), so that each has its own jitter.
pub fn pair(machine: &Header, cpus: u32, costs: Costs, seed: u64, index: u64) -> Ring {
    let mut header = machine.clone();
    header.cpus = 1;
    header.base_slice_ns = header.base_slice_ns.or(Some(base_slice_ns(cpus)));
    Ring::new(header, 2, 1, costs, seed, index)
}

#[cfg(test)]
mod tests {
    use super::base_slice_ns;

    #[test]
    fn the_base_slice_grows_with_the_logarithm_of_the_cpus() {
        assert_eq!(
            [1, 2, 3, 4, 8, 15, 512].map(base_slice_ns),
            [700_000, 1_400_000, 1_400_000, 2_100_000, 2_800_000, 2_800_000, 2_800_000]
        );
    }
}
