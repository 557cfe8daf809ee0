// SPDX-License-Identifier: GPL-2.0-only
//! The little statistics that a comparison needs.

use serde::Serialize;

/// The middle of some values, and how far they lie apart.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// Half the distance between the quartiles.
    pub half_iqr: f64,
}

/// The value below which the share `quantile` (0 to 1) of the sorted `values` lies, interpolated; 0 of none.
fn quantile(values: &[f64], quantile: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = quantile * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    values[below] + (values[above] - values[below]) * (at - below as f64)
}

/// The median of `values`, with its spread.
pub fn median(values: &[f64]) -> Median {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Median {
        median: quantile(&sorted, 0.5),
        half_iqr: (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / 2.0,
    }
}

/// The mean of some values, and their standard deviation.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of one value (n - 1 in its denominator); 0 of a single one.
    pub deviation: f64,
}

/// The mean of `values`, with its spread.
pub fn mean(values: &[f64]) -> Mean {
    if values.is_empty() {
        return Mean::default();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
    Mean { mean, deviation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_quartiles() {
        let odd = median(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!((odd.median, odd.half_iqr), (3.0, 1.0));
        assert_eq!(median(&[1.0, 2.0]).median, 1.5);
        assert_eq!(median(&[]).median, 0.0);
    }

    #[test]
    fn mean_and_deviation() {
        let found = mean(&[2.0, 4.0, 6.0]);
        assert_eq!((found.mean, found.deviation), (4.0, 2.0));
        assert_eq!(mean(&[3.0]).deviation, 0.0);
    }
}
