// SPDX-License-Identifier: GPL-2.0-only
//! Random numbers: one stream for each purpose, so that a change to one use leaves all others as they were.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream of random numbers is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// How much the cost of a step varies.
    Jitter = 1,
    /// When the tick of a CPU falls.
    TickPhase = 2,
    /// The seeds of the random operations' episodes.
    Episodes = 3,
    /// What the machines of those episodes are like.
    Machines = 4,
    /// What the runs of `fairlab check` are like.
    Worlds = 5,
}

/// A stream of random numbers.
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `seed` for `purpose`, and for `index` where there are several of a kind (CPUs, runs).
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        // The constants are odd, so that different triples give different seeds; the generator mixes them.
        let mixed = seed
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add((purpose as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9))
            .wrapping_add(index.wrapping_mul(0x94d0_49bb_1331_11eb));
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// `ns`, more or less: evenly spread over `permille` thousandths of it to either side.
    pub fn around(&mut self, ns: u64, permille: u64) -> u64 {
        let reach = (u128::from(ns) * u128::from(permille.min(1000)) / 1000) as u64;
        if reach == 0 {
            return ns;
        }
        (ns - reach).saturating_add(self.below(2 * reach + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_purpose_and_index() {
        let first = |purpose, index| Stream::new(7, purpose, index).next_u64();
        assert_ne!(first(Purpose::Jitter, 0), first(Purpose::TickPhase, 0));
        assert_ne!(first(Purpose::Jitter, 0), first(Purpose::Jitter, 1));
        assert_eq!(first(Purpose::Jitter, 3), first(Purpose::Jitter, 3));
    }

    #[test]
    fn around_stays_within_its_reach_and_uses_all_of_it() {
        let mut stream = Stream::new(1, Purpose::Jitter, 0);
        let drawn: Vec<u64> = (0..10_000).map(|_| stream.around(1000, 10)).collect();
        assert_eq!(drawn.iter().min(), Some(&990));
        assert_eq!(drawn.iter().max(), Some(&1010));
        assert_eq!(stream.around(1000, 0), 1000);
        assert_eq!(stream.around(0, 500), 0);
    }
}
