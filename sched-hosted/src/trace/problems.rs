// SPDX-License-Identifier: GPL-2.0-only
//! What was wrong with a recording and survived: counted, with the places where it was seen first.

use crate::error::quote;
use std::fmt::Write as _;

/// What can be wrong with a line or with the order of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// A line that is no line of ftrace text: skipped.
    NoTraceLine,
    /// A line longer than any that the kernel prints: skipped.
    LongLine,
    /// The last line has no line feed: it may be cut, so it is left out.
    CutLine,
    /// `CPU:n [LOST m EVENTS]`: the ring buffer overflowed.
    LostEvents,
    /// A timestamp before the last one of the same CPU: that one was taken instead.
    TimeBack,
    /// A timestamp more than a day after the last one: skipped.
    TimeJump,
    /// An event in the context of another task than the one switched in last: a sched_switch is missing.
    BrokenChain,
    /// A timestamp in seconds among ones in ns, or the other way round: skipped.
    OtherClock,
    /// The compressed data end in the middle, or are damaged: what came before was taken.
    EndsEarly,
}

/// All of them, in the order in which they are reported.
const ALL: [Wrong; 9] = [
    Wrong::NoTraceLine,
    Wrong::LongLine,
    Wrong::CutLine,
    Wrong::LostEvents,
    Wrong::TimeBack,
    Wrong::TimeJump,
    Wrong::BrokenChain,
    Wrong::OtherClock,
    Wrong::EndsEarly,
];

impl Wrong {
    /// What it is and what was done about it, then what to do.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Wrong::NoTraceLine => (
                "no line of ftrace text, skipped",
                "check that the file is what `cat /sys/kernel/tracing/trace` prints",
            ),
            Wrong::LongLine => (
                "a line longer than ftrace prints, skipped",
                "check that the file is what `cat /sys/kernel/tracing/trace` prints",
            ),
            Wrong::CutLine => (
                "the last line has no line feed and may be cut, left out",
                "if it is whole, end it with a line feed",
            ),
            Wrong::LostEvents => (
                "events are missing here: the ring buffer overflowed",
                "record again with a larger buffer_size_kb or fewer events",
            ),
            Wrong::TimeBack => (
                "time goes back within a CPU, taken as standing still",
                "give each recording as a file of its own, with a clock that all CPUs share (mono)",
            ),
            Wrong::TimeJump => (
                "time jumps by more than a day, skipped",
                "check the line; give each recording as a file of its own",
            ),
            Wrong::BrokenChain => (
                "another task than the one switched in last, taken as running now",
                "record sched_switch on all CPUs, without filters",
            ),
            Wrong::OtherClock => (
                "a timestamp of another clock than the ones before, skipped",
                "give recordings of different clocks as files of their own",
            ),
            Wrong::EndsEarly => (
                "the compressed data are damaged or end early, the rest is missing",
                "copy the file again, or compare what was read",
            ),
        }
    }
}

/// How many lines are named for each kind of problem.
const NAMED: usize = 4;

/// The occurrences of one kind of problem.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Seen {
    count: u64,
    column: u32,
    lines: Vec<u64>,
    detail: String,
}

/// What was wrong with a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Problems {
    seen: [Seen; ALL.len()],
}

impl Problems {
    /// Notes one at `line` (from 1) and `column` (from 1, bytes); `detail` is asked for once for each kind.
    pub fn note(&mut self, wrong: Wrong, line: u64, column: u32, detail: impl FnOnce() -> String) {
        let seen = &mut self.seen[wrong as usize];
        if seen.count == 0 {
            seen.column = column;
            seen.detail = detail();
        }
        seen.count += 1;
        if seen.lines.len() < NAMED {
            seen.lines.push(line);
        }
    }

    /// How often `wrong` was seen.
    pub fn count(&self, wrong: Wrong) -> u64 {
        self.seen[wrong as usize].count
    }

    /// Nothing was wrong.
    pub fn is_empty(&self) -> bool {
        self.seen.iter().all(|seen| seen.count == 0)
    }

    /// Where `wrong` was seen first, as line and column, and what stood there.
    pub fn first(&self, wrong: Wrong) -> Option<(u64, u32, &str)> {
        let seen = &self.seen[wrong as usize];
        Some((*seen.lines.first()?, seen.column, &seen.detail))
    }

    /// One line for each kind of problem, ready to be printed as a warning; `file` as it was named.
    pub fn report(&self, file: &str) -> Vec<String> {
        let seen = ALL.iter().filter(|wrong| self.count(**wrong) > 0);
        seen.map(|wrong| self.report_one(file, *wrong)).collect()
    }

    fn report_one(&self, file: &str, wrong: Wrong) -> String {
        let seen = &self.seen[wrong as usize];
        let (what, remedy) = wrong.text();
        let file = if file == "-" { "standard input" } else { file };
        let mut text = format!("{}:{}:{}: {what}", file.escape_debug(), seen.lines[0], seen.column);
        if !seen.detail.is_empty() {
            let _ = write!(text, " ({})", seen.detail);
        }
        if seen.count > 1 {
            let others: Vec<String> = seen.lines[1..].iter().map(u64::to_string).collect();
            let dots = if seen.count > NAMED as u64 { ", ..." } else { "" };
            let _ =
                write!(text, "; {} times, also in line {}{dots}", seen.count, others.join(", "));
        }
        let _ = write!(text, "; {remedy}");
        text
    }
}

/// The detail of a bad line: what is missing, and the line itself, quoted.
pub fn bad_line(what: &str, line: &[u8]) -> String {
    format!("{what}: {}", quote(line.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_slot() {
        for (slot, wrong) in ALL.iter().enumerate() {
            assert_eq!(*wrong as usize, slot);
        }
    }

    #[test]
    fn one_line_each_with_a_limited_number_of_places() {
        let mut problems = Problems::default();
        assert!(problems.is_empty());
        for line in 0..1000 {
            let detail = || bad_line("no CPU", b"  a\nb\0");
            problems.note(Wrong::NoTraceLine, 3 + line, 9, detail);
        }
        problems.note(Wrong::CutLine, 77, 1, String::new);
        let report = problems.report("x\ny.txt");
        assert_eq!(report.len(), 2);
        assert!(report[0].starts_with("x\\ny.txt:3:9: no line of ftrace text"), "{}", report[0]);
        assert!(report[0].contains("1000 times, also in line 4, 5, 6, ...;"), "{}", report[0]);
        assert!(report[0].contains("(no CPU: 'a\\nb\\0')"), "{}", report[0]);
        assert!(report[1].starts_with("x\\ny.txt:77:1: the last line"), "{}", report[1]);
        assert!(report.iter().all(|line| !line.contains('\n') && line.len() < 300));
    }
}
