// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks are at the start, from a dump of /sys/kernel/debug/sched/debug.
//!
//! Read is the table of tasks (vruntime, deadline, slice, in ms) and, per CPU, `.avg_vruntime` of the root queue; older
//! releases print other columns, which are found by their headings.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// What a dump says of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// V minus its vruntime when the dump was made: virtual ns, signed.
    pub lag_ns: i64,
    /// Its deadline minus its vruntime: virtual ns, signed.
    pub request_ns: i64,
    /// Its slice, ns, if it is no default.
    pub slice_ns: u64,
    /// It was awake.
    pub awake: bool,
}

/// The tasks of a dump, by pid.
pub type State = BTreeMap<u32, Seen>;

/// Reads the dump at `path`.
///
/// # Errors
/// It cannot be read, or has no table of tasks.
pub fn load(path: &str) -> Result<State> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    let text = String::from_utf8_lossy(&bytes);
    let state = parse(&text);
    if state.is_empty() {
        return Err(Error::bad_input(
            path,
            1,
            1,
            "no table of tasks with vruntime and deadline in it",
            "give what `cat /sys/kernel/debug/sched/debug` printed on a kernel of 6.6 or later",
        ));
    }
    Ok(state)
}

/// The same from its text.
pub fn parse(text: &str) -> State {
    let mut state = State::new();
    let mut v_ns = None;
    let mut root = false;
    let mut columns: Option<Columns> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("cfs_rq[") {
            root = rest.split_once("]:").is_some_and(|(_, path)| path.trim() == "/");
        } else if line.starts_with("cpu#") {
            (v_ns, columns, root) = (None, None, false);
        } else if root && line.trim_start().starts_with(".avg_vruntime") {
            v_ns = line.rsplit(':').next().and_then(ms);
        } else if line.contains("vruntime") && line.contains("deadline") && line.contains("PID") {
            columns = Columns::of(line);
        } else if let (Some(columns), Some(v_ns)) = (&columns, v_ns)
            && let Some((pid, seen)) = columns.task(line, v_ns)
        {
            state.insert(pid, seen);
        }
    }
    state
}

/// Which word of a line is what.
struct Columns {
    pid: usize,
    vruntime: usize,
    deadline: usize,
    slice: usize,
}

impl Columns {
    fn of(heading: &str) -> Option<Columns> {
        let words: Vec<&str> = heading.split_whitespace().collect();
        let at = |name: &str| words.iter().position(|word| *word == name);
        // The task's name may have blanks, so all is counted from its pid on.
        let pid = at("PID")?;
        Some(Columns {
            pid,
            vruntime: at("vruntime")? - pid,
            deadline: at("deadline")? - pid,
            slice: at("slice")? - pid,
        })
    }

    fn task(&self, line: &str, v_ns: i64) -> Option<(u32, Seen)> {
        let line = line.strip_prefix('>').map_or(line, |rest| rest);
        let words: Vec<&str> = line.split_whitespace().collect();
        // The pid is the first number after which times stand where they should.
        (self.pid.saturating_sub(1)..words.len()).find_map(|at| {
            let pid: u32 = words.get(at)?.parse().ok()?;
            let time = |column: usize| ms(words.get(at + column)?);
            let (vruntime, deadline) = (time(self.vruntime)?, time(self.deadline)?);
            let slice_ns = u64::try_from(time(self.slice)?).ok()?;
            let state = words.first()?;
            let seen = Seen {
                lag_ns: v_ns.saturating_sub(vruntime),
                request_ns: deadline.saturating_sub(vruntime),
                slice_ns,
                awake: state.starts_with('R') || state.starts_with('>'),
            };
            Some((pid, seen))
        })
    }
}

/// A time in ms with six digits behind the point, in ns.
fn ms(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, part) = digits.split_once('.')?;
    if part.len() != 6 {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = part.parse().ok()?;
    let ns = whole.checked_mul(1_000_000)?.checked_add(part)?;
    Some(if negative { -ns } else { ns })
}
