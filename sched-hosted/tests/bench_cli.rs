// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab bench`, run as a user runs it. What a path costs is not asked here; what is: that rows are what they are
//! called, that counts repeat to the instruction, that both classes end in the same state, and what nonsense is told.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn fairlab(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command.arg("bench").args(args).output().expect("the program starts")
}

/// Exit code, standard output and standard error.
fn bench(args: &[&str]) -> (i32, String, String) {
    let output = fairlab(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn json(args: &[&str]) -> Value {
    let all: Vec<&str> = args.iter().copied().chain(["--json", "-"]).collect();
    let (code, text, err) = bench(&all);
    assert_eq!(code, 0, "{text}{err}");
    serde_json::from_str(&text).expect("it is JSON")
}

fn has_valgrind() -> bool {
    let status = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = status.is_ok_and(|status| status.success());
    if !there {
        eprintln!("NOT CHECKED: there is no valgrind here");
    }
    there
}

const FAST: &[&str] = &["--no-kernel", "--no-instructions", "--runs", "2"];

#[test]
fn every_path_is_timed() {
    let results = json(&[&["--row", "*/15/1/mixed"], FAST].concat());
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    for row in rows {
        let (ns, ops) = (row["ns"][0].as_f64(), row["ops"].as_u64().unwrap());
        assert!(ops > 0 && ns.is_some_and(|ns| ns > 0.0 && ns < 1e6), "{row}");
    }
    let setting = &results["setting"];
    for key in ["fairlab", "machine", "compiler"] {
        assert!(!setting[key].as_str().unwrap().is_empty(), "{key}");
    }
}

#[test]
fn a_table_says_what_it_holds_for_and_why_there_is_no_c() {
    let (code, text, err) = bench(&[&["--row", "pick/2/0/equal"], FAST].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(text.starts_with("fairlab ") && text.contains("rustc 1."), "{text}");
    assert!(text.contains("note     C is not timed: it is left out"), "{text}");
    assert!(text.contains("\npick/2/0/equal "), "{text}");
}

#[test]
fn results_are_kept_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (json, svg) = (file("r.json"), file("r.svg"));
    let (code, ..) = bench(&[&["--row", "pick//0/equal", "--json", &json], FAST].concat());
    assert_eq!(code, 0);
    let (code, text, _) = bench(&["--from", &json, "--svg", &svg, "--peers", &json, "--markdown"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.lines().any(|line| line.starts_with("| pick | ")), "{text}");
    let picture = std::fs::read_to_string(&svg).unwrap();
    // Five numbers of tasks, twice.
    assert_eq!(picture.matches("<circle").count(), 10);
}

#[test]
fn nonsense_is_told_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.json").display().to_string();
    std::fs::write(&bad, "{\"setting\": 3}").unwrap();
    for (args, word) in [
        (vec!["--row", "pick/3"], "no such row"),
        (vec!["--row", "pick", "--runs", "0"], "--runs"),
        (vec!["--patch", "no-such-patch"], "no-such-patch"),
        (vec!["--patch", "x", "--against", "HEAD"], "cannot be used"),
        (vec!["--against", "no-such-revision\u{1b}[31m"], "no such revision"),
        (vec!["--against", "--upload-pack=x"], "--upload-pack"),
        (vec!["--linux", "/nowhere", "--row", "pick/2/0/equal"], "/nowhere"),
        (vec!["--from", "/nowhere.json"], "/nowhere.json"),
        (vec!["--from", &bad], "no result"),
        (vec!["--baseline", &bad], "no baseline"),
        (vec!["--peers", "x"], "--svg"),
    ] {
        if args[0] == "--baseline" && !has_valgrind() {
            continue;
        }
        let (code, text, err) = bench(&args);
        assert_eq!((code, text.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(word) && err.lines().count() == 1, "{args:?}: {err}");
        assert!(!err.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn instructions_repeat_and_growth_names_the_function() {
    if !has_valgrind() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (one, two) = (file("one.json"), file("two.json"));
    let rows = ["--row", "enqueue/15/0/mixed,tick/2/3/equal,handoff/2/0/equal"];
    for file in [&one, &two] {
        let (code, text, err) = bench(&[&rows[..], &["--save-baseline", file]].concat());
        assert_eq!((code, text.as_str()), (0, ""), "{err}");
    }
    let text = std::fs::read_to_string(&one).unwrap();
    assert_eq!(text, std::fs::read_to_string(&two).unwrap(), "to the instruction");

    let (code, text_now, _) = bench(&[&rows[..], &["--baseline", &one]].concat());
    assert_eq!(code, 0, "{text_now}");

    // A tick that had three percent fewer instructions before.
    let mut baseline: Value = serde_json::from_str(&text).unwrap();
    let row = &mut baseline["rows"]["tick/2/3/equal"];
    let before = row["instructions"].as_u64().unwrap();
    assert!(before > 0 && row["ops"].as_u64().unwrap() > 0);
    row["instructions"] = (before - before * 3 / 100).into();
    let functions = row["functions"].as_object_mut().unwrap();
    let (name, count) = functions.iter_mut().max_by_key(|(_, count)| count.as_u64()).unwrap();
    let name = name.clone();
    *count = (count.as_u64().unwrap() - before * 3 / 100).into();
    std::fs::write(&one, baseline.to_string()).unwrap();
    let (code, text, _) = bench(&[&rows[..], &["--baseline", &one]].concat());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("tick/2/3/equal: +3.") && text.contains(&name), "{text}");
    assert!(text.contains("1 grew"), "{text}");

    // Of another compiler nothing is known.
    baseline["compiler"] = "rustc 0.1".into();
    std::fs::write(&one, baseline.to_string()).unwrap();
    let (code, text, _) = bench(&[&rows[..], &["--baseline", &one]].concat());
    assert_eq!(code, 3);
    assert!(text.starts_with("NOT CHECKED: "), "{text}");
}

#[test]
fn a_skipped_charge_saves_where_a_pick_completes_a_dequeue_and_nowhere_else() {
    if !has_valgrind() {
        return;
    }
    let rows = "complete/2/0/equal,place/2/0/equal,switch/15/0/equal";
    let results = json(&["--patch", "skip-dequeue-charge", "--runs", "2", "--row", rows]);
    let change = |name: &str| {
        let rows = results["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["row"] == name).unwrap();
        let count = |side: usize| row["instructions"][side].as_f64().unwrap();
        count(0) - count(1)
    };
    assert!(change("complete/2/0/equal") < -5.0, "{}", change("complete/2/0/equal"));
    assert!(change("place/2/0/equal").abs() < 0.01);
    assert!(change("switch/15/0/equal").abs() < 8.0);
}

/// The rows of both classes are the same operations: they end in the same state.
#[test]
fn both_classes_end_in_the_same_state() {
    let rows = "*/2/0/equal,*/15/0/adversarial,*/15/1/equal,*/15/3/mixed,*/100/0/mixed";
    let args = ["--row", rows, "--no-instructions", "--runs", "2"];
    let (code, text, err) = bench(&args);
    if text.contains("C is not timed") {
        eprintln!("NOT CHECKED: {err}{text}");
        return;
    }
    assert_eq!(code, 0, "{text}{err}");
    assert!(text.contains(", 0 in another state."), "{text}");
}
