// SPDX-License-Identifier: GPL-2.0-only
//! What the fuzz targets do with their bytes. Each target is a function here that panics if something is wrong, so
//! that an input can be replayed without a fuzzer: by the program `replay`, or by a test.

mod tree;

pub use tree::tree;

use sched_core::patches::Patches;
use sched_core::trace::Counters;
use sched_hosted::compare::side::Side;
use sched_hosted::error::{Error, Result};
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::{parse_prefix, parse_program, print, shown};
use sched_hosted::ops::{Header, Names, Op, Program};
use sched_hosted::oracle::Kernel;
use sched_hosted::oracle::class::OracleClass;
use sched_hosted::oracle::lockstep;
use sched_hosted::trace::input::unpack;
use sched_hosted::trace::script::{Assume, Recording};
use std::cell::{OnceCell, RefCell};
use std::io::Read;

/// A target: takes any bytes, panics if they uncover a fault.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 6] = [
    ("ops", ops),
    ("ops_parse", ops_parse),
    ("oracle", oracle),
    ("trace", trace),
    ("tree", tree),
    (CANARY, canary),
];

/// The target that must fail: whoever finds nothing there finds nothing anywhere.
pub const CANARY: &str = "canary";

/// The folder under `corpus` with a target's inputs. What runs operations shares one.
pub fn corpus_of(target: &str) -> &str {
    match target {
        "oracle" | CANARY => "ops",
        own => own,
    }
}

/// More statements than this are not run: long histories are for `fairlab compare`, which is faster.
const STATEMENTS_MAX: usize = 4_096;
/// A machine of more CPUs than this only costs time.
const CPUS_MAX: u32 = 8;
/// How many wrong lines are taken out before an input is given up.
const WRONG_LINES_MAX: usize = 64;
/// A running task is met by a tick before this has passed, ns: time steps beyond it are left out while one runs.
const STEP_MAX_NS: u64 = 10_000_000_000;
/// A packed recording may be a bomb.
const UNPACKED_MAX: u64 = 1 << 20;
/// Virtual times are good for as long as half of 64 bits of ns.
const CLOCK_MAX_NS: u64 = 1 << 62;

/// Runs the bytes as an operation file: the class must not panic, warn or break an invariant or a law, whatever legal
/// operations it is given. Wrong lines and statements that are illegal in their state are left out.
pub fn ops(bytes: &[u8]) {
    run(bytes, Patches::empty());
}

/// The same of a class that is wrong on purpose.
pub fn canary(bytes: &[u8]) {
    run(bytes, Patches::STALE_AUGMENT_COPY);
}

fn run(bytes: &[u8], patches: Patches) {
    let Some(program) = short_program(bytes) else { return };
    let arena = Arena::new();
    let Program { header, names, statements } = &program;
    let options = Options { patches, laws: true, ..Options::default() };
    let Ok(mut driver) = Driver::new(&arena, header, names, &options, Counters::default()) else {
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

/// What is good of the bytes, if it is short enough to be worth its time.
fn short_program(bytes: &[u8]) -> Option<Program> {
    let small = |p: &Program| p.header.cpus <= CPUS_MAX && p.statements.len() <= STATEMENTS_MAX;
    parse_what_is_good(bytes).filter(small)
}

/// Runs the bytes as an operation file on the class and on the kernel's own code: after each operation the two are in
/// the same state. Nothing is checked, and that is said, where no kernel oracle was built (or its tree is not there).
pub fn oracle(bytes: &[u8]) {
    thread_local! {
        static ORACLE: OnceCell<Option<RefCell<OracleClass>>> = const { OnceCell::new() };
    }
    let Some(program) = short_program(bytes) else { return };
    ORACLE.with(|oracle| {
        let oracle = oracle.get_or_init(|| match load_oracle() {
            Ok(oracle) => Some(RefCell::new(oracle)),
            Err(error) => {
                eprintln!("NOT CHECKED: the class against the kernel's own code: {error}");
                None
            }
        });
        if let Some(oracle) = oracle {
            compare(&mut oracle.borrow_mut(), &program);
        }
    });
}

fn load_oracle() -> Result<OracleClass> {
    OracleClass::new(Kernel::find(None)?.load()?, &Header::default(), &Names::default())
}

fn compare(oracle: &mut OracleClass, program: &Program) {
    let Program { header, names, statements } = program;
    let mut rest = statements.iter().map(|statement| statement.op);
    let mut next =
        |class: &dyn Class| rest.find(|op| !is_far(class, op) && class.check(op).is_ok());
    let side = Side::new(Patches::empty());
    // A header that asks for what one of the two does not have is none of this target's business.
    let Ok(log) = lockstep::run(side, oracle, header, names, &mut next) else { return };
    if let Some(finding) = log.finding {
        let last = log.ops.last().map(|op| shown(op, names).to_string()).unwrap_or_default();
        panic!("after {} operations, the last '{last}': {finding:?}", log.count);
    }
}

/// Any bytes are a recording, plain or packed: reading them never panics, what is wrong with them is said in one line,
/// and what they say does not depend on the pieces in which they come.
pub fn trace(bytes: &[u8]) {
    let whole = read_trace(bytes);
    let pieces = read_trace(OneByOne(bytes));
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole, pieces, "one byte at a time it says something else");
            whole.describe().iter().for_each(|line| assert_eq!(line.lines().count(), 1, "{line}"));
        }
        (Err(whole), Err(pieces)) => {
            let (whole, pieces) = (whole.to_string(), pieces.to_string());
            assert_eq!(whole, pieces);
            assert_eq!(whole.lines().count(), 1, "not one line: {whole}");
        }
        (whole, pieces) => panic!("whole {:?}, in pieces {:?}", whole.err(), pieces.err()),
    }
}

fn read_trace(input: impl Read) -> Result<Recording> {
    let text = unpack("fuzz", input)?.take(UNPACKED_MAX);
    sched_hosted::trace::read("fuzz", text, &Assume::default())
}

/// Gives one byte a call.
struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
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
