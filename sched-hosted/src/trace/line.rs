// SPDX-License-Identifier: GPL-2.0-only
//! One line of ftrace text, taken apart without copying.
//!
//! ```text
//!              w09-296     [000] dl.4.  12092213424: sched_wakeup: comm=w10 pid=297 prio=120 target_cpu=000
//!   a b=c [1] d-12  ( 12)  [001] d..2.    10.688824: sched_switch: prev_comm=... ==> next_comm=... next_prio=120
//! ```
//!
//! A comm may hold blanks, `=`, `-` and brackets, so fields are looked for from the end of the line, where only
//! numbers stand, and the task's column by its width first. The same events as `perf script` and `trace-cmd report -N`
//! print them are read too; they say nothing of interrupts.

use super::event::{Context, Kind, PrevState, Subject};
use super::short;
use memchr::memmem;

/// CPU numbers from here on are taken for garbage.
pub const MAX_CPUS: u32 = 8192;

/// The two ways in which ftrace prints time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// `12.345678`: seconds with a fraction.
    Seconds,
    /// `12345678901`: a plain number, taken as ns (trace_clock x86-tsc is that only at 1 GHz).
    Nanoseconds,
}

/// What stands before the event's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// The task that ran.
    pub current: Subject<'a>,
    /// The CPU.
    pub cpu: u32,
    /// The latency flags.
    pub context: Context,
    /// When: absolute, ns.
    pub ts_ns: u64,
    /// How that was printed.
    pub clock: Clock,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// Empty, or a comment.
    Comment,
    /// `CPU:0 [LOST 12 EVENTS]`.
    Lost {
        /// The CPU whose buffer overflowed.
        cpu: u32,
        /// How many events are missing, if it says.
        events: Option<u64>,
    },
    /// An event that is not read.
    Other(Head<'a>),
    /// An event that is read.
    Event(Head<'a>, Kind<'a>),
}

/// Why a line is none of these, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bad {
    /// The column, counted from 1, in bytes.
    pub column: u32,
    /// What is missing or wrong there.
    pub what: &'static str,
}

/// Takes `text` apart, a line without its line feed.
///
/// # Errors
/// It is no line of a recording.
pub fn parse(text: &[u8]) -> Result<Line<'_>, Bad> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let blank = text.iter().position(|c| *c != b' ' && *c != b'\t');
    match blank.map(|at| text[at]) {
        None | Some(b'#') => return Ok(Line::Comment),
        // The first lines of trace-cmd report.
        Some(b'c') if text.starts_with(b"cpus=") => return Ok(Line::Comment),
        Some(b'v') if text.starts_with(b"version = ") => return Ok(Line::Comment),
        Some(b'C') => {
            if let Some(lost) = parse_lost(text) {
                return Ok(lost);
            }
        }
        Some(_) => {}
    }
    let (head, at) = parse_head(text)?;
    let rest = &text[at..];
    let Some(colon) = memchr::memchr(b':', rest) else {
        return Err(bad(at, "no event name"));
    };
    let (mut name, mut args) = (&rest[..colon], &rest[colon + 1..]);
    if name == b"sched" {
        // perf script puts the events' system before the name.
        let Some(colon) = memchr::memchr(b':', args) else {
            return Err(bad(at, "no event name"));
        };
        (name, args) = (&args[..colon], &args[colon + 1..]);
    }
    let args = args.trim_ascii();
    let kind = match name {
        b"sched_switch" => switch(args).or_else(|| short::switch(args)),
        b"sched_waking" => woken(args).map(|(task, target_cpu)| Kind::Waking { task, target_cpu }),
        b"sched_wakeup" => woken(args).map(|(task, target_cpu)| Kind::Wakeup { task, target_cpu }),
        b"sched_wakeup_new" => {
            woken(args).map(|(task, target_cpu)| Kind::WakeupNew { task, target_cpu })
        }
        b"sched_stat_runtime" => stat_runtime(args),
        b"sched_process_fork" => fork(args),
        b"sched_process_exit" => exit(args),
        b"sched_migrate_task" => migrate(args),
        _ => return Ok(Line::Other(head)),
    };
    match kind {
        Some(kind) => Ok(Line::Event(head, kind)),
        None => Err(bad(at + colon + 1, "the event's fields are not as ftrace prints them")),
    }
}

fn bad(at: usize, what: &'static str) -> Bad {
    Bad { column: u32::try_from(at).unwrap_or(u32::MAX - 1) + 1, what }
}

fn parse_lost(text: &[u8]) -> Option<Line<'_>> {
    let rest = text.trim_ascii().strip_prefix(b"CPU:")?;
    let (cpu, used) = leading_number(rest)?;
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MAX_CPUS)?;
    // trace-cmd report says it the other way round: `CPU:0 [12 EVENTS DROPPED]`.
    let rest = rest[used..].strip_prefix(b" [")?;
    let rest = rest.strip_prefix(b"LOST ").unwrap_or(rest);
    let events = leading_number(rest).map(|(events, _)| events);
    let lost = rest.ends_with(b"EVENTS]") || rest.ends_with(b"EVENTS DROPPED]");
    lost.then_some(Line::Lost { cpu, events })
}

/// The head of the line, and where the event's name begins.
fn parse_head(text: &[u8]) -> Result<(Head<'_>, usize), Bad> {
    let (current, at) = parse_task(text)?;
    let (cpu, at) = parse_cpu(text, at).ok_or(bad(at, "no CPU number below 8192 in brackets"))?;
    let (word, mut at) = word(text, at);
    let (context, stamp) = if word.ends_with(b":") {
        (Context::default(), word)
    } else {
        let (stamp, after) = self::word(text, at);
        at = after;
        (Context::from_flags(word), stamp)
    };
    let begin = at - stamp.len();
    let (ts_ns, clock) = parse_stamp(stamp).ok_or(bad(begin, "no timestamp in seconds or ns"))?;
    let at = skip_blanks(text, at);
    Ok((Head { current, cpu, context, ts_ns, clock }, at))
}

/// The task's column, `COMM-PID`, and where it ends.
fn parse_task(text: &[u8]) -> Result<(Subject<'_>, usize), Bad> {
    // ftrace prints the comm 16 wide, and none is longer than 15 bytes.
    const WIDTH: usize = 16;
    if text.get(WIDTH) == Some(&b'-')
        && let Some(found) = task_at(text, WIDTH)
    {
        return Ok(found);
    }
    // The columns may have been changed on the way here: the first dash that a pid and a CPU follow.
    for dash in memchr::memchr_iter(b'-', text) {
        if let Some((subject, at)) = task_at(text, dash) {
            return Ok((subject, at));
        }
    }
    perf_task(text).ok_or(bad(0, "no COMM-PID followed by a CPU in brackets"))
}

/// The task's columns as perf script prints them, `COMM PID` or `COMM PID/TID`.
fn perf_task(text: &[u8]) -> Option<(Subject<'_>, usize)> {
    let cpu = memchr::memchr_iter(b'[', text).find(|at| parse_cpu(text, *at).is_some())?;
    let left = text[..cpu].trim_ascii();
    let (comm, id) = left.split_at(memchr::memrchr(b' ', left)?);
    let id = id.trim_ascii();
    let tid = memchr::memchr(b'/', id).map_or(id, |slash| &id[slash + 1..]);
    let (pid, used) = leading_number(tid)?;
    let comm = comm.trim_ascii();
    (used == tid.len())
        .then_some((Subject { comm, pid: u32::try_from(pid).ok()?, prio: None }, cpu))
}

/// The task whose comm and pid are parted by the dash at `dash`, if a CPU in brackets follows.
fn task_at(text: &[u8], dash: usize) -> Option<(Subject<'_>, usize)> {
    let (pid, used) = leading_number(&text[dash + 1..])?;
    let mut at = skip_blanks(text, dash + 1 + used);
    if text.get(at) == Some(&b'(') {
        // The thread group, with the option record-tgid.
        let end = memchr::memchr(b')', &text[at..])?;
        at = skip_blanks(text, at + end + 1);
    }
    if text.get(at) != Some(&b'[') {
        return None;
    }
    let comm = text[..dash].trim_ascii_start();
    Some((Subject { comm, pid: u32::try_from(pid).ok()?, prio: None }, at))
}

fn parse_cpu(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let digits = text.get(at + 1..)?;
    let (cpu, used) = leading_number(digits)?;
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MAX_CPUS)?;
    (digits.get(used) == Some(&b']')).then_some((cpu, at + used + 2))
}

/// `12.345678:` or `12345678901:`, in ns.
fn parse_stamp(word: &[u8]) -> Option<(u64, Clock)> {
    let word = word.strip_suffix(b":")?;
    let (whole, used) = leading_number(word)?;
    if used == word.len() {
        return Some((whole, Clock::Nanoseconds));
    }
    let fraction = word[used..].strip_prefix(b".")?;
    let (value, digits) = leading_number(fraction)?;
    if digits != fraction.len() || digits > 9 {
        return None;
    }
    let ns = value * 10_u64.pow(9 - digits as u32);
    Some((whole.checked_mul(1_000_000_000)?.checked_add(ns)?, Clock::Seconds))
}

/// The word at or after `at`, and where it ends.
fn word(text: &[u8], at: usize) -> (&[u8], usize) {
    let begin = skip_blanks(text, at);
    let rest = &text[begin..];
    let end = begin + memchr::memchr(b' ', rest).unwrap_or(rest.len());
    (&text[begin..end], end)
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    at + text[at..].iter().take_while(|c| **c == b' ').count()
}

/// The decimal number at the beginning of `text` and its length; none if it does not fit 64 bits.
fn leading_number(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut used = 0;
    while let Some(digit) = text.get(used).filter(|c| c.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        used += 1;
    }
    (used > 0).then_some((value, used))
}

/// What stands before ` KEY=NUMBER` at the end of `text`, and the number.
fn number_at_end<'a>(text: &'a [u8], key: &[u8]) -> Option<(&'a [u8], i64)> {
    let digits = text.iter().rev().take_while(|c| c.is_ascii_digit()).count();
    let begin = text.len() - digits;
    let (value, _) = leading_number(&text[begin..])?;
    let value = i64::try_from(value).ok()?;
    let rest = &text[..begin];
    match rest.strip_suffix(b"-") {
        Some(rest) => Some((rest.strip_suffix(key)?, -value)),
        None => Some((rest.strip_suffix(key)?, value)),
    }
}

/// `COMM pid=PID` after the key of the comm.
fn comm_and_pid<'a>(text: &'a [u8], comm_key: &[u8], pid_key: &[u8]) -> Option<Subject<'a>> {
    let (rest, pid) = number_at_end(text, pid_key)?;
    let comm = rest.strip_prefix(comm_key)?;
    Some(Subject { comm, pid: u32::try_from(pid).ok()?, prio: None })
}

fn with_prio<'a>(mut subject: Subject<'a>, prio: i64) -> Option<Subject<'a>> {
    subject.prio = Some(i32::try_from(prio).ok()?);
    Some(subject)
}

/// `comm=COMM pid=PID prio=PRIO`.
fn subject(text: &[u8]) -> Option<Subject<'_>> {
    let (rest, prio) = number_at_end(text, b" prio=")?;
    with_prio(comm_and_pid(rest, b"comm=", b" pid=")?, prio)
}

fn switch(args: &[u8]) -> Option<Kind<'_>> {
    let (rest, next_prio) = number_at_end(args, b" next_prio=")?;
    let arrow = memmem::find(rest, b" ==> next_comm=")?;
    let next = comm_and_pid(&rest[arrow + b" ==> ".len()..], b"next_comm=", b" next_pid=")?;
    let left = &rest[..arrow];
    let state = memchr::memrchr(b' ', left)?;
    let prev_state = PrevState::from_text(left[state + 1..].strip_prefix(b"prev_state=")?)?;
    let (rest, prev_prio) = number_at_end(&left[..state], b" prev_prio=")?;
    let prev = comm_and_pid(rest, b"prev_comm=", b" prev_pid=")?;
    Some(Kind::Switch {
        prev: with_prio(prev, prev_prio)?,
        prev_state,
        next: with_prio(next, next_prio)?,
    })
}

fn woken(args: &[u8]) -> Option<(Subject<'_>, u32)> {
    wake(args).or_else(|| short::wake(args).filter(|(_, cpu)| *cpu < MAX_CPUS))
}

fn wake(args: &[u8]) -> Option<(Subject<'_>, u32)> {
    let (rest, cpu) = number_at_end(args, b" target_cpu=")?;
    // Old kernels say in between whether it was successful.
    let rest = number_at_end(rest, b" success=").map_or(rest, |(rest, _)| rest);
    Some((subject(rest)?, cpu_number(cpu)?))
}

fn cpu_number(cpu: i64) -> Option<u32> {
    u32::try_from(cpu).ok().filter(|cpu| *cpu < MAX_CPUS)
}

fn stat_runtime(args: &[u8]) -> Option<Kind<'_>> {
    let rest = args.strip_suffix(b" [ns]")?;
    // Older kernels print the vruntime behind it, which may be any 64 bits.
    let rest = match memmem::rfind(rest, b" [ns] vruntime=") {
        Some(at) => &rest[..at],
        None => rest,
    };
    let (rest, runtime) = number_at_end(rest, b" runtime=")?;
    let task = comm_and_pid(rest, b"comm=", b" pid=")?;
    Some(Kind::StatRuntime { task, runtime_ns: u64::try_from(runtime).ok()? })
}

fn fork(args: &[u8]) -> Option<Kind<'_>> {
    let at = memmem::find(args, b" child_comm=")?;
    comm_and_pid(&args[..at], b"comm=", b" pid=")?;
    let child = comm_and_pid(&args[at + 1..], b"child_comm=", b" child_pid=")?;
    Some(Kind::Fork { child })
}

fn exit(args: &[u8]) -> Option<Kind<'_>> {
    // Newer kernels say whether the whole group is dead.
    let args = match memmem::rfind(args, b" group_dead=") {
        Some(at) => &args[..at],
        None => args,
    };
    Some(Kind::Exit { task: subject(args)? })
}

fn migrate(args: &[u8]) -> Option<Kind<'_>> {
    let (rest, dest) = number_at_end(args, b" dest_cpu=")?;
    let (rest, orig) = number_at_end(rest, b" orig_cpu=")?;
    Some(Kind::Migrate {
        task: subject(rest)?,
        orig_cpu: cpu_number(orig)?,
        dest_cpu: cpu_number(dest)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::event::Asked;

    fn event(text: &str) -> (Head<'_>, Kind<'_>) {
        match parse(text.as_bytes()) {
            Ok(Line::Event(head, kind)) => (head, kind),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn task(comm: &str, pid: u32, prio: Option<i32>) -> Subject<'_> {
        Subject { comm: comm.as_bytes(), pid, prio }
    }

    const WAKEUP: &str = "             w09-296     [000] dl.4.  12092213424: sched_wakeup: comm=w10 pid=297 \
                          prio=120 target_cpu=003";

    #[test]
    fn a_line_with_latency_flags_and_a_clock_of_ns() {
        let (head, kind) = event(WAKEUP);
        assert_eq!(head.current, task("w09", 296, None));
        assert_eq!((head.cpu, head.ts_ns, head.clock), (0, 12_092_213_424, Clock::Nanoseconds));
        let asked = Some(Asked::Lazy);
        let context = Context { need_resched: true, asked, ..Context::default() };
        assert_eq!(head.context, context);
        assert_eq!(kind, Kind::Wakeup { task: task("w10", 297, Some(120)), target_cpu: 3 });
    }

    #[test]
    fn a_switch_with_names_that_look_like_something_else() {
        let text = "  a b=c [1] d-12-77    (     77) [011] dNh2.    10.688824: sched_switch: \
                    prev_comm=a b=c pid=9 x prev_pid=77 prev_prio=-1 prev_state=R+ ==> \
                    next_comm=[k-1] z prio=5 next_pid=12 next_prio=139";
        let (head, kind) = event(text);
        assert_eq!(head.current, task("a b=c [1] d-12", 77, None));
        assert_eq!((head.cpu, head.ts_ns, head.clock), (11, 10_688_824_000, Clock::Seconds));
        assert!(head.context.interrupt && head.context.need_resched);
        let prev = task("a b=c pid=9 x", 77, Some(-1));
        let next = task("[k-1] z prio=5", 12, Some(139));
        assert_eq!(kind, Kind::Switch { prev, prev_state: PrevState::Runnable, next });
    }

    #[test]
    fn the_other_events_of_old_and_new_kernels() {
        let head = "<idle>-0 [001] d..2. 1.000001: ";
        let fields = [
            (
                "sched_stat_runtime: comm=sh pid=7 runtime=5 [ns]",
                Kind::StatRuntime { task: task("sh", 7, None), runtime_ns: 5 },
            ),
            (
                "sched_stat_runtime: comm=sh pid=7 runtime=5 [ns] vruntime=18446744073709551615 [ns]",
                Kind::StatRuntime { task: task("sh", 7, None), runtime_ns: 5 },
            ),
            (
                "sched_process_fork: comm=sh pid=7 child_comm=s h child_pid=8",
                Kind::Fork { child: task("s h", 8, None) },
            ),
            (
                "sched_process_exit: comm=sh pid=7 prio=100 group_dead=true",
                Kind::Exit { task: task("sh", 7, Some(100)) },
            ),
            (
                "sched_process_exit: comm=sh pid=7 prio=100",
                Kind::Exit { task: task("sh", 7, Some(100)) },
            ),
            (
                "sched_wakeup_new: comm=sh pid=7 prio=120 success=1 target_cpu=002",
                Kind::WakeupNew { task: task("sh", 7, Some(120)), target_cpu: 2 },
            ),
            (
                "sched_waking: comm=sh pid=7 prio=120 target_cpu=002",
                Kind::Waking { task: task("sh", 7, Some(120)), target_cpu: 2 },
            ),
            (
                "sched_migrate_task: comm=sh pid=7 prio=120 orig_cpu=1 dest_cpu=0",
                Kind::Migrate { task: task("sh", 7, Some(120)), orig_cpu: 1, dest_cpu: 0 },
            ),
        ];
        for (text, kind) in fields {
            let line = format!("{head}{text}");
            assert_eq!(event(&line).1, kind, "{text}");
        }
    }

    #[test]
    fn perf_script_and_trace_cmd() {
        let perf = "my prog   77/78 [002] 10.688824123: sched:sched_waking: comm=x pid=7 prio=120 \
                    target_cpu=002";
        let (head, kind) = event(perf);
        assert_eq!(head.current, task("my prog", 78, None));
        assert_eq!(head.ts_ns, 10_688_824_123);
        assert_eq!(kind, Kind::Waking { task: task("x", 7, Some(120)), target_cpu: 2 });
        let trace_cmd = "  x-7   [002]    10.688824: sched_wakeup:         comm=x pid=7 prio=120 \
                         target_cpu=002";
        assert_eq!(
            event(trace_cmd).1,
            Kind::Wakeup { task: task("x", 7, Some(120)), target_cpu: 2 }
        );
    }

    #[test]
    fn lines_that_are_no_events() {
        assert_eq!(parse(b""), Ok(Line::Comment));
        assert_eq!(parse(b"# tracer: nop\r"), Ok(Line::Comment));
        let lost = |cpu, events| Ok(Line::Lost { cpu, events });
        assert_eq!(parse(b"CPU:3 [LOST 12 EVENTS]"), lost(3, Some(12)));
        assert_eq!(parse(b"CPU:3 [LOST EVENTS]"), lost(3, None));
        assert_eq!(parse(b"CPU:3 [12 EVENTS DROPPED]"), lost(3, Some(12)));
        assert_eq!(parse(b"cpus=2"), Ok(Line::Comment));
        let other = b"<idle>-0 [001] d..2. 1.000001: irq_handler_entry: irq=1 name=x";
        assert!(matches!(parse(other), Ok(Line::Other(_))));
    }

    #[test]
    fn what_is_wrong_is_found_where_it_stands() {
        let at = |text: &str| match parse(text.as_bytes()) {
            Err(Bad { column, .. }) => column,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at("hello"), 1);
        assert_eq!(at("x-7 [99999999] d..2. 1.0: sched_waking: "), 5);
        assert_eq!(at("x-7 [0] d..2. 1.2.3: sched_waking: "), 15);
        assert_eq!(at("x-7 [0] d..2. 99999999999999999999: sched_waking: "), 15);
        assert_eq!(at("x-7 [0] d..2. 99999999999.1: sched_waking: "), 15);
        assert_eq!(at("x-7 [0] d..2. 1.5: sched_wak"), 20);
        assert_eq!(at("x-7 [0] d..2. 1.5: sched_waking: comm=x pid=7 prio=120 targ"), 33);
    }

    #[test]
    fn no_prefix_of_a_line_is_trouble() {
        for end in 0..WAKEUP.len() {
            let _ = parse(&WAKEUP.as_bytes()[..end]);
            let _ = parse(&WAKEUP.as_bytes()[end..]);
        }
    }
}
