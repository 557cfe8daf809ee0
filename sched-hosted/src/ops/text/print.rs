// SPDX-License-Identifier: GPL-2.0-only
//! A program as text that reads back as the same program.

use super::{MAGIC, VERSION};
use crate::ops::{CgroupMode, GroupName, Header, Names, Op, Program};
use std::fmt::{self, Write};

/// The text of `program`: header, then one statement a line, all options written out.
pub fn print(program: &Program) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = print_header(&mut text, &program.header);
    for statement in &program.statements {
        let _ = writeln!(text, "{}", shown(&statement.op, &program.names));
    }
    text
}

fn print_header(out: &mut String, header: &Header) -> fmt::Result {
    writeln!(out, "{MAGIC} {VERSION}")?;
    writeln!(out, "cpus {}", header.cpus)?;
    writeln!(out, "hz {}", header.hz)?;
    if let Some(slice) = header.base_slice_ns {
        writeln!(out, "base_slice_ns {slice}")?;
    }
    if !header.features.is_empty() {
        writeln!(out, "features {}", header.features.join(" "))?;
    }
    if header.cgroup_mode != CgroupMode::default() {
        writeln!(out, "cgroup_mode {}", header.cgroup_mode.word())?;
    }
    Ok(())
}

/// `op` as a line of an `.ops` file, without the newline.
pub fn shown<'a>(op: &'a Op, names: &'a Names) -> impl fmt::Display + 'a {
    Shown { op, names }
}

struct Shown<'a> {
    op: &'a Op,
    names: &'a Names,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |task| self.names.task_text(task);
        let path = |group: GroupName| self.names.group_text(group);
        match *self.op {
            Op::At { ns } => write!(f, "at {ns}"),
            Op::Group { group, shares: None } => write!(f, "group {}", path(group)),
            Op::Group { group, shares: Some(n) } => write!(f, "group {} shares {n}", path(group)),
            Op::Task { task, cpu, nice, policy, slice_ns, group } => {
                write!(f, "task {} cpu {cpu} nice {nice} policy {}", name(task), policy.word())?;
                write!(f, " slice {slice_ns} group {}", path(group))
            }
            Op::New { task } => write!(f, "new {}", name(task)),
            Op::Wake { task, sync, cpu } => {
                write!(f, "wake {}{}", name(task), if sync { " sync" } else { "" })?;
                cpu.map_or(Ok(()), |cpu| write!(f, " cpu {cpu}"))
            }
            Op::Schedule { cpu } => write!(f, "schedule {cpu}"),
            Op::Block { cpu } => write!(f, "block {cpu}"),
            Op::Exit { cpu } => write!(f, "exit {cpu}"),
            Op::Tick { cpu } => write!(f, "tick {cpu}"),
            Op::Yield { cpu } => write!(f, "yield {cpu}"),
            Op::YieldTo { cpu, task } => write!(f, "yield-to {cpu} {}", name(task)),
            Op::Nice { task, nice } => write!(f, "nice {} {nice}", name(task)),
            Op::Param { task, policy, nice, slice_ns } => {
                write!(f, "param {} policy {}", name(task), policy.word())?;
                write!(f, " nice {nice} slice {slice_ns}")
            }
            Op::Move { task, group } => write!(f, "move {} {}", name(task), path(group)),
            Op::Shares { group, shares } => write!(f, "shares {} {shares}", path(group)),
            Op::GroupIdle { group, idle } => {
                write!(f, "group-idle {} {}", path(group), u8::from(idle))
            }
            Op::Quota { group, period_us, quota_us: Some(quota) } => {
                write!(f, "quota {} {period_us} {quota}", path(group))
            }
            Op::Quota { group, period_us, quota_us: None } => {
                write!(f, "quota {} {period_us} max", path(group))
            }
            Op::Timers => f.write_str("timers"),
            Op::UserReturn { cpu } => write!(f, "user-return {cpu}"),
            Op::Migrate { task, cpu } => write!(f, "migrate {} {cpu}", name(task)),
            Op::UpdateCurr { cpu } => write!(f, "update-curr {cpu}"),
            Op::UpdateBlocked { cpu } => write!(f, "update-blocked {cpu}"),
            Op::FinishDelayed { task } => write!(f, "finish-delayed {}", name(task)),
        }
    }
}
