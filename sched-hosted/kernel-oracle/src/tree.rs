// SPDX-License-Identifier: GPL-2.0-only
//! A kernel source tree: is it one that the oracle can be built from, which release is it, and what is in it.

use crate::error::Error;
use crate::extract::definitions;
use crate::pieces::PIECES;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A tree that looks like one of 7.3 or later. Nothing in it is ever written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    root: PathBuf,
    release: String,
}

/// Files whose text decides what is built, beside the headers.
const COMPILED: [&str; 4] =
    ["lib/rbtree.c", "lib/find_bit.c", "kernel/time/hrtimer.c", "kernel/workqueue_internal.h"];
/// Folders and files that decide what the prepared headers look like.
const HEADERS: [&str; 11] = [
    "Makefile",
    "Kconfig",
    "include",
    "arch/um",
    "arch/x86/include",
    "arch/x86/um",
    "arch/Kconfig",
    "init/Kconfig",
    "kernel/Kconfig.preempt",
    "lib/Kconfig",
    "mm/Kconfig",
];

impl Tree {
    /// The tree at `path`.
    ///
    /// # Errors
    /// It is no kernel tree, or one without the flat runqueue of 7.3, or lacks something that the oracle needs.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bad = |what: String, remedy: &str| Error::Tree {
            path: path.to_path_buf(),
            what,
            remedy: remedy.to_string(),
        };
        let root =
            path.canonicalize().map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        let Ok(makefile) = fs::read_to_string(root.join("Makefile")) else {
            return Err(bad(
                "is no kernel source tree (it has no Makefile)".to_string(),
                "name the top folder of a Linux 7.3 source tree",
            ));
        };
        let value = |name: &str| {
            let line = makefile
                .lines()
                .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='));
            line.map(str::trim).unwrap_or_default().to_string()
        };
        let parts = [value("VERSION"), value("PATCHLEVEL"), value("SUBLEVEL")];
        let release = format!("{}{}", parts.join("."), value("EXTRAVERSION"));
        let tree = Tree { root, release };
        let Ok(header) = fs::read_to_string(tree.root.join("kernel/sched/sched.h")) else {
            return Err(bad(
                "is no kernel source tree (it has no kernel/sched/sched.h)".to_string(),
                "name the top folder of a Linux 7.3 source tree",
            ));
        };
        if !header.contains("*h_curr;") {
            return Err(bad(
                format!(
                    "Linux {} has no flat runqueue (looked for cfs_rq::h_curr in kernel/sched/sched.h)",
                    tree.release
                ),
                "the class here is that of 7.3: use a tree of 7.3, or of a later release",
            ));
        }
        let missing = tree.missing()?;
        if !missing.is_empty() {
            return Err(bad(
                format!(
                    "Linux {} lacks what the oracle takes from it: {}",
                    tree.release,
                    missing.join(", ")
                ),
                "if your patch renamed or removed it, keep the name; a new release needs a sync (Documentation/oracle.rst)",
            ));
        }
        Ok(tree)
    }

    /// Definitions that are looked for by name and are not there.
    fn missing(&self) -> Result<Vec<String>, Error> {
        let mut missing = Vec::new();
        for (file, names) in PIECES {
            let source = self.read(file)?;
            let gone = names.iter().filter(|name| definitions(&source, name).is_empty());
            missing.extend(gone.map(|name| format!("{name} ({file})")));
        }
        Ok(missing)
    }

    /// Its top folder, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its release, like `7.3.4`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The text of `file`, a path below the top.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, file: &str) -> Result<String, Error> {
        let path = self.root.join(file);
        let bytes = fs::read(&path).map_err(|source| Error::Io { path, source })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The SHA-256 of `file`, in hexadecimal digits.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn sha256(&self, file: &str) -> Result<String, Error> {
        Ok(hex(&Sha256::digest(self.read(file)?.as_bytes())))
    }

    /// A hash of all that decides what the prepared headers look like.
    ///
    /// # Errors
    /// Something in the tree cannot be read.
    pub fn headers_key(&self) -> Result<String, Error> {
        let mut hash = Sha256::new();
        for part in HEADERS {
            let path = self.root.join(part);
            if path.exists() {
                add(&mut hash, &self.root, &path)?;
            }
        }
        Ok(hex(&hash.finalize())[..16].to_string())
    }

    /// A hash of the sources that are compiled, and of `more`.
    ///
    /// # Errors
    /// Something in the tree cannot be read.
    pub fn sources_key(&self, more: &[&str]) -> Result<String, Error> {
        let mut hash = Sha256::new();
        add(&mut hash, &self.root, &self.root.join("kernel/sched"))?;
        for file in COMPILED {
            add(&mut hash, &self.root, &self.root.join(file))?;
        }
        for text in more {
            hash.update(text.as_bytes());
        }
        Ok(hex(&hash.finalize())[..16].to_string())
    }
}

/// Adds a file, or all of a folder, with paths below `root`, in the order of the names.
fn add(hash: &mut Sha256, root: &Path, path: &Path) -> Result<(), Error> {
    let bad = |source| Error::Io { path: path.to_path_buf(), source };
    if path.is_dir() {
        let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(bad)?.collect();
        let mut paths: Vec<PathBuf> =
            entries.map_err(bad)?.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        return paths.iter().try_for_each(|path| add(hash, root, path));
    }
    if path.is_file() {
        let bytes = fs::read(path).map_err(bad)?;
        let name = path.strip_prefix(root).unwrap_or(path);
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
