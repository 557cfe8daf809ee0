// SPDX-License-Identifier: GPL-2.0-only
//! From a pid to a small number, fast: the kernel's pids are below 4194304, what a damaged file says may be anything.

use std::collections::BTreeMap;

/// The kernel's PID_MAX_LIMIT.
const PID_MAX_LIMIT: u32 = 4 << 20;

/// A map from pid to number. 0 is never mapped: it is every CPU's idle task.
#[derive(Clone, Debug, Default)]
pub struct Pids {
    /// The number plus 1, by pid.
    dense: Vec<u32>,
    others: BTreeMap<u32, u32>,
}

impl Pids {
    /// The number of `pid`.
    pub fn get(&self, pid: u32) -> Option<u32> {
        if pid < PID_MAX_LIMIT {
            return self.dense.get(pid as usize)?.checked_sub(1);
        }
        self.others.get(&pid).copied()
    }

    /// Gives `pid` a number, which is below `u32::MAX`.
    pub fn set(&mut self, pid: u32, number: u32) {
        if pid >= PID_MAX_LIMIT {
            self.others.insert(pid, number);
            return;
        }
        let at = pid as usize;
        if at >= self.dense.len() {
            self.dense.resize((at + 1).next_power_of_two(), 0);
        }
        self.dense[at] = number + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Pids;

    #[test]
    fn any_pid_has_its_number() {
        let mut pids = Pids::default();
        for (number, pid) in [1, 77, 4_194_303, 4_194_304, u32::MAX].into_iter().enumerate() {
            assert_eq!(pids.get(pid), None);
            pids.set(pid, number as u32);
            assert_eq!(pids.get(pid), Some(number as u32));
        }
        assert_eq!(pids.get(0), None);
        assert_eq!(pids.get(2), None);
    }
}
