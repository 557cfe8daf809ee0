// SPDX-License-Identifier: GPL-2.0-only
//! What can go wrong between a kernel tree and a loaded oracle; the text says what to do.

use std::path::PathBuf;

/// Why there is no oracle.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is no kernel tree, or one that the oracle cannot be built from.
    #[error("{}: {what}; {remedy}", path.display())]
    Tree {
        /// The folder.
        path: PathBuf,
        /// What was looked for and what was found.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A program that the build needs failed or is missing.
    #[error("{what}; {remedy}")]
    Build {
        /// What failed.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A shared object cannot be loaded.
    #[error("{}: cannot be loaded as an oracle: {what}", path.display())]
    Load {
        /// The shared object.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}
