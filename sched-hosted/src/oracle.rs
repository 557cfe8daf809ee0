// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own class beside ours: the verbs `oracle`, `diff` and `ops record`.
//!
//! The crate `kernel-oracle` builds and loads the kernel's code; [`class`] puts it behind the [`Class`] trait;
//! [`lockstep`] runs it beside ours, [`recipe`] says with which random operations, and [`diff`] and [`record`] are the
//! verbs.
//!
//! [`Class`]: crate::ops::Class

pub mod class;
pub mod diff;
mod fetch;
mod info;
pub mod lockstep;
pub mod recipe;
pub mod record;

use crate::error::{EXIT_FINE, Error, Result};
use kernel_oracle::build;
use kernel_oracle::error::Error as OracleError;
use kernel_oracle::ffi::Oracle;
use kernel_oracle::tree::Tree;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Build, fetch and describe the kernel oracle: the kernel's own fair.c, compiled for this program.
#[derive(Debug, clap::Args)]
pub struct OracleArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Build the oracle of a kernel source tree, and use it from now on.
    ///
    /// The tree is only read. What is built goes to $XDG_CACHE_HOME/fairlab/oracle (or
    /// ~/.cache/fairlab/oracle), a folder for each state of the sources. Needs gcc, make, binutils,
    /// flex, bison and bc. Any tree of 7.3 or like it will do, also one with your patch.
    ///
    /// Exit codes: 0 built, or there already; 2 the folder is no such tree; 3 it cannot be built here.
    Build {
        /// The top folder of the tree.
        tree: PathBuf,
    },
    /// Get the source of Linux 7.3 from Debian's package linux-source-7.3, by apt.
    ///
    /// Nothing on this machine is changed but the folder, unless --add-suites says so.
    ///
    /// Exit codes: 0 it is there; 3 apt does not offer it (the text says what to do).
    Fetch(fetch::FetchArgs),
    /// What is in use: release, hash of fair.c, and which functions differ from the release that the
    /// class here mirrors.
    Info {
        /// A tree; the one in use if none is named.
        tree: Option<PathBuf>,
    },
}

/// Does what `args` ask for. Returns the exit code.
///
/// # Errors
/// The tree cannot be used, or something that is needed is missing.
pub fn main(args: &OracleArgs, out: &mut dyn Write) -> Result<u8> {
    match &args.verb {
        Verb::Build { tree } => build_verb(tree, out),
        Verb::Fetch(args) => fetch::main(args, out),
        Verb::Info { tree } => info::main(tree.as_deref(), out),
    }
}

fn build_verb(path: &Path, out: &mut dyn Write) -> Result<u8> {
    let kernel = Kernel::open(path)?;
    let cache = build::default_cache();
    let memo = cache.join(IN_USE);
    fs::write(&memo, kernel.tree.root().display().to_string())
        .map_err(|source| Error::write(&memo.display().to_string(), source))?;
    let how = if kernel.cached { "was built before" } else { "is built" };
    let (release, file) = (kernel.tree.release(), kernel.object.display());
    say(
        out,
        &format!(
            "The oracle of Linux {release} {how}: {file}\nfairlab diff uses it from now on.\n"
        ),
    )?;
    Ok(EXIT_FINE)
}

/// Where the cache notes which tree is in use.
const IN_USE: &str = "in-use";

/// A tree and the shared object that was made of it.
pub struct Kernel {
    /// The tree.
    pub tree: Tree,
    object: PathBuf,
    cached: bool,
}

impl Kernel {
    /// The tree at `path`, built if it is not in the cache. Says on standard error what takes time.
    ///
    /// # Errors
    /// It is no tree that can be used, or it cannot be built.
    pub fn open(path: &Path) -> Result<Self> {
        let tree = Tree::open(path).map_err(from_oracle)?;
        let mut progress = |what: &str| eprintln!("fairlab: {what} ...");
        let built =
            build::build(&tree, &build::default_cache(), &mut progress).map_err(from_oracle)?;
        Ok(Kernel { tree, object: built.path, cached: built.cached })
    }

    /// The tree that is asked for: the one named, else that of the environment's LINUX_SRC, else the one that was built
    /// last.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        Kernel::open(&find_path(named)?)
    }

    /// A machine of its own with this kernel's class.
    ///
    /// # Errors
    /// The shared object cannot be loaded.
    pub fn load(&self) -> Result<Oracle> {
        Oracle::load(&self.object).map_err(from_oracle)
    }

    /// What the head of an output says of it.
    pub fn shown(&self) -> String {
        let hash = self.tree.sha256("kernel/sched/fair.c").unwrap_or_default();
        format!("kernel: Linux {} (fair.c {})", self.tree.release(), &hash[..hash.len().min(12)])
    }
}

/// The path of the tree that [`Kernel::find`] uses.
///
/// # Errors
/// None is named, and none was built.
pub fn find_path(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path.to_path_buf());
    }
    if let Some(path) = std::env::var_os("LINUX_SRC").filter(|path| !path.is_empty()) {
        return Ok(path.into());
    }
    let memo = build::default_cache().join(IN_USE);
    fs::read_to_string(memo).map(|path| PathBuf::from(path.trim_end())).map_err(|_| {
        Error::not_possible(
            "there is no kernel oracle yet",
            "get the source with 'fairlab oracle fetch' (or use a tree of your own) and run 'fairlab oracle build TREE'",
        )
    })
}

fn from_oracle(error: OracleError) -> Error {
    match error {
        OracleError::Tree { path, what, remedy } => {
            Error::bad_argument(format!("{}: {what}", path.display()), remedy)
        }
        OracleError::Build { what, remedy } => Error::not_possible(what, remedy),
        OracleError::Load { .. } => Error::not_possible(
            error.to_string(),
            "remove its folder from the cache and build it again",
        ),
        OracleError::Io { path, source } => Error::read(&path.display().to_string(), source),
    }
}

/// Writes `text` to `out`.
fn say(out: &mut dyn Write, text: &str) -> Result<()> {
    let wrote = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    wrote.map_err(|source| Error::write("standard output", source))
}
