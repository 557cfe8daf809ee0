// SPDX-License-Identifier: GPL-2.0-only
//! The verb replay, run as a user runs it: what it prints, its exit codes, and that no input is too bad for it.

use proptest::prelude::*;
use sched_hosted::compare::Interrupt;
use sched_hosted::ops::Header;
use sched_hosted::replay::report::{html::html, json, report, screen::screen};
use sched_hosted::replay::run::{Plan, run};
use sched_hosted::replay::state;
use std::process::{Command, Output};

fn path(name: &str) -> String {
    format!("{}/tests/traces/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn fairlab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fairlab")).arg("replay").args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_screen_says_how_far_the_model_agrees() {
    let output = fairlab(&[&path("ring15-ns-7.3.txt.xz")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = out(&output);
    for word in [
        "fairlab ",
        "class v7.3",
        "no patch",
        "last woken",
        "longest waiting",
        "Along the recording",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
}

#[test]
fn json_and_html_hold_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let output =
        fairlab(&[&path("player-nice0-7.3.txt.xz"), "--json", "--html", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let value: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let of = value["total"]["of"].as_u64().unwrap();
    assert!(of > 4000 && value["total"]["agreed"].as_u64().unwrap() * 100 > of * 90);
    assert!(!value["disagreements"][0]["candidates"].as_array().unwrap().is_empty());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.ends_with("</html>\n") && !page.contains("http"));
}

#[test]
fn lint_says_what_is_missing() {
    let output = fairlab(&["--lint", &path("ring15-ns-7.3.txt.xz")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(out(&output).contains("Nothing is missing"));

    let dir = tempfile::tempdir().unwrap();
    let bare = dir.path().join("bare.txt");
    let line = |at: u64, prev: u32, next: u32| {
        format!(
            "x-{prev} [000] {at}.000001: sched_switch: prev_comm=x prev_pid={prev} prev_prio=120 prev_state=S ==> \
             next_comm=x next_pid={next} next_prio=120\n"
        )
    };
    std::fs::write(&bare, [line(1, 5, 6), line(2, 6, 5)].concat()).unwrap();
    let output = fairlab(&["--lint", bare.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for word in ["wakeups", "sched_stat_runtime", "latency flags"] {
        assert!(out(&output).contains(word), "{word}");
    }
    // It is replayed all the same.
    assert_eq!(fairlab(&[bare.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn bad_arguments_are_one_line() {
    let ring = path("ring15-ns-7.3.txt.xz");
    for (args, code) in [
        (vec!["/no/such/file"], 2),
        (vec![ring.as_str(), "--hz", "17"], 2),
        (vec![ring.as_str(), "--patch", "no-such"], 2),
        (vec![ring.as_str(), "--features", "NO_SUCH"], 2),
        (vec![ring.as_str(), "--base-slice", "7"], 2),
        (vec![ring.as_str(), "--kernel", "6.1"], 3),
        (vec![ring.as_str(), "--tasks", "/no/such/file"], 2),
        (vec![ring.as_str(), "--state", ring.as_str()], 2),
    ] {
        let output = fairlab(&args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?} {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_dump_of_the_debug_file_gives_lags_and_requests() {
    let text = "cpu#0, 1000 MHz\ncfs_rq[0]:/\n  .avg_vruntime : 100.000000\nrunnable tasks:\n\
        S task PID weight vruntime eligible deadline slice sum-exec\n----\n\
        S init 1 1048576 99.000000 E 99.700000 0.700000 1.0\n\
        >R my task 77 1048576 100.500000 N 101.000000 0.700000 1.0\n";
    let state = state::parse(text);
    assert_eq!((state[&1].lag_ns, state[&1].request_ns), (1_000_000, 700_000));
    assert_eq!((state[&77].lag_ns, state[&77].request_ns), (-500_000, 500_000));
    assert!(state[&77].awake && !state[&1].awake);
}

fn replay_bytes(bytes: &[u8]) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let plan = Plan {
        path: file.path().to_str().unwrap().to_string(),
        machine: Header { hz: 250, ..Header::default() },
        setup: Default::default(),
        state: None,
        trial: None,
        cases: 3,
    };
    if let Ok(replayed) = run(&plan, &Interrupt::default(), &|_| {}) {
        let report = report(&plan, &replayed);
        assert!(
            !screen(&report).is_empty() && !html(&report).is_empty() && !json(&report).is_empty()
        );
    }
}

fn forkloop() -> Vec<u8> {
    std::fs::read(path("forkloop-7.3-smp2.txt")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A recording with a few bytes changed, lines dropped and lines doubled is replayed to an end.
    #[test]
    fn no_damage_is_too_bad(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        drops in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut bytes = forkloop();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let mut lines: Vec<&[u8]> = bytes.split(|c| *c == b'\n').collect();
        for (n, index) in drops.into_iter().enumerate() {
            let at = index.index(lines.len());
            if n % 2 == 0 { lines.remove(at); } else { lines.insert(at, lines[at]); }
        }
        replay_bytes(&lines.join(&b'\n'));
    }

    #[test]
    fn no_bytes_are_too_bad(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        replay_bytes(&bytes);
    }

    #[test]
    fn no_dump_is_too_bad(text in ".{0,400}") {
        state::parse(&text);
    }
}
