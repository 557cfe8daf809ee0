// SPDX-License-Identifier: GPL-2.0-only
//! Makes the machine simpler: fewer CPUs, default features, no groups.

use super::{Op, Program, Search};
use crate::ops::{CgroupMode, GroupName, Header};

impl Search<'_> {
    /// One round over the header's lines.
    pub(super) fn simplify_header(&mut self) {
        self.fewer_cpus();
        let header = &self.best.header;
        self.try_header(Header {
            cpus: header.cpus,
            features: header.features.clone(),
            ..Header::default()
        });
        self.try_header(Header { features: Vec::new(), ..self.best.header.clone() });
        let mut at = 0;
        while at < self.best.header.features.len() {
            let mut header = self.best.header.clone();
            header.features.remove(at);
            at += usize::from(!self.try_header(header));
        }
        self.try_header(Header { hz: 1000, ..self.best.header.clone() });
        self.try_header(Header { base_slice_ns: None, ..self.best.header.clone() });
        let cgroup_mode = CgroupMode::default();
        self.try_header(Header { cgroup_mode, ..self.best.header.clone() });
    }

    fn try_header(&mut self, header: Header) -> bool {
        header != self.best.header && self.try_program(Program { header, ..self.best.clone() })
    }

    /// Everything on one CPU, then all of one CPU on another; in the end those that are used come first.
    fn fewer_cpus(&mut self) {
        if self.best.header.cpus == 1 || self.try_cpus(1, |_| 0) {
            return;
        }
        let mut last = self.best.header.cpus - 1;
        while last > 0 && !self.spent() {
            for onto in 0..last {
                if self.try_cpus(last, |cpu| if cpu == last { onto } else { cpu }) {
                    break;
                }
            }
            // This one has to stay: another one may go in its place.
            if self.best.header.cpus > last {
                let nr = self.best.header.cpus;
                let swapped = (0..last).any(|onto| {
                    self.try_cpus(nr - 1, |cpu| match cpu {
                        cpu if cpu == onto => (onto + 1) % (nr - 1),
                        cpu if cpu == nr - 1 => onto,
                        cpu => cpu,
                    })
                });
                if !swapped {
                    return;
                }
            }
            last = self.best.header.cpus - 1;
        }
    }

    fn try_cpus(&mut self, cpus: u32, map: impl Fn(u32) -> u32) -> bool {
        let mut candidate = self.best.clone();
        candidate.header.cpus = cpus;
        for statement in &mut candidate.statements {
            statement.op = on_other_cpus(&statement.op, &map);
        }
        self.try_program(candidate)
    }

    /// Takes groups away, those made last first: what was in them is in the group above.
    pub(super) fn flatten_groups(&mut self) {
        let mut at = self.best.statements.len();
        while at > 0 && !self.spent() {
            at = (at - 1).min(self.best.statements.len().saturating_sub(1));
            if let Some(Op::Group { group, .. }) = self.best.statements.get(at).map(|s| s.op) {
                let above = self.above(group);
                let mut statements = self.best.statements.clone();
                statements.retain(|s| !is_about(&s.op, group));
                for statement in &mut statements {
                    statement.op = in_other_group(&statement.op, group, above);
                }
                self.try_statements(statements);
            }
        }
    }

    /// The group above `group`.
    fn above(&self, group: GroupName) -> GroupName {
        let names = &self.best.names;
        let above = names.group_text(group).rsplit_once('/').map_or("", |(above, _)| above);
        let mut groups = (0..names.nr_groups() as u32).map(GroupName);
        groups.find(|&known| names.group_text(known) == above).unwrap_or(GroupName::ROOT)
    }
}

fn on_other_cpus(op: &Op, map: &dyn Fn(u32) -> u32) -> Op {
    match *op {
        Op::Task { task, cpu, nice, policy, slice_ns, group } => {
            Op::Task { task, cpu: map(cpu), nice, policy, slice_ns, group }
        }
        Op::Wake { task, sync, cpu } => Op::Wake { task, sync, cpu: cpu.map(map) },
        Op::Schedule { cpu } => Op::Schedule { cpu: map(cpu) },
        Op::Block { cpu } => Op::Block { cpu: map(cpu) },
        Op::Exit { cpu } => Op::Exit { cpu: map(cpu) },
        Op::Tick { cpu } => Op::Tick { cpu: map(cpu) },
        Op::Yield { cpu } => Op::Yield { cpu: map(cpu) },
        Op::YieldTo { cpu, task } => Op::YieldTo { cpu: map(cpu), task },
        Op::UserReturn { cpu } => Op::UserReturn { cpu: map(cpu) },
        Op::Migrate { task, cpu } => Op::Migrate { task, cpu: map(cpu) },
        Op::UpdateCurr { cpu } => Op::UpdateCurr { cpu: map(cpu) },
        Op::UpdateBlocked { cpu } => Op::UpdateBlocked { cpu: map(cpu) },
        other => other,
    }
}

/// The statement makes or changes the group.
fn is_about(op: &Op, group: GroupName) -> bool {
    match *op {
        Op::Group { group: it, .. }
        | Op::Shares { group: it, .. }
        | Op::GroupIdle { group: it, .. }
        | Op::Quota { group: it, .. } => it == group,
        _ => false,
    }
}

fn in_other_group(op: &Op, from: GroupName, to: GroupName) -> Op {
    match *op {
        Op::Task { task, cpu, nice, policy, slice_ns, group } if group == from => {
            Op::Task { task, cpu, nice, policy, slice_ns, group: to }
        }
        Op::Move { task, group } if group == from => Op::Move { task, group: to },
        other => other,
    }
}
