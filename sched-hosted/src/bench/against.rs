// SPDX-License-Identifier: GPL-2.0-only
//! Another revision as the other side: it is built in a clone of its own, and the two programs take turns.

use super::measure::Measured;
use super::setting::Results;
use crate::error::{Error, Result, quote};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A revision that was built.
pub struct Other {
    /// The clone; it goes when this goes.
    _clone: tempfile::TempDir,
    program: PathBuf,
    /// Its short name.
    pub revision: String,
}

/// Builds `revision` of the repository around the current folder, with the profile of this program. Its objects are
/// kept in the repository's own target folder, so that a second time is quick.
///
/// # Errors
/// There is no such repository or revision, or it does not build.
pub fn build(revision: &str) -> Result<Other> {
    let root = git(None, &["rev-parse", "--show-toplevel"]).map_err(|_| {
        Error::not_possible(
            "this is no git repository",
            "run --against in a checkout of the project",
        )
    })?;
    let commit = format!("{revision}^{{commit}}");
    let commit = git(Some(&root), &["rev-parse", "--verify", "--end-of-options", &commit]);
    let commit = commit.map_err(|_| {
        Error::bad_argument(
            format!("--against {}: there is no such revision", quote(revision)),
            "use what git rev-parse understands: a branch, a tag, HEAD~1, a hash",
        )
    })?;
    let clone = tempfile::TempDir::with_prefix("fairlab-against-")
        .map_err(|source| Error::write("a temporary folder", source))?;
    let place = clone.path().display().to_string();
    let failed = |what: &str, why: String| {
        Error::not_possible(
            format!("{what} failed: {why}"),
            "does it work by hand in a clean checkout?",
        )
    };
    git(None, &["clone", "--quiet", "--shared", "--no-checkout", &root, &place])
        .map_err(|why| failed("git clone", why))?;
    git(Some(&place), &["checkout", "--quiet", "--detach", &commit])
        .map_err(|why| failed("git checkout", why))?;
    let revision = commit.chars().take(10).collect::<String>();
    eprintln!("fairlab: building {revision} ...");
    let profile = env!("FAIRLAB_PROFILE");
    let target = target_dir(&root).join("against");
    let name = if profile == "debug" { "dev" } else { profile };
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--package", "sched-hosted", "--profile", name]);
    cargo.current_dir(clone.path()).env("CARGO_TARGET_DIR", &target);
    output(&mut cargo).map_err(|why| failed("cargo build", why))?;
    // A copy: another revision that is built meanwhile goes to the same place.
    let program = clone.path().join("fairlab-against");
    std::fs::copy(target.join(profile).join("fairlab"), &program)
        .map_err(|source| Error::read(&target.display().to_string(), source))?;
    Ok(Other { _clone: clone, program, revision })
}

fn target_dir(root: &str) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty());
    named.map_or_else(|| Path::new(root).join("target"), PathBuf::from)
}

fn git(dir: Option<&str>, arguments: &[&str]) -> std::result::Result<String, String> {
    let mut command = Command::new("git");
    if let Some(dir) = dir {
        command.args(["-C", dir]);
    }
    output(command.args(arguments))
}

/// What `command` prints; else the last line of its complaint.
fn output(command: &mut Command) -> std::result::Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().find(|line| line.contains("error"));
    Err(error.or_else(|| text.lines().next_back()).unwrap_or("no message").trim().to_string())
}

/// Measures `filter`'s rows by turns: this program, then the other one, `alternations` times.
///
/// # Errors
/// One of them fails: the other revision may not have the verb yet.
pub fn measure(other: &Other, filter: &str, alternations: u32) -> Result<Vec<Measured>> {
    let own = std::env::current_exe().map_err(|source| Error::read("this program", source))?;
    let programs = [own.as_path(), other.program.as_path()];
    let mut rows: Vec<(String, [Vec<f64>; 2], u64)> = Vec::new();
    for alternation in 0..alternations as usize {
        for turn in 0..2 {
            let side = (turn + alternation) % 2;
            let found = run(programs[side], filter).map_err(|why| {
                let who = if side == 0 { "this revision" } else { other.revision.as_str() };
                Error::not_possible(
                    format!("{who} cannot be measured: {why}"),
                    "a revision before 'fairlab bench' cannot be compared",
                )
            })?;
            for row in found.rows {
                let at = rows.iter().position(|(name, ..)| *name == row.row);
                let at = at.unwrap_or_else(|| {
                    rows.push((row.row.clone(), Default::default(), 0));
                    rows.len() - 1
                });
                rows[at].1[side].extend(row.ns.first().copied().flatten());
                rows[at].2 += row.ops;
            }
        }
    }
    Ok(rows
        .into_iter()
        .map(|(name, samples, ops)| Measured::new(name, samples.into(), ops))
        .collect())
}

/// One turn of a program: its own side alone, once.
fn run(program: &Path, filter: &str) -> std::result::Result<Results, String> {
    let mut command = Command::new(program);
    command.args(["bench", "--no-kernel", "--no-instructions", "--runs", "1", "--json", "-"]);
    let text = output(command.args(["--row", filter]))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
