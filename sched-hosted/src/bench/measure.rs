// SPDX-License-Identifier: GPL-2.0-only
//! The sides take turns on a row; medians, ratios, and how sure they are.

use super::cycle::Player;
use super::rows::{Path, Row};
use crate::compare::spread;
use crate::ops::digest::Digester;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Cycles at the start of each turn that are not timed: the other side had the caches.
const WARM_UP: u32 = 2;
/// The fewest and the most cycles of a turn.
const CYCLES: (u32, u32) = (5, 400);

/// How a row is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How often the sides take turns.
    pub alternations: u32,
    /// About how long a turn takes.
    pub turn: Duration,
}

/// A row that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The row's name.
    pub row: String,
    /// ns per operation, each side's median over the alternations; none where the path was never met.
    pub ns: Vec<Option<f64>>,
    /// The first side against each other one: first / other.
    pub ratios: Vec<Option<Ratio>>,
    /// Each other side ended in the state of the first.
    pub same: Vec<bool>,
    /// Operations timed on the first side.
    pub ops: u64,
    /// Instructions per operation of each side that was counted.
    pub instructions: Vec<Option<f64>>,
    /// ns per operation of each side, alternation by alternation.
    pub samples: Vec<Vec<f64>>,
}

impl Measured {
    /// A row of which there are `samples` of each side; sides are the same until said otherwise.
    pub fn new(row: String, samples: Vec<Vec<f64>>, ops: u64) -> Self {
        Measured {
            row,
            ns: samples.iter().map(|samples| median(samples)).collect(),
            ratios: samples.iter().skip(1).map(|other| ratio(&samples[0], other)).collect(),
            same: vec![true; samples.len().saturating_sub(1)],
            ops,
            instructions: vec![None; samples.len()],
            samples,
        }
    }
}

/// A ratio of two sides' times.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ratio {
    /// The median over the alternations.
    pub median: f64,
    /// The ends of its interval of at least 95 %, by order statistics; the extremes if there are too few for that.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Measures `row` on `players`, which are in the same state but for what their sides do differently.
pub fn measure(row: Row, players: &mut [Player<'_>], effort: Effort) -> Measured {
    let cycles = cycles_for(row.path, players, effort.turn);
    let overhead: Vec<u64> = players.iter_mut().map(Player::overhead_ns).collect();
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); players.len()];
    let mut ops = 0;
    for alternation in 0..effort.alternations as usize {
        for at in 0..players.len() {
            // Each goes first as often as the others.
            let at = (at + alternation) % players.len();
            let (ns, timed) = turn(row.path, &mut players[at], cycles, overhead[at]);
            samples[at].extend(ns);
            ops += if at == 0 { timed } else { 0 };
        }
    }
    players.iter_mut().for_each(Player::finish);
    let digests: Vec<_> =
        players.iter().map(|player| Digester::new().digest(player.side().class())).collect();
    Measured {
        same: digests[1..].iter().map(|digest| *digest == digests[0]).collect(),
        ..Measured::new(row.to_string(), samples, ops)
    }
}

/// So many cycles that a turn takes about as long as it should; all players do some to find out.
fn cycles_for(path: Path, players: &mut [Player<'_>], turn: Duration) -> u32 {
    const TRIAL: u32 = 4;
    let mut took = Duration::ZERO;
    for player in players.iter_mut() {
        // The one place beside the timed batch that looks at a clock: it decides how often, not what is measured.
        #[allow(clippy::disallowed_methods, reason = "a bench measures cost")]
        let start = Instant::now();
        for _ in 0..TRIAL {
            player.cycle(path);
        }
        took = took.max(start.elapsed());
    }
    let each = (took / TRIAL).as_nanos().max(1);
    ((turn.as_nanos() / each) as u32).clamp(CYCLES.0, CYCLES.1)
}

/// ns per operation: the median over the cycles; and how many operations there were.
fn turn(path: Path, player: &mut Player<'_>, cycles: u32, overhead_ns: u64) -> (Option<f64>, u64) {
    for _ in 0..WARM_UP {
        player.cycle(path);
    }
    let mut each = Vec::with_capacity(cycles as usize);
    let mut ops = 0;
    for _ in 0..cycles {
        let timed = player.cycle(path);
        if timed.ops > 0 {
            each.push(timed.ns.saturating_sub(overhead_ns) as f64 / timed.ops as f64);
            ops += timed.ops;
        }
    }
    (median(&each), ops)
}

/// The median; none of none.
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| spread::median(values).median)
}

/// The ratio of two sides' samples, alternation by alternation; none without any.
fn ratio(first: &[f64], other: &[f64]) -> Option<Ratio> {
    let mut ratios: Vec<f64> = first.iter().zip(other).map(|(a, b)| a / b).collect();
    ratios.retain(|ratio| ratio.is_finite());
    ratios.sort_by(f64::total_cmp);
    let cut = cut_of(ratios.len());
    let (low, high) = (*ratios.get(cut)?, *ratios.get(ratios.len() - 1 - cut)?);
    Some(Ratio { median: median(&ratios)?, low, high })
}

/// How many values may be left out at each end so that what remains holds the median with 95 %: the number below the
/// median of `n` is binomial.
fn cut_of(n: usize) -> usize {
    let mut probability = 0.5_f64.powi(n as i32);
    let (mut tail, mut cut) = (0.0, 0);
    while cut < n / 2 {
        tail += probability;
        if 2.0 * tail > 0.05 {
            break;
        }
        probability *= (n - cut) as f64 / (cut + 1) as f64;
        cut += 1;
    }
    cut.saturating_sub(1)
}

/// The geometric mean of what is positive; none of none.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // The known orders for 95 %: 6 of 6, 2..8 of 9, 2..9 of 10, 6..15 of 20.
        assert_eq!([5, 6, 8, 9, 10, 20].map(cut_of), [0, 0, 0, 1, 1, 5]);
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let found = ratio(&values, &[1.0; 9]).unwrap();
        assert_eq!((found.low, found.median, found.high), (2.0, 5.0, 8.0));
    }

    #[test]
    fn means() {
        let mean = geometric_mean([0.5, 2.0, 4.0].into_iter()).unwrap();
        assert!((mean - 4_f64.powf(1.0 / 3.0)).abs() < 1e-12);
        assert_eq!(geometric_mean(std::iter::empty()), None);
        assert_eq!((median(&[]), ratio(&[], &[])), (None, None));
    }
}
