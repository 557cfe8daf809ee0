// SPDX-License-Identifier: GPL-2.0-only
//! The flat class does what v7.3.4's own code did, operation by operation: every `.ops` file of tests/golden is run
//! and its state compared with the recording beside it (tests/golden/README.md).

use sched_core::trace::Counters;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Part};
use sched_hosted::ops::digest::{Digester, write_text};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::{Source, parse_program};
use sched_hosted::ops::{Program, Statement};
use std::fs;
use std::path::{Path, PathBuf};

/// The families that have a test of their own; `the_others_are_equal` takes what is left.
const FAMILIES: [&str; 4] = ["hand-", "flat-", "feat-", "long-"];

/// What must be there at least, so that a file that got lost is missed.
const NEEDED: [&str; 25] = [
    "hand-01-two-hogs",
    "hand-02-delayed-requeue",
    "hand-03-delayed-picked",
    "hand-04-handoff",
    "hand-05-short-slice",
    "hand-06-yield",
    "hand-07-nice",
    "hand-08-params",
    "hand-11-charge-before-requeue",
    "flat-1",
    "flat-2",
    "flat-3",
    "flat-4",
    "flat-5",
    "feat-hz100",
    "feat-nextbuddy",
    "feat-nodelay",
    "feat-nodelayzero",
    "feat-noinitial",
    "feat-noparity",
    "feat-noshort",
    "feat-nowakeup",
    "feat-paranoid-flat",
    "feat-slice3ms",
    "long-flat",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The names, without suffix, of all files of tests/golden that end in `.suffix`, sorted.
fn names_of(suffix: &str) -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("tests/golden is there");
    let paths = entries.map(|entry| entry.expect("tests/golden can be read").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|found| found == suffix))
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn read(name: &str, suffix: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.{suffix}"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A program and the lines that it was read from.
struct Golden<'b> {
    name: &'b str,
    source: Source<'b>,
    program: Program,
}

impl<'b> Golden<'b> {
    fn new(name: &'b str, bytes: &'b [u8]) -> Self {
        let program = parse_program(&format!("{name}.ops"), bytes)
            .unwrap_or_else(|error| panic!("a golden file does not parse: {error}"));
        Golden { name, source: Source::new(bytes), program }
    }

    fn as_written(&self, statement: &Statement) -> String {
        String::from_utf8_lossy(self.source.line(statement.line).unwrap_or_default()).into_owned()
    }

    /// Where an operation stands, for messages.
    fn place(&self, number: usize, statement: &Statement) -> String {
        let (name, line) = (self.name, statement.line);
        format!("{name}.ops:{line}: operation {number} '{}'", self.as_written(statement))
    }

    /// Runs the program; `after` sees the state after each operation, and may end it with what is wrong.
    fn run(
        &self,
        mut after: impl FnMut(usize, &Statement, &dyn Class) -> Result<(), String>,
    ) -> Result<usize, String> {
        let arena = Arena::new();
        let Program { header, names, statements } = &self.program;
        let mut driver =
            Driver::new(&arena, header, names, &Options::default(), Counters::default())
                .map_err(|error| format!("{}.ops: {error}", self.name))?;
        let mut number = 0;
        for statement in statements {
            number += usize::from(statement.op.is_operation());
            let place = || self.place(number, statement);
            driver
                .apply(&statement.op)
                .map_err(|refusal| format!("{}: refused: {refusal}", place()))?;
            if let (1.., Some(warn)) = driver.hooks().warnings() {
                return Err(format!("{}: {warn}, which the kernel did not say", place()));
            }
            if statement.op.is_operation() {
                after(number, statement, &driver).map_err(|what| format!("{}: {what}", place()))?;
            }
        }
        Ok(number)
    }
}

/// The lines of an `.expect` file: operation, core digest, load tracking digest.
fn expectations(name: &str, text: &str) -> Result<Vec<(usize, String, String)>, String> {
    let parse = |line: &str| {
        let (number, rest) = line.split_once(" core=")?;
        let (core, pelt) = rest.split_once(" pelt=")?;
        Some((number.parse().ok()?, core.to_string(), pelt.to_string()))
    };
    let lines: Option<Vec<_>> = text.lines().map(parse).collect();
    let lines = lines.ok_or_else(|| format!("{name}.expect: a line is not 'N core= pelt='"))?;
    let every = lines.first().map_or(0, |first| first.0);
    let regular = lines.iter().enumerate().all(|(at, line)| line.0 == (at + 1) * every);
    if every == 0 || !regular {
        return Err(format!("{name}.expect: operations are missing in it"));
    }
    Ok(lines)
}

/// Compares a run of `ops` with what `expect` says; says what differs first.
fn compare(name: &str, ops: &[u8], expect: &str) -> Result<(), String> {
    let expected = expectations(name, expect)?;
    let every = expected[0].0;
    let mut digester = Digester::new();
    let done = Golden::new(name, ops).run(|number, _, class| {
        if number % every != 0 {
            return Ok(());
        }
        let found = digester.digest(class);
        let Some((_, core, pelt)) = expected.get(number / every - 1) else {
            return Err(format!("{name}.expect ends before it"));
        };
        let part = |part: &str, found: u64, recorded: &str| match format!("{found:016x}") {
            found if found == recorded => Ok(()),
            found => Err(format!("{part}={found}, but the kernel's code has {part}={recorded}")),
        };
        part("core", found.core, core)?;
        found.pelt.map_or(Ok(()), |found| part("pelt", found, pelt))
    })?;
    if done / every != expected.len() {
        return Err(format!("{name}.expect has {} lines, want {}", expected.len(), done / every));
    }
    Ok(())
}

/// The texts of a dump by operation: the number of the first line, and all lines.
fn blocks(dump: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    for (at, line) in dump.lines().enumerate() {
        match blocks.last_mut() {
            Some((_, lines)) if !line.starts_with('@') => lines.push(line),
            _ => blocks.push((at + 1, vec![line])),
        }
    }
    blocks
}

/// An interpreter runs every operation, but looks at the text after some only: that is what takes its time.
const DUMP_EVERY: usize = if cfg!(miri) { 8 } else { 1 };

/// Compares the texts of every operation with the recorded ones; says which line differs first.
fn compare_dump(name: &str, ops: &[u8], dump: &str) -> Result<(), String> {
    let golden = Golden::new(name, ops);
    let blocks = blocks(dump);
    let done = golden.run(|number, statement, class| {
        let Some((first, recorded)) = blocks.get(number - 1) else {
            return Err(format!("{name}.dump ends before it"));
        };
        if !number.is_multiple_of(DUMP_EVERY) && number != blocks.len() {
            return Ok(());
        }
        let mut text = format!("@{number} {}\n", golden.as_written(statement)).into_bytes();
        write_text(class, Part::Core, &mut text);
        if class.has_pelt() {
            write_text(class, Part::Pelt, &mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let here: Vec<&str> = text.lines().collect();
        let pelt = |line: &&&str| class.has_pelt() || !line.starts_with("pelt ");
        let recorded: Vec<&str> = recorded.iter().filter(pelt).copied().collect();
        for at in 0..here.len().max(recorded.len()) {
            let line = |lines: &[&str]| lines.get(at).map_or("(nothing)", |line| line).to_string();
            let (recorded, here) = (line(&recorded), line(&here));
            if recorded != here {
                let at = first + at;
                return Err(format!("{name}.dump:{at}:\n  recorded {recorded}\n  here     {here}"));
            }
        }
        Ok(())
    })?;
    if done != blocks.len() {
        return Err(format!("{name}.dump has {} operations, {done} were run", blocks.len()));
    }
    Ok(())
}

/// Compares all files that `chosen` picks; fails with the first difference of each.
fn compare_all(chosen: impl Fn(&str) -> bool) -> usize {
    let names: Vec<String> = names_of("ops").into_iter().filter(|name| chosen(name)).collect();
    let wrong: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let expect = String::from_utf8_lossy(&read(name, "expect")).into_owned();
            compare(name, &read(name, "ops"), &expect).err()
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), names.len(), wrong.join("\n"));
    names.len()
}

#[test]
fn every_program_has_its_recording() {
    let (ops, expect) = (names_of("ops"), names_of("expect"));
    assert_eq!(ops, expect, "each .ops has its .expect and the reverse");
    let lost: Vec<_> = NEEDED.iter().filter(|name| !ops.iter().any(|have| have == *name)).collect();
    assert!(lost.is_empty(), "lost from tests/golden: {lost:?}");
    for name in names_of("dump") {
        assert!(ops.contains(&name), "{name}.dump has no .ops");
    }
}

#[test]
#[cfg_attr(miri, ignore = "hand_dumps_are_equal says the same, without hashing")]
fn hand_digests_are_equal() {
    assert!(compare_all(|name| name.starts_with("hand-")) >= 9);
}

#[test]
fn hand_dumps_are_equal() {
    let names = names_of("dump");
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let dump = String::from_utf8_lossy(&read(&name, "dump")).into_owned();
        if let Err(what) = compare_dump(&name, &read(&name, "ops"), &dump) {
            panic!("{what}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long for an interpreter")]
fn flat_digests_are_equal() {
    assert!(compare_all(|name| name.starts_with("flat-")) >= 5);
}

#[test]
#[cfg_attr(miri, ignore = "too long for an interpreter")]
fn feat_digests_are_equal() {
    assert!(compare_all(|name| name.starts_with("feat-")) >= 10);
}

#[test]
#[cfg_attr(miri, ignore = "too long for an interpreter")]
fn long_digests_are_equal() {
    assert!(compare_all(|name| name.starts_with("long-")) >= 1);
}

#[test]
#[cfg_attr(miri, ignore = "too long for an interpreter")]
fn the_others_are_equal() {
    compare_all(|name| !FAMILIES.iter().any(|family| name.starts_with(family)));
}

/// The comparison itself can go red, and says where.
#[test]
#[cfg_attr(miri, ignore = "it hashes")]
fn a_difference_is_found_and_named() {
    let name = "hand-04-handoff";
    let (ops, expect) = (read(name, "ops"), read(name, "expect"));
    let expect = String::from_utf8_lossy(&expect).into_owned();
    compare(name, &ops, &expect).expect("as recorded they are equal");

    let mut lines: Vec<String> = expect.lines().map(String::from).collect();
    let at = lines[6].find("core=").expect("it has a digest") + "core=".len();
    let other = if lines[6].as_bytes()[at] == b'0' { "1" } else { "0" };
    lines[6].replace_range(at..=at, other);
    let wrong = compare(name, &ops, &lines.join("\n")).expect_err("operation 7 differs");
    assert!(wrong.starts_with("hand-04-handoff.ops:"), "{wrong}");
    assert!(wrong.contains(": operation 7 '"), "{wrong}");

    lines.truncate(6);
    let cut = compare(name, &ops, &lines.join("\n")).expect_err("the recording is cut");
    assert!(cut.contains("ends before it"), "{cut}");

    let dump = String::from_utf8_lossy(&read(name, "dump")).into_owned();
    let off = dump.replacen("nr_switches=1", "nr_switches=2", 1);
    assert_ne!(off, dump);
    let wrong = compare_dump(name, &ops, &off).expect_err("a line differs");
    assert!(wrong.contains("hand-04-handoff.dump:") && wrong.contains("nr_switches=2"), "{wrong}");
}
