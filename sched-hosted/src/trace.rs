// SPDX-License-Identifier: GPL-2.0-only
//! Recordings of a real kernel: ftrace text in, a workload out.
//!
//! In the order in which a recording meets them: [`input`] opens it (plain, `.xz`, `.gz` or `.zst`), [`reader`]
//! streams it line by line in bounded memory, [`mod@line`] takes one line apart into an [`event`], [`problems`] is
//! what was wrong with it and survived; then [`extract`] follows who runs, sleeps and wakes whom, and [`resolve`]
//! makes of that a [`script`]: per CPU its tasks, each with what it does, in a form that can be played in a closed
//! loop.
//!
//! What is read is the text of `trace` or `trace_pipe` with the events sched_switch, sched_waking,
//! sched_wakeup, sched_wakeup_new, sched_process_fork, sched_process_exit, sched_stat_runtime and
//! sched_migrate_task; sched_switch and one of the wakeup events are enough. Others are counted and skipped. To
//! record one:
//!
//! ```text
//! cd /sys/kernel/tracing
//! echo 'sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_wakeup_new' > set_event
//! echo 'sched:sched_process_fork sched:sched_process_exit sched:sched_stat_runtime' >> set_event
//! echo 1 > tracing_on; sleep 1; echo 0 > tracing_on; cat trace > FILE
//! ```

pub mod event;
pub mod extract;
pub mod input;
pub mod line;
pub mod problems;
pub mod reader;
pub mod resolve;
pub mod script;
pub mod short;
pub mod zstd;

use crate::error::Result;
use extract::Extract;
use script::{Assume, Recording};
use std::io::Read;

/// Reads the recording at `path` (`-` is standard input) into a workload.
///
/// # Errors
/// The file cannot be read, or has no scheduler event in it.
pub fn load(path: &str, assume: &Assume) -> Result<Recording> {
    read(path, input::open(path)?, assume)
}

/// The same from any input; `name` is what messages call it.
///
/// # Errors
/// As [`load`].
pub fn read(name: &str, input: impl Read, assume: &Assume) -> Result<Recording> {
    let mut extract = Extract::default();
    let summary = reader::read(name, input, |event| extract.event(event))?;
    Ok(resolve::resolve(name, extract.finish(), summary, assume))
}
