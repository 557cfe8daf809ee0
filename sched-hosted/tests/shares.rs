// SPDX-License-Identifier: GPL-2.0-only
//! Shares reach what the kernel documents: `tests/shares/*.ops` are recordings of ten virtual seconds
//! of one CPU, and say themselves who should have got how much of it.
//!
//! Comments in such a file, read here:
//!
//! * `# expect NAME|PATH FRACTION`: that task, or all tasks below that group, ran for this fraction
//!   (`1/4`, `0.25`) of the time, to within 1 %.
//! * `# off NAME|PATH FRACTION MEASURED`: it ought to be the first fraction, but the class is known to
//!   give the second, to within 1 %; and the first is missed by more than that.
//! * `# flat PATH WEIGHT MEASURED`: the flat weights of what is queued below that group ought to add
//!   up to the first number; the class makes them add up to the second, exactly.
//!
//! All but `stale.ops` are made by [`scenario`], and the ignored test rewrites them:
//! `cargo test -p sched-hosted --test shares -- --ignored`.

#[path = "shares/scenario.rs"]
mod scenario;

use sched_core::patches::Patches;
use sched_hosted::compare::side::{Side, Watch, Watched};
use sched_hosted::ops::class::{Depth, Object, Value};
use sched_hosted::ops::digest::State;
use sched_hosted::ops::text::parse_program;
use sched_hosted::ops::{Class, Program};
use std::fs;
use std::path::{Path, PathBuf};

/// How long a file runs that says who got which fraction, ns.
const TEN_SECONDS_NS: u64 = 10_000_000_000;
/// Files stay small enough to be read.
const LARGEST: usize = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shares")
}

fn files() -> Vec<(String, String)> {
    let listed = fs::read_dir(folder()).expect("it is there");
    let mut files: Vec<(String, String)> = listed
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "ops"))
        .map(|path| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("it is text"))
        })
        .collect();
    files.sort();
    files
}

/// A fraction, in millionths.
fn millionths(text: &str) -> u64 {
    if let Some((above, below)) = text.split_once('/') {
        let number = |text: &str| text.parse::<u64>().expect("a number");
        return number(above) * 1_000_000 / number(below);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<6}");
    whole.parse::<u64>().expect("a number") * 1_000_000 + part[..6].parse::<u64>().expect("digits")
}

/// What a file's comments ask for: the words of each that begins with one of `words`.
fn claims<'t>(text: &'t str, word: &str) -> Vec<Vec<&'t str>> {
    let comments = text.lines().filter_map(|line| line.strip_prefix("# "));
    let words = comments.map(|line| line.split(' ').collect::<Vec<_>>());
    words.filter(|words| words[0] == word).map(|words| words[1..].to_vec()).collect()
}

/// What ran, and what weighs, at the end of a run.
struct Outcome {
    state: State,
    class_groups: Vec<(String, String)>,
    ran_ns: u64,
}

impl Outcome {
    fn of(file: &str, program: &Program) -> Self {
        let base = Side::new(Patches::empty());
        base.with(&program.header, &program.names, Watch::default(), |class| {
            let mut first = None;
            for statement in &program.statements {
                let refused = |refusal| panic!("{file}:{}: {refusal}", statement.line);
                class.apply(&statement.op).unwrap_or_else(refused);
                first = first.or_else(|| class.current(0).map(|_| class.now()));
            }
            assert_eq!(class.watch().warnings(), (0, None), "{file}");
            assert_eq!(class.violations(Depth::Cheap), [], "{file}");
            let group = |task| class.task(task).map(|task| class.names().group_text(task.group));
            Outcome {
                state: State::of(class),
                class_groups: class
                    .tasks()
                    .into_iter()
                    .map(|task| (class.names().task_text(task), group(task).unwrap_or("/")))
                    .map(|(task, group)| (task.to_string(), group.to_string()))
                    .collect(),
                ran_ns: class.now() - first.expect("something runs"),
            }
        })
        .expect("the header is good")
    }

    /// The sum of a field over the task of that name, or over all below that path.
    fn sum(&self, program: &Program, who: &str, field: &str) -> u64 {
        let mut tasks = self.class_groups.iter().filter(|(task, group)| match who {
            path if path.starts_with('/') => format!("{group}/").starts_with(&format!("{path}/")),
            name => task == name,
        });
        let mut sum = 0;
        let mut names = program.names.clone();
        for (task, _) in tasks.by_ref() {
            let object = Object::Task(names.task(task));
            let is = |at: &(Object, &str, Value)| at.0 == object && at.1 == field;
            let value = self.state.fields().find(is).map(|(_, _, value)| value);
            let Some(Value::U64(number)) = value else { panic!("{task} has no {field}") };
            sum += number;
        }
        sum
    }

    /// The fraction of the time that it ran, in millionths.
    fn fraction(&self, program: &Program, who: &str) -> u64 {
        self.sum(program, who, "sum_exec_runtime") * 1_000_000 / self.ran_ns
    }
}

fn is_within_one_percent(got: u64, wanted: u64) -> bool {
    got.abs_diff(wanted) * 100 <= wanted
}

/// What does not hold of a file's claims.
fn wrong(file: &str, text: &str) -> Vec<String> {
    let program = parse_program(file, text.as_bytes()).expect("it is good");
    let outcome = Outcome::of(file, &program);
    let mut wrong = Vec::new();
    let is_timed = ["expect", "off"].into_iter().any(|word| !claims(text, word).is_empty());
    if is_timed && !is_within_one_percent(outcome.ran_ns, TEN_SECONDS_NS) {
        wrong.push(format!("{file}: it is {} ns long", outcome.ran_ns));
    }
    for claim in claims(text, "expect") {
        let (got, wanted) = (outcome.fraction(&program, claim[0]), millionths(claim[1]));
        if !is_within_one_percent(got, wanted) {
            wrong.push(format!("{file}: {} ran for {got} millionths, not {wanted}", claim[0]));
        }
    }
    for claim in claims(text, "off") {
        let got = outcome.fraction(&program, claim[0]);
        let (ideal, known) = (millionths(claim[1]), millionths(claim[2]));
        if !is_within_one_percent(got, known) || is_within_one_percent(got, ideal) {
            let who = claim[0];
            wrong.push(format!("{file}: {who} ran for {got}; ideal {ideal}, known {known}"));
        }
    }
    for claim in claims(text, "flat") {
        let got = outcome.sum(&program, claim[0], "h_load");
        if got.to_string() != claim[2] || got.to_string() == claim[1] {
            wrong.push(format!("{file}: the flat weights of {} add up to {got}", claim[0]));
        }
    }
    wrong
}

#[test]
fn shares_reach_what_the_kernel_documents() {
    let files = files();
    assert!(files.len() >= 6, "some files are missing: {}", files.len());
    let wrong: Vec<String> = files.iter().flat_map(|(file, text)| wrong(file, text)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_file_claims_something_and_is_small() {
    for (file, text) in files() {
        let claims: usize =
            ["expect", "off", "flat"].into_iter().map(|word| claims(&text, word).len()).sum();
        assert!(claims > 0, "{file} claims nothing");
        assert!(text.len() < LARGEST, "{file} has {} bytes", text.len());
    }
}

#[test]
fn a_false_claim_is_seen() {
    let (file, text) = files().into_iter().find(|(file, _)| file == "hogs-1-3.ops").expect("there");
    assert_eq!(wrong(&file, &text), [""; 0]);
    let claim = "# expect /a 1/4";
    assert!(text.contains(claim));
    // 1.5 % too much.
    assert_eq!(wrong(&file, &text.replace(claim, "# expect /a 0.25375")).len(), 1);
    assert_eq!(wrong(&file, &text.replace(claim, "# off /a 1/4 0.26")).len(), 1);
    assert_eq!(wrong(&file, &text.replace(claim, "# flat /a 1 2")).len(), 1);
    // The shares the other way round: every fraction of the file is wrong.
    let swapped = text.replace("shares 3072", "shares 341");
    assert!(wrong(&file, &swapped).len() >= 2, "{:?}", wrong(&file, &swapped));
}

#[test]
fn fractions() {
    assert_eq!(["1/4", "0.25", "1", "0.000001"].map(millionths), [250_000, 250_000, 1_000_000, 1]);
}

#[test]
#[ignore = "rewrites tests/shares"]
fn rewrite() {
    for (name, text) in scenario::all() {
        let path = folder().join(name);
        fs::write(&path, scenario::record(name, &text)).expect("it can be written");
        for line in wrong(name, &fs::read_to_string(&path).expect("it is there")) {
            println!("{line}");
        }
    }
}

#[test]
fn the_files_are_what_the_scenarios_make() {
    for (name, text) in scenario::all() {
        let saved = fs::read_to_string(folder().join(name)).expect("it is there");
        assert!(saved == scenario::record(name, &text), "{name}: rewrite it");
    }
}
