// SPDX-License-Identifier: GPL-2.0-only
//! Style and layout, as far as neither rustfmt nor clippy sees to them (CONTRIBUTING.md). Each rule is a function from
//! a file to what is wrong with it, and each is shown to go red by a test below.

#[path = "tidy/code.rs"]
mod code;

use code::{CodeLine, has_float_literal, split, words};
use std::fs;
use std::path::{Path, PathBuf};

/// What may stand at the top. Folders first.
const TOP: [&str; 19] = [
    "sched-core",
    "sched-hosted",
    "fuzz",
    "benches",
    "Documentation",
    ".ci",
    ".cargo",
    ".git",
    ".gitignore",
    "target",
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "COPYING",
    "clippy.toml",
    "rustfmt.toml",
    "rust-toolchain.toml",
];

/// Files that need `unsafe`, and no others: tree, lists, container-of, the Sync impls, and the calls of the
/// kernel oracle's C.
const UNSAFE: [&str; 5] = [
    "sched-core/src/rbtree.rs",
    "sched-core/src/rbtree/augmented.rs",
    "sched-core/src/list.rs",
    "sched-core/src/sync.rs",
    "sched-hosted/kernel-oracle/src/ffi.rs",
];

/// The entry point that libFuzzer calls has a C name, which counts as unsafe; the macro writes it.
const FUZZ_ENTRY: &str = "fuzz/fuzz_targets/";

const LINES_MAX: usize = 600;
/// Ports follow the C, file by file, even when that is long.
const PORTS: &str = "sched-core/src/";
const PORT_LINES_MAX: usize = 1_200;

const COMMENT_COLUMNS_MAX: usize = 120;

/// Where results come from: no floats.
const NO_FLOATS: [&str; 5] = [
    "sched-core/src/",
    "sched-hosted/src/ops.rs",
    "sched-hosted/src/ops/",
    "sched-hosted/src/sim.rs",
    "sched-hosted/src/sim/",
];

/// Files of the engine in which floats do no harm, and why.
const FLOATS: [(&str, &str); 1] =
    [("sched-hosted/src/sim/stats.rs", "quotients of finished counts, for reports only")];

/// Types whose order or value is another one in each run.
const UNSTEADY: [&str; 3] = ["HashMap", "HashSet", "SystemTime"];

/// Hosts that no file names (cargo knows its own), and paths of other machines. Taken apart, so that this file does
/// not find itself.
const FOREIGN: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("static.rust", "-lang.org"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".com"),
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
];

const SPDX: &str = "SPDX-License-Identifier: GPL-2.0-only";

struct File {
    /// From the top, with `/`.
    path: String,
    text: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        File { path: path.to_string(), text: text.to_string() }
    }

    fn ends_in(&self, suffix: &str) -> bool {
        self.path.ends_with(suffix)
    }

    fn is_rust(&self) -> bool {
        self.ends_in(".rs")
    }

    /// The code before the unit tests, with line numbers from 0. All of it is test in a file named `tests.rs`.
    fn code_under_test(&self) -> impl Iterator<Item = (usize, CodeLine)> {
        let is_test = self.ends_in("/tests.rs");
        let lines = split(&self.text).into_iter().enumerate();
        lines.take_while(move |(_, line)| !is_test && !line.code.contains("#[cfg(test)]"))
    }
}

/// What is wrong, as `FILE:LINE: what`.
type Found = Vec<String>;

fn found(file: &File, line: usize, what: impl AsRef<str>) -> String {
    format!("{}:{line}: {}", file.path, what.as_ref())
}

fn spdx(file: &File, out: &mut Found) {
    let first = if file.text.starts_with("#!") { 1 } else { 0 };
    let want = match () {
        () if file.is_rust() => format!("// {SPDX}"),
        () if file.ends_in("Cargo.toml") || file.ends_in(".ci/run") => format!("# {SPDX}"),
        () if file.ends_in(".rst") => format!(".. {SPDX}"),
        () => return,
    };
    if file.text.lines().nth(first) != Some(&want) {
        out.push(found(file, first + 1, format!("this line has to be: {want}")));
    }
}

fn module_doc(file: &File, out: &mut Found) {
    if file.is_rust() && !file.text.lines().nth(1).is_some_and(|line| line.starts_with("//! ")) {
        out.push(found(file, 2, "a module doc (//!) that says what the file is for is missing"));
    }
}

fn length(file: &File, out: &mut Found) {
    let lines = file.text.lines().count();
    let most = if file.path.starts_with(PORTS) { PORT_LINES_MAX } else { LINES_MAX };
    if file.is_rust() && lines > most {
        out.push(found(file, most + 1, format!("{lines} lines; split it at {most}")));
    }
}

fn comment_columns(file: &File, out: &mut Found) {
    if !file.is_rust() {
        return;
    }
    let lines = file.text.lines().zip(split(&file.text));
    for (at, (line, parts)) in lines.enumerate() {
        let columns = line.chars().count();
        // A row of a table cannot be wrapped.
        if parts.comment.trim_start_matches(['/', '!', ' ']).starts_with('|') {
            continue;
        }
        if columns > COMMENT_COLUMNS_MAX && !parts.comment.is_empty() {
            out.push(found(file, at + 1, format!("a comment that ends in column {columns}")));
        }
    }
}

fn blanks(file: &File, out: &mut Found) {
    let recording = [".ops", ".expect", ".dump", ".txt"].iter().any(|suffix| file.ends_in(suffix));
    if recording || file.ends_in("COPYING") || file.ends_in("Cargo.lock") {
        return;
    }
    for (at, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            out.push(found(file, at + 1, "blanks at the end"));
        }
        // C is written in the kernel's style.
        if line.contains('\t') && ![".c", ".h", ".lds"].iter().any(|suffix| file.ends_in(suffix)) {
            out.push(found(file, at + 1, "a tab; use blanks"));
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        let last = file.text.lines().count();
        out.push(found(file, last, "the file has to end in one newline"));
    }
}

fn no_unsafe(file: &File, out: &mut Found) {
    if !file.is_rust() {
        return;
    }
    let lines = split(&file.text);
    let may = UNSAFE.contains(&file.path.as_str());
    for (at, line) in lines.iter().enumerate() {
        let lifted = ["allow(unsafe_code", "expect(unsafe_code"].iter();
        let lifted = lifted.into_iter().any(|lifted| line.code.contains(lifted));
        if lifted && !may && !file.path.starts_with(FUZZ_ENTRY) {
            out.push(found(file, at + 1, "unsafe code is allowed in other files only"));
        }
        if !words(&line.code).any(|word| word == "unsafe") {
            continue;
        }
        if !may {
            out.push(found(file, at + 1, "unsafe; only tree, lists and sync.rs need it"));
        } else if !line.code.contains("unsafe fn") && !has_safety_comment(&lines, at) {
            out.push(found(file, at + 1, "unsafe without a '// SAFETY:' above it"));
        }
    }
}

/// Whether the comment right above line `at` (or behind it) argues safety. Attributes may stand between.
fn has_safety_comment(lines: &[CodeLine], at: usize) -> bool {
    let argues = |line: &CodeLine| line.comment.contains("SAFETY:");
    let between = |line: &&CodeLine| {
        let code = line.code.trim();
        (code.is_empty() && !line.comment.is_empty()) || code.starts_with("#[")
    };
    argues(&lines[at]) || lines[..at].iter().rev().take_while(between).any(argues)
}

fn no_floats(file: &File, out: &mut Found) {
    let engine = NO_FLOATS.iter().any(|place| file.path.starts_with(place));
    if !engine || !file.is_rust() || FLOATS.iter().any(|(path, _)| *path == file.path) {
        return;
    }
    for (at, line) in file.code_under_test() {
        let named = words(&line.code).any(|word| matches!(word, "f32" | "f64"));
        if named || has_float_literal(&line.code) {
            out.push(found(file, at + 1, "a float; count in ns, or in thousandths"));
        }
    }
}

fn steady_types(file: &File, out: &mut Found) {
    if !file.is_rust() {
        return;
    }
    for (at, line) in split(&file.text).iter().enumerate() {
        for word in words(&line.code).filter(|word| UNSTEADY.contains(word)) {
            out.push(found(file, at + 1, format!("{word}: results must not depend on it")));
        }
    }
}

fn no_foreign_places(file: &File, out: &mut Found) {
    // Cargo writes its index's address into lock files.
    if file.ends_in("Cargo.lock") {
        return;
    }
    for (at, line) in file.text.lines().enumerate() {
        for place in FOREIGN.iter().filter(|place| line.contains(*place)) {
            out.push(found(file, at + 1, format!("names {place}, which means nothing elsewhere")));
        }
    }
}

fn top_entry(name: &str) -> Option<String> {
    // Where `compare` was run at the top it leaves files that replay what it found.
    if TOP.contains(&name) || name.ends_with(".ops") {
        return None;
    }
    Some(format!("{name}:1: nothing but {} stands at the top", TOP.join(", ")))
}

const RULES: [fn(&File, &mut Found); 9] = [
    spdx,
    module_doc,
    length,
    comment_columns,
    blanks,
    no_unsafe,
    no_floats,
    steady_types,
    no_foreign_places,
];

fn check(files: &[File]) -> Found {
    let mut out = Vec::new();
    for file in files {
        for rule in RULES {
            rule(file, &mut out);
        }
    }
    out
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All text files from `folder` down that belong to the project, in order.
fn collect(folder: &Path, prefix: &str, out: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ["target", ".git", "artifacts", "corpus", "coverage"].contains(&name.as_str()) {
            continue;
        }
        let shown = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{shown}/"), out);
        } else if let Ok(text) = fs::read_to_string(&path) {
            out.push(File { path: shown, text });
        }
    }
}

#[test]
fn every_file_is_tidy() {
    let mut files = Vec::new();
    collect(&top(), "", &mut files);
    let rust = files.iter().filter(|file| file.is_rust()).count();
    assert!(rust > 30, "only {rust} Rust files were found: the search is broken");
    let wrong = check(&files);
    assert!(wrong.is_empty(), "{} places are not tidy:\n{}\n", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_top_has_no_other_entries() {
    let entries = fs::read_dir(top()).expect("the top can be read");
    let wrong: Vec<String> = entries
        .map(|entry| entry.expect("the top can be read").file_name())
        .filter_map(|name| top_entry(&name.to_string_lossy()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn exceptions_are_still_needed() {
    for path in UNSAFE.into_iter().chain(FLOATS.map(|(path, _)| path)) {
        assert!(top().join(path).is_file(), "{path} is gone: drop the exception");
    }
}

/// Rows of Documentation/fair-map.rst: the file of the section, and the Rust function.
fn fair_map() -> Vec<(String, String)> {
    let text = fs::read_to_string(top().join("Documentation/fair-map.rst")).expect("it is there");
    let mut file = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let quoted: Vec<&str> = line.split("``").skip(1).step_by(2).collect();
        if let Some(path) = quoted.last().filter(|path| path.starts_with("sched-core/src/")) {
            file = (*path).to_string();
        } else if let Some(name) = quoted.last().filter(|name| !name.ends_with("()"))
            && line.contains("()``  ")
        {
            rows.push((file.clone(), (*name).to_string()));
        }
    }
    rows
}

/// The fair map and the sources say the same: no row without its function, and no function of the class without a row.
#[test]
fn the_fair_map_is_complete() {
    let rows = fair_map();
    assert!(rows.len() > 100, "only {} rows were read", rows.len());
    let defines = |line: &str, name: &str| {
        let rest = line.split_once("fn ").and_then(|(_, rest)| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['<', '(']))
    };
    let read = |path: &str| fs::read_to_string(top().join(path)).unwrap_or_default();
    for (file, name) in &rows {
        let there = read(file).lines().any(|line| defines(line, name));
        assert!(there, "fair-map.rst: {file} has no function {name}");
    }
    let entries = fs::read_dir(top().join("sched-core/src/fair")).expect("it is there");
    for entry in entries {
        let name = entry.expect("it is there").file_name().to_string_lossy().into_owned();
        let file = format!("sched-core/src/fair/{name}");
        let code = read(&file);
        for line in code.lines().filter(|line| line.starts_with("pub fn ")) {
            let mapped = rows.iter().any(|(at, name)| *at == file && defines(line, name));
            assert!(mapped, "fair-map.rst has no row for this of {file}: {line}");
        }
    }
}

/// What a rule says of a file of that path and text.
fn said(path: &str, text: &str) -> Found {
    check(&[File::new(path, text)])
}

#[test]
fn every_rule_can_go_red() {
    let head = format!("// {SPDX}\n//! What it is for.\n");
    let body = |body: &str| said("sched-hosted/src/ops/x.rs", &format!("{head}{body}"));
    assert_eq!(body("fn f() {}\n"), Found::new());
    let cases = [
        ("use std::collections::HashMap;\n", "x.rs:3: HashMap"),
        ("fn f(x: f64) {}\n", "x.rs:3: a float"),
        ("const X: u64 = (1.5 * 2) as u64;\n", "x.rs:3: a float"),
        ("fn f() { unsafe { g() } }\n", "x.rs:3: unsafe;"),
        ("#![allow(unsafe_code)]\n", "x.rs:3: unsafe code is allowed"),
        ("fn f() {} \n", "x.rs:3: blanks at the end"),
        ("fn f() {\n\tg();\n}\n", "x.rs:4: a tab"),
        ("fn f() {}", "x.rs:3: the file has to end in one newline"),
    ];
    for (text, want) in cases {
        let said = body(text);
        assert!(said.iter().any(|line| line.contains(want)), "{text}: {said:?}");
    }
    for place in FOREIGN {
        let said = body(&format!("// see {place}\n"));
        assert!(said.len() == 1 && said[0].contains("x.rs:3: names"), "{said:?}");
    }
    assert!(body(&format!("// {}\n", "x".repeat(130)))[0].contains("ends in column 133"));
    assert!(body(&"fn f() {}\n".repeat(LINES_MAX))[0].contains("x.rs:601: 602 lines"));
    assert_eq!(said("a/b.rs", "fn f() {}\n").len(), 2, "neither SPDX nor a module doc");
    assert_eq!(said("a/Cargo.toml", "[package]\n").len(), 1);
    assert_eq!(said("Documentation/x.rst", "Title\n").len(), 1);
    assert_eq!(said(".ci/run", "#!/bin/bash\necho\n").len(), 1);
    assert_eq!(said(".ci/run", &format!("#!/bin/bash\n# {SPDX}\n")), Found::new());
    assert!(top_entry("xtask").is_some() && top_entry("benches").is_none());
}

#[test]
fn unsafe_needs_its_argument() {
    let list = |text: &str| said("sched-core/src/list.rs", &format!("// {SPDX}\n//! X.\n{text}"));
    assert_eq!(list("fn f() {\n    // SAFETY: argued.\n    unsafe { g() }\n}\n"), Found::new());
    assert_eq!(
        list("// SAFETY: argued,\n// at length.\nunsafe impl Sync for X {}\n"),
        Found::new()
    );
    for text in
        ["fn f() {\n    unsafe { g() }\n}\n", "// SAFETY: no.\n\nunsafe impl Sync for X {}\n"]
    {
        let said = list(text);
        assert!(said.len() == 1 && said[0].contains("unsafe without"), "{said:?}");
    }
}

#[test]
fn strings_comments_and_tests_are_no_code() {
    let head = format!("// {SPDX}\n//! X: HashMap, f64, unsafe.\n");
    let text = format!(
        "{head}const X: &str = \"unsafe f64 \\\" HashMap 1.5\";\nconst R: &str = r#\"f64 \"unsafe\"\"#;\n\
         const C: [char; 2] = ['\"', '\\''];\n/* f64 /* unsafe */ HashMap */\nfn f<'a>(x: &'a X) {{ x.0.1; 1..2; }}\n\
         #[cfg(test)]\nmod tests {{\n    const F: f64 = 0.5;\n}}\n"
    );
    assert_eq!(said("sched-hosted/src/sim/x.rs", &text), Found::new());
}
