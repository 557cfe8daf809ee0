// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab ops` as its users meet it: what is printed where, and with which exit code it ends.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TWO_HOGS: &str = "\
fairlab-ops 1
# two hogs
cpus 1
hz 1000
task a
task  b\t
new a
at 1000000
new b
schedule 0
";

/// The core digests of the kernel's own code for the first three operations.
const FIRST_DIGESTS: [&str; 3] =
    ["1 core=0dda95357b171601", "2 core=c5cb7982d47c14e2", "3 core=18ea50b9711d50b8"];

fn fairlab(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command.args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    fairlab(args).output().expect("the program starts")
}

fn with_stdin(args: &[&str], input: &[u8]) -> Output {
    let mut child = fairlab(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It may end before it has read all.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("it is text")
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("killed: {}", err(output)))
}

/// Checks that it ended with exit code 2 and one line of error after the remarks, and returns that
/// line.
fn refused(output: &Output) -> String {
    assert_eq!(code(output), 2, "{}", err(output));
    let text = err(output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_string()
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("the folder can be written");
    path.to_str().expect("it is UTF-8").to_string()
}

#[test]
fn run_prints_a_digest_an_operation_and_nothing_else() {
    let output = with_stdin(&["ops", "run", "-"], TWO_HOGS.as_bytes());
    assert_eq!(code(&output), 0);
    let text = out(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    for (line, digest) in lines.iter().zip(FIRST_DIGESTS) {
        assert!(line.starts_with(digest), "{line}");
    }
    for (line, number) in lines.iter().zip(1..) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words.len(), 3, "{line}");
        assert_eq!(words[0], number.to_string());
        assert_eq!(words[1].len(), "core=".len() + 16, "{line}");
        assert!(words[2] == "pelt=-" || words[2].len() == "pelt=".len() + 16, "{line}");
    }
    let remark = err(&output);
    assert!(remark.starts_with("# fairlab ") && remark.lines().count() == 1, "{remark}");
    assert!(remark.contains("features: defaults, patches: none"), "{remark}");
}

#[test]
fn every_kth_or_no_digest() {
    let all = out(&with_stdin(&["ops", "run", "-"], TWO_HOGS.as_bytes()));
    let second: Vec<&str> = all.lines().skip(1).step_by(2).collect();
    let every = with_stdin(&["ops", "run", "-", "--digest-every", "2"], TWO_HOGS.as_bytes());
    assert_eq!(out(&every).lines().collect::<Vec<_>>(), second);
    let none = with_stdin(&["ops", "run", "--digest-every", "0", "-"], TWO_HOGS.as_bytes());
    assert_eq!((code(&none), out(&none).as_str()), (0, ""));
}

#[test]
fn a_dump_shows_the_statement_as_written_and_the_texts() {
    let dump = |args: &[&str]| {
        let output = with_stdin(&[&["ops", "run", "-"], args].concat(), TWO_HOGS.as_bytes());
        assert_eq!(code(&output), 0, "{}", err(&output));
        out(&output)
    };
    let second = dump(&["--dump", "2"]);
    let expected = [
        "@2 task  b",
        "rq 0 clock=0 clock_task=0 nr_running=0 nr_switches=0 resched=none curr=idle",
        "cfs 0 / load=0 nr_queued=0 h_nr_queued=0 h_nr_runnable=0 h_nr_idle=0 h_curr=- \
         sum_w_vruntime=0 sum_weight=0 sum_shift=0 zero_vruntime=18446744073708503040 curr=- \
         next=-",
        "task a cpu=0 on_rq=0 se.on_rq=0 sched_delayed=0 rel_deadline=0 custom_slice=0 \
         load=1048576 h_load=0 vruntime=0 deadline=0 vlag=0 slice=700000 vprot=0 exec_start=0 \
         sum_exec_runtime=0 prev_sum_exec_runtime=0",
        "task b ",
    ]
    .join("\n");
    assert!(second.starts_with(&expected), "{second}");
    let every = dump(&["--dump-every", "2"]);
    let heads: Vec<&str> = every.lines().filter(|line| line.starts_with('@')).collect();
    assert_eq!(heads, ["@2 task  b", "@4 new b"]);
    assert!(every.starts_with(&second), "the first of them is the same");
    let pretty = dump(&["--dump", "5", "--pretty"]);
    assert!(
        pretty.starts_with("@5 schedule 0\ncpu#0\n") && pretty.contains("\n  b    queued "),
        "{pretty}"
    );
    assert!(pretty.lines().all(|line| line.len() <= 110), "{pretty}");
}

#[test]
fn options_that_make_no_sense() {
    let beyond = with_stdin(&["ops", "run", "-", "--dump", "6"], TWO_HOGS.as_bytes());
    assert!(refused(&beyond).contains("--dump 6: there is no such operation; use 1 to 5"));
    let feature =
        with_stdin(&["ops", "run", "-", "--features", "NO_PLACELAG"], TWO_HOGS.as_bytes());
    assert!(refused(&feature).contains("did you mean PLACE_LAG?"));
    let patch = with_stdin(&["ops", "run", "-", "--patch", "no-such-patch"], TWO_HOGS.as_bytes());
    assert!(refused(&patch).contains("no-such-patch"));
    for args in
        [&["--pretty"][..], &["--dump", "1", "--dump-every", "1"], &["--digest-every", "-1"]]
    {
        let output = with_stdin(&[&["ops", "run", "-"], args].concat(), TWO_HOGS.as_bytes());
        assert_eq!(code(&output), 2, "{args:?}");
    }
}

#[test]
fn features_and_patches_change_the_run_and_are_named() {
    // b sleeps while it is not eligible: its dequeue is delayed.
    let text = "fairlab-ops 1\ntask a\ntask b\nnew a\nnew b\nschedule 0\nat 1400000\nschedule 0\n\
                at 1600000\nblock 0\nat 1700000\nwake b\nat 1800000\nschedule 0\n\
                at 2600000\nblock 0\n";
    let plain = with_stdin(&["ops", "run", "-"], text.as_bytes());
    let changed = with_stdin(
        &["ops", "run", "-", "--features", "NO_DELAY_DEQUEUE", "--patch", "skip-dequeue-charge"],
        text.as_bytes(),
    );
    assert_ne!(out(&plain), out(&changed), "b is not delayed");
    let remark = err(&changed);
    assert!(
        remark.contains("NO_DELAY_DEQUEUE") && remark.contains("skip-dequeue-charge"),
        "{remark}"
    );
    let header = text.replace("1\ntask a\n", "1\nfeatures NO_DELAY_DEQUEUE\ntask a\n");
    assert_eq!(out(&with_stdin(&["ops", "run", "-"], header.as_bytes())), out(&changed));
}

#[test]
fn digests_before_a_bad_statement_stay_printed() {
    for (statement, says) in [
        ("wkae a", "bad.ops:11:1: unknown statement 'wkae'; did you mean wake?"),
        ("at 999999", "bad.ops:11:4: time goes back"),
        ("wake a", "bad.ops:11:1: task 'a'"),
        ("wake nobody", "bad.ops:11:1: there is no task 'nobody'"),
        ("tick 1", "bad.ops:11:6: there is no CPU 1"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = file(
            folder.path(),
            "bad.ops",
            &format!("{TWO_HOGS}{statement}\nschedule 0\nrubbish\n"),
        );
        let output = run(&["ops", "run", &path]);
        let line = refused(&output);
        assert!(line.contains(says), "{line}");
        assert_eq!(out(&output).lines().count(), 5, "{statement}");
    }
}

#[test]
fn illegal_statements_can_be_left_out() {
    let text = TWO_HOGS.replace("schedule 0", "wake a\nschedule 0\nyield-to 0 a");
    let args = ["ops", "run", "-", "--skip-illegal"];
    let output = with_stdin(&args, text.as_bytes());
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(out(&output), out(&with_stdin(&["ops", "run", "-"], TWO_HOGS.as_bytes())));
    assert!(err(&output).contains("# 2 statements were not legal"), "{}", err(&output));
    // What is no statement at all is still an error.
    refused(&with_stdin(&args, b"fairlab-ops 1\nrubbish\n"));
}

#[test]
fn nonsense_gets_one_line() {
    let megabyte = format!("fairlab-ops 1\n{}\n", "x".repeat(1 << 20));
    let long_number = "fairlab-ops 1\nat 99999999999999999999999\n";
    for (input, says) in [
        (&b""[..], "standard input:1:1: the file is empty"),
        (
            b"\x7fELF\x02\x01\x01\0",
            "standard input:1:1: it begins with '\\x7fELF\\x02\\x01\\x01\\0'",
        ),
        (b"fairlab-ops 1\n\0\0\0", "standard input:2:1: unknown statement '\\0\\0\\0'"),
        (megabyte.as_bytes(), "(1048576 bytes)"),
        (
            long_number.as_bytes(),
            "standard input:2:4: the time '99999999999999999999999' is beyond 64 bits",
        ),
    ] {
        let output = with_stdin(&["ops", "run", "-"], input);
        let line = refused(&output);
        assert!(line.contains(says) && line.contains("; ") && line.len() < 700, "{line}");
        assert!(!line.contains("panicked"), "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("missing.ops");
    let missing = missing.to_str().expect("it is UTF-8");
    assert!(refused(&run(&["ops", "run", missing])).contains("missing.ops: cannot read it"));
    assert!(refused(&run(&["ops", "shrink", missing])).contains("missing.ops: cannot read it"));
    let of_folder = run(&["ops", "run", folder.path().to_str().expect("it is UTF-8")]);
    assert!(refused(&of_folder).contains("cannot read it"));
    let output = run(&["ops", "gen", "--out", &format!("{missing}/x")]);
    assert_eq!(code(&output), 3, "{}", err(&output));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let made = run(&["ops", "gen", "--ops", "20000"]);
    for verb in [&["ops", "run", "-"][..], &["ops", "gen", "--ops", "100000"]] {
        let mut child = fairlab(verb)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = made.stdout.clone();
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let mut first = [0; 10];
        child.stdout.take().expect("piped").read_exact(&mut first).expect("something is printed");
        let output = child.wait_with_output().expect("it ends");
        let _ = feeder.join();
        assert_eq!(code(&output), 0, "{}", err(&output));
        assert!(err(&output).lines().all(|line| line.starts_with('#')), "{}", err(&output));
    }
}

#[test]
fn gen_makes_the_same_legal_file_for_a_seed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.ops");
    let path = path.to_str().expect("it is UTF-8");
    let to_stdout =
        run(&["ops", "gen", "--ops", "3000", "--seed", "5", "--features", "NEXT_BUDDY"]);
    let args =
        ["ops", "gen", "--ops", "3000", "--seed", "5", "--features", "NEXT_BUDDY", "--out", path];
    assert_eq!((code(&to_stdout), code(&run(&args))), (0, 0));
    assert_eq!(fs::read(path).expect("it was written"), to_stdout.stdout);
    let text = out(&to_stdout);
    assert!(text.starts_with("fairlab-ops 1\n# fairlab "), "{}", &text[..200]);
    assert!(text.contains("\nfeatures NEXT_BUDDY\n"), "{}", &text[..200]);
    let digests = run(&["ops", "run", path]);
    assert_eq!((code(&digests), out(&digests).lines().count()), (0, 3_000));
    let other = run(&["ops", "gen", "--ops", "3000", "--seed", "6", "--features", "NEXT_BUDDY"]);
    assert_ne!(out(&other), text);
    for seed in 1..12_u32 {
        let (seed, tasks) = (seed.to_string(), (seed * 6).to_string());
        let swarm =
            run(&["ops", "gen", "--swarm", "--seed", &seed, "--tasks", &tasks, "--ops", "2000"]);
        let replayed = with_stdin(&["ops", "run", "-", "--digest-every", "0"], &swarm.stdout);
        assert_eq!(code(&replayed), 0, "{}", err(&replayed));
    }
}

#[test]
fn shrink_keeps_the_failure_in_a_few_lines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let long = file(folder.path(), "long.ops", &out(&run(&["ops", "gen", "--ops", "20000"])));
    for (patch, kind) in [
        ("stale-augment-copy", "difference"),
        ("stale-augment-copy", "invariant"),
        ("no-charge-before-requeue", "difference"),
    ] {
        let args = ["--patch", patch, "--fails-with", kind];
        let output = run(&[&["ops", "shrink", &long], &args[..]].concat());
        assert_eq!(code(&output), 1, "{patch}: {}", err(&output));
        let small = out(&output);
        let statements = small.lines().skip(1).filter(|line| !line.starts_with('#')).count();
        assert!(statements <= 25, "{patch}: {small}");
        assert!(small.lines().nth(1).is_some_and(|line| line.contains(patch)), "{small}");
        // It still fails, and is as small as it gets.
        let path = file(folder.path(), "small.ops", &small);
        let again = run(&[&["ops", "shrink", &path], &args[..]].concat());
        let lines = |text: &str| text.lines().skip(2).map(str::to_string).collect::<Vec<_>>();
        assert_eq!((code(&again), lines(&out(&again))), (1, lines(&small)));
        if kind == "invariant" {
            let checked = run(&["ops", "run", &path, "--patch", patch, "--check"]);
            assert_eq!(code(&checked), 1, "{}", err(&checked));
            assert!(err(&checked).contains("[I-AUG]"), "{}", err(&checked));
            assert_eq!(code(&run(&["ops", "run", &path, "--check"])), 0, "the base is sound");
        }
        assert_eq!(
            code(&run(&["ops", "run", &path, "--patch", patch])),
            0,
            "its operations are legal"
        );
    }
    let fine = run(&["ops", "shrink", &long, "--patch", "skip-dequeue-charge"]);
    assert_eq!((code(&fine), out(&fine).as_str()), (0, ""), "{}", err(&fine));
    assert!(err(&fine).contains("does not fail"), "{}", err(&fine));
}
