// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab check`, run as a user runs it: what it says when nothing is wrong, what it makes of a patch that is wrong,
//! and what it says to nonsense.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn fairlab(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command.args(args).current_dir(dir).output().expect("the program starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `fairlab check` with its report as JSON.
fn check(dir: &Path, args: &[&str]) -> (i32, Value, String) {
    let all: Vec<&str> = ["check", "--json", "r.json"].iter().chain(args).copied().collect();
    let output = fairlab(dir, &all);
    let code = output.status.code().expect("it ends by itself");
    let json = std::fs::read(dir.join("r.json")).unwrap_or_else(|_| panic!("{}", err(&output)));
    (code, serde_json::from_slice(&json).expect("it is JSON"), out(&output))
}

/// What must be the same whenever the same is asked for.
fn lasting(mut report: Value) -> Value {
    for what in ["seconds", "operations_per_second"] {
        report.as_object_mut().unwrap().remove(what);
    }
    if let Some(found) = report["found"].as_object_mut() {
        found.remove("seconds");
    }
    report
}

#[test]
fn v7_3_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let (code, report, text) = check(dir.path(), &["--ops", "60000", "--swarm", "--jobs", "2"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(report["operations"], 60_000);
    assert!(report["found"].is_null() && report["full_checks"].as_u64().unwrap() > 3_000);
    assert_eq!(report["worlds"].as_array().unwrap().len(), 4, "all kinds of machines: {text}");
    for part in
        ["fairlab ", "patches: none, seed: 1", "60 000 operations", "Nothing found.", "wake "]
    {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "the report alone: {files:?}");
}

#[test]
fn a_wrong_patch_is_found_shrunk_told_and_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--patch", "stale-augment-copy", "--ops", "200000"];
    let (code, report, text) = check(dir.path(), &args);
    assert_eq!(code, 1, "{text}");
    let found = &report["found"];
    assert_eq!(found["label"], "I-AUG");
    assert!(found["beyond"].as_u64().unwrap() <= 20, "{text}");
    assert_eq!(found["complete"], true);
    let sentence = found["explanation"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("after `") && sentence.contains(" ms): task "), "{sentence}");
    assert!(sentence.ends_with("[I-AUG]") && text.contains(sentence), "{sentence}");
    assert!(text.contains("vruntime-V"), "the tasks concerned: {text}");

    // The command that is printed, as it is printed.
    let command = found["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let replay = fairlab(dir.path(), &words);
    assert_eq!(replay.status.code(), Some(1), "{command}");
    assert!(err(&replay).contains("[I-AUG]"), "{}", err(&replay));
    let sound: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.contains("patch") && *word != "stale-augment-copy")
        .collect();
    let without = fairlab(dir.path(), &sound);
    assert_eq!(without.status.code(), Some(0), "{}", err(&without));

    let file = std::fs::read_to_string(dir.path().join(found["file"].as_str().unwrap())).unwrap();
    assert!(
        file.contains(&format!("# {sentence}")) && file.contains(&format!("# replay: {command}"))
    );
}

#[test]
fn nothing_that_can_go_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report, _) = check(dir.path(), &["--patch", "stale-augment-copy", "--ops", "200000"]);
    let file = dir.path().join(report["found"]["file"].as_str().unwrap());
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("fairlab-ops") || line.starts_with('#') || line.starts_with("hz ") {
            continue;
        }
        let fewer: Vec<&str> = lines
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != at)
            .map(|(_, line)| *line)
            .collect();
        let path = dir.path().join("fewer.ops");
        std::fs::write(&path, fewer.join("\n") + "\n").unwrap();
        let args = [
            "ops",
            "run",
            "fewer.ops",
            "--check",
            "--skip-illegal",
            "--patch",
            "stale-augment-copy",
        ];
        let output = fairlab(dir.path(), &args);
        let fails = output.status.code() == Some(1);
        assert!(!fails || line.starts_with("cpus "), "{line:?} can go:\n{text}");
    }
}

#[test]
fn a_seed_gives_a_result_whatever_the_number_of_jobs() {
    for args in [
        &["--patch", "stale-augment-copy", "--ops", "100000", "--seed", "3"][..],
        &["--ops", "20000", "--seed", "4", "--swarm", "--kind", "flat,smp"],
    ] {
        let reports = ["1", "2"].map(|jobs| {
            let dir = tempfile::tempdir().unwrap();
            let all: Vec<&str> = args.iter().copied().chain(["--jobs", jobs]).collect();
            let (_, report, _) = check(dir.path(), &all);
            let file = report["found"]["file"].as_str();
            let file = file.map(|file| std::fs::read_to_string(dir.path().join(file)).unwrap());
            (lasting(report), file)
        });
        assert_eq!(reports[0], reports[1]);
    }
}

#[test]
fn options_choose_what_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let args =
        ["--ops", "5000", "--kind", "quota", "--tasks", "3", "--features", "NO_DELAY_DEQUEUE"];
    let (code, report, text) = check(dir.path(), &args);
    assert_eq!(code, 0, "{text}");
    assert_eq!(report["worlds"][0][0], "quota");
    assert_eq!(report["features"][0], "NO_DELAY_DEQUEUE");
    let words: Vec<&str> = report["statements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[0].as_str().unwrap())
        .collect();
    assert!(words.contains(&"timers") && !words.contains(&"finish-delayed"), "{words:?}");
}

#[test]
fn nonsense_is_answered_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["--ops", "0"][..],
        &["--seconds", "0"],
        &["--seconds", "1", "--ops", "1"],
        &["--jobs", "0"],
        &["--jobs", "100000"],
        &["--tasks", "0"],
        &["--tasks", "99999999"],
        &["--kind", "flat,round"],
        &["--patch", "no-such-patch"],
        &["--features", "NO_SUCH_FEATURE"],
        &["--out", "no/such/dir"],
        &["--seed", "-1"],
        &["--ops", "many"],
        &["what"],
    ] {
        let all: Vec<&str> = ["check"].iter().chain(args).copied().collect();
        let output = fairlab(dir.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[cfg(not(feature = "museum"))]
#[test]
fn without_the_museum_one_line_says_how_to_build_it() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["museum"][..], &["museum", "A01"], &["check", "--bug", "A01"]] {
        let output = fairlab(dir.path(), args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(err(&output).contains("--features museum"), "{}", err(&output));
        assert_eq!(err(&output).lines().count(), 1);
    }
}
