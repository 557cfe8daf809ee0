// SPDX-License-Identifier: GPL-2.0-only
//! Streams a recording: lines into events, in bounded memory, whatever the input.
//!
//! What is wrong with a line is noted and survived ([`Problems`]); what makes the whole recording meaningless (no
//! scheduler event in it) is an error.

use super::event::{Event, Kind, Subject};
use super::line::{self, Bad, Clock, Head, Line};
use super::problems::{Problems, Wrong, bad_line};
use crate::error::{Error, Result};
use std::io::{ErrorKind, Read};

/// So much is read at once, in bytes; also the longest line that is looked at.
const BUFFER: usize = 256 << 10;

/// A day, ns.
const DAY_NS: u64 = 86_400_000_000_000;

/// What was in a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Lines of all kinds.
    pub lines: u64,
    /// Bytes, unpacked.
    pub bytes: u64,
    /// Events that were read.
    pub events: u64,
    /// sched_switch events among them.
    pub switches: u64,
    /// Events of kinds that are not read.
    pub other_events: u64,
    /// The clock, if there was an event.
    pub clock: Option<Clock>,
    /// The first event: absolute, ns.
    pub first_ns: u64,
    /// The last event: absolute, ns.
    pub last_ns: u64,
    /// The highest CPU number of an event, plus 1.
    pub nr_cpus: u32,
    /// What was wrong.
    pub problems: Problems,
}

/// Reads `input` to its end and hands each event to `sink`, in the order of the file; `name` is what messages call it.
///
/// # Errors
/// It cannot be read, or no scheduler event is in it.
pub fn read(name: &str, input: impl Read, sink: impl FnMut(&Event<'_>)) -> Result<Summary> {
    let mut reader = Reader { name, sink, summary: Summary::default(), cpus: Vec::new() };
    reader.read(input)?;
    reader.finish()
}

/// What the last event of a CPU said.
#[derive(Clone, Copy, Default)]
struct CpuSeen {
    ts_ns: u64,
    /// Who runs; unknown before the first event and after lost ones.
    current: Option<u32>,
}

struct Reader<'n, S> {
    name: &'n str,
    sink: S,
    summary: Summary,
    cpus: Vec<CpuSeen>,
}

impl<S: FnMut(&Event<'_>)> Reader<'_, S> {
    fn read(&mut self, mut input: impl Read) -> Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut filled = 0;
        let mut skipping = false;
        loop {
            let got = match input.read(&mut buffer[filled..]) {
                Ok(got) => got,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.ends_early(error),
            };
            if got == 0 {
                break;
            }
            self.summary.bytes += got as u64;
            filled += got;
            let done = self.lines(&buffer[..filled], &mut skipping)?;
            buffer.copy_within(done..filled, 0);
            filled -= done;
            if filled == buffer.len() {
                // No line feed in all of it.
                self.long_line(&mut skipping);
                filled = 0;
            }
        }
        if filled > 0 && !skipping {
            self.last_line(&buffer[..filled])?;
        }
        Ok(())
    }

    /// Takes all whole lines of `text`; says how many bytes they are.
    fn lines(&mut self, text: &[u8], skipping: &mut bool) -> Result<usize> {
        let mut done = 0;
        for end in memchr::memchr_iter(b'\n', text) {
            if !std::mem::take(skipping) {
                self.summary.lines += 1;
                self.line(&text[done..end])?;
            }
            done = end + 1;
        }
        Ok(done)
    }

    fn long_line(&mut self, skipping: &mut bool) {
        if !std::mem::replace(skipping, true) {
            self.summary.lines += 1;
            let detail = || format!("a line of more than {BUFFER} bytes");
            self.summary.problems.note(Wrong::LongLine, self.summary.lines, 1, detail);
        }
    }

    /// What stands after the last line feed: a number at its end may have lost digits, so it is not used.
    fn last_line(&mut self, text: &[u8]) -> Result<()> {
        self.summary.lines += 1;
        if matches!(line::parse(text), Ok(Line::Comment)) {
            return Ok(());
        }
        let column = text.len().min(u32::MAX as usize - 1) as u32 + 1;
        let detail = || "it ends here".to_string();
        self.summary.problems.note(Wrong::CutLine, self.summary.lines, column, detail);
        Ok(())
    }

    fn line(&mut self, text: &[u8]) -> Result<()> {
        match line::parse(text) {
            Ok(Line::Comment) => Ok(()),
            Ok(Line::Lost { cpu, events }) => {
                self.lost(cpu, events);
                Ok(())
            }
            Ok(Line::Other(head)) => {
                self.summary.other_events += 1;
                self.clock(&head);
                Ok(())
            }
            Ok(Line::Event(head, kind)) => self.event(&head, kind),
            Err(Bad { column, what }) => {
                let detail = || bad_line(what, text);
                self.summary.problems.note(Wrong::NoTraceLine, self.summary.lines, column, detail);
                Ok(())
            }
        }
    }

    fn lost(&mut self, cpu: u32, events: Option<u64>) {
        let detail = || match events {
            Some(events) => format!("CPU {cpu}: {events} events"),
            None => format!("CPU {cpu}"),
        };
        self.summary.problems.note(Wrong::LostEvents, self.summary.lines, 1, detail);
        self.cpu(cpu).current = None;
    }

    fn event(&mut self, head: &Head<'_>, kind: Kind<'_>) -> Result<()> {
        if !self.clock(head) {
            return Ok(());
        }
        let last_ns = self.summary.last_ns;
        if self.summary.events > 0 && head.ts_ns > last_ns.saturating_add(DAY_NS) {
            let detail = || format!("{} ns after {last_ns} ns", head.ts_ns);
            self.summary.problems.note(Wrong::TimeJump, self.summary.lines, 1, detail);
            return Ok(());
        }
        let ts_ns = self.time(head);
        let summary = &mut self.summary;
        if summary.events == 0 {
            summary.first_ns = ts_ns;
        }
        summary.events += 1;
        summary.last_ns = summary.last_ns.max(ts_ns);
        summary.nr_cpus = summary.nr_cpus.max(head.cpu + 1);
        let running = match kind {
            Kind::Switch { prev, next, .. } => {
                summary.switches += 1;
                self.chain(head.cpu, prev);
                next.pid
            }
            _ => {
                self.chain(head.cpu, head.current);
                head.current.pid
            }
        };
        self.cpu(head.cpu).current = Some(running);
        (self.sink)(&Event {
            line: self.summary.lines,
            ts_ns,
            cpu: head.cpu,
            current: head.current,
            context: head.context,
            kind,
        });
        Ok(())
    }

    /// Whether the timestamp is of the clock that the first one was of.
    fn clock(&mut self, head: &Head<'_>) -> bool {
        let clock = *self.summary.clock.get_or_insert(head.clock);
        if clock == head.clock {
            return true;
        }
        let detail = || format!("{} after ones in {}", clock_text(head.clock), clock_text(clock));
        self.summary.problems.note(Wrong::OtherClock, self.summary.lines, 1, detail);
        false
    }

    /// The event's time, which does not go back within its CPU.
    fn time(&mut self, head: &Head<'_>) -> u64 {
        let seen = self.cpu(head.cpu);
        let last_ns = seen.ts_ns;
        seen.ts_ns = last_ns.max(head.ts_ns);
        if head.ts_ns < last_ns {
            let detail = || format!("CPU {}: {} ns after {last_ns} ns", head.cpu, head.ts_ns);
            self.summary.problems.note(Wrong::TimeBack, self.summary.lines, 1, detail);
        }
        last_ns.max(head.ts_ns)
    }

    fn chain(&mut self, cpu: u32, running: Subject<'_>) {
        let Some(known) = self.cpu(cpu).current.filter(|known| *known != running.pid) else {
            return;
        };
        let detail = || format!("CPU {cpu}: pid {} where {known} should run", running.pid);
        self.summary.problems.note(Wrong::BrokenChain, self.summary.lines, 1, detail);
    }

    fn cpu(&mut self, cpu: u32) -> &mut CpuSeen {
        let at = cpu as usize;
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, CpuSeen::default());
        }
        &mut self.cpus[at]
    }

    /// Damaged input after some good: what came before is worth having.
    fn ends_early(&mut self, error: std::io::Error) -> Result<()> {
        let damaged = matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput
        );
        if !damaged {
            return Err(Error::read(self.name, error));
        }
        if self.summary.events == 0 {
            return Err(Error::bad_input(
                self.name,
                1,
                1,
                format!("the compressed data are damaged or end early ({error})"),
                "copy the file again",
            ));
        }
        let detail = || error.to_string().escape_debug().to_string();
        self.summary.problems.note(Wrong::EndsEarly, self.summary.lines + 1, 1, detail);
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        let summary = self.summary;
        if summary.switches > 0 {
            return Ok(summary);
        }
        let plural = if summary.lines == 1 { "" } else { "s" };
        let none =
            format!("no sched_switch event of ftrace text in {} line{plural}", summary.lines);
        let wrong = [Wrong::NoTraceLine, Wrong::LongLine, Wrong::CutLine];
        let first = wrong.iter().find_map(|wrong| summary.problems.first(*wrong));
        let (line, column, what) = match first {
            _ if summary.bytes == 0 => (1, 1, "the file is empty".to_string()),
            Some((line, column, detail)) => (line, column, format!("{none}; {detail}")),
            None => (1, 1, none),
        };
        Err(Error::bad_input(
            self.name,
            u32::try_from(line).unwrap_or(u32::MAX),
            column,
            what,
            "record the events sched_switch and sched_waking and give the text of /sys/kernel/tracing/trace",
        ))
    }
}

fn clock_text(clock: Clock) -> &'static str {
    match clock {
        Clock::Seconds => "seconds",
        Clock::Nanoseconds => "ns",
    }
}
