// SPDX-License-Identifier: GPL-2.0-only
//! The class here against the kernel's own code. Needs a kernel tree: LINUX_SRC names it. Without one nothing is
//! checked, and the output says so; `sched-hosted/kernel-oracle/ci.sh` gets a tree and checks much more.

use sched_hosted::compare::side::Side;
use sched_hosted::ops::digest::Digester;
use sched_hosted::ops::generate::Generator;
use sched_hosted::ops::text::parse_program;
use sched_hosted::ops::{Class, Header, Names};
use sched_hosted::oracle::Kernel;
use sched_hosted::oracle::class::OracleClass;
use sched_hosted::oracle::lockstep::{self, Finding};
use sched_hosted::oracle::recipe::{Recipe, Wanted};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The class here as it is.
const BASE: Side = Side::new(sched_core::patches::Patches::empty());

/// The tree to use; none (and a line that says so) if there is none.
fn linux_src() -> Option<PathBuf> {
    let path = std::env::var_os("LINUX_SRC").filter(|path| !path.is_empty()).map(PathBuf::from);
    if path.is_none() {
        eprintln!("NOT CHECKED: set LINUX_SRC to a Linux 7.3 source tree");
    }
    path
}

fn class(kernel: &Kernel) -> OracleClass {
    let oracle = kernel.load().expect("the oracle loads");
    OracleClass::new(oracle, &Header::default(), &Names::default()).expect("a default machine")
}

fn golden() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(dir).expect("the golden files");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ops"));
    files.sort();
    files
}

#[test]
fn the_golden_files_are_what_the_kernel_does() {
    let Some(tree) = linux_src() else { return };
    let kernel = Kernel::open(&tree).expect("the oracle builds");
    let mut class = class(&kernel);
    let files = golden();
    assert!(files.len() > 20);
    for file in files {
        let name = file.display().to_string();
        let program =
            parse_program(&name, &fs::read(&file).expect("readable")).expect("a good file");
        class.reset(&program.header, &program.names).expect("a machine");
        let expect = fs::read_to_string(file.with_extension("expect")).expect("its digests");
        let mut lines = expect.lines().peekable();
        let mut digester = Digester::new();
        let mut number = 0;
        for statement in &program.statements {
            class.apply(&statement.op).expect("legal");
            number += u64::from(statement.op.is_operation());
            let due = |line: &&str| line.split(' ').next() == Some(&number.to_string());
            if statement.op.is_operation()
                && let Some(line) = lines.next_if(due)
            {
                assert_eq!(
                    line,
                    format!("{number} {}", digester.digest(&class)),
                    "{name}:{}",
                    statement.line
                );
            }
        }
        assert_eq!(lines.next(), None, "{name}");
        assert_eq!(class.oracle().complaint(), None, "{name}");
    }
}

/// Runs so many episodes; the first finding.
fn episodes(class: &mut OracleClass, wanted: &Wanted, seed: u64, n: u64) -> Option<Finding> {
    (0..n).find_map(|index| {
        let recipe = Recipe::new(wanted, seed, index);
        let names = recipe.profile.names();
        let mut generator = Generator::new(recipe.seed, recipe.profile.clone());
        let mut left = 3_000;
        let log = lockstep::run(BASE, class, &recipe.header, &names, &mut |class| {
            left -= 1;
            (left != 0).then(|| generator.next(class))
        });
        log.expect("a machine").finding
    })
}

#[test]
fn random_operations_lead_to_the_same_states() {
    let Some(tree) = linux_src() else { return };
    let kernel = Kernel::open(&tree).expect("the oracle builds");
    let mut class = class(&kernel);
    let flat = Wanted::default();
    let groups = Wanted { groups: true, ..Wanted::default() };
    let quota = Wanted { quota: true, cpus: Some(2), ..Wanted::default() };
    let smp = Wanted { groups: true, cpus: Some(4), ..Wanted::default() };
    for wanted in [flat, groups, quota, smp] {
        assert_eq!(episodes(&mut class, &wanted, 5, 12), None, "{wanted:?}");
    }
}

/// A tree like `tree` but for `kernel/sched/fair.c`, where `from` is replaced by `to`.
fn mutant(dir: &Path, tree: &Path, from: &str, to: &str) {
    let link_all = |from: &Path, to: &Path, but: &str| {
        fs::create_dir(to).expect("a folder");
        for entry in
            fs::read_dir(from).expect("readable").flatten().filter(|entry| entry.file_name() != but)
        {
            symlink(entry.path(), to.join(entry.file_name())).expect("a link");
        }
    };
    link_all(tree, dir, "kernel");
    link_all(&tree.join("kernel"), &dir.join("kernel"), "sched");
    link_all(&tree.join("kernel/sched"), &dir.join("kernel/sched"), "fair.c");
    let source = fs::read_to_string(tree.join("kernel/sched/fair.c")).expect("readable");
    assert!(source.contains(from), "fair.c has no '{from}'");
    fs::write(dir.join("kernel/sched/fair.c"), source.replacen(from, to, 1)).expect("written");
}

#[test]
fn what_is_changed_in_the_kernel_is_found() {
    let Some(tree) = linux_src() else { return };
    let tree = tree.canonicalize().expect("the tree");
    let home = tempfile::TempDir::new().expect("a temporary folder");
    let mutations = [
        ("own-slice", "= cfs_rq_max_slice(cfs_rq) + TICK_NSEC;", "= se->slice + TICK_NSEC;"),
        ("no-floor", "runtime -= (weight - 1);", ";"),
        ("delay-zero", "if (sched_feat(DELAY_ZERO))", "if (0)"),
        ("copy", "new->max_slice = old->max_slice;", ";"),
    ];
    for (name, from, to) in mutations {
        let dir = home.path().join(name);
        mutant(&dir, &tree, from, to);
        let kernel = Kernel::open(&dir).expect("the mutant builds");
        let finding = episodes(&mut class(&kernel), &Wanted::default(), 1, 40);
        assert!(matches!(finding, Some(Finding::State(_))), "{name}: {finding:?}");
    }
}

#[test]
fn a_crash_of_the_kernel_is_one_here_too_and_ends_neither() {
    let Some(tree) = linux_src() else { return };
    let kernel = Kernel::open(&tree).expect("the oracle builds");
    let mut class = class(&kernel);
    // A day without a tick: the sums overflow, nobody is eligible, and the pick touches what is not there.
    let text = "fairlab-ops 1\ntask a nice -20\ntask b nice 19\nnew a\nnew b\nschedule 0\n\
                at 94300596314943\nschedule 0\nat 194300596314943\nschedule 0\nblock 0\n";
    let program = parse_program("t.ops", text.as_bytes()).expect("a good file");
    let log = lockstep::replay(BASE, &mut class, &program).expect("a machine");
    assert_eq!(log.finding, None);
    let warning = log.warning.expect("both sides give up");
    assert!(warning.contains("a bad address") && warning.contains("nobody eligible"), "{warning}");
    assert_eq!(log.count, 6, "it ended at the second schedule after that");
    // And the oracle goes on with the next machine.
    assert_eq!(episodes(&mut class, &Wanted::default(), 3, 2), None);
}
