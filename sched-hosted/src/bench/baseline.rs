// SPDX-License-Identifier: GPL-2.0-only
//! The committed counts of instructions, and whether a row has grown since.

use super::count::Counted;
use super::setting;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A row may grow by so much, percent.
pub const GROWTH_PERCENT: u64 = 2;
/// Functions that are kept of a row: what is smaller explains nothing.
const FUNCTIONS: usize = 12;

/// Counts of instructions by row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// The compiler and profile that they hold for.
    pub compiler: String,
    /// By the row's name.
    pub rows: BTreeMap<String, Kept>,
}

/// What is kept of a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Operations.
    pub ops: u64,
    /// Instructions in all.
    pub instructions: u64,
    /// The largest functions, each without what it calls.
    pub functions: BTreeMap<String, u64>,
}

impl Baseline {
    /// What was counted now.
    pub fn new(counted: &[Counted]) -> Self {
        let rows = counted.iter().map(|row| {
            let functions = row.functions.iter().take(FUNCTIONS).cloned().collect();
            let kept = Kept { ops: row.ops, instructions: row.instructions, functions };
            (row.row.clone(), kept)
        });
        Baseline { compiler: setting::compiler(), rows: rows.collect() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no baseline.
    pub fn read(path: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
        serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line() as u32, error.column() as u32);
            let remedy = "make one with fairlab bench --save-baseline";
            Error::bad_input(path, line, column, "this is no baseline", remedy)
        })
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Compares `now` with it: a line for each row that has grown by more than [`GROWTH_PERCENT`] or is not in it, with
    /// the functions that grew; and a last line.
    pub fn compare(&self, now: &Baseline) -> Compared {
        let mut found = Compared { text: String::new(), grown: 0 };
        let mut smaller = 0;
        for (name, row) in &now.rows {
            let Some(before) = self.rows.get(name) else {
                found.grown += 1;
                let _ = writeln!(found.text, "{name}: not in the baseline; make it anew");
                continue;
            };
            let change = percent(row.per_op(), before.per_op());
            smaller += usize::from(beyond(row, before));
            if beyond(before, row) {
                found.grown += 1;
                let (old, new) = (before.per_op(), row.per_op());
                let _ = writeln!(
                    found.text,
                    "{name}: {change:+.2} %, {old:.1} to {new:.1} instructions an operation"
                );
                found.text.push_str(&grown(before, row));
            }
        }
        let rows = now.rows.len();
        let _ = writeln!(
            found.text,
            "{rows} rows: {} grew by more than {GROWTH_PERCENT} %, {smaller} shrank by more",
            found.grown
        );
        found
    }
}

/// What a comparison with a baseline says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// In words.
    pub text: String,
    /// Rows that have grown too much.
    pub grown: usize,
}

impl Kept {
    fn per_op(&self) -> f64 {
        self.instructions as f64 / self.ops.max(1) as f64
    }
}

/// Whether an operation takes [`GROWTH_PERCENT`] more in `new` than in `old`; exactly, without a quotient.
fn beyond(old: &Kept, new: &Kept) -> bool {
    let scaled = |one: &Kept, other: &Kept, percent: u64| {
        u128::from(one.instructions) * u128::from(other.ops) * u128::from(percent)
    };
    scaled(new, old, 100) > scaled(old, new, 100 + GROWTH_PERCENT)
}

fn percent(new: f64, old: f64) -> f64 {
    // The difference first: it is exact where the figures are close.
    if old > 0.0 { (new - old) * 100.0 / old } else { 0.0 }
}

/// The functions that grew, per operation, the most first.
fn grown(before: &Kept, now: &Kept) -> String {
    let per_op = |kept: &Kept, name: &str| {
        kept.functions.get(name).map_or(0.0, |count| *count as f64 / kept.ops.max(1) as f64)
    };
    let mut changes: Vec<(f64, &String)> =
        now.functions.keys().map(|name| (per_op(now, name) - per_op(before, name), name)).collect();
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let grown = changes.into_iter().filter(|(change, _)| *change > 0.05).take(3);
    grown.map(|(change, name)| format!("  {change:+.1} in {name}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(instructions: u64, of_a: u64) -> Counted {
        let functions = vec![("a".to_string(), of_a), ("b".to_string(), instructions - of_a)];
        Counted { row: "tick/2/0/equal".to_string(), ops: 10, instructions, functions }
    }

    #[test]
    fn growth_beyond_two_percent_names_the_function() {
        let before = Baseline::new(&[counted(1000, 400)]);
        assert_eq!(before.compare(&Baseline::new(&[counted(1020, 420)])).grown, 0);
        let found = before.compare(&Baseline::new(&[counted(1021, 421)]));
        assert_eq!(found.grown, 1);
        assert!(found.text.contains("tick/2/0/equal: +2.10 %"), "{}", found.text);
        assert!(found.text.contains("+2.1 in a\n"), "{}", found.text);
        assert_eq!(before.compare(&Baseline::new(&[counted(500, 400)])).grown, 0);
        let other = Counted { row: "tick/15/0/equal".to_string(), ..counted(1, 0) };
        assert_eq!(before.compare(&Baseline::new(&[other])).grown, 1);
    }
}
