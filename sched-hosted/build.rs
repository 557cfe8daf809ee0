// SPDX-License-Identifier: GPL-2.0-only
//! Tells the program which revision it was built from, for the head of everything it prints.

use std::process::Command;

/// What git says, without the newline; none outside a repository or without git.
fn git(args: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}

/// The compiler's name and version.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    text.unwrap_or_default()
}

/// The profile's folder: `debug`, `release` or that of a profile of its own.
fn profile() -> String {
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let parts: Vec<&str> = out.split(['/', '\\']).collect();
    let build = parts.iter().rposition(|part| *part == "build").unwrap_or_default();
    parts.get(build.wrapping_sub(1)).copied().unwrap_or("unknown").to_string()
}

fn main() {
    // What may make the sources differ from the revision.
    for changed in ["build.rs", "src", "../sched-core/src"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    for file in ["HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }

    // What results of `fairlab bench` hold for. OUT_DIR is TARGET/PROFILE/build/....
    println!("cargo::rustc-env=FAIRLAB_RUSTC={}", compiler());
    println!("cargo::rustc-env=FAIRLAB_PROFILE={}", profile());

    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // Sources that lie in another project's repository are not its revision.
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let revision = ours
        .then(|| git(&["describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]))
        .flatten();
    match revision {
        Some(revision) => println!("cargo::rustc-env=FAIRLAB_REVISION={version}-{revision}"),
        None => println!("cargo::rustc-env=FAIRLAB_REVISION={version}"),
    }
}
