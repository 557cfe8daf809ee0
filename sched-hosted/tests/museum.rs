// SPDX-License-Identifier: GPL-2.0-only
//! The museum: real bugs of the past, each found by `fairlab check`, soon and in few statements. Needs the feature
//! `museum`; with a seed of its own, so that what is found is not what one seed happens to show.
#![cfg(feature = "museum")]

use sched_core::museum::{absent, exhibits};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Statements beyond group, task and new that a bug may take to be told.
const STATEMENTS_MAX: u64 = 20;

fn fairlab(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command.args(args).current_dir(dir).output().expect("the program starts")
}

fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).expect("there is a report");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

#[test]
fn each_exhibit_is_found_and_small() {
    let dir = tempfile::tempdir().unwrap();
    let output = fairlab(dir.path(), &["museum", "--seed", "2", "--out", ".", "--json", "m.json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let report = json(&dir.path().join("m.json"));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), exhibits().count());
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row["equivalent"] == "") {
        let id = row["id"].as_str().unwrap();
        match row["finding"]["beyond"].as_u64() {
            None => wrong.push(format!("{id}: not found")),
            Some(beyond) if beyond > STATEMENTS_MAX => {
                wrong.push(format!("{id}: {beyond} statements"))
            }
            Some(_) => wrong.extend(replays(dir.path(), row).err()),
        }
    }
    assert!(wrong.is_empty(), "{}\n{text}", wrong.join("\n"));
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// The command of a finding fails again, for the same reason.
fn replays(dir: &Path, row: &Value) -> Result<(), String> {
    let command = row["finding"]["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let output = fairlab(dir, &words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let label = row["finding"]["label"].as_str().unwrap();
    let reason = match label {
        "WARN" => "the kernel warns",
        "panic" => "panicked",
        "hang" => "hung in",
        invariant => invariant,
    };
    if output.status.code() == Some(1) && (said.contains(reason) || said.contains("endless loop")) {
        return Ok(());
    }
    Err(format!("{}: {command} says: {said}", row["id"]))
}

#[test]
fn ids_are_told_apart_and_rows_are_complete() {
    let mut ids = BTreeSet::new();
    let mut bugs = Vec::new();
    for exhibit in exhibits() {
        let id = exhibit.id;
        let short = id.split('-').next().unwrap();
        assert!(ids.insert(short), "{id} is there twice");
        assert!(!bugs.contains(&exhibit.bug), "{id} has the bit of another");
        bugs.push(exhibit.bug);
        assert!(!exhibit.origin.is_empty() && !exhibit.what.is_empty(), "{id}");
        assert!(!exhibit.expected.is_empty() || !exhibit.equivalent.is_empty(), "{id}");
    }
    for absent in absent() {
        assert!(ids.insert(absent.id.split('-').next().unwrap()), "{} is there twice", absent.id);
        assert!(!absent.why.is_empty(), "{}", absent.id);
    }
}

#[test]
fn a_class_that_hangs_is_caught_named_and_shrunk() {
    let dir = tempfile::tempdir().unwrap();
    let args =
        ["check", "--bug", "Z00", "--ops", "100000", "--hung-after-ms", "1000", "--json", "r.json"];
    let output = fairlab(dir.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let found = &json(&dir.path().join("r.json"))["found"];
    assert_eq!(found["label"], "hang");
    let sentence = found["explanation"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("hung in `wake "), "{sentence}");
    // Two tasks, one of which sleeps early, and its wakeup.
    assert!(found["beyond"].as_u64().unwrap() <= 6, "{found}");

    let command = found["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let replay = fairlab(dir.path(), &words);
    assert_eq!(replay.status.code(), Some(1), "{command}");
    let said = String::from_utf8_lossy(&replay.stderr).into_owned();
    assert!(said.contains("hung in `wake "), "{said}");
}

#[test]
fn unknown_ids_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for args in
        [&["museum", "Q77"][..], &["museum", "--seconds", "0"], &["museum", "--out", "none"]]
    {
        let output = fairlab(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{args:?}");
    }
}
