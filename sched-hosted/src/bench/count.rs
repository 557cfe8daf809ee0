// SPDX-License-Identifier: GPL-2.0-only
//! Instructions instead of time: a row is played under valgrind, which counts in its timed batches alone.
//!
//! The count is the same to the instruction as long as the program is: machines are made anew for each row, all that is
//! random comes from a fixed seed, and nothing that is counted depends on an address.

use super::rows::Row;
use super::sides::{Which, with_players};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

/// Cycles before the count begins, and cycles that are counted.
const CYCLES: (u32, u32) = (4, 12);
/// Rows of more tasks take too long under valgrind.
pub const TASKS_MAX: u32 = 100;

/// What a row was counted to take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The row's name.
    pub row: String,
    /// Operations.
    pub ops: u64,
    /// Instructions in all.
    pub instructions: u64,
    /// The same by function, without what it calls; the largest first.
    pub functions: Vec<(String, u64)>,
}

impl Counted {
    /// Instructions per operation; none if the path was never met.
    pub fn per_op(&self) -> Option<f64> {
        (self.ops > 0).then(|| self.instructions as f64 / self.ops as f64)
    }
}

/// Plays `rows` on one side, to be counted: this runs under valgrind. Returns how many operations each row had.
///
/// # Errors
/// Those of [`with_players`].
pub fn play(which: Which<'_>, rows: &[Row]) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for &row in rows {
        all.push(with_players(&[which], row.situation, |players| {
            let mut ops = 0;
            for player in players {
                for _ in 0..CYCLES.0 {
                    player.cycle(row.path);
                }
                player.count();
                ops += (0..CYCLES.1).map(|_| player.cycle(row.path).ops).sum::<u64>();
            }
            ops
        })?);
        row_is_counted();
    }
    Ok(all)
}

/// Where valgrind writes down what it has counted, and begins anew.
#[inline(never)]
fn row_is_counted() {
    black_box(());
}

/// Counts `rows` by running this program's `bench` with `arguments` under valgrind.
///
/// # Errors
/// There is no valgrind, or it fails.
pub fn count(rows: &[Row], arguments: &[String]) -> Result<Vec<Counted>> {
    let dir =
        tempfile::TempDir::new().map_err(|source| Error::write("a temporary folder", source))?;
    let file = dir.path().join("counts");
    let program = std::env::current_exe().map_err(|source| Error::read("this program", source))?;
    let names: Vec<String> = rows.iter().map(Row::to_string).collect();
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind", "--collect-atstart=no"]);
    command.args(["--toggle-collect=*counted_batch*", "--dump-after=*row_is_counted*"]);
    command.arg(format!("--callgrind-out-file={}", file.display())).arg(program);
    command.args(["bench", "--row", &names.join(",")]).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ops: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    if !output.status.success() || ops.len() != rows.len() {
        let message = String::from_utf8_lossy(&output.stderr);
        let last = message.lines().next_back().unwrap_or("no message").to_string();
        return Err(Error::not_possible(
            format!("counting instructions failed: {last}"),
            "does valgrind run here? Without it use --no-instructions",
        ));
    }
    let rows = names.into_iter().zip(ops).enumerate();
    rows.map(|(at, (row, ops))| {
        let functions = read(&dir.path().join(format!("counts.{}", at + 1)))?;
        let instructions = functions.iter().map(|(_, count)| count).sum();
        Ok(Counted { row, ops, instructions, functions })
    })
    .collect()
}

fn missing() -> Error {
    Error::not_possible("there is no valgrind here", "install it to have instructions counted")
}

/// Whether valgrind can be run.
///
/// # Errors
/// It cannot: what to do.
pub fn available() -> Result<()> {
    let status = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(missing()) }
}

fn read(path: &Path) -> Result<Vec<(String, u64)>> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::read(&path.display().to_string(), source))?;
    Ok(functions(&text))
}

/// The functions of a callgrind profile with what each took itself, the largest first.
fn functions(profile: &str) -> Vec<(String, u64)> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut function, mut called) = ("", false);
    for line in profile.lines() {
        if let Some((key, rest)) = line.split_once('=') {
            match key {
                "fn" | "cfn" => {
                    // (1) name, and later (1) alone.
                    let (id, name) = rest.split_once(' ').unwrap_or((rest, ""));
                    let name = if name.is_empty() { *names.entry(id).or_insert(id) } else { name };
                    names.insert(id, name);
                    if key == "fn" {
                        function = name;
                    }
                }
                "calls" => called = true,
                _ => {}
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // A place and a count; after `calls=` it is what the callee took.
            let count = line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
            if let (false, Some(count)) = (std::mem::take(&mut called), count) {
                *counts.entry(function).or_default() += count;
            }
        }
    }
    let mut all: Vec<(String, u64)> =
        counts.into_iter().map(|(name, count)| (short(name), count)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

/// A function's name without the hash and the recursion level that follow it.
fn short(name: &str) -> String {
    let name = name.split_once("'").map_or(name, |(name, _)| name);
    match name.rsplit_once("::") {
        Some((front, hash)) if hash.len() == 17 && hash.starts_with('h') => front.to_string(),
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn what_a_callee_took_is_its_own() {
        let profile = "events: Ir\nfn=(1) a::b::h0123456789abcdef\n5 10\n+1 2\ncfn=(2) c\ncalls=3 7\n* 99\n\
                       6 1\n\nfn=(2)\n7 99\n\ntotals: 112\n";
        let found = functions(profile);
        assert_eq!(found, [("c".to_string(), 99), ("a::b".to_string(), 13)]);
    }
}
