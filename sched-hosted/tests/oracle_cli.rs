// SPDX-License-Identifier: GPL-2.0-only
//! The verbs of the kernel oracle, on a machine without a kernel tree: one clear line, the right exit code.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn fairlab(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fairlab"))
        .args(arguments)
        .env("XDG_CACHE_HOME", home)
        .env_remove("LINUX_SRC")
        .current_dir(home)
        .output()
        .expect("the program runs")
}

/// The only line on standard error, which must say all of `words`.
fn complains(output: &Output, code: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

fn home() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

/// A folder that looks like a tree of `release`, with this kernel/sched/sched.h.
fn tree(home: &Path, release: [u32; 3], header: &str) {
    let [version, patchlevel, sublevel] = release;
    let makefile = format!(
        "VERSION = {version}\nPATCHLEVEL = {patchlevel}\nSUBLEVEL = {sublevel}\nEXTRAVERSION =\n"
    );
    fs::create_dir_all(home.join("tree/kernel/sched")).expect("folders");
    fs::create_dir_all(home.join("tree/kernel/time")).expect("folders");
    fs::write(home.join("tree/Makefile"), makefile).expect("a file");
    fs::write(home.join("tree/kernel/sched/sched.h"), header).expect("a file");
    for file in ["sched/core.c", "sched/syscalls.c", "sched/idle.c", "time/hrtimer.c"] {
        fs::write(home.join("tree/kernel").join(file), "").expect("a file");
    }
}

#[test]
fn without_an_oracle_it_says_how_to_get_one() {
    let home = home();
    for verb in [&["diff"][..], &["oracle", "info"], &["map"], &["ops", "record", "x.ops"]] {
        complains(
            &fairlab(home.path(), verb),
            3,
            &["fairlab oracle fetch", "fairlab oracle build TREE"],
        );
    }
}

#[test]
fn what_is_no_tree_is_refused() {
    let home = home();
    complains(&fairlab(home.path(), &["oracle", "build", "nowhere"]), 2, &["nowhere"]);
    complains(&fairlab(home.path(), &["oracle", "build", "."]), 2, &["no Makefile", "Linux 7.3"]);
    complains(&fairlab(home.path(), &["diff", "--linux", "."]), 2, &["no Makefile"]);
}

#[test]
fn a_tree_that_is_too_old_is_refused_with_the_reason() {
    let home = home();
    tree(home.path(), [6, 12, 30], "struct cfs_rq {\n\tstruct sched_entity *curr;\n};\n");
    let output = fairlab(home.path(), &["oracle", "build", "tree"]);
    complains(&output, 2, &["Linux 6.12.30", "no flat runqueue", "cfs_rq::h_curr", "7.3"]);
}

#[test]
fn a_tree_that_lacks_something_is_refused_by_its_name() {
    let home = home();
    tree(home.path(), [7, 4, 0], "struct cfs_rq {\n\tstruct sched_entity\t*h_curr;\n};\n");
    let output = fairlab(home.path(), &["oracle", "build", "tree"]);
    complains(&output, 2, &["Linux 7.4.0", "enqueue_task (kernel/sched/core.c)", "sync"]);
}

#[test]
fn bad_arguments_are_refused() {
    let home = home();
    complains(&fairlab(home.path(), &["diff", "--cpus", "0"]), 2, &["--cpus"]);
    complains(&fairlab(home.path(), &["diff", "--hz", "333"]), 2, &["--hz", "250"]);
    complains(&fairlab(home.path(), &["diff", "--features", "NOPE"]), 2, &["NOPE"]);
    complains(&fairlab(home.path(), &["diff", "--patch", "nope"]), 2, &["nope"]);
}
