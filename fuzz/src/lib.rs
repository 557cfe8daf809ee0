// SPDX-License-Identifier: GPL-2.0-only
//! What the fuzz targets do with their bytes. Each target is a function here that panics if something is wrong, so
//! that an input can be replayed without a fuzzer: by the program `replay`, or by a test.

use sched_core::trace::Counters;
use sched_hosted::error::Error;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::{parse_prefix, parse_program, print, shown};
use sched_hosted::ops::{Op, Program};

/// A target: takes any bytes, panics if they uncover a fault.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 2] = [("ops", ops), ("ops_parse", ops_parse)];

/// More statements than this are not run: long histories are for `fairlab compare`, which is faster.
const STATEMENTS_MAX: usize = 4_096;
/// A machine of more CPUs than this only costs time.
const CPUS_MAX: u32 = 8;
/// How many wrong lines are taken out before an input is given up.
const WRONG_LINES_MAX: usize = 64;
/// A running task is met by a tick before this has passed, ns: time steps beyond it are left out while one runs.
const STEP_MAX_NS: u64 = 10_000_000_000;
/// Virtual times are good for as long as half of 64 bits of ns.
const CLOCK_MAX_NS: u64 = 1 << 62;

/// Runs the bytes as an operation file: the class must not panic, warn or break an invariant, whatever legal
/// operations it is given. Wrong lines and statements that are illegal in their state are left out.
pub fn ops(bytes: &[u8]) {
    let Some(program) = parse_what_is_good(bytes) else { return };
    if program.header.cpus > CPUS_MAX || program.statements.len() > STATEMENTS_MAX {
        return;
    }
    let arena = Arena::new();
    let Program { header, names, statements } = &program;
    let hooks = Counters::default();
    let Ok(mut driver) = Driver::new(&arena, header, names, &Options::default(), hooks) else {
        return;
    };
    for (at, statement) in statements.iter().enumerate() {
        if is_far(&driver, &statement.op) || driver.apply(&statement.op).is_err() {
            continue;
        }
        let place = || format!("statement {} '{}'", at + 1, shown(&statement.op, names));
        if let (1.., Some(warn)) = driver.hooks().warnings() {
            panic!("{}: {warn}", place());
        }
        if let Some(violation) = driver.violations(Depth::Full).first() {
            panic!("{}: {violation:?}", place());
        }
    }
}

/// A step of time that no machine with a tick takes.
fn is_far(class: &dyn Class, op: &Op) -> bool {
    let Op::At { ns } = *op else { return false };
    let busy = (0..class.nr_cpus()).any(|cpu| class.current(cpu).is_some());
    ns > CLOCK_MAX_NS || (busy && ns.saturating_sub(class.now()) > STEP_MAX_NS)
}

/// The program in `bytes` after all wrong lines are taken out; none if there are too many.
fn parse_what_is_good(bytes: &[u8]) -> Option<Program> {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for _ in 0..WRONG_LINES_MAX {
        match parse_prefix("fuzz", &lines.join(&b'\n')) {
            (program, None) => return Some(program),
            (_, Some(Error::BadInput { place, .. })) => {
                let wrong = (place.line as usize).checked_sub(1)?;
                if wrong >= lines.len() {
                    return None;
                }
                lines.remove(wrong);
            }
            (_, Some(_)) => return None,
        }
    }
    None
}

/// The parser takes any bytes without a panic; what it accepts is printed as text that reads back as the same, and
/// what it refuses it refuses in one line.
pub fn ops_parse(bytes: &[u8]) {
    let program = match parse_program("fuzz", bytes) {
        Ok(program) => program,
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "not one line: {text}");
            assert!(text.len() < 4_096, "a long line: {text}");
            return;
        }
    };
    let text = print(&program);
    let again = parse_program("printed", text.as_bytes())
        .unwrap_or_else(|error| panic!("what was printed does not parse: {error}\n{text}"));
    assert_eq!(program.header, again.header, "{text}");
    assert_eq!(program.names, again.names, "{text}");
    let ops = |program: &Program| program.statements.iter().map(|s| s.op).collect::<Vec<_>>();
    assert_eq!(ops(&program), ops(&again), "{text}");
    assert_eq!(text, print(&again));
}
