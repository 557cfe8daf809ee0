// SPDX-License-Identifier: GPL-2.0-only
//! The text form of the operation language: everything it allows reads and prints back, everything
//! else is refused with a place and a remedy.

use proptest::prelude::*;
use sched_hosted::error::{EXIT_BAD_INPUT, Error};
use sched_hosted::ops::text::{Reader, Source, parse_prefix, parse_program, print};
use sched_hosted::ops::{CgroupMode, GroupName, Op, Policy, Program, TaskName};

const HEAD: &str = "fairlab-ops 1\ncpus 4\nhz 1000\n";

fn parse(text: &str) -> Program {
    parse_program("t.ops", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The message for `text`, which must be wrong, checked to be one line with exit code 2.
fn refused(bytes: &[u8]) -> String {
    let error: Error = parse_program("t.ops", bytes).expect_err("it is wrong");
    assert_eq!(error.exit_code(), EXIT_BAD_INPUT);
    let text = error.to_string();
    assert!(!text.contains('\n') && text.len() < 600, "{text}");
    assert!(text.contains("; "), "no remedy: {text}");
    text
}

/// The message for a statement after a good header of three lines.
fn refused_statement(statement: &str) -> String {
    refused(format!("{HEAD}{statement}\n").as_bytes())
}

fn without_lines(mut program: Program) -> Program {
    program.statements.iter_mut().for_each(|statement| statement.line = 0);
    program
}

const EVERY_STATEMENT: &str = "\
# a comment
at 1000000
group /a
group /a/b.c-d_ shares 18446744073709551615
task t1
task t2 group /a/b.c-d_ slice 100000 policy idle nice -20 cpu 3
new t1
wake t1
wake t1 sync
wake t1 cpu 2 sync
schedule 0
block 1
exit 2
tick 3
yield 0

yield-to 0 t2
nice t1 19
param t1 policy batch nice -1 slice 18446744073709551615
move t1 /
shares /a 2
group-idle /a 1
quota /a 1000 1000
quota /a 1000000 max
timers
user-return 0
migrate t1 3
update-curr 0
update-blocked 0
finish-delayed t1
at 18446744073709551615
";

#[test]
fn every_statement_reads_and_prints_back() {
    let program = parse(&format!("{HEAD}{EVERY_STATEMENT}"));
    assert_eq!(program.statements.len(), 29);
    let kinds: std::collections::BTreeSet<String> = program
        .statements
        .iter()
        .map(|s| format!("{:?}", s.op).split([' ', '{']).next().unwrap_or("").to_string())
        .collect();
    assert_eq!(kinds.len(), 23, "each of the statements stands in it: {kinds:?}");
    let text = print(&program);
    assert_eq!(without_lines(parse(&text)), without_lines(program), "{text}");
    assert_eq!(print(&parse(&text)), text);
}

#[test]
fn what_the_options_mean() {
    let program = parse(&format!(
        "{HEAD}task a\ntask b slice 5 group /g policy idle nice -3 cpu 2\nwake b cpu 1 sync\n"
    ));
    let (a, b, g) = (TaskName(0), TaskName(1), GroupName(1));
    let ops: Vec<Op> = program.statements.iter().map(|s| s.op).collect();
    let plain = (Policy::Normal, GroupName::ROOT);
    assert_eq!(
        ops,
        [
            Op::Task { task: a, cpu: 0, nice: 0, policy: plain.0, slice_ns: 0, group: plain.1 },
            Op::Task { task: b, cpu: 2, nice: -3, policy: Policy::Idle, slice_ns: 5, group: g },
            Op::Wake { task: b, sync: true, cpu: Some(1) },
        ]
    );
    assert_eq!(program.statements.iter().map(|s| s.line).collect::<Vec<_>>(), [4, 5, 6]);
    assert_eq!(program.names.task_text(b), "b");
    assert_eq!(program.names.group_text(g), "/g");
}

#[test]
fn the_header() {
    let program = parse(
        "# first a comment\n\nfairlab-ops 1\nbase_slice_ns 3000000\n\
         features NO_PLACE_LAG NEXT_BUDDY\n\
         features PARANOID_AVG\ncpus 512\nhz 250\ncgroup_mode tasks\n",
    );
    let header = &program.header;
    assert_eq!((header.cpus, header.hz, header.base_slice_ns), (512, 250, Some(3_000_000)));
    assert_eq!(header.features, ["NO_PLACE_LAG", "NEXT_BUDDY", "PARANOID_AVG"]);
    assert_eq!(header.cgroup_mode, CgroupMode::Tasks);
    assert_eq!(parse(&print(&program)).header, *header);
    assert_eq!(parse("fairlab-ops 1").header, Program::default().header);
}

#[test]
fn line_ends_blanks_and_a_missing_last_newline() {
    let plain = parse("fairlab-ops 1\ncpus 1\ntask a\nnew a\n");
    for same in [
        "fairlab-ops 1\r\ncpus 1\r\ntask a\r\nnew a\r\n",
        "fairlab-ops\t1\n  cpus \t 1\n\ttask a\t\n new  a",
    ] {
        assert_eq!(parse(same), plain);
    }
}

#[test]
fn a_bad_header_is_refused_with_its_place() {
    for (bytes, begins, says) in [
        (&b""[..], "t.ops:1:1: the file is empty", "fairlab-ops 1"),
        (b"\n# nothing\n", "t.ops:1:1: there is no statement", "fairlab-ops 1"),
        (b"cpus 1\n", "t.ops:1:1: it begins with 'cpus'", "fairlab-ops 1"),
        (b"\x7fELF\x02\x01\0\0\0\n", "t.ops:1:1: it begins with '\\x7fELF", "fairlab-ops 1"),
        (b"\xff\xfef\0", "t.ops:1:1: it begins with '\\xff\\xfef\\0'", "fairlab-ops 1"),
        (b"fairlab-ops 2\n", "t.ops:1:13: version '2'", "version 1"),
        (b"fairlab-ops\n", "t.ops:1:12: a value is missing", "cpus 1"),
        (b"fairlab-ops 1\ncpus 0\n", "t.ops:2:6: cpus 0 is out of range", "1 to 512"),
        (b"fairlab-ops 1\ncpus 513\n", "t.ops:2:6: cpus 513 is out of range", "1 to 512"),
        (b"fairlab-ops 1\ncpus 1\ncpus 1\n", "t.ops:3:1: cpus is given twice", "line 2"),
        (b"fairlab-ops 1\nfairlab-ops 1\n", "t.ops:2:1: fairlab-ops is given twice", "line 1"),
        (b"fairlab-ops 1\nhz 999\n", "t.ops:2:4: hz 999", "100, 250, 300 or 1000"),
        (b"fairlab-ops 1\nhz 100 x\n", "t.ops:2:8: unexpected word 'x'", "drop it"),
        (b"fairlab-ops 1\nbase_slice_ns 4294967296\n", "t.ops:2:15: base_slice_ns", "0 to"),
        (
            b"fairlab-ops 1\nfeatures NO_PLACELAG\n",
            "t.ops:2:10: unknown feature 'PLACELAG'",
            "did you mean PLACE_LAG?",
        ),
        (
            b"fairlab-ops 1\ncgroup_mode smt\n",
            "t.ops:2:13: unknown cgroup mode 'smt'",
            "did you mean smp?",
        ),
    ] {
        let text = refused(bytes);
        assert!(text.starts_with(begins) && text.contains(says), "{text}");
    }
}

#[test]
fn a_bad_statement_is_refused_with_its_place() {
    for (statement, begins, says) in [
        ("wkae a", "t.ops:4:1: unknown statement 'wkae'", "did you mean wake?"),
        ("frobnicate a", "t.ops:4:1: unknown statement 'frobnicate'", "known are: at group task"),
        ("at", "t.ops:4:3: T is missing", "at T"),
        ("at 999999", "t.ops:4:4: time goes back: 999999 is before 1000000", "1000000 or later"),
        ("at 5000000\nat 4999999", "t.ops:5:4: time goes back", "5000000 or later"),
        (
            "at 18446744073709551616",
            "t.ops:4:4: the time '18446744073709551616' is beyond 64 bits",
            "18446744073709551615",
        ),
        ("at 1e9", "t.ops:4:4: '1e9' is not a number", "decimal digits"),
        ("at -5", "t.ops:4:4: '-5' is not a number", "decimal digits"),
        ("tick 4", "t.ops:4:6: there is no CPU 4", "0 to 3"),
        ("tick 0 0", "t.ops:4:8: unexpected word '0'", "tick C"),
        ("block", "t.ops:4:6: the CPU is missing", "block C"),
        ("task idle", "t.ops:4:6: 'idle' is no task name", "neither idle nor -"),
        ("task -", "t.ops:4:6: '-' is no task name", "1 to 31"),
        ("task a23456789012345678901234567890123", "t.ops:4:6: ", "1 to 31"),
        ("task a\u{e9}", "t.ops:4:6: 'a\u{e9}' is no task name", "A-Z"),
        ("task a/b", "t.ops:4:6: 'a/b' is no task name", "A-Z"),
        ("task a nice 20", "t.ops:4:13: nice '20' is out of range", "-20 to 19"),
        ("task a nice -21", "t.ops:4:13: nice '-21' is out of range", "-20 to 19"),
        ("task a nice 5 nice 5", "t.ops:4:15: 'nice' is given twice", "drop one"),
        ("task a policy fifo", "t.ops:4:15: unknown policy 'fifo'", "normal batch idle"),
        ("task a weight 3", "t.ops:4:8: unexpected word 'weight'", "task NAME [cpu C]"),
        ("task a slice", "t.ops:4:13: a number is missing", "slice NS"),
        ("task a group a", "t.ops:4:14: 'a' is no group path", "/a/b"),
        ("group /a/", "t.ops:4:7: '/a/' is no group path", "/a/b"),
        ("group /a//b", "t.ops:4:7: ", "/a/b"),
        ("group /", "t.ops:4:7: the root group has no parent", "/a"),
        ("shares / 5", "t.ops:4:8: the root group has no shares", "/a"),
        ("quota / 1000 max", "t.ops:4:7: the root group has no quota", "/a"),
        ("quota /a 999 max", "t.ops:4:10: the period 999 is out of range", "1000 to 1000000"),
        ("quota /a 1000001 max", "t.ops:4:10: the period", "1000 to 1000000"),
        ("quota /a 1000 999", "t.ops:4:15: the quota 999 is out of range", "1000 to"),
        ("group-idle /a 2", "t.ops:4:15: the setting 2 is out of range", "0 to 1"),
        (
            "param a nice 1 policy normal slice 0",
            "t.ops:4:9: 'nice' stands where policy is expected",
            "param NAME policy P",
        ),
        ("wake a sync sync", "t.ops:4:13: 'sync' is given twice", "drop one"),
        ("wake a later", "t.ops:4:8: unexpected word 'later'", "wake NAME [sync] [cpu C]"),
        ("timers 0", "t.ops:4:8: unexpected word '0'", "timers"),
        ("tick\u{0} 0", "t.ops:4:1: unknown statement 'tick\\0'", "did you mean tick?"),
    ] {
        let text = refused_statement(statement);
        assert!(text.starts_with(begins) && text.contains(says), "{statement}: {text}");
    }
    let text = refused_statement("tick 0\nhz 100");
    assert!(text.starts_with("t.ops:5:1: 'hz' belongs to the header"), "{text}");
    let text = refused_statement("tick 0\nfairlab-ops 1");
    assert!(text.starts_with("t.ops:5:1: 'fairlab-ops' belongs to the header"), "{text}");
}

#[test]
fn a_line_of_a_megabyte_is_named_shortly() {
    for line in
        ["y".repeat(1 << 20), format!("tick {}", "0 ".repeat(1 << 19)), "task ".repeat(1 << 18)]
    {
        let text = refused_statement(&line);
        assert!(text.len() < 600, "{} bytes", text.len());
    }
    let comment = format!("{HEAD}# {}\ntick 0\n", "z".repeat(1 << 20));
    assert_eq!(parse(&comment).statements.len(), 1);
}

#[test]
fn what_stands_before_the_first_error_is_kept() {
    let text = format!("{HEAD}task a\nnew a\nwake\nschedule 0\nnonsense\n");
    let (program, error) = parse_prefix("t.ops", text.as_bytes());
    assert_eq!(program.statements.len(), 2);
    assert!(error.expect("line 6 is wrong").to_string().starts_with("t.ops:6:5: NAME is missing"));
    let mut reader = Reader::new("t.ops", text.as_bytes()).expect("the header is good");
    assert_eq!(reader.by_ref().count(), 3, "two statements and an error, then nothing");
    assert_eq!(reader.names().nr_tasks(), 1);
    assert_eq!(reader.header().cpus, 4);
}

#[test]
fn the_source_line_is_as_it_was_written() {
    let text = b"fairlab-ops 1\n\n  task  a\t\r\nnew a";
    let source = Source::new(text);
    assert_eq!(source.line(3), Some(&b"task  a"[..]));
    assert_eq!(source.line(4), Some(&b"new a"[..]));
    assert_eq!((source.line(0), source.line(5)), (None, None));
}

#[test]
fn ten_thousand_names_are_not_quadratic() {
    let mut text = HEAD.to_string();
    for round in 0..20 {
        for task in 0..10_000 {
            text.push_str(&format!(
                "{} name-of-task-{task}\n",
                if round == 0 { "task" } else { "new" }
            ));
        }
    }
    let program = parse(&text);
    assert_eq!((program.statements.len(), program.names.nr_tasks()), (200_000, 10_000));
}

/// Words that statements are made of, and some that they are not.
const WORDS: [&str; 25] = [
    "at",
    "task",
    "a",
    "/",
    "/a",
    "nice",
    "-1",
    "0",
    "param",
    "policy",
    "idle",
    "slice",
    "quota",
    "max",
    "\n",
    "99999999999999999999",
    "wake",
    "sync",
    "cpu",
    "group",
    "#",
    "features",
    "\t",
    "-",
    "\u{e4}",
];

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_program("t.ops", &bytes);
    }

    #[test]
    fn no_words_make_it_panic(
        words in proptest::collection::vec(
            proptest::sample::select(WORDS.to_vec()),
            0..40,
        )
    ) {
        let text = format!("{HEAD}{}", words.join(" "));
        if let Err(error) = parse_program("t.ops", text.as_bytes()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
