// SPDX-License-Identifier: GPL-2.0-only
//! Documentation/patch-idea.rst holds: its two diffs, applied to a copy of the sources, make a patch that every verb
//! knows. Builds the copy, which takes about half a minute; `FAIRLAB_SKIP_ADD_PATCH=1` leaves that out, and says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GUIDE: &str = "Documentation/patch-idea.rst";
const NAME: &str = "no-short-buddy";
const CASE: &str = "sched-hosted/tests/golden/hand-05-short-slice.ops";
/// What the build needs, and so what is copied.
const SOURCES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "rust-toolchain.toml",
    "sched-core",
    "sched-hosted",
    "benches",
    "Documentation",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Copies a file or folder, but for what was edited; leaves build output behind. A copy that is right already keeps
/// its date, so that little is built anew.
fn copy(from: &Path, to: &Path, edited: &BTreeMap<PathBuf, String>) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("the copy's folder can be made");
        for entry in fs::read_dir(from).expect("the sources can be read") {
            let name = entry.expect("the sources can be read").file_name();
            if name != "target" {
                copy(&from.join(&name), &to.join(&name), edited);
            }
        }
        return;
    }
    let new = match edited.get(from) {
        Some(text) => text.clone().into_bytes(),
        None => fs::read(from).expect("the sources can be read"),
    };
    if fs::read(to).ok().as_ref() != Some(&new) {
        fs::write(to, new).expect("the copy can be written");
    }
}

/// A piece of a diff: what must be there once, and what takes its place.
#[derive(Debug, Default, PartialEq)]
struct Hunk {
    file: String,
    before: String,
    after: String,
}

/// The hunks of all diffs in a page: the lines of a `code-block:: diff`, less their indent.
fn hunks(page: &str) -> Vec<Hunk> {
    const INDENT: &str = "   ";
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut file = String::new();
    let mut inside = false;
    for line in page.lines() {
        if line == ".. code-block:: diff" {
            inside = true;
            continue;
        }
        inside &= line.is_empty() || line.starts_with(INDENT);
        let Some(line) = line.strip_prefix(INDENT).filter(|_| inside) else { continue };
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = path.to_string();
        } else if line.starts_with("@@") {
            hunks.push(Hunk { file: file.clone(), ..Hunk::default() });
        } else if let (Some(hunk), false) = (hunks.last_mut(), line.starts_with("--- ")) {
            let (sign, text) = line.split_at(1);
            if sign != "+" {
                hunk.before += &format!("{text}\n");
            }
            if sign != "-" {
                hunk.after += &format!("{text}\n");
            }
        }
    }
    hunks
}

/// `text` with the hunk in it, if what it replaces stands there exactly once.
fn apply(text: &str, hunk: &Hunk) -> Option<String> {
    (!hunk.before.is_empty() && text.matches(&hunk.before).count() == 1)
        .then(|| text.replacen(&hunk.before, &hunk.after, 1))
}

fn guide() -> Vec<Hunk> {
    hunks(&fs::read_to_string(top().join(GUIDE)).expect("the page is there"))
}

/// The copy's own name for the program: in the shared target folder it must not take the place of ours.
const PROGRAM: &str = "fairlab-with-a-new-patch";

/// Makes a copy in which what the page says is done, and the program has another name.
fn patched_copy() -> PathBuf {
    let mut edited = BTreeMap::new();
    let mut edit = |file: &str, change: &dyn Fn(&str) -> Option<String>| {
        let text = edited.entry(top().join(file)).or_insert_with_key(|path| {
            fs::read_to_string(path).expect("the page names files that there are")
        });
        *text = change(text).unwrap_or_else(|| panic!("{file}: the edit does not fit"));
    };
    for hunk in guide() {
        edit(&hunk.file, &|text| apply(text, &hunk));
    }
    edit("sched-hosted/Cargo.toml", &|text| {
        let renamed = text.replace("\"fairlab\"", &format!("\"{PROGRAM}\""));
        (renamed != text).then_some(renamed)
    });
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("add-patch");
    fs::create_dir_all(&to).expect("the copy's folder can be made");
    for source in SOURCES {
        copy(&top().join(source), &to.join(source), &edited);
    }
    to
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The page's diffs fit the sources as they are. Costs nothing, so it always runs.
#[test]
fn the_diffs_of_the_page_fit() {
    let hunks = guide();
    assert_eq!(hunks.len(), 3, "a bit, a row and a branch: {hunks:#?}");
    for hunk in &hunks {
        let text = fs::read_to_string(top().join(&hunk.file)).expect("the page names a source");
        let Some(edited) = apply(&text, hunk) else {
            panic!("{GUIDE}: this does not stand in {} exactly once:\n{}", hunk.file, hunk.before)
        };
        assert_ne!(edited, text);
        assert!(apply(&edited, hunk).is_none(), "it fits twice: {hunk:#?}");
    }
}

#[test]
fn a_patch_added_as_the_page_says_is_known_to_every_verb() {
    if std::env::var_os("FAIRLAB_SKIP_ADD_PATCH").is_some() {
        eprintln!(
            "**** NOT CHECKED: adding a patch to a copy (FAIRLAB_SKIP_ADD_PATCH is set) ****"
        );
        return;
    }
    let copy = patched_copy();
    // A folder of its own, kept between runs: in a shared one the copy's libraries would take the place of ours.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("add-patch");
    let build = run(Command::new(env!("CARGO"))
        .args(["build", "--offline", "--locked", "--bin", PROGRAM, "--target-dir"])
        .arg(&target)
        .current_dir(&copy));
    assert!(build.status.success(), "the copy does not build:\n{}", text(&build.stderr));

    let program = target.join("debug").join(PROGRAM);
    let fairlab = |args: &[&str]| run(Command::new(&program).args(args).current_dir(&copy));

    let help = fairlab(&["compare", "--help"]);
    assert!(text(&help.stdout).contains(NAME), "the help does not list it");

    let base = fairlab(&["ops", "run", CASE]);
    let patched = fairlab(&["ops", "run", "--patch", NAME, CASE]);
    assert_eq!(base.status.code(), Some(0), "{}", text(&base.stderr));
    assert_eq!(patched.status.code(), Some(0), "{}", text(&patched.stderr));
    let recorded = fs::read_to_string(top().join(CASE).with_extension("expect"));
    let cores = |out: &str| -> Vec<String> {
        out.lines().filter_map(|line| Some(line.split_once(" pelt=")?.0.to_string())).collect()
    };
    let recorded = cores(&recorded.expect("the recording is there"));
    assert_eq!(cores(&text(&base.stdout)), recorded, "with the bit clear nothing may change");

    let args = ["compare", NAME, "--ops", "20000", "--runs", "1", "--out-dir", "."];
    let compared = fairlab(&args);
    let screen = text(&compared.stdout);
    // It is meant to change decisions, so a difference is what must be found.
    assert_eq!(compared.status.code(), Some(1), "{screen}{}", text(&compared.stderr));
    assert!(screen.contains(NAME) && screen.contains("next"), "{screen}");
    assert!(!screen.contains("NOT SAFE"), "{screen}");
}

#[test]
fn an_unknown_patch_is_refused() {
    let out = run(Command::new(env!("CARGO_BIN_EXE_fairlab")).args(["compare", NAME]));
    assert_eq!(out.status.code(), Some(2), "the page's patch is only an example");
    assert!(text(&out.stderr).contains(NAME), "{}", text(&out.stderr));
}

#[test]
fn a_diff_that_does_not_fit_is_seen() {
    let page = ".. code-block:: diff\n\n   +++ b/x.rs\n   @@\n    a\n   -b\n   +c\n\nno diff\n";
    let hunks = hunks(page);
    let want = Hunk { file: "x.rs".into(), before: "a\nb\n".into(), after: "a\nc\n".into() };
    assert_eq!(hunks, [want]);
    assert_eq!(apply("0\na\nb\n1\n", &hunks[0]).as_deref(), Some("0\na\nc\n1\n"));
    assert_eq!(apply("a\n\nb\n", &hunks[0]), None);
    assert_eq!(apply("a\nb\na\nb\n", &hunks[0]), None);
}
